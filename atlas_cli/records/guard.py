"""The guard against credentials: it looks through every change before anything of it is stored."""

from __future__ import annotations

from collections.abc import Iterator

from ..model import secrets
from ..model.change import Change
from ..model.tree import Tree
from . import artifact, artifact_places, before


def guard(tree: Tree, change: Change, *words: str) -> None:
    """Raises Refused if a change brings a credential: in a file, a path, the subject, or the
    commit's other words. A credential that stands in the file already, or in the document before
    it, is in the history: it must not keep everybody from going on."""
    secrets.refuse(
        secrets.joined((change.subject, *change.bases, *words, *change.files)),
        "what names the write",
    )
    for path, data in change.files.items():
        if data and (what := _brought(data, path, tree)):
            raise secrets.refusal(what)


def _brought(data: bytes, path: str, tree: Tree) -> str | None:
    """The kind of credential that the new bytes of a file bring, or None."""
    if not any(secrets.find(form) for form in secrets.readings(data)):
        return None
    return secrets.brought(data, [tree.read(earlier) or b"" for earlier in _past(path, tree)])


def _past(path: str, tree: Tree) -> Iterator[str]:
    """The paths that a file goes on from: its own, and those of the document before it."""
    yield path
    name, number = artifact.numbered(path)
    if number > 1:
        folder = artifact_places.folder(name, number - 1)
        yield from (f"{folder}/{file}" for file in tree.names(folder))
    elif earlier := before(path):
        yield earlier

"""The one guard against credentials: over the new text of every change, before anything of it is
stored."""

from __future__ import annotations

from collections.abc import Iterator

from ..model import secrets
from ..model.change import Change
from ..model.tree import Tree
from . import artifact, before


def guard(tree: Tree, change: Change, *words: str) -> None:
    """Refused where what a change puts holds a credential that its writer brings along: in a file,
    a path, the subject, or the commit's other words. (What stands in the file already, or in the
    document before it, is in the history: it must not keep everybody from going on.)"""
    secrets.refuse(
        secrets.joined((change.subject, *change.bases, *words, *change.files)),
        "what names the write",
    )
    for path, data in change.files.items():
        if data and (found := _found(data, path, tree)):
            raise secrets.refusal(found)


def _found(data: bytes, path: str, tree: Tree) -> str | None:
    if not any(secrets.find(form) for form in secrets.readings(data)):
        return None
    return secrets.brought(data, [tree.read(one) or b"" for one in _past(path, tree)])


def _past(path: str, tree: Tree) -> Iterator[str]:
    """What a file goes on from: itself, and the document before it."""
    yield path
    name, number = artifact.numbered(path)
    if number > 1:
        folder = artifact.folder(name, number - 1)
        yield from (f"{folder}/{one}" for one in tree.names(folder))
    elif earlier := before(path):
        yield earlier

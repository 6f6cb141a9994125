"""The shape *dated*: documents named by their day and their operation,
`<folder>/<YYYY>/<MM>/<DD>-<words>-<op6>.md`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..errors import NotFound, Usage
from . import names, schema
from .change import Writer
from .layout import Layout, Names
from .tree import Tree

_NAME = r"[0-9]{2}-[a-z0-9-]+-[0-9a-f]{6}\.md\Z"
_PATH = re.compile(rf"[0-9]{{4}}/[0-9]{{2}}/{_NAME}")
_FIRST = re.compile(rf"[0-9]{{4}}/[0-9]{{2}}-{_NAME}")  # in stores of the first format


def path_of(folder: str, writer: Writer, slug: str) -> str:
    """The path of a document that the writer adds now."""
    return place(folder, f"{writer.when[:10]}-{slug}-{writer.op6}")


def place(folder: str, id: str) -> str:
    """The path of a document by its whole id."""
    return f"{folder}/{id[:4]}/{id[5:7]}/{id[8:]}.md"


def id_of(path: str) -> str:
    """The id of a document by its path: `2026-11-29-use-x-3f9c01`."""
    return path.partition("/")[2].removesuffix(".md").replace("/", "-", 2)


def check_path(path: str, folder: str) -> None:
    """Raises Misplaced if a path is not one of this shape in the folder."""
    first, _, rest = path.partition("/")
    if first != folder or not _PATH.match(rest):
        raise schema.Misplaced(
            f"{path}: a name here is {folder}/<YYYY>/<MM>/<DD>-<words>-<six hex digits>.md"
        )


def find(tree: Tree, kind: str, folder: str, wanted: str) -> str:
    """The path of a document by its id. The last six digits may be left out if the rest names only
    one document. Raises Usage if it names several, NotFound if it names none."""
    match = re.match(r"([0-9]{4})-([0-9]{2})-[0-9]{2}-[a-z0-9-]+\Z", wanted)
    if match is None:
        raise _not_found(kind, wanted, [])
    month = f"{match[1]}/{match[2]}"
    files = [f"{month}/{name}" for name in tree.names(f"{folder}/{month}")]
    listed = [id_of(f"{folder}/{file}") for file in files if _PATH.match(file)]
    hits = [id for id in listed if wanted in (id, id[:-7])]
    if len(hits) > 1:
        raise Usage(f"{wanted!r} names {len(hits)} {kind}s", f"say which: {', '.join(hits)}")
    if not hits:
        raise _not_found(kind, wanted, [form for id in listed for form in (id[:-7], id)])
    return place(folder, hits[0])


def layout(folder: str) -> Layout:
    """The places of a folder's documents in stores of the first format: a year in one folder."""

    def first(path: str) -> str | None:
        top, _, rest = path.partition("/")
        if top != folder or not _PATH.match(rest):
            return None
        return f"{folder}/{rest[:4]}/{rest[5:7]}-{rest[8:]}"

    def now(path: str) -> str | None:
        top, _, rest = path.partition("/")
        return place(folder, id_of(path)) if top == folder and _FIRST.match(rest) else None

    def listed(lies: Names, below: str) -> Iterable[str]:
        _, *parts = below.split("/")
        if len(parts) == 1:
            return {name[:2] if now(f"{below}/{name}") else name for name in lies(below)}
        if len(parts) != 2:
            return lies(below)
        year, lead = below.rpartition("/")[0], f"{parts[1]}-"
        early = [name for name in lies(year) if name.startswith(lead) and now(f"{year}/{name}")]
        return {*lies(below), *(name.removeprefix(lead) for name in early)}

    return Layout(first, now, listed)


def settled(folder: str, tree: Tree, day: str) -> Iterable[str]:
    """The documents of the months that were over before a day (`2026-01-01`)."""
    for year in tree.names(folder):
        for month in tree.names(f"{folder}/{year}"):
            if f"{year}-{month}" < day[:7]:
                names = tree.names(f"{folder}/{year}/{month}")
                yield from (
                    f"{folder}/{year}/{month}/{name}"
                    for name in names
                    if _PATH.match(f"{year}/{month}/{name}")
                )


def _not_found(kind: str, wanted: str, ids: list[str]) -> NotFound:
    lists = "log --kind correction" if kind == "correction" else f"{kind} list"
    hint = names.hint(wanted, ids, f"atlas {lists} shows them")
    return NotFound(f"there is no {kind} {wanted[:80]!r}", hint)

"""The shape *dated*: documents named by their day and their operation,
`<folder>/<YYYY>/<MM-DD>-<words>-<op6>.md`."""

from __future__ import annotations

import re

from ..errors import NotFound, Usage
from . import names, schema
from .change import Writer
from .tree import Tree

_PATH = re.compile(r"[0-9]{4}/[0-9]{2}-[0-9]{2}-[a-z0-9-]+-[0-9a-f]{6}\.md\Z")


def path_of(folder: str, writer: Writer, slug: str) -> str:
    """The path of a document that the writer adds now."""
    return f"{folder}/{writer.when[:4]}/{writer.when[5:10]}-{slug}-{writer.op6}.md"


def id_of(path: str) -> str:
    """The id of a document by its path: `2026-11-29-use-x-3f9c01`."""
    year, _, name = path.partition("/")[2].partition("/")
    return f"{year}-{name.removesuffix('.md')}"


def check_path(path: str, folder: str) -> None:
    """Raises Misplaced if a path is not one of this shape in the folder."""
    first, _, rest = path.partition("/")
    if first != folder or not _PATH.match(rest):
        raise schema.Misplaced(
            f"{path}: a name here is {folder}/<YYYY>/<MM-DD>-<words>-<six hex digits>.md"
        )


def find(tree: Tree, kind: str, folder: str, wanted: str) -> str:
    """The path of a document by its id. The last six digits may be left out if the rest names only
    one document. Raises Usage if it names several, NotFound if it names none."""
    match = re.match(r"([0-9]{4})-([0-9]{2}-[0-9]{2}-[a-z0-9-]+)\Z", wanted)
    if match is None:
        raise _not_found(kind, wanted, [])
    year, name = match[1], match[2]
    listed = [stem[:-3] for stem in tree.names(f"{folder}/{year}") if _PATH.match(f"{year}/{stem}")]
    hits = [stem for stem in listed if name in (stem, stem[:-7])]
    if len(hits) > 1:
        ids = ", ".join(f"{year}-{stem}" for stem in hits)
        raise Usage(f"{wanted!r} names {len(hits)} {kind}s", f"say which: {ids}")
    if not hits:
        raise _not_found(
            kind, wanted, [f"{year}-{form}" for stem in listed for form in (stem[:-7], stem)]
        )
    return f"{folder}/{year}/{hits[0]}.md"


def _not_found(kind: str, wanted: str, ids: list[str]) -> NotFound:
    lists = "log --kind correction" if kind == "correction" else f"{kind} list"
    hint = names.hint(wanted, ids, f"atlas {lists} shows them")
    return NotFound(f"there is no {kind} {wanted[:80]!r}", hint)

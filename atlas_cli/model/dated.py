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
    """Where a document of this day and operation lies."""
    return f"{folder}/{writer.when[:4]}/{writer.when[5:10]}-{slug}-{writer.op6}.md"


def id_of(path: str) -> str:
    """`2026-11-29-use-x-3f9c01` of a path."""
    year, _, name = path.partition("/")[2].partition("/")
    return f"{year}-{name.removesuffix('.md')}"


def check_path(path: str, folder: str) -> None:
    """Misplaced for a path that no document has which is named by its day and its operation."""
    first, _, rest = path.partition("/")
    if first != folder or not _PATH.match(rest):
        raise schema.Misplaced(
            f"{path}: a name here is {folder}/<YYYY>/<MM-DD>-<words>-<six hex digits>.md"
        )


def find(tree: Tree, kind: str, folder: str, wanted: str) -> str:
    """The path of a document by its id; the last six may be left out while what is left names
    one."""
    match = re.match(r"([0-9]{4})-([0-9]{2}-[0-9]{2}-[a-z0-9-]+)\Z", wanted)
    there = (
        [name for name in tree.names(f"{folder}/{match[1]}") if _PATH.match(f"{match[1]}/{name}")]
        if match
        else []
    )
    found = [name for name in there if match and match[2] in (name[:-3], name[:-10])]
    if len(found) > 1:
        ids = ", ".join(f"{match[1]}-{name[:-3]}" for name in found) if match else ""
        raise Usage(f"{wanted!r} names {len(found)} {kind}s", f"say which: {ids}")
    if not found or match is None:
        shown = (
            f"atlas {'log --kind correction' if kind == 'correction' else f'{kind} list'} shows"
            " them"
        )
        like = [f"{match[1]}-{name[:end]}" for name in there for end in (-10, -3)] if match else []
        raise NotFound(f"there is no {kind} {wanted[:80]!r}", names.hint(wanted, like, shown))
    return f"{folder}/{match[1]}/{found[0]}"

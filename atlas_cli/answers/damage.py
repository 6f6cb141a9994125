"""The damage that a hand has done to the branch, past Atlas: which files, and what is shown
instead."""

from __future__ import annotations

from collections.abc import Callable

from .. import records
from ..errors import Failed
from ..model.tree import Tree
from ..store.index import Index
from ..store.store import Store
from ..visible import named


def edited(index: Index, paths: tuple[str, ...]) -> list[str]:
    """A line for each document that a hand has changed or taken away; only those at these paths,
    if some are given."""
    return [
        f"{named(path)}: changed or taken away by hand in {oid[:12]}; shown is its last good"
        " state: atlas doctor --fix"
        for path, _, oid in index.edits()
        if path in paths or not paths
    ]


def against_rule(index: Index, lead: str) -> list[str]:
    """A line for each record whose path begins with `lead` and that a hand has brought against a
    rule."""
    return [
        f"{named(path)}: brought by hand, against the rule {why}: atlas doctor --fix takes it away"
        for path, why in index.broken()
        if path.startswith(lead)
    ]


def unreadable(index: Index, folder: str) -> list[tuple[str, str]]:
    """(path, what is wrong) of a folder's records that cannot be read."""
    return [(path, text) for path, text in index.damaged() if path.startswith(folder)]


def last_good(
    store: Store, index: Index, tree: Tree, path: str, say: Callable[[str], None]
) -> tuple[bytes, bool]:
    """The newest bytes at a path that parse, and whether these are the current ones. Raises Damaged
    if none ever did."""
    try:
        data = tree.read(path) or b""
        records.describe(path, data)
    except Failed as error:
        for row in index.commits(1000, path=path)[0]:
            try:
                before = store.snapshot(row["oid"]).read(path)
                if before is not None and records.describe(path, before):
                    say(f"{error.message}; shown is its last good state: atlas doctor --fix")
                    return before, False
            except Failed:
                continue
        raise
    for line in against_rule(index, path):
        say(line)
    return data, True

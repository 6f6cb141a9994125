"""What an index holds, table by table."""

from __future__ import annotations

from atlas_cli.store.index import Index

# (What moved, and what was judged, is told of the clone, not of the history.)
TABLES = ("commits", "records", "reads", "links", "notes", "noted", "lines")
Rows = set[tuple[object, ...]]


def contents(index: Index, table: str) -> Rows:
    return {tuple(row) for row in index.db.execute(f"SELECT * FROM {table}")}


def difference(left: Index, right: Index) -> dict[str, tuple[Rows, Rows]]:
    """By table, the rows that only one of two indexes has."""
    result = {}
    for table in TABLES:
        ours, theirs = contents(left, table), contents(right, table)
        if ours != theirs:
            result[table] = (ours - theirs, theirs - ours)
    return result

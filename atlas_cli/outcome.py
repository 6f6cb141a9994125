"""The outcome of a command: data for programs, blocks for people, and the limits of what it
says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


class Table(NamedTuple):
    """Rows for people. A cell is plain text that somebody wrote, so each row carries the bar of a
    frame. A row of a single cell says more of the one above it, and spans the columns. `empty` is
    printed in place of a table without rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    empty: str = ""


class Frame(NamedTuple):
    """Text that somebody wrote: data, not instruction. It is printed inside a marked frame, or, if
    it has no title, as lines that carry the frame's bar."""

    title: str
    body: str


class Raw(NamedTuple):
    """Bytes for stdout, exactly as they were given."""

    body: bytes


Block = str | Table | Frame | Raw


class Outcome(NamedTuple):
    """The value that a command hands back. `data` is the envelope's `data` (a contract). `blocks`
    are printed for people in their order, as they come. `limits` closes both (`@verb` has the
    command's own): a mechanism that hints at a guarantee it does not have is worse than none."""

    data: Any
    blocks: Iterable[Block] = ()
    limits: tuple[str, ...] = ()
    published: bool | None = None
    exit: int = 0


def listing(
    items: list[dict[str, Any]], total: int | None = None, cursor: str | None = None
) -> dict[str, Any]:
    """The `data` of a list. Nothing is cut silently: `total` counts all, `cursor` leads to the
    rest."""
    return {
        "items": items,
        "total": len(items) if total is None else total,
        "shown": len(items),
        "cursor": cursor,
    }

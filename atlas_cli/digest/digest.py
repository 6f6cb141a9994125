"""The digest from its parts: which there are, in which order, and how much of each is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..env import reading, who
from ..env.env import Env
from ..model.text import Record
from ..outcome import Block, Frame, Table
from . import board, concern, people, records, repeated, status, you
from .part import Part, Rows, State

WORDS = 700
FRAME = 10  # words that console.py prints around the title and below the body of a frame
RESERVED = 90  # words for what a command says around the digest

# What matters most comes first: parked and unfinished, then you, the status (always whole), what
# holds you back, what is new, who is at work.
PARTS: tuple[Callable[[State], Part | None], ...] = (
    people.stores,
    records.since,
    you.parked,
    you.you,
    you.drafts,
    you.alike,
    status.status,
    status.without_word,
    concern.concern,
    board.gates,
    records.corrections,
    board.dead,
    people.unfinished,
    people.on_paths,
    records.new,
    board.ready,
    people.leases,
    people.resources,
    people.sessions,
    people.done,
    records.decisions,
    records.inbox,
    records.collisions,
)


def of(
    env: Env,
    me: Record | None,
    words: int = WORDS,
    since: str | None = None,
    twins: Sequence[Record] = (),
    again: bool = False,
) -> tuple[dict[str, Any], list[Block]]:
    """The digest, as data and blocks. `words` is the budget, `since` makes it the morning report,
    `twins` are the sessions with nearly the same goal. `again`: the blocks leave out what the
    reader's last digest has shown, unless it asks for another budget, or for that report."""
    state = State(env, me, since, twins)
    parts = [part for make in PARTS if (part := make(state)) is not None]
    more: dict[str, Any] = {}
    data: dict[str, Any] = {"more": more}
    for part in parts:
        if not part.key:
            continue
        data[part.key] = part.value
        if part.rows and part.rows.total > len(part.value):
            more[part.key] = {"total": part.rows.total, "command": part.rows.more}
    reading.damaged(env)
    reader = who.reader(env, me)
    env.local.look(reader, env.snapshot.head or "")
    known = (
        repeated.known(env, reader) if again and since is None and words == WORDS else frozenset()
    )
    pairs = [repeated.fresh(part, known) for part in parts]
    blocks, marks = _within([part for part, _ in pairs], words - RESERVED)
    repeated.note(env, reader, marks.union(*(old for _, old in pairs)))
    if left := [part.key or "drafts" for part, old in pairs if old]:
        blocks.append(f"as before: {', '.join(left)} (atlas digest shows all)")
    return data, blocks


def _within(parts: list[Part], words: int) -> tuple[list[Block], set[str]]:
    """The parts as blocks within the budget: every list keeps its first row, or the rows that it
    must show; the first lists get the rest. And the marks of what they show."""
    lists = [part.rows for part in parts if part.rows]
    left = words - sum(count(block) for part in parts for block in part.blocks)
    for rows in lists:
        left -= count(rows.title) + len(rows.columns) + 12
        left -= sum(_size(rows, at) for at in range(rows.least))
    blocks: list[Block] = []
    marks = set()
    for part in parts:
        blocks += part.blocks
        marks |= set(map(repeated.mark, part.blocks))
        if part.rows:
            shown, left = _fitting(part.rows, left)
            blocks += _table(part.rows, shown)
            marks |= {repeated.mark(part.rows.lines(at)) for at in range(shown)}
    return blocks, marks


def _size(rows: Rows, at: int) -> int:
    """The words of a row, with what stands beneath it."""
    return sum(map(count, rows.lines(at)))


def _fitting(rows: Rows, left: int) -> tuple[int, int]:
    """How many rows of a list fit into what is left of the budget, and what is left then; once a
    row did not fit, that is less than nothing."""
    for at in range(rows.least, len(rows.rows)):
        left -= _size(rows, at)
        if left < 0:
            return at, left
    return len(rows.rows), left


def _table(rows: Rows, shown: int) -> list[Block]:
    lines = [line for at in range(shown) for line in rows.lines(at)]
    blocks: list[Block] = [f"{rows.title}:", Table(rows.columns, tuple(lines))]
    if rows.total > shown:
        blocks.append(f"(+{rows.total - shown} more: {rows.more})")
    return blocks


def count(block: Block | tuple[str, ...]) -> int:
    """The words of a block, or of a row's cells, as they are printed: each line of a frame or a
    table stands behind a bar."""
    if isinstance(block, Frame):
        bars = block.body.count("\n") + 1 + (FRAME if block.title else 0)
        return len(f"{block.body} {block.title}".split()) + bars
    if isinstance(block, str):
        return len(block.split())
    return len(" ".join(map(str, block)).split()) + 1

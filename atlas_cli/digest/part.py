"""The parts of the digest, as values.

A part is made by a function of the state; it is None where it has no place in this digest. Its
value stands in the data under its key, its blocks are always shown, and its list is cut to the
budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from ..answers import leases
from ..answers.ask import Questions
from ..env import drafting, reading
from ..env.env import Env
from ..model import times
from ..model.text import Record
from ..outcome import Block
from ..records import correction, resources

if TYPE_CHECKING:
    from ..env.elsewhere import StoreReport

MOST = 20  # rows of a list in the data, those that matter most; `more` counts what is cut
CELL, LETTERS = 14, 160  # words and characters of a cell


class State:
    """The ground that the parts are made from: who reads, and since when things are told."""

    def __init__(
        self, env: Env, me: Record | None, since: str | None, twins: Sequence[Record]
    ) -> None:
        self.env = env
        self.me = me  # None: nobody has begun
        self.twins = list(twins)  # the sessions with nearly the same goal
        self.since = since  # as it was asked for; None: this is no morning report
        self.after = (
            None if since is None else reading.since(env, since)
        )  # the number of its commit
        self.now = env.now()

    @property
    def ask(self) -> Questions:
        """The sources of the answers: the index, the notebook, the policy, now."""
        return self.env.ask

    @property
    def id(self) -> str:
        """The reader's session; empty where nobody has begun."""
        return self.me["id"] if self.me else ""

    @cached_property
    def drafts(self) -> list[Record]:
        """The drafts that wait to be submitted."""
        return drafting.listed(self.env, self.me)

    @cached_property
    def elsewhere(self) -> tuple[list[Record], list[StoreReport]]:
        """The live leases that are kept in other stores, and what is known of each store."""
        if not self.env.shares:
            return [], []
        from ..env import elsewhere

        asked = self.env.dealing.look  # by begin
        return elsewhere.survey(self.env, lambda other: leases.live(other.ask), asked, asked)

    def mine(self, resource: str) -> bool:
        """Whether a resource (`path:…`) meets what this session said it would touch."""
        paths = self.me.get("paths", ()) if self.me else ()
        return any(resources.meet(self.env.policy, f"path:{path}", resource) for path in paths)

    def words(self, record: Record, field: str, empty: str = "-") -> str:
        """The words of a field, or that the record was retracted."""
        if record.get(field) is not None or _withheld(record):
            return correction.said(record, field, self.now)
        return empty

    def ago(self, text: str) -> str:
        """The age of a time, in words."""
        return times.ago(times.moment(text), self.now)


def _withheld(record: Record) -> bool:
    """Whether a record's words are withheld."""
    return any(map(correction.withdraws, record.get("corrections", ())))


class Rows(NamedTuple):
    """A list: its rows, what matters most first, and the command that shows the rest. `beneath`:
    the lines below each of its first rows. `least`: how many rows are shown in any case."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    more: str
    total: int
    beneath: Sequence[Sequence[str]] = ()
    least: int = 1

    def lines(self, at: int) -> list[tuple[str, ...]]:
        """A row with the lines beneath it."""
        beneath = self.beneath[at] if at < len(self.beneath) else ()
        return [self.rows[at], *((line,) for line in beneath)]


class Part(NamedTuple):
    """One part of the digest: its data, the blocks that are always shown, its list."""

    key: str  # in the data; empty: nothing stands there
    value: Any
    blocks: Sequence[Block] = ()
    rows: Rows | None = None


def listed(
    key: str,
    items: list[Record],
    rows: Iterable[tuple[str, ...]],
    columns: str,
    title: str,
    more: str,
    *,
    total: int | None = None,
    blocks: Sequence[Block] = (),
) -> Part:
    """A part that is a list; nothing is shown of one that is empty. `total`: how many items there
    are, if these are not all of them."""
    if not items:
        return Part(key, [], blocks)
    cells = [tuple(_short(cell) for cell in row) for row in rows]
    count = len(items) if total is None else total
    whole = Rows(title, tuple(columns.split("|")), cells[:MOST], more, count)
    return Part(key, items[:MOST], blocks, whole)


def _short(cell: str) -> str:
    words = cell.split(" ")
    short = " ".join(words[:CELL])[:LETTERS]
    return cell if short == cell else short + " …"

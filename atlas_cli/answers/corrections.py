"""The corrections that a reader should know of, and the sessions that one concerns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .. import records
from ..errors import Usage
from ..model import names
from ..model.text import Record
from ..records import correction, session, telling
from ..records.board import result
from ..store.index import Index
from ..visible import named, theirs
from . import artifacts, leases, sessions
from .ask import WEEK, Questions, withdrawing

# The tie of a reader to what was corrected; what weighs most first.
TOUCHES = (
    "you relied on",
    "you read",
    "you were told of",
    "whose cause you relied on",
    "whose cause you read",
    "whose cause you were told of",
    "whose cause is on your paths",
    "",
)


class Reader(NamedTuple):
    """A session that had read what was corrected, or was told of it, and the tasks that it has
    finished since that was written."""

    session: str
    live: bool
    tasks: tuple[str, ...]


class Reach(NamedTuple):
    """The records that rely on another, and the sessions that are known to have read it."""

    leaning: tuple[str, ...]
    readers: tuple[Reader, ...]

    @property
    def live(self) -> tuple[Reader, ...]:
        """The readers that are at work: they are told at their next command."""
        return tuple(reader for reader in self.readers if reader.live)

    def line(self) -> str:
        """The readers and what they have finished since, on one line; empty if there are none."""
        return ", ".join(map(_reader, self.readers))


def reach(ask: Questions, target: str, writer: str = "") -> Reach:
    """The records and the sessions, but its `writer`, that a correction of a record concerns. A
    session that was over before, and has finished nothing since, is not among them."""
    leaning = [(path, row) for path, row in ask.index.pointing(target, "relies_on")]
    live = {
        row["id"]
        for _, row in ask.index.live(session.FOLDER, ask.now)
        if sessions.pulse(ask, row)[1] == "live"
    }
    known = {*_read(ask, target), *(row["session"] for _, row in leaning if "session" in row)}
    done = _done(ask, target) if known else {}
    readers = [
        Reader(name, name in live, tuple(done.get(name, ())))
        for name in sorted(known - {writer})
        if name in live or name in done
    ]
    return Reach(tuple(ask.index.ref_of(path) for path, _ in leaning), tuple(readers))


def _reader(reader: Reader) -> str:
    about = [*([] if reader.live else ["over"]), *(f"finished {task}" for task in reader.tasks)]
    return named(reader.session) + (f" ({', '.join(about)})" if about else "")


def _read(ask: Questions, target: str) -> list[str]:
    """The sessions that are known to have read a record, or were told of it."""
    ref = _ref(target)
    if ref is None:
        return []
    return [*artifacts.read_by(ask, ref.kind, ref.id, ref.number or 0), *_told(ask, ref)]


def _told(ask: Questions, ref: names.Ref) -> list[str]:
    """The sessions of this clone that were told of a record."""
    entry = f"{ref.kind}:{ref.id}#"
    return ask.local.told_of(str(ref), entry, ref.number or 0, telling.TOLD)


def _done(ask: Questions, target: str) -> dict[str, list[str]]:
    """The tasks that were finished since a record was written, by session."""
    rows: dict[str, list[str]] = {}
    for _, _, row in ask.index.since(result.FOLDER, ask.index.seq_of(target)):
        rows.setdefault(row["session"], []).append(f"task:{row['task']}")
    return rows


def _ref(text: str) -> names.Ref | None:
    try:
        return records.ref(text)
    except Usage:  # a hand may have written anything there
        return None


def leaning(index: Index) -> list[tuple[str, str, str, Record]]:
    """(session, its record, what that relies on, the correction that retracted it) of each record
    that stands on what was retracted, and stays so."""
    return [
        row
        for row in index.leaning(correction.FOLDER)
        if not withdrawing(index, f"{correction.KIND.name}:{row[3]['id']}")
    ]


def recent(ask: Questions, me: Record | None, after: int | None) -> list[Record]:
    """The corrections after a commit (None: of the last seven days), the newest first; before all
    others those of what this reader relied on or has read. Each has `touches`."""
    after = ask.index.upto(ask.now - WEEK) if after is None else after
    rows = []
    for _, path, record in reversed(ask.index.since(correction.FOLDER, after)):
        how = _touches(ask, me, record) if me else ""
        row = {"ref": correction.KIND.ref(path, record), **record, "touches": how}
        rows.append(ask.shown(row))
    return sorted(rows, key=lambda row: TOUCHES.index(row["touches"]))


def since(ask: Questions, me: Record, seq: int) -> list[str]:
    """The corrections after a commit of what a session relied on or has read, or whose cause it
    has; its own are not among them. A line each."""
    lines = []
    for _, path, record in ask.index.since(correction.FOLDER, seq):
        if record["session"] == me["id"]:
            continue
        if not (how := _touches(ask, me, record)):
            continue
        own = correction.KIND.ref(path, record)
        row = next(row for row in ask.corrections(record["target"]) if row["ref"] == own)
        lines.append(f"{_what(ask, row, how)} {correction.shown(row, ask.now, theirs)}")
        if not how.endswith("relied on"):  # this line is all that it needs
            ask.local.note(me["id"], telling.TOLD, ask.now, [(own, row.get("operation", ""), 0)])
    return lines


def _what(ask: Questions, row: Record, how: str) -> str:
    """The corrected record, as the subject of a line: a correction that was retracted is named with
    what it was about."""
    target, about = row["target"], ""
    ref = _ref(target)
    if ref is not None and ref.kind == correction.KIND.name:
        inner = ask.index.targets(ask.index.path_of(target), "corrects")
        about = f" (of {named(inner[0])})" if inner else ""
    return f"{named(target)}{about}, {how if how.startswith('whose') else f'which {how}'}, was"


def _touches(ask: Questions, me: Record, record: Record) -> str:
    """The tie of a session, or of those that it descends from, to what a correction is about, or to
    its cause: one of TOUCHES."""
    readers = sessions.readers(me)
    if how := _tie(ask, readers, record["target"]):
        return how
    ref = _ref(record["target"])
    if ref is not None and ref.kind == correction.KIND.name:  # a retraction is lifted
        for inner in ask.index.targets(ask.index.path_of(record["target"]), "corrects"):
            if how := _tie(ask, readers, inner):
                return how
    cause = record.get("cause") or ""
    if how := _tie(ask, readers, cause):
        return f"whose cause {how}"
    path = correction.path_of_cause(cause)
    return "whose cause is on your paths" if path and _on(ask, me, path) else ""


def _tie(ask: Questions, readers: Sequence[str], target: str) -> str:
    ref = _ref(target)
    if ref is None:
        return ""
    for _, record in ask.index.pointing(target, "relies_on"):
        if record.get("session") in readers:
            return "you relied on"
    if ask.local.has_read(readers, ref.kind, ref.id, ref.number or 0):
        return "you read"
    return "you were told of" if set(readers).intersection(_told(ask, ref)) else ""


def _on(ask: Questions, me: Record, path: str) -> bool:
    """Whether a session has named a path, or holds a lease on it."""
    mine = [*(f"path:{other}" for other in me.get("paths", ())), *leases.meant(ask, me["id"])]
    return any(names.overlap(f"path:{path}", other) for other in mine)

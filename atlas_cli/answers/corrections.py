"""The corrections that a reader should know of, and the sessions that one concerns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .. import records
from ..errors import Usage
from ..model import names
from ..model.text import Record
from ..records import correction, parts, session, telling
from ..records.board import result, task
from ..store.index import Index
from ..visible import named
from . import artifacts, leases, mending, sessions
from .ask import WEEK, Questions, withdrawing

# The tie of a reader to what was corrected; what weighs most first.
_TIES = (
    "you relied on",
    "your task relies on",
    "your task needs",
    "you wrote",
    "you read",
    "you were told of",
)
TOUCHES = (*_TIES, *(f"whose cause {tie}" for tie in _TIES), "whose cause is on your paths", "")
FEW = 5  # names that a line gives


class Reader(NamedTuple):
    """A session that had read what was corrected, or was told of it, and the tasks that it finished
    between that and its correction."""

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

    @property
    def finished(self) -> tuple[str, ...]:
        """The tasks that its readers finished before it was corrected, and that say nothing of it:
        they may have been built on it, or have nothing to do with it."""
        tasks = (task for reader in self.readers for task in reader.tasks)
        return tuple(task for task in dict.fromkeys(tasks) if task not in self.leaning)

    def line(self) -> str:
        """The readers on one line; empty if there are none."""
        return few([named(row.session) + ("" if row.live else " (over)") for row in self.readers])


def few(names: Sequence[str], most: int = FEW) -> str:
    """The first of some names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def reach(ask: Questions, target: str, writer: str = "") -> Reach:
    """The records and the sessions, but its `writer`, that a correction of a record concerns, or of
    its twin. A session that was over before, and has finished nothing since, is not among them."""
    targets = [name for name in (target, ask.twin(target)) if name]
    leaning = [pair for name in targets for pair in ask.index.pointing(name, "relies_on")]
    live = {
        row["id"]
        for _, row in ask.index.live(session.FOLDER, ask.now)
        if sessions.pulse(ask, row)[1] == "live"
    }
    known = {id for name in targets for id in _read(ask, name)}
    known |= {row["session"] for _, row in leaning if "session" in row}
    done = _done(ask, targets) if known else {}
    readers = [
        Reader(name, name in live, tuple(done.get(name, ())))
        for name in sorted(known - {writer})
        if name in live or name in done
    ]
    return Reach(tuple(ask.index.ref_of(path) for path, _ in leaning), tuple(readers))


def _read(ask: Questions, target: str) -> list[str]:
    """The sessions that are known to have read a record, or were told of it."""
    ref = _ref(target)
    if ref is None:
        return []
    return [*artifacts.read_by(ask, ref.kind, ref.id, ref.number or 0), *_told(ask, ref)]


def _told(ask: Questions, ref: names.Ref) -> list[str]:
    """The sessions of this clone that were told of a record."""
    record = ask.index.readable(ask.index.path_of(str(ref))) or {}
    own = [f"{ref.kind}:{ref.id}#{item['heading']}" for item in parts.written(record)]
    return ask.local.told_of(str(ref), own, ref.number or 0, telling.TOLD)


def _done(ask: Questions, targets: Sequence[str]) -> dict[str, list[str]]:
    """The tasks that were finished between a record and the first correction of it, by session: who
    finished one later was told."""
    ends = [ask.index.seq_of(row["ref"]) for name in targets for row in ask.corrections(name)]
    rows: dict[str, list[str]] = {}
    for seq, _, row in ask.index.since(result.FOLDER, ask.index.seq_of(targets[0])):
        if not ends or seq < min(ends):
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
    has; its own are not among them, nor is what a digest or a stop has told it. A notice each."""
    lines = []
    for _, path, record in ask.index.since(correction.FOLDER, seq):
        if record["session"] == me["id"] or not (how := _touches(ask, me, record)):
            continue
        own = correction.KIND.ref(path, record)
        known = ask.local.heard(sessions.hearers(me, record["session"]))
        if known.get((own, record.get("operation", "")), 0) >= telling.TOLD:
            continue
        row = next(row for row in ask.corrections(record["target"]) if row["ref"] == own)
        if note_told(ask, me["id"], {**row, "touches": how}):
            lines.append(notice(ask, row, _what(ask, row, how), me["id"]))
    return lines


def note_told(ask: Questions, id: str, row: Record) -> bool:
    """Notes that a session is told of a correction now; False if a line told it before. That line
    is all that it needs, unless what it relies on is withdrawn: then its commit stops as well."""
    if not row["touches"].endswith(("relied on", "relies on")):
        known = (row["ref"], row.get("operation", ""), 0)
        ask.local.note(id, telling.TOLD, ask.now, [known])
    return ask.local.first_time(id, f"corrected:{row['ref']}")


def is_noticed(ask: Questions, me: Record, ref: str) -> bool:
    """Whether a record is a correction that has a notice of its own for a session."""
    if not ref.startswith(f"{correction.KIND.name}:"):
        return False
    record = ask.index.readable(ask.index.path_of(ref))
    return record is not None and bool(_touches(ask, me, record))


def mends(ask: Questions, ref: str) -> str:
    """The line that says who mends what the target of a correction led to; empty for what is no
    correction."""
    if not ref.startswith(f"{correction.KIND.name}:"):
        return ""
    record = ask.index.readable(ask.index.path_of(ref))
    return mending.line(ask, ask.shown({"ref": ref, **record})) if record else ""


def notice(ask: Questions, row: Record, what: str, me: str = "") -> str:
    """A correction as a notice: of what, by whom, who mends what it led to; below it its first
    words. `what` is the line's beginning, which ends with a verb."""
    words, cut = telling.first_words(correction.reason(row))
    parts = [f"{what} {correction.happened(row, ask.now)}", mending.line(ask, row, me)]
    if cut:
        parts.append(f"its whole reason: atlas show {row['ref']}")
    line = "; ".join(part for part in parts if part)
    return f"{line}\n{words}" if words else line


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
    target = record["target"]
    ref, others = _ref(target), [ask.twin(target)]
    if ref is not None and ref.kind == correction.KIND.name:  # a retraction is lifted
        others = ask.index.targets(ask.index.path_of(target), "corrects")
    for name in (target, *others):
        if how := _tie(ask, me, name):
            return how
    cause = record.get("cause") or ""
    if how := _tie(ask, me, cause):
        return f"whose cause {how}"
    path = correction.path_of_cause(cause)
    return "whose cause is on your paths" if path and _on(ask, me, path) else ""


def _tie(ask: Questions, me: Record, target: str) -> str:
    ref, readers = _ref(target), sessions.readers(me)
    if ref is None:
        return ""
    for _, record in ask.index.pointing(target, "relies_on"):
        if record.get("session") in readers:
            return "you relied on"
    for row in task.held(ask.index, me["id"], ask.now):
        if target in row.get("relies_on", ()):
            return "your task relies on"
        if target in (f"task:{need}" for need in row.get("needs", ())):
            return "your task needs"
    own = ask.index.readable(ask.index.path_of(target)) or {}
    if own.get("session") == me["id"]:
        return "you wrote"
    blobs = ask.index.blobs(str(ref))
    if not {*readers}.isdisjoint(ask.local.readers(ref.kind, ref.id, ref.number or 0, blobs)):
        return "you read"
    return "you were told of" if set(readers).intersection(_told(ask, ref)) else ""


def _on(ask: Questions, me: Record, path: str) -> bool:
    """Whether a session has named a path, or holds a lease on it."""
    mine = [*(f"path:{other}" for other in me.get("paths", ())), *leases.meant(ask, me["id"])]
    return any(names.overlap(f"path:{path}", other) for other in mine)

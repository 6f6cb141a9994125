"""The sessions that are, or were, at work."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from .. import signs
from ..model import times
from ..model.text import Record
from ..records import goals, lease, policy, session
from .ask import WEEK, Questions

HOUR = 3600


def pulse(ask: Questions, record: Record) -> tuple[int, str]:
    """(moment of the last sign of life, `live`, `ended` or `expired`) of a session. A sign is what
    it wrote, and in this clone each command, read or hook of it."""
    began = times.moment(record["began"])
    last = max(began, ask.index.last_at(record["id"]), ask.local.signed(record["id"]))
    if "ended" in record:
        return last, "ended"
    return last, "live" if over(ask, record, last) > ask.now else "expired"


def over(ask: Questions, record: Record, last: int) -> int:
    """The moment at which a session whose last sign of life was at `last` is over, if it gives none
    any more."""
    end = session.until(record) or 0
    if record.get("class") == session.PERSON:
        return end
    idle = policy.seconds(ask.policy, "session_idle")
    return min(end, last + idle) if idle else end


def row(ask: Questions, record: Record) -> Record:
    """A session as it is shown: with its REF, its `state` and the moment of its `last` sign of
    life."""
    return _stated(ask, record, *pulse(ask, record))


def _stated(ask: Questions, record: Record, last: int, state: str) -> Record:
    if state == "live" and signs.dead(record.get("process")):
        state = "gone"
    elif state == "live" and orphaned(ask, record, signs.steady()):
        state = "orphaned"
    shown = ask.shown({"ref": f"session:{record['id']}", **record})
    return {**shown, "state": state, "last": times.rfc3339(last)}


def rows(ask: Questions, every: bool) -> list[Record]:
    """The live sessions, or `every` session, newest first."""
    if every:
        records = [entry["data"] for entry in ask.index.rows(session.FOLDER) if entry["data"]]
    else:
        records = [record for _, record in ask.index.live(session.FOLDER, ask.now)]
    pulses = [(record, *pulse(ask, record)) for record in _newest_first(records)]
    return [
        _stated(ask, record, last, state)
        for record, last, state in pulses
        if every or state == "live"
    ]


ORPHANED = 300  # seconds of silence after which a session without its folder is nobody's
SILENT = 3600  # seconds of silence after which a caller without a tool's id may be adopted, here


class Here(NamedTuple):
    """The place from which a session is looked at: the worktree, the clone, the steady clock."""

    worktree: str
    machine: str
    steadily: float


def given_up(ask: Questions, record: Record, here: Here) -> str:
    """The reason why a session that is not over may be adopted all the same; empty if it may not.
    A process that is there is never gone. A session of which no process is known is judged by its
    silence, and only in its own worktree."""
    if record.get("class") == session.PERSON:
        return ""
    if "process" in record:
        return "its process is gone" if signs.dead(record["process"]) else ""
    if orphaned(ask, record, here.steadily):
        return "its worktree is gone"
    silent = _silence(ask, record, here) or 0
    return f"it has been silent here for {times.span(int(silent))}" if silent >= SILENT else ""


def orphaned(ask: Questions, record: Record, steadily: float) -> bool:
    """Whether the worktree of a session of this clone is not there any more. One that was at work a
    moment ago sees its folder under another name than this process does, as in a container; and one
    whose tool is seen to run may go on elsewhere."""
    folder, id = record.get("worktree"), record["id"]
    if not folder or "process" in record or Path(folder).is_dir() or not ask.local.signed(id):
        return False
    return ask.local.silence(id, steadily) >= ORPHANED


def _silence(ask: Questions, record: Record, here: Here) -> float | None:
    """The seconds for which a session without a known process was silent here; None where it is not
    judged by that: it is of another place, or at work though it is silent."""
    own = record.get("worktree") == here.worktree != "" and record["machine"] == here.machine
    if not own or "process" in record or record.get("class") == session.PERSON:
        return None
    if record.get("waits") or _runs(ask, record["id"]):
        return None
    return ask.local.silence(record["id"], here.steadily)


def adoptable(ask: Questions, record: Record, last: int, here: Here) -> tuple[int, int]:
    """The moment from which a live session, whose last sign of life was at `last`, can be adopted
    from here if it gives none any more, and the seconds of silence that make it so."""
    idle = over(ask, record, last)
    silent = _silence(ask, record, here)
    if silent is None:
        return idle, idle - last
    return min((idle, idle - last), (ask.now + SILENT - int(silent), SILENT))


def lost(ask: Questions, record: Record, here: Here) -> str:
    """The reason why a session that did not end may be adopted; empty if it may not."""
    expired = pulse(ask, record)[1] == "expired"
    return "it has expired" if expired else given_up(ask, record, here)


def _runs(ask: Questions, id: str) -> bool:
    """Whether a command runs under a lease of a session."""
    rows = ask.index.live(lease.FOLDER, ask.now)
    return any(row["holder"] == id and row.get("run") for _, row in rows)


def left(ask: Questions, here: Here, mine: str | None) -> list[tuple[Record, str]]:
    """The sessions that were left in a worktree, the newest first, each with how: they did not end,
    and are over or given up."""
    rows = []
    for _, record in ask.index.live(session.FOLDER, ask.now - WEEK):
        own = record.get("worktree") == here.worktree != "" and record["machine"] == here.machine
        if not own or record["id"] == mine or "ended" in record or record.get("class") == "run":
            continue
        if why := lost(ask, record, here):
            rows.append((record, why))
    return sorted(rows, key=lambda pair: (pair[0]["began"], pair[0]["id"]), reverse=True)


def left_rows(ask: Questions, left: list[tuple[Record, str]]) -> list[Record]:
    """The sessions that were left, as they are shown, with `how`."""
    return [{**ask.shown(row, f"session:{row['id']}"), "how": why} for row, why in left]


def stale(ask: Questions, record: Record) -> bool:
    """Whether a worker has given no sign for so long that it is assigned no task."""
    return pulse(ask, record)[0] <= ask.now - policy.seconds(ask.policy, "worker_stale")


def quiet(ask: Questions, record: Record) -> int:
    """The seconds after which a session shows the other clones that it is at work: an hour, and
    half of `worker_stale` while it offers to take tasks."""
    offers = record.get("offer", {}).get("status") == "healthy"
    return min(HOUR, policy.seconds(ask.policy, "worker_stale") // 2) if offers else HOUR


def person(ask: Questions, machine: str) -> Record | None:
    """The standing session of this clone's person."""
    for _, record in ask.index.live(session.FOLDER, ask.now):
        # (One that has ended may be live still: by a clock that was ahead, it ends later.)
        standing = record.get("class") == session.PERSON and "ended" not in record
        if standing and record["machine"] == machine:
            return record
    return None


def living(ask: Questions, worktree: str) -> list[Record]:
    """The live sessions of a worktree, the newest first. One that only runs a command, or that
    another started, is not among them."""
    return [record for record in _at_work(ask, worktree) if "parent" not in record]


def children(ask: Questions, worktree: str) -> list[Record]:
    """The live sessions of a worktree that others started, the newest first."""
    return [record for record in _at_work(ask, worktree) if "parent" in record]


def _at_work(ask: Questions, worktree: str) -> list[Record]:
    rows = (record for _, record in ask.index.live(session.FOLDER, ask.now))
    here = [row for row in rows if row.get("worktree") == worktree and row.get("class") != "run"]
    return _newest_first([row for row in here if pulse(ask, row)[1] == "live"])


def readers(record: Record) -> list[str]:
    """A session and those that it descends from: what one of them was told, it knows."""
    return [record["id"], *record.get("lineage", ())]


def hearers(record: Record, writer: str) -> list[str]:
    """The sessions by whom a session knows what another has written. (That an ancestor knows what
    it wrote itself tells nothing to those that it started.)"""
    return [record["id"]] if writer in record.get("lineage", ()) else readers(record)


def before(ask: Questions, record: Record) -> Record | None:
    """The session that this one follows: the newest that has ended in its worktree, or that it has
    adopted. None if there was none in the last seven days."""
    rows = [
        row
        for _, row in ask.index.live(session.FOLDER, ask.now - WEEK)
        if "ended" in row and row["id"] != record["id"] and _follows(record, row)
    ]
    last = max((row["ended"] for row in rows), default="")
    newest = [row for row in rows if row["ended"] == last]
    return max(newest, key=lambda row: (saw_upto(ask, row), row["id"]), default=None)


def saw_upto(ask: Questions, record: Record) -> int:
    """The number of the last commit that a session which has ended may have seen: none behind the
    one that closed it, by itself or by who took it over, and none of a later second, which an end
    that was carried over may stand behind. (The second alone tells too little: in it the session
    may have written, and others after its end.)"""
    at, path = times.moment(record["ended"]), session.path_of(record["id"])
    upto = ask.index.upto(at + 1)
    takers = (record.get(key) for key in ("adopted_by", "dropped_by", "dismissed_by"))
    for by in (record["id"], *filter(None, takers)):
        if commit := ask.index.committed(by, path, at):
            return min(upto, int(commit["seq"]))
    return upto


def _follows(record: Record, row: Record) -> bool:
    """Whether a session goes on where another one, that has ended, was."""
    here = record.get("worktree", "") != "" and row.get("worktree") == record.get("worktree")
    return row.get("adopted_by") == record["id"] or (here and row["ended"] <= record["began"])


JUST = 600  # seconds after its end for which a session may put its own records right
_TAKEN = {"adopted_by", "dropped_by", "dismissed_by"}


def ended_just_now(ask: Questions, record: Record) -> bool:
    """Whether a session has ended itself a moment ago, and nobody has taken it over."""
    if "ended" not in record or not _TAKEN.isdisjoint(record):
        return False
    return 0 <= ask.now - times.moment(record["ended"]) < JUST


def alike(ask: Questions, goal: str, mine: str | None) -> list[Record]:
    """Sessions that live, or ended within a day, with nearly this goal."""
    own = _words(goal)
    if not own:
        return []
    records = []
    for _, record in ask.index.live(session.FOLDER, ask.now - 86400):
        others = map(_words, goals.open_goals(record).values())
        near = any(2 * len(own & other) > len(own | other) for other in others)
        if record["id"] != mine and near:
            records.append(record)
    return [row(ask, record) for record in records]


def adopted(ask: Questions, id: str) -> list[str]:
    """The sessions that a session has adopted in the last seven days."""
    rows = (record for _, record in ask.index.live(session.FOLDER, ask.now - WEEK))
    return [record["id"] for record in rows if record.get("adopted_by") == id]


def ended(ask: Questions, after: int) -> list[Record]:
    """The sessions that have ended after a commit, the newest first."""
    since = reversed(ask.index.since(session.FOLDER, after))
    return [ask.shown(row, f"session:{row['id']}") for _, _, row in since if "ended" in row]


def _newest_first(records: list[Record]) -> list[Record]:
    return sorted(records, key=lambda record: (record["began"], record["id"]), reverse=True)


def _words(goal: str) -> set[str]:
    """The words by which two goals are compared."""
    return set(re.findall(r"\w{2,}", goal.lower()))

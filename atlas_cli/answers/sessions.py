"""The sessions that are, or were, at work."""

from __future__ import annotations

import re

from ..model import times
from ..model.text import Record
from ..records import policy, session, status
from ..store.index import Index
from .ask import WEEK, Questions

_NO_WORK = ("session: ", "lease: ", "repair: ")  # how the subjects of such commits begin


def pulse(ask: Questions, record: Record) -> tuple[int, str]:
    """(moment of the newest commit, `live`, `ended` or `expired`) of a session."""
    last = max(times.moment(record["began"]), ask.index.last_at(record["id"]))
    if "ended" in record:
        return last, "ended"
    return last, "live" if over(ask, record, last) > ask.now else "expired"


def over(ask: Questions, record: Record, last: int) -> int:
    """The moment at which a session that wrote last at `last` is over, if it does nothing more."""
    end = session.until(record) or 0
    if record.get("class") == session.PERSON:
        return end
    idle = policy.seconds(ask.policy, "session_idle")
    return min(end, last + idle) if idle else end


def row(ask: Questions, record: Record) -> Record:
    """A session as it is shown: with its REF, its `state` and the moment of its `last` write."""
    return _stated(ask, record, *pulse(ask, record))


def _stated(ask: Questions, record: Record, last: int, state: str) -> Record:
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
    records = [
        record
        for _, record in ask.index.live(session.FOLDER, ask.now)
        if record.get("worktree") == worktree
    ]
    return _newest_first(
        [
            record
            for record in records
            if record.get("class") != "run"
            and "parent" not in record
            and pulse(ask, record)[1] == "live"
        ]
    )


def alike(ask: Questions, goal: str, mine: str | None) -> list[Record]:
    """Sessions that live, or ended within a day, with nearly this goal."""
    own = _words(goal)
    if not own:
        return []
    records = []
    for _, record in ask.index.live(session.FOLDER, ask.now - 86400):
        other = _words(record.get("goal", ""))
        if record["id"] != mine and 2 * len(own & other) > len(own | other):
            records.append(record)
    return [row(ask, record) for record in records]


def unfinished(ask: Questions) -> list[Record]:
    """Sessions of the last seven days that are over, wrote something, and never wrote the status
    after it."""
    rows = []
    for _, record in ask.index.live(session.FOLDER, ask.now - WEEK):
        last, state = pulse(ask, record)
        owing = record.get("class") != "run" and "adopted_by" not in record
        if state != "live" and owing and not closed(ask.index, record["id"]):
            shown = ask.shown(record, f"session:{record['id']}")
            rows.append({**shown, "state": state, "last": times.rfc3339(last)})
    return rows


def closed(index: Index, id: str) -> bool:
    """Whether a session has done its duty: a status entry of its own behind its last other work, or
    no work. Beginning, ending and giving back are no work."""
    for subject, paths in index.deeds(id):
        if any(path.startswith(f"{status.FOLDER}/") for path in paths):
            return True
        if not subject.startswith(_NO_WORK):
            return False
    return True


def ended(ask: Questions, after: int) -> list[Record]:
    """The sessions that have ended after a commit, the newest first."""
    since = reversed(ask.index.since(session.FOLDER, after))
    return [ask.shown(row, f"session:{row['id']}") for _, _, row in since if "ended" in row]


def _newest_first(records: list[Record]) -> list[Record]:
    return sorted(records, key=lambda record: (record["began"], record["id"]), reverse=True)


def _words(goal: str) -> set[str]:
    """The words by which two goals are compared."""
    return set(re.findall(r"\w{2,}", goal.lower()))

"""The corrections that a reader should know of."""

from __future__ import annotations

from .. import records
from ..errors import Usage
from ..model.text import Record
from ..records import correction
from ..visible import named, theirs
from .ask import WEEK, Questions

TOUCHES = ("you relied on", "you read", "")  # what weighs most first


def recent(ask: Questions, me: Record | None, after: int | None) -> list[Record]:
    """The corrections after a commit (None: of the last seven days), the newest first; before all
    others those of what this reader relied on or has read. Each has `touches`."""
    after = ask.index.upto(ask.now - WEEK) if after is None else after
    rows = []
    for _, path, record in reversed(ask.index.since(correction.FOLDER, after)):
        how = _touches(ask, me["actor"], record["target"]) if me else ""
        row = {"ref": correction.KIND.ref(path, record), **record, "touches": how}
        rows.append(ask.shown(row))
    return sorted(rows, key=lambda row: TOUCHES.index(row["touches"]))


def news(ask: Questions, me: Record) -> list[str]:
    """Retractions of what a session relied on or has read, since it was last told. Each is returned
    once."""
    last, head = ask.local.told(me["id"]), ask.index.meta("head") or ""
    if last == head:
        return []
    lines = []
    for _, path, record in ask.index.since(correction.FOLDER, ask.index.reached(last) or 0):
        row = ask.shown(record, correction.KIND.ref(path, record))
        by_another = row["retract"] and row["session"] != me["id"]
        if by_another and (how := _touches(ask, me["id"], row["target"])):
            was = correction.shown(row, ask.now, theirs)
            lines.append(f"{named(row['target'])}, which {how}, was {was}")
    ask.local.tell(me["id"], head)
    return lines


def _touches(ask: Questions, reader: str, target: str) -> str:
    """The tie of a session, or of all sessions of an actor, to a record: one of TOUCHES."""
    leaning = ask.index.pointing(target, "relies_on")
    if any(reader in (record["session"], record["actor"]) for _, record in leaning):
        return "you relied on"
    try:
        ref = records.ref(target)
    except Usage:  # a hand may have written anything there
        return ""
    read = ask.local.has_read(reader, ref.kind, ref.id, ref.number or 0)
    return "you read" if read else ""

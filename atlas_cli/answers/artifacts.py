"""The artifacts that were handed over, and their readers."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from ..model.text import Record
from ..records import artifact, correction
from . import sessions
from .ask import WEEK, Questions

DAY = 86400
SCAN = 1000  # versions that a digest looks through for what is new


class New(NamedTuple):
    """The versions that are new to a reader."""

    items: list[Record]  # the newest of them
    total: int  # how many there are
    more: bool  # whether not all were counted
    older: int  # how many older ones a new reader is spared
    noisy: dict[str, int]  # the names that count once, with how often each was put within the day
    follows: str = (
        ""  # the session that the reader follows, if it is spared what was before its end
    )


class _Unread(NamedTuple):
    paths: dict[str, list[tuple[int, str]]]  # by name: (seq, path), the newest first
    puts: Counter[str]  # by name: how often it was put within the day
    more: bool


def unread(ask: Questions, me: Record | None, most: int | None = None) -> New:
    """The artifact versions that neither this session has opened nor the one that it goes on from,
    and that were not retracted, the newest first: those since the session that it follows has
    ended; where it follows none, those since a week before its first receipt. A name that is put
    all the time counts once. `most`: for a digest."""
    index = ask.index
    first = ask.local.reading_since(sessions.readers(me)) if me else None
    follows = sessions.before(ask, me) if me else None
    horizon = sessions.saw_upto(ask, follows) if follows else index.upto((first or ask.now) - WEEK)
    unread = _unread(ask, me, horizon, most is not None)
    noisy = {
        name: count
        for name, count in unread.puts.items()
        if count > artifact.NOISE and name in unread.paths
    }
    paths = []
    for name, versions in unread.paths.items():
        paths += versions[:1] if name in noisy else versions
    newest = [path for _, path in sorted(paths, reverse=True)[:most]]
    items = [ask.shown({"ref": index.ref_of(path), **index.record(path)}) for path in newest]
    fresh = first is None or ask.now - first < WEEK
    older = index.count(artifact.FOLDER, horizon) if fresh else 0
    return New(items, len(paths), unread.more, older, noisy, follows["id"] if follows else "")


def _known(ask: Questions, me: Record) -> set[tuple[str, str, int]]:
    """The versions that a session has read, or those that it goes on from: its ancestors, what it
    has adopted, and the session of the same tool that ended before it in its worktree."""
    ids = [*sessions.readers(me), *sessions.adopted(ask, me["id"])]
    follows = sessions.before(ask, me)
    if follows and follows["actor"] == me["actor"]:
        ids.append(follows["id"])
    return ask.local.known_to(list(dict.fromkeys(ids)))


def _retracted(ask: Questions, horizon: int) -> set[str]:
    """The versions that were retracted, by a correction after a commit, and still are."""
    rows = ask.index.since(correction.FOLDER, horizon)
    targets = {record["target"] for _, _, record in rows if record["retract"]}
    return {ref for ref in targets if ref.startswith("artifact:") and ask.retracted(ref)}


def _unread(ask: Questions, me: Record | None, horizon: int, brief: bool) -> _Unread:
    """The unread versions after a commit; `brief`: after SCAN of them no more are looked for."""
    known = _known(ask, me) if me else set()
    retracted = _retracted(ask, horizon)
    day = ask.index.upto(ask.now - DAY)
    paths: dict[str, list[tuple[int, str]]] = {}
    puts: Counter[str] = Counter()
    for count, (seq, path) in enumerate(ask.index.backwards(artifact.FOLDER)):
        if seq <= horizon:
            break
        if brief and count >= SCAN:
            return _Unread(paths, puts, more=True)
        name, number = artifact.numbered(path)
        puts[name] += seq > day
        if ("artifact", name, number) not in known and f"artifact:{name}@{number}" not in retracted:
            paths.setdefault(name, []).append((seq, path))
    return _Unread(paths, puts, more=False)


def line(row: Record, now: int, field: str = "title") -> str:
    """The title of a version for a cell (or another field of a record), behind what its reader must
    know: its caveat, and that the time is over for which it was good."""
    parts = [f"(caveat: {row['caveat']})"] if row.get("caveat") else []
    if old := artifact.outlived(row, now):
        parts.append(f"({old})")
    title = correction.said(row, field, now)
    return " ".join([*parts, title] if title != "-" or not parts else parts)


def read_by(ask: Questions, kind: str, id: str, number: int) -> list[str]:
    """The sessions that are known to have read a version: those that said so with a write, and this
    clone's."""
    ref = f"{kind}:{id}@{number}"
    here = ask.local.readers(kind, id, number, ask.index.blobs(ref))
    return sorted({*ask.index.readers(ref), *here})


def inline(data: bytes) -> dict[str, str]:
    """Bytes as a field of JSON: text as it is, anything else in base64."""
    if artifact.is_text(data):
        return {"body": data.decode()}
    import base64

    return {"body_base64": base64.b64encode(data).decode()}

"""Reads the history that `check` judges by, of a store that may lie here or elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from ..errors import AtlasError, Damaged
from ..model import times
from ..model.text import Record
from ..records import kind_of, lease, session, status
from ..records.board import task
from ..records.words import Word
from ..store import history
from ..store.git import Git
from ..store.snapshot import Snapshot
from ..store.source import Source
from .commit import CodeCommit
from .rules import SLACK, Entry, History

_ENTRY = re.compile(r"status/([^/]+)/\d{3,}/(\d{6,9})\.md\Z")


def read_history(source: Source, width: int, commits: Sequence[CodeCommit], now: int) -> History:
    """The store's history, as far as these code commits ask for it. One walk tells it, and only the
    records that matter are read."""
    named = {session for commit in commits for session in commit.sessions}
    moments = [commit.made for commit in commits] or [0]
    first, last = min(moments) - lease.LONGEST - SLACK, max(moments) + SLACK
    since, at = 0, 0
    begins: dict[str, int] = {}
    entries: dict[str, dict[int, Entry]] = {}
    leases: dict[str, list[tuple[int, str]]] = {}
    left: dict[str, list[_Left]] = {}
    for seq, write in enumerate(history.between(source.git, None, source.head)):
        at, by = write.message.at or at, write.message.session
        since = since or at
        if by:
            left.setdefault(by, []).append(_Left(seq, write.message.operation or "", at, write))
        for path, before, new in write.changes:
            if not new:
                continue
            if before is None and (match := _ENTRY.match(path)):
                entries.setdefault(match[1], {}).setdefault(int(match[2]), Entry(seq, at, new, by))
            elif before is None and path.startswith("sessions/"):
                begins[path.rpartition("/")[2].removesuffix(".yaml")] = seq
            elif path.startswith("leases/") and first <= at <= last:
                leases.setdefault(path, []).append((at, new))
    tree = Snapshot(source.git, source.head, width)
    rows = _rows(tree, named, begins)
    held = {}
    for path, versions in leases.items():
        if read := _versions(source.git, path, versions):
            held[read[0][1]["resource"]] = read
    speakers = {id for row in rows.values() for id in row.get("lineage", ())} | rows.keys()
    writes = {id: [(each.place, each.at) for each in left.get(id, ())] for id in speakers}
    words = {id: _words(tree, source.git, left.get(id, ()), rows.get(id, {})) for id in speakers}
    return History(since, rows, begins, writes, entries, held, words, now)


class _Left(NamedTuple):
    """A write of a session: its place, operation and moment."""

    place: int
    operation: str
    at: int
    write: history.Commit


def _words(tree: Snapshot, git: Git, left: Sequence[_Left], row: Record) -> list[Word]:
    """The words among the writes of a session, oldest first."""
    words = []
    confirmed = row.get("confirmed")
    for place, operation, at, write in left:
        head = (place, operation, at)
        moment = times.rfc3339(at)
        if isinstance(confirmed, dict) and confirmed.get("at") == moment:
            words.append(Word(*head, confirms=True))
        for path, _, new in write.changes:
            kind = kind_of(path) if new and not write.message.repairs else None
            if kind is not None and kind.duty == "word":
                words.append(Word(*head, confirms=_confirms(git, path, new or "")))
            elif kind is not None and kind.duty == "result" and path.endswith(kind.suffix):
                words.append(Word(*head, since=_claimed(tree, path)))
    return words


def _confirms(git: Git, path: str, blob: str) -> bool:
    """Whether an entry only says that the one before it holds."""
    answer = git.object(blob)
    try:
        return answer is not None and "unchanged" in status.parse(path, answer[2])
    except Damaged:
        return False


def _claimed(tree: Snapshot, path: str) -> int:
    """The moment from which the claim ran that a result is of."""
    try:
        return times.moment(task.get(tree, path.split("/")[2])["claim"]["at"])
    except (AtlasError, KeyError, ValueError):
        return 0


def _rows(tree: Snapshot, named: set[str], begins: Mapping[str, int]) -> dict[str, Record]:
    """The rows of the sessions that are named, and of those that adopted one of them."""
    rows: dict[str, Record] = {}
    wanted = set(named)
    while missing := wanted & begins.keys() - rows.keys():
        for name in missing:
            rows[name] = _session(tree, name)
            if "adopted_by" in rows[name]:
                wanted.add(rows[name]["adopted_by"])
    return rows


def _session(tree: Snapshot, name: str) -> Record:
    """The row as it is now; empty if a hand has spoilt it."""
    try:
        return session.get(tree, name)
    except AtlasError:
        return {}


def _versions(git: Git, path: str, versions: Sequence[tuple[int, str]]) -> list[tuple[int, Record]]:
    """The versions of a lease that can be read."""
    rows = []
    objects = git.objects([blob for _, blob in versions])
    for (at, _), entry in zip(versions, objects, strict=True):
        with suppress(Damaged):
            if entry:
                rows.append((at, lease.parse(path, entry[2])))
    return rows

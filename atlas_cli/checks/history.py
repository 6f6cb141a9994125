"""Reads the history that `check` judges by, of a store that may lie here or elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

from ..errors import AtlasError, Damaged
from ..model.text import Record
from ..records import lease, session
from ..store import history
from ..store.git import Git
from ..store.snapshot import Snapshot
from ..store.source import Source
from .commit import CodeCommit
from .rules import SLACK, Entry, History

_ENTRY = re.compile(r"status/([^/]+)/\d{3,}/(\d{6,9})\.md\Z")


def read_history(source: Source, width: int, commits: Sequence[CodeCommit]) -> History:
    """The store's history, as far as these code commits ask for it. One walk tells it, and only the
    records that matter are read."""
    named = {session for commit in commits for session in commit.sessions}
    moments = [commit.made for commit in commits] or [0]
    first, last = min(moments) - lease.LONGEST - SLACK, max(moments) + SLACK
    since, at = 0, 0
    begins: dict[str, int] = {}
    writes: dict[str, list[tuple[int, int]]] = {}
    entries: dict[str, dict[int, Entry]] = {}
    leases: dict[str, list[tuple[int, str]]] = {}
    for seq, write in enumerate(history.between(source.git, None, source.head)):
        at, by = write.message.at or at, write.message.session
        since = since or at
        if by in named:
            writes.setdefault(by or "", []).append((seq, at))
        for path, before, new in write.changes:
            if not new:
                continue
            if before is None and (match := _ENTRY.match(path)):
                entries.setdefault(match[1], {}).setdefault(int(match[2]), Entry(seq, at, new, by))
            elif before is None and path.startswith("sessions/"):
                begins[path.rpartition("/")[2].removesuffix(".yaml")] = seq
            elif path.startswith("leases/") and first <= at <= last:
                leases.setdefault(path, []).append((at, new))
    rows = _rows(Snapshot(source.git, source.head, width), named, begins)
    held = {}
    for path, versions in leases.items():
        if read := _versions(source.git, path, versions):
            held[read[0][1]["resource"]] = read
    return History(since, rows, begins, writes, entries, held)


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

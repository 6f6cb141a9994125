"""What `check` judges by: the history of a store that may lie here or elsewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..errors import AtlasError, Damaged
from ..model.text import Record
from ..records import lease, session
from ..store import history
from ..store.git import Git
from ..store.snapshot import Snapshot
from ..store.source import Source
from .commit import Code
from .rules import SLACK, Entry, Past

_ENTRY = re.compile(r"status/([^/]+)/\d{3,}/(\d{6,9})\.md\Z")


def past(found: Source, width: int, codes: Sequence[Code]) -> Past:
    """What the history says of these commits: one walk over it, and only the records that matter
    are read."""
    wanted = {name for code in codes for name in code.sessions}
    moments = [code.made for code in codes] or [0]
    young, old = min(moments) - lease.LONGEST - SLACK, max(moments) + SLACK
    since, at = 0, 0
    begins: dict[str, int] = {}
    writes: dict[str, list[tuple[int, int]]] = {}
    entries: dict[str, dict[int, Entry]] = {}
    leases: dict[str, list[tuple[int, str]]] = {}
    for seq, commit in enumerate(history.between(found.git, None, found.head)):
        at, by = commit.message.at or at, commit.message.session
        since = since or at
        if by in wanted:
            writes.setdefault(by or "", []).append((seq, at))
        for path, before, new in commit.changes:
            if new and before is None and (match := _ENTRY.match(path)):
                entries.setdefault(match[1], {}).setdefault(int(match[2]), Entry(seq, at, new, by))
            elif new and before is None and path.startswith("sessions/"):
                begins[path.rpartition("/")[2].removesuffix(".yaml")] = seq
            elif new and path.startswith("leases/") and young <= at <= old:
                leases.setdefault(path, []).append((at, new))
    tree = Snapshot(found.git, found.head, width)
    rows: dict[str, Record] = {}
    while missing := wanted & begins.keys() - rows.keys():
        rows |= {name: _session(tree, name) for name in missing}
        wanted |= {row["adopted_by"] for row in rows.values() if "adopted_by" in row}
    rows_of = [_versions(found.git, one) for one in leases.items()]
    return Past(
        since, rows, begins, writes, entries, {one[0][1]["resource"]: one for one in rows_of if one}
    )


def _session(tree: Snapshot, name: str) -> Record:
    """The row as it is now; empty where a hand has spoilt it."""
    try:
        return session.get(tree, name)
    except AtlasError:
        return {}


def _versions(git: Git, item: tuple[str, Sequence[tuple[int, str]]]) -> list[tuple[int, Record]]:
    """The versions of a lease that can be read."""
    path, versions = item
    found = []
    for (at, _), body in zip(versions, git.objects([blob for _, blob in versions]), strict=True):
        try:
            found += [(at, lease.parse(path, body[2]))] if body else []
        except Damaged:
            continue
    return found

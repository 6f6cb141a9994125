"""What `check` judges by: the history of a store that may lie here or elsewhere."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from ..errors import AtlasError, Damaged, Failed, NotFound
from ..records import lease, session
from ..records.check import SLACK, Entry, Past
from ..records.code import Code
from ..records.text import Record
from ..records.tree import object_id
from . import BRANCH, history, transports
from .git import Git, inherited, last_line
from .place import Place
from .snapshot import Snapshot
from .store import root_commit

_ENTRY = re.compile(r"status/([^/]+)/\d{3,}/(\d{6,9})\.md\Z")
OWN = "this clone's store"


class Source(NamedTuple):
    """A store's history up to a commit, and where it was found."""

    git: Git
    head: str
    where: str


@contextmanager
def source(place: Place, git: Git) -> Iterator[Source]:
    """The store of this clone, else one that it has fetched, else the one that its remote has, fetched into a folder
    that is gone afterwards. NotFound where there is none."""
    own = Git(str(place.home / "store.git"))
    if (place.home / "store.git").is_dir() and (found := own.object(BRANCH)):
        yield Source(own, found[0], OWN)
        return
    root = object_id("commit", root_commit(place.width), place.width)
    out = git.run("for-each-ref", "--format=%(objectname) %(refname)", BRANCH, "refs/remotes/*/atlas").decode()
    for line in sorted(out.splitlines(), key=lambda line: ("/origin/" not in line, line)):
        oid, _, ref = line.partition(" ")
        if git.ask("merge-base", "--is-ancestor", root, oid)[0] == 0:
            yield Source(Git(str(place.common)), oid, ref)
            return
    with tempfile.TemporaryDirectory(prefix="atlas-") as folder:
        yield _fetched(place, git, folder)


def _fetched(place: Place, git: Git, folder: str) -> Source:
    """The remote's branch, its objects in `folder`. Nothing is written into the user's repository."""
    net, remotes = inherited(), git.run("remote").decode().split()
    remote = "origin" if "origin" in remotes else next(iter(remotes), "")
    named = transports.programs(git, place.common, remote) if remote and not os.environ.get("CI") else []
    if named and not transports.used(place.common, named):  # (a CI's own checkout has put it there)
        raise Failed(f"{remote} is reached by a program that this repository's own configuration names "
                     f"({named[0][0]}), which a read does not run", "atlas init runs it, if you trust this repository",
                     code="configuration")  # fmt: skip
    code, out, _ = git.ask("ls-remote", "--end-of-options", remote, BRANCH, extra=net) if remote else (1, b"", "")
    if code or not out:
        where = f"in this clone or on {remote}" if remote else "in this clone, and it has no remote"
        raise NotFound(f"there is no Atlas store {where}", "atlas init makes one", code="no_store")
    objects = str(place.common / "objects").replace("\\", "\\\\").replace('"', '\\"')
    beside = {"GIT_OBJECT_DIRECTORY": folder, "GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{objects}"'}
    code, _, err = git.ask(
        "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--refmap=", "--no-recurse-submodules", "--no-filter",
        "--no-auto-maintenance", "--end-of-options", remote, BRANCH, extra=net | beside, timeout=300,
    )  # fmt: skip
    if code:
        raise Failed(f"the store on {remote} could not be fetched: {last_line(err)}", retry="later")
    there = Git(str(place.common))
    there.env |= beside
    return Source(there, out.decode().split()[0], f"the store on {remote}")


def past(found: Source, width: int, codes: Sequence[Code]) -> Past:
    """What the history says of these commits: one walk over it, and only the records that matter are read."""
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
    return Past(since, rows, begins, writes, entries, {one[0][1]["resource"]: one for one in rows_of if one})


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

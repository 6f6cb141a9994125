"""Joining: this clone's store made from the one that its remote has."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from ..errors import NotPublished, Refused
from ..records import policy
from ..store import BRANCH, REMOTE, files, history
from ..store.git import Git
from ..store.repo import TAKING, WAITING, Repo
from ..store.snapshot import Snapshot
from ..store.store import create, root_id
from .remote import CALL, INCOMING, Away, Remote, beside, find
from .remote_state import RemoteState


def join(
    repo: Repo, offline: bool, timeout: float = CALL, formed: Callable[[int], Repo] | None = None
) -> bool:
    """Makes this clone's store from the one that its remote has; False where there is no remote, or
    no store in it. Where it is not asked or gives no answer, from the copy of its branch that the
    user's repository holds; without one False, if it was not to be asked, else NotPublished.
    `formed` makes the place one for object ids of the length that the remote's have (a clone's are
    as long by themselves)."""
    there, copy, away = find(repo, repo.home), None, ""
    if there is None:
        return False
    there = there._replace(wanted=True)  # whoever joins asks for it
    if timeout < CALL:  # they only read
        there = there._replace(until=time.monotonic() + timeout)
    try:
        if not offline and (head := there.heads(timeout).get(there.branch)) is None:
            return False
        if not offline and formed and head:
            repo = formed(len(head))
    except Away as error:
        away = error.message
    if offline or away:
        copy = there.copy(repo)
    if copy or not (offline or away):
        try:
            made = create(repo, partial(_filled, copy or there, timeout))
            now = 0.0 if copy else time.time()
            RemoteState(made).put(asked_at=now, fetched_at=now, where=f"{there.url} {there.branch}")
            return True
        except Away:
            if copy is None:
                raise
    if offline:
        return False
    raise NotPublished(
        f"{away}: whether it holds a store is not known, and this clone has no whole copy of one",
        "try again when it answers; atlas init --help says how to begin without it",
    )


def aside(repo: Repo) -> bool:
    """A store in the worktree's outbox that holds what the clone's does, for a caller who cannot
    write that one; False where it is not needed, or there already."""
    if repo.outbox is None or repo.home != repo.shared or os.access(repo.home, os.W_OK):
        return False
    there = repo.home
    create(repo, partial(_lent, there / "store.git"), repo.outbox)
    with suppress(OSError):  # what waits of one that is gone is taken in beside what this one lays
        os.link(repo.outbox / WAITING, repo.outbox / TAKING)
    with suppress(OSError):
        files.put(repo.outbox / "machine", (there / "machine").read_bytes())
    return True


def _lent(there: Path, folder: Path) -> None:
    """The new repository reads the objects of one that never loses any."""
    (folder / "objects/info").mkdir(exist_ok=True)
    (folder / "objects/info/alternates").write_text(
        f"{os.path.relpath(there / 'objects', folder / 'objects')}\n"
    )
    _filled(beside(there, folder), CALL, folder)


def _filled(there: Remote, timeout: float, folder: Path) -> None:
    """Brings the remote's store into the new repository, before anybody sees that."""
    git = there.git
    git.directory = str(folder)
    found = git.object(INCOMING) if there.fetch(timeout) else None
    if found is None:
        raise Away(f"the branch {there.branch} on {there.name} has just gone", retry="now")
    theirs = found[0]
    is_store(git, there, theirs)
    for ref in (BRANCH, REMOTE):
        git.run("update-ref", "--no-deref", ref, theirs, options=["core.fsync=all"])
    git.close()


def _begins(git: Git, theirs: str) -> bool:
    if root_id(len(theirs)) not in history.roots(git, theirs):
        return False
    if Snapshot(git, theirs, len(theirs)).blob(policy.FOLDER):
        return True
    line = git.run("rev-list", "--topo-order", "--reverse", theirs, "--").decode().split()
    return any(Snapshot(git, oid, len(oid)).blob(policy.FOLDER) for oid in line[1:2])


def is_store(git: Git, there: Remote, theirs: str) -> None:
    """Refused for a branch that is no store: one is told by its first commits, the root of all
    stores and a policy, whatever a hand has done behind these."""
    if not _begins(git, theirs):
        raise Refused(
            f"the branch {there.branch} on {there.name} is not an Atlas store; it was left alone",
            "name another branch: atlas init --branch B",
            code="not_a_store",
        )

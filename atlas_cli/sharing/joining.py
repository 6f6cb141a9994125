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
from ..store.root import root_id
from ..store.snapshot import Snapshot
from ..store.store import create
from . import settings
from .remote import CALL, INCOMING, Away, Remote, beside, find
from .remote_state import RemoteState


def take(repo: Repo, offline: bool) -> bool:
    """Takes the store that the remote has, where this clone has none yet. True if it did."""
    if (repo.home / "store.git").is_dir():
        return aside(repo)
    return join(repo, offline)


def join(
    repo: Repo, offline: bool, timeout: float = CALL, formed: Callable[[int], Repo] | None = None
) -> bool:
    """Makes this clone's store from the one that its remote has, or from the copy of its branch
    that the user's repository holds, if the remote is not asked or gives no answer. False if there
    is no remote, if it has no store, or if it was not to be asked and there is no copy.

    formed: makes the repository one for object ids of the length that the remote's have (those of a
    clone are as long by themselves). Raises NotPublished if the remote gives no answer and there is
    no copy."""
    remote, copy, away = find(repo, repo.home), None, ""
    if remote is None:
        return False
    remote = remote._replace(wanted=True)  # whoever joins asks for it
    if timeout < CALL:  # they only read
        remote = remote._replace(until=time.monotonic() + timeout)
    try:
        if not offline and (head := remote.heads(timeout).get(remote.branch)) is None:
            return False
        if not offline and formed and head:
            repo = formed(len(head))
    except Away as error:
        away = error.message
    if offline or away:
        copy = remote.copy(repo)
    if copy or not (offline or away):
        try:
            made = create(repo, partial(_filled, copy or remote, timeout))
            now = 0.0 if copy else time.time()
            RemoteState(made).put(
                asked_at=now, fetched_at=now, where=f"{remote.url} {remote.branch}"
            )
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
    """Makes a store in the worktree's outbox that holds what the clone's does, for a caller who
    cannot write that one. False if it is not needed, or was made already."""
    if repo.outbox is None or repo.home != repo.shared or os.access(repo.home, os.W_OK):
        return False
    home = repo.home
    create(repo, partial(_lent, home / "store.git"), repo.outbox)
    with suppress(OSError):  # what waits of one that is gone is taken in beside what this one lays
        os.link(repo.outbox / WAITING, repo.outbox / TAKING)
    with suppress(OSError):
        files.put(repo.outbox / "machine", (home / "machine").read_bytes())
    return True


def _lent(lender: Path, folder: Path) -> None:
    """The new repository reads the objects of one that never loses any."""
    (folder / "objects/info").mkdir(exist_ok=True)
    (folder / "objects/info/alternates").write_text(
        f"{os.path.relpath(lender / 'objects', folder / 'objects')}\n"
    )
    _filled(beside(lender, folder), CALL, folder)


def _filled(remote: Remote, timeout: float, folder: Path) -> None:
    """Brings the remote's store into the new repository, before anybody sees that."""
    git = remote.git
    if remote.local:
        git.directory = str(folder)
    else:
        settings.enter(git, folder, remote.common)
    answer = git.object(INCOMING) if remote.fetch(timeout) else None
    if answer is None:
        raise Away(f"the branch {remote.branch} on {remote.name} has just gone", retry="now")
    theirs = answer[0]
    is_store(git, remote, theirs)
    for ref in (BRANCH, REMOTE):
        git.run("update-ref", "--no-deref", ref, theirs, options=["core.fsync=all"])
    git.close()


def _begins_a_store(git: Git, theirs: str) -> bool:
    if root_id(len(theirs)) not in history.roots(git, theirs):
        return False
    if Snapshot(git, theirs, len(theirs)).blob(policy.FOLDER):
        return True
    line = git.run("rev-list", "--topo-order", "--reverse", theirs, "--").decode().split()
    return any(Snapshot(git, oid, len(oid)).blob(policy.FOLDER) for oid in line[1:2])


def is_store(git: Git, remote: Remote, theirs: str) -> None:
    """Raises Refused if a branch is no store. A store is known by its first commits, the root of
    all stores and a policy, whatever a hand has done behind these."""
    if not _begins_a_store(git, theirs):
        raise Refused(
            f"the branch {remote.branch} on {remote.name} is not an Atlas store; it was left alone",
            "name another branch: atlas init --branch B",
            code="not_a_store",
        )


def brings_policy(commit: history.Commit) -> bool:
    """Whether a commit brought a store's policy. If another store's history goes on, that store's
    policy is in force."""
    return policy.FOLDER in {path for path, old, _ in commit.changes if old is None}

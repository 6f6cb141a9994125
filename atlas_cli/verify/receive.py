"""The server's side: what a push brings to the branch of the store, judged before it is taken."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from typing import NamedTuple

from ..errors import Failed
from ..model.change import Violation
from ..model.tree import object_id
from ..records import judging
from ..store import history
from ..store.git import Git
from ..store.index import Index
from ..store.repo import Repo
from ..store.snapshot import Snapshot
from ..store.store import root_commit
from . import audit
from .audit import Finding

# Where a push's objects wait until the hook has agreed.
_QUARANTINE = ("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH")


class Push(NamedTuple):
    """One ref of a push; None where it was not there, or is to be no more."""

    old: str | None
    new: str | None
    ref: str


def pushes(lines: Iterable[str]) -> list[Push]:
    """What git tells a `pre-receive` hook: `old new ref` on each line; Failed for anything else."""
    found = []
    for line in lines:
        old, new, ref = [*line.rstrip("\n").split(" ", 2), "", ""][:3]
        if not ref or {*old, *new} - {*"0123456789abcdef"}:
            raise Failed(f"{line[:200]!r} is not what git tells a pre-receive hook (old new ref)")
        found.append(Push(old if old.strip("0") else None, new if new.strip("0") else None, ref))
    return found


def server(repo: Repo) -> Git:
    """The repository that receives, with what the push brought."""
    git = Git(str(repo.common), hermetic=True)
    git.env |= {key: os.environ[key] for key in _QUARANTINE if key in os.environ}
    return git


def broken(git: Git, repo: Repo, push: Push) -> list[Finding]:
    """Why a push to the store's branch is not to be taken: nothing where it is. Only what is new is
    judged; what was there before is asked of a cache beside the repository
    (`atlas/received.sqlite`), made when it is missing."""
    if push.new is None:
        return [_refused(push, "append_only", "the branch of the store cannot be deleted")]
    if push.old and history.fork(git, push.old, push.new) != push.old:
        return [
            _refused(
                push,
                "append_only",
                f"does not contain {push.old[:12]}: the store cannot be rewound",
            )
        ]
    if push.old is None:
        root = object_id("commit", root_commit(repo.width), repo.width)
        if root not in history.roots(git, push.new):
            return [
                _refused(
                    push,
                    "linear",
                    f"does not begin with {root[:12]}, the root of all stores: this is none",
                )
            ]
    if push.old:
        found = audit.judge(git, repo.width, push.old, push.new, _index(git, repo, push.old))
    else:
        commits = list(history.between(git, None, push.new))
        found = [
            one
            for one in audit.judged(git, repo.width, None, commits, None)
            if one.repaired is None
        ]
    if not found and push.old is None and not judging.store_id(Snapshot(git, push.new, repo.width)):
        found = [_refused(push, "damaged", "holds no policy (atlas.yaml) with the id of a store")]
    return found


def _refused(push: Push, rule: str, text: str) -> Finding:
    return Finding(push.new or push.old or "", "", None, Violation(rule, "", text))


def _index(git: Git, repo: Repo, head: str) -> Index:
    """What the branch held before; in memory where no file can be written, or another push has
    it."""
    folder = repo.common / "atlas"
    with contextlib.suppress(OSError):
        folder.mkdir(exist_ok=True)
    index = Index(folder / "received.sqlite", git)
    index.sync(head)
    return index

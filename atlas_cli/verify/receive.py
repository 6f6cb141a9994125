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
from ..store.indexer import ENDING
from ..store.repo import Repo
from ..store.root import root_commit
from ..store.snapshot import Snapshot
from . import audit
from .audit import Finding

# Where a push's objects wait until the hook has agreed.
_QUARANTINE = ("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH")


class Push(NamedTuple):
    """One ref of a push. `old` is None if it was not there, `new` if it is to be no more."""

    old: str | None
    new: str | None
    ref: str


def pushes(lines: Iterable[str]) -> list[Push]:
    """The refs of a push, from what git tells a `pre-receive` hook: `old new ref` on each line.

    Raises Failed for anything else."""
    result = []
    for line in lines:
        old, new, ref = [*line.rstrip("\n").split(" ", 2), "", ""][:3]
        if not ref or {*old, *new} - {*"0123456789abcdef"}:
            raise Failed(f"{line[:200]!r} is not what git tells a pre-receive hook (old new ref)")
        result.append(Push(old if old.strip("0") else None, new if new.strip("0") else None, ref))
    return result


def server(repo: Repo) -> Git:
    """The repository that receives, with what the push brought."""
    git = Git(str(repo.common), hermetic=True)
    git.env |= {key: os.environ[key] for key in _QUARANTINE if key in os.environ}
    return git


def violations(git: Git, repo: Repo, push: Push) -> list[Finding]:
    """The reason why a push to the store's branch is refused; nothing if it is taken. Only what is
    new is judged. The history before it is asked of a cache beside the repository
    (in `atlas/`), which is made if it is missing."""
    if push.new is None:
        return [_refused(push, "append_only", "the branch of the store cannot be deleted")]
    if push.old is None:
        return _first_violations(git, repo, push, push.new)
    if history.fork(git, push.old, push.new) != push.old:
        text = f"does not contain {push.old[:12]}: the store cannot be rewound"
        return [_refused(push, "append_only", text)]
    index = _index(git, repo, push.old)
    return audit.range_violations(git, repo.width, push.old, push.new, index)


def _first_violations(git: Git, repo: Repo, push: Push, head: str) -> list[Finding]:
    """The same for a push that makes the branch: all of it is new."""
    root = object_id("commit", root_commit(repo.width), repo.width)
    if root not in history.roots(git, head):
        text = f"does not begin with {root[:12]}, the root of all stores: this is none"
        return [_refused(push, "linear", text)]
    commits = list(history.between(git, None, head))
    findings = audit.findings_in(git, repo.width, None, commits, None)
    unrepaired = [finding for finding in findings if finding.repaired is None]
    if not unrepaired and not judging.store_id(Snapshot(git, head, repo.width)):
        text = "holds no policy (atlas.yaml) with the id of a store"
        return [_refused(push, "damaged", text)]
    return unrepaired


def _refused(push: Push, rule: str, text: str) -> Finding:
    return Finding(push.new or push.old or "", "", None, Violation(rule, "", text))


def _index(git: Git, repo: Repo, head: str) -> Index:
    """An index of what the branch held before. It is in memory if no file can be written, or
    another push has it."""
    folder = repo.common / "atlas"
    with contextlib.suppress(OSError):
        folder.mkdir(exist_ok=True)
    index = Index(folder / f"received{ENDING}", git)
    index.sync(head)
    return index

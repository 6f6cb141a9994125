"""`doctor`'s repairs: what commits that break a rule had changed is restored."""

from __future__ import annotations

from collections.abc import Mapping

from ..model.change import Change, Writer
from ..model.tree import Tree
from ..records import judging
from ..store import history
from ..store.git import SMALL, Git
from ..store.snapshot import Snapshot
from ..store.store import Store
from ..store.trees import FOLDER, PLAIN
from .audit import Finding, Report
from .walk import Child, Walk

Plan = tuple[Finding, dict[str, str | None] | None]


def plans(store: Store, report: Report) -> list[Plan]:
    """For each violating commit its first finding and the blobs to restore by path, the newest
    commit first. The blobs are None if the commit cannot be taken back, because later writes were
    built on it."""
    commits = {finding.commit: finding for finding in reversed(report.open)}
    broken: dict[str, set[str]] = {oid: set() for oid in commits}
    for finding in report.open:
        broken[finding.commit] |= {finding.to_restore} - {""}
    return [(first, _blobs(store, oid, broken[oid])) for oid, first in reversed(commits.items())]


def _blobs(store: Store, oid: str, paths: set[str]) -> dict[str, str | None] | None:
    """The blobs that stood at these paths of a commit, and at what goes with them, before it. None
    if something else lies there by now."""
    if not oid:
        return None if paths else {}
    commit, now = history.commit(store.git, oid), store.snapshot()
    was = {path: (old, new) for path, old, new in commit.changes}
    unread = {path for path, mode in commit.modes.items() if mode == FOLDER}
    paths = _with_it(store, now, commit, paths)
    paths = {path for path in paths if path not in was or not _is_back(now, path, was[path][0])}
    for path in paths:
        if path not in was or not _stands(now, path, was, path in unread):
            return None
        if _is_folder(store.git, was[path][0]):
            return None
    return {path: was[path][0] for path in paths}


def _with_it(store: Store, now: Snapshot, commit: history.Commit, paths: set[str]) -> set[str]:
    """The paths, and whatever else of the commit breaks a rule once these are taken back: the bytes
    of a record that goes, the result of a task that is open again. A file that is back already
    stays out, and so does one that a merge or another root only brings along."""
    if not paths or len(commit.parents) != 1:
        return paths
    walk = Walk(store.git, Snapshot(store.git, commit.parents[0], store.place.width))
    rest = [row for row in commit.changes if now.blob(row[0]) != row[1]]
    while True:
        rest = [row for row in rest if row[0] not in paths]
        child = Child(walk, commit._replace(changes=tuple(rest)))
        more = set()
        for row in rest:
            violations = judging.judge(walk, child, [row], commit.message)
            if any(violation.path for violation in violations):
                more.add(row[0])
        if not more:
            return paths
        paths = paths | more


def _is_back(now: Snapshot, path: str, old: str | None) -> bool:
    """Whether what was there before is there again: put back by hand, or by another repair."""
    entry = now.entry(path)
    return old is None if entry is None else entry == (PLAIN, old)


def _is_folder(git: Git, oid: str | None) -> bool:
    """Whether what was there before is a folder that nobody looks into: it is nothing to be put
    back."""
    answer = git.object(oid, SMALL) if oid else None
    return answer is not None and answer[1] == "tree"


def _stands(
    now: Snapshot, path: str, was: Mapping[str, tuple[str | None, str | None]], folder: bool
) -> bool:
    """Whether what a commit put at a path lies there still.

    folder: it put one that nobody looks into."""
    entry, new = now.entry(path), was[path][1]
    if entry is None or entry[0] != FOLDER or folder:
        return (entry[1] if entry else None) == new
    made_the_folder = any(other.startswith(f"{path}/") for other in was)
    return new is None and made_the_folder


def change(
    finding: Finding, blobs: Mapping[str, str | None], git: Git, tree: Tree, writer: Writer
) -> Change:
    """The change that restores the last good bytes of what a commit had broken."""
    files: dict[str, bytes | None] = {}
    for path, oid in blobs.items():
        answer = git.object(oid) if oid else None
        files[path] = answer[2] if answer else None
    subject = f"repair: {finding.commit[:12]} ({writer.session})"
    return Change(subject, files, repairs=finding.commit)

"""The store's health, from end to end: the looks at it, the verdict on its history, and its
repairs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..env import writing
from ..env.env import Env
from ..model.text import Record
from ..model.tree import Tree
from ..verify import audit
from ..verify.audit import Report
from ..verify.repair import change, plans

MOST = 20  # files that gave way in a merge, and are named


def judged(env: Env, full: bool, count: Callable[[Tree], int] = lambda tree: 0) -> Report:
    """Judges the history by the rules, since the last good commit or (`full`) all of it. `count` is
    asked of the tree that was judged."""
    if not (env.place.home / "store.git").is_dir():
        # As in CI: the store is one that was fetched, or is on the remote.
        return audit.elsewhere(env.place, env.git, count)
    env.store.policy(env.snapshot)  # what is of a newer format is not judged by older rules
    report = audit.audit(env.store, env.snapshot.head or "", full)
    return report._replace(counted=count(env.snapshot))


def looked(env: Env, fix: bool) -> list[dict[str, Any]]:
    """Looks at the repository beneath the records: rows of `what`, `state` (ok, warn, bad, fixed)
    and `text`. `fix`: what can be repaired is."""
    from . import clone, looks  # (`verify` needs none of it)

    rows = [look._asdict() for look in looks.checks(env.store, env.sharing.sources(), fix)]
    env.forget("snapshot", "tree")
    if {row["what"]: row["state"] for row in rows}.get("branch", "bad") == "bad":
        return rows
    state, text = env.sharing.health(fix)
    rows.append({"what": "remote", "state": state, "text": text})
    _ = env.index  # it may see that what it knew is no longer part of the history
    if lost := env.local.rewinds():
        text = f"rewound: {', '.join(head[:12] for head in lost)} is no longer part of it"
        rows.append({"what": "history", "state": "fixed" if fix else "bad", "text": text})
        if fix:
            env.local.forget_rewinds()
    return rows + [look._asdict() for look in clone.looks(env, fix)]


def repair(env: Env, me: Record) -> tuple[list[str], list[str]]:
    """Appends a repair for every violation that can be taken back: (what was done, what could not
    be done)."""
    done: list[str] = []
    left: list[str] = []
    tried: set[str] = set()
    while True:  # what was broken twice is put back in two steps, the last one first
        waiting, left = len(left), []
        report = judged(env, False)
        for finding, blobs in plans(env.store, report):
            commit, rule = finding.commit[:12], finding.violation.rule
            path = finding.violation.path
            if finding.commit in tried:  # its repair is none: a second one would not be, either
                left.append(f"{commit} ({rule}: {path})")
                continue
            what = f"{commit} ({rule}: {path or finding.subject})"
            if blobs is None:
                left.append(f"{what}: later writes were built on it")
                continue
            tried.add(finding.commit)
            writing.write(env, partial(change, finding, blobs, env.store.git), me, "repair: ")
            restored = f"restored {', '.join(sorted(blobs))}" if blobs else "acknowledged"
            done.append(f"{what}: {restored}{_given_way(report, finding.commit)}")
        if len(left) in (0, waiting):
            return done, left


def _given_way(report: Report, merge: str) -> str:
    """The files of a merge's lines that stand in the history only."""
    texts = [
        f"{finding.violation.path}: {finding.violation.text}"
        for finding in report.open
        if finding.commit == merge and finding.violation.path and not finding.to_restore
    ]
    if len(texts) > MOST:
        texts[MOST:] = [f"and {len(texts) - MOST} more: atlas verify --full"]
    return "".join(f"; {text}" for text in texts)

"""The store's health, from end to end: what is looked at, what the history is judged to be, and its
repairs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..env.env import Env
from ..model.text import Record
from ..model.tree import Tree
from ..verify import audit
from ..verify.audit import Report
from . import looks


def judged(env: Env, full: bool, count: Callable[[Tree], int] = lambda tree: 0) -> Report:
    """The history judged by the rules: since the last good commit, or all of it. `count` is asked
    of the tree that was judged."""
    if not (
        env.place.home / "store.git"
    ).is_dir():  # as in CI: one that was fetched, or is on the remote
        return audit.elsewhere(env.place, env.git, count)
    return audit.audit(env.store, env.snapshot.head or "", full)._replace(
        counted=count(env.snapshot)
    )


def looked(env: Env, fix: bool) -> list[dict[str, Any]]:
    """Looks at the repository beneath the records: rows of what, state (ok, warn, bad, fixed),
    text."""
    found = [check._asdict() for check in looks.checks(env.store, env.sharing.sources(), fix)]
    env.__dict__.pop("snapshot", None)
    env.__dict__.pop("tree", None)
    if {row["what"]: row["state"] for row in found}.get("branch", "bad") == "bad":
        return found
    found.append(
        dict(zip(("what", "state", "text"), ("remote", *env.sharing.health(fix)), strict=True))
    )
    assert env.index  # it may see that what it knew is no longer part of the history
    if lost := env.local.rewinds():
        text = f"rewound: {', '.join(head[:12] for head in lost)} is no longer part of it"
        found.append({"what": "history", "state": "fixed" if fix else "bad", "text": text})
        if fix:
            env.local.forget_rewinds()
    return found


def repair(env: Env, me: Record) -> tuple[list[str], list[str]]:
    """Appends a repair for every violation that can be taken back: (what was done, what could not
    be)."""
    from ..verify.repair import change, plans

    done: list[str] = []
    left: list[str] = []
    tried: set[str] = set()
    while True:  # what was broken twice is put back in two steps, the last one first
        waiting, left = len(left), []
        for finding, blobs in plans(env.store, judged(env, False)):
            if finding.commit in tried:  # its repair is none: a second one would not be, either
                left.append(
                    f"{finding.commit[:12]} ({finding.violation.rule}: {finding.violation.path})"
                )
                continue
            what = (
                f"{finding.commit[:12]} ({finding.violation.rule}:"
                f" {finding.violation.path or finding.subject})"
            )
            if blobs is None:
                left.append(f"{what}: later writes were built on it")
                continue
            tried.add(finding.commit)
            env.write(partial(change, finding, blobs, env.store.git), me, "repair: ")
            done.append(
                f"{what}: restored {', '.join(sorted(blobs))}" if blobs else f"{what}: acknowledged"
            )
        if len(left) in (0, waiting):
            return done, left

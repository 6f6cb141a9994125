"""The news that a session hears at its next command, whoever wrote it: corrections of what it built
on, tasks that were assigned to it, its dead letters, gates before its tasks, leases and claims that
it has lost. Each is told once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..model import times
from ..model.text import Record
from ..model.tree import Tree
from ..records import correction, lease
from ..records.board import readiness, task
from ..visible import named, theirs
from . import board, corrections
from .ask import Questions

News = Iterator[tuple[str, str]]  # the key under which it is noted, and the line
_HELD = ("lease: take", "lease: renew")  # how subjects begin behind which a lease is the writer's
_CLAIMED = ("task: claim", "task: renew", "task: start")
MOST = 500  # of a session's own newest commits that are looked through


def news(ask: Questions, tree: Tree, me: Record) -> list[str]:
    """The lines that a session has not been told yet."""
    lines = _corrected(ask, me)
    wrote = _wrote(ask, me["id"])
    for key, line in (
        *_assigned(ask, me),
        *_dead(ask, me),
        *_gated(ask, tree, me["id"], wrote),
        *_lost(ask, me["id"], wrote),
    ):
        if ask.local.first_time(me["id"], key):
            lines.append(line)
    return lines


def _corrected(ask: Questions, me: Record) -> list[str]:
    last, head = ask.local.told(me["id"]), ask.index.meta("head") or ""
    if last == head:
        return []
    lines = corrections.since(ask, me, ask.index.reached(last) or 0)
    ask.local.tell(me["id"], head)
    return lines


def _wrote(ask: Questions, mine: str) -> dict[str, str]:
    """The subject of a session's newest commit on each row of a lease or a task, by path."""
    wrote: dict[str, str] = {}
    for commit in ask.index.commits(MOST, session=mine)[0]:
        for path in commit["paths"].split("\n"):
            if path.startswith((f"{task.FOLDER}/", f"{lease.FOLDER}/")):
                wrote.setdefault(path, commit["subject"])
    return wrote


def _assigned(ask: Questions, me: Record) -> News:
    for row in task.held(ask.index, me["id"], ask.now):
        by = row["claim"].get("by")
        if by and by != me["id"] and "started" not in row["claim"]:
            yield (
                f"assigned:{row['id']}:{row['token']}",
                f"task:{row['id']} ({_title(ask, row)}) was assigned to you by {named(by)}:"
                f" atlas task start {row['id']}",
            )


def _dead(ask: Questions, me: Record) -> News:
    for row in board.dead(ask, me):
        ours = me["id"] in (row["session"], row.get("claim", {}).get("parent"))
        if ours:
            yield (
                f"dead:{row['id']}:{row['generation']}",
                f"task:{row['id']} ({_title(ask, row)}) is a dead letter, and {row['yours']}:"
                f" atlas task dead",
            )


def _gated(ask: Questions, tree: Tree, mine: str, wrote: Mapping[str, str]) -> News:
    """The gates before the tasks that a session posted or works on."""
    if not readiness.standing(tree):
        return
    gates = {row["id"]: row for row in board.standing(ask, tree)}
    for path in wrote:
        row = ask.index.readable(path) if path.startswith(task.FOLDER) else None
        if row is None or row["state"] in task.CLOSED:
            continue
        for name in readiness.holding(tree, row):
            barrier: Mapping[str, Any] = gates.get(name, {})
            if barrier.get("session") in (None, mine):
                continue
            why = correction.said(dict(barrier), "why", ask.now, theirs)
            yield (
                f"gate:{name}:{row['id']}",
                f"gate {name} holds task:{row['id']} back, by {named(barrier['session'])}: {why}",
            )


def _lost(ask: Questions, mine: str, wrote: Mapping[str, str]) -> News:
    """The leases and claims that a session had at its last word on them, and has no more."""
    for path, subject in wrote.items():
        row = ask.index.readable(path)
        if row is None:
            continue
        if subject.startswith(_HELD) and path.startswith(lease.FOLDER):
            yield from _lost_lease(ask, mine, row)
        elif subject.startswith(_CLAIMED) and path.startswith(task.FOLDER):
            yield from _lost_claim(ask, mine, row)


def _lost_lease(ask: Questions, mine: str, row: Record) -> News:
    if row["holder"] == mine and (row.get("released") or lease.holds(row, ask.now)):
        return
    what = f"the lease on {named(row['resource'])}, which you held, is over"
    if row["holder"] != mine:
        state = "has" if lease.holds(row, ask.now) else "had"
        what += f"; {named(row['holder'])} {state} taken it since"
    elif times.moment(row["at"]) > ask.now:
        return  # dated ahead of this clock: it is not honoured yet
    yield f"lease:{row['resource']}:{row['token']}", what


def _lost_claim(ask: Questions, mine: str, row: Record) -> News:
    claim = row.get("claim", {})
    if row["state"] in task.CLOSED and claim.get("session") == mine:
        return
    if claim.get("session") == mine and row["state"] == "claimed":
        if task.claim_ends(row) > ask.now:
            return
        after = "it is on offer again"
    else:
        after = f"it is {row['state']}"
        if row["state"] == "claimed":
            after += f" by {named(claim.get('session', ''))}"
    yield (
        f"claim:{row['id']}:{row['generation']}:{row['attempt']}:{row['state']}",
        f"your claim on task:{row['id']} ({_title(ask, row)}) is over: {after}",
    )


def _title(ask: Questions, row: Record) -> str:
    return correction.said(ask.shown(row, f"task:{row['id']}"), "title", ask.now, theirs)

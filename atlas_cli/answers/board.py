"""The board: tasks as they are shown, the gates that hold them back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import Damaged
from ..model import times
from ..model.text import Record
from ..model.tree import Tree
from ..records import signal
from ..records.board import gate, readiness, task
from .ask import Questions


def gate_row(ask: Questions, tree: Tree, record: Record) -> Record:
    """A gate as it is shown: with its computed state, and why it was raised."""
    path = signal.path_of(record["signal"])
    try:
        blocker = signal.parse(path, tree.read(path) or b"")
    except Damaged as error:
        blocker = {"text": error.message}
    row = {
        "ref": f"gate:{record['id']}",
        **record,
        "state": gate.state(tree, record, ask.now),
        "why": blocker["text"],
        "about": blocker.get("about"),
    }
    return ask.shown(row)


def standing(ask: Questions, tree: Tree) -> list[Record]:
    """The gates that hold something back. (One that cannot be read is left out.)"""
    records = readiness.standing(tree)
    return [gate_row(ask, tree, record) for record in records if "damaged" not in record]


def task_row(tree: Tree, record: Record, now: int, policy: Mapping[str, Any]) -> Record:
    """A task as lists show it: with its computed state, what it waits for, and without its text."""
    state, waits = readiness.assess(tree, record, now, policy)
    row = {
        "ref": f"task:{record['id']}",
        **record,
        "stored": record["state"],
        "state": state,
        "unmet": dict(waits),
    }
    row.pop("body", None)
    if "frozen" in record:
        row["can_thaw"] = _can_thaw(tree, record, now)
    return row


def _can_thaw(tree: Tree, record: Record, now: int) -> bool:
    """Whether what a frozen task waits for is over: the time, the task done, the record there."""
    until = record["frozen"].get("until")
    if until is None:
        return False
    kind, _, rest = until.partition(":")
    if not kind.isalpha():
        return times.moment(until) <= now
    return kind != "task" or bool(task.get(tree, rest)["state"] == "done")


def offered(ask: Questions, record: Record) -> Record:
    """A task that is ready, as it is offered: whole."""
    return ask.shown({"ref": f"task:{record['id']}", **record, "state": "ready"})


def ready(ask: Questions, tree: Tree, most: int) -> list[Record]:
    """The first tasks that can be claimed now, as they are offered."""
    rows: list[Record] = []
    for _, record in ask.index.queue(task.FOLDER, ask.now):
        if readiness.assess(tree, record, ask.now, ask.policy)[0] == "ready":
            rows.append(offered(ask, record))
        if len(rows) == most:
            break
    return rows


def opened(ask: Questions, tree: Tree) -> list[Record]:
    """All tasks that are not done or cancelled, first come first."""
    return [
        ask.shown(task_row(tree, record, ask.now, ask.policy))
        for _, record in ask.index.queue(task.FOLDER, None)
    ]


def unblocks(ask: Questions, tree: Tree, wanted: str) -> list[str]:
    """The tasks that wait for this one and for nothing else."""
    ids = []
    for _, record in ask.index.pointing(f"task:{wanted}", "needs"):
        waits = [need for need, _ in readiness.unmet(tree, record, ask.now, ask.policy)]
        if record["state"] == "open" and set(waits) <= {wanted}:
            ids.append(str(record["id"]))
    return ids


def claimed(ask: Questions, session_id: str) -> list[str]:
    """The REFs of the tasks that a session has claimed and still holds."""
    return [f"task:{row['id']}" for row in task.held(ask.index, session_id, ask.now)]


def concerning(ask: Questions, me: Record | None) -> set[str]:
    """The tasks that are not over, and that a session has posted or claimed."""
    if me is None:
        return set()
    return {
        row["id"]
        for _, row in ask.index.live(task.FOLDER, times.LAST - 1)
        if me["id"] in (row["session"], row.get("claim", {}).get("session"))
    }


def dead(ask: Questions, me: Record | None = None) -> list[Record]:
    """The dead letters; first those that this session (or its actor) posted, or a child of it had.
    Each has `yours`."""
    rows = []
    for _, record in ask.index.live(task.FOLDER, task.NEVER):
        if task.own_state(record, ask.now, ask.policy) == "dead":
            yours = _yours(record, me) if me else ""
            row = {"ref": f"task:{record['id']}", **record, "state": "dead", "yours": yours}
            rows.append(ask.shown(row))
    return sorted(rows, key=lambda row: not row["yours"])


def _yours(record: Record, me: Record) -> str:
    """The tie of a session to a task; empty where there is none."""
    if me["id"] == record["session"] or me["actor"] == record["actor"]:
        return "you posted it"
    if record.get("claim", {}).get("parent") == me["id"]:
        return "a session that you started had it"
    return ""

"""The board: tasks as they are shown, the gates that hold them back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from ..errors import AtlasError, Damaged
from ..model import times
from ..model.text import Record
from ..model.tree import Tree
from ..records import correction, signal
from ..records.board import gate, readiness, result, task
from ..records.likeness import same_question
from ..visible import named, theirs
from .ask import Questions
from .over import Over, over

FEW = 3  # new tasks that are compared with those that are there
LATELY = 3600  # seconds since which what was done is compared, too


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


def raised(ask: Questions, tree: Tree) -> list[Record]:
    """All gates that were ever raised, also those that are over, the newest first."""
    rows = []
    for name in tree.names(gate.FOLDER):
        path = f"{gate.FOLDER}/{name}"
        if name.endswith(gate.END + gate.SUFFIX) or not name.endswith(gate.SUFFIX):
            continue
        with suppress(Damaged):
            rows.append(gate_row(ask, tree, gate.parse(path, tree.read(path) or b"")))
    return sorted(rows, key=lambda row: (row["at"], row["id"]), reverse=True)


def task_row(
    ask: Questions, tree: Tree, record: Record, now: int, policy: Mapping[str, Any]
) -> Record:
    """A task as lists show it: with its computed state, what it waits for, why it came back, and
    without its text."""
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
        row["can_thaw"] = thaws(ask, tree, record) is not None
    if state not in task.CLOSED and came_back(record):
        row["came_back"] = came_back(ask.shown({"ref": row["ref"], **record}))
    return row


def came_back(record: Record) -> str:
    """The reason why a task is on offer again, as it is shown; empty if it never was claimed in
    vain, or was claimed since and given back without one."""
    entries = record.get("failures", ())
    if not entries or record["state"] == "claimed":
        return ""
    last = entries[-1]
    for what in task.NO_FAILURE:
        if what in last and last.get("token", record["token"]) != record["token"]:
            return ""
        if what in last:
            return f"{what} by {last.get('session')}: {correction.plain(last[what])}"
    return task.last_failure(record)


def thaws(ask: Questions, tree: Tree, record: Record) -> Over | None:
    """The end of what a frozen task waited for; None before it, and where it waits for nothing."""
    until = record["frozen"].get("until")
    try:
        return None if until is None else over(ask, tree, until)
    except AtlasError:  # it is not there any more, or a hand wrote it
        return None


def thawed(ask: Questions, tree: Tree, me: Record) -> list[str]:
    """The frozen tasks of a session, and of its actor's other sessions, that wait for nothing any
    more. Each is returned once."""
    lines = []
    for _, row in ask.index.held_back(task.FOLDER, task.NEVER):
        if "frozen" not in row or not _yours(row, me):
            continue
        now = thaws(ask, tree, row)
        if now and ask.local.first_time(me["id"], f"thaws:{row['id']}:{now.what}"):
            lines.append(
                f"task:{row['id']} can thaw: {named(now.what)} is {now.how}:"
                f" atlas task thaw {row['id']}"
            )
    return lines


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
        ask.shown(task_row(ask, tree, record, ask.now, ask.policy))
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


def twins(ask: Questions, rows: Sequence[Record], me: str) -> list[str]:
    """A line for each of these new tasks that asks for nearly what another one does that is not
    closed, or was done a short while ago. None for a plan: its tasks are alike."""
    if len(rows) > FEW:
        return []
    own = {row["id"] for row in rows}
    others = [row for _, row in ask.index.live(task.FOLDER, task.NEVER - 1) if row["id"] not in own]
    done = ask.index.since(result.FOLDER, ask.index.upto(ask.now - LATELY))
    finished = {row["task"] for _, _, row in done} - own
    others += [row for id in finished if (row := ask.index.readable(task.path_of(id)))]
    lines = []
    for row in rows:
        alike = [other for other in others if same_question(other["title"], row["title"])]
        if alike and not ask.retracted(f"task:{alike[0]['id']}"):
            lines.append(_twin(ask, row, alike[0], me))
    return lines


def _twin(ask: Questions, row: Record, other: Record, me: str) -> str:
    state, claim = task.own_state(other, ask.now, ask.policy), other.get("claim", {})
    who = {me: "you"}
    by = f" by {who.get(claim['session'], named(claim['session']))}" if claim else ""
    posted = who.get(other["session"], named(other["session"]))
    off = f"if yours is the same: atlas task cancel {row['id']} --why 'see task:{other['id']}'"
    title = theirs(other["title"], 60)
    return f"like task:{other['id']} ({state}{by}, posted by {posted}: {title}): {off}"

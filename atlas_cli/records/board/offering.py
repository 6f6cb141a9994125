"""The tasks that may be given to a worker, and why there is none. `queue` is the rows as the index
has them, by path, in their order; each row that is taken is read again on the tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ...errors import Held, Nothing
from ...model import times
from ...model.change import Writer
from ...model.text import Record
from ...model.tree import Tree
from ...visible import many
from .. import lease, policy, session
from . import readiness, task, using

STANDING = (
    "claimed by others",
    "claimed by you",
    "held back",
    "frozen",
    "dead",
    "expired",
)  # how open tasks stand that nobody can be given
Queue = Iterable[tuple[str, Record]]

ASIDE = (session.PERSON, "run")  # classes of sessions that post no work by themselves


def ready(
    tree: Tree,
    queue: Queue,
    writer: Writer,
    role: str | None = None,
    passed: list[Held] | None = None,
) -> Iterator[Record]:
    """The tasks that may be given to a worker, in the order of the queue. With a list `passed`,
    those whose resources the writer cannot have are passed over, and the list gets why."""
    in_force = policy.to_read(tree)
    for path, row in queue:
        if (role is not None and row.get("role", role) != role) or readiness.holding(tree, row):
            continue
        record = task.parse(path, tree.read(path) or b"")
        then = writer.at - wait(record, writer.machine, writer.at)
        if readiness.assess(tree, record, then, in_force)[0] != "ready":
            continue
        if passed is not None and (why := using.barred(tree, writer, record)):
            passed.append(why)
            continue
        yield record


def first_ready(
    tree: Tree, queue: Queue, writer: Writer, role: str | None, passed: list[Held]
) -> Record:
    """The first task that the writer may be given. Raises Nothing if there is none."""
    for record in ready(tree, queue, writer, role, passed):
        return record
    raise none_ready(tree, writer, role, passed)


def none_ready(
    tree: Tree, writer: Writer, role: str | None = None, passed: Iterable[Held] = ()
) -> Nothing:
    """The error that no task is ready: whether others are at work on some, or the board is done."""
    states, holders = _counted(tree, writer, role)
    done = states.pop("done", 0)
    count = sum(states.values())
    details = {
        "open": count,
        "waiting": states["claimed by others"],
        "holders": holders,
        "done": done,
        "passed": [stop.message for stop in passed],
    }
    whom = f" for {role}" if role else ""
    if not count:
        what = f"the board is done{whom}: {done} done" if done else f"the board is empty{whom}"
        hint = "atlas task add posts a task; with nothing left to do: atlas end"
        if others := _others(tree, writer):
            what += f"; {many(others, 'other session')} may post more"
            hint = f"atlas wait ready waits for it; {hint}"
        return Nothing(what, hint, code="no_task", details={**details, "sessions": others})
    parts = [f"{states[state]} {state}" for state in STANDING if states[state]]
    lines = "".join(f"; {stop.message}" for stop in passed)
    return Nothing(
        f"no task is ready{whom}: {', '.join(parts)}{lines}",
        "atlas task next --claim --wait 100s waits; atlas task list --explain says what holds each",
        code="no_task",
        details=details,
    )


def _others(tree: Tree, writer: Writer) -> int:
    """How many other sessions have not ended, and were heard of lately."""
    rows = (row for _, row in tree.live(session.FOLDER, writer.at))
    return sum(row["id"] != writer.session and row.get("class") not in ASIDE for row in rows)


def _counted(tree: Tree, writer: Writer, role: str | None) -> tuple[Counter[str], list[str]]:
    """How many tasks there are, by how they stand (those that are done only if all are closed), and
    the other sessions that have claimed some."""
    in_force, states, holders = policy.to_read(tree), Counter[str](), set[str]()
    for _, row in tree.live(task.FOLDER, task.NEVER - 1):
        if role is not None and row.get("role", role) != role:
            continue
        state = task.own_state(row, writer.at, in_force)
        if state == "claimed":
            mine = row["claim"]["session"] == writer.session
            state = "claimed by you" if mine else "claimed by others"
            holders |= set() if mine else {row["claim"]["session"]}
        states["held back" if state == "open" else state] += 1
    if not states:
        closed = (row for _, row in tree.live(task.FOLDER, 0) if row["state"] == "done")
        states["done"] = sum(role is None or row.get("role", role) == role for row in closed)
    return states, sorted(holders)


def wait(record: Record, machine: str, now: int) -> int:
    """The seconds for which this machine waits after a claim of another machine: that one's clock
    may be behind."""
    others = record["state"] == "claimed" and record["claim"].get("machine") != machine
    return times.SKEW if others and lease.begins(task.claim_ends(record)) <= now - times.SKEW else 0

"""Tasks: what is to be done, in which order, by whom now. A row for each (`tasks/<hh>/<id>.md`),
its body the text.

Stored are the states open, claimed, done, failed and cancelled; ready, gated, blocked, frozen,
expired and dead are computed from the rows and a moment, here and nowhere else."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from ...errors import Damaged, NotFound
from ...model import names, schema, text, times
from ...model.kind import row_kind
from ...model.text import Record
from ...model.tree import Tree
from .. import lease, session

FOLDER = "tasks"
NEVER = times.LAST  # the moment that does not come; `until` of a task that waits
PRIORITIES = range(101)
CLOSED = ("done", "cancelled")  # states in which nothing is left to do
LOST = (
    "dead",
    "cancelled",
    "expired",
    "missing",
    "damaged",
)  # states of a need that will not become done by itself


def new_id(operation: str, nth: int) -> str:
    """Ten letters and digits made of the operation's random id: no two clones ever make the
    same."""
    digest = hashlib.sha256(f"{operation}/{nth}".encode()).digest()
    return "".join(session.LETTERS[byte % len(session.LETTERS)] for byte in digest[:10])


def path_of(task: str) -> str:
    """Where a task's row lies; Usage for what is no id."""
    return f"{FOLDER}/{names.bucket(names.name(task, 'task id'))}/{task}.md"


def parse(path: str, data: bytes) -> Record:
    """A row's fields, its text as `body`. (Whoever looks at a board meets the same needs again and
    again.)"""
    return dict(_parsed(path, data))


@lru_cache(maxsize=2**14)
def _parsed(path: str, data: bytes) -> Record:
    record, body = text.front(data, path)
    schema.fields(
        record,
        path,
        {
            "id": str,
            "version": "count",
            "state": str,
            "title": str,
            "priority": "count",
            "generation": "count",
            "attempt": "count",
            "token": "count",
            "retries": "count",
            "session": str,
            "actor": str,
            "created": "time",
            "at": "time",
        },
        {
            "nth": "count",
            "needs": "texts",
            "role": str,
            "labels": "texts",
            "slots": "count",
            "relies_on": "texts",
            "deadline": "time",
            "claim": dict,
            "frozen": dict,
            "failures": list,
            "dropped": list,
            "why": str,
        },
    )
    if "claim" in record:
        schema.fields(
            record["claim"],
            path,
            {
                "session": str,
                "actor": str,
                "generation": "count",
                "attempt": "count",
                "token": "count",
                "store": str,
                "at": "time",
                "expires": "time",
                "path": str,
                "version": "count",
                "needs": dict,
            },
            {"machine": str, "parent": str, "by": str, "started": "time", "start_by": "time"},
        )
    schema.placed(
        path, f"task:{record['id']}", path_of(record["id"]) if names.valid(record["id"]) else None
    )
    for need in record.get("needs", ()):
        schema.is_name(path, "task id", need, names.valid(need))
    if not all(
        isinstance(entry, dict) for key in ("failures", "dropped") for entry in record.get(key, ())
    ):
        raise Damaged(f"{path}: failures or dropped is no list of maps")
    return {**record, "body": body}


def until(record: Record) -> int | None:
    """When it was done or cancelled; never for one that waits, and one more for one that is claimed
    or failed, so that these few are found without the many (`tree.live(FOLDER, NEVER)`)."""
    if record["state"] in CLOSED:
        return times.moment(record["at"])
    return NEVER + int(record["state"] != "open")


def queued(record: Record) -> tuple[int, int, int, int] | None:
    """What the index finds the next task by: its rank, its place in its own commit, from which
    moment until which it may be given to somebody; None once it is done or cancelled."""
    if record["state"] in CLOSED:
        return None
    due = NEVER if "frozen" in record or record["state"] == "failed" else claim_ends(record)
    deadline = record.get("deadline")
    return (
        -record["priority"],
        record.get("nth", 0),
        due,
        times.moment(deadline) if deadline else NEVER,
    )


def links(record: Record) -> Iterable[tuple[str, str]]:
    yield from (("needs", f"task:{need}") for need in record.get("needs", ()))
    yield from (("relies_on", target) for target in record.get("relies_on", ()))


def find(tree: Tree, task: str, number: int | None = None) -> str:
    """The path of a task's row; NotFound where there is none."""
    path = path_of(task)
    if tree.blob(path) is None:
        raise NotFound(f"there is no task {task} in this store", "atlas task list shows them")
    return path


def get(tree: Tree, task: str) -> Record:
    path = find(tree, task)
    return parse(path, tree.read(path) or b"")


# what is computed


def claim_ends(record: Record) -> int:
    """The moment at which its claim is over: 0 without one; early for one that was assigned and
    never started."""
    if record["state"] != "claimed":
        return 0
    claim = record["claim"]
    over = min(times.moment(claim["expires"]), times.moment(record["at"]) + lease.LONGEST)
    return (
        over
        if "started" in claim or "start_by" not in claim
        else min(over, times.moment(claim["start_by"]))
    )


def holds(record: Record, now: int) -> bool:
    """Whether its claim is in force at that moment, as a lease is."""
    over = claim_ends(record)
    return lease.begins(over) <= now < over


def held(where: Any, holder: str | None, now: int) -> list[Record]:
    """The rows (without their bodies) that a session (None: anybody) has claimed and still holds;
    `where`: a tree, or the index."""
    return [
        row
        for _, row in where.live(FOLDER, NEVER)
        if row["state"] == "claimed"
        and holder in (None, row["claim"]["session"])
        and holds(row, now)
    ]


def counts_as_attempt(record: Record) -> bool:
    """Whether its claim counts as an attempt once it has lapsed."""
    return record["state"] == "claimed" and (
        "started" in record["claim"] or "start_by" not in record["claim"]
    )


def own_state(record: Record, now: int, rules: Mapping[str, Any]) -> str:
    """Its state at a moment, what it needs aside: done, cancelled, dead, claimed, expired, frozen
    or open."""
    if record["state"] in CLOSED:
        return str(record["state"])
    if record["state"] == "failed":
        return "dead"
    if holds(record, now):
        return "claimed"
    if counts_as_attempt(record) and record["retries"] >= rules["max_retries"]:
        return "dead"
    if "deadline" in record and times.moment(record["deadline"]) <= now:
        return "expired"
    return "frozen" if "frozen" in record else "open"


def last_failure(record: Record) -> str:
    """Who failed last, and why."""
    past = [one for one in record.get("failures", ()) if "why" in one]
    return f"{past[-1].get('session')}: {past[-1]['why']}" if past else "-"


def makes_cycle(tree: Tree, task: str, others: Iterable[str], only: Tree | None = None) -> bool:
    """Whether what a task is to need leads back to it. `only`: through tasks that this tree does
    not hold yet."""
    seen: set[str] = set()
    left = list(others)
    while left:
        need = left.pop()
        if need == task:
            return True
        data = None if need in seen else tree.read(path_of(need))
        seen.add(need)
        if data is not None and (only is None or only.blob(path_of(need)) is None):
            found = parse(path_of(need), data)
            left += found.get("needs", ()) if found["state"] != "done" else ()
    return False


KIND = row_kind("task", FOLDER, ".md", "id", parse, find, until, links=links)._replace(
    queued=queued, words=("title", "body", "why")
)

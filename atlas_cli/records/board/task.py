"""Tasks: pieces of work, their order, and who is on them now. A row for each
(`tasks/<hh>/<id>.md`), its body the text.

The states open, claimed, done, failed and cancelled are stored. Ready, gated, blocked, frozen,
expired and dead are computed from the rows and a moment, here and in readiness."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from ...errors import Damaged, NotFound
from ...model import names, schema, text, times
from ...model.digests import sha256
from ...model.kind import row_kind
from ...model.text import Record
from ...model.tree import Tree
from .. import correction, lease, session

FOLDER = "tasks"
NEVER = times.LAST  # the moment that does not come; `until` of a task that waits
PRIORITIES = range(101)
NO_FAILURE = ("retried", "released")  # entries of its failures that are none, and say a reason
CLOSED = ("done", "cancelled")  # states in which nothing is left to do
# States of a need that will not become done by itself.
LOST = ("dead", "cancelled", "expired", "missing", "damaged")


def new_id(operation: str, nth: int) -> str:
    """The id of a new task: ten letters and digits made of the operation's random id, so that no
    two clones make the same."""
    digest = sha256(f"{operation}/{nth}".encode()).digest()
    return "".join(session.LETTERS[byte % len(session.LETTERS)] for byte in digest[:10])


def path_of(task: str) -> str:
    """The path of a task's row. Raises Usage if the text is no id."""
    return f"{FOLDER}/{names.bucket(names.name(task, 'task id'))}/{task}.md"


def parse(path: str, data: bytes) -> Record:
    """The fields of a task, its text as `body`. The result is cached, because a look at a board
    meets the same needs again and again."""
    return dict(_parsed(path, data))


_FIELDS = {
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
}
_OPTIONAL = {
    "nth": "count",
    "needs": "texts",
    "role": str,
    "labels": "texts",
    "slots": "count",
    "relies_on": "texts",
    "uses": "texts",
    "files": "texts",
    "deadline": "time",
    "claim": dict,
    "frozen": dict,
    "failures": list,
    "dropped": list,
    "why": str,
}
_CLAIM = {
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
}
_CLAIM_OPTIONAL = {
    "machine": str,
    "parent": str,
    "by": str,
    "started": "time",
    "start_by": "time",
}


@lru_cache(maxsize=2**14)
def _parsed(path: str, data: bytes) -> Record:
    record, body = text.front(data, path)
    schema.fields(record, path, _FIELDS, _OPTIONAL)
    if "claim" in record:
        schema.fields(record["claim"], path, _CLAIM, _CLAIM_OPTIONAL)
    schema.placed(
        path, f"task:{record['id']}", path_of(record["id"]) if names.valid(record["id"]) else None
    )
    for need in record.get("needs", ()):
        schema.is_name(path, "task id", need, names.valid(need))
    entries = [*record.get("failures", ()), *record.get("dropped", ())]
    if not all(isinstance(entry, dict) for entry in entries):
        raise Damaged(f"{path}: failures or dropped is no list of maps")
    return {**record, "body": body}


def until(record: Record) -> int | None:
    """The moment at which a task was done or cancelled. An open task has NEVER, a claimed or failed
    one a second more, so that the few are found without the many (`tree.live(FOLDER, NEVER)`)."""
    if record["state"] in CLOSED:
        return times.moment(record["at"])
    return NEVER + int(record["state"] != "open")


def queued(record: Record) -> tuple[int, int, int, int] | None:
    """The keys by which the index finds the next task: its rank, its place in its own commit, and
    the moments from which and until which it may be given to a worker. None once it is closed."""
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
    """The REFs that a task points at: its needs, and the records that it relies on."""
    yield from (("needs", f"task:{need}") for need in record.get("needs", ()))
    yield from (("relies_on", target) for target in record.get("relies_on", ()))


def find(tree: Tree, task: str, number: int | None = None) -> str:
    """The path of a task's row. Raises NotFound if there is none."""
    path = path_of(task)
    if tree.blob(path) is None:
        raise NotFound(f"there is no task {task} in this store", "atlas task list shows them")
    return path


def get(tree: Tree, task: str) -> Record:
    """The row of a task. Raises NotFound if there is none."""
    path = find(tree, task)
    return parse(path, tree.read(path) or b"")


# what is computed


def claim_ends(record: Record) -> int:
    """The moment at which a task's claim is over; 0 without a claim. It is early for a task that
    was assigned and never started."""
    if record["state"] != "claimed":
        return 0
    claim = record["claim"]
    over = min(times.moment(claim["expires"]), times.moment(record["at"]) + lease.LONGEST)
    if "start_by" in claim and "started" not in claim:
        over = min(over, times.moment(claim["start_by"]))
    return over


def holds(record: Record, now: int) -> bool:
    """Whether a task's claim is in force at a moment, as a lease is."""
    over = claim_ends(record)
    return lease.begins(over) <= now < over


def held(where: Any, holder: str | None, now: int) -> list[Record]:
    """The rows (without their texts) that a session has claimed and still holds; those of all
    sessions if `holder` is None. `where` is a tree or the index."""
    return [
        row
        for _, row in where.live(FOLDER, NEVER)
        if row["state"] == "claimed"
        and holder in (None, row["claim"]["session"])
        and holds(row, now)
    ]


def counts_as_attempt(record: Record) -> bool:
    """Whether a task's claim counts as an attempt once it has lapsed."""
    return record["state"] == "claimed" and (
        "started" in record["claim"] or "start_by" not in record["claim"]
    )


def own_state(record: Record, now: int, policy: Mapping[str, Any]) -> str:
    """The state of a task at a moment, its needs aside: done, cancelled, dead, claimed, expired,
    frozen or open."""
    if record["state"] in CLOSED:
        return str(record["state"])
    if record["state"] == "failed":
        return "dead"
    if holds(record, now):
        return "claimed"
    if counts_as_attempt(record) and record["retries"] >= policy["max_retries"]:
        return "dead"
    if "deadline" in record and times.moment(record["deadline"]) <= now:
        return "expired"
    return "frozen" if "frozen" in record else "open"


def last_failure(record: Record) -> str:
    """The session that failed last, and why."""
    failures = [entry for entry in record.get("failures", ()) if "why" in entry]
    if not failures:
        return "-"
    return f"{failures[-1].get('session')}: {correction.plain(failures[-1]['why'])}"


def makes_cycle(tree: Tree, task: str, others: Iterable[str], only: Tree | None = None) -> bool:
    """Whether the needs of a task lead back to it. `only`: the way goes through tasks that this
    tree does not hold yet."""
    seen: set[str] = set()
    left = list(others)
    while left:
        need = left.pop()
        if need == task:
            return True
        data = None if need in seen else tree.read(path_of(need))
        seen.add(need)
        if data is not None and (only is None or only.blob(path_of(need)) is None):
            record = parse(path_of(need), data)
            if record["state"] != "done":
                left += record.get("needs", ())
    return False


_WORDS = (
    "title",
    "body",
    "why",
    "frozen.why",
    "dropped.why",
    "failures.why",
    *(f"failures.{each}" for each in NO_FAILURE),
)
KIND = row_kind("task", FOLDER, ".md", "id", parse, find, until, links=links)._replace(
    queued=queued, words=_WORDS
)

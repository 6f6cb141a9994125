"""Clearance gates: a blocker holds back what depends on it until somebody clears it. Documents, named by the clearance
task that each makes: `gates/<id>.yaml` for its raising, `gates/<id>.cleared.yaml` for its end. What a gate is now is
computed from the two and a moment, and what it holds from the tree: nothing of that is stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache

from ..errors import Damaged, NotFound
from . import case, names, policy, task, text, times
from .case import Case, Shown, Violation
from .text import Record
from .tree import Tree

NAME = "gate"
FOLDER = "gates"
SUFFIX = ".yaml"
NUMBERED = False
ROW = False
WORDS = ("why",)
END = ".cleared"


def place(wanted: str) -> str:
    """Where a gate's document lies (of its end: for `ID.cleared`)."""
    return f"{FOLDER}/{names.name(wanted, 'gate id')}.yaml"


def parse(path: str, data: bytes) -> Record:
    texts = ("id", "signal", "blocker", "clearance", "graph_delta_hash", "resolution", "session", "actor", "operation")
    needed = {**dict.fromkeys(texts, str), "scope": "texts", "edges": "texts", "at": "time"}
    record = case.check(
        text.load(data, path), path, needed, {"deadline": "time", "resolver": str, "raised": str, "why": str}
    )
    for name in (record["clearance"], *record["edges"]):
        case.is_name(path, "task id", name, names.valid(name))
    own = record["id"] + END * path.endswith(END + SUFFIX)
    case.placed(path, f"gate:{own}", place(own) if names.valid(own) else None)
    return record


def ref(path: str, record: Record) -> str:
    return f"gate:{path.partition('/')[2].removesuffix(SUFFIX)}"


def view(tree: Tree, path: str, record: Record, now: int) -> Shown:
    """Its raising, until it is over."""
    first = place(record["id"])
    return first, first if tree.blob(place(record["id"] + END)) is None else None


def until(record: Record) -> int | None:
    return None


def links(record: Record) -> Iterable[tuple[str, str]]:
    return [("signal", f"signal:{record['signal']}")]


def find(tree: Tree, wanted: str, number: int | None = None) -> str:
    path = place(wanted)
    if tree.blob(path) is None:
        raise NotFound(f"there is no gate {wanted} in this store", "atlas gate list --all shows them")
    return path


# what is computed


def state(tree: Tree, record: Record, now: int) -> str:
    """`pending`, `expired` or `cleared` at a moment. One that is expired still holds: until it is cleared, or raised
    again."""
    path = place(record["id"] + END)
    if (end := tree.read(path)) is not None:
        try:
            return str(parse(path, end)["resolution"])
        except Damaged:
            return "damaged"
    over = "deadline" in record and times.moment(record["deadline"]) <= now
    return "expired" if over else "pending"


def standing(tree: Tree) -> list[Record]:
    """The gates that hold something back, by id. One that cannot be read holds everything until it is repaired."""
    return [record for record, _ in _standing(tree)]


def _standing(tree: Tree) -> list[tuple[Record, frozenset[str]]]:
    first = _open(tuple(tree.names(FOLDER)))
    found = (_known(name, tree.read(f"{FOLDER}/{name}{SUFFIX}") or b"") for name in first)
    return [one for one in found if one is not None]


@lru_cache(maxsize=4)
def _open(files: tuple[str, ...]) -> list[str]:
    """(An end counts by being there: the rules judge once whether it is a right one, not each look at a task.)"""
    there = {name.removesuffix(SUFFIX) for name in files if name.endswith(SUFFIX)}
    return sorted(name for name in there if not name.endswith(END) and name + END not in there)


@lru_cache(maxsize=256)
def _known(name: str, data: bytes) -> tuple[Record, frozenset[str]] | None:
    try:
        record = parse(f"{FOLDER}/{name}{SUFFIX}", data)
    except case.Misplaced:
        return None  # no gate's document: it holds nothing
    except Damaged:
        record = {"id": name, "blocker": "", "scope": ["all"], "edges": [], "damaged": True}
    return record, frozenset(record["edges"])


def _under(record: Record, scope: Sequence[str]) -> bool:
    labels = {f"label:{label}" for label in record.get("labels", ())}
    return not labels.union(("all", f"role:{record.get('role')}", f"task:{record['id']}")).isdisjoint(scope)


def holding(tree: Tree, record: Record) -> list[str]:
    """The gates that hold a task back: it had an edge to them from the start, lies under their scope, or needs such a
    task. A clearance task is held by none."""
    gates = _standing(tree)
    if any(gate["id"] == record["id"] for gate, _ in gates):
        return []
    return [gate["id"] for gate, edges in gates if _reaches(tree, record, gate["scope"], edges)]


def _reaches(tree: Tree, record: Record, scope: Sequence[str], edges: frozenset[str]) -> bool:
    seen, left = {record["id"]}, [record]
    while left:
        one = left.pop()
        if one["id"] in edges or (one["state"] not in task.OVER and _under(one, scope)):
            return True
        more = () if one["state"] in task.OVER else (need for need in one.get("needs", ()) if need not in seen)
        for need in dict.fromkeys(more):
            seen.add(need)
            with suppress(Damaged):  # (such a need blocks by itself)
                data = tree.read(task.place(need))
                left += [] if data is None else [task.parse(task.place(need), data)]
    return False


def dependents(tree: Tree, scope: Sequence[str]) -> list[str]:
    """The open tasks under a scope, and all that need one of them, by id."""
    rows = {row["id"]: row for _, row in tree.live(task.FOLDER, task.NEVER - 1) if tree.blob(place(row["id"])) is None}
    needing: dict[str, list[str]] = {}
    for row in rows.values():
        for need in row.get("needs", ()):
            needing.setdefault(need, []).append(row["id"])
    found, left = set[str](), [name for name, row in rows.items() if _under(row, scope)]
    while left:
        one = left.pop()
        left += [] if one in found else needing.get(one, ())
        found.add(one)
    return sorted(found)


def project(tree: Tree, blocker: str, scope: Sequence[str]) -> Record:
    """What a gate is made of: a pure function of the history before it, the blocker's content and the scope."""
    base = [policy.usable(tree).get("store", ""), blocker, list(scope)]
    names_ = (task.new_id(json.dumps(base), nth) for nth in range(2**31))
    made: Record = {"clearance": next(name for name in names_ if tree.blob(place(name)) is None)}
    made["edges"] = dependents(tree, scope)
    return {**made, "graph_delta_hash": hashlib.sha256(json.dumps([*base, *made.values()]).encode()).hexdigest()}


def judge(found: Case) -> Iterator[Violation]:
    """Its rules, which are loaded when a gate is judged."""
    from . import clearance

    return clearance.judge(found)

"""The reasons that hold a task back: its needs, and the gates that stand. They are computed from
the tree and a moment, never stored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache

from ...errors import Damaged
from ...model import schema
from ...model.digests import sha256
from ...model.text import Record
from ...model.tree import Tree
from ..policy import Policy, usable
from . import gate, task


def standing(tree: Tree) -> list[Record]:
    """The gates that hold something back, by id. A gate that cannot be read holds everything until
    it is repaired."""
    return [record for record, _ in _standing(tree)]


def _standing(tree: Tree) -> list[tuple[Record, frozenset[str]]]:
    """The standing gates, each with its edges as a set."""
    gates = []
    for name in _open(tuple(tree.names(gate.FOLDER))):
        known = _known(name, _bytes(tree, f"{gate.FOLDER}/{name}{gate.SUFFIX}"))
        if known is not None:
            gates.append(known)
    return gates


def _bytes(tree: Tree, path: str) -> bytes:
    """The bytes of a gate; none where nobody can read them, which is damage like any other."""
    try:
        return tree.read(path) or b""
    except Damaged:
        return b""


@lru_cache(maxsize=4)
def _open(files: tuple[str, ...]) -> list[str]:
    """The ids of the gates that have no end. An end counts by being there: the rules judge once
    whether it is right, not each look at a task."""
    stems = {name.removesuffix(gate.SUFFIX) for name in files if name.endswith(gate.SUFFIX)}
    return sorted(
        name for name in stems if not name.endswith(gate.END) and name + gate.END not in stems
    )


@lru_cache(maxsize=256)
def _known(name: str, data: bytes) -> tuple[Record, frozenset[str]] | None:
    """A gate with its edges; None if the file is no gate's document, and so holds nothing."""
    try:
        record = gate.parse(f"{gate.FOLDER}/{name}{gate.SUFFIX}", data)
    except schema.Misplaced:
        return None  # no gate's document: it holds nothing
    except Damaged:
        record = {"id": name, "blocker": "", "scope": ["all"], "edges": [], "damaged": True}
    return record, frozenset(record["edges"])


def _under(record: Record, scope: Sequence[str]) -> bool:
    """Whether a task lies under a scope."""
    tokens = {"all", f"role:{record.get('role')}", f"task:{record['id']}"}
    tokens.update(f"label:{label}" for label in record.get("labels", ()))
    return not tokens.isdisjoint(scope)


def holding(tree: Tree, record: Record) -> list[str]:
    """The gates that hold a task back: those that had an edge to it from the start, whose scope it
    lies under, or that hold a task it needs. No gate holds a clearance task."""
    gates = _standing(tree)
    if any(barrier["id"] == record["id"] for barrier, _ in gates):
        return []
    return [
        barrier["id"] for barrier, edges in gates if _reaches(tree, record, barrier["scope"], edges)
    ]


def _reaches(tree: Tree, record: Record, scope: Sequence[str], edges: frozenset[str]) -> bool:
    """Whether a gate holds a task, or one that it needs."""
    seen, left = {record["id"]}, [record]
    while left:
        row = left.pop()
        if row["id"] in edges:
            return True
        if row["state"] in task.CLOSED:
            continue
        if _under(row, scope):
            return True
        for need in row.get("needs", ()):
            if need in seen:
                continue
            seen.add(need)
            with suppress(Damaged):  # (such a need blocks by itself)
                data = tree.read(task.path_of(need))
                if data is not None:
                    left.append(task.parse(task.path_of(need), data))
    return False


def dependents(tree: Tree, scope: Sequence[str]) -> list[str]:
    """The open tasks under a scope, and all tasks that need one of them, by id."""
    live = (row for _, row in tree.live(task.FOLDER, task.NEVER - 1))
    rows = {row["id"]: row for row in live if tree.blob(gate.path_of(row["id"])) is None}
    needing: dict[str, list[str]] = {}
    for row in rows.values():
        for need in row.get("needs", ()):
            needing.setdefault(need, []).append(row["id"])
    under: set[str] = set()
    left = [name for name, row in rows.items() if _under(row, scope)]
    while left:
        name = left.pop()
        if name not in under:
            under.add(name)
            left += needing.get(name, ())
    return sorted(under)


def project(tree: Tree, blocker: str, scope: Sequence[str]) -> Record:
    """The computed fields of a gate: a pure function of the history before it, the blocker's
    content and the scope."""
    base = [usable(tree).get("store", ""), blocker, list(scope)]
    ids = (task.new_id(json.dumps(base), nth) for nth in range(2**31))
    clearance = next(name for name in ids if tree.blob(gate.path_of(name)) is None)
    edges = dependents(tree, scope)
    content = json.dumps([*base, clearance, edges]).encode()
    return {
        "clearance": clearance,
        "edges": edges,
        "graph_delta_hash": sha256(content).hexdigest(),
    }


def needs(tree: Tree, record: Record) -> list[str]:
    """Everything that a task waits for: the needs in its row, and the clearance of each gate that
    holds it."""
    return [*record.get("needs", ()), *holding(tree, record)]


def unmet(tree: Tree, record: Record, now: int, policy: Policy) -> list[tuple[str, str]]:
    """The needs that are not done, each with its state: `missing` or `damaged` if there is no such
    task, `uncleared` for a gate."""
    waits = [(barrier, "uncleared") for barrier in holding(tree, record)]
    for need in record.get("needs", ()):
        state = _state_of(tree, need, now, policy)
        if state != "done":
            waits.append((need, state))
    return waits


def _state_of(tree: Tree, need: str, now: int, policy: Policy) -> str:
    """The own state of a task that another one needs."""
    try:
        data = tree.read(task.path_of(need))
        if data is None:
            return "missing"
        return task.own_state(task.parse(task.path_of(need), data), now, policy)
    except Damaged:
        return "damaged"


def assess(
    tree: Tree, record: Record, now: int, policy: Policy
) -> tuple[str, list[tuple[str, str]]]:
    """The state of a task, and the needs that are not met. It is `ready` if nothing holds the task
    back."""
    state = task.own_state(record, now, policy)
    if state not in ("open", "frozen"):
        return state, []
    waits = unmet(tree, record, now, policy)
    if state == "frozen":
        return state, waits
    if any(other in task.LOST for _, other in waits):
        return "blocked", waits
    return "gated" if waits else "ready", waits


def needed_versions(tree: Tree, record: Record) -> dict[str, int]:
    """The version of each need, as a grant's receipt stores it."""
    return {need: int(task.get(tree, need)["version"]) for need in needs(tree, record)}

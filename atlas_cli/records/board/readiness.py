"""What holds a task back: its needs, and the gates that stand. Computed from the tree and a moment,
never stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

from ...errors import Damaged
from ...model import schema
from ...model.text import Record
from ...model.tree import Tree
from .. import policy
from . import gate, task


def standing(tree: Tree) -> list[Record]:
    """The gates that hold something back, by id. One that cannot be read holds everything until it
    is repaired."""
    return [record for record, _ in _standing(tree)]


def _standing(tree: Tree) -> list[tuple[Record, frozenset[str]]]:
    first = _open(tuple(tree.names(gate.FOLDER)))
    found = (_known(name, tree.read(f"{gate.FOLDER}/{name}{gate.SUFFIX}") or b"") for name in first)
    return [one for one in found if one is not None]


@lru_cache(maxsize=4)
def _open(files: tuple[str, ...]) -> list[str]:
    """(An end counts by being there: the rules judge once whether it is a right one, not each look
    at a task.)"""
    there = {name.removesuffix(gate.SUFFIX) for name in files if name.endswith(gate.SUFFIX)}
    return sorted(
        name for name in there if not name.endswith(gate.END) and name + gate.END not in there
    )


@lru_cache(maxsize=256)
def _known(name: str, data: bytes) -> tuple[Record, frozenset[str]] | None:
    try:
        record = gate.parse(f"{gate.FOLDER}/{name}{gate.SUFFIX}", data)
    except schema.Misplaced:
        return None  # no gate's document: it holds nothing
    except Damaged:
        record = {"id": name, "blocker": "", "scope": ["all"], "edges": [], "damaged": True}
    return record, frozenset(record["edges"])


def _under(record: Record, scope: Sequence[str]) -> bool:
    labels = {f"label:{label}" for label in record.get("labels", ())}
    return not labels.union(
        ("all", f"role:{record.get('role')}", f"task:{record['id']}")
    ).isdisjoint(scope)


def holding(tree: Tree, record: Record) -> list[str]:
    """The gates that hold a task back: it had an edge to them from the start, lies under their
    scope, or needs such a task. A clearance task is held by none."""
    gates = _standing(tree)
    if any(barrier["id"] == record["id"] for barrier, _ in gates):
        return []
    return [
        barrier["id"] for barrier, edges in gates if _reaches(tree, record, barrier["scope"], edges)
    ]


def _reaches(tree: Tree, record: Record, scope: Sequence[str], edges: frozenset[str]) -> bool:
    seen, left = {record["id"]}, [record]
    while left:
        one = left.pop()
        if one["id"] in edges or (one["state"] not in task.CLOSED and _under(one, scope)):
            return True
        more = (
            ()
            if one["state"] in task.CLOSED
            else (need for need in one.get("needs", ()) if need not in seen)
        )
        for need in dict.fromkeys(more):
            seen.add(need)
            with suppress(Damaged):  # (such a need blocks by itself)
                data = tree.read(task.path_of(need))
                left += [] if data is None else [task.parse(task.path_of(need), data)]
    return False


def dependents(tree: Tree, scope: Sequence[str]) -> list[str]:
    """The open tasks under a scope, and all that need one of them, by id."""
    live = (row for _, row in tree.live(task.FOLDER, task.NEVER - 1))
    rows = {row["id"]: row for row in live if tree.blob(gate.path_of(row["id"])) is None}
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
    """What a gate is made of: a pure function of the history before it, the blocker's content and
    the scope."""
    base = [policy.usable(tree).get("store", ""), blocker, list(scope)]
    names_ = (task.new_id(json.dumps(base), nth) for nth in range(2**31))
    made: Record = {
        "clearance": next(name for name in names_ if tree.blob(gate.path_of(name)) is None)
    }
    made["edges"] = dependents(tree, scope)
    return {
        **made,
        "graph_delta_hash": hashlib.sha256(
            json.dumps([*base, *made.values()]).encode()
        ).hexdigest(),
    }


def needs(tree: Tree, record: Record) -> list[str]:
    """All that it waits for: what its row names, and the clearance of each gate that holds it."""
    return [*record.get("needs", ()), *holding(tree, record)]


def unmet(tree: Tree, record: Record, now: int, rules: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(id, state) of each need that is not done; `missing` or `damaged` where there is no such
    task, `uncleared` for a gate."""
    own = record.get("needs", ())
    found = [(need, "uncleared") for need in needs(tree, record)[len(own) :]]
    for need in own:
        data = tree.read(task.path_of(need))
        try:
            state = (
                "missing"
                if data is None
                else task.own_state(task.parse(task.path_of(need), data), now, rules)
            )
        except Damaged:
            state = "damaged"
        if state != "done":
            found.append((need, state))
    return found


def assess(
    tree: Tree, record: Record, now: int, rules: Mapping[str, Any]
) -> tuple[str, list[tuple[str, str]]]:
    """The one answer to what holds a task back: its state (`ready` if nothing does), and the needs
    that are not met."""
    state = task.own_state(record, now, rules)
    if state not in ("open", "frozen"):
        return state, []
    waits = unmet(tree, record, now, rules)
    if state == "open":
        lost = any(other in task.LOST for _, other in waits)
        state = "blocked" if lost else "gated" if waits else "ready"
    return state, waits


def needed_versions(tree: Tree, record: Record) -> dict[str, int]:
    """The version of each need, as a grant keeps it."""
    return {need: int(task.get(tree, need)["version"]) for need in needs(tree, record)}

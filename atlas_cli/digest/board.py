"""The board: what holds tasks back, what failed, what is ready."""

from __future__ import annotations

from ..answers import board
from ..env import reading
from ..outcome import Block
from ..records import correction
from ..records.board import gate, task
from ..visible import theirs
from .part import MOST, Part, State, listed


def gates(state: State) -> Part | None:
    """The gates that hold something back; first those about its paths, or that hold what it has
    claimed or posted."""
    env, ask = state.env, state.ask
    if not env.tree.names(gate.FOLDER):
        return None
    reading.damaged(env, gate.FOLDER + "/")
    mine = board.concerning(ask, state.me)
    items = []
    for row in board.standing(ask, env.tree):
        edges = row.pop("edges")
        yours = sorted(mine.intersection(edges))
        more = {"holds": len(edges), "yours": yours[:MOST], "yours_total": len(yours)}
        items.append({**row, **more})
    items.sort(key=lambda row: not (row["yours"] or state.mine(row["about"] or "")))
    rows = (
        (
            row["id"],
            row["state"],
            str(row["holds"]),
            str(row["yours_total"]),
            row["about"] or "-",
            state.words(row, "why"),
        )
        for row in items
    )
    columns = "GATE|STATE|HOLDS|OF YOURS|ABOUT|WHY"
    title = "gates: what they hold cannot be claimed"
    return listed("gates", items, rows, columns, title, "atlas gate list")


def dead(state: State) -> Part:
    """The dead letters, the reader's own first."""
    items = board.dead(state.ask, state.me)
    yours: list[Block] = [
        f"! {row['ref']} is a dead letter ({row['yours']}): "
        f"{correction.said(row, 'title', state.now, theirs)}"
        for row in items
        if row["yours"]
    ]
    rows = ((row["id"], state.words(row, "title"), task.last_failure(row)) for row in items)
    columns = "TASK|TITLE|LAST FAILURE"
    more = "atlas task dead"
    return listed("dead", items, rows, columns, "dead letters", more, blocks=yours[:5])


def ready(state: State) -> Part:
    """The tasks that can be claimed now."""
    total = state.env.index.queue_length(task.FOLDER, state.now)
    items = board.ready(state.ask, state.env.tree, MOST) if total else []
    rows = ((row["id"], str(row["priority"]), state.words(row, "title")) for row in items)
    title, more = "ready tasks: atlas task next --claim", "atlas task list --ready"
    whole = total if len(items) == MOST else None  # (what a gate holds is counted, too)
    return listed("ready", items, rows, "TASK|PRIO|TITLE", title, more, total=whole)

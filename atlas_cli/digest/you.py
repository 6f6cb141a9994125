"""The reader's own affairs: parked writes, what it holds and owes, its drafts; and who is about to
do the same."""

from __future__ import annotations

from ..answers import board, leases, words
from ..env import drafting
from ..outcome import Block
from ..records import correction, goals, lease
from ..sharing import parked as parked_writes
from ..visible import named, theirs
from .part import MOST, Part, Rows, State, listed
from .people import lease_name


def parked(state: State) -> Part:
    """The writes that are parked in this clone."""
    items = parked_writes.rows(state.env.store, state.env.index)
    rows = [
        (
            item["subject"],
            item["session"] or "-",
            state.ago(item["at"]) if item["at"] else "-",
            item["operation"][:8],
        )
        for item in items
    ]
    title = "PARKED: written here, and not in the history that others see"
    return listed("parked", items, rows, "WRITE|BY|WHEN|OPERATION", title, "atlas parked")


def you(state: State) -> Part | None:
    """The reader: the session, its goal, what it holds and owes. None if nobody has begun."""
    if state.me is None:
        return None
    env, ask = state.env, state.ask
    me = ask.shown(state.me, f"session:{state.id}")
    held = [row["resource"] for row in leases.held(ask, state.id) if lease.holds(row, state.now)]
    held += [lease_name(row) for row in state.elsewhere[0] if row["holder"] == state.id]
    wrote = env.index.commits(1, session=state.id)[1]
    owes = words.owed(ask, state.me, None) is not None
    claimed = board.claimed(ask, state.id)
    value = {
        **me,
        "held": held,
        "claimed": claimed,
        "wrote": wrote,
        "owes_status": owes,
        "drafts": state.drafts,
    }
    goal = f"goal: {state.words(me, 'goal')}"
    if me.get("goal") is not None and len(open_ := goals.open_goals(me)) > 1:
        goal = f"your goals: {goals.goal_list(open_)}; now for {goals.under(me)}"
    blocks: list[Block] = [f"{goal}; you hold: {', '.join([*claimed, *held]) or 'nothing'}"]
    if owes:
        blocks.append("you have written, and owe a word on it: atlas end -m TEXT")
    return Part("you", value, blocks)


def drafts(state: State) -> Part | None:
    """The drafts, whole: a path or a command that is cut is of no use. In the data they stand
    under `you`."""
    if state.me is None or not state.drafts:
        return None
    rows = [
        (draft["file"], drafting.by(draft, state.me) or "-", draft["submit"] or "-")
        for draft in state.drafts
    ]
    title = "drafts not yet settled (submit one, or atlas drafts drop FILE)"
    more = "atlas drafts"
    return Part(
        "", None, rows=Rows(title, ("FILE", "SESSION", "SUBMIT WITH"), rows, more, len(rows))
    )


def alike(state: State) -> Part:
    """A warning for each session that has nearly the reader's goal."""
    blocks = [
        f"! {named(row['id'])} ({row['state']}) has nearly your goal: "
        f"{correction.said(row, 'goal', state.now, theirs)}"
        for row in state.twins[:3]
    ]
    return Part("alike", state.twins[:MOST], blocks)

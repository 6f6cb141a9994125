"""The goals of a session: it may work for several, one after the other or in turn. All
that it takes carries the number of the goal that it is for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..errors import NotFound
from ..model import change
from ..model.change import Change, Writer
from ..model.text import Record
from ..model.tree import Tree
from ..visible import theirs
from . import session

HEADING = 80  # characters of a goal that name a section


def goals(record: Record) -> list[Record]:
    """The goals of a session, in order: `text`, and `over` once that goal has ended. One that named
    none has one without words."""
    return record.get("goals") or [{"text": record.get("goal", "")}]


def open_goals(record: Record) -> dict[int, str]:
    """The goals that have not ended, by number."""
    return {
        number: goal["text"] for number, goal in enumerate(goals(record), 1) if "over" not in goal
    }


def under(record: Record) -> int:
    """The number of the goal that a session works for now: that of its last `begin`."""
    return int(record.get("under", 1))


def text_of(record: Record, number: int | None = None) -> str:
    """The words of a goal; without a number, of the one that the session works for now."""
    every = goals(record)
    at = under(record) if number is None else number
    return str(every[at - 1]["text"] or "") if 0 < at <= len(every) else ""


def heading(record: Record, number: int) -> str:
    """The heading of the section that is written for a goal, from its first words."""
    words = " ".join((text_of(record, number) or record["actor"]).split())
    return words if len(words) <= HEADING else f"{words[:HEADING].rstrip()} …"


def goal_of(tree: Tree, id: str) -> int | None:
    """The number of the goal that what a session does now belongs to; None for its first one, which
    is not written down."""
    number = under(session.row_of(tree, id))
    return number if number > 1 else None


def go_on(
    tree: Tree,
    writer: Writer,
    *,
    goal: str = "",
    paths: Iterable[str] = (),
    streams: Iterable[str] = (),
    process: Record | None = None,
) -> Change:
    """The change by which a session goes on: with one goal, some paths or some streams more, in
    another process. No goal takes the place of another."""
    old = session.live(tree, writer.session, writer.at)
    fields = {
        **_with_goal(old, goal),
        "paths": _more(old.get("paths", ()), paths),
        "streams": _more(old.get("streams", ()), streams),
        "process": process or old.get("process"),
    }
    return session.row_change("go on", writer, change.rewritten(old, **fields))


def _more(old: Iterable[str], new: Iterable[str]) -> list[str] | None:
    return list(dict.fromkeys((*old, *new))) or None


def _with_goal(old: Record, goal: str) -> Record:
    """The fields of a session that works for a goal from now on: for one that it has not ended, or
    for a new one."""
    if not goal:
        return {}
    if not old.get("goal") and "goals" not in old:
        return {"goal": goal}
    known = {text_: number for number, text_ in open_goals(old).items()}
    if goal in known:
        return {"under": known[goal] if "goals" in old else None}
    every = [*goals(old), {"text": goal}]
    return {"goals": every, "under": len(every)}


def end_goal(tree: Tree, writer: Writer, number: int) -> Change:
    """The change that ends one goal of the writer's session; with its last one, the session ends.
    Raises NotFound if it has no such goal left."""
    old = session.live(tree, writer.session, writer.at)
    left = open_goals(old)
    if number not in left:
        raise NotFound(
            f"{writer.session} has no open goal {number}",
            f"its goals are {goal_list(left)}",
        )
    left.pop(number)
    if not left:
        return session.end(tree, writer)
    every = [*goals(old)]
    every[number - 1] = {**every[number - 1], "over": writer.when}
    fields = {"goals": every, "under": max(left)}
    return session.row_change("end a goal", writer, change.rewritten(old, **fields))


def goal_list(goals: Mapping[int, str]) -> str:
    """Goals in a line, each with its number."""
    return ", ".join(f"{number} ({theirs(text_ or '-')})" for number, text_ in goals.items())

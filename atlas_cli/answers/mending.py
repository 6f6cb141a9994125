"""The mending of what a wrong record led to: the task that relies on its correction, and who is on
it. So two do not mend the same at once."""

from __future__ import annotations

import shlex
from typing import NamedTuple

from ..errors import Refused
from ..model.text import Record
from ..records import artifact, correction, decision
from ..records.board import result, task
from ..records.likeness import same_question
from ..visible import named
from .ask import Questions

# Kinds on which others build, so that a wrong one leaves something to be mended.
GROUND = (artifact.KIND.name, decision.KIND.name, result.KIND.name)
NOBODY = "nobody"
_FIRST = ("claimed", "open", "frozen", "expired", "dead", "done")  # whom a line names


class Mending(NamedTuple):
    """A task that mends what a wrong record led to: its REF, its own state, and the session that
    has claimed it or has done it."""

    task: str
    state: str
    by: str


def of(ask: Questions, ref: str) -> list[Mending]:
    """The tasks that rely on a correction, or on one of what was its cause, those that somebody is
    on first; none that was called off or retracted."""
    rows = []
    for path, row in _relying(ask, ref):
        own = task.KIND.ref(path, row)
        if not path.startswith(f"{task.FOLDER}/") or ask.retracted(own):
            continue
        state = task.own_state(row, ask.now, ask.policy)
        by = row.get("claim", {}).get("session", "") if state in ("claimed", "done") else ""
        rows.append(Mending(own, state, by))
    rows = [row for row in rows if row.state in _FIRST]
    return sorted(rows, key=lambda row: _FIRST.index(row.state))


def _relying(ask: Questions, ref: str) -> list[tuple[str, Record]]:
    own = ask.index.pointing(ref, "relies_on")
    cause = (ask.index.readable(ask.index.path_of(ref)) or {}).get("cause", "")
    if own or cause.partition(":")[0] not in GROUND:
        return own
    refs = (row["ref"] for row in ask.corrections(cause) if row["why"] is not None)
    return [pair for other in refs for pair in ask.index.pointing(other, "relies_on")]


def line(ask: Questions, row: Record, me: str = "") -> str:
    """The line that says who mends what the target of a correction led to, or how its mending is
    posted. Empty where there is nothing to mend."""
    if row["why"] is None:  # it was retracted itself
        return ""
    if not (tasks := of(ask, row["ref"])):
        return f"nobody has posted its mending: {command(row)}" if due(ask, row) else ""
    first, more = tasks[0], f" (and {len(tasks) - 1} more)" if len(tasks) > 1 else ""
    if first.state == "done":
        return f"{first.task} has mended it (done by {named(first.by)}){more}"
    return f"{first.task} mends it ({_state(first, me)}){more}"


def _state(mending: Mending, me: str) -> str:
    id = mending.task.partition(":")[2]
    if mending.state == "open":
        return f"open: atlas task claim {id}"
    if mending.state == "claimed":
        return "claimed by you" if mending.by == me else f"claimed by {named(mending.by)}"
    return f"{mending.state}: atlas task show {id}"


def cell(ask: Questions, row: Record, built: bool) -> str:
    """The same for a table: the task with who has claimed it or its state, NOBODY, or a dash.
    `built`: somebody relies on the target, or has read it."""
    if row["why"] is None:
        return "-"
    if tasks := of(ask, row["ref"]):
        first = tasks[0]
        return f"{first.task} ({named(first.by) if first.state == 'claimed' else first.state})"
    return NOBODY if built and due(ask, row) else "-"


def due(ask: Questions, row: Record) -> bool:
    """Whether the target of a correction may have led to something: others build on such a record,
    or say that they rely on it."""
    targets = [target for target in (row["target"], ask.twin(row["target"])) if target]
    return any(
        target.partition(":")[0] in GROUND or ask.index.pointing(target, "relies_on")
        for target in targets
    )


def command(row: Record) -> str:
    """The command that posts the mending of what the target of a correction led to."""
    target = row["target"] if named(row["target"]) == row["target"] else row["ref"]
    title = shlex.quote(f"mend what {target} led to")
    return f"atlas task add {title} --relies-on {row['ref']}"


def refuse_twin(ask: Questions, target: str, title: str, me: str) -> None:
    """Raises Refused if a task of nearly that title is to mend already what a wrong record led to,
    whichever correction it was posted for."""
    for other in _left(ask, target):
        row = ask.index.readable(ask.index.path_of(other.task)) or {}
        if row.get("title") == title or same_question(str(row.get("title")), title):
            raise Refused(
                f"{other.task} mends what {named(target)} led to already ({_state(other, me)})",
                "leave this one to it; the title of another task says what else is to be mended",
                details={"task": other.task},
            )


def _left(ask: Questions, target: str) -> list[Mending]:
    """The tasks of mending what a wrong record led to that are not done."""
    rows = [row for row in ask.corrections(target) if row["why"] is not None]
    return [each for row in rows for each in of(ask, row["ref"]) if each.state != "done"]


def _mended_by(ask: Questions, row: Record) -> list[str]:
    """The wrong records whose corrections a task relies on."""
    own = f"{correction.KIND.name}:"
    refs = [ref for ref in row.get("relies_on") or () if ref.startswith(own)]
    read = (ask.index.readable(ask.index.path_of(ref)) for ref in refs)
    return [record["target"] for record in read if record]


def refuse_twins(ask: Questions, tasks: list[Record], me: str) -> None:
    """Raises Refused if one of these new tasks is the twin of another that mends the same."""
    for row in tasks:
        for target in _mended_by(ask, row):
            refuse_twin(ask, target, row["title"], me)


def also(ask: Questions, rows: list[Record]) -> list[str]:
    """A line for each of these new tasks that mends what another task mends already."""
    own = {row["ref"] for row in rows}
    lines = []
    for row in rows:
        for target in _mended_by(ask, row):
            others = [other for other in _left(ask, target) if other.task not in own]
            if others:
                state = _state(others[0], row["session"])
                what = f"what {named(target)} led to"
                lines.append(f"{others[0].task}, posted before, mends {what}, too ({state})")
    return lines

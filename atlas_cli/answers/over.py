"""Whether what somebody waits for is over: a session, a lease, a claim or task, a gate, a time; of
any other record, whether it is there. The one answer behind `--until`, `wait` and what warns until
then."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from .. import records
from ..errors import AtlasError, NotFound
from ..model import times
from ..model.text import Record
from ..model.tree import Tree
from ..records import lease, resources, session
from ..records.board import gate, task
from ..records.over import Said
from ..records.parts import Part, Warn, said
from ..visible import named
from . import sessions
from .ask import Questions


class Over(NamedTuple):
    """How something stands that is waited for. `how` says it in words: `ended`, `held by …`.
    `holder` is the session that has it still, `until` the latest moment at which it is over by
    itself (None: it never is). `lost`: by itself it will not be over."""

    what: str
    over: bool
    how: str
    holder: str = ""
    until: int | None = None
    lost: bool = False


def over(ask: Questions, tree: Tree, what: str) -> Over | None:
    """The way in which it is over; None while it is not."""
    now = standing(ask, tree, what)
    return now if now.over else None


def in_force(ask: Questions, tree: Tree, part: Part) -> tuple[Warn, ...]:
    """The warnings at a section whose end has not come since it was written. One whose end a hand
    wrote, or is not there any more, stands."""
    left = []
    for warning in part.warn:
        with suppress(AtlasError):
            if standing(ask, tree, warning.until, given=said(part, warning)).over:
                continue
        left.append(warning)
    return tuple(left)


def standing(
    ask: Questions,
    tree: Tree,
    what: str,
    but: tuple[str, ...] = (),
    given: Said | None = None,
) -> Over:
    """How it stands. Leases of the sessions `but` are in nobody's way, nor such as were taken after
    a session said so (`given`). Raises NotFound if there is no such session, task or gate, Usage if
    it is neither a REF nor a time."""
    moment = _moment(what)
    if moment is not None:
        return Over(
            what, moment <= ask.now, "passed" if moment <= ask.now else "to come", "", moment
        )
    ref = records.ref(what)
    if ref.kind == lease.KIND.name:
        return _lease(ask, what, ref.id, but, given)
    if ref.kind in _OF:
        path = records.find(tree, ref)
        record = records.BY_NAME[ref.kind].parse(path, tree.read(path) or b"")
        return _OF[ref.kind](ask, tree, what, record)
    try:
        records.find(tree, ref)
    except NotFound:
        return Over(what, False, "not there")
    return Over(what, True, "there")


def _moment(text: str) -> int | None:
    """The moment that a text names; None if it names none."""
    try:
        return times.moment(text)
    except ValueError:
        return None


def _lease(
    ask: Questions, what: str, resource: str, but: tuple[str, ...], given: Said | None
) -> Over:
    """A lease is over once nobody holds the resource, or one that overlaps it."""
    holding = [
        row
        for _, row in ask.index.live(lease.FOLDER, ask.now)
        if lease.holds(row, ask.now)
        and row["holder"] not in but
        and not (given and lease.began_after(row, *given))
        and resources.meet(ask.policy, row["resource"], resource)
    ]
    if not holding:
        return Over(what, True, "free")
    last = max(holding, key=lambda row: lease.until(row) or 0)
    return Over(what, False, f"held by {named(last['holder'])}", last["holder"], lease.until(last))


def _session(ask: Questions, tree: Tree, what: str, record: Record) -> Over:
    """A session is over once it has ended, was adopted, or gave no sign for as long as it may."""
    last, state = sessions.pulse(ask, record)
    if "adopted_by" in record:
        return Over(what, True, f"adopted by {named(record['adopted_by'])}")
    if state != "live":
        how = "ended" if state == "ended" else f"silent since {times.ago(last, ask.now)}"
        return Over(what, True, how)
    until = None if record.get("class") == session.PERSON else sessions.over(ask, record, last)
    return Over(what, False, "at work", record["id"], until)


def _task(ask: Questions, tree: Tree, what: str, record: Record) -> Over:
    """A task is over once it is done or cancelled. A dead one is not, and will not be."""
    state = task.own_state(record, ask.now, ask.policy)
    if state == "claimed":
        claim = record["claim"]
        how, until = f"claimed by {named(claim['session'])}", task.claim_ends(record)
        return Over(what, False, how, claim["session"], until)
    return Over(what, state in task.CLOSED, state, lost=state in task.LOST)


def _gate(ask: Questions, tree: Tree, what: str, record: Record) -> Over:
    """A gate is over once it is cleared, or was raised anew in place of one that had expired."""
    return Over(what, gate.ended(tree, record), gate.state(tree, record, ask.now))


_OF = {session.KIND.name: _session, task.KIND.name: _task, gate.KIND.name: _gate}

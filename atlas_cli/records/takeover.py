"""The end of a session by another one: it is adopted, dismissed or dropped."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import Refused
from ..model import change
from ..model.change import Change, Writer
from ..model.text import Record
from ..model.tree import Tree
from ..visible import named
from . import session


def adopt(tree: Tree, writer: Writer, wanted: str, why: str) -> Change:
    """The change by which the writer takes over a session that is over, with its duty to write the
    status. Raises Refused if it was adopted already. A guard asks whether it is over: its newest
    commit tells, which no tree shows."""
    old = unadopted(tree, wanted)
    fields = {
        "ended": old.get("ended", writer.when),
        "adopted_by": writer.session,
        "adopted": writer.when,
        "adopted_why": why,
    }
    return session.written(f"adopt: {wanted} ({writer.session})", change.rewritten(old, **fields))


def unadopted(tree: Tree, wanted: str) -> Record:
    """The row of a session that nobody has adopted. Raises Refused if somebody has."""
    row = session.get(tree, wanted)
    if "adopted_by" in row:
        raise Refused(
            f"{wanted} was adopted by {named(row['adopted_by'])} at {row['adopted']}",
            "atlas session show says more",
        )
    return row


def dismiss(tree: Tree, writer: Writer, wanted: str, why: str, principals: Iterable[str]) -> Change:
    """The change by which a principal says that nobody need take over a session that is over, and
    left no word. Raises Refused for who is none, and if it was adopted or dismissed already. A
    guard asks whether it is over."""
    old = session.get(tree, wanted)
    if writer.actor not in principals:
        raise Refused(
            f"{writer.actor} is no principal of the policy",
            f"take it over: atlas session adopt {wanted} --why 'WHY'",
            code="not_yours",
        )
    if by := old.get("adopted_by", old.get("dismissed_by")):
        raise Refused(
            f"{wanted} was taken care of by {named(by)}", f"atlas session show {wanted} says more"
        )
    fields = {
        "ended": old.get("ended", writer.when),
        "dismissed_by": writer.session,
        "dismissed": writer.when,
        "dismissed_why": why,
    }
    return session.written(f"dismiss: {wanted} ({writer.session})", change.rewritten(old, **fields))


def drop(tree: Tree, writer: Writer, wanted: str, why: str, principals: Iterable[str]) -> Change:
    """The change that ends the session of a dead worker. Raises Refused if the writer is neither
    its ancestor nor a principal of the policy."""
    old = session.live(tree, wanted, writer.at)
    if not session.above(old, writer.session, writer.actor, principals):
        raise Refused(
            f"{wanted} is no session that you started, and {writer.actor} is no principal of the"
            " policy",
            "its claims and leases run out by themselves; atlas session adopt takes over one that"
            " is over",
            code="not_yours",
        )
    fields = {"ended": writer.when, "dropped_by": writer.session, "dropped_why": why}
    return session.written(f"drop: {wanted} ({writer.session})", change.rewritten(old, **fields))

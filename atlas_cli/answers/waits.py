"""The waiters and whom they wait for: what stands in the rows of sessions, followed until it comes
back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..errors import AtlasError
from ..model import times
from ..model.text import Record
from ..model.tree import Tree
from ..records import session
from .ask import Questions
from .over import standing


class Link(NamedTuple):
    """One who waits, for what, and who has it."""

    waiter: str
    what: str
    holder: str


def circle(ask: Questions, tree: Tree, me: str, wanted: Iterable[str]) -> list[Link]:
    """The circle that a session would wait in if it waited for all of these; empty if there is
    none."""
    seen: set[str] = set()
    chains = [[link] for link in _links(ask, tree, me, wanted)]
    while chains:
        chain = chains.pop()
        holder = chain[-1].holder
        if holder == me:
            return chain
        if holder not in seen:
            seen.add(holder)
            waited = waits_of(ask, holder)
            chains += [[*chain, link] for link in _links(ask, tree, holder, waited)]
    return []


def _links(ask: Questions, tree: Tree, waiter: str, wanted: Iterable[str]) -> list[Link]:
    links = []
    for what in wanted:
        try:
            holder = standing(ask, tree, what, (waiter,)).holder
        except AtlasError:  # a hand may have written anything there
            continue
        if holder:
            links.append(Link(waiter, what, holder))
    return links


def waits_of(ask: Questions, name: str) -> list[str]:
    """The names that a session waits for now. One that has written since, or is past its time,
    waits no more. One that would take the first of several is in nobody's way."""
    row = ask.index.readable(session.path_of(name)) if session.valid(name) else None
    waits: Record = (row or {}).get("waits", {})
    try:
        over = times.moment(waits.get("until")) <= ask.now
        if over or ask.index.last_at(name) > times.moment(waits.get("at")):
            return []
    except ValueError:
        return []
    wanted = [what for what in waits.get("for", ()) if isinstance(what, str)]
    return [] if waits.get("any") and len(wanted) > 1 else wanted

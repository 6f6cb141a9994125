"""How a command deals with the remote, and what one conversation with it is for: values, handed
down."""

from __future__ import annotations

from typing import NamedTuple


class Dealing(NamedTuple):
    """How a command deals with the remote. `asks`: it asks what is new, where its copy is old.
    `look`: it asks however new the copy is. `again`: it asks even if it had no answer a moment ago.
    `eager`: it pushes what it records, even if a push failed a moment ago."""

    asks: bool = True
    look: bool = False
    again: bool = False
    eager: bool = False


USUAL = Dealing()
FRESH = Dealing(look=True)
PUSHED = Dealing(look=True, again=True)  # for a verdict on what others have from then on
EAGER = Dealing(eager=True)
UNASKED = Dealing(asks=False)


class Purpose(NamedTuple):
    """The purpose of a conversation with the remote. `mine`: the operation that must be published,
    or ''. `by`: the session that it is for, or ''. `wanted`: somebody waits for it, and not a
    reader. `within`: the seconds that all of it may take. `aside`: another branch may take what the
    store's own does not. `carry`: accept the remote's history even if it does not descend from
    ours, and put our commits behind it. `restore`: push back what was lost there."""

    mine: str = ""
    by: str = ""
    wanted: bool = True
    within: float | None = None
    aside: bool = True
    carry: bool = False
    restore: bool = False


PLAIN = Purpose()

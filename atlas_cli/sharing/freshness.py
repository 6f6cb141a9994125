"""The age of this clone's copy of its remote, and when an answer has to say it."""

from __future__ import annotations

import time
from typing import NamedTuple

from ..model import times
from ..records import policy
from .sharing import Sharing

NEWER = "atlas sync brings what is newer"
NOTHING = 10  # seconds above which an answer that says *nothing* says how old it is


class Copy(NamedTuple):
    """A copy of the remote. `seconds` is its age (None: there is none yet); `silent`: the remote
    was asked since, and gave no answer; `fresh` is the age up to which it counts as new."""

    seconds: int | None
    silent: bool
    fresh: int
    remote: str = "the remote"


def line(copy: Copy, nothing: bool) -> str:
    """The age as an answer says it; empty where it need not. `nothing`: the answer is that nothing
    is there, or that it is free, which the next write of another makes wrong."""
    since = ", and it gave no answer since" if copy.silent else ""
    if copy.seconds is None:
        if not copy.silent:
            return ""
        return f"{copy.remote} gave no answer yet: what others have published is not known here"
    limit = min(copy.fresh, NOTHING) if nothing else copy.fresh
    if copy.seconds <= limit and not copy.silent:
        return ""
    return f"known here: what {copy.remote} had {times.span(copy.seconds)} ago{since}; {NEWER}"


def copy_of(sharing: Sharing) -> Copy | None:
    """The copy that a command answers from; None where there is no remote but this machine."""
    known = sharing.known
    if known is None or known.local:
        return None
    memory = sharing.memory
    asked, away = memory.get("asked_at"), memory.get("away_at")
    at = max(memory.get("fetched_at"), asked if asked > away else 0.0)
    seconds = max(0, int(time.time() - at)) if at else None
    fresh = policy.seconds(sharing.store.rules(sharing.store.snapshot()), "fresh")
    return Copy(seconds, away > at, fresh, known.name)

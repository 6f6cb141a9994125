"""Whether a history of calls could have happened one at a time (the search of Wing and Gong, with
Lowe's memory)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import inf
from typing import Any, NamedTuple

Step = Callable[[Any, Any], Any]  # the state after an operation; None where that result cannot be


class Call(NamedTuple):
    """From when to when it ran; `returned` is infinite where nobody knows whether it was done: then
    or later, or never."""

    called: float
    returned: float
    what: Hashable


def linearizable(
    history: Sequence[Call], start: Hashable, step: Step, budget: int = 200_000
) -> bool:
    """Whether each call can be given a moment between its beginning and its end so that `step`
    allows all results."""
    calls = sorted(history)
    must = sum(1 << at for at, call in enumerate(calls) if call.returned != inf)
    seen = {(0, start)}
    stack = [(0, start)]
    while stack:
        done, state = stack.pop()
        if done & must == must:
            return True
        left = [at for at in range(len(calls)) if not done >> at & 1]
        first = min(
            calls[at].returned for at in left
        )  # whatever began after its end comes after it
        states = {at: step(state, calls[at].what) for at in left if calls[at].called <= first}
        if quiet := [at for at, after in states.items() if after == state]:
            states = {quiet[0]: state}  # what changes nothing may as well happen now
        for at, after in states.items():
            if after is not None and (done | 1 << at, after) not in seen:
                seen.add((done | 1 << at, after))
                stack.append((done | 1 << at, after))
        assert len(seen) < budget, "the search gave up: fewer calls on one key"
    return False

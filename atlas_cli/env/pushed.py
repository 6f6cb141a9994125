"""The pushes to the branches of integration that have no word behind them yet, as they are shown
under the status."""

from __future__ import annotations

import time

from ..answers import words
from ..errors import Failed
from ..model import times
from ..model.text import Record
from ..outcome import Frame
from ..sharing.sharing import AWAY, FETCH
from .env import Env

MOST = 5  # that are shown


def marks(env: Env) -> list[Record]:
    """The pushes without a word, the newest first."""
    return words.without_word(env.ask, env.git, heads(env))


def heads(env: Env) -> words.Heads:
    """The branches of the remote, as it says now that they are at. It is asked, once a command,
    only where this clone cannot tell whether a push has arrived."""
    if "heads" not in env.beside:
        env.beside["heads"] = _asked(env) if words.untold(env.ask, env.git) else words.UNASKED
    heads: words.Heads = env.beside["heads"]
    return heads


def _asked(env: Env) -> words.Heads:
    remote, sharing = env.sharing.remote, env.sharing
    if remote is None or remote.local or time.time() - sharing.memory.get("away_at") < AWAY:
        return words.UNASKED
    try:
        return remote.heads(FETCH)
    except Failed:  # what is not known is not claimed
        return words.UNASKED


def frames(env: Env, marks: list[Record]) -> list[Frame]:
    """The pushes without a word, under one title."""
    if not marks:
        return []
    lines = [_line(env, mark) for mark in marks[:MOST]]
    if len(marks) > MOST:
        lines.append(f"(and {len(marks) - MOST} more pushes)")
    return [Frame("pushed without a word", "\n".join(lines))]


def _line(env: Env, mark: Record) -> str:
    ago = times.ago(times.moment(mark["at"]), env.now())
    subjects = "; ".join(map(_plain, mark["subjects"]))
    more = f" (+{mark['commits'] - len(mark['subjects'])})" if mark["commits"] > 3 else ""
    paths = f" [{', '.join(map(_plain, mark['paths']))}]" if mark["paths"] else ""
    return f"{mark['branch']}, {ago}, by {mark['session']}: {subjects}{more}{paths}"


def _plain(text: str) -> str:
    """A text of another, on one line of the frame."""
    return " ".join(text[:100].split())

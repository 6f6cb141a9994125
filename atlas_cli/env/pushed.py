"""The pushes to the branches of integration that have no word behind them yet, as they are shown
under the status."""

from __future__ import annotations

from ..answers import words
from ..model import times
from ..model.text import Record
from ..outcome import Frame
from .env import Env

MOST = 5  # that are shown


def marks(env: Env) -> list[Record]:
    """The pushes without a word, the newest first."""
    return words.without_word(env.ask, env.git)


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

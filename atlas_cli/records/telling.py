"""The telling of a commit what its session does not know: what stops it, what is printed, named or
counted, by the pace of the session's commits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..visible import many
from .concern import ALWAYS, NOTICE, SELDOM, Item, Reason, signed

LEAST, WORDS, MOST = 25, 120, 8  # words of a section; of all sections of a stop; sections
LETTERS = 10 * LEAST  # characters of so many words, whatever the script
COUNTED, HEADED, TOLD, READ = 1, 2, 3, 4  # what a session knows of an item: each more than the last


class News(NamedTuple):
    """An item that a session has not read and was not told of; why it concerns the session, and
    whether it was counted or named by its heading (COUNTED, HEADED) before."""

    item: Item
    reason: Reason | None
    known: int = 0

    @property
    def due(self) -> bool:
        """Whether it is to be told before the session goes on."""
        return self.reason is not None and self.reason.weight > NOTICE

    @property
    def seldom(self) -> bool:
        """Whether it stops once in `stop_every` only."""
        return self.reason is not None and self.reason.weight == SELDOM


class Pace(NamedTuple):
    """When a session was stopped for files that meet, and when it was told anything at all; the
    seconds between two such stops, and those after which it must look."""

    now: int
    stopped: int
    told: int
    stop_every: int
    look_within: int


class Verdict(NamedTuple):
    """The verdict on a commit: whether it stops, what is printed (what weighs most first), what is
    only named, and what is only counted. `looked`: it stops since nothing was told for long."""

    stops: bool = False
    told: tuple[News, ...] = ()
    named: tuple[News, ...] = ()
    counted: tuple[News, ...] = ()
    looked: bool = False

    @property
    def headed(self) -> tuple[News, ...]:
        """The items to tell that stop no more, since they were named, behind all that always stop,
        however many: no warning is bought off by many."""
        return tuple(row for row in self.named if not row.reason or row.reason.weight < ALWAYS)

    @property
    def silent(self) -> bool:
        """Whether there is nothing to say."""
        return not (self.told or self.named or self.counted)


def judge(news: Sequence[News], pace: Pace, blind: bool = False) -> Verdict:
    """The verdict on a commit whose session does not know these. `blind`: no file of the session is
    known, so all of it is told, once in `look_within`."""
    waited = pace.now - pace.told >= pace.look_within
    if blind and waited:
        news = [row if row.due else row._replace(reason=_UNKNOWN) for row in news]
    due = in_order([row for row in news if row.due])
    rest = [row for row in news if not row.due]
    if due:
        count = fitting([len(row.item.text.split()) for row in due])
        stops = any(_stops(row, pace) for row in due)
        warning = [row for row in rest if row.item.warn and row.known < HEADED]
        fresh = tuple(row for row in rest if not row.known and row not in warning)
        return Verdict(stops, tuple(due[:count]), (*due[count:], *warning), fresh)
    if waited and (unseen := [row for row in rest if row.known < HEADED]):
        return Verdict(True, named=tuple(in_order(unseen)), looked=True)
    return Verdict(counted=tuple(row for row in rest if not row.known))


_UNKNOWN = Reason(SELDOM, "no file of yours is known, so it may be about them")


def _stops(row: News, pace: Pace) -> bool:
    """Whether a commit stops for an item; what was named by its heading stops no more."""
    if row.reason is None or row.known == HEADED:
        return False
    return row.reason.weight == ALWAYS or pace.now - pace.stopped >= pace.stop_every


def in_order(news: Sequence[News]) -> list[News]:
    """The items in the order of telling: those with a warning first, then what weighs most, then
    the newest."""
    return sorted(news, key=_rank)


def _rank(row: News) -> tuple[bool, int, int]:
    weight = row.reason.weight if row.reason else 0
    return not (row.due and row.item.warn), -weight, -row.item.at


def fitting(lengths: Sequence[int]) -> int:
    """How many of these texts, by their words, are printed: as many as get 25 words each (or all
    they have) out of 120, and at most eight."""
    left = WORDS
    for count, length in enumerate(lengths[:MOST]):
        left -= min(length, LEAST)
        if left < 0:
            return max(count, 1)
    return min(len(lengths), MOST)


def portions(lengths: Sequence[int]) -> list[int]:
    """The words that each of the texts that fit is given: 25, and what the others leave."""
    shares = [min(length, LEAST) for length in lengths]
    left = WORDS - sum(shares)
    for at, length in enumerate(lengths):
        more = min(length - shares[at], max(left, 0))
        shares[at] += more
        left -= more
    return shares


def cut(text: str, words: int) -> str:
    """The first words of a text, its lines as they are; what is left out is counted."""
    parts = text.split()
    if len(parts) <= words:
        return text.strip("\n")
    lines: list[str] = []
    left = words
    for line in text.strip("\n").split("\n"):
        here = line.split(" ")
        size = len(line.split())
        if size >= left:
            lines.append(_first(here, left))
            break
        lines.append(line)
        left -= size
    return "\n".join(lines).rstrip() + f" … (+{many(len(parts) - words, 'word')})"


def first_words(text: str) -> tuple[str, bool]:
    """The first words of a text, on one line, and whether that is not all of it. It is never cut
    within a word, unless a word is longer than all that there is room for."""
    parts = text.split()
    line = " ".join(parts[:LEAST])
    if len(line) > LETTERS:
        line = line[: LETTERS + 1].rpartition(" ")[0] or line[:LETTERS]
    cut = len(line) < len(" ".join(parts))
    return (f"{line} …" if cut else line), cut


def _first(words: Sequence[str], most: int) -> str:
    """A line's first words, with the blanks between them."""
    taken: list[str] = []
    for word in words:
        if most <= 0 and word:
            break
        taken.append(word)
        most -= bool(word)
    return " ".join(taken).rstrip()


def counted(news: Sequence[News]) -> str:
    """The line for items that are only counted."""
    by_kind: dict[str, int] = {}
    for row in news:
        kind = "section" if row.item.kind == "status" else row.item.kind
        by_kind[kind] = by_kind.get(kind, 0) + 1
    parts = [many(count, kind) for kind, count in by_kind.items()]
    near = [row for row in news if row.reason is not None]
    about = "none on your files"
    if near:
        about = ", ".join(
            f"{signed(row.item)} {row.reason.words}" for row in near[:3] if row.reason
        )
    return f"the status moved on: {', '.join(parts)}, {about}"

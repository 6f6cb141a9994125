"""Words: what a session leaves for the next one, and the work that it owes one for.

The order is that of the store's commits, each by its place. A code commit stands in no store: its
trailers name the newest word that its session had written by then. So no clock is asked, but for
what a task's result speaks of."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

from ..model import times
from ..model.text import Record
from ..visible import many

WITHOUT = "none"  # what a code commit names whose session had written no word
SUBJECTS, PATHS, MARKS = 3, 6, 10  # of a mark, and the marks of a session
LANDS = 3600  # seconds within which a push arrives, or it never does


class Word(NamedTuple):
    """A word: the text that a session has left for the next one. `place` and `operation` are those
    of its commit. `since`: it is the text of a result, and speaks of the commits made from that
    moment on. `confirms`: it says that the status holds, and speaks of no commit."""

    place: int
    operation: str
    at: int
    since: int | None = None
    confirms: bool = False


class Work(NamedTuple):
    """A piece of work that a session owes a word for: a record or a code commit. `after` is the
    place in the history that it stands behind; of a commit, the newest that its maker knew."""

    name: str
    at: int
    after: int
    code: bool = False
    subject: str = ""


class Debt(NamedTuple):
    """The work that no word speaks of, oldest first."""

    works: tuple[Work, ...]

    @property
    def at(self) -> int:
        """The moment of the oldest."""
        return self.works[0].at

    @property
    def names(self) -> set[str]:
        """The names of the work in it."""
        return {work.name for work in self.works}

    @property
    def commits(self) -> int:
        """How many of it are code commits."""
        return sum(work.code for work in self.works)

    def text(self) -> str:
        """The work that is owed for, counted."""
        records = len(self.works) - self.commits
        counts = ((self.commits, "commit"), (records, "record"))
        return " and ".join(many(count, what) for count, what in counts if count)


def known(words: Sequence[Word], named: Collection[str], made: int, read: int = 0) -> int:
    """The place of the newest thing in the store that the maker of a commit knew. `named` are the
    operations of its trailers, `read` is the place of the newest entry that they name. If these
    tell nothing, the moment at which it was made does."""
    places = [word.place for word in words if word.operation in named]
    if not places and not read and set(named) != {WITHOUT}:
        places = [word.place for word in words if word.at <= made]
    return max([read, *places])


def speaks_of(word: Word, work: Work) -> bool:
    """Whether a word speaks of a work."""
    if word.place <= work.after or (word.confirms and work.code):
        return False
    return word.since is None or (work.code and word.since <= work.at)


def debt(works: Iterable[Work], words: Sequence[Word]) -> Debt | None:
    """The work that none of these words speaks of; None where nothing is owed."""
    owed = [work for work in works if not any(speaks_of(word, work) for word in words)]
    return Debt(tuple(sorted(owed, key=lambda work: work.at))) if owed else None


def due(owed: Debt, now: int, within: int) -> int:
    """The moment at which the word is due. Work is no younger than now, whatever its clock said."""
    return min(owed.at, now) + within


def mark(
    branch: str, tip: str, at: int, owed: Debt, paths: Iterable[str], word: str, of: str = ""
) -> Record:
    """The mark of a push whose commits no word speaks of yet, for the pusher's row. `word` is the
    operation of the newest word that there was; `of` the session whose commits these are, if that
    is another."""
    commits = [work for work in owed.works if work.code]
    return {
        "branch": branch,
        "tip": tip,
        "commits": len(commits),
        "subjects": [work.subject[:100] for work in commits[:SUBJECTS]],
        "paths": sorted(set(paths))[:PATHS],
        "at": times.rfc3339(at),
        "word": word,
        **({"session": of} if of else {}),
    }


_MARK = {
    **dict.fromkeys(("branch", "tip", "at", "word"), str),
    **dict.fromkeys(("subjects", "paths"), list),
    "commits": int,
}


def marks(row: Mapping[str, Any]) -> list[Record]:
    """The marks of a session's row that can be read."""
    return [mark for mark in row.get("marks", ()) if _is_mark(mark)]


def _is_mark(mark: object) -> bool:
    if not isinstance(mark, dict) or not _has(mark, _MARK):
        return False
    texts = (mark.get("session", ""), *mark["subjects"], *mark["paths"])
    return all(isinstance(text, str) for text in texts)


def _has(value: Mapping[str, Any], kinds: Mapping[str, type]) -> bool:
    """Whether a value that a hand may have written has these fields, and a moment in `at`."""
    if not all(isinstance(value.get(key), kind) for key, kind in kinds.items()):
        return False
    try:
        times.moment(value["at"])
    except ValueError:
        return False
    return True


def left(owed: Debt, at: int, word: str) -> Record:
    """The debt of a session as its tool closed it, for its row."""
    return {"text": owed.text(), "at": times.rfc3339(at), "word": word}


def commits_in(left: Record) -> int:
    """The number of code commits in such a note."""
    count, _, what = left["text"].partition(" ")
    return int(count) if what.startswith("commit") and count.isdecimal() and len(count) < 4 else 0


def is_left(value: object) -> TypeGuard[Record]:
    """Whether a value of a row is such a note."""
    return isinstance(value, dict) and _has(value, dict.fromkeys(("text", "at", "word"), str))


def later(marks: Iterable[Record], words: Sequence[Word]) -> list[Record]:
    """The marks that no word of their session came after."""
    last = max((word.place for word in words if not word.confirms), default=0)
    return [
        mark for mark in marks if known(words, {mark["word"]}, times.moment(mark["at"])) >= last
    ]


def underway(mark: Record, now: int) -> bool:
    """Whether the tip of a mark may still get to the remote's branch."""
    return now - times.moment(mark["at"]) < LANDS


class Owner(NamedTuple):
    """A session whose commits a branch gains, or its heir, and what it owes a word for. `over`: the
    moment at which it was over; None while it is at work."""

    id: str
    owed: Debt
    over: int | None = None


class Verdict(NamedTuple):
    """The verdict on a push. `late`: the pusher's own debt, if that stops it; `young`: if it does
    not yet. `left`: the sessions that are over, and are to be adopted. `at_work`: others whose word
    is due."""

    late: Debt | None = None
    young: Debt | None = None
    left: tuple[str, ...] = ()
    at_work: tuple[str, ...] = ()


def judge_push(owners: Iterable[Owner], me: str, now: int, within: int, week: int) -> Verdict:
    """Judges a push by the sessions whose commits it brings. `me` pushes; `within` is how old a
    debt may be; who was over before `week` ago is asked for nothing."""
    verdict = Verdict()
    for owner in owners:
        late = due(owner.owed, now, within) <= now
        if owner.over is not None:
            if now - owner.over < week:
                verdict = verdict._replace(left=(*verdict.left, owner.id))
        elif owner.id == me and late:
            verdict = verdict._replace(late=owner.owed)
        elif owner.id == me:
            verdict = verdict._replace(young=owner.owed)
        elif late:
            verdict = verdict._replace(at_work=(*verdict.at_work, owner.id))
    return verdict

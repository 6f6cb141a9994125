"""Code commits, and what their trailers say: the session that made them, and the entries that it
had read by then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from . import trailers


class Read(NamedTuple):
    """A status entry that a session had read: its number (0: the stream was empty), and the first
    digits of its blob."""

    stream: str
    number: int
    blob: str


class CodeCommit(NamedTuple):
    """A code commit. `made` is its author's date, `at` its committer's. `paths` are the paths that
    it changed, both of a rename. `moved` has the new path of each that it moved, None if it deleted
    it."""

    oid: str
    parents: tuple[str, ...]
    author: str
    made: int
    committer: str
    at: int
    message: str
    paths: tuple[str, ...] = ()
    moved: Mapping[str, str | None] = {}

    @property
    def subject(self) -> str:
        """The first line of its message."""
        return self.message.split("\n", 1)[0]

    @property
    def of_store(self) -> bool:
        """Whether it is no code, but a write into the store, whose branch may be one of the user's
        under any name."""
        return "\nAtlas-Operation: " in self.message

    @property
    def sessions(self) -> dict[str, set[Read]]:
        """The sessions that it names, and what each had read by then."""
        return {} if self.of_store else claims(self.message)

    @property
    def words(self) -> dict[str, set[str]]:
        """The operations of the newest words of each session that it names, as its trailers have
        them."""
        return named_words(self.message)

    @property
    def own_dates(self) -> bool:
        """Whether its dates can be those of the session that it names. They are not if somebody
        else's button made it, or if it was put together of several."""
        return len(self.sessions) == 1 and (self.author == self.committer or self.made != self.at)


def claims(message: str) -> dict[str, set[Read]]:
    """The sessions that a message names, and the entries that each had read, from its trailers. A
    squash keeps those of all its commits."""
    sessions: dict[str, set[Read]] = {}
    reads: set[Read] = set()
    for session, stream, number, blob, _ in trailers.written(message):
        if session:
            reads = sessions.setdefault(session, set() if sessions else reads)
        elif stream:
            reads.add(Read(stream, number, blob))
    return sessions


def named_words(message: str) -> dict[str, set[str]]:
    """The operations of the words that a message names, by the session that stands above them."""
    words: dict[str, set[str]] = {}
    last = ""
    for session, _, _, _, word in trailers.written(message):
        last = session or last
        if word:
            words.setdefault(last, set()).add(word)
    return words

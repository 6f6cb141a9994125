"""Code commits, and what their trailers say: which session made them, and what it had read by
then."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_TRAILER = re.compile(
    r"Atlas-(?:Session: ([a-z0-9][a-z0-9._-]{0,40}-[0-9]{6}-[a-z0-9]{6})"
    r"|Read: ([a-z0-9][a-z0-9._-]{0,63})@([0-9]{1,9})(?:~([0-9a-f]{7,64}))?)\Z"
)


class Read(NamedTuple):
    """A status entry that a session had read: its number (0: the stream was empty) and how its blob
    begins."""

    stream: str
    number: int
    blob: str


class Code(NamedTuple):
    """A code commit. `made` and `at` are its author's and its committer's date; `paths` are those
    that it changed, both of a rename; `moved` says what became of a path (None: it was deleted)."""

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
        return self.message.split("\n", 1)[0]

    @property
    def sessions(self) -> dict[str, set[Read]]:
        return claims(self.message)

    @property
    def own_dates(self) -> bool:
        """Whether its dates can be those of the session that it names: not where somebody else's
        button made it, nor where it was put together of several."""
        return len(self.sessions) == 1 and (self.author == self.committer or self.made != self.at)


def claims(message: str) -> dict[str, set[Read]]:
    """What each session had read, from trailers anywhere in a message: a squash keeps those of all
    its commits."""
    found: dict[str, set[Read]] = {}
    reads: set[Read] = set()
    for line in message.split("\n"):
        match = _TRAILER.match(line.strip())
        if match and match[1]:
            reads = found.setdefault(match[1], set() if found else reads)
        elif match:
            reads.add(Read(match[2], int(match[3]), match[4] or ""))
    return found

"""The questions to the cache about queues: the records of a folder that are given away, first come
first."""

from __future__ import annotations

from collections.abc import Iterator

from ..model.text import Record
from .refs import Refs

MOST = 2**31  # rows that a question asks for


class Queue(Refs):
    """The queues of the cache of one store."""

    def queue(self, folder: str, now: int | None) -> Iterator[tuple[str, Record]]:
        """The queued records of a folder by path, first come first.

        now: only those that may be given away at that moment. Mostly few are asked for, so the
        first hundred are read by themselves."""
        ready = "" if now is None else "AND unmet=0 AND due<=? AND over>?"
        values = (folder,) if now is None else (folder, now, now)
        for limit, start in ((100, 0), (MOST, 100)):
            rows = self._all(
                f"SELECT path, data FROM records WHERE folder=? AND rank IS NOT NULL {ready} "
                f"ORDER BY rank, born, path LIMIT {limit} OFFSET {start}",
                *values,
            )
            yield from ((row[0], self.loaded(row[1])) for row in rows)

    def held_back(self, folder: str, moment: int) -> list[tuple[str, Record]]:
        """The queued records of a folder by path that nobody may be given before a moment."""
        rows = self._all(
            "SELECT path, data FROM records WHERE folder=? AND rank IS NOT NULL AND due>=?"
            " ORDER BY born, path",
            folder,
            moment,
        )
        return [(row[0], self.loaded(row[1])) for row in rows]

    def queue_length(self, folder: str, now: int | None = None) -> int:
        """How many records of a folder are queued.

        now: how many of them may be given away at that moment, as far as the cache can tell."""
        ready = "" if now is None else "AND unmet=0 AND due<=? AND over>?"
        values = (folder,) if now is None else (folder, now, now)
        return int(
            self._one(
                f"SELECT count(*) FROM records WHERE folder=? AND rank IS NOT NULL {ready}", *values
            )[0]
        )

    def born(self, folder: str) -> dict[str, int]:
        """When each record of a folder came, as a number that rises."""
        return {
            row[0]: row[1]
            for row in self._all("SELECT path, born FROM records WHERE folder=?", folder)
        }

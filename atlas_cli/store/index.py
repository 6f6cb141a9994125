"""A disposable cache of what the records say. It answers what would cost a read of the whole store:
live rows, who points at whom, which operation is where. Losing it loses nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import NotFound
from ..model.text import Record
from .indexer import BROKEN, EDIT, ENDING, storable
from .queue import MOST as MOST
from .queue import Queue

FILE = f"index{ENDING}"
Row = dict[str, Any]


class Index(Queue):
    """The questions that the cache of one store answers."""

    def commit(self, text: str) -> Row:
        """The one commit whose id begins with a text.

        Raises NotFound if there is none, or more than one."""
        rows = self._all(
            "SELECT * FROM commits WHERE oid LIKE ? ESCAPE '!' LIMIT 2", _literal(text) + "%"
        )
        if len(rows) != 1 or len(text) < 4:
            raise NotFound(
                f"there is no one commit {text[:80]!r} in this store",
                "atlas log --json names them whole",
            )
        return dict(rows[0])

    def live(self, folder: str, after: int) -> list[tuple[str, Record]]:
        """The readable rows below a folder in force after that moment, soonest over first."""
        rows = self._all(
            "SELECT path, data FROM records WHERE folder=? AND until>? AND data IS NOT NULL ORDER"
            " BY until, path",
            folder,
            after,
        )
        return [(row[0], self.loaded(row[1])) for row in rows]

    def past(self, folder: str, upto: int, most: int) -> list[Record]:
        """The newest readable rows below a folder that were in force until that moment at the
        latest, but for those of whoever wrote the row and has left a word with it, or since."""
        rows = self._all(
            "SELECT r.data FROM records r JOIN commits c ON c.seq=r.seq WHERE r.folder=? AND"
            " r.until<=? AND r.data IS NOT NULL AND NOT (r.ref LIKE '%:'||c.session AND EXISTS"
            " (SELECT 1 FROM commits w WHERE w.session=c.session AND w.duty LIKE '%word%' AND"
            " w.seq>=r.seq)) ORDER BY r.until DESC, r.path LIMIT ?",
            folder,
            upto,
            most,
        )
        return [self.loaded(row[0]) for row in rows]

    def rows(self, folder: str) -> list[Row]:
        """All records of a folder with path, ref, blob, until, seq, data (None if damaged) and
        damage, oldest first."""
        rows = self._all("SELECT * FROM records WHERE folder=? ORDER BY seq, path", folder)
        return [
            {**dict(row), "data": self.loaded(row["data"]) if row["data"] else None} for row in rows
        ]

    def backwards(self, folder: str) -> Iterator[tuple[int, str]]:
        """(seq, path) of a folder's readable records, the one written last first. They are read as
        far as they are asked for."""
        upto: tuple[int, str] = (MOST, "")
        while rows := self._all(
            "SELECT seq, path FROM records WHERE folder=? AND (seq, path)<(?, ?) AND data IS NOT"
            " NULL ORDER BY seq DESC, path DESC LIMIT 200",
            folder,
            *upto,
        ):
            yield from ((row[0], row[1]) for row in rows)
            upto = rows[-1][0], rows[-1][1]

    def record(self, path: str) -> Record:
        """A readable record, without its body."""
        row = self._one("SELECT data FROM records WHERE path=?", path)
        return self.loaded(row[0])

    def newest(self, folder: str, limit: int) -> list[tuple[str, Record]]:
        """The records of a folder written last, newest first."""
        rows = self._all(
            "SELECT path, data FROM records WHERE folder=? AND data IS NOT NULL ORDER BY seq DESC,"
            " path DESC LIMIT ?",
            folder,
            min(limit, MOST),
        )
        return [(row[0], self.loaded(row[1])) for row in rows]

    def count(self, folder: str, upto: int = MOST) -> int:
        """How many records of a folder were written last by the commit of that number, or before
        it."""
        row = self._one("SELECT count(*) FROM records WHERE folder=? AND seq<=?", folder, upto)
        return int(row[0])

    def edits(self) -> list[tuple[str, str, str]]:
        """(path, first blob, commit) of each document that a hand has changed or taken away since
        it was written."""
        return [
            (row[0], row[1], row[2])
            for row in self._all(
                "SELECT path, nullif(value, ''), oid FROM notes WHERE what=? ORDER BY path", EDIT
            )
        ]

    def written(self, path: str) -> tuple[str, str] | None:
        """(first blob, commit that changed it) of a document that a hand has changed or taken
        away."""
        row = self._one(
            "SELECT nullif(value, ''), oid FROM notes WHERE what=? AND path=?", EDIT, path
        )
        return (row[0], row[1]) if row else None

    def broken(self) -> list[tuple[str, str]]:
        """(path, the rule that it breaks) of each record that a hand brought, and that can be
        read."""
        rows = self._all(
            "SELECT n.path, n.value FROM notes n JOIN records r ON r.path=n.path AND r.damage IS"
            " NULL WHERE n.what=? ORDER BY n.path",
            BROKEN,
        )
        return [(row[0], row[1]) for row in rows]

    def damaged(self) -> list[tuple[str, str]]:
        """(path, what is wrong) of each file that does not parse."""
        rows = self._all("SELECT path, damage FROM records WHERE damage IS NOT NULL ORDER BY path")
        return [(row[0], row[1]) for row in rows]

    def pointing(self, target: str, relation: str) -> list[tuple[str, Record]]:
        """The records that point at a REF, oldest first."""
        rows = self._all(
            "SELECT r.path, r.data FROM links l JOIN records r ON r.path=l.path WHERE l.target IN"
            " (?, ?) AND l.relation=? AND r.data IS NOT NULL ORDER BY r.seq, r.path",
            *self._forms(target),
            relation,
        )
        return [(row[0], self.loaded(row[1])) for row in rows]

    def targets(self, path: str, relation: str) -> list[str]:
        """The REFs that a record points at."""
        return [
            self.numbered(row[0])
            for row in self._all(
                "SELECT target FROM links WHERE path=? AND relation=?", path, relation
            )
        ]

    def leaning(self, folder: str) -> list[tuple[str, str, str, Record]]:
        """(session, its record, what that relies on, the correction that retracted it) of each
        record that is the newest of its name and was not corrected itself. Corrections lie in
        `folder`."""
        rows = self._all(
            "SELECT json_extract(r.data, '$.session'), r.ref, l.target, c.data FROM records c CROSS"
            " JOIN links k ON k.path=c.path AND k.relation='corrects' LEFT JOIN records t ON"
            " t.ref=k.target OR t.alias=k.target CROSS JOIN links l ON l.target IN (k.target,"
            " t.ref, t.alias) AND l.relation='relies_on' JOIN records r ON r.path=l.path WHERE"
            " c.folder=? AND json_extract(c.data, '$.retract') AND NOT EXISTS (SELECT 1 FROM links"
            " o WHERE o.target IN (r.ref, r.alias) AND o.relation='corrects') AND NOT EXISTS"
            " (SELECT 1 FROM records n WHERE n.folder=r.folder AND n.seq>r.seq AND"
            " instr(r.ref, '@')>0 AND"
            " substr(n.ref, 1, instr(n.ref, '@'))=substr(r.ref, 1, instr(r.ref, '@')))",
            folder,
        )
        return [(row[0], row[1], self.numbered(row[2]), self.loaded(row[3])) for row in rows]

    def operation(self, operation: str) -> Row | None:
        """The first commit of an operation."""
        row = self._one("SELECT * FROM commits WHERE operation=? ORDER BY seq LIMIT 1", operation)
        return dict(row) if row else None

    def last_at(self, session: str) -> int:
        """The latest moment that a session has written at; 0 if it never has."""
        row = self._one("SELECT coalesce(max(at), 0) FROM commits WHERE session=?", session)
        return int(row[0])

    def commits(
        self,
        limit: int,
        *,
        session: str | None = None,
        folder: str | None = None,
        path: str | None = None,
        operation: str | None = None,
        after: int | None = None,
        upto: int | None = None,
        stopped: bool = False,
    ) -> tuple[list[Row], int]:
        """(the newest commits first, how many there are in all).

        folder: only commits that changed something in it. after, upto: commits by number. stopped:
        commits whose session had met a stop."""
        tests = {
            "session=?": session,
            "instr(char(10)||paths, char(10)||?)>0": folder,
            "instr(char(10)||paths||char(10), char(10)||?||char(10))>0": path,
            "operation LIKE ? ESCAPE '!'": None if operation is None else _literal(operation) + "%",
            "seq>?": after,
            "seq<=?": upto,
            "stops<>?": "" if stopped else None,
        }
        chosen = {test: value for test, value in tests.items() if value is not None}
        where = " WHERE " + " AND ".join(chosen) if chosen else ""
        values = [storable(text) if isinstance(text, str) else text for text in chosen.values()]
        total = self._one(f"SELECT count(*) FROM commits{where}", *values)[0]
        rows = self._all(
            f"SELECT * FROM commits{where} ORDER BY seq DESC LIMIT ?", *values, min(limit, MOST)
        )
        return [self._told(row) for row in rows], int(total)

    def _told(self, row: Any) -> Row:
        """A commit, its own lines with the numbers of the REFs that they name."""
        lines = {key: self.in_line(row[key]) for key in ("subject", "stops")}
        return {**dict(row), **lines}

    def touched(self, after: int, upto: int, most: int) -> list[str] | None:
        """The paths changed by the commits after one and up to another, and by those that were
        there once and are not any more. None if there are more than `most` commits, or more than
        ten times as many paths."""
        if upto - after > most:
            return None
        gone = self._all("SELECT paths FROM moved WHERE seq>=?", after)
        touched = dict.fromkeys(path for row in gone for path in row[0].split("\n") if path)
        for seq in range(after + 1, upto + 1):
            row = self._one("SELECT paths FROM commits WHERE seq=?", seq)
            paths = row[0].split("\n") if row else []
            touched |= dict.fromkeys(path for path in paths if path)
            if len(touched) > most * 10:
                return None
        return list(touched)

    def paths(self, most: int | None) -> list[str] | None:
        """The paths of all records; None if they are more than `most`."""
        total = self._one("SELECT count(*) FROM records")[0]
        if most is not None and total > most:
            return None
        return [row[0] for row in self._all("SELECT path FROM records ORDER BY seq, path")]

    def since(self, folder: str, seq: int) -> list[tuple[int, str, Record]]:
        """(seq, path, record) of a folder's readable records written after a commit, oldest
        first."""
        rows = self._all(
            "SELECT seq, path, data FROM records WHERE folder=? AND seq>? AND data IS NOT NULL"
            " ORDER BY seq",
            folder,
            seq,
        )
        return [(row[0], row[1], self.loaded(row[2])) for row in rows]

    def readers(self, ref: str) -> list[str]:
        """The sessions that have said, with a write, that they had read a record."""
        return [
            row[0]
            for row in self._all(
                "SELECT DISTINCT session FROM reads WHERE ref IN (?, ?) ORDER BY session",
                *self._forms(ref),
            )
        ]

    def upto(self, moment: int) -> int:
        """The number of the last commit before a moment; 0 if there is none. It is found by
        halving: the commits' own times rise, but for what the clocks of two machines differ."""
        low, high = 0, self.last_seq()
        while low < high:
            middle = (low + high + 1) // 2
            at = self._one(
                "SELECT at FROM commits WHERE seq<=? AND at IS NOT NULL ORDER BY seq DESC LIMIT 1",
                middle,
            )
            low, high = (middle, high) if at is None or at[0] < moment else (low, middle - 1)
        return low

    def written_in(self, path: str) -> int:
        """The number of the commit that wrote a record last."""
        row = self._one("SELECT seq FROM records WHERE path=?", path)
        return int(row[0]) if row else self.last_seq()

    def wrote(self, path: str) -> str:
        """The operation of the commit that wrote a record last; empty if a hand did."""
        row = self._one(
            "SELECT c.operation FROM records r JOIN commits c ON c.seq=r.seq WHERE r.path=?", path
        )
        return (row[0] or "") if row else ""

    def as_of(self, folder: str, seq: int) -> str | None:
        """The last path below a folder that was there when a commit was made."""
        row = self._one(
            "SELECT path FROM records WHERE path>=? AND path<? AND seq<=? ORDER BY path DESC"
            " LIMIT 1",
            f"{folder}/",
            f"{folder}0",
            seq,
        )
        return row[0] if row else None

    def active(self, seq: int) -> set[str]:
        """The sessions that wrote anything after a commit."""
        return {
            row[0]
            for row in self._all("SELECT DISTINCT session FROM commits WHERE seq>?", seq)
            if row[0]
        }

    def last_seq(self) -> int:
        """The number of the newest commit; 0 in an empty store."""
        return int(self._one("SELECT coalesce(max(seq), 0) FROM commits")[0])

    def clocks(self, limit: int, most: int = 1000) -> dict[str, int]:
        """The newest moment that each session wrote at, by session. Only the newest `most` commits
        are asked, from the first of them on that lies behind `limit`; empty if none does."""
        rows = self._all(
            "WITH late AS (SELECT seq, session, at FROM commits WHERE seq>(SELECT max(seq) FROM"
            " commits)-?) SELECT session, max(at) FROM late WHERE seq>=(SELECT min(seq) FROM late"
            " WHERE at>?) AND at IS NOT NULL AND session IS NOT NULL GROUP BY session",
            most,
            limit,
        )
        return {row[0]: row[1] for row in rows}

    def readable(self, path: str) -> Record | None:
        """A record without its body; None if there is none that can be read."""
        row = self._one("SELECT data FROM records WHERE path=? AND data IS NOT NULL", path)
        return self.loaded(row[0]) if row else None

    def last_at_before(self, session: str, seq: int) -> int:
        """The latest moment that a session had written at before a commit."""
        row = self._one(
            "SELECT coalesce(max(at), 0) FROM commits WHERE session=? AND seq<?", session, seq
        )
        return int(row[0])

    def duties(self, session: str) -> list[Row]:
        """The commits of a session that owe a word, or are one, oldest first."""
        rows = self._all("SELECT * FROM commits WHERE session=? AND duty<>'' ORDER BY seq", session)
        return [dict(row) for row in rows]

    def owing(self) -> list[str]:
        """The sessions whose newest work lies behind their newest word."""
        rows = self._all(
            "SELECT session FROM commits WHERE duty<>'' AND session<>'' GROUP BY session HAVING"
            " max(CASE WHEN duty LIKE '%work%' THEN seq END)>coalesce(max(CASE WHEN duty LIKE"
            " '%word%' THEN seq END), 0)"
        )
        return [row[0] for row in rows]

    def committed(self, session: str, path: str, at: int) -> Row | None:
        """The commit of a session that wrote a path at a moment."""
        row = self._one(
            "SELECT * FROM commits WHERE session=? AND at=? AND"
            " instr(char(10)||paths||char(10), char(10)||?||char(10))>0 ORDER BY seq DESC LIMIT 1",
            session,
            at,
            path,
        )
        return dict(row) if row else None

    def ref_of(self, path: str) -> str:
        """The REF of the record at a path."""
        row = self._one("SELECT ref FROM records WHERE path=?", path)
        return row[0] if row and row[0] else path

    def path_of(self, ref: str) -> str:
        """The path of the record of a REF; empty if there is none."""
        row = self._one("SELECT path FROM records WHERE ref=?", self.numbered(ref))
        return row[0] if row else ""

    def blobs(self, ref: str) -> tuple[str, ...]:
        """The blobs that the document of a REF has, or had before a hand changed it."""
        path = self.path_of(ref)
        row = self._one("SELECT blob FROM records WHERE path=?", path)
        before = self.written(path)
        return tuple(blob for blob in (*(row or ()), *(before or ())[:1]) if blob)

    def seq_of(self, ref: str) -> int:
        """The number of the commit that wrote the record of a REF last; 0 if there is none."""
        row = self._one("SELECT seq FROM records WHERE ref=?", self.numbered(ref))
        return int(row[0]) if row else 0

    def beside(self, path: str) -> str:
        """The record beside a file that is none: the one in the same folder."""
        folder = path.rpartition("/")[0]
        row = self._one(
            "SELECT path FROM records WHERE path>=? AND path<?", f"{folder}/", f"{folder}0"
        )
        return row[0] if row else path


def _literal(text: str) -> str:
    """A text for LIKE in which nothing is a pattern."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")

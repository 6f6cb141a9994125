"""What this clone alone knows: who reads here, what they have read, which files of a view are ours. Not disposable,
but not shared either: what others must know is published with the next write."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from ..errors import Failed

FORMAT = 1
_TABLES = """
CREATE TABLE callers(worktree TEXT PRIMARY KEY, session TEXT);
CREATE TABLE receipts(session TEXT, reader TEXT, kind TEXT, id TEXT, number INTEGER, blob TEXT, at INTEGER,
                      claimed INTEGER, published INTEGER, PRIMARY KEY(session, kind, id, number));
CREATE INDEX by_reader ON receipts(reader, kind, id, number);
CREATE TABLE told(session TEXT PRIMARY KEY, seq INTEGER);
CREATE TABLE stops(session TEXT, kind TEXT, at INTEGER);
CREATE TABLE views(worktree TEXT, path TEXT, blob TEXT, PRIMARY KEY(worktree, path));
"""


class Local:
    """This clone's notebook. Where it cannot be written, it is empty and in memory: receipts are then not kept."""

    def __init__(self, file: Path) -> None:
        self.kept = True
        try:
            self.db = self._ready(str(file))
        except sqlite3.OperationalError:
            self.kept = False
            self.db = self._ready(":memory:")
        except sqlite3.DatabaseError:
            aside = file.with_name(f"{file.name}.damaged-{int(time.time())}")
            file.rename(aside)
            self.db = self._ready(str(file))

    @staticmethod
    def _ready(target: str) -> sqlite3.Connection:
        db = sqlite3.connect(target, timeout=10, isolation_level=None)
        if db.execute("PRAGMA user_version").fetchone()[0] < FORMAT:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("BEGIN IMMEDIATE")
            if db.execute("PRAGMA user_version").fetchone()[0] < FORMAT:
                for statement in _TABLES.split(";"):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version={FORMAT}")
            db.execute("COMMIT")
        db.execute("PRAGMA synchronous=NORMAL")
        return db

    def close(self) -> None:
        self.db.close()

    def _put(self, statement: str, *values: object) -> None:
        try:
            self.db.execute(statement, values)
        except sqlite3.OperationalError as error:
            if "readonly" not in str(error) and "read-only" not in str(error):
                raise Failed(f"this clone's notebook is busy: {error}", "try again", retry="now") from None

    def caller(self, worktree: str) -> str | None:
        """The session begun last in a worktree."""
        row = self.db.execute("SELECT session FROM callers WHERE worktree=?", (worktree,)).fetchone()
        return row[0] if row else None

    def set_caller(self, worktree: str, session: str) -> None:
        self._put("INSERT OR REPLACE INTO callers VALUES(?,?)", worktree, session)

    def drop_caller(self, session: str) -> None:
        self._put("DELETE FROM callers WHERE session=?", session)

    def read(
        self, session: str, reader: str, kind: str, id: str, number: int, blob: str, at: int, claimed: bool = False
    ) -> None:
        """A receipt: this session has read that version, and these were its bytes."""
        self._put(
            "INSERT OR REPLACE INTO receipts VALUES(?,?,?,?,?,?,?,?,0)",
            session, reader, kind, id, number, blob, at, int(claimed),
        )  # fmt: skip

    def seen(self, session: str, kind: str, id: str) -> list[tuple[int, str]]:
        """(number, blob) of the versions that a session has read, newest first."""
        rows = self.db.execute(
            "SELECT number, blob FROM receipts WHERE session=? AND kind=? AND id=? ORDER BY number DESC",
            (session, kind, id),
        )
        return [(row[0], row[1]) for row in rows.fetchall()]

    def has_read(self, session: str, kind: str, id: str, number: int) -> bool:
        return bool(self.db.execute(
            "SELECT 1 FROM receipts WHERE session=? AND kind=? AND id=? AND number=?", (session, kind, id, number)
        ).fetchone())  # fmt: skip

    def known_to(self, reader: str) -> set[tuple[str, str, int]]:
        """All that a reader (an actor in this clone) has ever read here, as (kind, id, number)."""
        rows = self.db.execute("SELECT kind, id, number FROM receipts WHERE reader=?", (reader,))
        return {(row[0], row[1], row[2]) for row in rows.fetchall()}

    def unpublished(self, session: str, limit: int = 20) -> list[str]:
        """The newest receipts that no commit carries yet, as `status:main@12~3f9c01ab77de`."""
        rows = self.db.execute(
            "SELECT kind, id, number, blob, claimed FROM receipts WHERE session=? AND published=0 "
            "ORDER BY at DESC, kind, id, number DESC LIMIT ?",
            (session, limit),
        )
        return [f"{r[0]}:{r[1]}@{r[2]}~{r[3][:12]}{' claimed' if r[4] else ''}" for r in rows.fetchall()]

    def published(self, session: str) -> None:
        self._put("UPDATE receipts SET published=1 WHERE session=? AND published=0", session)

    def told(self, session: str) -> int:
        """Up to which commit the session has been told of corrections."""
        row = self.db.execute("SELECT seq FROM told WHERE session=?", (session,)).fetchone()
        return int(row[0]) if row else 0

    def tell(self, session: str, seq: int) -> None:
        self._put("INSERT OR REPLACE INTO told VALUES(?,?)", session, seq)

    def stopped(self, session: str, kind: str, at: int) -> None:
        """A stop is a test result: counted, and published with the next write."""
        self._put("INSERT INTO stops VALUES(?,?,?)", session, kind, at)

    def stops(self, session: str) -> list[tuple[str, int]]:
        """(kind, count) of the stops since the session's last write."""
        rows = self.db.execute("SELECT kind, count(*) FROM stops WHERE session=? GROUP BY kind", (session,))
        return [(row[0], row[1]) for row in rows.fetchall()]

    def stops_published(self, session: str) -> None:
        self._put("DELETE FROM stops WHERE session=?", session)

    def view(self, worktree: str, path: str) -> str | None:
        """The blob that a file of a worktree's view was written from."""
        row = self.db.execute("SELECT blob FROM views WHERE worktree=? AND path=?", (worktree, path)).fetchone()
        return row[0] if row else None

    def viewed(self, worktree: str) -> list[str]:
        rows = self.db.execute("SELECT path FROM views WHERE worktree=?", (worktree,))
        return [row[0] for row in rows.fetchall()]

    def set_view(self, worktree: str, path: str, blob: str | None) -> None:
        if blob is None:
            self._put("DELETE FROM views WHERE worktree=? AND path=?", worktree, path)
        else:
            self._put("INSERT OR REPLACE INTO views VALUES(?,?,?)", worktree, path, blob)

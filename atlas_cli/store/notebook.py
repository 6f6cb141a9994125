"""This clone's own knowledge: who reads here, what they have read, which files of a view are ours.
Not disposable, but not shared either: what others must know is published with the next write."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from ..errors import Failed
from .database import (
    ENDS,
    MEMORY,
    Connection,
    Database,
    DatabaseError,
    Layout,
    OperationalError,
    connect,
    is_damage,
)

_TABLES = """
CREATE TABLE IF NOT EXISTS begun(worktree TEXT, caller TEXT, session TEXT,
                                 PRIMARY KEY(worktree, caller));
CREATE TABLE IF NOT EXISTS receipts(session TEXT, reader TEXT, kind TEXT, id TEXT, number INTEGER,
                                    blob TEXT,
                      at INTEGER,
                      claimed INTEGER, published INTEGER, PRIMARY KEY(session, kind, id, number));
CREATE INDEX IF NOT EXISTS by_reader ON receipts(reader, kind, id, number);
CREATE TABLE IF NOT EXISTS rewinds(head TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS heard(session TEXT PRIMARY KEY, head TEXT);
CREATE TABLE IF NOT EXISTS stops(session TEXT, kind TEXT, at INTEGER);
CREATE TABLE IF NOT EXISTS looks(reader TEXT PRIMARY KEY, head TEXT);
CREATE TABLE IF NOT EXISTS drafts(file TEXT PRIMARY KEY, submit TEXT);
CREATE TABLE IF NOT EXISTS views(worktree TEXT, path TEXT, blob TEXT, PRIMARY KEY(worktree, path));
CREATE TABLE IF NOT EXISTS grounds(worktree TEXT PRIMARY KEY, said TEXT);
"""
LAYOUT = Layout(6, _TABLES, synchronous="NORMAL", wait=10.0, cache=False)


class Notebook(Database):
    """This clone's notebook. If it cannot be written, it is empty and in memory, and receipts are
    not kept. `say` gets, once, what the user should know of that."""

    def __init__(self, file: Path, say: Callable[[str], None] = lambda _: None) -> None:
        self.say = say
        self.silent = False
        self.keeps = True  # what it was given so far
        self.moved = False  # whether what the hooks must know of it was changed
        super().__init__(file)

    def _open(self) -> Connection:
        try:
            return connect(str(self.file), LAYOUT)
        except OperationalError as error:
            self.keeps = False
            if "readonly" not in str(error) and "unable to open" not in str(error):
                self.say(
                    f"this clone's notebook cannot be used now ({error}): which session is yours is"
                    " not known"
                )
            return connect(MEMORY, LAYOUT)
        except DatabaseError:
            return self._opened_anew()

    def _opened_anew(self) -> Connection:
        """A new notebook. The damaged one stays beside it, under another name."""
        aside = f"{self.file}.damaged-{time.time_ns()}"
        for end in ENDS:
            try:
                Path(f"{self.file}{end}").rename(f"{aside}{end}")
            except FileNotFoundError:
                continue
        self.say(
            f"this clone's notebook was damaged and is kept as {Path(aside).name}: which session is"
            " yours and what you have read is not known here any more (atlas session list;"
            " --session ID goes on as one)"
        )
        return connect(str(self.file), LAYOUT)

    def _mend(self, error: DatabaseError) -> None:
        if not is_damage(error):
            raise Failed(
                f"this clone's notebook cannot be used: {error}", "try again", retry="now"
            ) from None
        self.db.close()
        self.db = self._opened_anew()

    def _put(self, statement: str, *values: object) -> None:
        """Notes something. It never fails: the write that it belongs to may be in the store
        already."""
        try:
            self._all(statement, *values)
        except Failed as error:
            self.keeps = False
            if (
                not self.silent
                and "readonly" not in error.message
                and "read-only" not in error.message
            ):
                self.silent = True
                self.say(f"{error.message}; what you read or began just now may be asked for again")

    def begun(self, worktree: str, caller: str) -> str | None:
        """The session that a caller began last in a worktree."""
        row = self._one("SELECT session FROM begun WHERE worktree=? AND caller=?", worktree, caller)
        return row[0] if row else None

    def everyone(self) -> list[tuple[str, str, str]]:
        """(worktree, caller, session) of every session that was begun here."""
        return [
            (row[0], row[1], row[2])
            for row in self._all("SELECT * FROM begun ORDER BY worktree, caller")
        ]

    def begin(self, worktree: str, caller: str, session: str) -> None:
        """Notes that a caller has begun a session in a worktree."""
        self.moved = self.moved or self.begun(worktree, caller) != session
        self._put("INSERT OR REPLACE INTO begun VALUES(?,?,?)", worktree, caller, session)

    def end(self, session: str) -> None:
        """Forgets a session that is over."""
        self._put("DELETE FROM begun WHERE session=?", session)

    def read(
        self,
        session: str,
        reader: str,
        kind: str,
        id: str,
        number: int,
        blob: str,
        at: int,
        claimed: bool = False,
    ) -> None:
        """Notes a receipt: this session has read that version, and these were its bytes."""
        if (number, blob) not in self.seen(session, kind, id):
            self.moved = True
        self._put(
            "INSERT OR REPLACE INTO receipts VALUES(?,?,?,?,?,?,?,?,0)",
            session,
            reader,
            kind,
            id,
            number,
            blob,
            at,
            int(claimed),
        )

    def seen(self, session: str, kind: str, id: str) -> list[tuple[int, str]]:
        """(number, blob) of the versions that a session has read, newest first."""
        rows = self._all(
            "SELECT number, blob FROM receipts WHERE session=? AND kind=? AND id=? ORDER BY number"
            " DESC",
            session,
            kind,
            id,
        )
        return [(row[0], row[1]) for row in rows]

    def glance(
        self, session: str, reader: str, stream: str, number: int, blob: str, at: int
    ) -> None:
        """Notes that a hook has printed a status entry. That is enough to commit, and to put one's
        own section beside it, but not to supersede it. It is not published."""
        self.moved = True
        self._put(
            "INSERT OR REPLACE INTO receipts VALUES(?,?,'glance',?,?,?,?,0,1)",
            session,
            reader,
            stream,
            number,
            blob,
            at,
        )

    def has_read(self, who: str, kind: str, id: str, number: int) -> bool:
        """Whether a session, or any session of a reader, has read a version."""
        for column in ("session", "reader"):
            statement = f"SELECT 1 FROM receipts WHERE {column}=? AND kind=? AND id=? AND number=?"
            if self._one(statement, who, kind, id, number):
                return True
        return False

    def known_to(self, reader: str) -> set[tuple[str, str, int]]:
        """All that a reader (an actor in this clone) has ever read here, as (kind, id, number)."""
        rows = self._all("SELECT kind, id, number FROM receipts WHERE reader=?", reader)
        return {(row[0], row[1], row[2]) for row in rows}

    def reading_since(self, reader: str) -> int | None:
        """The moment of a reader's first receipt here; None for a new reader."""
        row = self._one("SELECT min(at) FROM receipts WHERE reader=?", reader)
        return row[0] if row else None

    def readers(self, kind: str, id: str, number: int) -> list[str]:
        """The sessions of this clone that have read a version."""
        rows = self._all(
            "SELECT session FROM receipts WHERE kind=? AND id=? AND number=?", kind, id, number
        )
        return [row[0] for row in rows]

    def looked(self, reader: str) -> str | None:
        """The head that a reader's last digest was of."""
        row = self._one("SELECT head FROM looks WHERE reader=?", reader)
        return row[0] if row else None

    def look(self, reader: str, head: str) -> None:
        """Notes the head that a reader has looked at last."""
        if self.looked(reader) != head:
            self._put("INSERT OR REPLACE INTO looks VALUES(?,?)", reader, head)

    def draft(self, file: str, submit: str) -> None:
        """Notes the command that submits a draft (empty: forget the draft)."""
        if submit:
            self._put("INSERT OR REPLACE INTO drafts VALUES(?,?)", file, submit)
        else:
            self._put("DELETE FROM drafts WHERE file=?", file)

    def submits(self, file: str) -> str:
        """The command that submits a draft; empty if none is known."""
        row = self._one("SELECT submit FROM drafts WHERE file=?", file)
        return row[0] if row else ""

    def unpublished(self, session: str, limit: int = 100) -> dict[str, int]:
        """The newest receipts that no commit carries yet, as `status:main@12~3f9c01ab77de`, each
        with its row's id."""
        rows = self._all(
            "SELECT rowid, kind, id, number, blob, claimed FROM receipts WHERE session=? AND"
            " published=0 AND number>0 ORDER BY at DESC, kind, id, number DESC LIMIT ?",
            session,
            limit,
        )
        receipts = {}
        for rowid, kind, id, number, blob, claimed in rows:
            receipts[f"{kind}:{id}@{number}~{blob[:12]}{' claimed' if claimed else ''}"] = rowid
        return receipts

    def published(self, receipts: Iterable[int]) -> None:
        """Notes that these receipts are in the history now."""
        for rowid in receipts:
            self._put("UPDATE receipts SET published=1 WHERE rowid=?", rowid)

    def note_rewind(self, head: str) -> None:
        """Notes that the store's history lost what it had up to that head. It is said until
        somebody takes note of it."""
        self._put("INSERT OR IGNORE INTO rewinds VALUES(?)", head)

    def rewinds(self) -> list[str]:
        """The heads that the branch was set back from."""
        return [row[0] for row in self._all("SELECT head FROM rewinds")]

    def forget_rewinds(self) -> None:
        """Forgets that the branch was set back."""
        self._put("DELETE FROM rewinds")

    def told(self, session: str) -> str:
        """The head up to which the session has been told of corrections; empty if it never was."""
        row = self._one("SELECT head FROM heard WHERE session=?", session)
        return row[0] if row else ""

    def tell(self, session: str, head: str) -> None:
        """Notes the head up to which a session has been told of corrections."""
        self._put("INSERT OR REPLACE INTO heard VALUES(?,?)", session, head)

    def stopped(self, session: str, kind: str, at: int) -> None:
        """Counts a stop. It is a test result, and published with the next write."""
        self._put("INSERT INTO stops VALUES(?,?,?)", session, kind, at)

    def stops(self, session: str) -> list[tuple[str, int]]:
        """(kind, count) of the stops since the session's last write."""
        rows = self._all("SELECT kind, count(*) FROM stops WHERE session=? GROUP BY kind", session)
        return [(row[0], row[1]) for row in rows]

    def stops_published(self, session: str) -> None:
        """Forgets the stops of a session, because a commit names them now."""
        self._put("DELETE FROM stops WHERE session=?", session)

    def view(self, worktree: str, path: str) -> str | None:
        """The blob that a file of a worktree's view was written from."""
        row = self._one("SELECT blob FROM views WHERE worktree=? AND path=?", worktree, path)
        return row[0] if row else None

    def viewed(self, worktree: str) -> list[str]:
        """The files that the view of a worktree holds."""
        rows = self._all("SELECT path FROM views WHERE worktree=?", worktree)
        return [row[0] for row in rows]

    def set_view(self, worktree: str, path: str, blob: str | None) -> None:
        """Notes the blob that a file of the view was written from; None takes the file out."""
        if blob is None:
            self._put("DELETE FROM views WHERE worktree=? AND path=?", worktree, path)
        else:
            self._put("INSERT OR REPLACE INTO views VALUES(?,?,?)", worktree, path, blob)

    def ground(self, worktree: str) -> str:
        """The last answer to whether a worktree's view is Atlas's own to write."""
        row = self._one("SELECT said FROM grounds WHERE worktree=?", worktree)
        return row[0] if row else ""

    def set_ground(self, worktree: str, answer: str) -> None:
        """Notes the answer to whether a worktree's view is Atlas's own to write."""
        self._put("INSERT OR REPLACE INTO grounds VALUES(?,?)", worktree, answer)

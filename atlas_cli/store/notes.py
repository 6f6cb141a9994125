"""The notes of the index on files that a hand has touched: what a document first was (`edit`), the
rule that a record breaks (`broken`). Each line of a history has its own notes: a merge goes on with
those of the line whose file it takes."""

from __future__ import annotations

from typing import NamedTuple

from .database import Connection

TABLES = """
CREATE TABLE notes(what TEXT, path TEXT, value TEXT, oid TEXT, PRIMARY KEY(what, path))
    WITHOUT ROWID;
CREATE TABLE noted(seq INTEGER, what TEXT, path TEXT, value TEXT, oid TEXT);
CREATE INDEX noted_by_seq ON noted(seq);
CREATE TABLE lines(seq INTEGER PRIMARY KEY, above INTEGER);
"""
NAMES = ("notes", "noted", "lines")
Key = tuple[str, str]  # what is noted, and of which path


class Note(NamedTuple):
    """A note (an object id, or a reason), and the commit that gave rise to it."""

    value: str
    oid: str


State = dict[Key, Note]


class Notes:
    """The notes as they are at one commit, and how each line came to them: table `noted` keeps
    every change by the commit's number, table `lines` where a line begins (the number of its first
    commit, and of the one above that)."""

    def __init__(self, db: Connection) -> None:
        self.db = db
        rows = db.execute("SELECT what, path, value, oid FROM notes")
        self.now: State = {(what, path): Note(value, oid) for what, path, value, oid in rows}

    def value(self, what: str, path: str) -> str | None:
        """The object id or the reason that is noted; None if nothing is."""
        note = self.now.get((what, path))
        return note.value if note else None

    def put(self, seq: int, what: str, path: str, note: Note | None) -> None:
        """Notes something from a commit on; None: there is nothing to be noted any more."""
        if self.now.get((what, path)) == note:
            return
        row = (seq, what, path, *(note or (None, None)))
        self.db.execute("INSERT INTO noted VALUES(?,?,?,?,?)", row)
        self._set({(what, path): note})

    def stand(self, seq: int, above: int) -> None:
        """Goes to where a commit begins: the notes of the one above it."""
        if above != seq - 1:
            self.db.execute("INSERT OR REPLACE INTO lines VALUES(?,?)", (seq, above))
            self._become(self.at(above))

    def back(self, seq: int) -> None:
        """Goes back to what a commit had left, and forgets the ones behind it."""
        for table in ("noted", "lines"):
            self.db.execute(f"DELETE FROM {table} WHERE seq>?", (seq,))
        self._become(self.at(seq))

    def at(self, seq: int) -> State:
        """The notes that a commit had left."""
        first = self.db.execute("SELECT min(seq) FROM noted").fetchone()[0]
        state: dict[Key, Note | None] = {}
        while first is not None and seq >= first:
            row = self.db.execute(
                "SELECT seq, above FROM lines WHERE seq<=? ORDER BY seq DESC LIMIT 1", (seq,)
            ).fetchone()
            start, above = row or (0, 0)
            rows = self.db.execute(
                "SELECT what, path, value, oid FROM noted WHERE seq BETWEEN ? AND ?"
                " ORDER BY seq DESC, rowid DESC",
                (start, seq),
            )
            for what, path, value, oid in rows:
                state.setdefault((what, path), Note(value, oid) if value is not None else None)
            seq = above
        return {key: note for key, note in state.items() if note}

    def _become(self, state: State) -> None:
        gone: dict[Key, Note | None] = dict.fromkeys(self.now.keys() - state.keys())
        come = {key: note for key, note in state.items() if self.now.get(key) != note}
        self._set({**gone, **come})

    def _set(self, changes: dict[Key, Note | None]) -> None:
        for key, note in changes.items():
            if note is None:
                self.now.pop(key, None)
                self.db.execute("DELETE FROM notes WHERE what=? AND path=?", key)
            else:
                self.now[key] = note
                self.db.execute("INSERT OR REPLACE INTO notes VALUES(?,?,?,?)", (*key, *note))

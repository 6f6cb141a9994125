"""A SQLite file beside the store: opened with its tables, and mended where it is damaged."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from ..model.digests import sha256

Connection = sqlite3.Connection
DatabaseError = sqlite3.DatabaseError  # whatever SQLite could not do
OperationalError = sqlite3.OperationalError  # it is locked, read-only or full; or lacks a table
MEMORY = ":memory:"
_LONGEST = 500  # bytes of a path; SQLite adds the endings of its other files to it
ENDS = ("-wal", "-shm", "")  # of the files of one database; the one that it is known by comes last


class Layout(NamedTuple):
    """The tables of a database. A file of an earlier `version` gets them when it is opened.

    cache: a file of any other version loses all that it holds. wait: seconds for another writer."""

    version: int
    tables: str
    synchronous: str
    wait: float
    cache: bool


class Database:
    """One SQLite file, at its `place`. After a mending `db` is another connection. Each user of
    this class says how its file is opened and mended."""

    def __init__(self, file: Path) -> None:
        self.file, self.place = file, reachable(file)
        self.db = self._open()

    def _open(self) -> Connection:
        raise NotImplementedError

    def _mend(self, error: DatabaseError) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Closes the file."""
        self.db.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.db.execute("COMMIT")
        except BaseException:
            if self.db.in_transaction:  # SQLite ends it by itself where the file is damaged
                self.db.execute("ROLLBACK")
            raise

    def _all(self, statement: str, *values: object) -> list[Any]:
        """The rows of a question. It is asked once more after a mending."""
        try:
            return self.db.execute(statement, values).fetchall()
        except DatabaseError as error:
            if self.db.in_transaction:
                raise
            self._mend(error)
        return self.db.execute(statement, values).fetchall()

    def _one(self, statement: str, *values: object) -> Any:
        """The first row of a question, or None."""
        return next(iter(self._all(statement, *values)), None)


def reachable(file: Path) -> Path:
    """The place of a database's file: the file itself, or where SQLite opens no path of its length,
    one of that name in the user's state folder."""
    if len(os.fsencode(file)) <= _LONGEST:
        return file
    from .repo import state

    folder = state() / "far" / sha256(os.fsencode(file.parent)).hexdigest()[:16]
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    return folder / file.name


def connect(target: str, layout: Layout) -> Connection:
    """A connection to a file, or to MEMORY, that has the tables.

    Raises OperationalError if the file cannot be used now, another DatabaseError if it is
    damaged."""
    if target != MEMORY:  # (SQLite itself would keep it from the group)
        with suppress(OSError):
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    db = sqlite3.connect(target, timeout=layout.wait, isolation_level=None)
    db.row_factory = sqlite3.Row
    db.execute(f"PRAGMA synchronous={layout.synchronous}")
    if _is_outdated(db, layout):
        if target != MEMORY:
            db.execute("PRAGMA journal_mode=WAL")
        db.execute("BEGIN IMMEDIATE")
        if _is_outdated(db, layout):  # else another command was faster
            if layout.cache:
                _drop_tables(db)
            for statement in layout.tables.split(";"):
                db.execute(statement)
            db.execute(f"PRAGMA user_version={layout.version}")
        db.execute("COMMIT")
    return db


def take_over(file: Path, earlier: Iterable[Path]) -> None:
    """Begins a database, where there is none yet, with what the newest of some earlier ones holds.
    That one stays for the program that knows it."""
    files = [old for old in earlier if old.exists()] if not file.exists() else []
    if not files:
        return
    made = file.with_name(f"{file.name}.{os.urandom(4).hex()}")
    try:
        newest = max(files, key=lambda old: old.stat().st_mtime)
        with closing(sqlite3.connect(newest)) as old, closing(sqlite3.connect(made)) as new:
            old.backup(new)
        os.link(made, file)  # (else another command was faster)
    except (OSError, DatabaseError):
        return
    finally:
        made.unlink(missing_ok=True)


def _is_outdated(db: Connection, layout: Layout) -> bool:
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    return version != layout.version if layout.cache else version < layout.version


def _drop_tables(db: Connection) -> None:
    for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall():
        db.execute(f"DROP TABLE {name}")


def is_damage(error: DatabaseError) -> bool:
    """Whether the file itself is at fault. Else something bars its use: a lock, a right, a full
    disk."""
    return not isinstance(error, OperationalError) or "no such" in str(error)

"""The file of this clone's notebook: its layout, how it is opened, and what becomes of it where it
cannot be."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
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
    take_over,
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
CREATE TABLE IF NOT EXISTS once(session TEXT, said TEXT, PRIMARY KEY(session, said));
CREATE TABLE IF NOT EXISTS stops(session TEXT, kind TEXT, at INTEGER);
CREATE TABLE IF NOT EXISTS looks(reader TEXT PRIMARY KEY, head TEXT);
CREATE TABLE IF NOT EXISTS drafted(file TEXT PRIMARY KEY, session TEXT, submit TEXT);
CREATE TABLE IF NOT EXISTS views(worktree TEXT, path TEXT, blob TEXT, PRIMARY KEY(worktree, path));
CREATE TABLE IF NOT EXISTS agents(caller TEXT, agent TEXT, at INTEGER, PRIMARY KEY(caller, agent));
CREATE TABLE IF NOT EXISTS resumed(caller TEXT PRIMARY KEY, at INTEGER);
CREATE TABLE IF NOT EXISTS grounds(worktree TEXT PRIMARY KEY, said TEXT);
CREATE TABLE IF NOT EXISTS told(session TEXT, key TEXT, version TEXT, number INTEGER, how INTEGER,
                                at INTEGER, PRIMARY KEY(session, key, version));
"""
LAYOUT = Layout(9, _TABLES, synchronous="NORMAL", wait=10.0, cache=False)
FILE = f"local-{LAYOUT.version}.sqlite"  # another Atlas here has its own


def _number(file: Path) -> int:
    """The layout of a notebook by its file's name; 0 before names said it."""
    digits = file.stem.removeprefix("local-")
    return int(digits) if digits.isdecimal() else 0


class NotebookFile(Database):
    """The notebook as a file. If it cannot be written, it is empty and in memory, and receipts are
    not kept. `say` gets, once, what the user should know of that."""

    def __init__(self, file: Path, say: Callable[[str], None] = lambda _: None) -> None:
        self.say = say
        self.silent = False
        self.keeps = True  # what it was given so far
        self.moved = False  # whether what the hooks must know of it was changed
        super().__init__(file)

    def _open(self) -> Connection:
        earlier = [self.file.with_name("local.sqlite"), *self.file.parent.glob("local-*.sqlite")]
        take_over(self.place, [file for file in earlier if _number(file) < LAYOUT.version])
        try:
            return connect(str(self.place), LAYOUT)
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
        """A new notebook. The damaged one stays beside it, under another name. If neither can be
        (its disk has just gone), it is an empty one in memory."""
        aside = f"{self.place}.damaged-{time.time_ns()}"
        try:
            for end in ENDS:
                with suppress(FileNotFoundError):
                    Path(f"{self.place}{end}").rename(f"{aside}{end}")
            new = connect(str(self.place), LAYOUT)
        except (OSError, DatabaseError) as error:
            self.keeps = False
            self.say(f"this clone's notebook was damaged, and cannot be begun anew: {error}")
            return connect(MEMORY, LAYOUT)
        self.say(
            f"this clone's notebook was damaged and is kept as {Path(aside).name}: which session is"
            " yours and what you have read is not known here any more (atlas session list;"
            " --session ID goes on as one)"
        )
        return new

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

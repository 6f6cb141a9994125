"""How the index follows the store's branch: commits are taken in, and taken out again where the
history no longer holds them. A file that cannot be used is replaced: it is only a cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..model.message import FileChange, Message, parse
from ..records import bound, policy
from . import BEFORE, BRANCH, history
from .database import (
    ENDS,
    MEMORY,
    Connection,
    Database,
    DatabaseError,
    OperationalError,
    connect,
    is_damage,
)
from .git import Git
from .indexer import LAYOUT, NAMES, Indexer
from .snapshot import Snapshot

STEP = 1000  # commits that are taken in one transaction


class Follower(Database):
    """A cache of one store, brought up to date commit by commit. A file that cannot be written is
    replaced by one in memory for this command."""

    def __init__(self, file: Path, git: Git) -> None:
        self.git = git
        self.rewound: str | None = None  # the head that the history no longer contains
        self.head: str | None = None  # where it was brought to
        super().__init__(file)

    def _open(self) -> Connection:
        try:
            return connect(str(self.place), LAYOUT)
        except OperationalError:
            return connect(MEMORY, LAYOUT)
        except DatabaseError:
            return self._opened_anew()  # not a database

    def _opened_anew(self) -> Connection:
        try:
            for end in ENDS:
                Path(f"{self.place}{end}").unlink(missing_ok=True)
            return connect(str(self.place), LAYOUT)
        except (DatabaseError, OSError):
            return connect(MEMORY, LAYOUT)

    def _mend(self, error: DatabaseError) -> None:
        self._replace(error)
        if self.head is not None:
            self._follow(self.head)

    def _replace(self, error: DatabaseError) -> None:
        """Another database, in place of one that is damaged or cannot be used now."""
        if is_damage(error):  # as a power cut may leave it
            self.db.close()
            self.db = self._opened_anew()
        else:  # it is read-only, the disk is full, or a stopped process holds it
            self._detach()

    def _detach(self) -> None:
        """Goes on with a copy in memory."""
        file, self.db = self.db, connect(MEMORY, LAYOUT)
        try:
            file.backup(self.db)
        except DatabaseError:
            self.db = connect(MEMORY, LAYOUT)
        file.close()

    def drop(self) -> None:
        """Forgets all of it: what it noted was of objects that were missing."""
        self.head = None
        self.db.close()
        self.db = self._opened_anew()

    def meta(self, key: str) -> str | None:
        """A value that was remembered; None if none was."""
        row = self._one("SELECT value FROM meta WHERE key=?", key)
        return row[0] if row else None

    def remember(self, key: str, value: str) -> None:
        """Remembers a value. It does nothing if the file cannot be written now."""
        try:
            self._set(key, value)
        except OperationalError:
            return  # a cache that cannot be written now

    def _set(self, key: str, value: str) -> None:
        self.db.execute("INSERT OR REPLACE INTO meta VALUES(?,?)", (key, value))

    def seq(self, oid: str) -> int | None:
        """A commit's number; None if the history does not hold it."""
        row = self._one("SELECT seq FROM commits WHERE oid=?", oid)
        return row[0] if row else None

    def reached(self, oid: str) -> int | None:
        """A commit's number. If the commit was carried over, it is that of the last one before it
        that stayed."""
        row = self._one("SELECT seq FROM moved WHERE oid=?", oid)
        return self.seq(oid) or (row[0] if row else None)

    def sync(self, head: str) -> None:
        """Brings the cache to `head`. One that another command took past it stays. `rewound` is set
        if the history was rewound."""
        try:
            self._follow(head)
        except DatabaseError as error:
            self._replace(error)
            self._follow(head)
        self.head = head

    def _follow(self, head: str) -> None:
        while not self._knows(head):
            with self._transaction():
                if self._knows(head):
                    return
                start = self._start(head)
                portions = _portions(history.between(self.git, start, head))
                at = self._take_portion(portions)
            while at:  # what is done is kept, should this command be ended
                with self._transaction():
                    at = self._take_portion(portions) if self.meta("head") == at else ""

    def _start(self, head: str) -> str | None:
        """The commit behind which the cache is to be brought to `head`; None for the beginning. A
        commit that the history no longer holds is taken out."""
        old = self.meta("head")
        if not old:
            return None
        known = old if self.git.object(old) else None
        if known and history.leads(self.git, known, head):
            return known
        before = self.git.object(BEFORE)
        contained = known and history.fork(self.git, known, head) == known
        if not contained and (before is None or before[0] != old):
            self.rewound = old
        start = self._take_out(known, head)
        self._set("head", start or "")
        return start

    def _take_portion(self, portions: Iterator[list[history.Commit]]) -> str:
        """Takes some commits in. The result is the id of the last of them; empty if none is
        left."""
        commits = next(portions, [])
        if not commits:
            return ""
        Indexer(self.db, self.git).take(commits)
        self._set("head", commits[-1].oid)
        return commits[-1].oid

    def _take_out(self, old: str | None, head: str) -> str | None:
        """Takes out what the history no longer holds. The result is the last commit that is left;
        None if all is to be read again."""
        base = history.met(self.git, old, head) if old else None
        seq = self.seq(base) if base else None
        if base is None or seq is None:
            return self._emptied()
        gone = self.db.execute("SELECT oid, paths FROM commits WHERE seq>?", (seq,)).fetchall()
        if self._has_edits(gone):  # what these put right, or spoilt, is to be read anew
            return self._emptied()
        self.db.execute("UPDATE moved SET seq=min(seq, ?)", (seq,))
        moved = [(oid, seq, paths) for oid, paths in gone]
        self.db.executemany("INSERT OR REPLACE INTO moved VALUES(?,?,?)", moved)
        for table in ("commits", "reads"):
            self.db.execute(f"DELETE FROM {table} WHERE seq>?", (seq,))
        then, indexer = Snapshot(self.git, base, len(base)), Indexer(self.db, self.git)
        indexer.notes.back(seq)
        for path in {path for _, paths in gone for path in paths.split("\n") if path}:
            blob, at = then.blob(path), self._written_at(path)
            if blob and self._is_by_hand(at):  # which rules it keeps is asked again
                return self._emptied()
            answer = self.git.object(blob, bound(path)) if blob else None
            indexer.record(path, blob, at, answer)
        return base

    def _emptied(self) -> str | None:
        """Takes out everything: the history is to be read from the beginning."""
        for table in NAMES:
            self.db.execute(f"DELETE FROM {table}")
        return None

    def _has_edits(self, gone: Sequence[Any]) -> bool:
        """Whether one of these commits is a repair, or changed the policy."""
        for oid, paths in gone:
            answer = self.git.object(oid)
            if answer is None or policy.FOLDER in paths.split("\n"):
                return True
            if parse(answer[2].decode(errors="replace").partition("\n\n")[2]).repairs:
                return True
        return False

    def _written_at(self, path: str) -> int:
        """The number of the last commit that changed a path."""
        where = "instr(char(10)||paths||char(10), char(10)||?||char(10))>0"
        statement = f"SELECT coalesce(max(seq), 0) FROM commits WHERE {where}"
        return int(self.db.execute(statement, (path,)).fetchone()[0])

    def _is_by_hand(self, seq: int) -> bool:
        statement = "SELECT 1 FROM commits WHERE seq=? AND operation IS NULL"
        return self.db.execute(statement, (seq,)).fetchone() is not None

    def _knows(self, head: str) -> bool:
        """Whether the cache is at `head`, or past it because the branch is (not because the branch
        went back)."""
        return self.meta("head") == head or (
            self.reached(head) is not None and self._branch() != head
        )

    def _branch(self) -> str | None:
        answer = self.git.object(BRANCH)
        return answer[0] if answer else None

    def advance(
        self,
        parent: str | None,
        oid: str,
        message: Message,
        changes: Sequence[FileChange],
        files: dict[str, bytes | None],
        midway: Callable[[], None] = lambda: None,
    ) -> None:
        """Takes the writer's own commit, if the cache stands at its parent (else the next reader
        does it). `midway` is called with the transaction half done."""
        try:
            with self._transaction():
                if self.meta("head") != parent:
                    return
                indexer = Indexer(self.db, self.git)
                seq = indexer.last_seq() + 1
                indexer.put_commit(seq, oid, message, changes)
                midway()
                indexer.take_own(oid, message, changes, files, seq)
                self._set("head", oid)
        except DatabaseError:
            return  # a cache: the next reader brings it up to date


def _portions(commits: Iterable[history.Commit]) -> Iterator[list[history.Commit]]:
    """The commits in portions: what a hand made may take long to read."""
    portion: list[history.Commit] = []
    weight = 0
    for commit in commits:
        portion.append(commit)
        weight += len(commit.changes) if commit.message.by_hand else 0
        if len(portion) >= STEP or weight > STEP // 2:
            yield portion
            portion, weight = [], 0
    if portion:
        yield portion

"""A disposable cache of what the records say, brought up to date commit by commit. It answers what
would cost a read of the whole store: live rows, who points at whom, which operation is where.
Losing it loses nothing."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import Damaged, NotFound
from ..model import text
from ..model.message import FileChange, Message, parse
from ..model.text import Record
from ..model.tree import Overlay
from ..records import bound, is_record, judging, kind_of, policy
from . import BEFORE, BRANCH, history
from .conversation import Answer
from .git import Git
from .snapshot import Snapshot, bytes_of
from .trees import PLAIN

FORMAT = 12
_TABLES = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE commits(seq INTEGER PRIMARY KEY, oid TEXT UNIQUE, operation TEXT, session TEXT,
                     at INTEGER, subject TEXT, paths TEXT, stops TEXT);
CREATE TABLE moved(oid TEXT PRIMARY KEY, seq INTEGER, paths TEXT);
CREATE INDEX by_operation ON commits(operation);
CREATE INDEX by_session ON commits(session, seq);
CREATE TABLE records(path TEXT PRIMARY KEY, folder TEXT, ref TEXT, blob TEXT, until INTEGER,
                     seq INTEGER, data TEXT, damage TEXT, rank INTEGER, born INTEGER, due INTEGER,
                     over INTEGER, unmet INTEGER);
CREATE INDEX by_rank ON records(folder, unmet, rank, born, due, over) WHERE rank IS NOT NULL;
CREATE INDEX by_ref ON records(ref) WHERE born IS NOT NULL;
CREATE INDEX by_time ON records(folder, until);
CREATE INDEX by_age ON records(folder, seq, path);
CREATE INDEX by_damage ON records(path) WHERE damage IS NOT NULL;
CREATE TABLE reads(ref TEXT, session TEXT, PRIMARY KEY(ref, session)) WITHOUT ROWID;
CREATE TABLE edits(path TEXT PRIMARY KEY, blob TEXT, oid TEXT);
CREATE TABLE broken(path TEXT PRIMARY KEY, oid TEXT, why TEXT);
CREATE TABLE links(path TEXT, relation TEXT, target TEXT);
CREATE INDEX by_path ON links(path);
CREATE INDEX by_target ON links(target, relation);
"""
MOST = 2**31  # rows that a question asks for
STEP = 1000  # commits that are taken in one transaction
WAIT = 3.0  # seconds for a writer of the cache
Row = dict[str, Any]


class Index:
    """The cache of one store. A file that cannot be written is replaced by one in memory for this
    command."""

    def __init__(self, file: Path, git: Git) -> None:
        self.file, self.git = file, git
        self.rewound: str | None = None  # the head that the history no longer contains
        self.head: str | None = None  # where it was brought to
        self.db = self._open()

    def _open(self) -> sqlite3.Connection:
        for target in (str(self.file), ":memory:"):
            try:
                return self._ready(target)
            except sqlite3.DatabaseError as error:
                if "locked" in str(error) or target == ":memory:":
                    continue
                if not isinstance(error, sqlite3.OperationalError):
                    try:
                        self._unlink()  # not a database: it is only a cache
                        return self._ready(target)
                    except (sqlite3.DatabaseError, OSError):
                        continue
        return self._ready(":memory:")

    @staticmethod
    def _ready(target: str) -> sqlite3.Connection:
        db = sqlite3.connect(target, timeout=WAIT, isolation_level=None)
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA synchronous=OFF")
        if db.execute("PRAGMA user_version").fetchone()[0] != FORMAT:
            if target != ":memory:":
                db.execute("PRAGMA journal_mode=WAL")
            db.execute("BEGIN IMMEDIATE")
            if db.execute("PRAGMA user_version").fetchone()[0] != FORMAT:
                for (name,) in db.execute(
                    "SELECT name FROM sqlite_master WHERE type='table'"
                ).fetchall():
                    db.execute(f"DROP TABLE {name}")
                for statement in _TABLES.split(";"):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version={FORMAT}")
            db.execute("COMMIT")
        return db

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

    def _unlink(self) -> None:
        for end in ("", "-wal", "-shm"):
            Path(f"{self.file}{end}").unlink(missing_ok=True)

    def _anew(self) -> None:
        """The file is damaged, as a power cut may leave it: another one."""
        self.db.close()
        try:
            self._unlink()
            self.db = self._open()
        except OSError:
            self.db = self._ready(":memory:")

    def drop(self) -> None:
        """Forgets all of it: what it noted was of objects that were missing."""
        self.head = None
        self._anew()

    def _detached(self) -> None:
        """The file cannot be written (read-only, no room, a stopped process holds it): go on with a
        copy in memory."""
        file, self.db = self.db, self._ready(":memory:")
        try:
            file.backup(self.db)
        except sqlite3.DatabaseError:
            self.db = self._ready(":memory:")
        file.close()

    def _mended(self, error: sqlite3.DatabaseError) -> None:
        if isinstance(error, sqlite3.OperationalError) and "no such" not in str(error):
            self._detached()
        else:
            self._anew()

    def _all(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """The rows of a question."""
        try:
            return self.db.execute(statement, values).fetchall()
        except sqlite3.DatabaseError as error:
            if self.db.in_transaction:
                raise
            self._mended(error)
        if self.head is not None:
            self._sync(self.head)
        return self.db.execute(statement, values).fetchall()

    def _one(self, statement: str, values: Sequence[object] = ()) -> Any:
        """The first row of a question, or None."""
        return next(iter(self._all(statement, values)), None)

    def close(self) -> None:
        self.db.close()

    def meta(self, key: str) -> str | None:
        row = self._one("SELECT value FROM meta WHERE key=?", (key,))
        return row[0] if row else None

    def remember(self, key: str, value: str) -> None:
        try:
            self._set(key, value)
        except sqlite3.OperationalError:
            return  # a cache that cannot be written now

    def _set(self, key: str, value: str) -> None:
        self.db.execute("INSERT OR REPLACE INTO meta VALUES(?,?)", (key, value))

    def sync(self, head: str) -> None:
        """Brings the cache to `head`; one that another command took past it stays. Notes a history
        that was rewound."""
        try:
            self._sync(head)
        except sqlite3.DatabaseError as error:
            self._mended(error)
            self._sync(head)
        self.head = head

    def _sync(self, head: str) -> None:
        while not self._knows(head):
            with self._transaction():
                if self._knows(head):
                    return
                old = self.meta("head")
                known = old if old and self.git.object(old) else None
                if old and (known is None or history.fork(self.git, old, head) != old):
                    before = self.git.object(BEFORE)
                    if before is None or before[0] != old:
                        self.rewound = old
                    known = self._back(known, head)
                    self._set("head", known or "")
                steps = _steps(history.between(self.git, known, head))
                at = self._step(steps)
            while at:  # what is done is kept, should this command be ended
                with self._transaction():
                    at = self._step(steps) if self.meta("head") == at else ""

    def _step(self, steps: Iterator[list[history.Commit]]) -> str:
        """Takes some commits; the last of them, or nothing where none is left."""
        if not (some := next(steps, [])):
            return ""
        self._take(some)
        self._set("head", some[-1].oid)
        return some[-1].oid

    def _back(self, old: str | None, head: str) -> str | None:
        """Takes out what the history no longer holds; the last commit that is left (None: all is to
        be read anew)."""
        base = history.fork(self.git, old, head) if old else None
        seq = self.seq(base) if base else None
        if base is None or seq is None:
            for table in (
                "commits",
                "moved",
                "records",
                "reads",
                "edits",
                "broken",
                "links",
                "meta",
            ):
                self.db.execute(f"DELETE FROM {table}")
            return None
        gone = self.db.execute("SELECT oid, paths FROM commits WHERE seq>?", (seq,)).fetchall()
        if self._edited(gone):  # what these put right, or spoilt, is to be read from the beginning
            return self._back(None, head)
        self.db.execute("UPDATE moved SET seq=min(seq, ?)", (seq,))
        self.db.executemany(
            "INSERT OR REPLACE INTO moved VALUES(?,?,?)", [(row[0], seq, row[1]) for row in gone]
        )
        for table in ("edits", "broken"):
            self.db.executemany(f"DELETE FROM {table} WHERE oid=?", [(row[0],) for row in gone])
        self.db.execute("DELETE FROM commits WHERE seq>?", (seq,))
        then = Snapshot(self.git, base, len(base))
        for path in {path for row in gone for path in row[1].split("\n") if path}:
            blob, at = then.blob(path), self._written(path)
            if (
                blob
                and self.db.execute(
                    "SELECT 1 FROM commits WHERE seq=? AND operation IS NULL", (at,)
                ).fetchone()
            ):
                return self._back(None, head)  # by hand: which rules it keeps is asked again
            self._record(path, blob, at, self.git.object(blob, bound(path)) if blob else None)
        return base

    def _edited(self, gone: Sequence[Any]) -> bool:
        """Whether one of these commits is a repair, or changed the policy."""
        for oid, paths in gone:
            found = self.git.object(oid)
            said = parse(found[2].decode(errors="replace").partition("\n\n")[2]) if found else None
            if said is None or said.repairs or policy.FOLDER in paths.split("\n"):
                return True
        return False

    def _written(self, path: str) -> int:
        """The number of the last commit that changed a path."""
        where = "instr(char(10)||paths||char(10), char(10)||?||char(10))>0"
        row = self.db.execute(
            f"SELECT coalesce(max(seq), 0) FROM commits WHERE {where}", (path,)
        ).fetchone()
        return int(row[0])

    def _knows(self, head: str) -> bool:
        """Whether the cache is at `head`, or past it because the branch is (not because the branch
        went back)."""
        return self.meta("head") == head or (
            self.reached(head) is not None and self._branch() != head
        )

    def _branch(self) -> str | None:
        found = self.git.object(BRANCH)
        return found[0] if found else None

    def _take(self, commits: Sequence[history.Commit]) -> None:
        seq = self.db.execute("SELECT coalesce(max(seq), 0) FROM commits").fetchone()[0]
        last: dict[str, tuple[str | None, int]] = {}
        odd: dict[str, str] = {}
        broken: dict[str, tuple[str, str]] = {}
        first: dict[str, int] = {}
        rows = []
        for at, commit in enumerate(commits, seq + 1):
            rows.append(self._commit_row(at, commit.oid, commit.message, commit.changes))
            commit = history.brings(commit, partial(self._now, last))
            for path, _, new in commit.changes:
                last[path] = new, at
                first.setdefault(path, at)
                odd.pop(path, None)
                broken.pop(path, None)
            odd |= history.unread(commit, self._object)
            if commit.message.by_hand:
                broken |= self._against(commit, odd)
            self._edits(commit.oid, commit.message, commit.changes)
            self._policy(
                commit.oid, commit.message, commit.changes, commit.modes.get(policy.FOLDER, PLAIN)
            )
            self._reads(commit.message)
        self.db.executemany("INSERT OR REPLACE INTO commits VALUES(?,?,?,?,?,?,?,?)", rows)
        for path, good, _ in self.edits():
            if path in last:
                last[path] = (good, last[path][1])
                odd.pop(path, None)
        there = self.db.execute("SELECT 1 FROM records LIMIT 1").fetchone() is not None
        wanted = [oid for path, (oid, _) in last.items() if oid and is_record(path)]
        bodies = self.git.objects(wanted, text.MOST)
        self._put_broken(last, broken)
        for path, (oid, at) in last.items():
            found = next(bodies) if oid and is_record(path) else None
            self._record(path, oid, at, found, there, first[path], odd.get(path, ""))

    def _against(
        self, commit: history.Commit, odd: Mapping[str, str]
    ) -> dict[str, tuple[str, str]]:
        """(commit, the first rule that it breaks) by path of what a hand brought, of the records
        that can be read. (An edit of a document is kept by itself: it does not count.)"""
        wanted = [
            (path, old, new)
            for path, old, new in commit.changes
            if new
            and is_record(path)
            and path not in odd
            and path != policy.FOLDER
            and _shown(path) == path
            if old is None or _is_row(path)
        ]
        parent, child = (
            Snapshot(self.git, oid, len(commit.oid))
            for oid in (next(iter(commit.parents), None), commit.oid)
        )
        found = judging.judge(parent, child, wanted, commit.message) if wanted else []
        return {
            one.path: (commit.oid, f"{one.rule}: {one.text}") for one in reversed(found) if one.path
        }

    def _put_broken(self, changed: Iterable[str], broken: Mapping[str, tuple[str, str]]) -> None:
        if self.db.execute("SELECT 1 FROM broken LIMIT 1").fetchone():
            shown = ((_shown(path),) for path in changed)
            self.db.executemany("DELETE FROM broken WHERE path=?", shown)
        rows = [(path, oid, _shown(why)) for path, (oid, why) in broken.items()]
        self.db.executemany("INSERT OR REPLACE INTO broken VALUES(?,?,?)", rows)

    def _now(self, last: dict[str, tuple[str | None, int]], path: str) -> str | None:
        """The blob at a path, behind the commits that are just being taken."""
        shown = _shown(path)
        row = (
            None
            if path in last
            else self.db.execute("SELECT blob FROM records WHERE path=?", (shown,)).fetchone()
        )
        return last[path][0] if path in last else row[0] if row else None

    def _edits(self, oid: str, message: Message, changes: Iterable[FileChange]) -> None:
        """Keeps what a document first was, once a hand has changed it or taken it away, until a
        repair restores it."""
        for path, old, new in changes:
            kind = kind_of(path)
            if kind is None or kind.row or _shown(path) != path:
                continue  # (a path that is not UTF-8 never was a document's)
            if message.repairs:
                self.db.execute("DELETE FROM edits WHERE path=? AND blob=?", (path, new))
            elif old is not None:
                self.db.execute("INSERT OR IGNORE INTO edits VALUES(?,?,?)", (path, old, oid))

    def _policy(
        self, oid: str, message: Message, changes: Sequence[FileChange], mode: str = PLAIN
    ) -> None:
        """Keeps the last policy that counts, once one stands there that does not, until it stands
        there again."""
        for path, old, new in changes:
            if path != policy.FOLDER:
                continue
            row = self.db.execute("SELECT blob FROM edits WHERE path=?", (path,)).fetchone()
            before = row[0] if row else old
            none = Snapshot(self.git, None, len(oid))
            parent, child = (Overlay(none, {path: self._blob(blob)}) for blob in (before, new))
            counts = mode == PLAIN and (
                before in (None, new)
                or (
                    not message.repairs
                    and not judging.spoils_policy(parent, child, changes, message)
                )
            )
            if counts:  # as it was, or as it may become of the last that counts
                self.db.execute("DELETE FROM edits WHERE path=?", (path,))
            elif not message.repairs:
                self.db.execute("INSERT OR IGNORE INTO edits VALUES(?,?,?)", (path, before, oid))

    def _object(self, path: str, oid: str) -> Answer:
        return self.git.object(oid, bound(path))

    def _blob(self, oid: str | None) -> bytes | None:
        found = self.git.object(oid) if oid else None
        return found[2] if found and found[1] == "blob" else None

    def _reads(self, message: Message) -> None:
        """Notes what the commit says that its session has read."""
        if message.bases and message.session:
            pairs = [(base.partition("~")[0], message.session) for base in message.bases]
            self.db.executemany("INSERT OR IGNORE INTO reads VALUES(?,?)", pairs)

    @staticmethod
    def _commit_row(
        seq: int, oid: str, message: Message, changes: Iterable[FileChange]
    ) -> tuple[Any, ...]:
        paths = "\n".join(_shown(path) for path, _, _ in changes)
        stops = "\n".join(message.stops)
        return (
            seq,
            oid,
            message.operation,
            message.session,
            message.at,
            message.subject,
            paths,
            stops,
        )

    def _record(
        self,
        path: str,
        oid: str | None,
        seq: int,
        found: Answer,
        there: bool = True,
        first: int | None = None,
        odd: str = "",
    ) -> None:
        """Takes one file as it now is, of which `found` is the object; `there`: one of that path
        may be in the cache; `first`: the commit that it came with, if that is an earlier one;
        `odd`: why it is not read."""
        shown = _shown(path)
        born = (
            self.db.execute("SELECT born FROM records WHERE path=?", (shown,)).fetchone()
            if there
            else None
        )
        if there:
            self.db.execute("DELETE FROM records WHERE path=?", (shown,))
            self.db.execute("DELETE FROM links WHERE path=?", (shown,))
        kind = kind_of(path)
        if oid is None or kind is None or not is_record(path):
            return
        row: list[Any] = [shown, kind.folder, None, oid, None, seq, None, None, *[None] * 5]
        try:
            if odd:
                raise Damaged(f"{shown}: {odd}")
            record = kind.parse(shown, bytes_of(shown, oid, found))
            row[2], row[4] = kind.ref(shown, record), kind.until(record)
            row[6] = json.dumps({key: value for key, value in record.items() if key != "body"})
            pairs = [(shown, relation, target) for relation, target in kind.links(record)]
            self.db.executemany("INSERT INTO links VALUES(?,?,?)", pairs)
            if queued := kind.queued:
                rank, nth, row[10], row[11] = queued(record) or (None, 0, None, None)
                row[12] = 0
                row[8], row[9] = rank, born[0] if born and born[0] else ((first or seq) << 14) + nth
        except Damaged as error:
            row[7] = error.message
        self.db.execute(f"INSERT INTO records VALUES({','.join('?' * 13)})", row)
        if row[9] is not None:
            self._unmet(
                "path IN (SELECT path FROM links WHERE target=? AND relation='needs')", row[2]
            )
            if pairs:
                self._unmet("path=?", shown)

    def _unmet(self, which: str, value: str) -> None:
        """Counts what these queued records still wait for: all that is not there, or not done."""
        self.db.execute(
            "UPDATE records SET unmet=(SELECT count(*) FROM links l LEFT JOIN records n ON"
            " n.ref=l.target AND n.born IS NOT NULL WHERE l.path=records.path AND"
            " l.relation='needs' AND (n.path IS NULL OR n.rank IS NOT NULL OR json_extract(n.data,"
            f" '$.state')<>'done')) WHERE {which} AND born IS NOT NULL",
            (value,),
        )

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
                seq = self.db.execute("SELECT coalesce(max(seq), 0) FROM commits").fetchone()[0] + 1
                self.db.execute(
                    "INSERT INTO commits VALUES(?,?,?,?,?,?,?,?)",
                    self._commit_row(seq, oid, message, changes),
                )
                midway()
                self._edits(oid, message, changes)
                self._policy(oid, message, changes)
                self._reads(message)
                self._put_broken([path for path, _, _ in changes], {})
                for path, _, new in changes:
                    data = files.get(path)
                    self._record(
                        path, new, seq, None if data is None else (new or "", "blob", data)
                    )
                self._set("head", oid)
        except sqlite3.DatabaseError:
            return  # a cache: the next reader brings it up to date

    # questions

    def seq(self, oid: str) -> int | None:
        row = self._one("SELECT seq FROM commits WHERE oid=?", (oid,))
        return row[0] if row else None

    def commit(self, text: str) -> Row:
        """The one commit whose id begins with a text; NotFound where there is none, or more."""
        rows = self._all(
            "SELECT * FROM commits WHERE oid LIKE ? ESCAPE '!' LIMIT 2", (_literal(text) + "%",)
        )
        if len(rows) != 1 or len(text) < 4:
            raise NotFound(
                f"there is no one commit {text[:80]!r} in this store",
                "atlas log --json names them whole",
            )
        return dict(rows[0])

    def reached(self, oid: str) -> int | None:
        """A commit's number; of one that was carried over, that of the last one before it that
        stayed."""
        row = self._one("SELECT seq FROM moved WHERE oid=?", (oid,))
        return self.seq(oid) or (row[0] if row else None)

    def live(self, folder: str, after: int) -> list[tuple[str, Record]]:
        """The readable rows below a folder in force after that moment, soonest over first."""
        rows = self._all(
            "SELECT path, data FROM records WHERE folder=? AND until>? AND data IS NOT NULL ORDER"
            " BY until, path",
            (folder, after),
        )
        return [(row[0], json.loads(row[1])) for row in rows]

    def rows(self, folder: str) -> list[Row]:
        """All records of a folder with path, ref, blob, until, seq, data (None if damaged) and
        damage, oldest first."""
        found = self._all("SELECT * FROM records WHERE folder=? ORDER BY seq, path", (folder,))
        return [
            {**dict(row), "data": json.loads(row["data"]) if row["data"] else None} for row in found
        ]

    def queue(self, folder: str, now: int | None) -> Iterator[tuple[str, Record]]:
        """The queued records of a folder, first come first, by path: those that may be given
        away at a moment (None: all of them). Few are asked for, mostly: the first hundred by
        themselves."""
        ready = "" if now is None else "AND unmet=0 AND due<=? AND over>?"
        for limit, start in ((100, 0), (MOST, 100)):
            rows = self._all(
                f"SELECT path, data FROM records WHERE folder=? AND rank IS NOT NULL {ready} "
                f"ORDER BY rank, born, path LIMIT {limit} OFFSET {start}",
                (folder, *([] if now is None else [now, now])),
            )
            yield from ((row[0], json.loads(row[1])) for row in rows)

    def queue_length(self, folder: str, now: int | None = None) -> int:
        """How many are queued (`now`: how many of these may be given away, as far as the cache can
        tell)."""
        ready = "" if now is None else "AND unmet=0 AND due<=? AND over>?"
        values = (folder, *([] if now is None else [now, now]))
        return int(
            self._one(
                f"SELECT count(*) FROM records WHERE folder=? AND rank IS NOT NULL {ready}", values
            )[0]
        )

    def born(self, folder: str) -> dict[str, int]:
        """When each record of a folder came, as a number that rises."""
        return {
            row[0]: row[1]
            for row in self._all("SELECT path, born FROM records WHERE folder=?", (folder,))
        }

    def backwards(self, folder: str) -> Iterator[tuple[int, str]]:
        """(seq, path) of a folder's readable records, the one written last first; read as far as it
        is asked for."""
        upto: tuple[int, str] = (MOST, "")
        while rows := self._all(
            "SELECT seq, path FROM records WHERE folder=? AND (seq, path)<(?, ?) AND data IS NOT"
            " NULL ORDER BY seq DESC, path DESC LIMIT 200",
            (folder, *upto),
        ):
            yield from ((row[0], row[1]) for row in rows)
            upto = rows[-1][0], rows[-1][1]

    def record(self, path: str) -> Record:
        """A readable record, without its body."""
        found: Record = json.loads(self._one("SELECT data FROM records WHERE path=?", (path,))[0])
        return found

    def newest(self, folder: str, limit: int) -> list[tuple[str, Record]]:
        """The records of a folder written last, newest first."""
        found = self._all(
            "SELECT path, data FROM records WHERE folder=? AND data IS NOT NULL ORDER BY seq DESC,"
            " path DESC LIMIT ?",
            (folder, min(limit, MOST)),
        )
        return [(row[0], json.loads(row[1])) for row in found]

    def count(self, folder: str, upto: int = MOST) -> int:
        """How many records of a folder were written last by a commit, or before it."""
        row = self._one("SELECT count(*) FROM records WHERE folder=? AND seq<=?", (folder, upto))
        return int(row[0])

    def edits(self) -> list[tuple[str, str, str]]:
        """(path, first blob, commit) of each document that a hand has changed or taken away since
        it was written."""
        return [
            (row[0], row[1], row[2])
            for row in self._all("SELECT path, blob, oid FROM edits ORDER BY path")
        ]

    def written(self, path: str) -> tuple[str, str] | None:
        """(first blob, commit that changed it) of a document that a hand has changed or taken
        away."""
        row = self._one("SELECT blob, oid FROM edits WHERE path=?", (path,))
        return (row[0], row[1]) if row else None

    def broken(self) -> list[tuple[str, str]]:
        """(path, the rule that it breaks) of each record that a hand brought, and that can be
        read."""
        found = self._all(
            "SELECT b.path, b.why FROM broken b JOIN records r ON r.path=b.path AND r.damage IS"
            " NULL ORDER BY b.path"
        )
        return [(row[0], row[1]) for row in found]

    def damaged(self) -> list[tuple[str, str]]:
        """(path, what is wrong) of each file that does not parse."""
        found = self._all("SELECT path, damage FROM records WHERE damage IS NOT NULL ORDER BY path")
        return [(row[0], row[1]) for row in found]

    def pointing(self, target: str, relation: str) -> list[tuple[str, Record]]:
        """The records that point at a REF, oldest first."""
        found = self._all(
            "SELECT r.path, r.data FROM links l JOIN records r ON r.path=l.path "
            "WHERE l.target=? AND l.relation=? AND r.data IS NOT NULL ORDER BY r.seq, r.path",
            (target, relation),
        )
        return [(row[0], json.loads(row[1])) for row in found]

    def targets(self, path: str, relation: str) -> list[str]:
        """The REFs that a record points at."""
        return [
            row[0]
            for row in self._all(
                "SELECT target FROM links WHERE path=? AND relation=?", (path, relation)
            )
        ]

    def leaning(self) -> list[tuple[str, str, str, Record]]:
        """(session, its record, what that relies on, the correction that retracted it) of each
        record that is the newest of its name and was not corrected itself."""
        found = self._all(
            "SELECT json_extract(r.data, '$.session'), r.ref, l.target, c.data FROM records c CROSS"
            " JOIN links k ON k.path=c.path AND k.relation='corrects' CROSS JOIN links l ON"
            " l.target=k.target AND l.relation='relies_on' JOIN records r ON r.path=l.path WHERE"
            " c.folder='corrections' AND json_extract(c.data, '$.retract') AND NOT EXISTS (SELECT 1"
            " FROM links o WHERE o.target=r.ref AND o.relation='corrects') AND NOT EXISTS (SELECT 1"
            " FROM records n WHERE n.folder=r.folder AND n.seq>r.seq AND instr(r.ref, '@')>0 AND"
            " substr(n.ref, 1, instr(n.ref, '@'))=substr(r.ref, 1, instr(r.ref, '@')))"
        )
        return [(row[0], row[1], row[2], json.loads(row[3])) for row in found]

    def operation(self, operation: str) -> Row | None:
        """The first commit of an operation."""
        row = self._one(
            "SELECT * FROM commits WHERE operation=? ORDER BY seq LIMIT 1", (operation,)
        )
        return dict(row) if row else None

    def last_at(self, session: str) -> int:
        """The latest moment that a session has written at; 0 where it never has."""
        row = self._one("SELECT coalesce(max(at), 0) FROM commits WHERE session=?", (session,))
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
        """The newest commits first, and how many there are in all. `folder`: that changed something
        in it; `after` and `upto`: commits by number; `stopped`: whose session had met a stop."""
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
        values = [_shown(text) if isinstance(text, str) else text for text in chosen.values()]
        total = self._one(f"SELECT count(*) FROM commits{where}", values)[0]
        rows = self._all(
            f"SELECT * FROM commits{where} ORDER BY seq DESC LIMIT ?", [*values, min(limit, MOST)]
        )
        return [dict(row) for row in rows], int(total)

    def touched(self, after: int, upto: int, most: int) -> list[str] | None:
        """The paths changed by the commits after one and up to another, and by those that were
        there once and are not any more; None where these are more than `most`, or the paths more
        than ten times as many."""
        if upto - after > most:
            return None
        gone = self._all("SELECT paths FROM moved WHERE seq>=?", (after,))
        found = dict.fromkeys(path for row in gone for path in row[0].split("\n") if path)
        for seq in range(after + 1, upto + 1):
            row = self._one("SELECT paths FROM commits WHERE seq=?", (seq,))
            found |= dict.fromkeys(path for path in (row[0] if row else "").split("\n") if path)
            if len(found) > most * 10:
                return None
        return list(found)

    def paths(self, most: int | None) -> list[str] | None:
        """The paths of all records; None where they are more than `most`."""
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
            (folder, seq),
        )
        return [(row[0], row[1], json.loads(row[2])) for row in rows]

    def readers(self, ref: str) -> list[str]:
        """The sessions that have said, with a write, that they had read a record."""
        return [
            row[0]
            for row in self._all("SELECT session FROM reads WHERE ref=? ORDER BY session", (ref,))
        ]

    def upto(self, moment: int) -> int:
        """The number of the last commit before a moment; 0 where there is none. (By halving: the
        commits' own times rise, but for what the clocks of two machines differ.)"""
        low, high = 0, self.last_seq()
        while low < high:
            middle = (low + high + 1) // 2
            at = self._one(
                "SELECT at FROM commits WHERE seq<=? AND at IS NOT NULL ORDER BY seq DESC LIMIT 1",
                (middle,),
            )
            low, high = (middle, high) if at is None or at[0] < moment else (low, middle - 1)
        return low

    def written_in(self, path: str) -> int:
        """The number of the commit that wrote a record last."""
        row = self._one("SELECT seq FROM records WHERE path=?", (path,))
        return int(row[0]) if row else self.last_seq()

    def as_of(self, folder: str, seq: int) -> str | None:
        """The last path below a folder that was there when a commit was made."""
        row = self._one(
            "SELECT path FROM records WHERE path>=? AND path<? AND seq<=? ORDER BY path DESC"
            " LIMIT 1",
            (f"{folder}/", f"{folder}0", seq),
        )
        return row[0] if row else None

    def active(self, seq: int) -> set[str]:
        """The sessions that wrote anything after a commit."""
        return {
            row[0]
            for row in self._all("SELECT DISTINCT session FROM commits WHERE seq>?", (seq,))
            if row[0]
        }

    def last_seq(self) -> int:
        return int(self._one("SELECT coalesce(max(seq), 0) FROM commits")[0])

    def clocks(self, limit: int, most: int = 1000) -> dict[str, int]:
        """By session the newest moment that it wrote at, from the first of the newest `most`
        commits that lies behind `limit` on; empty where none does."""
        rows = self._all(
            "WITH late AS (SELECT seq, session, at FROM commits WHERE seq>(SELECT max(seq) FROM"
            " commits)-?) SELECT session, max(at) FROM late WHERE seq>=(SELECT min(seq) FROM late"
            " WHERE at>?) AND at IS NOT NULL AND session IS NOT NULL GROUP BY session",
            (most, limit),
        )
        return {row[0]: row[1] for row in rows}

    def readable(self, path: str) -> Record | None:
        """A record without its body; None where there is none that can be read."""
        row = self._one("SELECT data FROM records WHERE path=? AND data IS NOT NULL", (path,))
        return json.loads(row[0]) if row else None

    def last_at_before(self, session: str, seq: int) -> int:
        """The latest moment that a session had written at before a commit."""
        row = self._one(
            "SELECT coalesce(max(at), 0) FROM commits WHERE session=? AND seq<?", (session, seq)
        )
        return int(row[0])

    def closed(self, session: str) -> bool:
        """Whether a session has done its duty: a status entry of its own behind its last other
        work, or no work. Beginning, ending and giving back are no work."""
        rows = self._all(
            "SELECT subject, paths FROM commits WHERE session=? ORDER BY seq DESC", (session,)
        )
        for subject, paths in rows:
            if any(path.startswith("status/") for path in paths.split("\n")):
                return True
            if not subject.startswith(("session: ", "lease: ", "repair: ")):
                return False
        return True

    def ref_of(self, path: str) -> str:
        """The REF of the record at a path."""
        row = self._one("SELECT ref FROM records WHERE path=?", (path,))
        return row[0] if row and row[0] else path

    def beside(self, path: str) -> str:
        """The record that a file which is none belongs to: the one in its folder."""
        folder = path.rpartition("/")[0]
        row = self._one(
            "SELECT path FROM records WHERE path>=? AND path<?", (f"{folder}/", f"{folder}0")
        )
        return row[0] if row else path


def _steps(commits: Iterable[history.Commit]) -> Iterator[list[history.Commit]]:
    """The commits in portions: what a hand made may take long to read."""
    some: list[history.Commit] = []
    weight = 0
    for commit in commits:
        some.append(commit)
        weight += len(commit.changes) if commit.message.by_hand else 0
        if len(some) >= STEP or weight > STEP // 2:
            yield some
            some, weight = [], 0
    if some:
        yield some


def _shown(text: str) -> str:
    """A text of git's as the cache can keep it."""
    return text.encode(errors="replace").decode()


def _is_row(path: str) -> bool:
    kind = kind_of(path)
    return kind is not None and kind.row


def _literal(text: str) -> str:
    """A text for LIKE in which nothing is a pattern."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")

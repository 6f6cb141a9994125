"""The tables of the index, and how commits are put into them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from ..errors import Damaged
from ..model import text
from ..model.message import FileChange, Message
from ..model.tree import Overlay
from ..records import bound, is_record, judging, kind_of, policy
from . import history
from .conversation import Answer
from .database import Connection, Layout
from .git import Git
from .snapshot import Snapshot, bytes_of
from .trees import PLAIN

_TABLES = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE commits(seq INTEGER PRIMARY KEY, oid TEXT UNIQUE, operation TEXT, session TEXT,
                     at INTEGER, subject TEXT, paths TEXT, stops TEXT, duty TEXT);
CREATE TABLE moved(oid TEXT PRIMARY KEY, seq INTEGER, paths TEXT);
CREATE INDEX by_operation ON commits(operation);
CREATE INDEX by_session ON commits(session, seq);
CREATE INDEX by_duty ON commits(session, duty, seq) WHERE duty<>'';
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
NAMES = ("commits", "moved", "records", "reads", "edits", "broken", "links", "meta")
_PUT_RECORD = "INSERT INTO records VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)"
_NEEDS = "path IN (SELECT path FROM links WHERE target=? AND relation='needs')"
LAYOUT = Layout(14, _TABLES, synchronous="OFF", wait=3.0, cache=True)


class Indexer:
    """Puts commits into the tables, inside one transaction of the caller's. It holds what these
    commits have changed so far, by path."""

    def __init__(self, db: Connection, git: Git) -> None:
        self.db, self.git = db, git
        self.newest: dict[str, tuple[str | None, int]] = {}  # the blob, and the commit's number
        self.oldest: dict[str, int] = {}  # the number of the first of these commits
        self.unread: dict[str, str] = {}  # why a file is not read
        self.broken: dict[str, tuple[str, str]] = {}  # the commit, and the rule that it breaks

    def last_seq(self) -> int:
        return int(self.db.execute("SELECT coalesce(max(seq), 0) FROM commits").fetchone()[0])

    def take(self, commits: Sequence[history.Commit]) -> None:
        """Takes commits that came from elsewhere, oldest first."""
        rows = []
        for seq, commit in enumerate(commits, self.last_seq() + 1):
            rows.append(_commit_row(seq, commit.oid, commit.message, commit.changes))
            self._note(seq, history.brings(commit, self._blob_now))
        self.db.executemany("INSERT OR REPLACE INTO commits VALUES(?,?,?,?,?,?,?,?,?)", rows)
        for path, blob in self.db.execute("SELECT path, blob FROM edits ORDER BY path").fetchall():
            if path in self.newest:
                self.newest[path] = (blob, self.newest[path][1])
                self.unread.pop(path, None)
        replaces = self.db.execute("SELECT 1 FROM records LIMIT 1").fetchone() is not None
        wanted = [oid for path, (oid, _) in self.newest.items() if oid and is_record(path)]
        answers = self.git.objects(wanted, text.MOST)
        self._put_broken(self.newest, self.broken)
        for path, (oid, seq) in self.newest.items():
            answer = next(answers) if oid and is_record(path) else None
            why = self.unread.get(path, "")
            self.record(path, oid, seq, answer, replaces, self.oldest[path], why)

    def take_own(
        self,
        oid: str,
        message: Message,
        changes: Sequence[FileChange],
        files: Mapping[str, bytes | None],
        seq: int,
    ) -> None:
        """Takes what a commit of the writer's own changed. Its bytes are known: git is not
        asked."""
        self._note_edits(oid, message, changes)
        self._note_policy(oid, message, changes)
        self._note_reads(message)
        self._put_broken([path for path, _, _ in changes], {})
        for path, _, new in changes:
            data = files.get(path)
            answer = None if data is None else (new or "", "blob", data)
            self.record(path, new, seq, answer)

    def put_commit(
        self, seq: int, oid: str, message: Message, changes: Iterable[FileChange]
    ) -> None:
        row = _commit_row(seq, oid, message, changes)
        self.db.execute("INSERT INTO commits VALUES(?,?,?,?,?,?,?,?,?)", row)

    def _note(self, seq: int, commit: history.Commit) -> None:
        """Notes what one commit changed. The records themselves are read at the end, once each."""
        for path, _, new in commit.changes:
            self.newest[path] = new, seq
            self.oldest.setdefault(path, seq)
            self.unread.pop(path, None)
            self.broken.pop(path, None)
        self.unread |= history.unread(commit, self._object)
        if commit.message.by_hand:
            self.broken |= self._broken_by(commit)
        self._note_edits(commit.oid, commit.message, commit.changes)
        mode = commit.modes.get(policy.FOLDER, PLAIN)
        self._note_policy(commit.oid, commit.message, commit.changes, mode)
        self._note_reads(commit.message)

    def _broken_by(self, commit: history.Commit) -> dict[str, tuple[str, str]]:
        """(commit, the first rule that it breaks) by path of what a hand brought, of the records
        that can be read. (An edit of a document is kept by itself: it does not count.)"""
        wanted = [change for change in commit.changes if self._is_judged(*change)]
        if not wanted:
            return {}
        width, above = len(commit.oid), next(iter(commit.parents), None)
        parent, child = Snapshot(self.git, above, width), Snapshot(self.git, commit.oid, width)
        violations = judging.judge(parent, child, wanted, commit.message)
        return {
            violation.path: (commit.oid, f"{violation.rule}: {violation.text}")
            for violation in reversed(violations)
            if violation.path
        }

    def _is_judged(self, path: str, old: str | None, new: str | None) -> bool:
        if not new or not is_record(path) or path in self.unread or path == policy.FOLDER:
            return False
        return storable(path) == path and (old is None or _is_row(path))

    def _put_broken(self, changed: Iterable[str], broken: Mapping[str, tuple[str, str]]) -> None:
        if self.db.execute("SELECT 1 FROM broken LIMIT 1").fetchone():
            paths = ((storable(path),) for path in changed)
            self.db.executemany("DELETE FROM broken WHERE path=?", paths)
        rows = [(path, oid, storable(why)) for path, (oid, why) in broken.items()]
        self.db.executemany("INSERT OR REPLACE INTO broken VALUES(?,?,?)", rows)

    def _blob_now(self, path: str) -> str | None:
        """The blob at a path, behind the commits that are just being taken."""
        if path in self.newest:
            return self.newest[path][0]
        statement = "SELECT blob FROM records WHERE path=?"
        row = self.db.execute(statement, (storable(path),)).fetchone()
        return row[0] if row else None

    def _note_edits(self, oid: str, message: Message, changes: Iterable[FileChange]) -> None:
        """Keeps what a document first was, once a hand has changed it or taken it away, until a
        repair restores it."""
        for path, old, new in changes:
            kind = kind_of(path)
            if kind is None or kind.row or storable(path) != path:
                continue  # (a path that is not UTF-8 never was a document's)
            if message.repairs:
                self.db.execute("DELETE FROM edits WHERE path=? AND blob=?", (path, new))
            elif old is not None:
                self.db.execute("INSERT OR IGNORE INTO edits VALUES(?,?,?)", (path, old, oid))

    def _note_policy(
        self, oid: str, message: Message, changes: Sequence[FileChange], mode: str = PLAIN
    ) -> None:
        """Keeps the last policy that counts, once one stands there that does not, until it stands
        there again."""
        for path, old, new in changes:
            if path != policy.FOLDER:
                continue
            row = self.db.execute("SELECT blob FROM edits WHERE path=?", (path,)).fetchone()
            before = row[0] if row else old
            empty = Snapshot(self.git, None, len(oid))
            parent, child = (Overlay(empty, {path: self._blob(blob)}) for blob in (before, new))
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
        answer = self.git.object(oid) if oid else None
        return answer[2] if answer and answer[1] == "blob" else None

    def _note_reads(self, message: Message) -> None:
        """Notes what the commit says that its session has read."""
        if message.bases and message.session:
            pairs = [(base.partition("~")[0], message.session) for base in message.bases]
            self.db.executemany("INSERT OR IGNORE INTO reads VALUES(?,?)", pairs)

    def record(
        self,
        path: str,
        oid: str | None,
        seq: int,
        answer: Answer,
        replaces: bool = True,
        first: int | None = None,
        unread: str = "",
    ) -> None:
        """Takes one file as it now is. `replaces`: a row of that path may be in the table. `first`:
        the number of the commit that the file came with, if that is an earlier one."""
        shown = storable(path)
        born = self._dropped(shown) if replaces else None
        kind = kind_of(path) if oid and is_record(path) else None
        if oid is None or kind is None:
            return
        ref = until = data = damage = rank = due = over = unmet = queued = None
        try:
            record = kind.parse(shown, _readable(shown, oid, answer, unread))
            ref, until = kind.ref(shown, record), kind.until(record)
            data = json.dumps({key: value for key, value in record.items() if key != "body"})
            links = [(shown, relation, target) for relation, target in kind.links(record)]
            self.db.executemany("INSERT INTO links VALUES(?,?,?)", links)
            if kind.queued:
                rank, nth, due, over = kind.queued(record) or (None, 0, None, None)
                unmet, queued = 0, born or ((first or seq) << 14) + nth
        except Damaged as error:
            damage = error.message
        head = (shown, kind.folder, ref, oid, until, seq, data, damage)
        self.db.execute(_PUT_RECORD, (*head, rank, queued, due, over, unmet))
        if queued is not None:
            self._count_unmet(_NEEDS, ref)
            if links:
                self._count_unmet("path=?", shown)

    def _dropped(self, path: str) -> int | None:
        """Drops the row of a path, and its links. When it came, as a number that rises."""
        row = self.db.execute("SELECT born FROM records WHERE path=?", (path,)).fetchone()
        self.db.execute("DELETE FROM records WHERE path=?", (path,))
        self.db.execute("DELETE FROM links WHERE path=?", (path,))
        return row[0] if row else None

    def _count_unmet(self, which: str, value: str | None) -> None:
        """Counts what these queued records still wait for: all that is not there, or not done."""
        self.db.execute(
            "UPDATE records SET unmet=(SELECT count(*) FROM links l LEFT JOIN records n ON"
            " n.ref=l.target AND n.born IS NOT NULL WHERE l.path=records.path AND"
            " l.relation='needs' AND (n.path IS NULL OR n.rank IS NOT NULL OR json_extract(n.data,"
            f" '$.state')<>'done')) WHERE {which} AND born IS NOT NULL",
            (value,),
        )


def _commit_row(
    seq: int, oid: str, message: Message, changes: Iterable[FileChange]
) -> tuple[object, ...]:
    names = [storable(path) for path, _, _ in changes]
    head = (seq, oid, message.operation, message.session, message.at, message.subject)
    duty = "" if message.repairs else duty_of(names)
    return (*head, "\n".join(names), "\n".join(message.stops), duty)


def duty_of(paths: Iterable[str]) -> str:
    """What a commit of these paths means for who writes last: the duties of their kinds."""
    duties = {kind.duty for path in paths if (kind := kind_of(path)) and kind.duty}
    return " ".join(sorted(duties))


def _readable(path: str, oid: str, answer: Answer, unread: str) -> bytes:
    if unread:
        raise Damaged(f"{path}: {unread}")
    return bytes_of(path, oid, answer)


def storable(text: str) -> str:
    """A text of git's as a table can keep it."""
    return text.encode(errors="replace").decode()


def _is_row(path: str) -> bool:
    kind = kind_of(path)
    return kind is not None and kind.row

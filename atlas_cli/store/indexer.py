"""The tables of the index, and how commits are put into them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence

from ..errors import Damaged
from ..model import text
from ..model.kind import Kind
from ..model.message import FileChange, Message
from ..model.names import Ref
from ..model.tree import Overlay, Tree
from ..records import bound, is_record, judging, kind_of, policy
from . import history, notes
from .conversation import Answer
from .database import Connection, Layout
from .git import Git
from .notes import Note, Notes
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
                     over INTEGER, unmet INTEGER, alias TEXT);
CREATE INDEX by_rank ON records(folder, unmet, rank, born, due, over) WHERE rank IS NOT NULL;
CREATE INDEX by_ref ON records(ref);
CREATE INDEX by_alias ON records(alias) WHERE alias IS NOT NULL;
CREATE INDEX by_time ON records(folder, until);
CREATE INDEX by_age ON records(folder, seq, path);
CREATE INDEX by_damage ON records(path) WHERE damage IS NOT NULL;
CREATE TABLE reads(ref TEXT, session TEXT, seq INTEGER, PRIMARY KEY(ref, session)) WITHOUT ROWID;
CREATE TABLE links(path TEXT, relation TEXT, target TEXT);
CREATE INDEX by_path ON links(path);
CREATE INDEX by_target ON links(target, relation);
"""
NAMES = ("commits", "moved", "records", "reads", "links", "meta", *notes.NAMES)
# What is noted of a file: what it first was (empty: nothing that counts), the rule it breaks.
EDIT, BROKEN = "edit", "broken"
_PUT_RECORD = "INSERT INTO records VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
_NEEDS = "path IN (SELECT path FROM links WHERE target=? AND relation='needs')"
LAYOUT = Layout(18, _TABLES + notes.TABLES, synchronous="OFF", wait=3.0, cache=True)
ENDING = f"-{LAYOUT.version}.sqlite"  # of its file's name: another Atlas here has its own


class Indexer:
    """Puts commits into the tables, inside one transaction of the caller's. It holds what these
    commits have changed so far, by path."""

    def __init__(self, db: Connection, git: Git) -> None:
        self.db, self.git = db, git
        self.newest: dict[str, tuple[str | None, int]] = {}  # the blob, and the commit's number
        self.oldest: dict[str, int] = {}  # the number of the first of these commits
        self.unread: dict[str, str] = {}  # why a file is not read
        self.seqs: dict[str | None, int] = {}  # the numbers of these commits
        self.notes = Notes(db)

    def last_seq(self) -> int:
        """The number of the newest commit; 0 in an empty store."""
        return int(self.db.execute("SELECT coalesce(max(seq), 0) FROM commits").fetchone()[0])

    def take(self, commits: Sequence[history.Commit]) -> None:
        """Takes commits that came from elsewhere, oldest first."""
        numbered = list(enumerate(commits, self.last_seq() + 1))
        rows = [
            _commit_row(seq, commit.oid, commit.message, _paths(commit)) for seq, commit in numbered
        ]
        self.db.executemany("INSERT OR REPLACE INTO commits VALUES(?,?,?,?,?,?,?,?,?)", rows)
        self.seqs |= {commit.oid: seq for seq, commit in numbered}
        for seq, commit in numbered:
            self._note(seq, commit)
        for path, (_, seq) in list(self.newest.items()):
            first = self.notes.value(EDIT, path)
            if first is not None:
                self.newest[path] = (first or None, seq)
                self.unread.pop(path, None)
        replaces = self.db.execute("SELECT 1 FROM records LIMIT 1").fetchone() is not None
        wanted = [oid for path, (oid, _) in self.newest.items() if oid and is_record(path)]
        answers = self.git.objects(wanted, text.MOST)
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
        self._note_edits(seq, oid, message, changes)
        self._note_policy(seq, oid, message, changes)
        self._note_reads(seq, message)
        for path, _, new in changes:
            self.notes.put(seq, BROKEN, storable(path), None)
            data = files.get(path)
            answer = None if data is None else (new or "", "blob", data)
            self.record(path, new, seq, answer)

    def put_commit(
        self, seq: int, oid: str, message: Message, changes: Iterable[FileChange]
    ) -> None:
        """Adds a commit."""
        row = _commit_row(seq, oid, message, [path for path, _, _ in changes])
        self.db.execute("INSERT INTO commits VALUES(?,?,?,?,?,?,?,?,?)", row)

    def _note(self, seq: int, commit: history.Commit) -> None:
        """Notes what one commit changed. The records themselves are read at the end, once each."""
        before = dict(self.notes.now) if len(commit.parents) > 1 else {}
        self.notes.stand(seq, self._seq_of(next(iter(commit.parents), None)))
        if len(commit.parents) > 1:
            self._note_brought(seq, commit, before)
        for path, _, new in commit.changes:
            self._put(path, new, seq)
            self.notes.put(seq, BROKEN, storable(path), None)
        self.unread |= history.unread(commit, self._object)
        if commit.message.by_hand:
            for path, why in self._broken_by(commit).items():
                self.notes.put(seq, BROKEN, path, Note(storable(why), commit.oid))
        self._note_edits(seq, commit.oid, commit.message, commit.changes)
        mode = commit.modes.get(policy.FOLDER, PLAIN)
        self._note_policy(seq, commit.oid, commit.message, commit.changes, mode)
        self._note_reads(seq, commit.message)

    def _put(self, path: str, blob: str | None, seq: int) -> None:
        self.newest[path] = blob, seq
        self.oldest.setdefault(path, seq)
        self.unread.pop(path, None)

    def _note_brought(self, seq: int, commit: history.Commit, before: notes.State) -> None:
        """Notes what a merge goes on with, of each file what was noted of it on its own line."""
        states = {line: self.notes.at(self._seq_of(line)) for line in set(commit.givers.values())}
        for path, line in commit.givers.items():
            for what in (EDIT, BROKEN):
                self.notes.put(seq, what, path, states[line].get((what, path)))
        now = self.notes.now
        other = {key[1] for key in before.keys() | now.keys() if before.get(key) != now.get(key)}
        tree = Snapshot(self.git, commit.oid, len(commit.oid))
        for path in sorted(other):
            self._put(path, tree.blob(path), seq)
        for path, new in commit.now.items():
            if path not in other and self._blob_now(path) != new:
                self._put(path, new, seq)

    def _seq_of(self, oid: str | None) -> int:
        """A commit's number; 0 if there is none."""
        if oid in self.seqs:
            return self.seqs[oid]
        row = self.db.execute("SELECT seq FROM commits WHERE oid=?", (oid,)).fetchone()
        return int(row[0]) if row else 0

    def _broken_by(self, commit: history.Commit) -> dict[str, str]:
        """The first rule that it breaks, by path, of what a hand brought, of the records that can
        be read. (An edit of a document is kept by itself: it does not count.)"""
        wanted = [change for change in commit.changes if self._is_judged(*change)]
        if not wanted:
            return {}
        width, above = len(commit.oid), next(iter(commit.parents), None)
        parent: Tree = Snapshot(self.git, above, width)
        child = Snapshot(self.git, commit.oid, width)
        if commit.brought:
            brought = {path: self._blob(blob) for path, _, blob in commit.brought}
            parent = Overlay(parent, brought, width)
        violations = judging.judge(parent, child, wanted, commit.message)
        return {
            violation.path: f"{violation.rule}: {violation.text}"
            for violation in reversed(violations)
            if violation.path
        }

    def _is_judged(self, path: str, old: str | None, new: str | None) -> bool:
        if not new or not is_record(path) or path in self.unread or path == policy.FOLDER:
            return False
        return storable(path) == path and (old is None or _is_row(path))

    def _blob_now(self, path: str) -> str | None:
        """The blob at a path, behind the commits that are just being taken."""
        if path in self.newest:
            return self.newest[path][0]
        statement = "SELECT blob FROM records WHERE path=?"
        row = self.db.execute(statement, (storable(path),)).fetchone()
        return row[0] if row else None

    def _note_edits(
        self, seq: int, oid: str, message: Message, changes: Iterable[FileChange]
    ) -> None:
        """Keeps what a document first was, once a hand has changed it or taken it away, until a
        repair restores it."""
        for path, old, new in changes:
            kind = kind_of(path)
            if kind is None or kind.row or storable(path) != path:
                continue  # (a path that is not UTF-8 never was a document's)
            first = self.notes.value(EDIT, path)
            if message.repairs and first == new:
                self.notes.put(seq, EDIT, path, None)
            elif not message.repairs and old is not None and first is None:
                self.notes.put(seq, EDIT, path, Note(old, oid))

    def _note_policy(
        self, seq: int, oid: str, message: Message, changes: Sequence[FileChange], mode: str = PLAIN
    ) -> None:
        """Keeps the last policy that counts, once one stands there that does not, until it stands
        there again."""
        for path, old, new in changes:
            if path != policy.FOLDER:
                continue
            noted = self.notes.value(EDIT, path)
            before = old if noted is None else noted or None
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
                self.notes.put(seq, EDIT, path, None)
            elif not message.repairs and noted is None:
                self.notes.put(seq, EDIT, path, Note(before or "", oid))

    def _object(self, path: str, oid: str) -> Answer:
        return self.git.object(oid, bound(path))

    def _blob(self, oid: str | None) -> bytes | None:
        answer = self.git.object(oid) if oid else None
        return answer[2] if answer and answer[1] == "blob" else None

    def _note_reads(self, seq: int, message: Message) -> None:
        """Notes what the commit says that its session has read; the first one that says so."""
        if message.bases and message.session:
            refs = (base.rpartition("~")[0] or base for base in message.bases)
            rows = [(ref, message.session, seq) for ref in refs]
            self.db.executemany("INSERT OR IGNORE INTO reads VALUES(?,?,?)", rows)

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
        ref = until = data = damage = rank = due = over = unmet = queued = alias = None
        try:
            record = kind.parse(shown, _readable(shown, oid, answer, unread))
            ref, until = kind.ref(shown, record), kind.until(record)
            alias = _alias(kind, shown, record)
            data = json.dumps({key: value for key, value in record.items() if key != "body"})
            links = [(shown, relation, target) for relation, target in kind.links(record)]
            self.db.executemany("INSERT INTO links VALUES(?,?,?)", links)
            if kind.queued:
                rank, nth, due, over = kind.queued(record) or (None, 0, None, None)
                unmet, queued = 0, born or ((first or seq) << 14) + nth
        except Damaged as error:
            damage = error.message
        head = (shown, kind.folder, ref, oid, until, seq, data, damage)
        self.db.execute(_PUT_RECORD, (*head, rank, queued, due, over, unmet, alias))
        if queued is not None:
            self._count_unmet(_NEEDS, ref)
            if links:
                self._count_unmet("path=?", shown)

    def _dropped(self, path: str) -> int | None:
        """Drops the row of a path, and its links. The result is when it came, as a number that
        rises."""
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


def _paths(commit: history.Commit) -> Sequence[str]:
    """The paths at which a commit differs from what stood before it."""
    if len(commit.parents) > 1 and commit.now:
        return sorted(commit.now, key=os.fsencode)
    return [path for path, _, _ in commit.changes]


def _commit_row(seq: int, oid: str, message: Message, changed: Sequence[str]) -> tuple[object, ...]:
    paths = [storable(path) for path in changed]
    head = (seq, oid, message.operation, message.session, message.at, message.subject)
    duty = "" if message.repairs else duty_of(paths)
    return (*head, "\n".join(paths), "\n".join(message.stops), duty)


def duty_of(paths: Iterable[str]) -> str:
    """The duties of the kinds of these paths: what such a commit means for who writes last."""
    duties = {kind.duty for path in paths if (kind := kind_of(path)) and kind.duty}
    return " ".join(sorted(duties))


def _alias(kind: Kind, path: str, record: text.Record) -> str | None:
    """The REF by its operation of a document that may get another number; None for any other
    record."""
    operation = record.get("operation")
    if kind.written is None or kind.numbered is None or not operation:
        return None
    return str(Ref(kind.name, kind.numbered(path)[0], operation=operation))


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

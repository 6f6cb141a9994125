"""`verify`: walks the history and judges every commit by the rules that the writer used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ..errors import Damaged
from ..model.change import Violation
from ..model.message import FileChange
from ..model.text import Record
from ..model.tree import Tree, object_id
from ..records import bound, is_record, judging, kind_of
from ..store import differences, history
from ..store.conversation import LARGE, Answer
from ..store.git import SMALL, Git
from ..store.index import MOST, Index
from ..store.repo import Repo
from ..store.root import root_commit
from ..store.snapshot import Objects, Snapshot, bytes_of
from ..store.source import source
from ..store.store import Store
from ..store.trees import FOLDER, PLAIN

AHEAD = 250  # commits whose records are read at once
KEPT = 20_000  # files whose bytes are kept during a walk


class Finding(NamedTuple):
    """A violation in a commit; `repaired` names the commit that put it right, if one did."""

    commit: str
    subject: str
    session: str | None
    violation: Violation
    repaired: str | None = None


class Report(NamedTuple):
    """The result of a run. `commits` were judged, from `start` (None: the beginning) to `head`.

    good: the last commit up to which nothing stands unrepaired. counted: what was asked of the tree
    that was judged."""

    head: str
    start: str | None
    commits: int
    good: str | None
    findings: tuple[Finding, ...]
    counted: int = 0

    @property
    def open(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.repaired is None]


class Walk:
    """The tree at a point of the walk: a starting snapshot with all changes since, by blob."""

    def __init__(self, git: Objects, base: Snapshot | None) -> None:
        self.git, self.base = git, base
        self.blobs: dict[str, str | None] = {}
        self.odd: dict[str, str] = {}  # what is no file that is read, by path: why
        self.folders: dict[str, set[str]] = {}
        # Until when a row is in force, by object id: what is over is not read again.
        self.over: dict[str, int] = {}
        self.loaded: dict[str, Answer] = {}

    def load(self, path: str, oid: str) -> bytes:
        """The bytes of a file."""
        return bytes_of(path, oid, self.object(path, oid))

    def object(self, path: str, oid: str) -> Answer:
        """The object of a file. Small ones are kept, since rows are read again as what was there
        before."""
        if oid in self.loaded:
            return self.loaded[oid]
        answer = self.git.object(oid, bound(path))
        # (How much is read depends on the path.)
        if answer is not None and answer[1] != LARGE and len(answer[2]) < SMALL:
            self._keep(oid, answer)
        return answer

    def _keep(self, oid: str, answer: Answer) -> None:
        if len(self.loaded) >= KEPT:
            self.loaded.clear()
        self.loaded[oid] = answer

    def ahead(self, commits: Iterable[history.Commit]) -> None:
        """Reads the records that these bring, all at once."""
        wanted = {
            new: path
            for commit in commits
            for path, _, new in commit.changes
            if new and is_record(path)
        }
        names = [oid for oid in wanted if oid not in self.loaded]
        for oid, answer in zip(names, self.git.objects(names, SMALL), strict=True):
            if answer is not None and answer[1] != LARGE:
                self._keep(oid, answer)

    def whole(self, commit: history.Commit) -> None:
        """Raises Damaged if a file that a commit changed is not here. That is no fault of the
        commit, and judged by nobody."""
        for path, old, new in commit.changes:
            plain = [
                old if self._plain(path) else None,
                new if commit.modes.get(path) == PLAIN else None,
            ]
            for oid in filter(None, plain):
                answer = self.object(path, oid)
                if answer is None or answer[1] not in ("blob", LARGE):
                    raise Damaged(
                        f"{path} in {commit.oid[:12]}: the object {oid} is missing or broken in"
                        " this clone",
                        "atlas doctor --fix has it again from the remote",
                    )

    def blob(self, path: str) -> str | None:
        if path in self.blobs:
            return self.blobs[path]
        return self.base.blob(path) if self.base else None

    def is_back(self, row: FileChange) -> bool:
        """Whether what a commit changed lies there as it was before."""
        return self.blob(row[0]) == row[1] and row[0] not in self.odd

    def read(self, path: str) -> bytes | None:
        if path not in self.blobs and self.base:
            return self.base.read(path)
        return self.bytes_of(path, self.blob(path), self.odd)

    def bytes_of(self, path: str, oid: str | None, odd: Mapping[str, str]) -> bytes | None:
        """The bytes of a file.

        Raises Damaged if it is no file that is read."""
        if path in odd:
            raise Damaged(f"{path}: {odd[path]}")
        return None if oid is None else self.load(path, oid)

    def _plain(self, path: str) -> bool:
        """Whether what lies at a path now is a plain file."""
        if path in self.blobs or self.base is None:
            return path not in self.odd
        entry = self.base.entry(path)
        return entry is not None and entry[0] == PLAIN

    def unread(self, commit: history.Commit) -> dict[str, str]:
        """Why a file that a commit brings is not read, by path."""
        return history.unread(commit, self.object)

    def take(self, commit: history.Commit) -> None:
        """Goes on behind one commit."""
        for path, _, new in commit.changes:
            self.blobs[path] = new
            self.odd.pop(path, None)
        self.odd |= self.unread(commit)
        for path, _, _ in commit.changes:
            while "/" in path:
                path, _, name = path.rpartition("/")
                self.folders.setdefault(path, set()).add(name)

    def names(self, folder: str) -> list[str]:
        before = self.base.names(folder) if self.base else ()
        names = self.folders.get(folder, set()).union(before)
        return sorted(name for name in names if self.blobs.get(f"{folder}/{name}", "") is not None)

    def live(self, folder: str, after: int) -> Iterable[tuple[str, Record]]:
        for name in self.names(folder):
            path, kind = f"{folder}/{name}", kind_of(folder + "/")
            oid = self.blob(path) if kind and is_record(path) else None
            if kind is None or oid is None:
                yield from self.live(path, after)
            elif self.over.get(oid, after + 1) > after:
                try:
                    record = kind.parse(path, self.load(path, oid))
                except Damaged:
                    continue
                self.over[oid] = kind.until(record) or 0
                if self.over[oid] > after:
                    yield path, record


class Child:
    """The tree of a walk, with the changes of one commit over it."""

    def __init__(self, parent: Walk, commit: history.Commit) -> None:
        self.parent, self.changes = parent, {path: new for path, _, new in commit.changes}
        self.odd = parent.unread(commit)

    def blob(self, path: str) -> str | None:
        return self.changes[path] if path in self.changes else self.parent.blob(path)

    def read(self, path: str) -> bytes | None:
        if path not in self.changes:
            return self.parent.read(path)
        return self.parent.bytes_of(path, self.changes[path], self.odd)

    def names(self, folder: str) -> list[str]:
        return self.parent.names(folder)

    def live(self, folder: str, after: int) -> Iterable[tuple[str, Record]]:
        return ()


class _Chain:
    """The rules of the chain: an operation occurs once, and no session goes back in time."""

    def __init__(self, index: Index | None) -> None:
        self.index = index
        self.operations: set[str] = set()
        self.last_at: dict[str, int] = {}

    def violations(self, commit: history.Commit) -> Iterable[Violation]:
        message = commit.message
        if message.operation:
            first = self.index.operation(message.operation) if self.index else None
            if message.operation in self.operations or (first and first["oid"] != commit.oid):
                yield Violation(
                    "operation", "", f"the operation {message.operation} is there already"
                )
            self.operations.add(message.operation)
        if message.session and message.at is not None:
            last = self._last_at(message.session, commit.oid)
            if message.at < last:
                yield Violation(
                    "clock",
                    "",
                    f"Atlas-At lies {last - message.at} s before {message.session}'s last commit",
                )
            self.last_at[message.session] = max(last, message.at)

    def _last_at(self, session: str, oid: str) -> int:
        """The latest moment that a session had written at before a commit."""
        if session not in self.last_at and self.index:
            # (None: it is not in the index yet, so all that the index knows came before.)
            seq = self.index.seq(oid) or MOST
            self.last_at[session] = self.index.last_at_before(session, seq)
        return self.last_at.get(session, 0)


def audit(store: Store, head: str, full: bool) -> Report:
    """Judges the commits since the last run's last good one.

    full: judge all of them."""
    index = store.at(head)
    start = None if full else index.meta("verified")
    if start is not None and index.seq(start) is None:
        start = None
    commits = [] if start == head else list(history.between(store.git, start, head))
    base = store.snapshot(start) if start else None
    known = None if start is None else index
    findings = findings_in(store.git, store.place.width, base, commits, known)
    report = Report(head, start, len(commits), None, findings)
    good = _last_good(report, commits, start)
    if good is not None:
        index.remember("verified", good)
    return report._replace(good=good)


def elsewhere(repo: Repo, git: Git, count: Callable[[Tree], int]) -> Report:
    """Judges, from the beginning, the store that a clone without one has fetched, or that its
    remote has."""
    with source(repo, git) as store:
        commits = list(history.between(store.git, None, store.head))
        findings = findings_in(store.git, repo.width, None, commits, None)
        counted = count(Snapshot(store.git, store.head, repo.width))
        return Report(store.head, None, len(commits), None, findings, counted)


def findings_in(
    git: Git,
    width: int,
    base: Snapshot | None,
    commits: Sequence[history.Commit],
    index: Index | None,
    earlier: Callable[[str], history.Commit | None] = lambda _: None,
) -> tuple[Finding, ...]:
    """All violations in `commits`, which stand in one line behind `base` (None: they are the whole
    history). The index knows what came before. `earlier` gives a violating commit before `base`, if
    a repair names it."""
    walk, chain = Walk(git, base), _Chain(index)
    findings: list[Finding] = []
    bad: dict[str, history.Commit] = {}
    for at, commit in enumerate(commits):
        if at % AHEAD == 0:
            walk.ahead(commits[at : at + AHEAD])
        commit = history.brings(commit, walk.blob)
        violations = [*shape(commit, width), *chain.violations(commit)]
        walk.whole(commit)
        named = commit.message.repairs
        if named and named not in bad and (before := earlier(named)):
            bad[named] = before
        no_repair = _repair_violations(commit, bad) if named else []
        violations += no_repair
        if named and not no_repair:
            restored = {path for path, _, _ in commit.changes}
            restored |= {row[0] for row in bad[named].changes if walk.is_back(row)}
            findings = [_repaired(finding, commit, restored) for finding in findings]
            violations += judging.judge_message(walk, commit.changes, commit.message)
        else:  # what only says that it is a repair is a change like any other
            child = Child(walk, commit)
            violations += judging.judge(walk, child, commit.changes, commit.message)
        if violations:
            bad[commit.oid] = commit
        subject, by = commit.message.subject, commit.message.session
        findings += [Finding(commit.oid, subject, by, violation) for violation in violations]
        walk.take(commit)
    return tuple(findings)


def range_violations(git: Git, width: int, start: str, head: str, index: Index) -> list[Finding]:
    """The violations of the commits after `start` up to `head`, without those that one of these
    commits repairs: what `verify` finds. The index knows what came before."""

    def earlier(oid: str) -> history.Commit | None:
        """The commit that a repair names, if it is there and does break a rule."""
        above = history.parent(git, oid) if index.seq(oid) else None
        if above is None:  # (the root of all stores breaks none)
            return None
        commit = history.commit(git, oid)
        findings = findings_in(git, width, Snapshot(git, above, width), [commit], index)
        return commit if findings else None

    commits = list(history.between(git, start, head))
    findings = findings_in(git, width, Snapshot(git, start, width), commits, index, earlier)
    return [finding for finding in findings if finding.repaired is None]


def _last_good(report: Report, commits: list[history.Commit], start: str | None) -> str | None:
    wrong = {finding.commit for finding in report.open}
    good = start
    for commit in commits:
        if commit.oid in wrong:
            break
        good = commit.oid
    # A repair must be walked together with what it repairs.
    if wrong and any(finding.repaired for finding in report.findings):
        order = [commit.oid for commit in commits]
        first = min(order.index(finding.commit) for finding in report.findings)
        return order[first - 1] if first else start
    return good


def shape(commit: history.Commit, width: int) -> Iterable[Violation]:
    """The rules on the commit itself: one line of history from the one root, as git writes it,
    plain files only."""
    root = object_id("commit", root_commit(width), width)
    if len(commit.parents) > 1:
        yield Violation("linear", "", f"a merge of {len(commit.parents)} histories")
    if not commit.parents and commit.oid != root:
        yield Violation(
            "linear", "", f"begins with {commit.oid[:12]}, not with the root of all stores"
        )
    if commit.message.migrates and not commit.moved:
        yield Violation("migrated", "", "does not put each record in its place, and nothing else")
    if commit.message.epoch and not commit.moved:
        yield Violation("epoch", "", "takes more than documents that its parent holds")
    for path, fault in commit.faults:
        yield Violation("form", "", f"{path}: {fault}" if path else fault)
    for path, mode in commit.modes.items():
        if mode == FOLDER:
            yield Violation(
                "mode",
                path,
                f"a folder nested deeper than {differences.DEEP}, or of too many files",
            )
        elif mode != PLAIN:
            yield Violation("mode", path, f"mode {mode}, where only plain files may be")


def _repair_violations(
    commit: history.Commit, bad: Mapping[str, history.Commit]
) -> list[Violation]:
    """A repair restores exactly what a violating commit had changed, to what it was before."""
    named = bad.get(commit.message.repairs or "")
    if named is None:
        return [Violation("repair", "", f"{commit.message.repairs} broke no rule, or is not there")]
    was = {path: (old, new) for path, old, new in named.changes}
    text = f"is not restored to what it was before {named.oid[:12]}"
    return [
        Violation("repair", path, text)
        for path, old, new in commit.changes
        if path not in was or (old, new) != (was[path][1], was[path][0])
    ]


def _repaired(finding: Finding, commit: history.Commit, restored: set[str]) -> Finding:
    if finding.commit != commit.message.repairs or finding.repaired:
        return finding
    path = finding.violation.path
    return finding._replace(repaired=commit.oid) if not path or path in restored else finding

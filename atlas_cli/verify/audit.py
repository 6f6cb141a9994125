"""`verify`: walks the history and judges every commit by the rules that the writer used; and
`doctor`'s repairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ..errors import Damaged
from ..model.change import Change, Violation, Writer
from ..model.text import Record
from ..model.tree import Tree, object_id
from ..records import bound, is_record, judging, kind_of
from ..store import history
from ..store.conversation import LARGE, Answer
from ..store.git import SMALL, Git
from ..store.index import MOST, Index
from ..store.repo import Repo
from ..store.snapshot import Objects, Snapshot, bytes_of
from ..store.source import source
from ..store.store import Store, root_commit
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
    """`commits` were judged, from `start` (None: the beginning) to `head`; `good` is the last one
    before which, and including which, nothing stands unrepaired; `counted`: what was asked of the
    tree that was judged."""

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
    """The tree as it was at a point of the walk: a starting snapshot with all changes since, by
    blob."""

    def __init__(self, git: Objects, base: Snapshot | None) -> None:
        self.git, self.base = git, base
        self.blobs: dict[str, str | None] = {}
        self.odd: dict[str, str] = {}  # what is no file that is read, by path: why
        self.folders: dict[str, set[str]] = {}
        self.over: dict[
            str, int
        ] = {}  # until when a row is in force, by object id: what is over is not read again
        self.loaded: dict[str, Answer] = {}

    def load(self, path: str, oid: str) -> bytes:
        """The bytes of a file."""
        return bytes_of(path, oid, self.object(path, oid))

    def object(self, path: str, oid: str) -> Answer:
        """The object of a file; small ones are kept, since rows are read again as what was there
        before."""
        if oid in self.loaded:
            return self.loaded[oid]
        found = self.git.object(oid, bound(path))
        if (
            found is not None and found[1] != LARGE and len(found[2]) < SMALL
        ):  # (how much is read depends on the path)
            self._keep(oid, found)
        return found

    def _keep(self, oid: str, found: Answer) -> None:
        if len(self.loaded) >= KEPT:
            self.loaded.clear()
        self.loaded[oid] = found

    def ahead(self, commits: Iterable[history.Commit]) -> None:
        """Reads the records that these bring, all at once."""
        wanted = {
            new: path
            for commit in commits
            for path, _, new in commit.changes
            if new and is_record(path)
        }
        names = [oid for oid in wanted if oid not in self.loaded]
        for oid, found in zip(names, self.git.objects(names, SMALL), strict=True):
            if found is not None and found[1] != LARGE:
                self._keep(oid, found)

    def whole(self, commit: history.Commit) -> None:
        """Damaged where a file that a commit changed is not here: no fault of the commit, and
        judged by nobody."""
        for path, old, new in commit.changes:
            plain = [
                old if self._plain(path) else None,
                new if commit.modes.get(path) == PLAIN else None,
            ]
            for oid in filter(None, plain):
                found = self.object(path, oid)
                if found is None or found[1] not in ("blob", LARGE):
                    raise Damaged(
                        f"{path} in {commit.oid[:12]}: the object {oid} is missing or broken in"
                        " this clone",
                        "atlas doctor --fix has it again from the remote",
                    )

    def blob(self, path: str) -> str | None:
        if path in self.blobs:
            return self.blobs[path]
        return self.base.blob(path) if self.base else None

    def read(self, path: str) -> bytes | None:
        if path not in self.blobs and self.base:
            return self.base.read(path)
        return self.bytes_of(path, self.blob(path), self.odd)

    def bytes_of(self, path: str, oid: str | None, odd: Mapping[str, str]) -> bytes | None:
        """The bytes of a file; Damaged for what is none."""
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
        """What a commit brings that is not read, by path: why."""
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
        found = self.folders.get(folder, set()).union(self.base.names(folder) if self.base else ())
        return sorted(name for name in found if self.blobs.get(f"{folder}/{name}", "") is not None)

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


class _Child:
    """The walk's tree with one commit's changes over it."""

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

    def judge(self, commit: history.Commit) -> Iterable[Violation]:
        message = commit.message
        if message.operation:
            first = self.index.operation(message.operation) if self.index else None
            if message.operation in self.operations or (first and first["oid"] != commit.oid):
                yield Violation(
                    "operation", "", f"the operation {message.operation} is there already"
                )
            self.operations.add(message.operation)
        if message.session and message.at is not None:
            if message.session not in self.last_at and self.index:
                seq = self.index.seq(
                    commit.oid
                )  # None: not in it yet, so all that it knows came before
                self.last_at[message.session] = self.index.last_at_before(
                    message.session, seq or MOST
                )
            last = self.last_at.get(message.session, 0)
            if message.at < last:
                yield Violation(
                    "clock",
                    "",
                    f"Atlas-At lies {last - message.at} s before {message.session}'s last commit",
                )
            self.last_at[message.session] = max(last, message.at)


def audit(store: Store, head: str, full: bool) -> Report:
    """Judges the commits since the last run's last good one (`full`: all of them)."""
    index = store.at(head)
    start = None if full else index.meta("verified")
    if start is not None and index.seq(start) is None:
        start = None
    commits = [] if start == head else list(history.between(store.git, start, head))
    base = store.snapshot(start) if start else None
    findings = judged(store.git, store.place.width, base, commits, None if start is None else index)
    report = Report(head, start, len(commits), None, findings)
    good = _last_good(report, commits, start)
    if good is not None:
        index.remember("verified", good)
    return report._replace(good=good)


def elsewhere(repo: Repo, git: Git, count: Callable[[Tree], int]) -> Report:
    """Judges, from the beginning, the store that a clone without one has fetched, or that its
    remote has."""
    with source(repo, git) as found:
        commits = list(history.between(found.git, None, found.head))
        findings = judged(found.git, repo.width, None, commits, None)
        counted = count(Snapshot(found.git, found.head, repo.width))
        return Report(found.head, None, len(commits), None, findings, counted)


def judged(
    git: Git,
    width: int,
    base: Snapshot | None,
    commits: Sequence[history.Commit],
    index: Index | None,
    earlier: Callable[[str], history.Commit | None] = lambda _: None,
) -> tuple[Finding, ...]:
    """All violations in `commits`, the line of history behind `base` (None: from the beginning), of
    which the index knows what came before. `earlier` gives a violating commit before `base`, for a
    repair that names it."""
    walk, chain = Walk(git, base), _Chain(index)
    findings: list[Finding] = []
    bad: dict[str, history.Commit] = {}
    for at, commit in enumerate(commits):
        if at % AHEAD == 0:
            walk.ahead(commits[at : at + AHEAD])
        commit = history.brings(commit, walk.blob)
        found = [*shape(commit, width), *chain.judge(commit)]
        walk.whole(commit)
        named = commit.message.repairs
        if named and named not in bad and (before := earlier(named)):
            bad[named] = before
        repair = _repair(commit, bad) if named else []
        found += repair
        if named and not repair:
            restored = {path for path, _, _ in commit.changes}
            findings = [_repaired(finding, commit, restored) for finding in findings]
            found += judging.judge_message(walk, commit.changes, commit.message)
        else:  # what only says that it is a repair is a change like any other
            found += judging.judge(walk, _Child(walk, commit), commit.changes, commit.message)
        if found:
            bad[commit.oid] = commit
        by = commit.message.session
        findings += [
            Finding(commit.oid, commit.message.subject, by, violation) for violation in found
        ]
        walk.take(commit)
    return tuple(findings)


def judge(git: Git, width: int, start: str, head: str, index: Index) -> list[Finding]:
    """The violations of the commits after `start` up to `head` that none of them repairs, as
    `verify` finds them; the index knows what came before."""

    def earlier(oid: str) -> history.Commit | None:
        """The commit that a repair names, if it is there and does break a rule."""
        above = history.parent(git, oid) if index.seq(oid) else None
        if above is None:  # (the root of all stores breaks none)
            return None
        commit = history.one(git, oid)
        return commit if judged(git, width, Snapshot(git, above, width), [commit], index) else None

    commits = list(history.between(git, start, head))
    found = judged(git, width, Snapshot(git, start, width), commits, index, earlier)
    return [finding for finding in found if finding.repaired is None]


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
    for path, fault in commit.faults:
        yield Violation("form", "", f"{path}: {fault}" if path else fault)
    for path, mode in commit.modes.items():
        if mode == FOLDER:
            yield Violation(
                "mode", path, f"a folder nested deeper than {history.DEEP}, or of too many files"
            )
        elif mode != PLAIN:
            yield Violation("mode", path, f"mode {mode}, where only plain files may be")


def _repair(commit: history.Commit, bad: Mapping[str, history.Commit]) -> list[Violation]:
    """A repair restores exactly what a violating commit had changed, to what it was before."""
    named = bad.get(commit.message.repairs or "")
    if named is None:
        return [Violation("repair", "", f"{commit.message.repairs} broke no rule, or is not there")]
    was = {path: (old, new) for path, old, new in named.changes}
    found = []
    for path, old, new in commit.changes:
        if path not in was or (old, new) != (was[path][1], was[path][0]):
            found.append(
                Violation("repair", path, f"is not restored to what it was before {named.oid[:12]}")
            )
    return found


def _repaired(finding: Finding, commit: history.Commit, restored: set[str]) -> Finding:
    if finding.commit != commit.message.repairs or finding.repaired:
        return finding
    path = finding.violation.path
    return finding._replace(repaired=commit.oid) if not path or path in restored else finding


def repairs(store: Store, report: Report) -> list[tuple[Finding, dict[str, str | None] | None]]:
    """For each violating commit its first finding and the blobs to restore by path; None where
    later writes were built on it, so that it cannot be taken back."""
    found: list[tuple[Finding, dict[str, str | None] | None]] = []
    commits = {finding.commit: finding for finding in reversed(report.open)}
    broken: dict[str, set[str]] = {oid: set() for oid in commits}
    for finding in report.open:
        broken[finding.commit] |= {finding.violation.path} - {""}
    for oid, first in reversed(commits.items()):
        paths = broken[oid]
        before = history.one(store.git, oid) if oid else None
        was = {path: (old, new) for path, old, new in (before.changes if before else ())}
        now = store.snapshot()
        paths = _with_it(store, now, before, paths) if before else paths
        unread = (
            {path for path, mode in before.modes.items() if mode == FOLDER} if before else set()
        )
        restorable = all(path in was and _stands(now, path, was, path in unread) for path in paths)
        restorable = restorable and not any(_is_folder(store.git, was[path][0]) for path in paths)
        found.append((first, {path: was[path][0] for path in paths} if restorable else None))
    return found


def _with_it(store: Store, now: Snapshot, commit: history.Commit, paths: set[str]) -> set[str]:
    """The paths, and whatever else of the commit breaks a rule once these are taken back: the
    bytes of a record that goes, the result of a task that is open again. What is back already
    stays out."""
    above, width = history.parent(store.git, commit.oid), store.place.width
    walk = Walk(store.git, Snapshot(store.git, above, width) if above else None)
    rest = [change for change in commit.changes if now.blob(change[0]) != change[1]]
    while True:
        rest = [change for change in rest if change[0] not in paths]
        child = _Child(walk, commit._replace(changes=tuple(rest)))
        judged = (
            (change[0], judging.judge(walk, child, [change], commit.message)) for change in rest
        )
        more = {path for path, found in judged if any(violation.path for violation in found)}
        if not more:
            return paths
        paths = paths | more


def _is_folder(git: Git, oid: str | None) -> bool:
    """Whether what was there before is a folder that nobody looks into: it is nothing to be put
    back."""
    found = git.object(oid, SMALL) if oid else None
    return found is not None and found[1] == "tree"


def _stands(
    now: Snapshot, path: str, was: Mapping[str, tuple[str | None, str | None]], folder: bool
) -> bool:
    """Whether what a commit put at a path lies there still; `folder`: it put one that nobody looks
    into."""
    entry, new = now.entry(path), was[path][1]
    if entry is None or entry[0] != FOLDER or folder:
        return (entry[1] if entry else None) == new
    return new is None and any(
        other.startswith(f"{path}/") for other in was
    )  # it made the folder, too


def repair(
    finding: Finding, blobs: Mapping[str, str | None], git: Git, tree: Tree, writer: Writer
) -> Change:
    """The change that restores the last good bytes of what a commit had broken."""
    files: dict[str, bytes | None] = {}
    for path, oid in blobs.items():
        found = git.object(oid) if oid else None
        files[path] = found[2] if found else None
    subject = f"repair: {finding.commit[:12]} ({writer.session})"
    return Change(subject, files, repairs=finding.commit)

"""`verify`: walks the history and judges every commit by the rules that the writer used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ..model.change import Violation
from ..model.tree import Tree, object_id
from ..records import judging
from ..store import differences, history
from ..store.git import Git
from ..store.index import MOST, Index
from ..store.repo import Repo
from ..store.root import root_commit
from ..store.snapshot import Snapshot
from ..store.source import source
from ..store.store import Store
from ..store.trees import FOLDER, PLAIN
from .walk import Child, Walk

AHEAD = 250  # commits whose records are read at once


class Finding(NamedTuple):
    """A violation in a commit; `repaired` names the commit that put it right, if one did."""

    commit: str
    subject: str
    session: str | None
    violation: Violation
    repaired: str | None = None

    @property
    def to_restore(self) -> str:
        """The path at which a repair must put back what was; empty if there is nothing to put back,
        as for a merge by itself."""
        return "" if self.violation.rule == "linear" else self.violation.path


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
        """The findings that no later commit has repaired."""
        return [finding for finding in self.findings if finding.repaired is None]


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
    if start is not None and (
        index.seq(start) is None or not history.leads(store.git, start, head)
    ):
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
    walked = {commit.oid: commit for commit in commits}
    for at, commit in enumerate(commits):
        if at % AHEAD == 0:
            walk.ahead(commits[at : at + AHEAD])
        walk.stand(commit)
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
        if commit.lost:
            findings = _settled(findings, commit, walked)
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
    plain files only. A merge is told what of its lines goes no further."""
    root = object_id("commit", root_commit(width), width)
    if len(commit.parents) > 1:
        yield Violation("linear", "", f"a merge of {len(commit.parents)} histories")
    for path, line, blob in commit.lost:
        if blob:
            shown = f"atlas git show {line[:12]}:{path}"
            yield Violation("linear", path, f"another was taken in the merge: {shown}")
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
    path = finding.to_restore
    return finding._replace(repaired=commit.oid) if not path or path in restored else finding


def _settled(
    findings: Sequence[Finding], merge: history.Commit, walked: Mapping[str, history.Commit]
) -> list[Finding]:
    """The findings after a merge: what broke a rule in a file that another line's goes on in place
    of stands nowhere any more."""
    paths = {finding.violation.path for finding in findings if finding.repaired is None}
    gone: set[tuple[str, str]] = set()
    for path, line, _ in merge.lost:
        if path in paths:
            others = [parent for parent in merge.parents if parent != line]
            only = _behind([line], walked) - _behind(others, walked)
            gone |= {(oid, path) for oid in only}
    return [
        finding._replace(repaired=merge.oid)
        if finding.repaired is None and (finding.commit, finding.violation.path) in gone
        else finding
        for finding in findings
    ]


def _behind(tips: Sequence[str], walked: Mapping[str, history.Commit]) -> set[str]:
    """These commits, and all behind them, as far as they were walked."""
    seen, waiting = set[str](), list(tips)
    while waiting:
        oid = waiting.pop()
        if oid in walked and oid not in seen:
            seen.add(oid)
            waiting += walked[oid].parents
    return seen

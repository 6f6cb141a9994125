"""`check`: code commits judged by their trailers against the store's history.

Trailers, dates and names in a code commit are what its maker says; the order of the store is what
nobody can change afterwards. So the rules rest on that order. A rule that rests on a clock only
warns, but on a merge request: there the dates are still the author's own, while a merge button
writes its own into what it squashed.

- `session`: the history knows the session. (Clock: the commit was made in its life, give or take
  SLACK.)
- `read_first`: each `Atlas-Read` names an entry that the history has, with that blob; and the entry
  of another that superseded it, if any, came into the history after the session had begun, whose
  first look would have shown it. (Clock: nor was the commit made when the session must have known
  of that entry: after its own next write in the store, or `session_idle` after the entry, whichever
  was first.)
- `write_last`, on an integration branch: each session, or who adopted it, or one that it descends
  from, has an entry with a higher number than the highest that its commits name. If one session
  has handed over, those that have ended are covered by it, and live ones only warn.
- `leases` (clock): no changed path was leased, from SLACK before the commit to SLACK after it,
  outside its lineage.
- `links`: no relative link that worked before the commit is dead after it.
- `unattended`: the commit names a session. Merges that do, and what is older than the store, are
  only counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..model import names, times
from ..model.text import Record
from ..records import lease
from ..records.policy import seconds
from ..visible import named, theirs
from .commit import CodeCommit, Read

SLACK = 300  # seconds by which clocks may differ, or another's write may be under way
LEVELS = {"read_first": "stop", "write_last": "stop", "leases": "warn", "links": "stop"}


class Entry(NamedTuple):
    """A status entry: the place of its commit in the history, the moment, its blob, and the session
    that wrote it."""

    seq: int
    at: int
    blob: str
    session: str | None


class History(NamedTuple):
    """The store's history, since its first moment. `begins`: the place where a session came into
    it. `writes`: the (place, moment) of each of its commits. `leases`: by resource, its (moment,
    row) versions in order."""

    since: int
    sessions: Mapping[str, Record]
    begins: Mapping[str, int]
    writes: Mapping[str, Sequence[tuple[int, int]]]
    entries: Mapping[str, Mapping[int, Entry]]
    leases: Mapping[str, Sequence[tuple[int, Record]]] = {}

    def lineage(self, session: str) -> set[str]:
        """A session, and those that it descends from."""
        return {session, *self.sessions.get(session, {}).get("lineage", ())}

    def heirs(self, session: str) -> set[str]:
        """Its lineage, and those that adopted it: one of them owes the status."""
        heirs = self.lineage(session)
        heir = self.sessions.get(session, {}).get("adopted_by", "")
        while heir and heir not in heirs:
            heirs.add(heir)
            heir = self.sessions.get(heir, {}).get("adopted_by", "")
        return heirs


def _held(versions: Sequence[tuple[int, Record]], moment: int) -> Record | None:
    """The row of a lease that was held around that moment without changing hands."""
    before, after = (_in_force(versions, moment + slack) for slack in (-SLACK, SLACK))
    return after if before and after and before["token"] == after["token"] else None


def _in_force(versions: Sequence[tuple[int, Record]], moment: int) -> Record | None:
    row = next((row for at, row in reversed(versions) if at <= moment), None)
    return row if lease.holds(row, moment) else None


class Target(NamedTuple):
    """The branch that commits are for. `integration`: it is one that is handed over with a status.
    `request`: they are on the way to it, in a merge request."""

    integration: bool = False
    request: bool = False


class Finding(NamedTuple):
    """A rule that a commit breaks. `level` is `stop` or `warn`. `path` is empty if it is the commit
    itself that breaks it."""

    commit: CodeCommit
    rule: str
    level: str
    text: str
    path: str = ""


class Verdict(NamedTuple):
    """The findings of some commits. `judged` counts those that were judged by their trailers,
    `unattended` the others, by reason."""

    findings: tuple[Finding, ...]
    judged: int
    unattended: Mapping[str, int]

    @property
    def stops(self) -> list[Finding]:
        """The findings that stop."""
        return [finding for finding in self.findings if finding.level == "stop"]


Links = Callable[[CodeCommit], Iterable[tuple[str, str]]]
_Broken = Iterator[tuple[str, str, str, bool]]  # rule, text, path, whether it rests on a clock


def judge(
    commits: Sequence[CodeCommit],
    history: History,
    policy: Mapping[str, Any],
    target: Target,
    links: Links,
) -> Verdict:
    """Judges some commits, oldest first. `links` gives (path, text) of each link that a commit
    broke."""
    levels = {**LEVELS, **policy.get("preconditions", {}), "unattended": policy["unattended"]}
    levels["session"] = levels["read_first"]
    idle = seconds(policy, "session_idle")
    findings: list[Finding] = []
    counts = {"without a session": 0, "merges": 0, "older than the store": 0}

    def say(commit: CodeCommit, rule: str, text: str, path: str = "", soft: bool = False) -> None:
        level = "warn" if soft and levels[rule] == "stop" else levels[rule]
        if level in ("stop", "warn"):
            findings.append(Finding(commit, rule, level, text, path))

    for commit in commits:
        if not commit.sessions and max(commit.made, commit.at) < history.since:
            counts["older than the store"] += 1
        elif not commit.sessions:
            counts["without a session"] += 1
            say(commit, "unattended", "names no session")
        elif len(commit.parents) > 1:
            counts["merges"] += 1
        else:
            for rule, text, path, clock in _commit(commit, history, idle):
                say(commit, rule, text, path, clock and not target.request)
            for path, text in links(commit) if levels["links"] != "off" else ():
                say(commit, "links", text, path)
    for commit, text, soft in _owing(commits, history) if target.integration else ():
        say(commit, "write_last", text, soft=soft or target.request)
    return Verdict(tuple(findings), len(commits) - sum(counts.values()), counts)


def _commit(commit: CodeCommit, history: History, idle: int) -> _Broken:
    """The rules that a commit breaks, for each session that it names."""
    for session, reads in commit.sessions.items():
        if session not in history.begins:
            yield "session", f"the store's history has no session {session}", "", False
            continue
        yield from _life(commit, session, history)
        if not reads:
            yield "read_first", f"{session} names no status entry that it had read", "", False
        for read in sorted(reads):
            yield from _read(commit, session, read, history, idle)
        yield from _leased(commit, history, history.lineage(session)) if commit.own_dates else ()


def _leased(commit: CodeCommit, history: History, lineage: set[str]) -> _Broken:
    """The leases of others on what a commit changed. Most of thousands are passed over by the names
    of folders alone."""
    changed = set(commit.paths)
    above = {folder for path in changed for folder in _upwards(path)}
    for resource, versions in history.leases.items():
        kind, _, place = resource.partition(":")
        if kind == "path" and place not in above and changed.isdisjoint(_upwards(place)):
            continue
        row = _held(versions, commit.made)
        if row is None or row["holder"] in lineage:
            continue
        for path in commit.paths:
            if names.overlap(f"path:{path}", resource):
                holder, why = named(row["holder"]), theirs(row["why"])
                text = f"{resource} was held by {holder} until {row['expires']}: {why}"
                yield "leases", text, path, True
                break


def _upwards(path: str) -> Iterator[str]:
    """A path, and the folders that it lies in."""
    while path:
        yield path
        path = path.rpartition("/")[0]
    yield "."


def _life(commit: CodeCommit, session: str, history: History) -> _Broken:
    """Whether a commit was made in the life of the session that it names."""
    row = history.sessions.get(session, {})
    if "began" in row and max(commit.made, commit.at) + SLACK < times.moment(row["began"]):
        yield "session", f"was made before {session} began ({row['began']})", "", True
    ended = "ended" in row and commit.own_dates
    if ended and min(commit.made, commit.at) - SLACK > times.moment(row["ended"]):
        yield "session", f"was made after {session} had ended ({row['ended']})", "", True


def _read(commit: CodeCommit, session: str, read: Read, history: History, idle: int) -> _Broken:
    """Whether an entry that a session names was there, and still the current one."""
    entries = history.entries.get(read.stream, {})
    entry, number = entries.get(read.number), read.number + 1
    name = f"{read.stream}@{read.number}"
    if read.number and not (entry and read.blob and entry.blob.startswith(read.blob)):
        text = f"names {name}~{read.blob}, which the store's history does not have"
        yield "read_first", text, "", False
        return
    while number in entries and entries[number].session == session:
        number += 1  # one's own entry is known
    newer = entries.get(number)
    if newer and newer.seq < history.begins[session]:
        text = f"names {name}, but {read.stream}@{number} was there before {session} began"
        yield "read_first", text, "", False
    elif newer and commit.own_dates:
        own = (at for seq, at in history.writes.get(session, ()) if seq > newer.seq)
        known = min([*own, newer.at + idle])
        if min(commit.made, commit.at) > known:
            text = (
                f"names {name}, but {session} must have had {read.stream}@{number} by"
                f" {times.rfc3339(known)}"
            )
            yield "read_first", text, "", True


def _owing(
    commits: Sequence[CodeCommit], history: History
) -> Iterator[tuple[CodeCommit, str, bool]]:
    """(last commit, text, whether it only warns) of each session that owes the status an entry."""
    last: dict[str, CodeCommit] = {}
    seen: dict[str, dict[str, int]] = {}
    # A merge owes nothing, whatever it had read. It counts for a session that has only merged.
    for commit in sorted(commits, key=lambda commit: len(commit.parents) > 1):
        merge = len(commit.parents) > 1
        for session, reads in commit.sessions.items():
            if merge and session in last:
                continue
            numbers = seen.setdefault(session, {})
            for read in reads:
                numbers[read.stream] = max(read.number, numbers.get(read.stream, 0))
            if not merge and session in history.begins:
                last[session] = commit
    paid = set()
    for session, numbers in seen.items():
        if _paid(history, session, numbers or {"main": 0}):
            paid.add(session)
    for session, commit in last.items():
        covered = paid and "ended" in history.sessions.get(session, {})
        if session not in paid and not covered:
            entries = [f"{stream}@{number}" for stream, number in seen[session].items()]
            text = (
                f"{session} owes the status an entry after its last commit (it had read"
                f" {', '.join(entries) or 'nothing'})"
            )
            yield commit, text, bool(paid)


def _paid(history: History, session: str, numbers: Mapping[str, int]) -> bool:
    """Whether one of a session's heirs has written an entry after those that the session had
    read."""
    heirs = history.heirs(session)
    return any(
        number > read and entry.session in heirs
        for stream, read in numbers.items()
        for number, entry in history.entries.get(stream, {}).items()
    )

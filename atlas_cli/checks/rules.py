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
- `write_last`, on an integration branch: of each session that is over, a word stands behind its
  commits: its own, one of who adopted it since, or of one that it descends from. `Atlas-Word` names
  the newest word that was there when a commit was made; where it is missing, the entries that were
  read tell. One at work whose word is due by `word_within` only warns.
- `leases` (clock): no changed path was leased, by its own name or by one that means it by the
  policy, from SLACK before the commit to SLACK after it, outside its lineage.
- `links`: no relative link that worked before the commit is dead after it.
- `unattended`: the commit names a session. Merges that do, and what is older than the store, are
  only counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..model import names, times
from ..model.text import Record
from ..records import lease, resources, words
from ..records.policy import seconds
from ..records.words import Word
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
    words: Mapping[str, Sequence[Word]] = {}  # by session, oldest first
    now: int = 0

    def lineage(self, session: str) -> set[str]:
        """A session, and those that it descends from."""
        return {session, *self.sessions.get(session, {}).get("lineage", ())}

    def heard(self, session: str, seen: frozenset[str] = frozenset()) -> list[Word]:
        """The words that speak for a session: its own, those of the sessions that it descends from,
        and from its adoption on those of its heirs."""
        row = self.sessions.get(session, {})
        heard = [word for name in self.lineage(session) for word in self.words.get(name, ())]
        if (heir := row.get("adopted_by")) and heir not in seen and heir != session:
            since = times.moment(row["adopted"])
            later = self.heard(heir, seen | {session})
            heard += [word for word in later if word.at >= since]
        return sorted(set(heard))

    def over(self, session: str, last: int, idle: int) -> bool:
        """Whether a session, or who has adopted it, is over. `last` is the moment of its last sign
        outside the store."""
        row, seen = self.sessions.get(session, {}), {session}
        while (heir := row.get("adopted_by", "")) and heir not in seen:
            seen.add(heir)
            session, row = heir, self.sessions.get(heir, {})
        if "ended" in row:
            return True
        signs = [last, *(at for _, at in self.writes.get(session, ()))]
        return max(signs) + idle <= self.now


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
            for rule, text, path, clock in _commit(commit, history, policy):
                say(commit, rule, text, path, clock and not target.request)
            for path, text in links(commit) if levels["links"] != "off" else ():
                say(commit, "links", text, path)
    for commit, text, soft in _owing(commits, history, policy) if target.integration else ():
        say(commit, "write_last", text, soft=soft or target.request)
    return Verdict(tuple(findings), len(commits) - sum(counts.values()), counts)


def _commit(commit: CodeCommit, history: History, policy: Mapping[str, Any]) -> _Broken:
    """The rules that a commit breaks, for each session that it names."""
    idle = seconds(policy, "session_idle")
    for session, reads in commit.sessions.items():
        if session not in history.begins:
            yield "session", f"the store's history has no session {session}", "", False
            continue
        yield from _life(commit, session, history)
        if not reads:
            yield "read_first", f"{session} names no status entry that it had read", "", False
        for read in sorted(reads):
            yield from _read(commit, session, read, history, idle)
        if commit.own_dates:
            yield from _leased(commit, history, history.lineage(session), policy)


def _leased(
    commit: CodeCommit, history: History, lineage: set[str], policy: Mapping[str, Any]
) -> _Broken:
    """The leases of others on what a commit changed. Most of thousands are passed over by the names
    of folders alone."""
    changed = set(commit.paths)
    above = {folder for path in changed for folder in _upwards(path)}
    for resource, versions in history.leases.items():
        places = resources.parts(policy, resource)
        if not any(_is_near(place, changed, above) for place in places):
            continue
        row = _held(versions, commit.made)
        if row is None or row["holder"] in lineage:
            continue
        for path in commit.paths:
            if any(names.overlap(f"path:{path}", place) for place in places):
                holder, why = named(row["holder"]), theirs(row["why"])
                text = f"{resource} was held by {holder} until {row['expires']}: {why}"
                yield "leases", text, path, True
                break


def _is_near(resource: str, changed: set[str], above: set[str]) -> bool:
    """Whether a resource may lie on what was changed, or on a folder `above` it."""
    kind, _, place = resource.partition(":")
    if kind == "path":
        return place in above or not changed.isdisjoint(_upwards(place))
    return kind in ("glob", "repo")


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
    commits: Sequence[CodeCommit], history: History, policy: Mapping[str, Any]
) -> Iterator[tuple[CodeCommit, str, bool]]:
    """(newest commit, text, whether it only warns) of each session that owes a word: of one that is
    over, and of one at work whose word is due. A merge owes nothing."""
    made: dict[str, list[CodeCommit]] = {}
    for commit in commits:
        for session in commit.sessions if len(commit.parents) < 2 else ():
            if session in history.begins:
                made.setdefault(session, []).append(commit)
    for session, own in made.items():
        row, heard = history.sessions.get(session, {}), history.heard(session)
        works = [_work(commit, session, history, heard) for commit in own]
        owed = None if "dismissed" in row else words.debt(works, heard)
        if owed is None:
            continue
        newest = next(commit for commit in reversed(own) if _name(commit) in owed.names)
        last = max(commit.made for commit in own)
        if history.over(session, last, seconds(policy, "session_idle")):
            text = f"{session} is over, and no word speaks of {owed.text()} of it"
            yield newest, text, False
        elif words.due(owed, history.now, seconds(policy, "word_within")) <= history.now:
            yield newest, f"{session} is at work, and its word on {owed.text()} is due", True


def _name(commit: CodeCommit) -> str:
    return f"commit {commit.oid[:10]}"


def _work(commit: CodeCommit, session: str, history: History, heard: Sequence[Word]) -> words.Work:
    """A code commit as the work of a session. It was made after the entries that it names."""
    entries = (
        history.entries.get(read.stream, {}).get(read.number) for read in commit.sessions[session]
    )
    read = max((entry.seq for entry in entries if entry), default=0)
    after = words.known(heard, commit.words.get(session, ()), commit.made, read)
    return words.Work(_name(commit), commit.made, after, True, commit.subject)

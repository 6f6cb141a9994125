"""`check`: code commits judged by their trailers against the store's history.

Trailers, dates and names in a code commit are what its maker says; the order of the store is what
nobody can change afterwards. So the rules rest on that order. What rests on a clock only warns, but
on a merge request: there the dates are still the author's own, while a merge button writes its own
into what it squashed.

- `session`: the history knows the session. (Clock: the commit was made in its life, give or take
  SLACK.)
- `read_first`: each `Atlas-Read` names an entry that the history has, with that blob; and the entry
  of another that superseded it, if any, came into the history after the session had begun, whose
  first look would have shown it. (Clock: nor was the commit made when the session must have known
  of that entry: after its own next write in the store, or `session_idle` after the entry, whichever
  was first.)
- `write_last`, on an integration branch: each session, or who adopted it, or one that it descends
  from, has an entry with a higher number than the highest that its commits name. Where one session
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
from ..records import lease, policy
from ..visible import named, theirs
from .commit import Code, Read

SLACK = 300  # seconds by which clocks may differ, or another's write may be under way
LEVELS = {"read_first": "stop", "write_last": "stop", "leases": "warn", "links": "stop"}


class Entry(NamedTuple):
    """A status entry: its commit's place in the history and moment, its blob, and the session that
    wrote it."""

    seq: int
    at: int
    blob: str
    session: str | None


class Past(NamedTuple):
    """What the store's history says, since its first moment. `begins`: the place where a session
    came into it; `writes`: the (place, moment) of each of its commits; `leases`: by resource, its
    (moment, row) versions in order."""

    since: int
    sessions: Mapping[str, Record]
    begins: Mapping[str, int]
    writes: Mapping[str, Sequence[tuple[int, int]]]
    entries: Mapping[str, Mapping[int, Entry]]
    leases: Mapping[str, Sequence[tuple[int, Record]]] = {}

    def lineage(self, session: str) -> set[str]:
        return {session, *self.sessions.get(session, {}).get("lineage", ())}

    def heirs(self, session: str) -> set[str]:
        """Its lineage, and who adopted it: one of them owes the status."""
        found = self.lineage(session)
        while (
            session := self.sessions.get(session, {}).get("adopted_by", "")
        ) and session not in found:
            found.add(session)
        return found


def _held(versions: Sequence[tuple[int, Record]], moment: int) -> Record | None:
    """The row of a lease that was held around that moment without changing hands."""
    before, after = (_in_force(versions, moment + slack) for slack in (-SLACK, SLACK))
    return after if before and after and before["token"] == after["token"] else None


def _in_force(versions: Sequence[tuple[int, Record]], moment: int) -> Record | None:
    row = next((row for at, row in reversed(versions) if at <= moment), None)
    return row if lease.holds(row, moment) else None


class Where(NamedTuple):
    """`integration`: on, or on the way to, a branch that is handed over with a status; `request`:
    on the way."""

    integration: bool = False
    request: bool = False


class Finding(NamedTuple):
    """`level` is `stop` or `warn`; `path` is empty where it is the commit itself."""

    code: Code
    rule: str
    level: str
    text: str
    path: str = ""


class Verdict(NamedTuple):
    """`judged` commits by their trailers; the others are counted by reason."""

    findings: tuple[Finding, ...]
    judged: int
    unattended: Mapping[str, int]

    @property
    def stops(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.level == "stop"]


Links = Callable[[Code], Iterable[tuple[str, str]]]
_Said = Iterator[tuple[str, str, str, bool]]  # rule, text, path, whether it rests on a clock


def judge(
    codes: Sequence[Code], past: Past, rules: Mapping[str, Any], where: Where, links: Links
) -> Verdict:
    """All that is to be said of some commits, oldest first. `links` gives (path, text) of each link
    that one broke."""
    levels = {**LEVELS, **rules.get("preconditions", {}), "unattended": rules["unattended"]}
    levels["session"] = levels["read_first"]
    found: list[Finding] = []
    counts = {"without a session": 0, "merges": 0, "older than the store": 0}

    def say(code: Code, rule: str, text: str, path: str = "", soft: bool = False) -> None:
        level = "warn" if soft and levels[rule] == "stop" else levels[rule]
        if level in ("stop", "warn"):
            found.append(Finding(code, rule, level, text, path))

    for code in codes:
        if not code.sessions and max(code.made, code.at) < past.since:
            counts["older than the store"] += 1
        elif not code.sessions:
            counts["without a session"] += 1
            say(code, "unattended", "names no session")
        elif len(code.parents) > 1:
            counts["merges"] += 1
        else:
            for rule, text, path, clock in _commit(
                code, past, policy.seconds(rules, "session_idle")
            ):
                say(code, rule, text, path, clock and not where.request)
            for path, text in links(code) if levels["links"] != "off" else ():
                say(code, "links", text, path)
    for code, text, soft in _owing(codes, past) if where.integration else ():
        say(code, "write_last", text, soft=soft or where.request)
    return Verdict(tuple(found), len(codes) - sum(counts.values()), counts)


def _commit(code: Code, past: Past, idle: int) -> _Said:
    """What is to be said of a commit, for each session that it names."""
    for session, reads in code.sessions.items():
        if session not in past.begins:
            yield "session", f"the store's history has no session {session}", "", False
            continue
        yield from _life(code, session, past)
        if not reads:
            yield "read_first", f"{session} names no status entry that it had read", "", False
        for read in sorted(reads):
            yield from _read(code, session, read, past, idle)
        yield from _leased(code, past, past.lineage(session)) if code.own_dates else ()


def _leased(code: Code, past: Past, lineage: set[str]) -> _Said:
    """The leases of others on what a commit changed; most of thousands are told by the names of
    folders alone."""
    changed = set(code.paths)
    above = {one for path in changed for one in _upwards(path)}
    for resource, versions in past.leases.items():
        kind, _, place = resource.partition(":")
        if kind == "path" and place not in above and changed.isdisjoint(_upwards(place)):
            continue
        row = _held(versions, code.made)
        path = next(
            (path for path in code.paths if row and names.overlap(f"path:{path}", resource)), None
        )
        if row and path and row["holder"] not in lineage:
            what = (
                f"{resource} was held by {named(row['holder'])} until {row['expires']}:"
                f" {theirs(row['why'])}"
            )
            yield "leases", what, path, True


def _upwards(path: str) -> Iterator[str]:
    """A path, and the folders that it lies in."""
    while path:
        yield path
        path = path.rpartition("/")[0]
    yield "."


def _life(code: Code, session: str, past: Past) -> _Said:
    row = past.sessions.get(session, {})
    if "began" in row and max(code.made, code.at) + SLACK < times.moment(row["began"]):
        yield "session", f"was made before {session} began ({row['began']})", "", True
    if (
        "ended" in row
        and code.own_dates
        and min(code.made, code.at) - SLACK > times.moment(row["ended"])
    ):
        yield "session", f"was made after {session} had ended ({row['ended']})", "", True


def _read(code: Code, session: str, read: Read, past: Past, idle: int) -> _Said:
    """Whether an entry that a session names was there, and still the current one."""
    entries = past.entries.get(read.stream, {})
    what, entry, number = f"{read.stream}@{read.number}", entries.get(read.number), read.number + 1
    if read.number and not (entry and read.blob and entry.blob.startswith(read.blob)):
        yield (
            "read_first",
            f"names {what}~{read.blob}, which the store's history does not have",
            "",
            False,
        )
        return
    while number in entries and entries[number].session == session:
        number += 1  # one's own entry is known
    newer = entries.get(number)
    if newer and newer.seq < past.begins[session]:
        text = f"names {what}, but {read.stream}@{number} was there before {session} began"
        yield "read_first", text, "", False
    elif newer and code.own_dates:
        own = (at for seq, at in past.writes.get(session, ()) if seq > newer.seq)
        known = min([*own, newer.at + idle])
        if min(code.made, code.at) > known:
            text = (
                f"names {what}, but {session} must have had {read.stream}@{number} by"
                f" {times.rfc3339(known)}"
            )
            yield "read_first", text, "", True


def _owing(codes: Sequence[Code], past: Past) -> Iterator[tuple[Code, str, bool]]:
    """(last commit, text, whether it only warns) of each session that owes the status an entry."""
    last: dict[str, Code] = {}
    seen: dict[str, dict[str, int]] = {}
    for code in sorted(
        codes, key=lambda one: len(one.parents) > 1
    ):  # a merge owes nothing, whatever it had read:
        for session, reads in code.sessions.items():
            if (
                len(code.parents) > 1 and session in last
            ):  # it counts for who has done nothing but merge
                continue
            numbers = seen.setdefault(session, {})
            for read in reads:
                numbers[read.stream] = max(read.number, numbers.get(read.stream, 0))
            if len(code.parents) < 2 and session in past.begins:
                last[session] = code
    paid = {
        session for session, numbers in seen.items() if _paid(past, session, numbers or {"main": 0})
    }
    for session, code in last.items():
        if session not in paid and not (paid and "ended" in past.sessions.get(session, {})):
            named = (
                ", ".join(f"{stream}@{number}" for stream, number in seen[session].items())
                or "nothing"
            )
            yield (
                code,
                f"{session} owes the status an entry after its last commit (it had read {named})",
                bool(paid),
            )


def _paid(past: Past, session: str, numbers: Mapping[str, int]) -> bool:
    heirs = past.heirs(session)
    return any(
        number > read and entry.session in heirs
        for stream, read in numbers.items()
        for number, entry in past.entries.get(stream, {}).items()
    )

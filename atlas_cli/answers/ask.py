"""What commands ask of the whole store: corrections, who is at work, what is new to a reader. One
place, so that every command answers alike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .. import records
from ..errors import AtlasError, Usage
from ..model import names, times
from ..model.kind import Kind
from ..model.text import Record
from ..records import artifact, correction, lease, policy, session
from ..records.board import task
from ..store.git import Git
from ..store.index import Index
from ..store.notebook import Notebook
from ..store.snapshot import Snapshot
from ..visible import named, theirs
from .corrections import corrections

MOST = 10  # commits that are named for a path
WEEK = 7 * 86400
UNHONOURED = "what is taken under a date ahead of the others' is honoured late, or by nobody"
RECENT = 50  # commits by whose dates a clock is judged
SCAN = 1000  # versions that a digest looks through for what is new


class New(NamedTuple):
    """What is new to a reader: the newest versions, how many there are in all (`more` where not all
    were counted), how many older ones a new reader is spared, and the names that count once."""

    items: list[Record]
    total: int
    more: bool
    older: int
    noisy: dict[str, int]


class Questions:
    """Answers from the index and this clone's notebook, as of a moment."""

    def __init__(self, index: Index, local: Notebook, rules: Mapping[str, Any], now: int) -> None:
        self.index, self.local, self.rules, self.now = index, local, rules, now

    def corrections(self, ref: str) -> list[Record]:
        """The corrections of a record, oldest first; one that was itself retracted without its
        reason."""
        found = [
            {**record, "ref": correction.KIND.ref(path, record)}
            for path, record in corrections(self.index, ref)
        ]
        return [
            {**one, **dict.fromkeys(correction.KIND.words)} if self.retracted(one["ref"]) else one
            for one in found
        ]

    def retracted(self, ref: str) -> bool:
        return any(record["retract"] for _, record in corrections(self.index, ref))

    def shown(self, record: Record, ref: str = "") -> Record:
        """A record as anybody is shown it who has not asked for what was withdrawn: once it is
        retracted, its writers' words are None, and its corrections stand beside. Of a row these are
        the words that stood in it then: a lease that is taken anew has another's."""
        ref = ref or record["ref"]
        if not self.retracted(ref):
            return record
        kind = records.BY_NAME[ref.partition(":")[0]]
        words = [field for field in kind.words if field in record]
        if kind.row:
            found = corrections(self.index, ref)
            then = [self._as_retracted(kind, ref, path) for path, one in found if one["retract"]]
            words = [
                field
                for field in words
                if any(row.get(field, record[field]) == record[field] for row in then)
            ]
            if not words:
                return record
        return {**record, **dict.fromkeys(words), "corrections": self.corrections(ref)}

    def _as_retracted(self, kind: Kind, ref: str, correction_path: str) -> Record:
        """A row as it stood when a correction retracted it; empty where that cannot be read any
        more."""
        seq = self.index.written_in(correction_path)
        head = self.index.commits(1, after=seq - 1, upto=seq)[0][0]["oid"]
        tree = Snapshot(self.index.git, head, len(head))
        try:
            path = kind.find(tree, ref.partition(":")[2])
            return kind.parse(path, tree.read(path) or b"")
        except AtlasError:
            return {}

    def warnings(self, record: Record, say: Callable[[str], str] = theirs) -> list[str]:
        """What whoever sees a record must know: its caveat, its corrections, and what it relies on
        that is no more; `say`: how the words of others stand in it."""
        found = [f"caveat: {say(record['caveat'])}"] if record.get("caveat") else []
        found += [
            correction.shown(entry, self.now, say) for entry in self.corrections(record["ref"])
        ]
        for target in record.get("relies_on", ()):
            found += [
                f"relies on {named(target)}, which was {correction.shown(entry, self.now, say)}"
                for entry in self.corrections(target)
            ]
        return found

    def pulse(self, record: Record) -> tuple[int, str]:
        """(moment of the newest commit, `live`, `ended` or `expired`) of a session."""
        last = max(times.moment(record["began"]), self.index.last_at(record["id"]))
        if "ended" in record:
            return last, "ended"
        return last, "live" if self.over(record, last) > self.now else "expired"

    def over(self, record: Record, last: int) -> int:
        """The moment at which a session that wrote last at `last` is over, if it does nothing
        more."""
        idle = (
            0
            if record.get("class") == session.PERSON
            else policy.seconds(self.rules, "session_idle")
        )
        return min(session.until(record) or 0, last + idle) if idle else session.until(record) or 0

    def person(self, machine: str) -> Record | None:
        """The standing session of this clone's person."""
        rows = [
            row
            for _, row in self.index.live(session.FOLDER, self.now)
            if row.get("class") == session.PERSON
        ]
        rows = [
            row for row in rows if "ended" not in row
        ]  # (it may have ended at a moment that is still to come)
        return next((row for row in rows if row["machine"] == machine), None)

    def living(self, worktree: str) -> list[Record]:
        """The live sessions of a worktree, the newest first (not those that only run a command)."""
        rows = [
            row
            for _, row in self.index.live(session.FOLDER, self.now)
            if row.get("worktree") == worktree
        ]
        found = [
            row
            for row in rows
            if row.get("class") != "run" and "parent" not in row and self.pulse(row)[1] == "live"
        ]
        return sorted(found, key=lambda row: (row["began"], row["id"]), reverse=True)

    def alike(self, goal: str, mine: str | None) -> list[Record]:
        """Sessions that live, or ended within a day, with nearly this goal."""
        own = _words(goal)
        found = []
        for _, row in self.index.live(session.FOLDER, self.now - 86400):
            other = _words(row.get("goal", ""))
            if row["id"] != mine and own and 2 * len(own & other) > len(own | other):
                last, state = self.pulse(row)
                shown = self.shown({"ref": f"session:{row['id']}", **row})
                found.append({**shown, "state": state, "last": times.rfc3339(last)})
        return found

    def held(self, session_id: str) -> list[Record]:
        """The leases that a session holds now."""
        return [
            row for _, row in self.index.live(lease.FOLDER, self.now) if row["holder"] == session_id
        ]

    def dead(self, me: Record | None = None) -> list[Record]:
        """The dead letters, those first that this session (or its actor) posted, or a child of it
        had; each with `yours`."""
        found = []
        for _, row in self.index.live(task.FOLDER, task.NEVER):
            if task.own_state(row, self.now, self.rules) == "dead":
                posted = me is not None and (
                    row["session"] == me["id"] or row["actor"] == me["actor"]
                )
                child = me is not None and row.get("claim", {}).get("parent") == me["id"]
                yours = (
                    "you posted it"
                    if posted
                    else "a session that you started had it"
                    if child
                    else ""
                )
                found.append(
                    self.shown({"ref": f"task:{row['id']}", **row, "state": "dead", "yours": yours})
                )
        return sorted(found, key=lambda row: not row["yours"])

    def behind(self, machine: str) -> list[int]:
        """The newest moments that other machines have written at, where most of those that wrote
        lately lie further ahead of this clock than clocks may differ: two of them at least, since
        one may be wrong itself."""
        limit = self.now + times.SKEW
        newest = self._clocks(limit)
        newest.pop(machine, None)
        ahead = sorted(moment for moment in newest.values() if moment > limit)
        return ahead if len(ahead) > max(1, len(newest) - len(ahead)) else []

    def _clocks(self, limit: int) -> dict[str, int]:
        """By machine the newest moment that its sessions wrote at, from the first of the newest
        commits that lies behind `limit` on."""
        newest: dict[str, int] = {}
        for name, at in self.index.clocks(limit).items():
            if machine := self._machine(name):
                newest[machine] = max(at, newest.get(machine, 0))
        return newest

    def _machine(self, name: str) -> str:
        """The machine of a session; empty where it is not known."""
        row = self.index.readable(session.place(name)) if session.valid(name) else None
        return str(row["machine"]) if row else ""

    def ahead(self, machine: str) -> list[str]:
        """What the newest commits say of a clock of this machine that is, or was, ahead. Only their
        order tells for sure: who wrote behind it had seen what it is dated. In a store that was
        idle a clock that is ahead of all looks like a late hour; that is said from the moment on
        from which nobody would honour what it takes."""
        mine, others, behind = 0, dict[str, int](), list[str]()
        for row in self.index.commits(RECENT)[0]:
            by = self._machine(row["session"] or "")
            if row["at"] is None or not by:
                continue
            if by == machine and not mine:
                mine = row["at"]
                behind = [one for one, at in others.items() if at < mine - times.SKEW]
            elif by != machine:
                others[by] = max(row["at"], others.get(by, 0))
        here, newest = times.rfc3339(self.now), max(others.values(), default=self.now)
        if mine > self.now + times.SKEW:
            by = times.span(mine - self.now)
            return [
                f"what this machine wrote last is dated {by} ahead of its clock now ({here}):"
                f" {UNHONOURED}"
            ]
        if behind:
            by = times.span(mine - max(others[one] for one in behind))
            who = f"{len(behind)} other machine{'s' * (len(behind) > 1)}"
            return [
                f"this machine's clock ({here}) was ahead by {by} or more when it wrote last: {who}"
                f" wrote after it, and say less; set it right: {UNHONOURED}"
            ]
        if newest + lease.LONGEST < self.now:
            idle = times.span(self.now - newest)
            return [
                f"by this clock ({here}) no other machine has written for {idle}; where one has,"
                f" the clock is ahead: {UNHONOURED}"
            ]
        return []

    def unfinished(self) -> list[Record]:
        """Sessions of the last seven days that are over, wrote something, and never wrote the
        status after it."""
        found = []
        for _, record in self.index.live(session.FOLDER, self.now - 7 * 86400):
            last, state = self.pulse(record)
            if (
                state != "live"
                and record.get("class") != "run"
                and "adopted_by" not in record
                and not self.index.closed(record["id"])
            ):
                shown = self.shown(record, f"session:{record['id']}")
                found.append({**shown, "state": state, "last": times.rfc3339(last)})
        return found

    def new_to(self, me: Record | None, most: int | None = None) -> New:
        """Artifact versions that this reader has not opened, the newest first: those since a week
        before the first receipt; for a new reader those of seven days. A name put all the time
        counts once. `most`: for a digest."""
        known = self.local.known_to(me["actor"]) if me else set()
        first = self.local.reading_since(me["actor"]) if me else None
        horizon, day = (
            self.index.upto((first or self.now) - WEEK),
            self.index.upto(self.now - 86400),
        )
        unread: dict[str, list[tuple[int, str]]] = {}
        puts: Counter[str] = Counter()
        more = False
        for at, (seq, path) in enumerate(self.index.backwards(artifact.FOLDER)):
            more = most is not None and at >= SCAN and seq > horizon
            if more or seq <= horizon:
                break
            name, number = artifact.numbered(path)
            puts[name] += seq > day
            if ("artifact", name, number) not in known:
                unread.setdefault(name, []).append((seq, path))
        noisy = {
            name: count for name, count in puts.items() if count > artifact.NOISE and name in unread
        }
        paths = [
            one for name, found in unread.items() for one in (found[:1] if name in noisy else found)
        ]
        shown = [path for _, path in sorted(paths, reverse=True)[:most]]
        items = [
            self.shown({"ref": self.index.ref_of(path), **self.index.record(path)})
            for path in shown
        ]
        fresh = first is None or self.now - first < WEEK
        older = self.index.count(artifact.FOLDER, horizon) if fresh else 0
        return New(items, len(paths), more, older, noisy)

    def read_by(self, kind: str, id: str, number: int) -> list[str]:
        """The sessions that are known to have read a version: those that said so with a write, and
        this clone's."""
        return sorted(
            {*self.index.readers(f"{kind}:{id}@{number}"), *self.local.readers(kind, id, number)}
        )

    def corrected(self, me: Record | None, after: int | None) -> list[Record]:
        """The corrections after a commit (None: of the last seven days), those of what this reader
        relied on or has read first, the newest first; each with `touches`."""
        after = self.index.upto(self.now - WEEK) if after is None else after
        found = []
        for _, path, record in reversed(self.index.since(correction.FOLDER, after)):
            how = self._touches(me["actor"], record["target"]) if me else ""
            found.append(
                self.shown({"ref": correction.KIND.ref(path, record), **record, "touches": how})
            )
        return sorted(
            found, key=lambda one: ("you relied on", "you read", "").index(one["touches"])
        )

    def who(
        self, git: Git, mine: str | None, paths: list[str], hours: int = 24
    ) -> list[dict[str, Any]]:
        """Who is on these paths (from the root): live leases, live sessions that named or changed
        them, commits of the last hours on any branch of the user's repository. Rows of path, what,
        who, when, text."""
        from ..checks import commits

        now, found = self.now, []
        leases = [row for _, row in self.index.live(lease.FOLDER, now) if lease.holds(row, now)]
        sessions = [row for _, row in self.index.live(session.FOLDER, now) if row["id"] != mine]
        sessions = [row for row in sessions if self.pulse(row)[1] == "live"]
        # No session lives longer than a day, so what the live ones changed is among these.
        recent = commits.recent(git, paths, now - max(hours, 24) * 3600)
        for path in paths:
            on_it = [code for code, touched in recent if path in touched]
            changed = {name for code in on_it for name in code.sessions}
            for row in leases:
                if names.overlap(f"path:{path}", row["resource"]):
                    rest = times.span(lease.rest(row, now))
                    found.append(
                        {
                            "path": path,
                            "what": f"lease {row['resource']}",
                            "who": row["holder"],
                            "when": f"{rest} left",
                            "at": row["expires"],
                            **self._words(row, f"lease:{row['resource']}", "why"),
                        }
                    )
            for row in sessions:
                near = any(
                    names.overlap(f"path:{path}", f"path:{other}") for other in row.get("paths", ())
                )
                if near or row["id"] in changed:
                    found.append(
                        {
                            "path": path,
                            "what": "session" if near else "session (changed it)",
                            "who": row["id"],
                            "at": row["began"],
                            "when": times.ago(times.moment(row["began"]), now),
                            **self._words(row, f"session:{row['id']}", "goal"),
                        }
                    )
            late = [code for code in on_it if code.at >= now - hours * 3600]
            for code in late[:MOST]:
                found.append(
                    {
                        "path": path,
                        "what": f"commit {code.oid[:10]}",
                        "at": times.rfc3339(code.at),
                        "who": ", ".join(code.sessions) or code.author.rpartition(" <")[0],
                        "when": times.ago(code.at, now),
                        "text": code.subject,
                    }
                )
            if late[MOST:]:
                text = f"{len(late) - MOST} more commits: git log --all -- {path}"
                found.append(
                    {
                        "path": path,
                        "what": "commits",
                        "who": "-",
                        "at": None,
                        "when": "-",
                        "text": text,
                    }
                )
        return found

    def _words(self, record: Record, ref: str, field: str) -> Record:
        """What a record says in a field, as `text`; with its corrections where that is withheld."""
        found = self.shown(record, ref)
        more = {"corrections": found["corrections"]} if "corrections" in found else {}
        return {"text": found.get(field, "-"), **more}

    def news(self, me: Record) -> list[str]:
        """What a session must hear once: retractions of what it relied on or has read."""
        told, last = self.local.told(me["id"]), self.index.meta("head") or ""
        if told == last:
            return []
        found = []
        for _, path, found_one in self.index.since(
            correction.FOLDER, self.index.reached(told) or 0
        ):
            record = self.shown(found_one, correction.KIND.ref(path, found_one))
            others = record["retract"] and record["session"] != me["id"]
            if others and (how := self._touches(me["id"], record["target"])):
                found.append(
                    f"{named(record['target'])}, which {how}, was"
                    f" {correction.shown(record, self.now, theirs)}"
                )
        self.local.tell(me["id"], last)
        return found

    def _touches(self, who: str, target: str) -> str:
        """What a session, or all sessions of an actor, have to do with a record: `you relied on`,
        `you read`, or nothing."""
        if any(
            who in (record["session"], record["actor"])
            for _, record in self.index.pointing(target, "relies_on")
        ):
            return "you relied on"
        try:
            ref = records.ref(target)
        except Usage:  # a hand may have written anything there
            return ""
        return "you read" if self.local.has_read(who, ref.kind, ref.id, ref.number or 0) else ""


def _words(goal: str) -> set[str]:
    """What two goals are compared by."""
    return set(re.findall(r"\w{2,}", goal.lower()))

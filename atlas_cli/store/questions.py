"""What commands ask of the whole store: corrections, who is at work, what is new to a reader. One place, so that every
command answers alike."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .. import records
from ..errors import Usage
from ..records import artifact, correction, lease, names, policy, session, times
from ..records.text import Record
from .index import Index
from .local import Local


class Questions:
    """Answers from the index and this clone's notebook, as of a moment."""

    def __init__(self, index: Index, local: Local, rules: Mapping[str, Any], now: int) -> None:
        self.index, self.local, self.rules, self.now = index, local, rules, now

    def corrections(self, ref: str) -> list[Record]:
        """The corrections of a record, oldest first."""
        return [
            {**record, "ref": correction.ref(path, record)} for path, record in self.index.pointing(ref, "corrects")
        ]

    def retracted(self, ref: str) -> bool:
        return any(found["retract"] for found in self.corrections(ref))

    def warnings(self, record: Record) -> list[str]:
        """What whoever sees a record must know: its caveat, its corrections, and what it relies on that is no more."""
        found = [f"caveat: {record['caveat']}"] if record.get("caveat") else []
        found += [correction.shown(entry) for entry in self.corrections(record["ref"])]
        for target in record.get("relies_on", ()):
            found += [f"relies on {target}, which was {correction.shown(entry)}" for entry in self.corrections(target)]
        return found

    def pulse(self, record: Record) -> tuple[int, str]:
        """(moment of the newest commit, `live`, `ended` or `expired`) of a session."""
        last = max(times.moment(record["began"]), self.index.last_at(record["id"]))
        if "ended" in record:
            return last, "ended"
        over = min(session.until(record) or 0, last + policy.seconds(self.rules, "session_idle"))
        return last, "live" if over > self.now else "expired"

    def living(self, worktree: str) -> list[Record]:
        """The live sessions of a worktree, the newest first (not those that only run a command)."""
        rows = [row for _, row in self.index.live(session.FOLDER, self.now) if row.get("worktree") == worktree]
        found = [
            row for row in rows if row.get("class") != "run" and "parent" not in row and self.pulse(row)[1] == "live"
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
                found.append({"ref": f"session:{row['id']}", **row, "state": state, "last": times.rfc3339(last)})
        return found

    def held(self, session_id: str) -> list[Record]:
        """The leases that a session holds now."""
        return [row for _, row in self.index.live(lease.FOLDER, self.now) if row["holder"] == session_id]

    def unfinished(self) -> list[Record]:
        """Sessions of the last seven days that are over, wrote something, and never wrote the status after it."""
        found = []
        for _, record in self.index.live(session.FOLDER, self.now - 7 * 86400):
            last, state = self.pulse(record)
            if (
                state != "live"
                and record.get("class") != "run"
                and "adopted_by" not in record
                and not self.index.closed(record["id"])
            ):
                found.append({**record, "state": state, "last": times.rfc3339(last)})
        return found

    def new_to(self, me: Record | None) -> list[Record]:
        """Artifact versions that this reader has not opened; a new reader gets those of the last seven days."""
        known = self.local.known_to(me["actor"]) if me else set()
        week = self.now - 7 * 86400
        found = []
        for path, record in self.index.newest(artifact.FOLDER, 200):
            fresh = times.moment(record["at"]) >= week
            mine = me is not None and record["session"] == me["id"]
            if fresh and not mine and ("artifact", record["name"], record["number"]) not in known:
                found.append({"ref": artifact.ref(path, record), **record})
        return found

    def who(self, where: str, mine: str | None, paths: list[str], hours: int = 24) -> list[dict[str, Any]]:
        """Who is on these paths (from the root): live leases, live sessions that named them, commits of the last
        hours on any branch of the repository at `where`. Rows of path, what, who, when, text."""
        from . import commits

        now, found = self.now, []
        for path in paths:
            for _, row in self.index.live(lease.FOLDER, now):
                if names.overlap(f"path:{path}", row["resource"]):
                    rest = times.span((lease.until(row) or 0) - now)
                    found.append({"path": path, "what": f"lease {row['resource']}", "who": row["holder"],
                                  "when": f"{rest} left", "at": row["expires"], "text": row["why"]})  # fmt: skip
            for _, row in self.index.live(session.FOLDER, now):
                near = any(names.overlap(f"path:{path}", f"path:{other}") for other in row.get("paths", ()))
                if near and row["id"] != mine and self.pulse(row)[1] == "live":
                    found.append({"path": path, "what": "session", "who": row["id"], "at": row["began"],
                                  "when": f"since {row['began']}",
                                  "text": row.get("goal", "-")})  # fmt: skip
            for commit in commits.recent(where, [path], now - hours * 3600, 10):
                found.append({"path": path, "what": f"commit {commit['commit'][:10]}",
                              "who": commit["session"] or commit["author"], "at": times.rfc3339(commit["at"]),
                              "when": times.ago(commit["at"], now),
                              "text": commit["subject"]})  # fmt: skip
        return found

    def news(self, me: Record) -> list[str]:
        """What a session must hear once: retractions of what it relied on or has read."""
        told, last = self.local.told(me["id"]), self.index.last_seq()
        if told == last:
            return []
        found = []
        for _, _, record in self.index.since(correction.FOLDER, told):
            if record["retract"] and record["session"] != me["id"] and (how := self._touches(me, record["target"])):
                found.append(f"{record['target']}, which {how}, was {correction.shown(record)}")
        self.local.tell(me["id"], last)
        return found

    def _touches(self, me: Record, target: str) -> str:
        """What a session has to do with a record: `you relied on`, `you read`, or nothing."""
        if any(record["session"] == me["id"] for _, record in self.index.pointing(target, "relies_on")):
            return "you relied on"
        try:
            ref = records.ref(target)
        except Usage:  # a hand may have written anything there
            return ""
        if self.local.has_read(me["id"], ref.kind, ref.id, ref.number or 0):
            return "you read"
        return ""


def _words(goal: str) -> set[str]:
    """What two goals are compared by."""
    return set(re.findall(r"\w{2,}", goal.lower()))

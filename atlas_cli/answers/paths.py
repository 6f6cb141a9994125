"""The sessions, leases and commits on a path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..model import names, times
from ..model.text import Record
from ..records import lease, resources, session, signal
from ..store.git import Git
from . import sessions, touched
from .ask import WEEK, Questions

if TYPE_CHECKING:
    from ..checks.commits import Ahead, Touch

MOST = 10  # commits that are named for a path
PLACES = 4  # paths that are named for a session
DAY = 24  # hours
AHEAD = " (pushed, not in this clone yet)"


class _Known(NamedTuple):
    """All that is looked through for each path."""

    leases: list[Record]
    sessions: list[Record]  # the live ones, but the reader's
    commits: list[Touch]
    signals: list[tuple[str, Record]]  # (REF, signal) of the last seven days about a path


def who(
    ask: Questions,
    git: Git,
    mine: str | None,
    paths: list[str],
    hours: int = DAY,
    ahead: Ahead | None = None,
) -> list[Record]:
    """The users of these paths (from the root): live leases, live sessions that named or changed
    them, signals of the last seven days about them, commits that only the remote has (`ahead`), and
    those of the last hours on any branch of the user's repository. Rows of path, what, who, when,
    at, text."""
    from ..checks import commits

    leases = [row for _, row in ask.index.live(lease.FOLDER, ask.now) if lease.holds(row, ask.now)]
    # No session lives longer than a day, so what the live ones changed is among these.
    recent = commits.recent(git, paths, ask.now - max(hours, DAY) * 3600, ahead)
    known = _Known(leases, _others(ask, mine), recent, _signals(ask))
    return [row for path in paths for row in _on(ask, path, known, hours)]


def at_work(ask: Questions, mine: str | None) -> list[Record]:
    """The live sessions but the reader's, in the same rows: each with all that it named, leased or
    claimed for its path."""
    rows = sorted(_others(ask, mine), key=lambda row: (row["began"], row["id"]), reverse=True)
    users = []
    for row in rows:
        places = sorted(place.removeprefix("path:") for place in touched.named(ask, row))
        more = f" and {len(places) - PLACES} more" if places[PLACES:] else ""
        path = f"{', '.join(places[:PLACES])}{more}" or "-"
        users.append({**_session(ask, path, row, True), "paths": places})
    return users


def _others(ask: Questions, mine: str | None) -> list[Record]:
    """The live sessions but the reader's."""
    rows = (row for _, row in ask.index.live(session.FOLDER, ask.now) if row["id"] != mine)
    return [row for row in rows if sessions.pulse(ask, row)[1] == "live"]


def _on(ask: Questions, path: str, known: _Known, hours: int) -> Iterator[Record]:
    touches = [touch for touch in known.commits if path in touch.paths]
    changed = {name for touch in touches for name in touch.commit.sessions}
    for row in known.leases:
        if resources.meet(ask.policy, f"path:{path}", row["resource"]):
            yield _lease(ask, path, row)
    for row in known.sessions:
        near = any(names.overlap(f"path:{path}", f"path:{other}") for other in row.get("paths", ()))
        if near or row["id"] in changed:
            yield _session(ask, path, row, near)
    for ref, row in known.signals:
        if names.overlap(f"path:{path}", row["about"]):
            yield _signal(ask, path, ref, row)
    since = ask.now - hours * 3600
    yield from _commits(
        ask, path, [row for row in touches if row.commit.at >= since or not row.here]
    )


def _signals(ask: Questions) -> list[tuple[str, Record]]:
    since = ask.index.since(signal.FOLDER, ask.index.upto(ask.now - WEEK))
    return [
        (signal.KIND.ref(file, row), row)
        for _, file, row in reversed(since)
        if row.get("about", "").startswith("path:")
    ]


def _signal(ask: Questions, path: str, ref: str, row: Record) -> Record:
    return {
        "path": path,
        "what": f"signal {row['kind']}",
        "who": row["session"],
        "at": row["at"],
        "when": times.ago(times.moment(row["at"]), ask.now),
        **_text(ask, row, ref, "text"),
    }


def _lease(ask: Questions, path: str, row: Record) -> Record:
    return {
        "path": path,
        "what": f"lease {row['resource']}",
        "who": row["holder"],
        "when": f"{times.span(lease.rest(row, ask.now))} left",
        "at": row["expires"],
        **_text(ask, row, f"lease:{row['resource']}", "why"),
    }


def _session(ask: Questions, path: str, row: Record, near: bool) -> Record:
    return {
        "path": path,
        "what": "session" if near else "session (changed it)",
        "who": row["id"],
        "at": row["began"],
        "when": times.ago(times.moment(row["began"]), ask.now),
        **_text(ask, row, f"session:{row['id']}", "goal"),
    }


def _commits(ask: Questions, path: str, touches: list[Touch]) -> Iterator[Record]:
    for code, _, here in touches[:MOST]:
        yield {
            "path": path,
            "what": f"commit {code.oid[:10]}{'' if here else AHEAD}",
            "at": times.rfc3339(code.at),
            "who": ", ".join(code.sessions) or code.author.rpartition(" <")[0],
            "when": times.ago(code.at, ask.now),
            "text": code.subject,
        }
    if touches[MOST:]:
        text = f"{len(touches) - MOST} more commits: git log --all -- {path}"
        yield {"path": path, "what": "commits", "who": "-", "at": None, "when": "-", "text": text}


def _text(ask: Questions, record: Record, ref: str, field: str) -> Record:
    """The words of a field, as `text`; with the record's corrections where they are withheld."""
    shown = ask.shown(record, ref)
    row = {"text": shown.get(field, "-")}
    if "corrections" in shown:
        row["corrections"] = shown["corrections"]
    return row

"""Draws the hooks' cache: what the store says now, as the lines from which a git hook answers."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from ..answers import sessions
from ..answers.ask import Questions
from ..env.env import Env
from ..model.text import Record
from ..model.tree import Tree
from ..records import correction, lease, policy, session, status
from ..store import files
from ..store.notebook import Notebook
from . import cache
from .cache import line

NEVER = 30 * 86400  # seconds that a cache holds in which nothing changes by time


def draw(ask: Questions, tree: Tree, head: str) -> str:
    """The cache's text, as of a head and of the moment that the questions are asked at."""
    now, settings = ask.now, ask.policy
    entries = {
        stream: _entry(tree, stream, status.newest(tree, stream))
        for stream in dict.fromkeys(["main", *settings["streams"]])
    }
    lines = [
        line("level", key, policy.level(settings, key)) for key in policy.KEYS["preconditions"][0]
    ]
    lines += [line("integration", branch) for branch in settings["integration"]]
    lines += [line("stream", stream, *entry) for stream, entry in entries.items()]
    rows = {row["id"]: row for _, row in ask.index.live(session.FOLDER, now)}
    ends = {id: sessions.over(ask, row, sessions.pulse(ask, row)[0]) for id, row in rows.items()}
    alive = {id: end for id, end in ends.items() if end > now}
    retracted = {leaning[0] for leaning in ask.index.leaning(correction.FOLDER)}
    for id, end in alive.items():
        lines.append(_session_line(rows[id], end, id in retracted))
        for stream in entries:
            if entry := glimpsed(ask.local, tree, id, stream):
                lines.append(line("seen", id, stream, *entry))
    lines += [line("begun", *begun) for begun in ask.local.everyone() if begun[2] in alive]
    leases, changes = _lease_lines(ask, now)
    until = min([now + NEVER, *alive.values(), *changes])
    return "\n".join([cache.FORMAT, line("head", head, now, until), *lines, *leases, "end"])


def _session_line(row: Record, end: int, leans: bool) -> str:
    """The line of a live session, which is over at `end` unless it is heard of."""
    kind = row.get("class", "work")
    if kind not in ("run", session.PERSON):
        kind = "child" if "parent" in row else "work"
    lineage = " ".join(row.get("lineage", ()))
    relies = "retracted" if leans else "-"
    return line("session", row["id"], kind, row.get("worktree", ""), end, lineage, relies)


def _lease_lines(ask: Questions, now: int) -> tuple[list[str], list[int]]:
    """The lines of the leases on paths that hold now, and the moments at which one begins or
    ends."""
    lines, changes = [], []
    for _, row in ask.index.live(lease.FOLDER, now):
        if row["resource"].startswith(("path:", "glob:", "repo:")):
            first = lease.honoured_from(row)
            changes.append(first if first > now else lease.until(row) or 0)
            if lease.holds(row, now):
                lines.append(line("lease", row["resource"], row["holder"], lease.until(row)))
    return lines, changes


def keep(home: Path, text: str) -> None:
    """Puts a cache in place, whole or not at all. If nothing can be written, the hooks look for
    themselves."""
    with suppress(OSError):
        files.put(home / cache.FILE, text.encode(errors="surrogatepass"))


def keep_up(env: Env) -> None:
    """Draws the cache anew from which the hooks answer."""
    keep(env.store.home, draw(env.ask, env.snapshot, env.snapshot.head or ""))


def _entry(tree: Tree, stream: str, number: int) -> tuple[int, str]:
    """(number, blob) of a status entry; (0, "") for number 0."""
    return number, (tree.blob(status.path_of(stream, number)) or "") if number else ""


def glimpsed(local: Notebook, tree: Tree, id: str, stream: str) -> tuple[int, str] | None:
    """(number, blob) of the newest entry that a session has read, or that a hook has printed for
    it. It counts only while it is still there as it was."""
    seen = {*local.seen(id, "status", stream), *local.seen(id, "glance", stream)}
    for number, blob in sorted(seen, reverse=True):
        if tree.blob(status.path_of(stream, number)) == blob:
            return number, blob
    return None

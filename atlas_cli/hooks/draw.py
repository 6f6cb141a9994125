"""Draws the hooks' cache: what the store says now, as the lines from which a git hook answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ..answers import concern, corrections, sessions, words
from ..answers.ask import Questions
from ..env.env import Env
from ..model import times
from ..model.text import Record
from ..model.tree import Tree
from ..records import lease, policy, resources, session, status, telling
from ..records.concern import Item, View
from ..records.telling import News
from ..store import files
from ..store.notebook import Notebook
from . import cache
from .cache import line

NEVER = 30 * 86400  # seconds that a cache holds in which nothing changes by time


def draw(ask: Questions, tree: Tree, head: str, machine: str) -> str:
    """The cache's text, as of a head and of the moment that the questions are asked at. Of what is
    new, only the sessions of this clone (`machine`) are known."""
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
    retracted = {leaning[0] for leaning in corrections.leaning(ask.index)}
    for id, end in alive.items():
        shown = max(times.moment(rows[id]["began"]), ask.index.last_at(id))
        word = words.newest(ask, rows[id])
        lines.append(_session_line(rows[id], end, id in retracted, word, shown))
        for stream in entries:
            if entry := glimpsed(ask.local, tree, id, stream):
                lines.append(line("seen", id, stream, *entry))
    here = [rows[id] for id in alive if rows[id]["machine"] == machine]
    lines += _news(ask, tree, here)
    lines += [line("on", row["id"], *concern.declared(ask, row)) for row in here]
    lines += [line("begun", *begun) for begun in ask.local.everyone() if begun[2] in alive]
    leases, changes = _lease_lines(ask, now)
    until = min([now + NEVER, *alive.values(), *changes])
    return "\n".join([cache.FORMAT, line("head", head, now, until), *lines, *leases, "end"])


def _session_line(row: Record, end: int, leans: bool, word: str, shown: int) -> str:
    """The line of a live session, which is over at `end` unless it is heard of. `word` is the
    operation of its newest word. Others last saw a sign of it at `shown`."""
    kind = row.get("class", "work")
    if kind not in ("run", session.PERSON):
        kind = "child" if "parent" in row else "work"
    lineage = " ".join(row.get("lineage", ()))
    relies = "retracted" if leans else "-"
    where = row.get("worktree", "")
    return line("session", row["id"], kind, where, end, lineage, relies, word, shown)


def _news(ask: Questions, tree: Tree, sessions: list[Record]) -> Iterator[str]:
    """The lines of what is new: the paths of each section and record, and for each session whether
    only the whole program can judge it, from when on it must look, and what it has not read."""
    whole = concern.items(ask, tree)
    at = {item.key: number for number, item in enumerate(whole)}
    for number, item in enumerate(whole):
        paths = [to.removeprefix("path:") for to in item.to if to.startswith("path:")]
        if paths := [*item.on, *item.about, *paths]:
            yield line("item", number, *(path.rstrip("/") for path in paths))
    for me in sessions:
        rows = _unread(ask, me, whole)
        asks = any(not row.known or row.due for row in rows)
        unseen = any(row.known < telling.HEADED for row in rows)
        pace = concern.pace(ask, me)
        look = pace.told + pace.look_within if unseen else 0
        news = [*(row.item for row in rows), *concern.quiet(ask, me, whole)]
        numbers = dict.fromkeys(at[item.key] for item in news)
        yield line("news", me["id"], int(asks), look, *numbers)


def _unread(ask: Questions, me: Record, whole: list[Item]) -> list[News]:
    """The items that a session does not know, by what the store tells of it."""
    rows = concern.news(ask, me, View(me["id"]), whole)
    if not all(row.known for row in rows) or not (rows or any(item.target for item in whole)):
        return rows
    return concern.news(ask, me, concern.view(ask, me), whole)


def _lease_lines(ask: Questions, now: int) -> tuple[list[str], list[int]]:
    """The lines of the leases on paths that hold now, and the moments at which one begins or
    ends."""
    lines, changes = [], []
    for _, row in ask.index.live(lease.FOLDER, now):
        places = [part for part in resources.parts(ask.policy, row["resource"]) if _is_place(part)]
        if places:
            first = lease.honoured_from(row)
            changes.append(first if first > now else lease.until(row) or 0)
            if lease.holds(row, now):
                lines += [line("lease", part, row["holder"], lease.until(row)) for part in places]
    return lines, changes


def _is_place(resource: str) -> bool:
    return resource.startswith(("path:", "glob:", "repo:"))


def keep(home: Path, text: str) -> None:
    """Puts a cache in place, whole or not at all. If nothing can be written, the hooks look for
    themselves."""
    with suppress(OSError):
        files.put(home / cache.FILE, text.encode(errors="surrogatepass"))


def keep_up(env: Env) -> None:
    """Draws the cache anew from which the hooks answer."""
    text = draw(env.ask, env.snapshot, env.snapshot.head or "", env.store.machine)
    keep(env.store.home, text)


def _entry(tree: Tree, stream: str, number: int) -> tuple[int, str]:
    """(number, blob) of a status entry; (0, "") for number 0."""
    return number, (tree.blob(status.path_of(stream, number)) or "") if number else ""


def glimpsed(local: Notebook, tree: Tree, id: str, stream: str) -> tuple[int, str] | None:
    """(number, blob) of the newest entry that a session has read or seen a part of, or of which it
    was told what concerns it. It counts only while it is still there as it was."""
    seen = {
        entry for kind in ("status", "glance", "look") for entry in local.seen(id, kind, stream)
    }
    for number, blob in sorted(seen, reverse=True):
        if tree.blob(status.path_of(stream, number)) == blob:
            return number, blob
    return None

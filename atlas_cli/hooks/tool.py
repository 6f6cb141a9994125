"""The call of an AI tool's hook, before anything is loaded that costs: what it was given, who
calls, and the quick answer to an edit, which only ever says nothing.

A tool may make hundreds of edits an hour, and few of them meet anything."""

from __future__ import annotations

import _json
import os
import select
import sys
import time
from os.path import basename, dirname, exists, join, realpath

from .. import callers, signs
from . import cache, fetching
from .quick import Here

TYPE_CHECKING = False
if TYPE_CHECKING:  # (not from `typing`: that costs as much as a whole hook)
    from typing import Any

    Given = dict[str, Any]

WAIT, MOST = 2.0, 16_000_000  # seconds and bytes of input that are waited for
_ID = callers.TOOLS[0][1]  # the `session_id` that hooks are given, as the tool's commands have it
_SPACE = " \t\n\r"


class _Plain:
    """The choices of a JSON reader that makes plain values: its scanner alone is no import."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float = parse_constant = float
    parse_int = int


def read() -> bytes:
    """The standard input; of one that is never closed, up to the end of its object."""
    data, until = bytearray(), time.monotonic() + WAIT
    if sys.stdin is None or os.isatty(0):
        return b""
    while len(data) < MOST and select.select([0], [], [], max(0.0, until - time.monotonic()))[0]:
        part = os.read(0, 1 << 20)
        data += part
        if not part or (part.rstrip().endswith(b"}") and parsed(bytes(data)) is not None):
            break
    return bytes(data)


def parsed(data: bytes) -> Given | None:
    """The object that a text is in JSON; None if it is none."""
    try:
        text = data.decode().strip(_SPACE)
        value, end = _json.make_scanner(_Plain())(text, 0)  # type: ignore[arg-type]
    except (ValueError, StopIteration, RecursionError):
        return None
    return value if isinstance(value, dict) and end == len(text) else None


def name_caller(given: Given) -> None:
    """Makes this process the caller that the tool's commands are."""
    id = given.get("session_id")
    if not isinstance(id, str) or not id or not id.isprintable():
        return
    others = any(os.environ.get(key) for _, key, *_ in callers.TOOLS if key and key != _ID)
    if others and not os.environ.get(_ID):
        return
    agent = given.get("agent_id")
    if isinstance(agent, str) and agent:
        os.environ[callers.AGENT] = agent
    file = os.environ.get("CLAUDE_ENV_FILE")
    if file and os.environ.get(_ID) != id:  # a tool that does not tell its commands the id itself
        import shlex

        try:
            with open(file, "a", encoding="utf-8") as out:
                out.write(f"export {_ID}={shlex.quote(id)}\n")
        except OSError:
            pass  # the tool's own matter
    os.environ[_ID] = id


def edited(given: Given) -> str:
    """The path of the file that a tool is about to change; empty if it names none."""
    put = given.get("tool_input")
    path = (put.get("file_path") or put.get("notebook_path")) if isinstance(put, dict) else None
    return path if isinstance(path, str) else ""


def quick_edit(given: Given) -> bool:
    """Whether there is nothing to say about an edit, for certain. False leaves it to the full
    program."""
    if not (path := edited(given)):
        return True
    name = basename(path)
    if callers.agent() or name in ("", ".", ".."):
        return False
    folder = realpath(join(str(given.get("cwd") or "."), dirname(path)))
    top = _top(folder)
    if not top:
        return False
    here = Here(f"{top}/.git")
    stored = here.store()
    if not stored:
        return stored is False
    known = cache.current(here.home)
    if known is None or exists(f"{top}/.atlas/outbox/waiting.bundle"):
        return False
    worktree = os.fsencode(top).decode(errors="backslashreplace")
    tool = bool(callers.tool())
    me = known.who(os.environ.get("ATLAS_SESSION"), worktree, callers.caller(), tool)
    if me is None or not _is_clear(known, me, here.home, f"{folder}/{name}"[len(top) + 1 :]):
        return False
    signs.note(here.home, me.id)
    fetching.start(here.home)
    return True


def _is_clear(known: cache.HookCache, me: cache.Session, home: str, path: str) -> bool:
    """Whether no lease of another lies on a path, and nothing new to the session concerns it."""
    if known.levels["leases"] != "off" and known.leased(path, me):
        return False
    if known.levels["read_first"] == "off":
        return True
    return not known.meets(me, [path]) and (not me.asks or looked(home, me.id) == known.head)


def _top(folder: str) -> str:
    """The top of the worktree that a folder lies in; empty if it is not seen to lie in one."""
    while not exists(f"{folder}/.git"):
        above = dirname(folder)
        if above == folder:
            return ""
        folder = above
    return folder


def looked(home: str, session: str) -> str:
    """The head of the store at which nothing was found that concerns a session."""
    try:
        with open(_look(home, session), encoding="ascii") as file:
            return file.read()
    except OSError:
        return ""


def note_look(home: str, session: str, head: str) -> None:
    """Notes that nothing which concerns a session is new to it at a head of the store."""
    try:
        with open(_look(home, session), "w", encoding="ascii") as out:
            out.write(head)
    except OSError:
        return  # looked at anew, next time


def _look(home: str, session: str) -> str:
    return f"{home}/{signs.FOLDER}/{session}.look"

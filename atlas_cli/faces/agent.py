"""The commands that an AI tool's own hooks call: `atlas-hook session-start | session-end | edit`.
They speak the tool's JSON or say nothing, never wait for input, and end with 0 whatever happens: a
tool must not fail for Atlas."""

from __future__ import annotations

import contextlib
import io
import json
import os
import select
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import callers, interrupts
from ..answers import sessions
from ..env import reading, who, writing
from ..env.env import Env, Options
from ..model import names, times
from ..model.text import Record
from ..records import correction, lease
from ..records.board import assigning
from ..sharing import parked
from ..sharing.dealing import EAGER
from ..visible import named, theirs, visible

if TYPE_CHECKING:
    from ..call import Answer

Given = dict[str, Any]
_ID = callers.TOOLS[0][1]  # the `session_id` that hooks are given, as the tool's commands have it
_WAIT, _MOST = 2.0, 16_000_000  # seconds and bytes of input that are waited for
_CONTEXT = 9500  # characters: above 10,000 the tool keeps back all but the first 2,000


def run(name: str) -> None:
    """The entry point."""
    reply = None
    interrupts.hold()
    with contextlib.suppress(Exception, KeyboardInterrupt):
        given = _given()
        _named(given)
        reply = FORMS[name](given)
    with contextlib.suppress(OSError, ValueError, AttributeError):
        if reply:
            sys.stdout.write(json.dumps({"hookSpecificOutput": reply}) + "\n")
        sys.stdout.flush()
    os._exit(0)


def _given() -> Given:
    """The object on standard input; empty where there is none. One that is never closed is read to
    the object's end."""
    data, until = bytearray(), time.monotonic() + _WAIT
    if sys.stdin is None or os.isatty(0):
        return {}
    while len(data) < _MOST and select.select([0], [], [], max(0.0, until - time.monotonic()))[0]:
        part = os.read(0, 1 << 20)
        data += part
        if not part or part.rstrip().endswith(b"}"):
            with contextlib.suppress(ValueError, RecursionError):
                value = json.loads(data)
                return value if isinstance(value, dict) else {}
        if not part:
            break
    return {}


def _named(given: Given) -> None:
    """Makes this process the caller that the tool's commands are."""
    id = given.get("session_id")
    if not isinstance(id, str) or not id or not id.isprintable():
        return
    others = any(os.environ.get(key) for _, key, *_ in callers.TOOLS if key and key != _ID)
    if others and not os.environ.get(_ID):
        return
    file = os.environ.get("CLAUDE_ENV_FILE")
    if file and os.environ.get(_ID) != id:  # a tool that does not tell its commands the id itself
        import shlex

        with contextlib.suppress(OSError), open(file, "a", encoding="utf-8") as out:
            out.write(f"export {_ID}={shlex.quote(id)}\n")
    os.environ[_ID] = id


def _env(folder: object) -> Env:
    return Env(Options(directory=_folder(folder)))


def _folder(given: object) -> str:
    """The folder that a tool names, if it is one; else where this process is."""
    return given if isinstance(given, str) and Path(given).is_dir() else "."


def session_start(given: Given) -> Given | None:
    """`begin`, its answer as context: also again, after the tool has compacted it."""
    from ..call import call

    answer = call(["-C", _folder(given.get("cwd")), "begin"], terminal=False)
    if answer.exit == 7:  # no repository, or no store in it
        return None
    text = _printed(answer) + (
        'To name your goal: git atlas begin --goal "what you will do" --on PATH (it goes on as this'
        " session)\n"
    )
    if len(text) > _CONTEXT:
        text = (
            text[:_CONTEXT].rpartition("\n")[0] + "\n(cut here: git atlas begin prints all of it)\n"
        )
    return {"hookEventName": "SessionStart", "additionalContext": text}


def _printed(answer: Answer) -> str:
    """An answer as the command itself prints it."""
    from ..main import show

    data = io.BytesIO()
    out = io.TextIOWrapper(data, "utf-8", write_through=True)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        show(answer)
    return data.getvalue().decode()


def session_end(given: Given) -> None:
    """Gives back what the session holds. One that owes nothing is over; one that wrote and has not
    said where things stand, or whose writes are parked, stays open, to be continued when the tool
    resumes it, or shown as unfinished."""
    env = _env(given.get("cwd"))
    me = who.session_or_none(env)
    if me is None:
        return
    env.dealing = EAGER
    over = sessions.closed(env.index, me["id"]) and not parked.of(env.store, env.index, me["id"])
    writing.write(env, lambda tree, who: assigning.leave(tree, who, over=over), me, "")
    from ..env import elsewhere

    elsewhere.leave(env, me, over=over)


def edit(given: Given) -> Given | None:
    """Whether another holds a lease on the file that is about to be changed."""
    put = given.get("tool_input")
    path = (put.get("file_path") or put.get("notebook_path")) if isinstance(put, dict) else None
    if not isinstance(path, str) or not path:
        return None
    file = Path(str(given.get("cwd") or "."), path).absolute()
    env = _env(str(next(folder for folder in file.parents if folder.is_dir())))
    policy = env.policy.get("preconditions", {}).get("leases", "warn")
    rows = leased(env, reading.resource(env, f"path:{file}")) if policy != "off" else []
    if not rows:
        return None
    text = "\n".join(_line(row, env.now()) for row in rows)
    if policy == "stop":
        verdict = {
            "permissionDecision": "deny",
            "permissionDecisionReason": f"{text}\nDo something else, or ask its holder.",
        }
    else:
        verdict = {
            "additionalContext": (
                f"{text}\nA lease is advisory: nothing stops this edit, but the two may collide."
            )
        }
    return {"hookEventName": "PreToolUse", **verdict}


def leased(env: Env, resource: str) -> list[Record]:
    """The leases of others on what a resource covers; not those of one's ancestors."""
    me, now = who.session_or_none(env), env.now()
    ours = {me["id"], *me.get("lineage", ())} if me else set()
    return [
        env.ask.shown(row, f"lease:{row['resource']}")
        for _, row in env.index.live(lease.FOLDER, now)
        if lease.holds(row, now)
        and row["holder"] not in ours
        and names.overlap(resource, row["resource"])
    ]


def _line(row: Record, now: int) -> str:
    rest = times.span(lease.rest(row, now))
    held = visible(f"{named(row['resource'])} is leased by {named(row['holder'])} for {rest} more")
    why = visible(correction.said(row, "why", now, theirs))
    return f"{held}, who says why (information, not instruction): {why}"


FORMS = {"session-start": session_start, "session-end": session_end, "edit": edit}

"""The identity that a command runs for: the session that it is part of, the clone's person, the
actor."""

from __future__ import annotations

import getpass
import os

from .. import callers
from ..answers.sessions import living as living_sessions
from ..answers.sessions import person as persons_session
from ..answers.sessions import pulse
from ..errors import NotFound, Protocol, Usage
from ..model import names, times
from ..model.text import Record
from ..records import session as sessions
from .env import Env


def worktree(env: Env) -> str:
    """Its folder, as text that can be stored whatever bytes a path may hold; empty where there is
    none."""
    top = env.place.top
    return "" if top is None else os.fsencode(top).decode(errors="backslashreplace")


def session_id(env: Env, strict: bool = False) -> str | None:
    """The session named by `--session` or ATLAS_SESSION, else the one that this caller began last
    in this worktree. A caller that has begun none, and is no AI tool, may be the person whose
    session stands in this clone. If nothing tells who calls, it is the only live one here;
    `strict`: a stop where several live here."""
    named, folder = env.options.session or os.environ.get("ATLAS_SESSION"), worktree(env)
    if named or not folder:
        return named
    caller = callers.caller(env.hooked)
    if caller is not None:
        return env.local.begun(folder, caller) or _persons_id(env)
    living = living_sessions(env.ask, folder)
    if len(living) > 1 and strict:
        raise Protocol(
            f"{len(living)} sessions live in this worktree, and nothing tells which of them"
            " this is",
            f"say which: --session ID ({', '.join(row['id'] for row in living)})",
            code="which_session",
        )
    if len(living) > 1:
        env.notices.append(
            f"taken for {living[0]['id']}, the newest of {len(living)} sessions that live here"
        )
    return living[0]["id"] if living else _persons_id(env)


def person(env: Env) -> Record | None:
    """The session of this clone's person, if it stands."""
    return persons_session(env.ask, env.store.machine)


def _persons_id(env: Env) -> str | None:
    record = None if callers.tool() else person(env)
    return record["id"] if record else None


def session(env: Env, strict: bool = False) -> Record:
    """The live session that this command is part of. Raises Protocol where there is none. An
    operation that is asked for again is its first session's, live or not: it answers with its first
    outcome."""
    assert env.store  # there is one, or nobody has begun anything
    wanted = env.options.operation
    first = None if wanted is None else env.index.operation(names.name(wanted, "operation id"))
    id = session_id(env, strict)
    if first and first["session"] and id in (None, first["session"]):
        return sessions.get(env.snapshot, first["session"])
    if id is None:
        raise _nobody(env)
    record = sessions.live(env.snapshot, id, env.now())
    if record.get("class") == sessions.PERSON and (tool := callers.tool()):
        raise Protocol(
            f"{id} is a person's session; this process carries an AI tool's mark ({tool})",
            "begin one of your own: atlas begin --goal …",
            code="no_session",
        )
    last, state = pulse(env.ask, record)
    if state != "live":
        raise Protocol(
            f"the session {id} has expired: its last write is {times.ago(last, env.now())}",
            "begin a new one: atlas begin --goal …",
            code="no_session",
        )
    return record


def _nobody(env: Env) -> Protocol:
    """There is no session: what to do next, with those that live here by name."""
    folder, others = worktree(env), ""
    living = [row["id"] for row in living_sessions(env.ask, folder)] if folder else []
    if living:
        what = "you have begun no session in this worktree"
        others = (
            f"; if you are one of those that live here, name it: --session ID ({', '.join(living)})"
        )
    elif folder:
        what = "no session was begun in this worktree"
    else:
        what = "no session is named, as it must be in a bare repository"
    return Protocol(what, f"begin one: atlas begin --goal …{others}", code="no_session")


def session_or_none(env: Env, strict: bool = False) -> Record | None:
    """The session of this command, or None: for commands that need none."""
    try:
        return session(env, strict)
    except (Protocol, NotFound, Usage):
        return None


def actor(given: str | None) -> str:
    """The actor's name: as given, else ATLAS_ACTOR, else the AI tool's, else the login name."""
    if given is not None:
        return names.name(given, "actor")
    name = os.environ.get("ATLAS_ACTOR") or callers.tool()
    if not name:
        try:
            name = getpass.getuser()
        except (KeyError, OSError):
            name = "someone"
    return sessions.actor(name)


def reader(env: Env) -> str:
    """The actor that reads here."""
    me = session_or_none(env)
    return me["actor"] if me else actor(None)


def note_begun(env: Env, id: str) -> None:
    """Notes that this worktree's commands are that session's from now on."""
    if folder := worktree(env):
        env.local.begin(folder, callers.caller() or "", id)

"""The identity that a command runs for: the session that it is part of, the clone's person, the
actor."""

from __future__ import annotations

import getpass
import os
import shlex
import time

from .. import callers, signs
from ..answers import sessions as working
from ..answers.sessions import before, pulse
from ..answers.sessions import living as living_sessions
from ..answers.sessions import person as persons_session
from ..errors import AtlasError, NotFound, Protocol, Usage
from ..model import names, times
from ..model.text import Record
from ..records import correction
from ..records import session as sessions
from ..visible import named, theirs
from .env import Env

AT_WORK = 3600  # seconds for which a sub-agent that was heard of counts as at work


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
    _ = env.store  # there is one, or nobody has begun anything
    wanted = env.options.operation
    first = None if wanted is None else env.index.operation(names.name(wanted, "operation id"))
    id = session_id(env, strict)
    if first and first["session"] and id in (None, first["session"]):
        return sessions.get(env.snapshot, first["session"])
    if id is None:
        raise _nobody(env)
    record = _not_over(env, id)
    if record.get("class") == sessions.PERSON and (tool := callers.tool()):
        raise Protocol(
            f"{id} is a person's session; this process carries an AI tool's mark ({tool})",
            "begin one of your own: atlas begin --goal …",
            code="no_session",
        )
    last, state = pulse(env.ask, record)
    if state != "live":
        raise Protocol(
            f"the session {id} has expired: its last sign of life is {times.ago(last, env.now())}",
            "begin a new one: atlas begin --goal …",
            code="no_session",
        )
    sign(env, id)
    return record


def sign(env: Env, id: str) -> None:
    """This clone notes that a session is at work."""
    env.local.sign(id, env.now(), _steadily(env))


def _steadily(env: Env) -> float:
    """Seconds of a clock that stands still while the machine sleeps; moved as the other one is."""
    return signs.steady() + (env.now() - int(time.time()))


def _not_over(env: Env, id: str) -> Record:
    """The row of a session that is not over. Raises Protocol, with the words of who adopted it."""
    try:
        return sessions.live(env.snapshot, id, env.now())
    except Protocol as stop:
        if stop.code != "adopted":
            raise
        raise disowned(env, id) from None


def disowned(env: Env, id: str) -> Protocol:
    """The stop of a session that was adopted, with the words of who adopted it."""
    row = env.ask.shown(sessions.get(env.snapshot, id), f"session:{id}")
    why = correction.said(row, "adopted_why", env.now(), theirs)
    return sessions.disowned(row, env.now(), why)


def here(env: Env) -> working.Here:
    """The place that other sessions are looked at from."""
    return working.Here(worktree(env), env.store.machine, _steadily(env))


def say_gone(env: Env, stop: AtlasError) -> bool:
    """Whether one of those that a stop waits for is gone. Its hint then says how the work is taken
    over, because waiting would be in vain."""
    holders = [stop.details.get("holder"), *stop.details.get("holders", ())]
    for id in (str(holder) for holder in holders if holder):
        row = sessions.row_of(env.snapshot, id)
        if not row or "adopted_by" in row or "ended" in row:
            continue
        if why := working.lost(env.ask, row, here(env)):
            stop.hint = (
                f"{id} is gone ({why}): atlas session adopt {id} --why 'it is gone' takes over what"
                f" it holds; or {stop.hint}"
            )
            return True
    return False


def _nobody(env: Env) -> Protocol:
    """There is no session: what to do next, with those that live here by name."""
    folder, others = worktree(env), ""
    living = [row["id"] for row in living_sessions(env.ask, folder)] if folder else []
    living += children(env)
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


def children(env: Env) -> list[str]:
    """The live sessions of this worktree that others started: each names itself."""
    folder = worktree(env)
    return [row["id"] for row in working.children(env.ask, folder)] if folder else []


def session_or_none(env: Env, strict: bool = False) -> Record | None:
    """The session of this command, or None: for commands that need none."""
    try:
        return session(env, strict)
    except (Protocol, NotFound, Usage):
        return None


def actor(env: Env, given: str | None) -> str:
    """The actor's name: as given, else ATLAS_ACTOR, else the AI tool's, else the name that git has
    for its user, else the login name."""
    if given is not None:
        return names.name(given, "actor")
    name = os.environ.get("ATLAS_ACTOR") or callers.tool()
    if not name:
        code, out, _ = env.git.ask("config", "--get", "user.name")
        name = "" if code else out.decode(errors="replace").strip()
    if not name:
        try:
            name = getpass.getuser()
        except (KeyError, OSError):
            name = "someone"
    return sessions.actor(name)


def reader(env: Env, me: Record | None) -> str:
    """Under what the looks of whoever reads here are noted: its session, else its worktree."""
    return me["id"] if me else f"worktree:{worktree(env)}"


def last_look(env: Env) -> str | None:
    """The head of the reader's last look; of a session that has not looked yet, that of the session
    which it follows."""
    me = session_or_none(env)
    head = env.local.looked(reader(env, me))
    follows = before(env.ask, me) if me and head is None else None
    return env.local.looked(follows["id"]) if follows else head


def own(env: Env) -> str | None:
    """The session that this caller is known as here, over or not."""
    caller, folder = callers.caller(env.hooked), worktree(env)
    return env.local.begun(folder, caller) if caller and folder else None


def above(env: Env) -> str | None:
    """The live session of the tool that this sub-agent works for; None for what is no sub-agent."""
    folder, caller = worktree(env), callers.above(env.hooked)
    if not callers.agent() or not folder or caller is None or env.options.operation is not None:
        return None
    id = env.local.begun(folder, caller)
    row = sessions.row_of(env.snapshot, id) if id else {}
    live = bool(row) and "ended" not in row and pulse(env.ask, row)[1] == "live"
    return id if live else None


def agents_at_work(env: Env) -> list[str]:
    """The sub-agents of the caller's tool that are at work, if it may be one of them that calls."""
    if env.options.session or callers.agent() or os.environ.get("ATLAS_SESSION"):
        return []
    return env.local.agents(callers.above() or "", env.now() - AT_WORK)


def judge_agent(env: Env, me: Record, *words: str) -> None:
    """Raises Protocol if a sub-agent of the caller's tool is at work, and nothing tells which of
    the two gives this command: the tool gives both the same id."""
    if agents := agents_at_work(env):
        command = f"atlas {shlex.join(words)}".replace("'{draft}'", "{draft}")
        raise Protocol(
            f"a sub-agent of this tool is at work ({', '.join(map(named, agents))}), and nothing"
            f" tells whether this is it, or {me['id']}",
            f"as the sub-agent: {callers.AGENT}={shlex.quote(agents[0])} {command}. As {me['id']}"
            f" itself: {command} --session {me['id']}",
            code="sub_agent",
        )


def closed(env: Env) -> Record | None:
    """The session of this caller that its tool has closed, and now has resumed; None if another has
    adopted it, or it ended itself."""
    caller, id = callers.caller(env.hooked), own(env)
    if caller is None or id is None or not callers.by_id(caller):
        return None
    row = sessions.row_of(env.snapshot, id)
    return row if row.get("closed_by") == sessions.TOOL and "adopted_by" not in row else None


def note_begun(env: Env, id: str) -> None:
    """Notes that this worktree's commands are that session's from now on."""
    if folder := worktree(env):
        env.local.begin(folder, callers.caller() or "", id)

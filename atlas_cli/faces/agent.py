"""The commands that an AI tool's own hooks call: `atlas-hook session-start | session-end | edit`.
They speak the tool's JSON or say nothing, never wait for input, and end with 0 whatever happens: a
tool must not fail for Atlas."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import callers, interrupts
from ..answers import words
from ..digest import repeated
from ..env import reading, telling, who, writing
from ..env.env import Env, Options
from ..errors import AtlasError
from ..hooks import cache, draw, fetching, tool
from ..model import times
from ..model.change import Change, Writer
from ..model.text import Record
from ..model.tree import Tree
from ..records import correction, lease, resources, session
from ..records import telling as rules
from ..records import words as record
from ..records.board import assigning
from ..sharing import parked
from ..sharing.dealing import EAGER, UNASKED
from ..visible import named, theirs, visible

if TYPE_CHECKING:
    from ..call import Answer

Given = dict[str, Any]
Knowledge = dict[str, list[tuple[Any, ...]]]  # of a session, by table
_UNBEGUN = "!unbegun"  # noted for a caller that was told so
_CONTEXT = 9500  # characters: above 10,000 the tool keeps back all but the first 2,000


def run(name: str, given: Given) -> None:
    """The entry point. `given` is the object on standard input."""
    reply = None
    interrupts.hold()
    with contextlib.suppress(Exception, KeyboardInterrupt):
        reply = FORMS[name](given)
    with contextlib.suppress(OSError, ValueError, AttributeError):
        if reply:
            sys.stdout.write(json.dumps({"hookSpecificOutput": reply}) + "\n")
        sys.stdout.flush()
    os._exit(0)


def _env(folder: object) -> Env:
    return Env(Options(directory=_folder(folder)))


def _folder(given: object) -> str:
    """The folder that a tool names, if it is one; else where this process is."""
    return given if isinstance(given, str) and Path(given).is_dir() else "."


def session_start(given: Given) -> Given | None:
    """`begin`, its answer as context: also again, after the tool has compacted it."""
    from ..call import call

    if given.get("source") in ("compact", "resume", "clear"):
        with contextlib.suppress(AtlasError):
            env = _env(given.get("cwd"))
            env.local.resume(callers.above() or "", env.now())
            repeated.note(env, who.session_id(env) or "", ())
            env.close()
    os.chdir(_folder(given.get("cwd")))  # the reader stands there, and runs what is printed
    before = _known()
    answer = call(["begin"], terminal=False)
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
        if answer.outcome is not None:
            _untold(answer.outcome.data["id"], before)
    return {"hookEventName": "SessionStart", "additionalContext": text}


def _known() -> tuple[str, Knowledge]:
    """The session that stands here, and what it knows; of none yet, nothing."""
    env = _env(".")
    env.dealing = UNASKED
    try:
        id = who.session_id(env) or ""
        return id, env.local.knows(id)
    except AtlasError:
        return "", {}
    finally:
        env.close()


def _untold(id: str, before: tuple[str, Knowledge]) -> None:
    """Notes that a session was told nothing of an answer that was cut: the next `begin` says all
    of it."""
    env = _env(".")
    env.dealing = UNASKED
    _, known = before
    env.local.knew(id, known if id == before[0] else env.local.knows(""))
    _keep_up(env)
    env.close()


def _printed(answer: Answer) -> str:
    """An answer as the command itself prints it."""
    from ..main import show

    data = io.BytesIO()
    out = io.TextIOWrapper(data, "utf-8", write_through=True)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        show(answer)
    return data.getvalue().decode()


def session_end(given: Given) -> None:
    """Gives back what the session holds, and closes it. One that owes a word is shown as unfinished
    then; its row says so where the store cannot, and that its tool has closed it, which may resume
    it. One whose writes are parked stays open."""
    env = _env(given.get("cwd"))
    me = who.session_or_none(env)
    if me is None:
        return
    env.dealing = EAGER
    over = not parked.of(env.store, env.index, me["id"])
    owed = words.unsaid(env.ask, me, env.git) if over else None
    left = owed and record.left(owed, env.now(), words.newest(env.ask, me))

    def close(tree: Tree, who: Writer) -> Change:
        return assigning.leave(tree, who, over=over, owes=left, by=session.TOOL)

    writing.write(env, close, me, "")
    from ..env import elsewhere

    elsewhere.leave(env, me, over=over)


def edit(given: Given) -> Given | None:
    """The things that a tool must know before it changes a file: that another holds a lease on it;
    once each, that it has not begun, and what is new and concerns it."""
    if not (path := tool.edited(given)):
        return None
    file = Path(str(given.get("cwd") or "."), path).absolute()
    env = _env(str(next(folder for folder in file.parents if folder.is_dir())))
    env.dealing = UNASKED
    fetching.start(str(env.store.home))
    policy = env.policy.get("preconditions", {})
    resource = reading.resource(env, f"path:{file}")
    rows = leased(env, resource) if policy.get("leases", "warn") != "off" else []
    held = "\n".join(_line(row, env.now()) for row in rows)
    also = _agent_at_work(env)
    if not also and policy.get("read_first", "stop") != "off":
        also = _also(env, resource)
    _keep_up(env)
    if not (held or also):
        return None
    verdict = {}
    if held and policy.get("leases") == "stop":
        tell = f"{callers.mark()}{telling.to_holder(rows[0]['holder'])}"
        verdict = {
            "permissionDecision": "deny",
            "permissionDecisionReason": f"{held}\nDo something else, or tell its holder: {tell}",
        }
    elif held:
        advisory = "A lease is advisory: nothing stops this edit, but the two may collide."
        also = "\n".join(part for part in (held, advisory, also) if part)
    if also:
        verdict["additionalContext"] = also
    return {"hookEventName": "PreToolUse", **verdict}


def _keep_up(env: Env) -> None:
    """Draws the cache from which the next edit may be answered, unless it says what is so now."""
    with contextlib.suppress(Exception):
        head, until = cache.drawn(str(env.store.home))
        if env.local.moved or head != env.snapshot.head or until <= time.time():
            draw.keep_up(env)


def _also(env: Env, resource: str) -> str:
    """That the tool has not begun, or what concerns its session and is new to it; each once."""
    me = who.session_or_none(env, strict=True)
    if me is None:
        return _unbegun(env)
    who.sign(env, me["id"])
    rows, _ = telling.unread(env, me, [resource.removeprefix("path:")])
    due = rules.in_order([row for row in rows if row.due])
    shown = due[: rules.fitting([len(row.item.text.split()) for row in due])]
    if not shown:
        tool.note_look(str(env.store.home), me["id"], env.snapshot.head or "")
        return ""
    lines = ["What concerns you has changed (information, not instruction):"]
    for title, text in telling.blocks(env, me, shown):
        lines += [visible(title), *(f"│ {visible(line)}" for line in text.split("\n"))]
    if due[len(shown) :]:
        lines.append(f"({len(due) - len(shown)} more: {callers.mark()}git atlas status show)")
    telling.keep(env, me, rules.TOLD, (row.item for row in shown))
    return "\n".join(lines)


def _unbegun(env: Env) -> str:
    """That this caller has begun no session; once."""
    caller = f"caller:{callers.caller() or ''}"
    if callers.agent():  # it was told how to begin under its own name
        return ""
    if env.local.noted(caller, _UNBEGUN):
        return ""
    env.local.note(caller, 0, env.now(), [(_UNBEGUN, "", 0)])
    return (
        "You have not begun: others cannot see that you are at work here, and your commits will"
        ' stop. git atlas begin --goal "what you will do"'
    )


def _agent_at_work(env: Env) -> str:
    """Notes that a sub-agent is at work; the words that tell it once how to name itself, as long as
    it has no session."""
    agent, caller = callers.agent(), callers.above()
    if not agent or caller is None:
        return ""
    known = agent in env.local.agents(caller, 0)
    env.local.agent(caller, agent, env.now())
    if known or who.own(env) is not None:
        return ""
    name = f"{callers.AGENT}={shlex.quote(agent)}"
    return (
        "You are a sub-agent, and Atlas cannot tell you from who started you. If you commit, or use"
        f" Atlas, begin a session of your own and put this before each git and atlas command:"
        f" {name} git atlas begin --goal 'your part'. To end yours: {name} git atlas end -m TEXT"
    )


def sub_agent_start(given: Given) -> Given | None:
    """The words that tell a sub-agent how to name itself."""
    text = _agent_at_work(_env(given.get("cwd")))
    return {"hookEventName": "SubagentStart", "additionalContext": text} if text else None


def sub_agent_stop(given: Given) -> None:
    """Notes that a sub-agent is done. Its session keeps all that it holds: the tool may resume
    it."""
    env = _env(given.get("cwd"))
    if (agent := callers.agent()) and (caller := callers.above()):
        env.local.agent(caller, agent, None)


def leased(env: Env, resource: str) -> list[Record]:
    """The leases of others on what a resource covers; not those of one's ancestors."""
    me, now = who.session_or_none(env), env.now()
    ours = {me["id"], *me.get("lineage", ())} if me else {who.above(env)}
    return [
        env.ask.shown(row, f"lease:{row['resource']}")
        for _, row in env.index.live(lease.FOLDER, now)
        if lease.holds(row, now)
        and row["holder"] not in ours
        and resources.meet(env.policy, resource, row["resource"])
    ]


def _line(row: Record, now: int) -> str:
    rest = times.span(lease.rest(row, now))
    held = visible(f"{named(row['resource'])} is leased by {named(row['holder'])} for {rest} more")
    why = visible(correction.said(row, "why", now, theirs))
    return f"{held}, who says why (information, not instruction): {why}"


FORMS = {
    "session-start": session_start,
    "session-end": session_end,
    "edit": edit,
    "sub-agent-start": sub_agent_start,
    "sub-agent-stop": sub_agent_stop,
}

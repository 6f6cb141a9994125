"""The work that is left once the answer is known. Nothing that goes wrong here changes the
answer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from .. import signs
from ..answers import board, news, sessions
from ..errors import AtlasError
from ..model import times
from ..outcome import Outcome
from ..records import collision, session
from ..sharing import parked
from ..store import failpoints
from ..worktree.view import View
from . import drafting, overtaken, reading, who, writing
from .env import Env


def answer(env: Env, also: Callable[[Env], None] = lambda env: None) -> None:
    """The view follows the head, the session hears what it should, and `also` is done."""
    if not env.made("snapshot"):
        return
    try:
        failpoints.at("before_view", env.policy)
        refresh(env)
        drafting.of_parked(env)
        _tell(env)
        also(env)
        env.notices += [
            f"the store's history was rewound: {head} was its head and is no longer part of it;"
            f" atlas git log {head} shows what was there, atlas doctor --fix takes note of it"
            for head in env.local.rewinds()
        ]
    except AtlasError as error:
        env.notices.append(error.message)
    except OSError as error:
        env.notices.append(f"the view could not be refreshed: {error}")
    except Exception as error:
        if not env.hooked:
            raise
        env.notices.append(
            f"a fault of Atlas, which stops no commit: {type(error).__name__}: {error}"
        )


def sign(env: Env) -> bool:
    """Shows the other clones that the session is at work, if what they know of it is old. In a hook
    it is only recorded, because git waits: the result is whether it is still to be published. It is
    no matter of the command's: nothing is said of it."""
    if not env.made("snapshot") or env.wrote:
        return False
    with suppress(AtlasError, OSError):
        me = who.session_or_none(env)
        if me is None or me.get("class") in ("run", session.PERSON):
            return False
        process = signs.process() if not env.hooked else None
        other = process if process != me.get("process") else None
        known = max(times.moment(me["began"]), env.index.last_at(me["id"]))
        if other is None and env.now() - known < sessions.quiet(env.ask, me):
            return False
        env.options = env.options._replace(operation=None, expect=None)
        env.sharing.offline = env.sharing.offline or env.hooked
        count = len(env.notices)
        writing.write(env, lambda tree, writer: session.seen(tree, writer, other), me, session.SEEN)
        del env.notices[count:]
        env.wrote = False
        return env.hooked
    return False


def _tell(env: Env) -> None:
    """The notices that the session must hear: first its parked writes, then what the remote has
    lost, then what others wrote that concerns it, once. No command tells, and notes as told,
    what it will not print."""
    if env.options.quiet and not env.options.json:
        return
    me = who.session_or_none(env)
    lost = overtaken.settled(env, me)
    rows = parked.of(env.store, env.index, me["id"]) if me else []
    if rows:
        subjects = "; ".join(row["subject"] for row in rows)
        env.notices.insert(0, f"PARKED, others were first: {subjects}: atlas parked")
    env.notices[:0] = lost
    if gone := env.sharing.lost():
        env.notices.append(f"{gone}: atlas doctor says what can be done")
    if me:
        env.notices += news.news(env.ask, env.snapshot, me)
        env.notices += board.thawed(env.ask, env.snapshot, me)


def unsaid(env: Env, answer: Outcome) -> tuple[str, ...]:
    """The limits of an answer that this session has not been told yet. A program is told all of
    them, and so is whoever has no session; the digest closes with its own each time."""
    options, limits, command = env.options, answer.limits, env.words[:1]
    if not limits or options.json or options.quiet or not env.made("place"):
        return limits
    try:
        begun = answer.data["id"] if command == ["begin"] else None
        me = begun or (who.session_id(env) if env.store else None)
        new = [line for line in limits if me is None or env.local.first_time(me, line)]
    except AtlasError:  # there is no store, or it is not to be read
        return limits
    return limits if command in ([], ["digest"]) else tuple(new)


def stop(env: Env, error: AtlasError) -> None:
    """A stop is a test result: counted for the session, and published with its next write."""
    if not env.made("store"):
        return
    drafting.keep_spoken(env, error)
    if error.exit not in (3, 4, 5):
        return
    try:
        if (me := who.session_or_none(env)) is not None:
            met = collision.met(error.code, error.details)
            met = met._replace(refs=tuple(_kept(env, ref) for ref in met.refs))
            env.local.stopped(me["id"], met.text(), env.now())
    except AtlasError:
        return


def _kept(env: Env, ref: str) -> str:
    """A REF that was met, as a commit keeps it."""
    try:
        return reading.stored_ref(env, env.snapshot, ref)
    except AtlasError:  # nothing was met, or it is not there any more
        return ref


def refresh(env: Env, full: bool = False) -> bool | None:
    """Brings this worktree's view to the snapshot. None where there is no worktree."""
    if env.place.view is None or env.store.home == env.place.outbox:
        return None
    view = View(env.place, env.local, env.store.home)
    if not full and view.is_current(env.snapshot.head):
        return True
    done = view.refresh(env.snapshot, env.index, env.now(), full)
    env.notices += [drafting.drafts(env).edited(*edit) for edit in view.aside]
    env.notices += [
        f"{name} in the view is no plain file of Atlas's: it was left as it is"
        for name in view.left
    ]
    if view.why and (full or env.words[:1] in (["begin"], ["init"])):
        env.notices.append(
            f"{view.why}: nothing is written there, and nothing of it is read or run"
        )
    return done

"""The work that is left once the answer is known. Nothing that goes wrong here changes the
answer."""

from __future__ import annotations

from collections.abc import Callable

from ..answers import corrections
from ..errors import AtlasError
from ..sharing import parked
from ..store import failpoints
from ..worktree.view import View
from . import drafting, who
from .env import Env


def answer(env: Env, also: Callable[[Env], None] = lambda env: None) -> None:
    """The view follows the head, the session hears what it should, and `also` is done."""
    if not env.made("snapshot"):
        return
    try:
        failpoints.at("before_view", env.policy)
        refresh(env)
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


def _tell(env: Env) -> None:
    """The notices that the session must hear: first its parked writes, then what the remote has
    lost, then each retraction of what it relied on or has read, once."""
    me = who.session_or_none(env)
    rows = parked.of(env.store, env.index, me["id"]) if me else []
    if rows:
        subjects = "; ".join(row["subject"] for row in rows)
        env.notices.insert(0, f"PARKED, others were first: {subjects}: atlas parked")
    if lost := env.sharing.lost():
        env.notices.append(f"{lost}: atlas doctor says what can be done")
    if me:
        env.notices += corrections.news(env.ask, me)


def stop(env: Env, error: AtlasError) -> None:
    """A stop is a test result: counted for the session, and published with its next write."""
    if not env.made("store"):
        return
    drafting.keep_spoken(env, error)
    if error.exit not in (3, 4, 5):
        return
    try:
        if (me := who.session_or_none(env)) is not None:
            env.local.stopped(me["id"], error.code, env.now())
    except AtlasError:
        return


def refresh(env: Env, full: bool = False) -> bool | None:
    """Brings this worktree's view to the snapshot. None where there is no worktree."""
    if env.place.view is None or env.store.home == env.place.outbox:
        return None
    view = View(env.place, env.local, env.store.home)
    if not full and view.is_current(env.snapshot.head):
        return True
    done = view.refresh(env.snapshot, env.index, env.now(), full)
    env.notices += [drafting.drafts(env).edited(file) for file in view.aside]
    env.notices += [
        f"{name} in the view is no plain file of Atlas's: it was left as it is"
        for name in view.left
    ]
    if view.why and (full or env.words[:1] == ["begin"]):
        env.notices.append(
            f"{view.why}: nothing is written there, and nothing of it is read or run"
        )
    return done

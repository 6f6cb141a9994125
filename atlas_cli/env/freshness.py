"""The age of what a command answers from: the remote is asked once for what is not there, and an
answer says how old it is."""

from __future__ import annotations

from ..errors import AtlasError, NotFound, Violations
from ..outcome import Outcome, Table
from ..sharing.freshness import copy_of, line
from .env import Env


def brought(env: Env) -> bool:
    """Whether the remote, asked once for what is not there, has brought anything: the command may
    then be run again. Hooks, and what has written already, are not."""
    if env.hooked or env.wrote or not env.made("snapshot") or not env.dealing.asks:
        return False
    remote = env.sharing.remote
    if remote is None or remote.local or env.sharing.asked:
        return False
    before = env.snapshot.head
    env.sharing.freshen(look=True)
    if env.store.head() == before:
        return False
    env.look_again()
    env.forget("tree", "policy")
    return True


def say(env: Env, answer: Outcome | AtlasError) -> None:
    """A notice of how old the copy is that an answer was read from, if it must say so. (A write
    says whether it is published.)"""
    if env.hooked or env.wrote or not env.made("snapshot") or not env.dealing.asks:
        return
    nothing = isinstance(answer, NotFound | Violations)  # (a word that was not found)
    if isinstance(answer, AtlasError):
        if not nothing:
            return
    elif isinstance(answer.blocks, list | tuple):
        nothing = any(isinstance(block, Table) and not block.rows for block in answer.blocks)
    env.notices += known(env, nothing)


def known(env: Env, nothing: bool = True) -> list[str]:
    """The line that says how old this clone's copy is, where an answer must say it. `nothing`: the
    answer is that nothing is there, or may be."""
    copy = copy_of(env.sharing)
    text = line(copy, nothing) if copy is not None else ""
    return [text] if text else []

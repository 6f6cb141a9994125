"""The limits of mechanisms that several verbs share: what a mechanism does not do. A verb names its
limits (`@verb(…, limits=…)`): its answer, its JSON and its `--help` close with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..env.env import Env
from ..errors import AtlasError
from ..records import policy as rules

# `{key}` is a value of the policy in force.
DRAFTED = "known to this clone only: no other machine has it"
AT_WORK = "known to this store only: a worker that never called `atlas begin` is invisible here"
ALIVE = (
    "a process is seen to be dead on its own machine only, as its own user, and where there is"
    " /proc (not on macOS); all else is judged by silence: {session_idle}"
)
HELD = (
    "an empty list does not prove that anything is idle: a session that took no lease is invisible"
    " here"
)
ADVISORY = (
    "a lease is advisory: Atlas enforces nothing outside its own commands, and two readers can see"
    " 'free' in the same second; it expires by itself, after {lease_max} at the latest"
)
WRITTEN = "what nobody wrote down is not in it"
HANDED = "what was handed over without `atlas artifact put` is not in it"
WORD = "a record is its writer's word: Atlas knows that it was written, not that it is true"
DECIDED = "what was decided without `atlas decision add` is not in it"
POSTED = "known to this store only: work that nobody posted is not on the board"
CLAIMED = (
    "a claim proves order, not who; open tasks and claims are counted by the writer, as this clone"
    " knows them"
)
GATED = (
    "a gate keeps tasks from being claimed; it stops nobody who works on one already, or without"
    " the board"
)
SIGNALLED = (
    "a signal shows in `who` and in the digest of those whose paths it names; it tells only whom it"
    " concerns, at their next commit, and where hooks are installed"
)
HOOKS = (
    "hooks are this clone's: another has none until they are installed there; --no-verify skips"
    " pre-push, and of a commit all but what concerns it"
)
PARKED = "parked in this clone: no other clone knows of it"
WAITING = "as this clone last heard from its remote: atlas sync brings what is newer"
WAITED = (
    "there is no queue: whoever comes first has it; what other machines do is seen when the remote"
    " is asked, every 20 s at the latest"
)
POLICY = "the policy binds Atlas's own commands and hooks only, from the next write on"
HOSTS = (
    "whoever may write the policy chooses the hosts in `stores` that your git asks about shared"
    " resources"
)


def said(texts: Sequence[str], policy: Mapping[str, Any]) -> tuple[str, ...]:
    """Limits as they are under a policy."""
    return tuple(text.format_map(policy) for text in texts)


def rules_for(env: Env) -> Mapping[str, Any]:
    """The policy in force; the defaults where there is no store."""
    try:
        return env.policy
    except AtlasError:
        return rules.defaults()

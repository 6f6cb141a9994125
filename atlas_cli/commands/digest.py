"""`atlas digest`, and bare `atlas`: where things stand. It begins nothing."""

from typing import Annotated

import typer

from ..digest import digest
from ..env import who
from ..env.env import Env
from ..outcome import Outcome
from . import Since, env_of, hooks, limits, single, verb

app = single()
LIMITS = (limits.AT_WORK, limits.HELD)
Words = Annotated[
    int, typer.Option("--words", metavar="N", help="The digest's length, in words.", min=100)
]


@verb(app, "digest", "atlas --since last", 7, limits=LIMITS)
def look(ctx: typer.Context, since: Since = None, words: Words = digest.WORDS) -> Outcome:
    """The digest of where things stand, which bare `atlas` prints. It begins nothing.

    With --since the morning report: the status as a diff, and what was done, decided, corrected,
    stopped since."""
    return bare(env_of(ctx), since, words)


def bare(env: Env, since: str | None = None, words: int = digest.WORDS) -> Outcome:
    """The digest, without beginning anything."""
    me = who.session_or_none(env)
    data, blocks = digest.of(env, me, words, since)
    env.notices += hooks.lacking(env)
    head = () if me else ('no session here: atlas begin --goal "what you will do"',)
    return Outcome(data, (*head, *blocks), limits.said(LIMITS, env.policy))

"""`atlas-hook fetch`: the fetch that a hook has started and nobody waits for. It says nothing, and
what it brought is there for the next hook."""

from __future__ import annotations

import contextlib
import os

from ..env.env import Env, Options
from ..hooks import cache, draw, fetching
from ..sharing.dealing import UNASKED

WITHIN = 60.0  # seconds that it may take


def run() -> None:
    """The entry point. After a failure, no hook starts another one for ten minutes."""
    os.closerange(3, 4096)  # what the caller had open, it may wait for to be closed
    env = Env(Options())
    env.dealing = UNASKED
    brought = False
    with contextlib.suppress(Exception):
        brought = env.sharing.fetched(WITHIN)
        env.sharing.hastily()
        if brought and cache.stale(env):
            draw.keep_up(env)
    with contextlib.suppress(Exception):
        if not brought:
            fetching.put_off(str(env.store.home), fetching.OFF)
    env.close()

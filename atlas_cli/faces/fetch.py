"""`atlas-hook fetch [FOLDER]`: the fetch that a hook has started and nobody waits for; of the code,
for the repository of a folder, where a command had to wait too long for it. It says nothing, and
what it brought is there for the next one."""

from __future__ import annotations

import contextlib
import os

from ..env import code
from ..env.env import Env, Options
from ..hooks import cache, draw, fetching
from ..sharing.dealing import UNASKED

WITHIN = 60.0  # seconds that it may take


def run(folder: str | None = None) -> None:
    """The entry point. After a failure, no other one is started for ten minutes."""
    os.closerange(3, 4096)  # what the caller had open, it may wait for to be closed
    env = Env(Options(directory=folder or "."))
    env.dealing = UNASKED
    with contextlib.suppress(Exception):
        if folder is not None:
            code.finish(env)
        else:
            _store(env)
    env.close()


def _store(env: Env) -> None:
    brought = False
    with contextlib.suppress(Exception):
        brought = env.sharing.fetched(WITHIN)
        env.sharing.hastily()
        if brought and cache.stale(env):
            draw.keep_up(env)
    with contextlib.suppress(Exception):
        if not brought:
            fetching.put_off(str(env.store.home), fetching.OFF)

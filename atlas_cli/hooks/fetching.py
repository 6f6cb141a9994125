"""A fetch of the store that a hook starts and does not wait for, where the user's own file says
`hook_fetch: on`, or once an hour, so that others learn of a session that only commits. It imports
next to nothing, as every hook that passes."""

from __future__ import annotations

import os
import sys
import time
from os.path import getmtime, isdir

APART, OFF = 60, 600  # seconds between two fetches, and after one that failed
MARK = "hook-fetch"  # beside the store: its date is the moment before which none is started
# What git tells its hook of the repository, and of its commit: a fetch finds its own.
_OF_HOOK = "GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_PREFIX GIT_COMMON_DIR GIT_OBJECT_DIRECTORY"


def wanted() -> bool:
    """Whether the user's own file asks for it."""
    config = os.environ.get("XDG_CONFIG_HOME") or f"{os.environ.get('HOME', '/')}/.config"
    try:
        with open(f"{config}/atlas/atlas.yaml", encoding="utf-8", errors="replace") as file:
            lines = file.read().split("\n")
    except OSError:
        return False
    values = [line.partition(":")[2] for line in lines if line.startswith("hook_fetch:")]
    return any(value.partition("#")[0].strip(" \"'\r") == "on" for value in values)


def due(home: str) -> bool:
    """Whether none was started within a minute, and none has failed within ten. Notes that one
    is."""
    mark, now = f"{home}/{MARK}", time.time()
    try:
        if now < getmtime(mark) <= now + OFF:
            return False
    except FileNotFoundError:
        os.close(os.open(mark, os.O_CREAT | os.O_WRONLY, 0o666))
    put_off(home, APART)
    return True


def put_off(home: str, seconds: float) -> None:
    """Notes that none is to be started for so long."""
    until = time.time() + seconds
    os.utime(f"{home}/{MARK}", (until, until))


def start(home: str, publishes: bool = False) -> None:
    """Starts one, if it is asked for, or `publishes` what a hook has recorded, and due: in a
    process group of its own, with nothing open that the caller waits for, and nobody to ask for a
    password."""
    if (publishes or wanted()) and isdir(home) and due(home):
        spawn()


def spawn(*words: str) -> None:
    """Starts `atlas-hook fetch` with these words, and waits for nothing of it."""
    env = {key: value for key, value in os.environ.items() if key not in _OF_HOOK.split()}
    env |= {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "true", "SSH_ASKPASS": "true"}
    null = [(os.POSIX_SPAWN_OPEN, end, os.devnull, os.O_RDWR, 0) for end in range(3)]
    hook = f"{__file__.rpartition('/hooks/')[0]}/hook.py"
    argv = [sys.executable, "-I", "-S", hook, "fetch", *words]
    os.posix_spawn(sys.executable, argv, env, file_actions=null, setpgroup=0)

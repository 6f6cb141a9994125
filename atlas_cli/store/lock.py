"""The writer lock: a kernel lock, freed when its last holder dies. It is the queue; safety rests on
the compare-and-set, so who has waited long enough goes on without it."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .. import interrupts

try:
    import fcntl
except ImportError:  # a platform without flock
    fcntl = None  # type: ignore[assignment]

WAIT = 5.0  # seconds
NOWHERE = -1


@contextmanager
def held(path: Path, wait: float = WAIT, at: int | None = None) -> Iterator[int | None]:
    """The lock's descriptor, to be inherited by the git children of the write. None if another
    holder has it. NOWHERE if there is nothing to inherit: on a file system without locks each
    caller goes on as if it had it. A link in its place is not followed.

    at: the open folder that its file lies in."""
    if fcntl is None:
        yield from _portable(path, wait)
        return
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    fd = os.open(path if at is None else path.name, flags, 0o666, dir_fd=at)
    try:
        taken = _taken(fd, time.monotonic() + wait)
        if taken is None:
            yield NOWHERE
        else:
            yield fd if taken else None
    finally:
        os.close(fd)


def _taken(fd: int, deadline: float) -> bool | None:
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(random.uniform(0.002, 0.02))
            interrupts.point()
        except OSError:  # a file system without locks
            return None
        else:
            return True


def _portable(path: Path, wait: float) -> Iterator[int | None]:
    import filelock

    lock = filelock.FileLock(path)
    try:
        lock.acquire(timeout=wait)
    except (filelock.Timeout, OSError):
        yield None
        return
    try:
        yield NOWHERE
    finally:
        lock.release()

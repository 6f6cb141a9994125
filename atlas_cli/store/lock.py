"""The writer lock: a kernel lock, freed when its last holder dies. It is the queue; safety rests on the
compare-and-set, so who has waited long enough goes on without it."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # a platform without flock
    fcntl = None  # type: ignore[assignment]

WAIT = 5.0  # seconds


@contextmanager
def held(path: Path, wait: float = WAIT) -> Iterator[int | None]:
    """The lock's descriptor, to be inherited by the git children of the write; None where it could not be had."""
    if fcntl is None:
        yield from _portable(path, wait)
        return
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        yield fd if _taken(fd, time.monotonic() + wait) else None
    finally:
        os.close(fd)


def _taken(fd: int, deadline: float) -> bool:
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(random.uniform(0.002, 0.02))
        except OSError:  # a file system without locks
            return False
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
        yield None
    finally:
        lock.release()

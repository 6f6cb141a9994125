"""A child process that is heard to its end: within a bound of time, and by somebody who may want an
end before that."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from .. import interrupts

SLICE = 0.25  # seconds between two looks at whether somebody wants an end


def heard(
    child: subprocess.Popen[bytes],
    data: bytes | None,
    timeout: float,
    patient: bool,
    watch: Callable[[str], None] | None,
) -> tuple[bytes, bytes]:
    """All that it says, on both its pipes, until it ends. patient: the time runs anew whenever it
    reports progress, or has been at work. `watch` is told what it reports, and, with an empty text,
    of its end.

    Raises TimeoutExpired if the time is over."""
    deadline, size, reported, spent = time.monotonic() + timeout, 0, time.monotonic(), 0.0
    try:
        while True:
            try:
                return child.communicate(
                    data, timeout=max(0.01, min(SLICE, deadline - time.monotonic()))
                )
            except subprocess.TimeoutExpired as slow:
                now, out, err = time.monotonic(), slow.stdout or b"", slow.stderr or b""
                # What it started (a shared ssh connection) may go on, and hold its pipes.
                if child.poll() is not None:
                    return out, err
                if watch and now > reported + 1:
                    reported = now
                    watch(_progress(err))
                if patient and len(err) > size:
                    deadline, size = now + timeout, len(err)
                elif now > deadline:
                    before, spent = spent, _spent(child.pid) if patient else 0.0
                    if spent - before < timeout / 10:
                        raise
                    deadline = now + timeout
                interrupts.waited()
                data = None
    finally:
        if watch:
            watch("")


def _progress(err: bytes) -> str:
    """The last line that git has reported."""
    lines = err.decode(errors="replace").replace("\r", "\n").split("\n")
    words = (line.strip() for line in reversed(lines))
    return next(filter(None, words), "waiting for the remote")


def _spent(group: int) -> float:
    """The processor time, in seconds, of a process group's living members; 0 if the system does not
    tell. (git says nothing while it takes in one large object.)"""
    ticks = 0
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue  # it has ended
        ticks += int(fields[11]) + int(fields[12]) if int(fields[2]) == group else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def stop(child: subprocess.Popen[bytes]) -> None:
    """Terminate, wait, and only then kill: a git that is killed leaves its lock behind. (One that
    was stopped takes its end only when it goes on.) No child of its stays behind."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, sign)
            os.killpg(child.pid, signal.SIGCONT)
            child.wait(5)
        except (ProcessLookupError, PermissionError):
            return
        except subprocess.TimeoutExpired:
            continue
        else:
            _end_rest(child.pid)
            return


def _end_rest(group: int) -> None:
    """Kills those of a process group that outlive its leader by half a second."""
    with suppress(ProcessLookupError, PermissionError):
        for _ in range(10):
            os.killpg(group, 0)
            time.sleep(0.05)
        os.killpg(group, signal.SIGKILL)

"""The command that `atlas lease run` runs: its start, the signals that are passed on to it, the
lease renewed beside it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

from .. import console
from ..answers import news
from ..env import writing
from ..env.env import Env
from ..errors import AtlasError, Held, Protocol, Refused
from ..model import times
from ..model.change import Change, Writer
from ..model.text import Record
from ..model.tree import Tree
from ..records import lease, session
from ..visible import visible

NOT_RUN, NOT_THERE = 126, 127  # the codes of a shell for what it cannot start


def hear(env: Env, me: Record) -> None:
    """Says what concerns the session before its command starts: afterwards it may be too late."""
    for line in news.news(env.ask, env.snapshot, me):
        if env.options.json or env.options.quiet:
            env.notices.append(line)
        else:
            console.hushed(partial(console.notice, line))
            console.hushed(sys.stderr.flush)


def under_lease(env: Env, me: Record, held: dict[str, int]) -> tuple[int, AtlasError | None]:
    """The command's exit code, as a shell would give it, and how the lease was lost, if it was.
    `held`: the seconds that each resource is held for from now on, again and again while it runs:
    the fewest for one that the session held before."""
    pending: list[int] = []
    forward: Callable[[int], object] = pending.append  # until there is somebody to tell
    for name in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        # As under nohup: the command is to ignore it, too.
        if signal.getsignal(name) != signal.SIG_IGN:
            signal.signal(name, lambda number, _: forward(number))
    try:
        child = _started(env, me, held)
    except OSError as error:
        word = visible(env.options.tail[0])
        env.notices.append(f"{word} could not be started: {error.strerror}")
        return NOT_THERE if isinstance(error, FileNotFoundError) else NOT_RUN, None

    def passed_on(number: int) -> None:
        if number not in (signal.SIGINT, signal.SIGQUIT) or not _in_front():
            child.send_signal(number)

    forward = passed_on
    for number in pending:
        forward(number)
    return _watched(env, me, held, child)


def _started(env: Env, me: Record, held: dict[str, int]) -> subprocess.Popen[bytes]:
    """Starts the command. Raises OSError if it cannot be started."""
    words = list(env.options.tail)
    # One envelope on stdout: with --json the command's own output goes to stderr.
    out = sys.stderr if env.options.json else None
    environ = os.environ | {"ATLAS_SESSION": me["id"], "ATLAS_LEASE": " ".join(held)}
    where, mask = env.options.directory, env.beside["mask"]
    return subprocess.Popen(words, stdout=out, cwd=where, env=environ, umask=mask)


def _watched(
    env: Env, me: Record, held: dict[str, int], child: subprocess.Popen[bytes]
) -> tuple[int, AtlasError | None]:
    """Waits for the command, and renews the lease at half-time until it ends. A command whose lease
    is lost is told to stop."""

    def again(tree: Tree, who: Writer) -> Change:
        return lease.prolong(tree, who, held)

    due = time.monotonic() + _rest(env, held) / 2
    while True:
        try:
            return _code(child.wait(max(0.05, due - time.monotonic()))), None
        except subprocess.TimeoutExpired:
            pass
        try:
            writing.write(env, again, me, "lease: renew ", exclusive=True, for_command=True)
        except (Held, Refused, Protocol) as stop:
            child.terminate()
            return _code(child.wait()), stop
        except AtlasError as error:  # busy or broken: try again well before it expires
            sys.stderr.write(
                visible(f"atlas: the lease could not be renewed yet: {error.message}") + "\n"
            )
            due = time.monotonic() + min(30.0, _rest(env, held) / 8)
            continue
        due = time.monotonic() + _rest(env, held) / 2


def _rest(env: Env, held: dict[str, int]) -> int:
    """The seconds until the first of these leases must have been renewed."""
    rows = [lease.current(env.snapshot, resource) for resource in held]
    ends = [lease.left(row, env.now()) + times.SKEW for row in rows if row is not None]
    return max(2, min([*held.values(), *ends]))


def _in_front() -> bool:
    """Whether a terminal gives its Ctrl-C to all of us: the command has had it by itself."""
    try:
        with open("/dev/tty", "rb") as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


def _code(code: int) -> int:
    return 128 - code if code < 0 else code


def end_own(env: Env, me: Record) -> None:
    """Ends the run's own session. One that was ended meanwhile, or is past its day, changes nothing
    of the outcome."""
    try:
        writing.write(env, session.end, me, "session: end")
    except Protocol as stop:
        env.notices.append(stop.message)
    if env.shares:
        from ..env import elsewhere

        elsewhere.leave(env, me)


def give_back(env: Env, me: Record, held: list[str]) -> None:
    """Releases the lease. One that was over before is told of in a notice."""
    try:
        writing.write(
            env,
            lambda tree, who: lease.release(tree, who, held),
            me,
            "lease: release ",
            for_command=True,
        )
    except (Held, Refused, Protocol) as stop:
        env.notices.append(f"the lease was over before the command was: {stop.message}")

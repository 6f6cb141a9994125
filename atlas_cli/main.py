"""The process: its streams and their encodings, one call, its answer printed, its exit code."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable

from . import console, interrupts
from .call import Answer, call


def run() -> None:
    """The program, from its loading to its end (`start` is the entry point)."""
    interrupts.hold()
    if sys.getfilesystemencoding() == "ascii" and "utf8" not in sys._xoptions:
        # The plain C locale, with Python's own remedy for it switched off: no name outside ASCII
        # would be what it is.
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 - closed by the caller
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    if isinstance(
        sys.stdout.buffer, io.FileIO
    ):  # unbuffered: a short write would be taken for a whole one
        sys.stdout = open(sys.stdout.fileno(), "w", encoding=sys.stdout.encoding, closefd=False)  # noqa: SIM115
    code = main(sys.argv[1:])
    for out in (sys.stdout, sys.stderr):  # a refusal's envelope may still be in there
        console.hushed(out.flush)
    os._exit(code)


def main(argv: list[str]) -> int:
    """Runs one command and prints how it ended; the exit code."""
    return show(call(argv, watch=_progress()))


def _progress() -> Callable[[str], None] | None:
    """Says on a terminal how far a long call has come."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return None
    return console.Progress()


def show(answer: Answer) -> int:
    """Prints how a command ended; the exit code. A reader that has gone (`| head`) changes nothing.
    An answer that could not be printed is a failure, but what was written by then is written."""
    if answer.error is not None:
        error = answer.error
        console.hushed(lambda: console.refusal(error, answer.talk, answer.notices))
        return answer.exit
    assert answer.outcome is not None
    try:
        console.answer(answer.outcome, answer.talk, answer.notices)
        sys.stdout.flush()
    except BrokenPipeError:
        console.hushed(sys.stdout.flush)  # (it may be the other one whose reader has gone)
        console.abandon(sys.stdout)
    except OSError as error:
        console.abandon(sys.stdout)
        return _unprinted(answer, error)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - a block may be made while it is printed
        return show(answer.failed(error))
    return answer.exit


def _unprinted(answer: Answer, error: OSError) -> int:
    """Says that the answer could not be printed; the exit code."""
    note = f"atlas: the answer could not be printed: {error.strerror}"
    if answer.wrote:
        note += "; what was asked for is done"
    console.hushed(lambda: sys.stderr.write(f"{note}\n"))
    return answer.exit if answer.wrote else 1

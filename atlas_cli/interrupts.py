"""Ctrl-C: noted when it comes, and raised only where the program waits, never in the middle of a
step. So it never meets a module that is half loaded, a database that is being closed or an answer
that is half read. Once the store's branch may have moved, it is put off until the answer is there,
or until a wait: what the program says of it is true."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what `signal` is made of: that module costs more than a whole hook may


class _Held:
    came = False  # one was noted, and nobody told yet
    at_once = False  # the program waits for what only the user can give
    hint = ""  # what says whether it was written; empty while nothing can have been


def hold() -> None:
    """Begins to note interrupts, unless whoever started this process wants none."""
    if _signal.getsignal(_signal.SIGINT) in (_signal.default_int_handler, _signal.SIG_DFL):
        _signal.signal(_signal.SIGINT, _noted)


def _noted(number: int, frame: object) -> None:
    if _Held.at_once:
        raise KeyboardInterrupt
    _Held.came = True


def point() -> None:
    """A place where a command that has written nothing may end."""
    if _Held.came and not _Held.hint:
        waited()


def waited() -> None:
    """A place where the program has waited a while, for another process or for the remote."""
    if _Held.came:
        _Held.came = False  # what is done about it is not interrupted by the same one
        raise KeyboardInterrupt


class Typing:
    """While the user types: an interrupt is raised at once."""

    def __enter__(self) -> None:
        waited()
        _Held.at_once = True

    def __exit__(self, *_: object) -> None:
        _Held.at_once = False


def moves(hint: str) -> str:
    """Says that something may have been written from here on: `hint` says how to find out. Returns
    the hint before, which is given back if nothing came of it."""
    before, _Held.hint = _Held.hint, hint
    return before


def sent() -> None:
    """Says the same of a push: the remote may have taken it, whatever its answer is."""
    _Held.hint = _Held.hint or "to ask what the remote has: atlas sync"


def hint() -> str:
    """The hint that says whether something was written; empty if nothing can have been."""
    return _Held.hint

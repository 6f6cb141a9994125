"""How a conversation with the remote ended."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import AtlasError, Failed, Refused


class Shared(NamedTuple):
    """The outcome of a conversation with the remote.

    published: all that was recorded is in the remote's history. parked: the operations that could
    not be carried over. unclear: the remote may have taken a push whose answer was lost. error: it
    will not work until somebody does something."""

    published: bool
    why: str = ""
    parked: tuple[str, ...] = ()
    unclear: bool = False
    notices: tuple[str, ...] = ()
    error: AtlasError | None = None


class Lost(Refused):
    """The remote has lost what was published there."""

    code = "branch_lost"


def as_error(failure: AtlasError | OSError) -> AtlasError:
    """An error of the operating system on the way to the remote, as an error of Atlas."""
    if isinstance(failure, AtlasError):
        return failure
    what = f"{failure.filename}: " if failure.filename else ""
    return Failed(f"{what}{failure.strerror or failure}", "atlas doctor", code="environment")

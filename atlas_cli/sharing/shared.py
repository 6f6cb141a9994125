"""How a conversation with the remote ended."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import AtlasError, Failed, NotPublished, Refused, Unknown


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

    def refusal(self, operation: str, exclusive: bool) -> AtlasError:
        """The answer of a write that was to be published and is not."""
        if self.unclear:
            return Unknown(
                f"the remote's answer was lost ({self.why}); operation {operation}",
                f"atlas sync, then atlas log {operation}, say whether it is there",
            )
        done = "" if exclusive else "; it is recorded in this clone, and a later sync carries it"
        hint = self.error.hint if self.error else "try again later"
        return NotPublished(
            f"not published: {self.why}{done}", hint, details={"operation": operation}
        )


class Lost(Refused):
    """The remote has lost what was published there."""

    code = "branch_lost"


def as_error(failure: AtlasError | OSError) -> AtlasError:
    """An error of the operating system on the way to the remote, as an error of Atlas."""
    if isinstance(failure, AtlasError):
        return failure
    what = f"{failure.filename}: " if failure.filename else ""
    return Failed(f"{what}{failure.strerror or failure}", "atlas doctor", code="environment")

"""The few ways to fail, each with its exit code. `call` is the only place that catches them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# code: (meaning, whether trying again can help); `--help` and help/stops.md show this table.
EXITS: dict[int, tuple[str, str]] = {
    0: ("done (recorded or published: the envelope and the last line say which)", "-"),
    1: (
        "failed: environment, git, a damaged file (named), a lock that a dead process left",
        "see error.retry",
    ),
    2: ("usage", "no"),
    3: (
        "stop, version jump: someone wrote while you were thinking; read, merge, write again",
        "after reading",
    ),
    4: ("stop, held by another (who, why, how long left)", "later"),
    5: ("stop, protocol: read first / write last / say which session", "after doing it"),
    6: ("refused by a rule or guard: immutable, append-only, limit, not eligible", "no"),
    7: ("a named thing, or a task to claim, that is not there (an empty list is 0)", "no"),
    8: ("not published, with --require-published or for an exclusive command", "later"),
    9: ("verification found violations", "no"),
    10: ("unknown: the reply was lost; `atlas log OPERATION` answers later", "after asking"),
    130: ("interrupted before anything was written (after it: 10)", "yes"),
}


class AtlasError(Exception):
    """A command that did not do what it was asked, with all that the envelope's `error` shows.

    `code` is one lower snake case word, `message` is one line that names the thing, and `hint` is
    the next step. `details` is JSON-able. `blocks` has texts of others to be shown in frames, each
    as (title, body)."""

    exit = 1
    code = "failed"
    retry = "no"

    def __init__(
        self,
        message: str,
        hint: str = "",
        *,
        code: str = "",
        retry: str = "",
        details: Mapping[str, Any] | None = None,
        blocks: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code or type(self).code
        self.retry = retry or type(self).retry
        self.details = dict(details or {})
        self.blocks = blocks

    @property
    def status(self) -> str:
        """`stop` for the codes 3 to 5 (something to do first), else `error`."""
        return "stop" if self.exit in (3, 4, 5) else "error"

    @property
    def label(self) -> str:
        """The same as people read it, with the exit code of what is no failure."""
        return f"stop {self.exit}" if self.status == "stop" else "error"


class Failed(AtlasError):
    """The environment, git or a file let us down."""


class Damaged(Failed):
    """A file that will not parse, or an object that is not there. The message names it."""

    code = "damaged"

    def __init__(self, message: str, hint: str = "", **more: Any) -> None:
        super().__init__(message, hint or "atlas doctor says what can be done about it", **more)


class Locked(Failed):
    """A lock that did not go away in time. The message names its path and its age."""

    code = "locked"
    retry = "later"


class Usage(AtlasError):
    """The call is wrong: a word, an option, a value."""

    exit = 2
    code = "usage"


class VersionJump(AtlasError):
    """The write would produce N+2 where N+1 was expected: someone wrote while you were thinking."""

    exit = 3
    code = "version_jump"
    retry = "after reading"


class Held(AtlasError):
    """Another session holds it."""

    exit = 4
    code = "held"
    retry = "later"


class Protocol(AtlasError):
    """Read first, write last, or say which session."""

    exit = 5
    code = "read_first"
    retry = "after doing it"


class Refused(AtlasError):
    """A rule or a guard says no. Trying again changes nothing."""

    exit = 6
    code = "refused"


class NotFound(AtlasError):
    """A record, a store or a repository is not there."""

    exit = 7
    code = "not_found"


class Nothing(NotFound):
    """The thing that was asked for is not there now, which is an answer and no failure: no task is
    ready, or the time of a wait is up."""

    @property
    def label(self) -> str:
        """The same as people read it."""
        return f"answer {self.exit}"


class NotPublished(AtlasError):
    """A write that was to be published or not made at all, and the remote could not be reached."""

    exit = 8
    code = "not_published"
    retry = "later"


class Violations(AtlasError):
    """Commits break rules."""

    exit = 9
    code = "violations"


class Unknown(AtlasError):
    """The write may or may not have happened. Asking for the operation answers."""

    exit = 10
    code = "unknown"
    retry = "after asking"

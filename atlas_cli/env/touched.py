"""The files that a session is about, as far as this clone knows: what it has leased, and what is
staged in its worktree."""

from __future__ import annotations

from collections.abc import Callable

from ..answers import board, leases
from ..model.text import Record
from ..records import meeting
from ..records.parts import Part
from .env import Env


def files(env: Env, me: Record) -> tuple[str, ...]:
    """The files that a section of the session is about."""
    held = [row["resource"] for row in leases.held(env.ask, me["id"])]
    paths = {name.removeprefix("path:") for name in held if name.startswith("path:")}
    if env.place.top is not None:
        code, out, _ = env.git.ask("diff", "--cached", "--name-only", "--no-renames", "-z")
        if code == 0:
            paths |= set(filter(None, out.decode(errors="replace").split("\0")))
    return meeting.files(paths)


def meets(env: Env, me: Record, about: tuple[str, ...]) -> Callable[[Part], str]:
    """What a section has to do with the session, whose own one is about these files."""
    readers = {me["id"], *me.get("lineage", ()), *board.claimed(env.ask, me["id"])}
    return lambda part: meeting.meets(part, readers, about)

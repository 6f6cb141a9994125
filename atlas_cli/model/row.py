"""The shape *row*: one live value. Each write raises its version by exactly one; its expiry is
computed when it is read."""

from __future__ import annotations

from collections.abc import Iterator

from .change import FileEdit, Shown, Violation
from .text import Record


def view(path: str, until: int | None, now: int) -> Shown:
    """The name of a row in the view, and its path while it is in force."""
    folder, _, rest = path.partition("/")
    return f"{folder}/{rest.rpartition('/')[2]}", path if (until or 0) > now else None


def rules(edit: FileEdit, old: Record | None, new: Record | None) -> Iterator[Violation]:
    """The rules of every row. `old` and `new` are the parsed records; None stands for no file."""
    if new is None:
        yield Violation(
            "append_only", edit.path, "a row was removed; a row is given back or ended, and stays"
        )
        return
    before = 0 if old is None else old["version"]
    if new["version"] != before + 1:
        yield Violation(
            "version_jump", edit.path, f"version {new['version']} where {before + 1} was expected"
        )

"""The shape *document*: added once, never changed, never removed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import times
from .change import FileEdit, Violation
from .text import Record
from .tree import Tree


def rules(edit: FileEdit) -> Iterator[Violation]:
    """The rules of every document."""
    if edit.old is not None and edit.new is None:
        yield Violation(
            "append_only", edit.path, "a document was removed; documents are kept for ever"
        )
    elif edit.old is not None:
        yield Violation(
            "immutable",
            edit.path,
            "a document was edited; a document is never changed, only superseded",
        )


def follows(edit: FileEdit, number: int, before: str) -> Iterator[Violation]:
    """The rule that a numbered document follows its predecessor by exactly one. `before` is the
    predecessor's path."""
    if number > 1 and edit.parent.blob(before) is None and edit.child.blob(before) is None:
        yield Violation(
            "version_jump", edit.path, f"number {number} without number {number - 1} before it"
        )
    if number < 1:
        yield Violation("version_jump", edit.path, "numbers begin with 1")


def numbers(tree: Tree, folder: str) -> list[int]:
    """The numbers among a folder's names (`000012.md`, `0003`), highest first."""
    stems = (name.split(".")[0] for name in tree.names(folder))
    return sorted((int(stem) for stem in stems if re.fullmatch("[0-9]{1,9}", stem)), reverse=True)


DAYS = 90  # that the view shows documents for


def young(record: Record, now: int) -> bool:
    """Whether a document is recent enough for the view."""
    return now - times.moment(record["at"]) < DAYS * 86400


def signed(edit: FileEdit, session: object) -> Iterator[Violation]:
    """The rule that a record names the session that wrote its commit."""
    if edit.message.session is not None and session != edit.message.session:
        yield Violation(
            "session",
            edit.path,
            f"says it is by {session}, the commit is by {edit.message.session}",
        )

"""The shape *document*: kept for ever. Added once, never changed, never removed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import times
from .change import FileEdit, Violation
from .text import Record
from .tree import Tree


def rules(case: FileEdit) -> Iterator[Violation]:
    """The rules of every document."""
    if case.old is not None and case.new is None:
        yield Violation(
            "append_only", case.path, "a document was removed; documents are kept for ever"
        )
    elif case.old is not None:
        yield Violation(
            "immutable",
            case.path,
            "a document was edited; a document is never changed, only superseded",
        )


def follows(case: FileEdit, number: int, path_of: str) -> Iterator[Violation]:
    """A numbered document follows its predecessor by exactly one; `path_of` is the predecessor's
    path."""
    if number > 1 and case.parent.blob(path_of) is None and case.child.blob(path_of) is None:
        yield Violation(
            "version_jump", case.path, f"number {number} without number {number - 1} before it"
        )
    if number < 1:
        yield Violation("version_jump", case.path, "numbers begin with 1")


def numbers(tree: Tree, folder: str) -> list[int]:
    """The numbers among a folder's names (`000012.md`, `0003`), highest first."""
    found = (name.split(".")[0] for name in tree.names(folder))
    return sorted(
        (int(digits) for digits in found if re.fullmatch("[0-9]{1,9}", digits)), reverse=True
    )


def newest(tree: Tree, folder: str) -> int:
    """The highest number among a folder's names; 0 where it is empty."""
    return next(iter(numbers(tree, folder)), 0)


DAYS = 90  # that the view shows documents for


def young(record: Record, now: int) -> bool:
    """Whether a document is of the last days that the view shows."""
    return now - times.moment(record["at"]) < DAYS * 86400


def signed(case: FileEdit, session: object) -> Iterator[Violation]:
    """A record's `session` is the session that wrote the commit."""
    if case.message.session is not None and session != case.message.session:
        yield Violation(
            "session",
            case.path,
            f"says it is by {session}, the commit is by {case.message.session}",
        )

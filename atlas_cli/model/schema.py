"""The checks of a record's fields: which must be present, of which type, and in which file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import Damaged
from . import times
from .text import Record

FORMAT = 2  # the newest format of records that this version knows


def fields(
    record: Record, path: str, required: Mapping[str, Any], optional: Mapping[str, Any]
) -> Record:
    """The record itself, if each required field is present and each known field has its type.
    Unknown fields are left alone. Raises Damaged otherwise."""
    form = record.get("format", FORMAT)
    if not isinstance(form, int) or form < 1:
        raise Damaged(f"{path}: format {form!r} is no number")
    if form > FORMAT:
        raise Damaged(
            f"{path}: format {form} is newer than this version of Atlas, which knows {FORMAT}",
            "install a newer atlas-cli",
            code="newer_format",
        )
    for key, kind in required.items():
        if key not in record:
            raise Damaged(f"{path}: the field {key} is missing")
        _typed(record[key], kind, key, path)
    for key, kind in optional.items():
        if key in record:
            _typed(record[key], kind, key, path)
    return record


class Misplaced(Damaged):
    """A record that lies elsewhere than its own fields say. Nobody acts on it."""

    rule = "misplaced"


def is_name(path: str, what: str, text: str, valid: bool) -> None:
    """Raises Damaged if a name in a record is not valid."""
    if not valid:
        raise Damaged(f"{path}: {text[:80]!r} is no {what}")


def placed(path: str, ref: str, place: str | None) -> None:
    """Raises Misplaced if a record does not lie in its place. `place` is None if the name that it
    gives itself is not valid."""
    if path != place:
        why = f", which lies in {place}" if place else ": that is no name"
        raise Misplaced(f"{path}: says it is {ref[:120]!r}{why}")


def _typed(value: object, kind: Any, key: str, path: str) -> None:
    """Raises Damaged if a field's value is not of its kind: a Python type, or `time`, `count` or
    `texts`."""
    if kind == "time":
        try:
            times.moment(value)
        except ValueError as error:
            raise Damaged(f"{path}: {key}: {error}") from None
    elif kind == "count":
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**53:
            raise Damaged(f"{path}: {key}: {str(value)[:40]!r} is no count")
    elif kind == "texts":
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise Damaged(f"{path}: {key} is no list of texts")
    elif not isinstance(value, kind):
        raise Damaged(f"{path}: {key} is no {'text' if kind is str else kind.__name__}")

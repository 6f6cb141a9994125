"""The words of a record: what stands in its fields, also in maps and lists inside it. A field is
named by its keys: `title`, `frozen.why`; in `failures.why` it is that of each failure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from .text import Record


def values(value: Any, keys: str) -> Iterator[Any]:
    """The values under the keys of a field: one for each map that has it."""
    key, _, rest = keys.partition(".")
    if isinstance(value, list):
        for item in value:
            yield from values(item, keys)
    elif isinstance(value, dict) and key in value:
        if rest:
            yield from values(value[key], rest)
        else:
            yield value[key]


def without(
    record: Record, fields: Iterable[str], withheld: Callable[[str, Any], bool]
) -> tuple[Record, bool]:
    """A record with None in place of the words that are withheld, and whether any were. The record
    that is given stays as it is."""
    result, anything = record, False
    for field in fields:
        if any(withheld(field, value) for value in values(record, field)):
            result, anything = _blank(result, field, partial(withheld, field)), True
    return result, anything


def _blank(value: Any, keys: str, withheld: Callable[[Any], bool]) -> Any:
    key, _, rest = keys.partition(".")
    if isinstance(value, list):
        return [_blank(item, keys, withheld) for item in value]
    if not isinstance(value, dict) or key not in value:
        return value
    if rest:
        return {**value, key: _blank(value[key], rest, withheld)}
    return {**value, key: None} if withheld(value[key]) else value

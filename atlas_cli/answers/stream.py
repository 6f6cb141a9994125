"""The status by its sections: who wrote each one, when, and whether a hand did."""

from __future__ import annotations

from ..model.tree import Tree
from ..records import parts as of_entry
from ..records import status
from ..records.parts import Part, Warn
from .ask import Questions

__all__ = ["Part", "Warn", "parts"]


def parts(ask: Questions, tree: Tree, stream: str, number: int | None = None) -> tuple[Part, ...]:
    """The sections of an entry (the current one if `number` is None), in the body's order. None of
    them for one that is not there or cannot be read."""
    whole = of_entry.parts(tree, stream, number)
    operations = {part.written: _operation(ask, stream, part.written) for part in whole}
    rows = []
    for part in whole:
        operation = operations[part.written]
        by_hand = not operation
        rows.append(part._replace(operation=operation, by_hand=by_hand))
    return tuple(rows)


def _operation(ask: Questions, stream: str, number: int) -> str:
    """The operation whose commit wrote an entry; empty if a hand did."""
    return ask.index.wrote(status.path_of(stream, number))

"""The status by its sections: who wrote each one, when, and whether a hand did."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.text import Record
from ..model.tree import Tree
from ..records import correction, folding, status
from ..records import parts as of_entry
from ..records.parts import Part, Warn
from ..store.index import Index
from .ask import Questions, withdrawing

HIDDEN = "(retracted)"  # in place of a heading

__all__ = ["Part", "Warn", "folded", "parts", "said", "within"]


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


def said(ask: Questions, part: Part, withdrawn: bool = False) -> Part:
    """A section as it is shown to anybody: with the corrections of its write, and without its words
    once that was retracted (unless `withdrawn`)."""
    rows = ask.corrections(part.ref)
    part = part._replace(corrections=tuple(rows))
    if withdrawn or not any(map(correction.withdraws, rows)):
        return part
    return withheld(part)


def withheld(part: Part) -> Part:
    """A section without the words of its writer."""
    heading = HIDDEN if part.heading else ""
    return part._replace(heading=heading, text=correction.WITHHELD, warn=(), good_until="")


def folded(index: Index, tree: Tree, record: Record) -> list[Record]:
    """The items of what an entry names as folded, without those that were retracted."""
    items, prefix = folding.items_of(record), f"{status.KIND.name}:{record['stream']}@"
    rows = index.rows(correction.FOLDER) if items else []
    targets = {row["data"]["target"] for row in rows if row["data"] and row["data"]["retract"]}
    if not any(target.startswith(prefix) for target in targets):
        return items
    return [item for item in items if not _is_withdrawn(index, tree, record["stream"], item)]


def _is_withdrawn(index: Index, tree: Tree, stream: str, item: Record) -> bool:
    """Whether what wrote a folded section was retracted, and stays so."""
    number = item["ref"].rpartition("@")[2]
    whole = of_entry.parts(tree, stream, int(number)) if number.isdecimal() else ()
    part = next((part for part in whole if part.heading == item["heading"]), None)
    return part is not None and bool(withdrawing(index, part.ref))


def within(whole: Sequence[Part], words: int) -> tuple[list[Part], list[Part]]:
    """(the first sections that go into so many words and ten times as many characters, the rest).
    The first of all is always among them."""
    left, letters = words, 10 * words
    for count, part in enumerate(whole):
        left, letters = left - folding.size(part), letters - len(part.text)
        if count and (left < 0 or letters < 0):
            return list(whole[:count]), list(whole[count:])
    return list(whole), []


def history(ask: Questions, tree: Tree, stream: str, heading: str, most: int = 500) -> list[Part]:
    """The texts of a section, newest first, each once; of so many entries at most."""
    rows: list[Part] = []
    number = status.newest(tree, stream)
    for _ in range(most):
        if number < 1:
            break
        whole = parts(ask, tree, stream, number)
        part = next((part for part in whole if part.heading == heading), None)
        if part is not None:
            rows.append(said(ask, part))
        number = min(part.written, number) - 1 if part is not None else number - 1
    return rows


def headings(ask: Questions, tree: Tree, stream: str) -> list[str]:
    """The headings that stand in a stream, or are named by it as folded."""
    record = status.current(tree, stream)
    if record is None:
        return []
    return [
        *(part.heading for part in of_entry.of_record(tree, record)),
        *(item["heading"] for item in folded(ask.index, tree, record)),
    ]

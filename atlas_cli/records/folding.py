"""The bounds of a status entry, and what is folded where it would hold more: what ended sessions
wrote first, the oldest of it first. Nothing folded is lost: the entry names where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..errors import AtlasError
from ..model.text import Record
from ..model.tree import Tree
from . import session
from .parts import Part, texts

ITEMS = 128  # folded sections that an entry names one by one


class Bounds(NamedTuple):
    """So many words, and so many characters."""

    words: int
    characters: int

    @staticmethod
    def of(shown: int) -> Bounds:
        """The bounds of what an entry stores, where a reader is shown so many words of it: four
        times that."""
        return Bounds(4 * shown, 40 * shown)

    @staticmethod
    def of_section(shown: int) -> Bounds:
        """The bound of one section, where a reader is shown so many words: half of that."""
        return Bounds((shown + 1) // 2, 5 * shown)

    def hold(self, whole: Sequence[Part]) -> bool:
        """Whether the sections fit."""
        words = sum(size(part) for part in whole)
        return words <= self.words and sum(len(part.text) for part in whole) <= self.characters


def size(part: Part) -> int:
    """The words of a section with its heading and its warnings."""
    text = " ".join((part.heading, part.text, *(warn.text for warn in part.warn)))
    return len(text.split())


def folded(
    tree: Tree, whole: Sequence[Part], number: int, at: int, bounds: Bounds
) -> tuple[list[Part], list[Part]]:
    """(what stays, what is folded). The sections that the entry of that number writes stay, and so
    does each that a warning stands at."""
    living = {part.session: alive(tree, part.session, at) for part in whole}
    order = [part for part in whole if part.written != number and not part.warn]
    order.sort(key=lambda part: (living[part.session], part.written))
    stay, gone = list(whole), []
    for part in order:
        if bounds.hold(stay):
            break
        stay.remove(part)
        gone.append(part)
    return stay, gone


def alive(tree: Tree, name: str, at: int) -> bool:
    """Whether a session's row says that it was at work at a moment."""
    try:
        session.live(tree, name, at)
    except AtlasError:
        return False
    return True


def earlier(head: Record | None, gone: Sequence[Part], back: str) -> list[Record]:
    """The items of what is folded: those of the entry before (not what comes back), and the new
    ones. Above so many, the oldest half becomes one item that names the entry before."""
    if head is None:
        return []
    here = f"status:{head['stream']}@{head['number']}"
    items = [item for item in items_of(head) if name(item) != back]
    items += [{"heading": part.heading, "ref": here} for part in gone]
    if len(items) <= ITEMS:
        return items
    old, new = items[: ITEMS // 2], items[ITEMS // 2 :]
    return [{"heading": "", "ref": here, "count": sum(map(count, old))}, *new]


def items_of(record: Record) -> list[Record]:
    """The items of what an entry says was folded."""
    rows = record.get("earlier", [])
    rows = [item for item in rows if isinstance(item, dict)]
    return [item for item in rows if len(texts([item.get("heading"), item.get("ref")])) == 2]


def name(item: Record) -> str:
    """The name of a folded section: the entry where it stands, and its heading."""
    return f"{item['ref']}#{item['heading']}"


def count(item: Record) -> int:
    """How many folded sections an item stands for."""
    number = item.get("count", 1)
    return number if isinstance(number, int) else 1

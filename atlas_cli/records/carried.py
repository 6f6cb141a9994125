"""The rule `carried`: an entry of the status is the one before it and what its writer wished,
whoever put it where it stands. No section is lost on the way, and none is made up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..errors import Refused
from ..model import text, times
from ..model.change import FileEdit, Violation, Writer
from ..model.message import Message
from ..model.text import Record
from ..model.tree import Tree
from . import folding, parts, status
from .judging import store_id
from .parts import Part
from .wish import Base, Wish, back, digest, heir, held, in_force, made, of_entry, withdrawn

Files = dict[str, bytes | None]


def rules(edit: FileEdit) -> Iterator[Violation]:
    """The rules of an entry: those of every numbered document, and `carried`."""
    yield from status.KIND.rules(edit)
    if edit.new is None or edit.old is not None or edit.message.by_hand:
        return
    record = status.parse(edit.path, edit.new)
    if digest(store_id(edit.parent), edit.message, record) != edit.message.wish:
        yield Violation("carried", edit.path, "Atlas-Wish does not match what the entry says")
    wish = of_entry(record)
    if wish is None:
        return
    if record.get("operation") != edit.message.operation:
        yield Violation("carried", edit.path, "names another operation than its commit")
    for what in _Judged.of(edit.parent, edit.child, record, wish).faults():
        yield Violation("carried", edit.path, what)


class _Judged(NamedTuple):
    """An entry, and all that it is judged by."""

    tree: Tree  # before it
    head: Record | None  # the entry before
    before: tuple[Part, ...]
    record: Record
    whole: tuple[Part, ...]
    wish: Wish
    base: Base

    @classmethod
    def of(cls, tree: Tree, child: Tree, record: Record, wish: Wish) -> _Judged:
        head = status.readable(tree, record["stream"], record["number"] - 1)
        before = parts.of_record(tree, head) if head else ()
        whole = parts.of_record(child, record)
        base = Base(tree, wish, record["session"])
        return cls(tree, head, before, record, whole, wish, base)

    def faults(self) -> Iterator[str]:
        """The faults of the entry."""
        if self.record.get("sections", []) != [parts.item(part) for part in self.whole]:
            yield "`sections` does not name the sections of the text"
        if self.record.get("unseen", []) != self.base.unseen():
            yield "`unseen` does not name what its writer had not seen"
        if "held" in self.record and self.record["held"] != held(self.tree, self._by_writer()):
            yield "`held` does not name the leases that its warnings wait for"
        for part in self.before:
            yield from self._gone(part)
        yield from self._own()
        rows = folding.items_of(self.record)
        first = rows[0] if rows else {}
        rolled = "count" in first and self.head is not None and first["ref"] == _ref(self.head)
        came_back = back(self.tree, self.wish)
        for item in folding.items_of(self.head or {}):
            if item not in rows and not rolled and folding.name(item) != came_back:
                yield f"`earlier` no longer names {item['heading'][:80]!r}"

    def _gone(self, part: Part) -> Iterator[str]:
        """The fault that a section of the entry before, or a warning at it, is lost."""
        same = [new for new in self.whole if new.same(part)]
        own = [new for new in self._by_writer() if new.heading == part.heading]
        by, at = self.record["session"], times.moment(self.record["at"])
        standing = set(in_force(self.tree, part, at))
        if self.wish.unwarn and part.heading == self.wish.heading:
            standing = {warn for warn in standing if not heir(self.tree, by, warn.session)}
        if self.wish.replace and not same:
            standing = {warn for warn in standing if warn.session != by}
        if withdrawn(self.tree, self.wish, part):
            return
        now = (same or own)[0].warn if same or own else ()
        if not standing <= set(now):
            yield f"a warning at {part.heading[:80]!r} is gone"
        named = {"heading": part.heading, "ref": _ref(self.head) if self.head else ""}
        folded = named in self.record.get("earlier", []) and not standing
        seen = (self.wish.replace or self.wish.exact) and self.base.saw(part)
        written = own and (part.session == by or seen)
        dropped = self.wish.replace and seen
        if not (same or folded or written or dropped):
            yield f"the section {part.heading[:80]!r} of {part.ref} is gone"

    def _by_writer(self) -> list[Part]:
        return [part for part in self.whole if part.written == self.record["number"]]

    def _own(self) -> Iterator[str]:
        """The faults of what the entry itself writes."""
        own = self._by_writer()
        headings = [part.heading for part in own]
        wanted = [] if self.wish.unwarn else [self.record.get("section", "")]
        if not self.wish.replace and headings != wanted:
            yield f"writes {headings!r:.80}, and says {wanted!r:.80}"
        marks = {(part.on, part.to, part.good_until) for part in own}
        if own and marks != {(self.wish.on, self.wish.to, self.wish.good_until)}:
            yield "is about other files, addressed to others, or good for longer, than its wish"
        for part in self.whole:
            if part.written != self.record["number"]:
                yield from self._carried(part)

    def _carried(self, part: Part) -> Iterator[str]:
        """The faults of a section that another entry has written: that it is not the one that
        stood in the entry before, word for word, about the same files and for the same readers."""
        same = next(filter(part.same, self.before), None)
        if same is None:
            yield f"the section {part.heading[:80]!r} was in no entry before"
        elif (part.on, part.to) != (same.on, same.to):
            yield f"the section {part.heading[:80]!r} is about other files, or addressed to others"
        elif not set(part.warn) <= set(same.warn):
            yield f"a warning at {part.heading[:80]!r} was in no entry before"


def _ref(record: Record) -> str:
    return f"status:{record['stream']}@{record['number']}"


def wished(store: str, message: Message, path: str, data: bytes) -> str | None:
    """The digest that `Atlas-Wish` states for the entry at a path."""
    return digest(store, message, status.parse(path, data))


def anew(tree: Tree, files: Mapping[str, bytes | None]) -> Files:
    """The files of a write that is carried over to another history: its entry is made there again,
    of what was wished. Raises Refused if that would drop what the writer had not seen."""
    renewed: Files = dict(files)
    for path, data in files.items():
        stream, number = status.numbered(path)
        if data is None or not number:
            continue
        record = status.parse(path, data)
        wish = of_entry(record)
        if wish is None:
            continue
        base, last = Base(tree, wish, record["session"]), status.newest(tree, stream)
        if wish.replace and (not base.here or base.number != last):
            raise Refused(f"it replaces status:{stream}, and others wrote meanwhile up to {last}")
        moment = times.moment(record["at"])
        who = Writer(record["session"], record["actor"], "", moment, record["operation"])
        del renewed[path]
        entry = made(tree, who, wish)
        renewed |= put(entry.record, entry.body)
    return renewed


def put(record: Record, body: str) -> Files:
    """The file of an entry."""
    path = status.path_of(record["stream"], record["number"])
    return {path: text.with_front(record, body)}

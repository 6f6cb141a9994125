"""The sections of a status entry, each with who wrote it. The body is the truth; `sections` in the
front matter says, in its order, in which entry each one was written.

A part counts as written by the entry that its item names only if it reads the same there. Any other
part, or one without an item, was written by the writer of the entry in which it stands: so an entry
by hand, or of an older form, is well-defined."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ..model import change, names, times
from ..model.text import Record
from ..model.tree import Tree
from ..visible import theirs
from . import artifact, correction, sections, status, telling
from .over import Said

NOTE = 40  # words of a line at the head of a section


class Warn(NamedTuple):
    """A warning at the head of a section. `until` is a time, or the REF whose end it waits for."""

    text: str
    until: str
    session: str = ""  # that gave it


class Part(NamedTuple):
    """One section of a status entry, with who wrote it."""

    stream: str
    number: int  # the entry that it was read in
    heading: str  # '' for the text before the first heading
    text: str  # without the heading line
    operation: str  # that wrote it; '' by hand
    session: str
    actor: str
    at: int  # seconds
    on: tuple[str, ...] = ()  # files of its writer
    to: tuple[str, ...] = ()  # whom it is addressed to: `for` in the record
    warn: tuple[Warn, ...] = ()
    unseen: tuple[str, ...] = ()  # entries that its writer had not seen
    by_hand: bool = False
    written: int = 0  # the number of the entry that wrote it
    good_until: str = ""  # the time after which showing it warns
    held: tuple[tuple[str, str], ...] = ()  # the leases that its warnings wait for, since when held
    corrections: tuple[Record, ...] = ()  # of the entry that wrote it, where it is to be shown

    @property
    def ref(self) -> str:
        """The REF of the entry that wrote it."""
        return f"status:{self.stream}@{self.written}"

    @property
    def shown(self) -> str:
        """Its heading as views show it before its writer and its age, in brackets: in quotes where
        it ends in a bracket itself, which could be taken for these."""
        return theirs(self.heading, len(self.heading)) if self.heading[-1:] == ")" else self.heading

    def written_as(self, ref: str) -> bool:
        """Whether a REF names the entry that wrote it: by its number, or by its operation."""
        by = names.Ref(status.KIND.name, self.stream, operation=self.operation)
        return ref == self.ref or (bool(self.operation) and ref == str(by))

    def notes(self, now: int, say: Callable[[str], str] = str) -> list[str]:
        """The lines at its head that are not its writer's: that the time is over for which it was
        good, and that it was corrected. `say` marks the words of others; in a frame they stand as
        they are."""
        old = artifact.outlived(item(self), now)
        lines = [" ".join(correction.shown(row, now, say).split()) for row in self.corrections]
        return [*([old] if old else []), *(telling.cut(line, NOTE) for line in lines)]

    def data(self) -> Record:
        """The section as data."""
        return {
            "heading": self.heading,
            "session": self.session,
            "actor": self.actor,
            "at": times.rfc3339(self.at),
            "ref": self.ref,
            "body": self.text,
            **change.given(good_until=self.good_until, corrections=list(self.corrections)),
        }

    def same(self, other: Part) -> bool:
        """Whether both are the same section as the same write left it."""
        return self._left() == other._left()

    def _left(self) -> tuple[object, ...]:
        return self.heading, self.text, self.operation, self.written, self.good_until


def parts(tree: Tree, stream: str, number: int | None = None) -> tuple[Part, ...]:
    """The sections of an entry (the current one if `number` is None), in the body's order. None of
    them for one that is not there or cannot be read."""
    upto = status.newest(tree, stream) if number is None else number
    record = status.readable(tree, stream, upto)
    if record is None or number not in (None, record["number"]):
        return ()
    return of_record(tree, record)


def of_record(tree: Tree, record: Record) -> tuple[Part, ...]:
    """The sections of an entry that was read."""
    stream, number = record["stream"], record["number"]
    known: dict[int, Record | None] = {number: record}

    def entry(wanted: int) -> Record | None:
        if wanted not in known:
            row = status.readable(tree, stream, wanted)
            known[wanted] = row if row and row["number"] == wanted else None
        return known[wanted]

    left = _items(record)
    whole = []
    for heading, text in sections.split(str(record["body"])):
        item = next((item for item in left if item["heading"] == heading), {})
        if item:
            left.remove(item)
        writer = _writer(entry, record, item, heading, text)
        whole.append(_part(record, writer, item, heading, text))
    return tuple(whole)


def _items(record: Record) -> list[Record]:
    """The items of an entry that have their form; a hand may have written anything there."""
    return [
        item
        for item in record.get("sections", ())
        if isinstance(item, dict) and isinstance(item.get("heading"), str)
    ]


def written(record: Record) -> list[Record]:
    """The items of the sections that an entry has written itself; none of any other record."""
    return [item for item in _items(record) if item.get("entry") == record.get("number")]


def _writer(
    entry: Callable[[int], Record | None], record: Record, item: Record, heading: str, text: str
) -> Record:
    """The entry that wrote a part: the one that its item names, if it reads the same there."""
    named = item.get("entry")
    if not isinstance(named, int) or not 0 < named < record["number"]:
        return record
    writer = entry(named)
    if writer is None or writer.get("operation", "") != item.get("from", ""):
        return record
    return writer if (heading, text) in sections.split(str(writer["body"])) else record


def _part(record: Record, writer: Record, item: Record, heading: str, text: str) -> Part:
    return Part(
        record["stream"],
        record["number"],
        heading,
        text,
        writer.get("operation", ""),
        writer["session"],
        writer["actor"],
        times.moment(writer["at"]),
        texts(item.get("on")),
        texts(item.get("for")),
        tuple(_warn(warn, writer) for warn in _dicts(item.get("warn")) if "text" in warn),
        tuple(writer.get("unseen", ())),
        written=writer["number"],
        good_until=_time(item.get("good_until")),
        held=_held(writer.get("held")),
    )


def _warn(item: Record, writer: Record) -> Warn:
    return Warn(
        str(item["text"]), str(item.get("until", "")), str(item.get("by", writer["session"]))
    )


def said(part: Part, warn: Warn) -> Said:
    """When, by whom and of which leases a warning at a section says "until then"."""
    return Said(part.at, warn.session, dict(part.held))


def _held(value: Any) -> tuple[tuple[str, str], ...]:
    rows = value.items() if isinstance(value, dict) else ()
    return tuple((ref, since) for ref, since in rows if isinstance(since, str))


def _time(value: Any) -> str:
    """A time that a hand may have written; empty if it is none."""
    try:
        times.moment(value)
    except ValueError:
        return ""
    return str(value)


def _dicts(value: Any) -> Iterable[Record]:
    rows = value if isinstance(value, list) else []
    return [item for item in rows if isinstance(item, dict)]


def texts(value: Any) -> tuple[str, ...]:
    """The texts in a list that a hand may have written."""
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def item(part: Part) -> Record:
    """The item of a part, as the front matter has it."""
    record: Record = {"heading": part.heading, "from": part.operation, "entry": part.written}
    lists = {"on": list(part.on), "for": list(part.to)}
    record |= {key: value for key, value in lists.items() if value}
    record |= {"good_until": part.good_until} if part.good_until else {}
    warns = []
    for warn in part.warn:
        by = {} if warn.session == part.session else {"by": warn.session}
        warns.append({"text": warn.text, "until": warn.until, **by})
    return {**record, "warn": warns} if warns else record


def body(whole: Iterable[Part]) -> str:
    """The text of an entry that has these sections."""
    return sections.joined((part.heading, part.text) for part in whole)

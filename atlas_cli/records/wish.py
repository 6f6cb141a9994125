"""The wish of a session for the status, and the entry that comes of it on any history: the sections
of the entry before, with its own put among them.

A wish is what a session signs (`Atlas-Wish`). Number, order and folding belong to the history that
it meets: whoever carries it to another one computes them there anew."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from ..errors import AtlasError
from ..model import change, digests, names, times
from ..model.change import Writer
from ..model.message import Message
from ..model.text import Record
from ..model.tree import Tree
from . import correction, folding, lease, parts, policy, sections, session, status
from .over import over
from .parts import Part, Warn

UNSEEN = 100  # entries before the head, of which those that the writer had not seen are named


class Wish(NamedTuple):
    """One write of a session into the status: a section, or the whole."""

    stream: str
    heading: str = ""
    text: str = ""  # of the section; with `replace` the whole
    base: str = ""  # the newest entry that the session had read: `12~3f9c01ab77de`
    exact: bool = False  # the section of that heading is meant, whoever wrote it
    on: tuple[str, ...] = ()
    to: tuple[str, ...] = ()
    warn: tuple[tuple[str, str], ...] = ()  # (text, until)
    unwarn: bool = False  # the session takes back its warnings at that heading
    replace: bool = False
    back: str = ""  # the folded section that comes back: `status:main@12#Parser`
    # (number, correction) of each entry that was retracted: what it wrote is not carried on. (The
    # correction says which one that is: on another history it has another number.)
    withdrawn: tuple[tuple[int, str], ...] = ()
    relies_on: tuple[str, ...] = ()
    caveat: str = ""
    good_until: str = ""  # the time after which showing what it writes warns

    def record(self) -> Record:
        """The wish as the front matter has it: all but what stands in the entry anyway."""
        return change.given(
            base=self.base,
            heading=self.heading,
            exact=self.exact,
            on=list(self.on),
            to=list(self.to),
            warn=[list(pair) for pair in self.warn],
            unwarn=self.unwarn,
            replace=self.replace,
            back=self.back,
            withdrawn=[list(pair) for pair in self.withdrawn],
            good_until=self.good_until,
        )


def of_entry(record: Record) -> Wish | None:
    """The wish that an entry was made of. None for an entry by hand, or of the older form."""
    given = record.get("wish")
    if not isinstance(given, dict):
        return None
    pieces = sections.split(str(record["body"]))
    if given.get("replace"):
        beside = record.get("kept", [])
        own = [piece for piece in pieces if piece[0] not in beside]
        text = sections.joined(own)
    else:
        own = [piece for piece in pieces if piece[0] == record.get("section")]
        text = own[0][1] if own and not given.get("unwarn") else ""
    return Wish(
        record["stream"],
        str(given.get("heading", "")),
        text,
        str(given.get("base", "")),
        bool(given.get("exact")),
        parts.texts(given.get("on")),
        parts.texts(given.get("to")),
        tuple((str(pair[0]), str(pair[1])) for pair in _pairs(given.get("warn"))),
        bool(given.get("unwarn")),
        bool(given.get("replace")),
        str(given.get("back", "")),
        tuple((_count(pair[0]), str(pair[1])) for pair in _pairs(given.get("withdrawn"))),
        parts.texts(record.get("relies_on")),
        str(record.get("caveat", "")),
        str(given.get("good_until", "")),
    )


def _pairs(value: object) -> list[list[object]]:
    rows = value if isinstance(value, list) else []
    return [pair for pair in rows if isinstance(pair, list) and len(pair) == 2]


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def digest(store: str, message: Message, record: Record) -> str | None:
    """The digest that `Atlas-Wish` states for an entry: the SHA-256, in hex, over the store, the
    operation, the session, the time and the wish. None for an entry that was made of none."""
    wish = of_entry(record)
    if wish is None:
        return None
    at = "" if message.at is None else times.rfc3339(message.at)
    head = [store, message.operation or "", message.session or "", at]
    data = json.dumps([*head, *_signed(wish)], ensure_ascii=True, separators=(",", ":"))
    return digests.sha256(data.encode()).hexdigest()


def _signed(wish: Wish) -> tuple[object, ...]:
    """The fields of a wish as they are signed. One that came later is left out where it says
    nothing, so that older wishes keep their digest."""
    return wish if wish.good_until else wish[:-1]


class Base:
    """The entries that the writer of a wish had read, on one history."""

    def __init__(self, tree: Tree, wish: Wish, by: str) -> None:
        number, _, blob = wish.base.partition("~")
        self.number = int(number) if number.isdecimal() else 0
        at = tree.blob(status.path_of(wish.stream, self.number)) or ""
        # An entry of the session's own clone may have got another number since.
        self.here = not self.number or (bool(blob) and at.startswith(blob))
        self.tree, self.stream, self.by = tree, wish.stream, by

    def covers(self, number: int) -> bool:
        """Whether the writer had seen the entry of a number."""
        return number <= self.number if self.here else number < self.number

    def saw(self, part: Part) -> bool:
        """Whether the writer had seen a section as it stands."""
        return part.session == self.by or self.covers(part.written)

    def unseen(self) -> list[str]:
        """The REFs of the entries of others, of the last hundred, that the writer had not seen,
        oldest first. An entry that an own one had not seen was not seen after it either."""
        last = status.newest(self.tree, self.stream)
        refs: dict[str, None] = {}
        for number in range(max(1, last - UNSEEN + 1), last + 1):
            if self.covers(number):
                continue
            record = status.readable(self.tree, self.stream, number)
            if record is None or record["number"] != number:
                continue
            if record["session"] != self.by:
                refs[f"status:{self.stream}@{number}"] = None
            elif not self.here:
                refs |= dict.fromkeys(parts.texts(record.get("unseen")))
        return sorted(refs, key=lambda ref: int(ref.rpartition("@")[2]))


class Made(NamedTuple):
    """The entry that a wish makes on a history: its fields, its sections, and what was folded."""

    record: Record
    whole: tuple[Part, ...]
    folded: tuple[Part, ...]

    @property
    def body(self) -> str:
        """The text of the entry, as it is stored."""
        return parts.body(self.whole)


def made(tree: Tree, who: Writer, wish: Wish) -> Made:
    """The entry that a wish makes on this history."""
    last = status.newest(tree, wish.stream)
    head = status.readable(tree, wish.stream, last)
    before = standing(tree, head, wish, who.at)
    own = Part(
        wish.stream,
        last + 1,
        wish.heading,
        wish.text,
        who.operation,
        who.session,
        who.actor,
        who.at,
        wish.on,
        wish.to,
        tuple(Warn(text, until, who.session) for text, until in wish.warn),
        written=last + 1,
        good_until=wish.good_until,
    )
    base = Base(tree, wish, who.session)
    beside: list[str] = []
    if wish.replace:
        whole, beside = _replaced(before, wish, own)
    elif wish.unwarn:
        whole = [unwarned(tree, part, wish.heading, who.session) for part in before]
    else:
        whole, own = _placed(before, base, wish, own)
    stored = folding.Bounds.of(policy.usable(tree)["status_words"])
    whole, gone = folding.folded(tree, whole, own.written, who.at, stored)
    place = "" if wish.replace else own.heading
    record: Record = {"stream": wish.stream, "number": last + 1, **who.signature()}
    record |= {"operation": who.operation} | change.given(
        section=place,
        relies_on=list(wish.relies_on),
        caveat=wish.caveat,
        kept=beside,
    )
    record |= {"wish": wish.record(), "sections": [parts.item(part) for part in whole]}
    record |= change.given(
        earlier=folding.earlier(
            head, [*gone, *_left_out(tree, head, wish, own, base)], back(tree, wish)
        ),
        unseen=base.unseen(),
        held=held(tree, [part for part in whole if part.written == own.written]),
    )
    return Made(record, tuple(whole), tuple(gone))


def standing(tree: Tree, head: Record | None, wish: Wish, at: int) -> list[Part]:
    """The sections of the entry before that are carried on: not what was retracted, and only with
    the warnings that are in force."""
    if head is None:
        return []
    return [
        part._replace(warn=in_force(tree, part, at))
        for part in parts.of_record(tree, head)
        if not withdrawn(tree, wish, part)
    ]


def in_force(tree: Tree, part: Part, at: int) -> tuple[Warn, ...]:
    """The warnings at a section whose end has not come since it was written."""
    return tuple(
        warn for warn in part.warn if not over(tree, warn.until, at, parts.said(part, warn))
    )


def held(tree: Tree, whole: Iterable[Part]) -> dict[str, str]:
    """The leases that the warnings at sections wait for, each with the time since which it is held:
    whatever the clocks say, one that is taken anew later is another."""
    refs = {warn.until for part in whole for warn in part.warn}
    kind = f"{lease.KIND.name}:"
    since = {}
    for ref in sorted(ref for ref in refs if ref.startswith(kind)):
        with suppress(AtlasError):
            if row := lease.current(tree, ref.removeprefix(kind)):
                since[ref] = lease.since(row)
    return since


def _left_out(tree: Tree, head: Record | None, wish: Wish, own: Part, base: Base) -> list[Part]:
    """The sections of the entry before that are not carried on because they were retracted, and
    that its writer did not mean to write over: the retraction may be lifted."""
    return [
        part
        for part in (parts.of_record(tree, head) if head else ())
        if withdrawn(tree, wish, part)
        and not (wish.replace and base.saw(part))
        and (part.heading, part.session) != (own.heading, own.session)
    ]


def withdrawn(tree: Tree, wish: Wish, part: Part) -> bool:
    """Whether what wrote a section was retracted, by a correction that a wish names."""
    return any(part.written_as(_retracted(tree, name)) for _, name in wish.withdrawn)


def _retracted(tree: Tree, name: str) -> str:
    """The REF that a correction retracts, as it is kept there; empty if it retracts nothing."""
    try:
        path = correction.KIND.find(tree, name)
        record = correction.parse(path, tree.read(path) or b"")
    except AtlasError:
        return ""
    return str(record["target"]) if record["retract"] else ""


def back(tree: Tree, wish: Wish) -> str:
    """The name of the folded section that comes back, as the entries on this history have it."""
    ref, _, heading = wish.back.partition("#")
    _, by, operation = ref.partition(names.BY)
    if not by:
        return wish.back
    number = status.written(tree, wish.stream, operation)
    return f"{status.KIND.name}:{wish.stream}@{number}#{heading}"


def _placed(before: Sequence[Part], base: Base, wish: Wish, own: Part) -> tuple[list[Part], Part]:
    """The sections with the own one among them: in place of the one that it goes on with, or at the
    end. A heading that is another's, or was written meanwhile, is not taken: both stand."""
    by_heading = {part.heading: part for part in reversed(before)}
    old = by_heading.get(wish.heading)
    heading = wish.heading
    if old and not (old.session == own.session or (wish.exact and base.saw(old))):
        heading = free(by_heading.values(), wish.heading, own.session)
        old = by_heading.get(heading)
    own = own._replace(heading=heading, warn=(*own.warn, *(old.warn if old else ())))
    if old is None:
        return [*before, own], own
    return [own if part is old else part for part in before], own


def free(taken: Iterable[Part], heading: str, by: str) -> str:
    """The heading with the first number that no other session has taken."""
    stem = re.sub(r" \([0-9]+\)\Z", "", heading)
    others = {part.heading for part in taken if part.session != by}
    number = 2
    while f"{stem} ({number})" in others:
        number += 1
    return f"{stem} ({number})"


def _replaced(before: Sequence[Part], wish: Wish, own: Part) -> tuple[list[Part], list[str]]:
    """The sections of a whole new text, and the headings of those that stay beside it, because
    another's warning stands at them. A section that reads as before keeps its writer."""
    left = list(before)
    whole = []
    for heading, text in sections.split(wish.text):
        same = [part for part in left if part.heading == heading]
        old = next((part for part in same if part.text == text), next(iter(same), None))
        if old:
            left.remove(old)
        new = own._replace(heading=heading, text=text, warn=old.warn if old else ())
        whole.append(old if old and old.text == text else new)
    stay = [part for part in left if any(warn.session != own.session for warn in part.warn)]
    taken = {part.heading for part in whole}
    stay = [part for part in stay if part.heading not in taken]
    return [*whole, *stay], [part.heading for part in stay]


def unwarned(tree: Tree, part: Part, heading: str, by: str) -> Part:
    """A section without the warnings that a session gave, or whose giver it has adopted."""
    if part.heading != heading:
        return part
    left = [warn for warn in part.warn if not heir(tree, by, warn.session)]
    return part._replace(warn=tuple(left))


def heir(tree: Tree, by: str, owner: str) -> bool:
    """Whether a session is another one, or has adopted it."""
    return by == owner or session.adopted_by(tree, owner) == by

"""A session's write into the status, and whether its own command may make it: what it would write
over or drop it must have read, and what concerns it must have been told first.

This is a guard on the writer's command. Once written, an entry is carried to any other history
(`carried.py`)."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from ..errors import NotFound, Protocol, Refused, Usage, VersionJump
from ..model import change, times
from ..model.change import Change, Writer
from ..model.text import Record
from ..model.tree import Tree
from ..visible import many, named
from . import carried, folding, parts, policy, sections, status
from .parts import Part
from .wish import Made, Wish, made, standing

WARNING = 25  # words
WARNINGS = 2  # at a section
SHOWN = 8  # sections that a stop prints


Again = Callable[[int], str]  # the command that submits a draft, once the entry was read


def nothing(part: Part) -> str:
    """The bearing of a section on who is nobody: none."""
    return ""


def as_it_is(part: Part) -> Part:
    """A section as it stands in the store."""
    return part


class Seen(NamedTuple):
    """The part of a stream that a session has seen.

    number: the newest entry that it has seen at all, 0 if the stream was empty then, None if it has
    seen nothing. read: the newest that it has read whole. meets: what a section has to do with it,
    in words; empty if nothing. shown: a section as it is shown to it. asked: a push has asked for
    its word, which is carried and not stopped, whatever others wrote since."""

    number: int | None
    read: int | None
    meets: Callable[[Part], str] = nothing
    shown: Callable[[Part], Part] = as_it_is
    asked: bool = False
    named: Callable[[int], str] = str  # how a command that is kept names an entry


def write(tree: Tree, who: Writer, wish: Wish, seen: Seen, new: bool = False) -> Change:
    """The change that adds the next entry. Raises VersionJump, with a draft, if another session
    wrote meanwhile what this one must know first. Raises Protocol if the session has read nothing,
    and Refused if the text is over a limit. `new`: a stream that nearly has another's name is
    meant."""
    last = status.newest(tree, wish.stream)
    if not last:
        change.no_near_miss(tree.names(status.FOLDER), "stream", wish.stream, new)
    elif seen.number == last:
        status.get(tree, wish.stream, last)  # what no program can read, no session has read
    number = _known(tree, wish, seen)
    heading = "" if wish.replace else sections.as_heading(wish.heading)
    wish = wish._replace(heading=heading)
    wish = wish._replace(base=base_of(tree, wish.stream, number), text=_text(wish))
    again = partial(_again, wish, seen, who.at)
    head = status.current(tree, wish.stream)
    before = standing(tree, head, wish, who.at)
    stop = _due(tree, who, wish, seen, before) if head else None
    wish = wish._replace(exact=wish.exact or _left_behind(tree, who, wish, seen, before))
    if stop is not None and head is not None:
        raise _jump(tree, wish, number, head, stop, again, who.at)
    entry = made(tree, who, wish)
    _within_limits(tree, wish, entry, number, again)
    bases = (f"status:{wish.stream}@{wish.base}",) if wish.base else ()
    subject = f"status: {wish.stream} ({who.session})"
    return Change(subject, carried.put(entry.record, entry.body), bases)


def base_of(tree: Tree, stream: str, number: int) -> str:
    """The name of an entry that was read, in a wish: its number and the beginning of its blob."""
    blob = tree.blob(status.path_of(stream, number)) if number else None
    return f"{number}~{blob[:12]}" if blob else ""


def _known(tree: Tree, wish: Wish, seen: Seen) -> int:
    """The newest entry that the writer of a wish has seen; to replace all, it must have read it."""
    last = status.newest(tree, wish.stream)
    number = seen.read if wish.replace else seen.number
    if number is None and last and (wish.replace or not seen.asked):
        raise Protocol(
            f"this session has not read status:{wish.stream}@{last}, and cannot supersede what it"
            " has not read",
            f"read it, then write again: atlas status show {wish.stream}",
        )
    if number is not None and number > last:
        raise NotFound(
            f"there is no status:{wish.stream}@{number}; its newest entry is {last}",
            f"atlas status show {wish.stream}",
        )
    return number or 0


def _text(wish: Wish) -> str:
    """The text of a wish as it is stored. Raises Usage if it is empty."""
    if wish.unwarn:
        return ""
    change.no_conflict_markers(wish.text)
    text = (
        sections.joined(sections.split(wish.text))
        if wish.replace
        else sections.as_section(wish.heading, wish.text)
    )
    if not text.strip():
        raise Usage("the text is empty", "give one: -m TEXT, --file F or -")
    return text


class _Due(NamedTuple):
    """The reason why a write stops, and the sections that its writer must see first, as they are
    shown to it."""

    why: str
    shown: Sequence[Part]
    changed: Part | None = None  # the one that it was about to write


def _due(tree: Tree, who: Writer, wish: Wish, seen: Seen, before: Sequence[Part]) -> _Due | None:
    """The reason why a write stops on this head; None if it does not."""
    number = (seen.read if wish.replace else seen.number) or 0
    missed = [part for part in before if part.written > number and part.session != who.session]
    if wish.replace:
        moved = _moved(tree, wish.stream, number, who.session)
        shown = list(map(seen.shown, missed or before))
        return _Due("your text would replace it", shown) if moved else None
    if seen.asked and not wish.exact:  # (where another took its heading, both stand)
        return None
    if (old := _taken(tree, who, wish, seen, before)) is not None:
        why = f"the section {old.heading!r} is not as you have read it"
        return _Due(why, [seen.shown(old)], old)
    concerning = [part for part in missed if seen.meets(part)]
    if concerning:
        return _Due(seen.meets(concerning[0]), list(map(seen.shown, concerning)))
    return None


def _moved(tree: Tree, stream: str, number: int, by: str) -> bool:
    """Whether another session has written an entry after a number."""
    for later in range(status.newest(tree, stream), number, -1):
        row = status.readable(tree, stream, later)
        if row is not None and row["number"] == later and row["session"] != by:
            return True
    return False


def _taken(tree: Tree, who: Writer, wish: Wish, seen: Seen, before: Sequence[Part]) -> Part | None:
    """The section of another session that the writer was to write over, and has not read as it
    stands; or that was written over its own."""
    old = next((part for part in before if part.heading == wish.heading), None)
    if old is None or old.session == who.session:
        return None
    if wish.exact:
        return old if old.written > (seen.read or 0) else None
    was = parts.parts(tree, wish.stream, seen.number or 0)
    own = any(part.heading == wish.heading and part.session == who.session for part in was)
    return old if own and old.written > (seen.number or 0) else None


def _left_behind(tree: Tree, who: Writer, wish: Wish, seen: Seen, before: Sequence[Part]) -> bool:
    """Whether the section of that heading is of a session that is over, and was read: the writer
    goes on with it."""
    old = next((part for part in before if part.heading == wish.heading), None)
    if wish.replace or old is None or old.session == who.session:
        return False
    return old.written <= (seen.read or 0) and not folding.alive(tree, old.session, who.at)


def _within_limits(tree: Tree, wish: Wish, entry: Made, number: int, again: Again) -> None:
    """Raises Refused if what the writer itself says is too long."""
    shown = policy.of(tree)["status_words"]
    bounds = folding.Bounds.of_section(shown)
    for text, _ in wish.warn:
        if (words := len(text.split())) > WARNING:
            raise Refused(
                f"the warning is {words} words long; at most {WARNING}",
                "warn in fewer; the section's text has room for the rest",
                code="limit",
            )
    own = [part for part in entry.whole if part.written == entry.record["number"]]
    for part in own:
        given = [warn for warn in part.warn if warn.session == part.session]
        if wish.warn and len(given) > WARNINGS:
            raise Refused(
                f"the section {part.heading!r} would have {len(given)} warnings of yours; at most"
                f" {WARNINGS}",
                f"take those back that are over: atlas status unwarn {shlex.quote(part.heading)}",
                code="limit",
            )
        words, letters = len(part.text.split()), len(part.text)
        if words > bounds.words or letters > bounds.characters:
            what = f"the section {part.heading!r}" if part.heading else "the text before a heading"
            raise _too_long(wish, what, (words, letters), bounds, again(number))
    stored = folding.Bounds.of(shown)
    if wish.replace and not stored.hold(own):
        size = (sum(map(folding.size, own)), sum(len(part.text) for part in own))
        raise _too_long(wish, "the status", size, stored, again(number))


def _too_long(
    wish: Wish,
    what: str,
    size: tuple[int, int],
    bounds: folding.Bounds,
    submit: str,
) -> Refused:
    words, letters = size
    return Refused(
        f"{what} would be {many(words, 'word')} ({many(letters, 'character')}) long; at most"
        f" {bounds.words:,} words and {bounds.characters:,} characters",
        "say less, or let the whole text become an artifact: --overflow NAME",
        code="limit",
        details={
            "words": words,
            "limit": bounds.words,
            "characters": letters,
            "body": wish.text + ("" if wish.text.endswith("\n") else "\n"),
            "submit": submit,
        },
    )


def _again(wish: Wish, seen: Seen, now: int, base: int) -> str:
    """The command that says the same as the wish, of a draft, after an entry was read."""
    flags = " --replace" if wish.replace else ""
    if wish.exact:
        flags = f" --section {shlex.quote(wish.heading)}"
    for text, until in wish.warn:
        flags += f" --warn {shlex.quote(text)} --until {shlex.quote(until)}"
    flags += "".join(f" --on {shlex.quote(path)}" for path in wish.on)
    flags += "".join(f" --for {shlex.quote(name)}" for name in wish.to)
    if wish.good_until:
        flags += f" --good-for {max(1, times.moment(wish.good_until) - now)}s"
    flags += change.flags(wish.relies_on, caveat=wish.caveat or None)
    return f"atlas status write {wish.stream} --base {seen.named(base)} --file {{draft}}{flags}"


def _jump(
    tree: Tree, wish: Wish, number: int, head: Record, stop: _Due, again: Again, now: int
) -> VersionJump:
    """The stop of a write, with the sections that its writer must see and the texts of the
    merge."""
    stream, last = wish.stream, head["number"]
    read = f"you read status:{stream}@{number}" if number else f"status:{stream} was empty"
    by = list(dict.fromkeys(part.session for part in stop.shown))
    whom = named(by[0]) if len(by) == 1 else f"{len(by)} sessions"
    jump = VersionJump(
        f"{read}, and {whom} wrote up to {last} while you were thinking: {stop.why}",
        "read it, put your text right by it, and write again",
        details={
            "ref": f"status:{stream}@{last}",
            "base": number,
            "head": last,
            "since": [part.data() for part in stop.shown],
        },
        blocks=blocks(stop.shown, policy.of(tree)["status_words"], now),
    )
    if not wish.unwarn:
        jump.details["submit"] = again(last)
        jump.details["merge"] = _merge(tree, wish, number, head, stop.changed, now)
        jump.details["merged"] = sections.merged(*jump.details["merge"])
    return jump


def _merge(
    tree: Tree, wish: Wish, number: int, head: Record, changed: Part | None, now: int
) -> tuple[str, str, str]:
    """(what was read, what stands there, mine): of the whole text, or of the one section."""
    mine = wish.text.rstrip("\n") + "\n"
    if wish.replace:
        old = status.readable(tree, wish.stream, number)
        stands = standing(tree, head, wish, now)
        return str(old["body"]) if old else "", parts.body(stands), mine
    if changed is None:
        return "", "", mine
    was = parts.parts(tree, wish.stream, number)
    old_text = next((part.text for part in was if part.heading == changed.heading), "")
    return f"{old_text}\n".lstrip("\n"), f"{changed.text}\n", mine


def blocks(whole: Sequence[Part], words: int, now: int) -> tuple[tuple[str, str], ...]:
    """The title and the text of each section, as a stop shows them, those with a warning first; the
    rest by heading."""
    rows = []
    whole = sorted(whole, key=lambda part: not part.warn)
    for part in whole[:SHOWN]:
        lines = [f"! {line}" for line in (*(warn.text for warn in part.warn), *part.notes(now))]
        text = "\n".join([*lines, status.cut(part.text, words, part.ref)])
        rows.append((titled(part, now), text))
    if rest := [part.heading or "(no heading)" for part in whole[SHOWN:]]:
        ref = f"status:{whole[0].stream}@{whole[0].number}"
        rows.append((f"{ref} and {len(rest)} more sections", "\n".join(rest)))
    return tuple(rows)


def titled(part: Part, now: int) -> str:
    """The REF of what wrote a section, its heading, its writer and its age."""
    by = f"{part.session}, {times.ago(part.at, now)}{', by hand' if part.by_hand else ''}"
    return f"{part.ref} ## {part.shown} ({by})" if part.heading else f"{part.ref} by {by}"


def holding(tree: Tree, who: Writer, stream: str, seen: Seen) -> str:
    """The REF of the current entry, which its writer says still holds. Raises VersionJump if it is
    not the one that was seen."""
    head = status.current(tree, stream)
    if head is None:
        raise Usage(
            "the stream has no entry yet that could be unchanged",
            "give a text: -m TEXT, --file F or -",
        )
    number = _known(tree, Wish(stream), seen)
    if _moved(tree, stream, number, who.session):
        whole = map(seen.shown, standing(tree, head, Wish(stream), who.at))
        missed = [part for part in whole if part.written > number]
        due = _Due("what you confirm is no more what stands there", missed)
        raise _jump(tree, Wish(stream, unwarn=True), number, head, due, str, who.at)
    return f"status:{stream}@{head['number']}"

"""What a session writes into the status, and whether it may."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import NotFound, Protocol, Refused, Usage, VersionJump
from ..model import change, text, times
from ..model.change import Change, Writer
from ..model.text import Record
from ..model.tree import Tree
from ..visible import named
from . import policy, sections
from .status import FOLDER, brief, get, newest, path_of


class NewEntry(NamedTuple):
    """A new status entry: the whole text, one section, or a confirmation."""

    body: str = ""
    section: str | None = None
    replace: bool = False
    unchanged: str | None = None
    relies_on: tuple[str, ...] = ()
    caveat: str | None = None
    withdrawn: bool = False  # the current entry was retracted
    new: bool = False  # a stream that nearly has another's name is meant


def write(tree: Tree, writer: Writer, stream: str, entry: NewEntry, seen: int | None) -> Change:
    """The change that adds the next entry. `seen` is the number that the session has read, or None.
    Raises VersionJump, with the three texts of the merge, if another session wrote since. Raises
    Protocol if the session has read nothing, and Refused if the text is over a limit."""
    last = newest(tree, stream)
    if not last:
        change.no_near_miss(tree, FOLDER, "stream", stream, entry.new)
    old = get(tree, stream, last) if last else None
    if seen is not None and seen > last:
        raise NotFound(
            f"there is no status:{stream}@{seen}; its newest entry is {last}",
            f"atlas status show {stream}",
        )
    if seen is None and last:
        raise Protocol(
            f"this session has not read status:{stream}@{last}, and cannot supersede what it has"
            " not read",
            f"read it, then write again: atlas status show {stream}",
        )
    if entry.withdrawn and (entry.section or entry.unchanged):
        raise Refused(
            f"status:{stream}@{last} was retracted: its text is not carried on",
            "write the whole text anew: atlas status write",
            code="retracted",
        )
    if seen is not None and seen != last and old is not None:
        raise _jump(tree, seen, old, entry, writer.at)
    body = _body(entry, old)
    _within_limits(tree, stream, body, old, entry)
    record: Record = {"stream": stream, "number": last + 1, **writer.signature()}
    record |= change.given(
        unchanged=entry.unchanged,
        section=entry.section,
        relies_on=list(entry.relies_on),
        caveat=entry.caveat,
    )
    subject = f"status: {stream} {last + 1} ({writer.session})"
    files = {path_of(stream, last + 1): text.with_front(record, body)}
    before = tree.blob(path_of(stream, last)) or ""
    bases = (f"status:{stream}@{last}~{before[:12]}",) if last else ()
    return Change(subject, files, bases)


def _body(entry: NewEntry, old: Record | None) -> str:
    """The whole text of the new entry, given the one before."""
    if entry.unchanged:
        if old is None:
            raise Usage(
                "the stream has no entry yet that could be unchanged",
                "give a text: -m TEXT, --file F or -",
            )
        return str(old["body"])
    body = entry.body if entry.body.endswith("\n") else entry.body + "\n"
    if not body.strip():
        raise Usage("the text is empty", "give one: -m TEXT, --file F or -")
    change.no_conflict_markers(body)
    if not entry.section:
        return body
    return sections.with_section(str(old["body"]) if old else "", entry.section, body)


def _within_limits(tree: Tree, stream: str, body: str, old: Record | None, entry: NewEntry) -> None:
    """Raises Refused if the text is too long, or drops most of the entry before without saying
    so."""
    words, most = len(body.split()), policy.of(tree)["status_words"]
    if words > most and not entry.unchanged:
        raise Refused(
            f"the status would be {words} words long; at most {most}",
            "say less, or let the whole text become an artifact: --overflow NAME",
            code="limit",
            details={
                "words": words,
                "limit": most,
                "body": body,
                "carried": str(old["body"]) if old else "",
                "submit": f"atlas status write {stream} --file {{draft}}",
            },
        )
    if old and not (entry.replace or entry.section or entry.unchanged or entry.withdrawn):
        carried, total = _lines_carried(str(old["body"]), body)
        if len(str(old["body"]).split()) >= 40 and carried * 2 < total:
            raise Refused(
                f"the text keeps {carried} of the {total} lines of"
                f" status:{old['stream']}@{old['number']}",
                "carry into it what still holds (--section writes one part); --replace says that"
                " nothing does",
                code="drops_too_much",
                details={
                    "kept": carried,
                    "of": total,
                    "body": body,
                    "carried": str(old["body"]),
                    "submit": f"atlas status write {stream} --file {{draft}}",
                },
            )


def _lines_carried(old: str, new: str) -> tuple[int, int]:
    """How many lines of the old text the new one carries on, and how many the old one has."""
    old_lines = [line.strip() for line in old.split("\n") if line.strip()]
    new_lines = {line.strip() for line in new.split("\n")}
    return sum(line in new_lines for line in old_lines), len(old_lines)


_SHOWN = ("number", "session", "actor", "at", "body")


def _jump(tree: Tree, seen: int, old: Record, entry: NewEntry, now: int) -> VersionJump:
    """The refusal of an entry that was written against an older one than `old`, with the entries
    since and the texts of the merge."""
    stream, last = old["stream"], old["number"]
    base = str(get(tree, stream, seen)["body"]) if seen else ""
    numbers = range(max(seen + 1, last - 4), last + 1)
    since = [get(tree, stream, number) for number in numbers if tree.blob(path_of(stream, number))]
    read = f"you read status:{stream}@{seen}" if seen else f"status:{stream} was empty"
    stop = VersionJump(
        f"{read}, and {_by(since)} wrote up to {last} while you were thinking",
        "read it, merge your text into what is there, and write again",
        details={
            "ref": f"status:{stream}@{last}",
            "base": seen,
            "head": last,
            "since": [{key: written[key] for key in _SHOWN} for written in since],
        },
        blocks=_blocks(since, policy.of(tree)["status_words"], now),
    )
    if not entry.unchanged:
        flags = change.flags(entry.relies_on, caveat=entry.caveat)
        stop.details["submit"] = (
            f"atlas status write {stream} --base {last} --file {{draft}}{flags}"
        )
        mine = entry.body.rstrip("\n") + "\n"
        if entry.section:
            mine = sections.with_section(base, entry.section, entry.body)
        stop.details["merge"] = (base, str(old["body"]), mine)
        stop.details["merged"] = sections.merged(*stop.details["merge"])
    return stop


def _blocks(entries: list[Record], words: int, now: int) -> tuple[tuple[str, str], ...]:
    """The title and the text of each entry, as a refusal shows them."""
    blocks = []
    for entry in entries:
        ref = f"status:{entry['stream']}@{entry['number']}"
        age = times.ago(times.moment(entry["at"]), now)
        blocks.append((f"{ref} by {entry['session']}, {age}", brief(entry, words)))
    return tuple(blocks)


def _by(entries: list[Record]) -> str:
    """The writers of the entries, for a message."""
    writers = list(dict.fromkeys(str(entry["session"]) for entry in entries))
    return named(writers[0]) if len(writers) == 1 else f"{len(writers)} sessions"

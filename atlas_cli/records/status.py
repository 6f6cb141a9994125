"""The status stream: one short text for each project that says where things stand. Each entry
replaces the last one; all are kept. Numbered documents: `status/<stream>/<NNN>/<NNNNNN>.md`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..errors import NotFound, Protocol, Refused, Usage, VersionJump
from ..model import change, document, names, schema, text, times
from ..model.change import Change, FileEdit, Shown, Violation, Writer
from ..model.kind import Kind, listed, of_document
from ..model.text import Record
from ..model.tree import Tree
from ..visible import named
from . import policy

FOLDER = "status"
CHARACTERS = 16  # that a word may take where an entry is shown unasked
_FENCE = r" {0,3}(`{3,}|~{3,})"
_PATH = re.compile(r"status/([^/]+)/([0-9]{3,})/([0-9]{6,})\.md\Z")


def numbered(path: str) -> tuple[str, int]:
    """The stream and the number of an entry, by its path."""
    match = _PATH.match(path)
    return (match[1], int(match[3])) if match else ("", 0)


def path_of(stream: str, number: int) -> str:
    """The path of an entry."""
    return f"{FOLDER}/{stream}/{number // 1000:03}/{number:06}.md"


def parse(path: str, data: bytes) -> Record:
    """The fields of an entry, its text as `body`."""
    record, body = text.front(data, path)
    schema.fields(
        record,
        path,
        {"stream": str, "number": "count", "session": str, "actor": str, "at": "time"},
        {"unchanged": str, "section": str, "relies_on": "texts", "caveat": str},
    )
    stream, number = record["stream"], record["number"]
    schema.placed(
        path, f"status:{stream}@{number}", path_of(stream, number) if names.valid(stream) else None
    )
    return {**record, "body": body}


def newest(tree: Tree, stream: str) -> int:
    """The number of a stream's current entry; 0 while it is empty. A file in a wrong folder is no
    entry."""
    for folder in document.numbers(tree, f"{FOLDER}/{stream}"):
        for number in document.numbers(tree, f"{FOLDER}/{stream}/{folder:03}"):
            if number // 1000 == folder and tree.blob(path_of(stream, number)) is not None:
                return number
    return 0


def find(tree: Tree, stream: str, number: int | None = None) -> str:
    """The path of an entry; of the current one if `number` is None. Raises NotFound if there is
    none."""
    last = newest(tree, stream)
    wanted = last if number is None else number
    path = path_of(stream, wanted)
    if not wanted or tree.blob(path) is None:
        ref = f"status:{stream}@{wanted}" if wanted else f"status:{stream}"
        newest_entry = f"its newest entry is {last}" if last else "it has no entry yet"
        streams = [] if last else tree.names(FOLDER)
        hint = names.hint(stream, streams, f"atlas status log {stream}", "status:")
        raise NotFound(f"there is no {ref}; {newest_entry}", hint)
    return path


def empty(tree: Tree, stream: str) -> str:
    """The notice that a stream has no entry yet."""
    hint = names.hint(stream, tree.names(FOLDER), "", "status:")
    text = f"status:{stream} is empty: nobody has written where things stand"
    return f"{text}; {hint}".rstrip() if hint else text


def get(tree: Tree, stream: str, number: int) -> Record:
    """An entry by its number. Raises NotFound if there is none."""
    path = find(tree, stream, number)
    return parse(path, tree.read(path) or b"")


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
    return with_section(str(old["body"]) if old else "", entry.section, body)


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
            mine = with_section(base, entry.section, entry.body)
        stop.details["merge"] = (base, str(old["body"]), mine)
        stop.details["merged"] = merged(*stop.details["merge"])
    return stop


def _blocks(entries: list[Record], words: int, now: int) -> tuple[tuple[str, str], ...]:
    """The title and the text of each entry, as a refusal shows them."""
    blocks = []
    for entry in entries:
        ref = f"status:{entry['stream']}@{entry['number']}"
        age = times.ago(times.moment(entry["at"]), now)
        blocks.append((f"{ref} by {entry['session']}, {age}", brief(entry, words)))
    return tuple(blocks)


def brief(record: Record, words: int) -> str:
    """The text of an entry as it is shown unasked: cut to as many characters as the words it may
    have take."""
    body, most = str(record["body"]), CHARACTERS * words
    if len(body) <= most:
        return body
    where = f"atlas status show {record['stream']}@{record['number']}"
    return f"{body[:most].rstrip()}\n(cut here: it has {len(body):,} characters: {where})"


def _by(entries: list[Record]) -> str:
    """The writers of the entries, for a message."""
    writers = list(dict.fromkeys(str(entry["session"]) for entry in entries))
    return named(writers[0]) if len(writers) == 1 else f"{len(writers)} sessions"


def sections(body: str) -> list[tuple[str | None, str]]:
    """The text as pieces: each heading, and its lines with the heading. A heading is a line `## H`
    outside fenced code."""
    pieces: list[tuple[str | None, list[str]]] = [(None, [])]
    fence = ""
    for line in body.split("\n"):
        mark = re.match(_FENCE, line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = ""
        if not fence and line.startswith("## "):
            pieces.append((line[3:].strip(), []))
        pieces[-1][1].append(line)
    return [(heading, "\n".join(lines)) for heading, lines in pieces]


def with_section(body: str, heading: str | None, content: str) -> str:
    """The text with one section replaced, or added at the end. Everything else is carried on."""
    heading = " ".join((heading or "").split())
    if not heading:
        raise Usage("the section has no heading", "name it: --section 'What I did'")
    own = _as_section(heading, content.strip("\n"))
    pieces = [piece for piece in sections(body) if piece[0] is not None or piece[1].strip()]
    headings = [name for name, _ in pieces]
    # Where a heading stands twice, the first counts.
    at = headings.index(heading) if heading in headings else len(pieces)
    done = [part.strip("\n") for _, part in pieces]
    done[at : at + 1] = [own]
    return "\n\n".join(done) + "\n"


def _as_section(heading: str, content: str) -> str:
    """The content as one section: its own headings of that rank go one rank deeper, and an open
    fence is closed."""
    parts = sections(content)
    first = parts[0][1]
    if not first.strip() and len(parts) > 1 and parts[1][0] == heading:
        parts = parts[1:]  # it brings its heading along
        first = parts[0][1].partition("\n")[2]
    text = "\n".join([first, *(f"#{part}" for _, part in parts[1:])]).strip("\n")
    matches = (re.match(_FENCE, line) for line in parts[-1][1].split("\n"))
    marks = [match[1] for match in matches if match]
    return f"## {heading}\n\n{text}" + (f"\n{marks[0]}" if len(marks) % 2 else "")


def merged(base: str, theirs: str, mine: str) -> str | None:
    """The three-way merge by sections; None if both sides changed the same section, because then
    lines must be merged."""
    pieces = [sections(text) for text in (base, theirs, mine)]
    parts = [{heading: part.strip("\n") for heading, part in each} for each in pieces]
    if any(len(by_heading) != len(each) for by_heading, each in zip(parts, pieces, strict=True)):
        return None  # a heading stands twice
    _, their_parts, my_parts = parts
    done = []
    for heading in dict.fromkeys((*their_parts, *my_parts)):
        before, other, own = (by_heading.get(heading) for by_heading in parts)
        if other != before and own != before and other != own:
            return None
        done.append(other if own == before else own)
    return "\n\n".join(part for part in done if part) + "\n"


def _ref(path: str, record: Record) -> str:
    return f"status:{record['stream']}@{record['number']}"


def _view(tree: Tree, path: str, record: Record, now: int) -> Shown:
    """The name of the stream in the view, and the path of its current entry."""
    return f"{FOLDER}/{record['stream']}.md", find(tree, record["stream"])


def _rules(edit: FileEdit, record: Record) -> Iterator[Violation]:
    stream, number = record["stream"], record["number"]
    yield from document.follows(edit, number, path_of(stream, number - 1))
    if edit.parent.blob(path_of(stream, number + 1)):
        yield Violation(
            "version_jump", edit.path, f"number {number} was added behind number {number + 1}"
        )


KIND = Kind(
    "status",
    FOLDER,
    ".md",
    parse,
    _ref,
    find,
    _view,
    of_document(parse, _rules),
    links=listed("relies_on"),
    path_of=path_of,
    numbered=numbered,
    words=("body", "unchanged", "caveat", "section"),
)

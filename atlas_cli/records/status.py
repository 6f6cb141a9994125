"""The status stream: one short piece per project that says where things stand. Each entry replaces
the last, all are kept. Numbered documents: `status/<stream>/<NNN>/<NNNNNN>.md`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..errors import NotFound, Protocol, Refused, Usage, VersionJump
from ..model import change, document, names, schema, text, times
from ..model.change import Change, FileEdit, Shown, Violation, Writer
from ..model.kind import Kind, of_document
from ..model.text import Record
from ..model.tree import Tree
from ..visible import named
from . import policy

FOLDER = "status"
CHARACTERS = 16  # that a word may take where an entry is shown unasked
_PATH = re.compile(r"status/([^/]+)/([0-9]{3,})/([0-9]{6,})\.md\Z")


def numbered(path: str) -> tuple[str, int]:
    """(stream, number) of an entry's path."""
    match = _PATH.match(path)
    return (match[1], int(match[3])) if match else ("", 0)


def path_of(stream: str, number: int) -> str:
    return f"{FOLDER}/{stream}/{number // 1000:03}/{number:06}.md"


def parse(path: str, data: bytes) -> Record:
    """The entry's fields and its `body`."""
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
    """The number of a stream's current entry; 0 while it is empty. What lies in a wrong folder is
    no entry."""
    for folder in document.numbers(tree, f"{FOLDER}/{stream}"):
        for number in document.numbers(tree, f"{FOLDER}/{stream}/{folder:03}"):
            if number // 1000 == folder and tree.blob(path_of(stream, number)) is not None:
                return number
    return 0


def find(tree: Tree, stream: str, number: int | None = None) -> str:
    """The path of an entry (`number` None: the current one); NotFound where there is none."""
    last = newest(tree, stream)
    wanted = last if number is None else number
    path = path_of(stream, wanted)
    if not wanted or tree.blob(path) is None:
        there = f"its newest entry is {last}" if last else "it has no entry yet"
        hint = names.hint(
            stream, [] if last else tree.names(FOLDER), f"atlas status log {stream}", "status:"
        )
        raise NotFound(
            f"there is no status:{stream}{f'@{wanted}' if wanted else ''}; {there}", hint
        )
    return path


def empty(tree: Tree, stream: str) -> str:
    """What is said of a stream without an entry."""
    hint = names.hint(stream, tree.names(FOLDER), "", "status:")
    return (
        f"status:{stream} is empty: nobody has written where things"
        f" stand{f'; {hint}'.rstrip() if hint else ''}"
    )


def get(tree: Tree, stream: str, number: int) -> Record:
    path = find(tree, stream, number)
    return parse(path, tree.read(path) or b"")


class NewEntry(NamedTuple):
    """What is to be written: a whole text, or one section of it, or nothing but that it still
    holds."""

    body: str = ""
    section: str | None = None
    replace: bool = False
    unchanged: str | None = None
    relies_on: tuple[str, ...] = ()
    caveat: str | None = None
    withdrawn: bool = False  # the current entry was retracted
    new: bool = False  # a stream that nearly has another's name is meant


def write(tree: Tree, writer: Writer, stream: str, wish: NewEntry, seen: int | None) -> Change:
    """The next entry. `seen`: the number that the session has read (None: none). VersionJump where
    another wrote since, carrying the merge's three texts; Protocol where it has read nothing;
    Refused over the limit."""
    last = newest(tree, stream)
    if not last:
        change.no_near_miss(tree, FOLDER, "stream", stream, wish.new)
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
    before = get(tree, stream, seen) if seen else None
    if wish.withdrawn and (wish.section or wish.unchanged):
        raise Refused(
            f"status:{stream}@{last} was retracted: its text is not carried on",
            "write the whole text anew: atlas status write",
            code="retracted",
        )
    if seen is not None and seen != last and old is not None:
        raise _jump(tree, stream, seen, last, wish, before, old, writer.at)
    body = _body(wish, old)
    _within_limits(tree, stream, body, old, wish)
    record: Record = {"stream": stream, "number": last + 1, **writer.signature()}
    record |= {"unchanged": wish.unchanged} if wish.unchanged else {}
    record |= {"section": wish.section} if wish.section else {}
    record |= {"relies_on": list(wish.relies_on)} if wish.relies_on else {}
    record |= {"caveat": wish.caveat} if wish.caveat else {}
    path = path_of(stream, last + 1)
    bases = (
        (f"status:{stream}@{last}~{(tree.blob(path_of(stream, last)) or '')[:12]}",) if last else ()
    )
    return Change(
        f"status: {stream} {last + 1} ({writer.session})",
        {path: text.with_front(record, body)},
        bases,
    )


def _body(wish: NewEntry, old: Record | None) -> str:
    """The whole text that the wish makes of the entry before."""
    if wish.unchanged:
        if old is None:
            raise Usage(
                "the stream has no entry yet that could be unchanged",
                "give a text: -m TEXT, --file F or -",
            )
        return str(old["body"])
    body = wish.body if wish.body.endswith("\n") else wish.body + "\n"
    if not body.strip():
        raise Usage("the text is empty", "give one: -m TEXT, --file F or -")
    change.no_conflict_markers(body)
    return (
        with_section(str(old["body"]) if old else "", wish.section, body) if wish.section else body
    )


def _within_limits(tree: Tree, stream: str, body: str, old: Record | None, wish: NewEntry) -> None:
    words, most = len(body.split()), policy.of(tree)["status_words"]
    if words > most and not wish.unchanged:
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
    if old and not (wish.replace or wish.section or wish.unchanged or wish.withdrawn):
        kept, of = _kept(str(old["body"]), body)
        if len(str(old["body"]).split()) >= 40 and kept * 2 < of:
            raise Refused(
                f"the text keeps {kept} of the {of} lines of"
                f" status:{old['stream']}@{old['number']}",
                "carry into it what still holds (--section writes one part); --replace says that"
                " nothing does",
                code="drops_too_much",
                details={
                    "kept": kept,
                    "of": of,
                    "body": body,
                    "carried": str(old["body"]),
                    "submit": f"atlas status write {stream} --file {{draft}}",
                },
            )


def _kept(old: str, new: str) -> tuple[int, int]:
    lines = [line.strip() for line in old.split("\n") if line.strip()]
    there = {line.strip() for line in new.split("\n")}
    return sum(line in there for line in lines), len(lines)


_SHOWN = ("number", "session", "actor", "at", "body")


def _jump(
    tree: Tree,
    stream: str,
    seen: int,
    last: int,
    wish: NewEntry,
    before: Record | None,
    old: Record,
    now: int,
) -> VersionJump:
    """The stop sign that a machine can see, with what was written since and the texts of the
    merge."""
    numbers = range(max(seen + 1, last - 4), last + 1)
    since = [get(tree, stream, number) for number in numbers if tree.blob(path_of(stream, number))]
    stop = VersionJump(
        f"{f'you read status:{stream}@{seen}' if seen else f'status:{stream} was empty'}, and"
        f" {_by(since)} wrote up to {last} while you were thinking",
        "read it, merge your text into what is there, and write again",
        details={
            "ref": f"status:{stream}@{last}",
            "base": seen,
            "head": last,
            "since": [{key: entry[key] for key in _SHOWN} for entry in since],
        },
        blocks=tuple(
            (
                (
                    f"status:{stream}@{e['number']} by {e['session']},"
                    f" {times.ago(times.moment(e['at']), now)}"
                ),
                brief(e, policy.of(tree)["status_words"]),
            )
            for e in since
        ),
    )
    if not wish.unchanged:
        flags = change.flags(wish.relies_on, caveat=wish.caveat)
        stop.details["submit"] = (
            f"atlas status write {stream} --base {last} --file {{draft}}{flags}"
        )
        base = str(before["body"]) if before else ""
        mine = (
            with_section(base, wish.section, wish.body)
            if wish.section
            else wish.body.rstrip("\n") + "\n"
        )
        stop.details["merge"] = (base, str(old["body"]), mine)
        stop.details["merged"] = merged(*stop.details["merge"])
    return stop


def brief(record: Record, words: int) -> str:
    """The text of an entry for who is shown it unasked: no more characters than the words that it
    may have take."""
    body, most = str(record["body"]), CHARACTERS * words
    if len(body) <= most:
        return body
    where = f"atlas status show {record['stream']}@{record['number']}"
    return f"{body[:most].rstrip()}\n(cut here: it has {len(body):,} characters: {where})"


def _by(entries: list[Record]) -> str:
    writers = list(dict.fromkeys(str(entry["session"]) for entry in entries))
    return named(writers[0]) if len(writers) == 1 else f"{len(writers)} sessions"


def sections(body: str) -> list[tuple[str | None, str]]:
    """The text as (heading, lines with their heading) pieces; headings are `## H` outside fenced
    code."""
    pieces: list[tuple[str | None, list[str]]] = [(None, [])]
    fence = ""
    for line in body.split("\n"):
        mark = re.match(r" {0,3}(`{3,}|~{3,})", line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = ""
        if not fence and line.startswith("## "):
            pieces.append((line[3:].strip(), []))
        pieces[-1][1].append(line)
    return [(heading, "\n".join(lines)) for heading, lines in pieces]


def with_section(body: str, heading: str | None, content: str) -> str:
    """The text with the section under `heading` replaced, or added at the end; all else is
    carried."""
    heading = " ".join((heading or "").split())
    if not heading:
        raise Usage("the section has no heading", "name it: --section 'What I did'")
    own = _as_section(heading, content.strip("\n"))
    pieces = [piece for piece in sections(body) if piece[0] is not None or piece[1].strip()]
    names_ = [name for name, _ in pieces]
    at = (
        names_.index(heading) if heading in names_ else len(pieces)
    )  # where a heading stands twice, the first
    done = [part.strip("\n") for _, part in pieces]
    done[at : at + 1] = [own]
    return "\n\n".join(done) + "\n"


def _as_section(heading: str, content: str) -> str:
    """The content as one section: its own headings of the same rank go a rank deeper, an open fence
    is closed."""
    parts = sections(content)
    first = parts[0][1]
    if not first.strip() and len(parts) > 1 and parts[1][0] == heading:
        parts = parts[1:]  # it brings its heading along
        first = parts[0][1].partition("\n")[2]
    text = "\n".join([first, *(f"#{part}" for _, part in parts[1:])]).strip("\n")
    last = parts[-1][1]
    marks = [
        mark[1] for line in last.split("\n") if (mark := re.match(r" {0,3}(`{3,}|~{3,})", line))
    ]
    return f"## {heading}\n\n{text}" + (f"\n{marks[0]}" if len(marks) % 2 else "")


def merged(base: str, theirs: str, mine: str) -> str | None:
    """The three-way merge by sections; None where both sides changed the same one (then lines must
    be merged)."""
    texts = [
        {heading: part.strip("\n") for heading, part in sections(text)}
        for text in (base, theirs, mine)
    ]
    if any(
        len(found) != len(sections(text))
        for found, text in zip(texts, (base, theirs, mine), strict=True)
    ):
        return None  # a heading stands twice
    was, other, own = texts
    done = []
    for heading in dict.fromkeys((*other, *own)):
        before, there, here = was.get(heading), other.get(heading), own.get(heading)
        if there != before and here != before and there != here:
            return None
        done.append(there if here == before else here)
    return "\n\n".join(part for part in done if part) + "\n"


WITHHELD = "(retracted; atlas show REF --withdrawn shows it)"


def _ref(path: str, record: Record) -> str:
    return f"status:{record['stream']}@{record['number']}"


def _view(tree: Tree, path: str, record: Record, now: int) -> Shown:
    """The current entry of its stream."""
    return f"{FOLDER}/{record['stream']}.md", find(tree, record["stream"])


def _links(record: Record) -> Iterable[tuple[str, str]]:
    return [("relies_on", target) for target in record.get("relies_on", ())]


def _rules(found: FileEdit, record: Record) -> Iterator[Violation]:
    stream, number = record["stream"], record["number"]
    yield from document.follows(found, number, path_of(stream, number - 1))
    if found.parent.blob(path_of(stream, number + 1)):
        yield Violation(
            "version_jump", found.path, f"number {number} was added behind number {number + 1}"
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
    links=_links,
    path_of=path_of,
    numbered=numbered,
)._replace(words=("body", "unchanged", "caveat"))

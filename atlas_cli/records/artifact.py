"""The artifact channel: immutable, versioned, one name per topic, any bytes.
Numbered documents: `artifacts/<name>/<NNNN>/about.yaml` and `body.<ext>` beside it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..errors import Damaged, NotFound, Protocol, Refused, Usage, VersionJump
from ..model import change, document, names, schema, text, times
from ..model.change import Change, FileEdit, Shown, Violation, Writer
from ..model.kind import Kind
from ..model.text import Record
from ..model.tree import Tree
from ..visible import named
from . import policy

FOLDER = "artifacts"
MOST = 64 << 20  # bytes that are read of any, whatever the policy says
BUSY = 12  # versions an hour above which a name is told that machine state does not belong here
NOISE = 48  # versions a day above which a name counts once among what is new
_PATH = re.compile(r"artifacts/([^/]+)/([0-9]{4,})/(about\.yaml|body\.[a-z0-9]{1,16})\Z")
_EXT = re.compile(r"[a-z0-9]{1,16}\Z")


def folder(name: str, version: int) -> str:
    return f"{FOLDER}/{name}/{version:04}"


def path_of(name: str, version: int) -> str:
    return f"{folder(name, version)}/about.yaml"


def body_path(record: Record) -> str:
    """Where the bytes of a version lie."""
    return f"{folder(record['name'], record['number'])}/body.{record['ext']}"


def parse(path: str, data: bytes) -> Record:
    """The metadata of a version; the bytes lie beside it."""
    record = schema.fields(
        text.load(data, path),
        path,
        {
            "name": str,
            "number": "count",
            "ext": str,
            "size": "count",
            "sha256": str,
            "session": str,
            "actor": str,
            "at": "time",
        },
        {"title": str, "caveat": str, "relies_on": "texts", "same_topic": bool},
    )
    schema.is_name(path, "file type", record["ext"], file_type(record["ext"]))
    name = record["name"]
    schema.placed(
        path, ref(path, record), path_of(name, record["number"]) if names.valid(name) else None
    )
    return record


def file_type(text_: str) -> bool:
    """Whether a text is a type that bytes can have."""
    return _EXT.match(text_) is not None


def ref(path: str, record: Record) -> str:
    return f"artifact:{record['name']}@{record['number']}"


def newest(tree: Tree, name: str) -> int:
    """The number of the newest version; 0 where the name is new."""
    there = document.numbers(tree, f"{FOLDER}/{name}")
    return next((number for number in there if tree.blob(path_of(name, number)) is not None), 0)


def find(tree: Tree, name: str, number: int | None = None) -> str:
    last = newest(tree, name)
    wanted = last if number is None else number
    if not wanted or tree.blob(path_of(name, wanted)) is None:
        there = f"its newest version is {last}" if last else "nothing was put under that name"
        raise NotFound(
            f"there is no artifact:{name}{'' if number is None else f'@{number}'}; {there}",
            names.hint(
                name,
                [] if last else tree.names(FOLDER),
                "atlas artifact list shows the names",
                "artifact:",
            ),
        )
    return path_of(name, wanted)


def get(tree: Tree, name: str, number: int) -> Record:
    path = find(tree, name, number)
    return parse(path, tree.read(path) or b"")


def body(tree: Tree, record: Record) -> bytes:
    """The bytes exactly as given; Damaged where they are not those that the metadata names."""
    path = body_path(record)
    data = tree.read(path)
    if data is None:
        raise Damaged(f"{path}: the bytes of {ref('', record)} are missing")
    if len(data) != record["size"] or hashlib.sha256(data).hexdigest() != record["sha256"]:
        raise Damaged(f"{path}: these are not the bytes that were put (SHA-256 differs)")
    return data


def extension(given: str | None, file_name: str, data: bytes) -> str:
    """The type: as given, else the file's extension, else `txt` for UTF-8, else `bin`."""
    ext = (given or "").lstrip(".").lower()
    if given is not None and not _EXT.match(ext):
        raise Usage(f"{given[:40]!r} is no file type", "write it like --type md")
    tail = file_name.rpartition(".")[2].lower() if "." in file_name else ""
    return ext or (tail if _EXT.match(tail) else ("txt" if is_text(data) else "bin"))


def is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


class NewVersion(NamedTuple):
    """What is to be put under a name."""

    data: bytes
    ext: str
    title: str | None = None
    caveat: str | None = None
    relies_on: tuple[str, ...] = ()
    same_topic: bool = False
    new: bool = False  # a name that nearly is another is meant


def put(tree: Tree, writer: Writer, name: str, wish: NewVersion, seen: int | None) -> Change:
    """The next version. VersionJump where another put one since `seen`, Protocol where none was
    read, Refused where it is too large or about something else."""
    last = newest(tree, name)
    if not last:
        change.no_near_miss(tree, FOLDER, "artifact", name, wish.new)
    rules = policy.of(tree)
    if len(wish.data) > (most := min(rules["artifact_limit"], MOST)):
        raise Refused(
            f"{len(wish.data):,} bytes; an artifact has at most {most:,}",
            "keep large bytes elsewhere and put a text that names their place and SHA-256",
            code="limit",
        )
    if seen is not None and seen > last:
        raise NotFound(
            f"there is no artifact:{name}@{seen}; its newest version is {last}",
            f"atlas artifact log {name}",
        )
    if seen is None and last:
        raise Protocol(
            f"this session has not read artifact:{name}@{last}, and cannot supersede what it has"
            " not read",
            f"read it, then put again: atlas artifact show {name}",
        )
    if seen is not None and seen != last:
        raise _jump(tree, name, seen, last, wish, writer.at)
    notices = _guard(tree, name, last, wish, writer.at) if last else ()
    if len(wish.data) > rules["artifact_notice"]:
        notices += (f"{len(wish.data):,} bytes: every clone of the store will carry them for ever",)
    record: Record = {
        "name": name,
        "number": last + 1,
        "ext": wish.ext,
        "size": len(wish.data),
        "sha256": hashlib.sha256(wish.data).hexdigest(),
        **writer.signature(),
    }
    record |= {"title": wish.title} if wish.title else {}
    record |= {"caveat": wish.caveat} if wish.caveat else {}
    record |= {"relies_on": list(wish.relies_on)} if wish.relies_on else {}
    record |= {"same_topic": True} if wish.same_topic else {}
    files = {path_of(name, last + 1): text.dump(record), body_path(record): wish.data}
    bases = (
        (f"artifact:{name}@{last}~{(tree.blob(path_of(name, last)) or '')[:12]}",) if last else ()
    )
    return Change(f"artifact: {name} {last + 1} ({writer.session})", files, bases, notices)


def _jump(tree: Tree, name: str, seen: int, last: int, wish: NewVersion, now: int) -> VersionJump:
    newest_one = get(tree, name, last)
    by = named(newest_one["session"])
    stop = VersionJump(
        f"you read artifact:{name}@{seen}, and {by} put version {last} while you were thinking",
        "read it, merge into what is there, and put again",
        details={
            "ref": f"artifact:{name}@{last}",
            "base": seen,
            "head": last,
            "session": newest_one["session"],
            "at": newest_one["at"],
        },
    )
    there = body(tree, newest_one)
    base = body(tree, get(tree, name, seen)) if seen else b""
    if all(is_text(part) for part in (base, there, wish.data)) and len(there) < 2**20:
        stop.details["merge"] = (base.decode(), there.decode(), wish.data.decode())
        flags = change.flags(wish.relies_on, title=wish.title, caveat=wish.caveat)
        stop.details["submit"] = (
            f"atlas artifact put {name} {{draft}} --base {last}{flags} --type {wish.ext}"
        )
        age = times.ago(times.moment(newest_one["at"]), now)
        title = f"artifact:{name}@{last} by {newest_one['session']}, {age}"
        stop.blocks = ((title, there.decode()[:16384]),)
    return stop


def _guard(tree: Tree, name: str, last: int, wish: NewVersion, now: int) -> tuple[str, ...]:
    """One name per topic; and what is put every five minutes is no document."""
    old = get(tree, name, last)
    if (
        b"\n<<<<<<< yours\n" in b"\n" + wish.data
        and b"\n>>>>>>> artifact:%s@" % name.encode() in wish.data
    ):
        raise Refused(
            "the text still holds the conflict markers of its draft (<<<<<<< … >>>>>>>)",
            "settle them, then put it again",
        )
    if not wish.same_topic:
        before = body(tree, old)
        both_text = is_text(before) and is_text(wish.data)
        if (both_text and alien(before.decode(), wish.data.decode())) or (
            not both_text and old["ext"] != wish.ext
        ):
            raise Refused(
                f"this has next to nothing in common with artifact:{name}@{last}, which it would"
                " hide",
                "put it under a name of its own; --same-topic if it is the same topic",
                code="other_topic",
            )
    early = (
        tree.read(path_of(name, last - BUSY + 1)) if last >= BUSY else None
    )  # (None also where a hand left a gap)
    if (
        early is not None
        and now - times.moment(parse(path_of(name, last - BUSY + 1), early)["at"]) < 3600
    ):
        return (noise(name, BUSY, "hour", 24 * BUSY),)
    return ()


def noise(name: str, count: int, span: str, daily: int) -> str:
    """What a name is told that is put all the time, with the arithmetic."""
    return (
        f"{name} was put {count} times within the {span} ({daily} versions a day, and each would be"
        " new to every reader): machine state does not belong in a document channel"
    )


def numbered(path: str) -> tuple[str, int]:
    """(name, number) of a version's path."""
    match = _PATH.match(path)
    return (match[1], int(match[2])) if match else ("", 0)


def alien(old: str, new: str) -> bool:
    """Whether two texts of some length share next to no word."""
    a, b = (set(re.findall(r"\w{3,}", part.lower())) for part in (old, new))
    return min(len(a), len(b)) >= 12 and len(a & b) < 0.1 * min(len(a), len(b))


def _view(tree: Tree, path: str, record: Record, now: int) -> Shown:
    """The bytes of the newest version of its name."""
    last = get(tree, record["name"], newest(tree, record["name"]))
    body(tree, last)  # Damaged, and not shown, where these are other bytes
    return f"{FOLDER}/{record['name']}.{last['ext']}", body_path(last)


def _links(record: Record) -> Iterable[tuple[str, str]]:
    return [("relies_on", target) for target in record.get("relies_on", ())]


def _rules(found: FileEdit) -> Iterator[Violation]:
    yield from document.rules(found)
    if found.new is None or found.old is not None:
        return
    match = _PATH.match(found.path)
    if match is None or not names.valid(match[1]) or f"{int(match[2]):04}" != match[2]:
        yield Violation(
            "misplaced",
            found.path,
            "a version lies in artifacts/<name>/<NNNN>/ as about.yaml and body.*",
        )
        return
    name, number = match[1], int(match[2])
    if match[3] != "about.yaml":
        about = path_of(name, number)
        if found.parent.blob(about) or not found.child.blob(about):
            yield Violation(
                "immutable", found.path, "bytes come with the about.yaml of their version, and once"
            )
        return
    record = parse(found.path, found.new)
    yield from document.follows(found, number, path_of(name, number - 1))
    yield from document.signed(found, record["session"])
    try:
        body(found.child, record)
    except Damaged as error:
        yield Violation("digest", body_path(record), error.message)


KIND = Kind(
    "artifact",
    FOLDER,
    "/about.yaml",
    parse,
    ref,
    find,
    _view,
    _rules,
    links=_links,
    path_of=path_of,
    numbered=numbered,
)._replace(words=("body", "title", "caveat"))

"""The artifact channel: immutable, versioned, one name for each topic, any bytes.

Numbered documents: `artifacts/<hh>/<name>/<NNNN>/about.yaml`, and `body.<ext>` beside it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..errors import Damaged, NotFound, Protocol, Refused, Usage, VersionJump
from ..model import change, document, names, schema, text, times
from ..model.change import Change, FileEdit, Shown, Violation, Writer
from ..model.digests import sha256
from ..model.kind import Kind, listed
from ..model.text import Record
from ..model.tree import Tree
from ..visible import many, named
from . import concern, policy
from .artifact_places import FOLDER as FOLDER
from .artifact_places import LAYOUT, PATH, folder, lies_right, versions
from .likeness import alien

MOST = 64 << 20  # bytes that are read of any, whatever the policy says
ELSEWHERE = "keep large bytes elsewhere and put a text that names their place and SHA-256"
BUSY = 12  # versions an hour above which a name is told that machine state does not belong here
NOISE = 48  # versions a day above which a name counts once among what is new
_EXT = re.compile(r"[a-z0-9]{1,16}\Z")


def known(tree: Tree) -> list[str]:
    """All names, sorted."""
    folders = tree.names(FOLDER)
    return sorted(name for hh in folders for name in tree.names(f"{FOLDER}/{hh}"))


def path_of(name: str, number: int) -> str:
    """The path of a version's metadata."""
    return f"{folder(name, number)}/about.yaml"


def body_path(record: Record) -> str:
    """The path of a version's bytes."""
    return f"{folder(record['name'], record['number'])}/body.{record['ext']}"


def parse(path: str, data: bytes) -> Record:
    """The metadata of a version. The bytes lie beside it."""
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
        {
            "title": str,
            "caveat": str,
            "relies_on": "texts",
            "same_topic": bool,
            "good_until": "time",
            **concern.FIELDS,
        },
    )
    schema.is_name(path, "file type", record["ext"], file_type(record["ext"]))
    name = record["name"]
    schema.placed(
        path, ref(path, record), path_of(name, record["number"]) if names.valid(name) else None
    )
    return record


def file_type(ext: str) -> bool:
    """Whether a text is a valid file type."""
    return _EXT.match(ext) is not None


def ref(path: str, record: Record) -> str:
    """The REF of a version."""
    return f"artifact:{record['name']}@{record['number']}"


def newest(tree: Tree, name: str) -> int:
    """The number of the newest version; 0 if the name is new."""
    for number in document.numbers(tree, versions(name)):
        if tree.blob(path_of(name, number)) is not None:
            return number
    return 0


def find(tree: Tree, name: str, number: int | None = None) -> str:
    """The path of a version; of the newest one if `number` is None. Raises NotFound if there is
    none."""
    last = newest(tree, name)
    wanted = last if number is None else number
    if not wanted or tree.blob(path_of(name, wanted)) is None:
        ref = f"artifact:{name}" if number is None else f"artifact:{name}@{number}"
        last_one = f"its newest version is {last}" if last else "nothing was put under that name"
        others = [] if last else known(tree)
        hint = names.hint(name, others, "atlas artifact list shows the names", "artifact:")
        raise NotFound(f"there is no {ref}; {last_one}", hint)
    return path_of(name, wanted)


def get(tree: Tree, name: str, number: int) -> Record:
    """The metadata of a version. Raises NotFound if there is none."""
    path = find(tree, name, number)
    return parse(path, tree.read(path) or b"")


def body(tree: Tree, record: Record) -> bytes:
    """The bytes of a version, as they were put. Raises Damaged if they are not those that the
    metadata names."""
    path = body_path(record)
    data = tree.read(path)
    if data is None:
        raise Damaged(f"{path}: the bytes of {ref('', record)} are missing")
    if len(data) != record["size"] or sha256(data).hexdigest() != record["sha256"]:
        raise Damaged(f"{path}: these are not the bytes that were put (SHA-256 differs)")
    return data


def extension(given: str | None, file_name: str, data: bytes) -> str:
    """The file type of some bytes: as given, or the file's extension, or `txt` for UTF-8, or `bin`.
    Raises Usage if the given one is not valid."""
    ext = (given or "").lstrip(".").lower()
    if given is not None and not _EXT.match(ext):
        raise Usage(f"{given[:40]!r} is no file type", "write it like --type md")
    if ext:
        return ext
    tail = file_name.rpartition(".")[2].lower() if "." in file_name else ""
    if _EXT.match(tail):
        return tail
    return "txt" if is_text(data) else "bin"


def is_text(data: bytes) -> bool:
    """Whether the bytes are UTF-8 text."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


class NewVersion(NamedTuple):
    """A new version of an artifact."""

    data: bytes
    ext: str
    title: str | None = None
    caveat: str | None = None  # None: the name's stays
    relies_on: tuple[str, ...] = ()
    same_topic: bool = False
    new: bool = False  # a name that nearly is another is meant
    no_caveat: bool = False  # the name's caveat holds no more
    good_for: int = 0  # seconds after which showing it warns; 0: for ever
    marks: Record | None = None  # the files of its writer, and whom it is addressed to


def largest(in_force: Mapping[str, Any]) -> int:
    """The most bytes that a version may have, by the policy in force."""
    return min(int(in_force["artifact_limit"]), MOST)


def put(tree: Tree, writer: Writer, name: str, version: NewVersion, seen: int | None) -> Change:
    """The change that adds the next version. `seen` is the number that the session has read, or
    None. Raises VersionJump if another session put one since, Protocol if the session has read
    none, and Refused if the bytes are too many or about something else."""
    last = newest(tree, name)
    if not last:
        change.no_near_miss(known(tree), "artifact", name, version.new)
    in_force = policy.of(tree)
    if len(version.data) > (most := largest(in_force)):
        raise Refused(
            f"{len(version.data):,} bytes; an artifact has at most {most:,}",
            ELSEWHERE,
            code="limit",
        )
    _has_read(tree, name, last, version, seen, writer.at)
    notices = _guard(tree, name, last, version, writer.at) if last else ()
    if len(version.data) > in_force["artifact_notice"]:
        notices += (
            f"{len(version.data):,} bytes: every clone of the store will carry them for ever",
        )
    record: Record = {
        "name": name,
        "number": last + 1,
        "ext": version.ext,
        "size": len(version.data),
        "sha256": sha256(version.data).hexdigest(),
        **(version.marks or {}),
        **writer.signature(),
    }
    record |= change.given(
        title=version.title,
        caveat=_caveat(tree, name, last, version),
        relies_on=list(version.relies_on),
        same_topic=version.same_topic,
        good_until=times.rfc3339(writer.at + version.good_for) if version.good_for else None,
    )
    files = {path_of(name, last + 1): text.dump(record), body_path(record): version.data}
    before = tree.blob(path_of(name, last)) or ""
    bases = (f"artifact:{name}@{last}~{before[:12]}",) if last else ()
    return Change(f"artifact: {name} {last + 1} ({writer.session})", files, bases, notices)


def _caveat(tree: Tree, name: str, last: int, version: NewVersion) -> str | None:
    """The caveat of a new version: its own, else that of the version before, until one is put that
    has none (`no_caveat`)."""
    if version.caveat or version.no_caveat or not last:
        return version.caveat
    before: str | None = get(tree, name, last).get("caveat")
    return before


def _has_read(
    tree: Tree, name: str, last: int, version: NewVersion, seen: int | None, now: int
) -> None:
    """Raises NotFound, Protocol or VersionJump if the session has not read the newest version."""
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
        raise _jump(tree, name, seen, last, version, now)


def _jump(
    tree: Tree, name: str, seen: int, last: int, version: NewVersion, now: int
) -> VersionJump:
    """The refusal of a version that was made from an older one than the newest."""
    record = get(tree, name, last)
    by = named(record["session"])
    read = f"you read artifact:{name}@{seen}" if seen else f"there was no artifact:{name}"
    stop = VersionJump(
        f"{read}, and {by} put version {last} while you were thinking",
        "read it, merge into what is there, and put again",
        details={
            "ref": f"artifact:{name}@{last}",
            "base": seen,
            "head": last,
            "session": record["session"],
            "at": record["at"],
        },
    )
    theirs = body(tree, record)
    base = body(tree, get(tree, name, seen)) if seen else b""
    if all(is_text(part) for part in (base, theirs, version.data)) and len(theirs) < 2**20:
        stop.details["merge"] = (base.decode(), theirs.decode(), version.data.decode())
        flags = change.flags(version.relies_on, title=version.title, caveat=version.caveat)
        flags += " --no-caveat" if version.no_caveat else ""
        flags += f" --good-for {version.good_for}s" if version.good_for else ""
        flags += "".join(
            f" --for {shlex.quote(whom)}" for whom in (version.marks or {}).get("for", ())
        )
        stop.details["submit"] = (
            f"atlas artifact put {name} {{draft}} --base {last}{flags} --type {version.ext}"
        )
        age = times.ago(times.moment(record["at"]), now)
        title = f"artifact:{name}@{last} by {record['session']}, {age}"
        stop.blocks = ((title, theirs.decode()[:16384]),)
    return stop


def _guard(tree: Tree, name: str, last: int, version: NewVersion, now: int) -> tuple[str, ...]:
    """Refuses what belongs under another name, and notices what is put too often."""
    old = get(tree, name, last)
    begins = b"\n<<<<<<< yours\n" in b"\n" + version.data
    if begins and b"\n>>>>>>> artifact:%s@" % name.encode() in version.data:
        raise Refused(
            "the text still holds the conflict markers of its draft (<<<<<<< … >>>>>>>)",
            "settle them, then put it again",
        )
    if not version.same_topic and _other_topic(tree, old, version):
        raise Refused(
            f"this has next to nothing in common with artifact:{name}@{last}, which it would hide",
            "put it under a name of its own; --same-topic if it is the same topic",
            code="other_topic",
        )
    path = path_of(name, last - BUSY + 1)
    early = tree.read(path) if last >= BUSY else None  # (None also where a hand left a gap)
    if early is not None and now - times.moment(parse(path, early)["at"]) < 3600:
        return (noise(name, BUSY, "hour", 24 * BUSY),)
    return ()


def _other_topic(tree: Tree, old: Record, version: NewVersion) -> bool:
    """Whether the new bytes seem to be about something else than the old version."""
    before = body(tree, old)
    if is_text(before) and is_text(version.data):
        return alien(before.decode(), version.data.decode())
    return bool(old["ext"] != version.ext)


def noise(name: str, count: int, span: str, daily: int) -> str:
    """The notice for a name that is put too often, with the arithmetic."""
    return (
        f"{name} was put {many(count, 'time')} within the {span} ({many(daily, 'version')} a day,"
        " and each would be new to every reader): machine state does not belong in a document"
        " channel"
    )


def numbered(path: str) -> tuple[str, int]:
    """The name and the number of a version, by its path."""
    match = PATH.match(path)
    return (match[1], int(match[2])) if match else ("", 0)


def outlived(record: Record, now: int) -> str:
    """That the time is over for which a version was said to be good; empty before, and where none
    was said."""
    until = record.get("good_until")
    if until is None or times.moment(until) > now:
        return ""
    return (
        f"it was good until {until}, {times.ago(times.moment(until), now)}: look whether it holds"
    )


def _view(tree: Tree, path: str, record: Record, now: int) -> Shown:
    """The name of the artifact in the view, and the path of its newest bytes."""
    last = get(tree, record["name"], newest(tree, record["name"]))
    body(tree, last)  # Damaged, and not shown, where these are other bytes
    return f"{FOLDER}/{record['name']}.{last['ext']}", body_path(last)


def _rules(edit: FileEdit) -> Iterator[Violation]:
    yield from document.rules(edit)
    if edit.new is None or edit.old is not None:
        return
    match = PATH.match(edit.path)
    if match is None or not names.valid(match[1]) or not lies_right(edit.path, match):
        yield Violation(
            "misplaced",
            edit.path,
            "a version lies in artifacts/<hh>/<name>/<NNNN>/ as about.yaml and body.*",
        )
        return
    name, number = match[1], int(match[2])
    if match[3] != "about.yaml":
        about = path_of(name, number)
        if edit.parent.blob(about) or not edit.child.blob(about):
            yield Violation(
                "immutable", edit.path, "bytes come with the about.yaml of their version, and once"
            )
        return
    record = parse(edit.path, edit.new)
    yield from document.follows(edit, number, path_of(name, number - 1))
    yield from document.signed(edit, record["session"])
    try:
        body(edit.child, record)
    except Damaged as error:
        yield Violation("digest", body_path(record), error.message)


def _settled(tree: Tree, day: str) -> Iterable[str]:
    """The versions of before a day that were superseded."""
    for name in known(tree):
        last = newest(tree, name)
        for number in document.numbers(tree, versions(name)):
            about = path_of(name, number)
            data = tree.read(about) if number < last else None
            if data is not None and parse(about, data)["at"][:10] < day:
                inner = tree.names(folder(name, number))
                yield from (f"{folder(name, number)}/{file}" for file in inner)


KIND = Kind(
    "artifact",
    FOLDER,
    "/about.yaml",
    parse,
    ref,
    find,
    _view,
    _rules,
    links=listed("relies_on"),
    path_of=path_of,
    numbered=numbered,
    words=("body", "title", "caveat"),
    layout=LAYOUT,
    settled=_settled,
    duty="work",
)

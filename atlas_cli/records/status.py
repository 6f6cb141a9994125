"""The status stream: one short text for each project that says where things stand. Each entry
replaces the last one; all are kept. Numbered documents: `status/<stream>/<NNN>/<NNNNNN>.md`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from ..errors import Damaged, NotFound
from ..model import document, names, schema, text
from ..model.change import FileEdit, Shown, Violation
from ..model.kind import Kind, listed, of_document
from ..model.text import Record
from ..model.tree import Tree

FOLDER = "status"
MAIN = "main"  # the stream that each store has
CHARACTERS = 16  # that a word may take where an entry is shown unasked
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
        {
            "unchanged": str,
            "section": str,
            "relies_on": "texts",
            "caveat": str,
            "operation": str,
            "sections": list,
            "earlier": list,
            "unseen": "texts",
            "wish": dict,
            "held": dict,
        },
    )
    stream, number = record["stream"], record["number"]
    schema.placed(
        path, f"status:{stream}@{number}", path_of(stream, number) if names.valid(stream) else None
    )
    return {**record, "body": body}


def under(files: Mapping[str, bytes | None], operation: str | None) -> dict[str, bytes | None]:
    """The files of a write, whose entry names this operation as its own."""
    renamed = dict(files)
    for path, data in files.items():
        if data is None or not numbered(path)[1]:
            continue
        record = parse(path, data)
        if record.get("operation") not in (None, operation):
            body = record.pop("body")
            renamed[path] = text.with_front({**record, "operation": operation}, body)
    return renamed


def newest(tree: Tree, stream: str) -> int:
    """The number of a stream's current entry; 0 while it is empty. A file in a wrong folder is no
    entry."""
    for folder in document.numbers(tree, f"{FOLDER}/{stream}"):
        for number in document.numbers(tree, f"{FOLDER}/{stream}/{folder:03}"):
            if number // 1000 == folder and tree.blob(path_of(stream, number)) is not None:
                return number
    return 0


def settled(tree: Tree, day: str) -> Iterable[str]:
    """The entries of before a day in folders that are full and were left since."""
    for stream in tree.names(FOLDER):
        for thousand in document.numbers(tree, f"{FOLDER}/{stream}")[1:]:
            folder = f"{FOLDER}/{stream}/{thousand:03}"
            inner = [f"{folder}/{name}" for name in tree.names(folder)]
            last = tree.read(inner[-1]) if inner else None
            if last is not None and parse(inner[-1], last)["at"][:10] < day:
                yield from inner


def find(tree: Tree, stream: str, number: int | None = None) -> str:
    """The path of an entry; of the current one if `number` is None. Raises NotFound if there is
    none."""
    last = newest(tree, stream)
    wanted = last if number is None else number
    path = path_of(stream, wanted)
    if not wanted or tree.blob(path) is None:
        ref = f"status:{stream}@{wanted}" if wanted else f"status:{stream}"
        if not last:
            raise NotFound(f"there is no {ref}; {empty(tree, stream)}", "atlas status write")
        raise NotFound(
            f"there is no {ref}; its newest entry is {last}", f"atlas status log {stream}"
        )
    return path


def written(tree: Tree, stream: str, operation: str) -> int:
    """The number of the entry that an operation wrote, which names it for good; 0 if there is
    none."""
    for number in range(newest(tree, stream), 0, -1):
        data = tree.read(path_of(stream, number))
        if data is None or operation.encode() not in data:
            continue
        record = readable(tree, stream, number)
        if record and record["number"] == number and record.get("operation") == operation:
            return number
    return 0


def empty(tree: Tree, stream: str, known: Iterable[str] = ()) -> str:
    """The notice that a stream has no entry yet. Raises NotFound if there is no such stream: it is
    not the main one, nor among those that are `known`, and nobody ever wrote there."""
    streams = {MAIN, *known, *tree.names(FOLDER)}
    if stream not in streams:
        begin = f"its first entry makes it: atlas status write {stream} -m TEXT"
        hint = names.hint(stream, sorted(streams), begin, "status:")
        raise NotFound(f"there is no status:{stream}; nobody has written there", hint)
    return f"status:{stream} is empty: nobody has written where things stand"


def get(tree: Tree, stream: str, number: int) -> Record:
    """An entry by its number. Raises NotFound if there is none."""
    path = find(tree, stream, number)
    return parse(path, tree.read(path) or b"")


def readable(tree: Tree, stream: str, upto: int) -> Record | None:
    """The newest entry up to a number that can be read: a hand may have put there what is none.
    None if there is none."""
    for number in range(upto, 0, -1):
        try:
            data = tree.read(path_of(stream, number))
            if data is not None:
                return parse(path_of(stream, number), data)
        except Damaged:
            continue
    return None


def current(tree: Tree, stream: str) -> Record | None:
    """The entry that says where things stand now. None while nobody has written one."""
    return readable(tree, stream, newest(tree, stream))


def brief(record: Record, words: int) -> str:
    """The text of an entry as it is shown unasked: cut to as many characters as the words it may
    have take."""
    return cut(str(record["body"]), words, f"status:{record['stream']}@{record['number']}")


def cut(text: str, words: int, ref: str) -> str:
    """A text, cut to as many characters as these words may take."""
    most = CHARACTERS * words
    if len(text) <= most:
        return text
    where = f"atlas status show {ref.removeprefix('status:')}"
    return f"{text[:most].rstrip()}\n(cut here: it has {len(text):,} characters: {where})"


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
    written=written,
    words=("body", "unchanged", "caveat", "section"),
    settled=settled,
    duty="word",
)

"""The inbox: texts that somebody without Atlas adds on a forge, `inbox/<name>.md` or `.txt`. They
have no fields, and nobody vouches for their writers."""

from __future__ import annotations

import re

from ..errors import Damaged, NotFound
from ..model.change import Shown
from ..model.kind import Kind, no_more, of_document
from ..model.schema import Misplaced
from ..model.text import Record
from ..model.tree import Tree

FOLDER = "inbox"
MOST = 100_000  # bytes
LEAD = "from-forge--"  # before its name in the view
_PLACE = re.compile(r"inbox/[A-Za-z0-9][A-Za-z0-9 ._-]{0,80}\.(md|txt)\Z")


def parse(path: str, data: bytes) -> Record:
    """The `name` of a text, its first line as `title`, and its `body`."""
    if not _PLACE.match(path):
        raise Misplaced(f"{path}: a name here is inbox/<letters, digits, spaces, ._->.md or .txt")
    try:
        body = data.decode()
    except UnicodeDecodeError:
        raise Damaged(f"{path}: is no text in UTF-8") from None
    if len(data) > MOST:
        raise Damaged(f"{path}: has {len(data):,} bytes; a text here has at most {MOST:,}")
    lines = (line.strip("# \t\r") for line in body.split("\n"))
    return {
        "name": path.partition("/")[2],
        "title": next(filter(None, lines), "")[:80],
        "body": body,
    }


def find(tree: Tree, id: str, number: int | None = None) -> str:
    """The path of a text. Raises NotFound if there is none."""
    if not _PLACE.match(f"{FOLDER}/{id}") or tree.blob(f"{FOLDER}/{id}") is None:
        raise NotFound(f"there is no {id[:80]!r} in the inbox", "atlas log --kind inbox")
    return f"{FOLDER}/{id}"


def _ref(path: str, record: Record) -> str:
    return f"inbox:{record['name']}"


def _view(tree: Tree, path: str, record: Record, now: int) -> Shown:
    """The name of the text in the view: it says where the text is from, and ends in `.txt`, so that
    no tool takes it for orders."""
    stem, _, ext = record["name"].rpartition(".")
    mark = "-" if ext == "txt" else ""  # keeps NAME.md and NAME.txt apart
    return f"{FOLDER}/{LEAD}{mark}{stem}.txt", path


KIND = Kind(
    "inbox",
    FOLDER,
    "",
    parse,
    _ref,
    find,
    _view,
    of_document(parse, no_more),
    lead=LEAD,
    words=("title", "body"),
)

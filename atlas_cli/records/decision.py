"""The decision log: what was recommended, what was chosen, and, given and never worked out, why the two stand where
they do. Documents named by their operation, so that they always merge: `decisions/<YYYY>/<MM-DD>-<slug>-<op6>.md`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ..errors import NotFound, Usage
from . import case, document, names, text
from .case import Case, Change, Shown, Violation, Writer
from .text import Record
from .tree import Tree

NAME = "decision"
FOLDER = "decisions"
SUFFIX = ".md"
NUMBERED = False
ROW = False
WORDS = ("title", "recommended", "chosen", "why", "recommended_by", "chosen_by")
_DATED = re.compile(r"[0-9]{4}/[0-9]{2}-[0-9]{2}-[a-z0-9-]+-[0-9a-f]{6}\.md\Z")
STANCES = ("agreed", "disagreed", "timeout")


def dated_place(folder: str, writer: Writer, slug: str) -> str:
    """Where a document of this day and operation lies."""
    return f"{folder}/{writer.when[:4]}/{writer.when[5:10]}-{slug}-{writer.op6}.md"


def dated_id(path: str) -> str:
    """`2026-11-29-use-x-3f9c01` of a path."""
    year, _, name = path.partition("/")[2].partition("/")
    return f"{year}-{name.removesuffix('.md')}"


def dated(path: str, folder: str) -> None:
    """Misplaced for a path that no document has which is named by its day and its operation."""
    first, _, rest = path.partition("/")
    if first != folder or not _DATED.match(rest):
        raise case.Misplaced(f"{path}: a name here is {folder}/<YYYY>/<MM-DD>-<words>-<six hex digits>.md")


def dated_find(tree: Tree, kind: str, folder: str, wanted: str) -> str:
    """The path of a document by its id; the last six may be left out while what is left names one."""
    match = re.match(r"([0-9]{4})-([0-9]{2}-[0-9]{2}-[a-z0-9-]+)\Z", wanted)
    there = [name for name in tree.names(f"{folder}/{match[1]}") if _DATED.match(f"{match[1]}/{name}")] if match else []
    found = [name for name in there if match and match[2] in (name[:-3], name[:-10])]
    if len(found) > 1:
        ids = ", ".join(f"{match[1]}-{name[:-3]}" for name in found) if match else ""
        raise Usage(f"{wanted!r} names {len(found)} {kind}s", f"say which: {ids}")
    if not found or match is None:
        shown = f"atlas {'log --kind correction' if kind == 'correction' else f'{kind} list'} shows them"
        like = [f"{match[1]}-{name[:end]}" for name in there for end in (-10, -3)] if match else []
        raise NotFound(f"there is no {kind} {wanted[:80]!r}", names.hint(wanted, like, shown))
    return f"{folder}/{match[1]}/{found[0]}"


def parse(path: str, data: bytes) -> Record:
    """The fields; `why` is the body."""
    dated(path, FOLDER)
    record, body = text.front(data, path)
    case.check(
        record,
        path,
        {"title": str, "recommended": str, "chosen": str, "stance": str, "session": str, "actor": str, "at": "time"},
        {"about": "texts", "chosen_by": str, "recommended_by": str, "operation": str},
    )
    return {**record, "id": dated_id(path), "why": body.strip("\n")}


def ref(path: str, record: Record) -> str:
    return f"decision:{dated_id(path)}"


def view(tree: Tree, path: str, record: Record, now: int) -> Shown:
    """Itself, while it is young."""
    return path, path if document.young(record, now) else None


def until(record: Record) -> int | None:
    return None


def links(record: Record) -> Iterable[tuple[str, str]]:
    return [("about", target) for target in record.get("about", ())]


def find(tree: Tree, wanted: str, number: int | None = None) -> str:
    return dated_find(tree, "decision", FOLDER, wanted)


def add(
    tree: Tree, writer: Writer, *, title: str, recommended: str, chosen: str, stance: str, why: str,
    about: Sequence[str], chosen_by: str | None, recommended_by: str | None,
) -> Change:  # fmt: skip
    """The stance is stored as given and never checked against the pair: it is a fact of its own."""
    record: Record = {"title": title, "recommended": recommended, "chosen": chosen, "stance": stance}
    record |= {"about": list(about)} if about else {}
    record |= {"chosen_by": chosen_by} if chosen_by else {}
    record |= {"recommended_by": recommended_by} if recommended_by else {}
    record |= {**writer.signature(), "operation": writer.operation}
    path = dated_place(FOLDER, writer, names.slug(title))
    data = text.with_front(record, why.strip("\n") + "\n")
    return Change(f"decision: {names.slug(title, 50)} ({writer.session})", {path: data})


def judge(found: Case) -> Iterator[Violation]:
    yield from document.judge(found)
    if found.new is None or found.old is not None:
        return
    record = parse(found.path, found.new)
    if record["stance"] not in STANCES:
        yield Violation("schema", found.path, f"the stance is one of {', '.join(STANCES)}, not {record['stance']!r}")
    yield from document.signed(found, record["session"])

"""Corrections: a bad write put right by name, one's own first of all. Documents beside the decisions:
`corrections/<YYYY>/<MM-DD>-<slug>-<op6>.md`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ..visible import named
from . import case, decision, document, names, text, times
from .case import Case, Change, Shown, Violation, Writer
from .text import Record
from .tree import Tree

NAME = "correction"
FOLDER = "corrections"
SUFFIX = ".md"
NUMBERED = False
ROW = False
WORDS = ("why", "cause")
WITHHELD = "(retracted; atlas show REF --withdrawn shows it)"


def parse(path: str, data: bytes) -> Record:
    """The fields; `target` is the REF put right, `why` the body, `own` whether its writer did it."""
    decision.dated(path, FOLDER)
    record, body = text.front(data, path)
    case.check(
        record,
        path,
        {"target": str, "retract": bool, "session": str, "actor": str, "at": "time"},
        {"cause": str, "own": bool, "operation": str},
    )
    return {**record, "id": decision.dated_id(path), "why": body.strip("\n")}


def ref(path: str, record: Record) -> str:
    return f"correction:{decision.dated_id(path)}"


def view(tree: Tree, path: str, record: Record, now: int) -> Shown:
    """Itself, while it is young."""
    return path, path if document.young(record, now) else None


def until(record: Record) -> int | None:
    return None


def links(record: Record) -> Iterable[tuple[str, str]]:
    yield "corrects", record["target"]
    if record.get("cause"):
        yield "cause", record["cause"]


def find(tree: Tree, wanted: str, number: int | None = None) -> str:
    return decision.dated_find(tree, "correction", FOLDER, wanted)


def add(tree: Tree, writer: Writer, *, target: str, why: str, cause: str | None, retract: bool, own: bool) -> Change:
    """The correction of one record; `own`: by the session or the actor that wrote it."""
    record: Record = {"target": target, "retract": retract, "own": own}
    record |= {"cause": cause} if cause else {}
    record |= {**writer.signature(), "operation": writer.operation}
    path = decision.dated_place(FOLDER, writer, names.slug(target))
    verb = "retract" if retract else "correct"
    return Change(f"correction: {verb} {target} ({writer.session})", {path: text.with_front(record, why + "\n")})


def judge(found: Case) -> Iterator[Violation]:
    yield from document.judge(found)
    if found.new is None or found.old is not None:
        return
    record = parse(found.path, found.new)
    yield from document.signed(found, record["session"])


def shown(record: Record, now: int, say: Callable[[str], str] = str) -> str:
    """A correction on one line, for wherever the record that it is about is shown; `say`: how its writer's words stand
    in it, outside of a frame as `theirs`."""
    verb = "retracted" if record["retract"] else "corrected"
    whose = "put right by its writer" if record.get("own") else f"by {named(record['session'])}"
    cause = f" (cause: {say(record['cause'])})" if record.get("cause") else ""
    why = "(itself retracted)" if record["why"] is None else say(record["why"])
    return f"{verb}, {whose}, {times.ago(times.moment(record['at']), now)}: {why}{cause}"


def said(record: Record, field: str, now: int, say: Callable[[str], str] = str) -> str:
    """A writer's words for a line or a cell; where they are withheld: that they were retracted, by whom and why."""
    if (words := record.get(field)) is not None:
        return say(words)
    found = [one for one in record.get("corrections", ()) if one["retract"]]
    return f"({shown(found[-1], now, say)})" if found else "-"

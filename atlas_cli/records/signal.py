"""Signals: a word of a closed vocabulary about a record or a path. Documents beside the decisions:
`signals/<YYYY>/<MM>/<DD>-<kind>-<slug>-<op6>.md`. ACTIONS lists all that a signal does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..errors import Refused, Usage
from ..model import change, dated, names, schema, text
from ..model.change import Change, FileEdit, Violation, Writer
from ..model.digests import sha256
from ..model.kind import dated_kind
from ..model.text import Record
from ..model.tree import Tree
from . import concern

FOLDER = "signals"
# kind: what it does beyond being posted and listed.
ACTIONS: dict[str, str | None] = {
    "alert": None,
    "blocker": "gate",
    "finding": None,
    "status": None,
    "dependency": None,
}


def kind(word: str) -> str:
    """The word itself, if it is of the vocabulary. Raises Usage otherwise."""
    if word not in ACTIONS:
        raise Usage(f"there is no signal {word[:40]!r}", f"one of {', '.join(ACTIONS)}")
    return word


def parse(path: str, data: bytes) -> Record:
    """The fields of a signal, its text as `text`."""
    dated.check_path(path, FOLDER)
    record, body = text.front(data, path)
    needed = {"kind": str, "session": str, "actor": str, "at": "time", "operation": str}
    schema.fields(record, path, needed, {"about": str, "gate": str, **concern.FIELDS})
    return {**record, "id": dated.id_of(path), "text": body.strip("\n")}


def path_of(wanted: str) -> str:
    """The path of a signal by its whole id."""
    return dated.place(FOLDER, wanted)


def content(record: Record) -> str:
    """The SHA-256 of what a signal says: its kind, what it is about, its text. Its writer and its
    time do not count."""
    parts = {"kind": record["kind"], "about": record.get("about", ""), "text": record["text"]}
    return sha256(text.dump(parts)).hexdigest()


def post(
    tree: Tree,
    writer: Writer,
    word: str,
    about: str | None,
    message: str,
    gate: str | None = None,
    marks: Record | None = None,
) -> Change:
    """The change that adds a signal. `gate` is the gate that it raises. Raises Refused for a
    blocker without one."""
    if (ACTIONS[kind(word)] == "gate") != (gate is not None):
        raise Refused(
            f"a {word} raises a gate, and says what it holds back",
            "atlas gate raise --why W (--task T | --scope S)",
            code="gate",
        )
    record: Record = {"kind": word, **change.given(about=about, gate=gate), **(marks or {})}
    record |= {**writer.signature(), "operation": writer.operation}
    path = dated.path_of(FOLDER, writer, names.slug(f"{word} {message}"))
    data = text.with_front(record, message.strip("\n") + "\n")
    return Change(f"signal: {word} ({writer.session})", {path: data})


def _links(record: Record) -> Iterable[tuple[str, str]]:
    return [("about", record["about"])] if "about" in record else []


def _rules(edit: FileEdit, record: Record) -> Iterator[Violation]:
    if record["kind"] not in ACTIONS:
        yield Violation("schema", edit.path, f"there is no signal {record['kind']!r}")
        return
    gate = f"gates/{record.get('gate')}.yaml"
    if ACTIONS[record["kind"]] == "gate" and edit.child.blob(gate) is None:
        yield Violation("gate", edit.path, "is a blocker that raises no gate")


KIND = dated_kind("signal", FOLDER, parse, _links, _rules, words=("text",))

"""Signals: a word of a closed vocabulary about a record or a path. Documents beside the decisions:
`signals/<YYYY>/<MM-DD>-<kind>-<slug>-<op6>.md`. ACTIONS says all that any of them does."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from ..errors import Refused, Usage
from ..model import dated, names, schema, text
from ..model.change import Change, FileEdit, Violation, Writer
from ..model.kind import dated_kind
from ..model.text import Record
from ..model.tree import Tree

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
    """A word of the vocabulary; Usage for any other."""
    if word not in ACTIONS:
        raise Usage(f"there is no signal {word[:40]!r}", f"one of {', '.join(ACTIONS)}")
    return word


def parse(path: str, data: bytes) -> Record:
    """The fields; `text` is the body."""
    dated.check_path(path, FOLDER)
    record, body = text.front(data, path)
    needed = {"kind": str, "session": str, "actor": str, "at": "time", "operation": str}
    schema.fields(record, path, needed, {"about": str, "gate": str})
    return {**record, "id": dated.id_of(path), "text": body.strip("\n")}


def path_of(wanted: str) -> str:
    """The path of a signal by its whole id."""
    return f"{FOLDER}/{wanted[:4]}/{wanted[5:]}.md"


def content(record: Record) -> str:
    """SHA-256 of what a signal says: its kind, what it is about, its text; not of who said it
    when."""
    said = {"kind": record["kind"], "about": record.get("about", ""), "text": record["text"]}
    return hashlib.sha256(text.dump(said)).hexdigest()


def post(
    tree: Tree, writer: Writer, word: str, about: str | None, said: str, gate: str | None = None
) -> Change:
    """A signal; `gate`: the one that it raises, without which a blocker is Refused."""
    if (ACTIONS[kind(word)] == "gate") != (gate is not None):
        raise Refused(
            f"a {word} raises a gate, and says what it holds back",
            "atlas gate raise --why W (--task T | --scope S)",
            code="gate",
        )
    record: Record = (
        {"kind": word} | ({"about": about} if about else {}) | ({"gate": gate} if gate else {})
    )
    record |= {**writer.signature(), "operation": writer.operation}
    path = dated.path_of(FOLDER, writer, names.slug(f"{word} {said}"))
    return Change(
        f"signal: {word} ({writer.session})",
        {path: text.with_front(record, said.strip("\n") + "\n")},
    )


def _links(record: Record) -> Iterable[tuple[str, str]]:
    return [("about", record["about"])] if "about" in record else []


def _rules(found: FileEdit, record: Record) -> Iterator[Violation]:
    if record["kind"] not in ACTIONS:
        yield Violation("schema", found.path, f"there is no signal {record['kind']!r}")
    elif (
        ACTIONS[record["kind"]] == "gate"
        and found.child.blob(f"gates/{record.get('gate')}.yaml") is None
    ):
        yield Violation("gate", found.path, "is a blocker that raises no gate")


KIND = dated_kind("signal", FOLDER, parse, _links, _rules)._replace(words=("text",))

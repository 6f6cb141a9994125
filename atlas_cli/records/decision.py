"""The decision log: what was recommended, what was chosen, and how the two stand to each other; the
stance is given, never worked out. A decision made alone has neither a recommendation nor a stance
to it. Documents named by their operation, so that they always merge:
`decisions/<YYYY>/<MM>/<DD>-<slug>-<op6>.md`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..model import change, dated, names, schema, text
from ..model.change import Change, FileEdit, Violation, Writer
from ..model.kind import dated_kind
from ..model.text import Record
from ..model.tree import Tree
from . import concern

FOLDER = "decisions"
STANCES = ("agreed", "disagreed", "timeout")


def parse(path: str, data: bytes) -> Record:
    """The fields of a decision, its text as `why`."""
    dated.check_path(path, FOLDER)
    record, body = text.front(data, path)
    schema.fields(
        record,
        path,
        {
            "title": str,
            "chosen": str,
            "session": str,
            "actor": str,
            "at": "time",
        },
        {
            "recommended": str,
            "stance": str,
            "about": "texts",
            "relies_on": "texts",
            "chosen_by": str,
            "recommended_by": str,
            "operation": str,
            **concern.FIELDS,
        },
    )
    alone = {"recommended": None, "stance": None}
    return {**alone, **record, "id": dated.id_of(path), "why": body.strip("\n")}


def add(
    tree: Tree,
    writer: Writer,
    *,
    title: str,
    recommended: str | None,
    chosen: str,
    stance: str | None,
    why: str,
    about: Sequence[str],
    chosen_by: str | None,
    recommended_by: str | None,
    relies_on: Sequence[str] = (),
    marks: Record | None = None,
) -> Change:
    """The change that adds a decision. The stance is stored as given and never checked against the
    pair: it is a fact of its own."""
    record: Record = {"title": title}
    record |= change.given(recommended=recommended, chosen=chosen, stance=stance)
    record |= marks or {}
    record |= change.given(
        about=list(about),
        relies_on=list(relies_on),
        chosen_by=chosen_by,
        recommended_by=recommended_by,
    )
    record |= {**writer.signature(), "operation": writer.operation}
    path = dated.path_of(FOLDER, writer, names.slug(title))
    data = text.with_front(record, why.strip("\n") + "\n")
    return Change(f"decision: {names.slug(title, 50)} ({writer.session})", {path: data})


def _links(record: Record) -> Iterator[tuple[str, str]]:
    for relation in ("about", "relies_on"):
        yield from ((relation, target) for target in record.get(relation, ()))


def _rules(edit: FileEdit, record: Record) -> Iterator[Violation]:
    stance, alone = record["stance"], record["recommended"] is None
    if alone != (stance is None):
        yield Violation("schema", edit.path, "a stance is to what was recommended: both or neither")
    elif not alone and stance not in STANCES:
        yield Violation(
            "schema", edit.path, f"the stance is one of {', '.join(STANCES)}, not {stance!r}"
        )


_WORDS = ("title", "recommended", "chosen", "why", "recommended_by", "chosen_by")
KIND = dated_kind("decision", FOLDER, parse, _links, _rules, _WORDS, "work")

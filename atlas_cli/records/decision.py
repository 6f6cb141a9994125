"""The decision log: what was recommended, what was chosen, and, given and never worked out, why the
two stand where they do. Documents named by their operation, so that they always merge:
`decisions/<YYYY>/<MM-DD>-<slug>-<op6>.md`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..model import dated, names, schema, text
from ..model.change import Change, FileEdit, Violation, Writer
from ..model.kind import dated_kind
from ..model.text import Record
from ..model.tree import Tree

FOLDER = "decisions"
STANCES = ("agreed", "disagreed", "timeout")


def parse(path: str, data: bytes) -> Record:
    """The fields; `why` is the body."""
    dated.check_path(path, FOLDER)
    record, body = text.front(data, path)
    schema.fields(
        record,
        path,
        {
            "title": str,
            "recommended": str,
            "chosen": str,
            "stance": str,
            "session": str,
            "actor": str,
            "at": "time",
        },
        {"about": "texts", "chosen_by": str, "recommended_by": str, "operation": str},
    )
    return {**record, "id": dated.id_of(path), "why": body.strip("\n")}


def add(
    tree: Tree,
    writer: Writer,
    *,
    title: str,
    recommended: str,
    chosen: str,
    stance: str,
    why: str,
    about: Sequence[str],
    chosen_by: str | None,
    recommended_by: str | None,
) -> Change:
    """The stance is stored as given and never checked against the pair: it is a fact of its own."""
    record: Record = {
        "title": title,
        "recommended": recommended,
        "chosen": chosen,
        "stance": stance,
    }
    record |= {"about": list(about)} if about else {}
    record |= {"chosen_by": chosen_by} if chosen_by else {}
    record |= {"recommended_by": recommended_by} if recommended_by else {}
    record |= {**writer.signature(), "operation": writer.operation}
    path = dated.path_of(FOLDER, writer, names.slug(title))
    data = text.with_front(record, why.strip("\n") + "\n")
    return Change(f"decision: {names.slug(title, 50)} ({writer.session})", {path: data})


def _links(record: Record) -> Iterable[tuple[str, str]]:
    return [("about", target) for target in record.get("about", ())]


def _rules(found: FileEdit, record: Record) -> Iterator[Violation]:
    if record["stance"] not in STANCES:
        yield Violation(
            "schema",
            found.path,
            f"the stance is one of {', '.join(STANCES)}, not {record['stance']!r}",
        )


KIND = dated_kind("decision", FOLDER, parse, _links, _rules)._replace(
    words=("title", "recommended", "chosen", "why", "recommended_by", "chosen_by")
)

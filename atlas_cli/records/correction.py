"""Corrections: a bad write is put right by naming it, one's own first of all. Documents beside the
decisions: `corrections/<YYYY>/<MM>/<DD>-<slug>-<op6>.md`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from ..model import change, dated, names, schema, text, times
from ..model.change import Change, Writer
from ..model.kind import dated_kind
from ..model.text import Record
from ..model.tree import Tree
from ..visible import named
from . import concern

FOLDER = "corrections"
_CAUSE = re.compile(r"([^\s:@][^:@]*)@[0-9a-f]{7,64}\Z")
WITHHELD = "(retracted; atlas show REF --withdrawn shows it)"


def parse(path: str, data: bytes) -> Record:
    """The fields of a correction: `target` is the REF that is put right, `why` its text, `own`
    whether the writer of the target wrote it."""
    dated.check_path(path, FOLDER)
    record, body = text.front(data, path)
    schema.fields(
        record,
        path,
        {"target": str, "retract": bool, "session": str, "actor": str, "at": "time"},
        {"cause": str, "own": bool, "operation": str, **concern.FIELDS},
    )
    return {**record, "id": dated.id_of(path), "why": body.strip("\n")}


def path_of_cause(cause: str) -> str:
    """The path in a cause of the form `path@commit` (or of `path:…`); empty if it is another."""
    if match := _CAUSE.match(cause):
        return match[1]
    return cause.partition(":")[2] if cause.startswith("path:") else ""


def add(
    tree: Tree,
    writer: Writer,
    *,
    target: str,
    why: str,
    cause: str | None,
    retract: bool,
    own: bool,
    marks: Record | None = None,
) -> Change:
    """The change that corrects or retracts one record. `own`: it is written by the session or the
    actor of that record."""
    record: Record = {"target": target, "retract": retract, "own": own, **(marks or {})}
    record |= {**change.given(cause=cause), **writer.signature(), "operation": writer.operation}
    path = dated.path_of(FOLDER, writer, names.slug(target.partition(names.BY)[0]))
    verb = "retract" if retract else "correct"
    return Change(
        f"correction: {verb} {target} ({writer.session})",
        {path: text.with_front(record, why + "\n")},
    )


def shown(record: Record, now: int, say: Callable[[str], str] = str) -> str:
    """A correction on one line, as it is shown beside its record. `say` marks its writer's words;
    outside of a frame it is `theirs`."""
    if record.get("lifted"):
        return f"{_head(record, now)}, which was lifted: {shown(record['lifted'], now, say)}"
    cause = f" (cause: {say(record['cause'])})" if record.get("cause") else ""
    why = "(itself retracted)" if record["why"] is None else say(record["why"])
    return f"{_head(record, now)}: {why}{cause}"


def _head(record: Record, now: int) -> str:
    """A correction without its writer's words."""
    verb = "retracted" if record["retract"] else "corrected"
    whose = "put right by its writer" if record.get("own") else f"by {named(record['session'])}"
    return f"{verb}, {whose}, {times.ago(times.moment(record['at']), now)}"


def happened(record: Record, now: int) -> str:
    """The deed of a correction, as the end of a sentence that begins with its target: by whom, and
    when. One that is lifted names who lifted it as well."""
    verb = "retracted" if record["retract"] else "corrected"
    whose = ", its writer" if record.get("own") else ""
    age = times.ago(times.moment(record["at"]), now)
    deed = f"{verb} by {named(record['session'])}{whose}, {age}"
    if upper := record.get("lifted"):
        deed += f", which {named(upper['session'])} has lifted"
    return deed


def reason(record: Record) -> str:
    """The words of a correction, with its cause; of one that is lifted, those of what lifted it.
    Empty where they are withheld."""
    record = record.get("lifted") or record
    if record["why"] is None:
        return ""
    return f"{record['why']} (cause: {record['cause']})" if record.get("cause") else record["why"]


def withdraws(record: Record) -> bool:
    """Whether a correction, as it is shown, withholds its target: a retraction that none has
    lifted."""
    return bool(record["retract"]) and "lifted" not in record


def said(record: Record, field: str, now: int, say: Callable[[str], str] = str) -> str:
    """A writer's words for a line or a cell, with the word that they were corrected. Words that are
    withheld are replaced by the retraction: by whom, and why."""
    if (words := record.get(field)) is not None:
        corrected = any("lifted" not in row for row in record.get("corrections", ()))
        return f"(corrected) {say(words)}" if corrected else say(words)
    retractions = [row for row in record.get("corrections", ()) if withdraws(row)]
    return f"({shown(retractions[-1], now, say)})" if retractions else "-"


def plain(words: str | None) -> str:
    """A writer's words where the record's retraction stands beside: a word in place of those that
    are withheld."""
    return "(retracted)" if words is None else words


def _links(record: Record) -> Iterable[tuple[str, str]]:
    yield "corrects", record["target"]
    if record.get("cause"):
        yield "cause", record["cause"]


KIND = dated_kind("correction", FOLDER, parse, _links, words=("why", "cause"), duty="work")

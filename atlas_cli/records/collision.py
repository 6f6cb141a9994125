"""Collisions: what a write that was stopped had met, with whom, and what the next write kept of
it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ..errors import AtlasError
from ..model import names
from ..model.tree import Tree
from ..visible import many
from . import BY_NAME, is_record, kind_of, session

_STOP = re.compile(r"(\S+) (\d+)(?: (.+?)(?: of (\S+))?)?\Z")
_BETWEEN = re.compile(r", (?=…|[a-z]+:)")
MOST = 8  # REFs, and sessions, that a stop keeps of those that it met
Files = Mapping[str, bytes | None]


class Stop(NamedTuple):
    """Stops of one kind: the code of the error, how often, the REFs that were met (MOST of them),
    and the sessions that had written or hold these."""

    code: str
    often: int
    refs: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()

    def text(self) -> str:
        """The value of the trailer `Atlas-Stop`."""
        refs = f" {', '.join(self.refs)}" if self.refs else ""
        by = f" of {','.join(self.sessions)}" if self.refs and self.sessions else ""
        return f"{self.code} {self.often}{refs}{by}"


def read(text: str) -> Stop:
    """The stops that a trailer tells of."""
    match = _STOP.match(text)
    if match is None:
        return Stop(text, 1)
    sessions = tuple(match[4].split(",")) if match[4] else ()
    refs = tuple(_BETWEEN.split(match[3])) if match[3] else ()
    return Stop(match[1], int(match[2]), refs, sessions)


def met(code: str, details: Mapping[str, Any]) -> Stop:
    """The things that a stop with these details had met."""
    whole = [details, *_rows(details.get("also"))]
    since = [entry for stop in whole for entry in _rows(stop.get("since"))]
    refs: dict[str, str] = {}
    for ref in filter(None, map(_ref, [*whole, *since])):
        refs.setdefault(ref.partition("@")[0], ref)  # (of one stream the newest entry, named first)
    by = [entry.get("session") for entry in since]
    by += [stop.get(key) for stop in whole for key in ("holder", "session")]
    others = dict.fromkeys(id for id in by if isinstance(id, str) and session.valid(id))
    return Stop(code, 1, _most(refs.values(), "…"), _most(others))


def _rows(value: Any) -> list[Mapping[str, Any]]:
    rows = value if isinstance(value, list) else []
    return [row for row in rows if isinstance(row, dict)]


def _ref(details: Mapping[str, Any]) -> str:
    """The REF that details name first; empty if they name none."""
    keys = (("ref", ""), ("resource", "lease:"), ("task", "task:"))
    refs = (f"{lead}{details[key]}" for key, lead in keys if isinstance(details.get(key), str))
    return next((ref for ref in refs if len(ref) < 200 and names.one_line(ref)), "")


def _most(texts: Iterable[str], more: str = "") -> tuple[str, ...]:
    """The first texts of a list, and a sign that there are more."""
    whole = tuple(texts)
    return whole if len(whole) <= MOST else (*whole[:MOST], *filter(None, [more]))


def merged(before: Tree, files: Files, refs: Iterable[str]) -> tuple[str, ...]:
    """The lines that a write keeps of the versions that it was stopped by, by their REFs."""
    notes = []
    for ref in dict.fromkeys(refs):
        kind, _, name = ref.partition(":")
        id, _, number = name.rpartition("@")
        shape = BY_NAME.get(kind)
        if shape is None or shape.numbered is None or shape.path_of is None:
            continue
        own = [path for path in files if kind_of(path) is shape and is_record(path)]
        new = next((path for path in own if shape.numbered(path)[0] == id), "")
        if number.startswith("~") and shape.written is not None:
            number = str(shape.written(before, id, number.removeprefix("~")))
        if not new or not number.isdecimal():
            continue
        old_lines = _lines(shape.path_of(id, int(number)), before.read)
        new_lines = set(_lines(new, files.get))
        if old_lines:
            count = sum(line in new_lines for line in old_lines)
            notes.append(f"{ref} kept {count} of {many(len(old_lines), 'line')}")
    return tuple(notes)


def _lines(path: str, read: Any) -> list[str]:
    """The lines of a numbered document; none of one that is no text."""
    try:
        kind, data = kind_of(path), read(path)
        record = kind.parse(path, data) if kind is not None and data is not None else {}
        if "ext" in record:
            data = read(f"{path.rpartition('/')[0]}/body.{record['ext']}")
            text = (data or b"").decode()
        else:
            text = str(record.get("body", ""))
    except (AtlasError, UnicodeDecodeError):
        return []
    return [line.strip() for line in text.split("\n") if line.strip()]

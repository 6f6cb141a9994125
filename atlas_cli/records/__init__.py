"""Records are pure: no clock, no git, no printing. One kind a file; KINDS lists them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Protocol

from ..errors import Damaged, Usage
from . import (
    artifact,
    correction,
    decision,
    gate,
    inbox,
    lease,
    names,
    policy,
    result,
    session,
    signal,
    status,
    task,
    text,
)
from .case import Case, Shown, Violation
from .names import Ref
from .text import Record
from .tree import Tree


class Kind(Protocol):
    """What a kind's module has. FOLDER is the top folder (or the file) of its records."""

    NAME: str
    FOLDER: str
    SUFFIX: str  # how the paths of its records end
    NUMBERED: bool  # whether its REFs carry a number
    ROW: bool  # whether it is a row (one live value), not a document (kept for ever)

    @property
    def WORDS(self) -> tuple[str, ...]:
        """The fields that hold what its writers said: withheld once it is retracted."""

    def parse(self, path: str, data: bytes) -> Record:
        """The fields; Damaged, with the path, for what is no such record."""

    def ref(self, path: str, record: Record) -> str:
        """The record's REF."""

    def find(self, tree: Tree, id: str, number: int | None = None) -> str:
        """The path of a record by the parts of its REF; NotFound where there is none."""

    def view(self, tree: Tree, path: str, record: Record, now: int) -> Shown:
        """What the view shows for a record: its name there, and the path in the store that it is a copy of (None:
        nothing is to be shown under that name any more)."""

    def until(self, record: Record) -> int | None:
        """A row's last moment in force, in seconds since 1970; None for documents."""

    def links(self, record: Record) -> Iterable[tuple[str, str]]:
        """(relation, REF) pairs that it points at."""

    def judge(self, found: Case) -> Iterator[Violation]:
        """Its rules on one changed file."""


KINDS: tuple[Kind, ...] = (
    status, artifact, decision, correction, lease, session, inbox, task, result, gate, signal, policy,
)  # fmt: skip
BY_NAME = {kind.NAME: kind for kind in KINDS}
_BY_FOLDER = {kind.FOLDER: kind for kind in KINDS}
_SHOWN = r"(?:[a-z0-9]+/(?:[0-9a-z]+/)?)?[A-Za-z0-9%][A-Za-z0-9 %._-]{0,200}\Z"
FREE = ("README.md",)  # files of the branch that no rule looks at


def kind_of(path: str) -> Kind | None:
    """The kind whose records lie at `path`; None for a path that belongs to none."""
    return _BY_FOLDER.get(path.partition("/")[0])


def is_record(path: str) -> bool:
    """Whether the file at `path` is a record (an artifact's bytes are not)."""
    kind = kind_of(path)
    return kind is not None and path.endswith(kind.SUFFIX)


def bound(path: str) -> int:
    """How many bytes of the file at `path` are read at the most."""
    return text.MOST if is_record(path) else artifact.MOST


def is_shown(name: str) -> bool:
    """Whether a record can be shown under a name in the view: in one of the kinds' folders, by plain names, none of
    which anybody takes orders from."""
    kind, last = kind_of(name), name.rpartition("/")[2]
    plain = kind is not None and re.match(_SHOWN, name) is not None and names.heeded_as(name) != ""
    return plain and last.startswith(getattr(kind, "LEAD", ""))


def before(path: str) -> str | None:
    """The path of the document that a numbered one follows; None where there is none."""
    kind = kind_of(path)
    numbered = getattr(kind, "numbered", None) if is_record(path) else None
    name, number = numbered(path) if numbered else ("", 0)
    return kind.place(name, number - 1) if kind and number > 1 else None  # type: ignore[attr-defined]


def ref(text: str) -> Ref:
    """A REF from text; Usage with the forms for anything else."""
    name, colon, rest = text.partition(":")
    kind = BY_NAME.get(name)
    if not colon or kind is None or not rest or not names.one_line(rest):
        forms = "a REF is like status:main@12, artifact:schema@3, decision:2026-11-29-use-x, lease:gpu0 or task:ID"
        near = names.hint(name, BY_NAME, forms) if colon and kind is None else forms
        raise Usage(f"{text[:80]!r} is no REF", near)
    return names.versioned(rest, name) if kind.NUMBERED else Ref(name, rest)


def describe(path: str, data: bytes) -> Record:
    """`{ref, id, version, …the record}` of a record's bytes: what a write answers and a list shows."""
    kind = kind_of(path)
    if kind is None:
        raise Damaged(f"{path}: belongs to no kind of record that this version knows")
    record = kind.parse(path, data)
    ref = kind.ref(path, record)
    head = {"ref": ref, "id": ref.partition(":")[2] or ref, "version": record.get("number", record.get("version", 1))}
    return {**head, **{key: value for key, value in record.items() if key not in head}}

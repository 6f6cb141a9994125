"""Records are pure: no clock, no git, no printing. One kind a file; KINDS lists them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from ..errors import Damaged
from . import artifact, correction, decision, lease, policy, session, status
from .case import Case, Violation
from .text import Record


class Kind(Protocol):
    """What a kind's module has. FOLDER is the top folder (or the file) of its records."""

    NAME: str
    FOLDER: str

    def parse(self, path: str, data: bytes) -> Record:
        """The fields; Damaged, with the path, for what is no such record."""

    def ref(self, path: str, record: Record) -> str:
        """The record's REF."""

    def until(self, record: Record) -> int | None:
        """A row's last moment in force, in seconds since 1970; None for documents."""

    def links(self, record: Record) -> Iterable[tuple[str, str]]:
        """(relation, REF) pairs that it points at."""

    def judge(self, found: Case) -> Iterator[Violation]:
        """Its rules on one changed file."""


KINDS: tuple[Kind, ...] = (status, artifact, decision, correction, lease, session, policy)
_BY_FOLDER = {kind.FOLDER: kind for kind in KINDS}
FREE = ("README.md",)  # files of the branch that no rule looks at


def kind_of(path: str) -> Kind | None:
    """The kind whose records lie at `path`; None for a path that belongs to none."""
    return _BY_FOLDER.get(path.partition("/")[0])


def is_record(path: str) -> bool:
    """Whether the file at `path` is a record (an artifact's bytes are not)."""
    return (kind_of(path) is not None and not path.startswith("artifacts/")) or path.endswith("/about.yaml")


def describe(path: str, data: bytes) -> Record:
    """`{ref, id, version, …the record}` of a record's bytes: what a write answers and a list shows."""
    kind = kind_of(path)
    if kind is None:
        raise Damaged(f"{path}: belongs to no kind of record that this version knows")
    record = kind.parse(path, data)
    ref = kind.ref(path, record)
    head = {"ref": ref, "id": ref.partition(":")[2] or ref, "version": record.get("number", record.get("version", 1))}
    return {**head, **{key: value for key, value in record.items() if key not in head}}

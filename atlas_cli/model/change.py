"""What is judged, who writes, and what a write is: the values that rules and kinds share."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ..errors import Refused
from ..visible import named
from . import names, times
from .message import Message
from .text import Record
from .tree import Tree

Shown = tuple[str, str | None]  # a name in the view, and the path in the store that it is a copy of


class Writer(NamedTuple):
    """Who writes, when, under which operation. `machine` is a random id, not a host name; `lineage`
    are the sessions that it descends from."""

    session: str
    actor: str
    machine: str
    at: int
    operation: str
    lineage: tuple[str, ...] = ()

    @property
    def when(self) -> str:
        return times.rfc3339(self.at)

    @property
    def op6(self) -> str:
        """The tail of names made of operations."""
        return op6(self.operation)

    def signature(self) -> Record:
        """The fields that every record ends with."""
        return {"session": self.session, "actor": self.actor, "at": self.when}


def op6(operation: str) -> str:
    """First six of the operation id; of its hash where somebody chose the id."""
    import hashlib

    plain = len(operation) == 32 and all(char in "0123456789abcdef" for char in operation)
    return (operation if plain else hashlib.sha256(operation.encode()).hexdigest())[:6]


class Change(NamedTuple):
    """What a write puts: whole files by path (None takes one away: a repair only, naming the commit
    that it repairs). `bases` are the REFs the writer relied on having read."""

    subject: str
    files: Mapping[str, bytes | None]
    bases: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    repairs: str | None = None


Decide = Callable[[Tree, Writer], Change]  # what a write is


class FileEdit(NamedTuple):
    """One changed file, before a kind's rules: `old` is None where it was added, `new` where it was
    removed."""

    path: str
    old: bytes | None
    new: bytes | None
    parent: Tree
    child: Tree
    message: Message
    policy: Mapping[str, Any]


class Violation(NamedTuple):
    """`rule` is one word of a closed list; `text` says what it is about this file."""

    rule: str
    path: str
    text: str


def rewritten(old: Record, **fields: object) -> Record:
    """A row with some fields set (None: taken out) and one version further; unknown fields
    survive."""
    found = {key: value for key, value in {**old, **fields}.items() if value is not None}
    found["version"] = old.get("version", 0) + 1
    return found


def no_near_miss(tree: Tree, folder: str, what: str, name: str, meant: bool) -> None:
    """Refused for the first write under a name that nearly is one which is there, unless it is
    `meant`."""
    if not meant and (there := names.near(name, tree.names(folder))):
        raise Refused(
            f"there is no {what} {name} yet, but there is {named(there)}",
            f"write to {named(there)}, or say that a new {what} is meant: --new",
            code="near_miss",
        )


def flags(relies_on: Iterable[str], **texts: str | None) -> str:
    """The options of a command that is printed for the user, so that nothing of the wish is lost on
    the way."""
    given = [f" --{key} {shlex.quote(value)}" for key, value in texts.items() if value]
    return "".join([*(f" --relies-on {target}" for target in relies_on), *given])


def no_conflict_markers(text: str) -> None:
    """Refused where a merge was left half done."""
    lines = text.split("\n")
    if any(line.startswith("<<<<<<< ") for line in lines) and any(
        line.startswith(">>>>>>> ") for line in lines
    ):
        raise Refused(
            "the text still holds conflict markers (<<<<<<< … >>>>>>>)",
            "settle them, then write again",
        )

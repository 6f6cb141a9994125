"""The values that rules and kinds share: who writes, what a write is, and the edit of one file that
is judged."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..errors import Refused
from ..visible import named
from . import names, times
from .digests import sha256
from .message import Message
from .text import Record
from .tree import Tree

Shown = tuple[str, str | None]  # a name in the view, and the path in the store that it is a copy of


class Writer(NamedTuple):
    """The writer of a change, the time, and the operation. `machine` is a random id, not a host
    name. `lineage` holds the sessions that this one descends from."""

    session: str
    actor: str
    machine: str
    at: int
    operation: str
    lineage: tuple[str, ...] = ()

    @property
    def when(self) -> str:
        """The moment of writing in RFC 3339."""
        return times.rfc3339(self.at)

    @property
    def op6(self) -> str:
        """The six digits that end a file name made of the operation."""
        return op6(self.operation)

    def signature(self) -> Record:
        """The fields that every record ends with."""
        return {"session": self.session, "actor": self.actor, "at": self.when}


def op6(operation: str) -> str:
    """The first six digits of an operation's id, or of its hash where somebody chose the id."""
    plain = len(operation) == 32 and all(char in "0123456789abcdef" for char in operation)
    return (operation if plain else sha256(operation.encode()).hexdigest())[:6]


class Change(NamedTuple):
    """The files that a write puts, whole, by path. None takes a file away; only a repair does that,
    and names the commit that it repairs. `bases` are the REFs that the writer relied on having
    read. `needs` are the features that who reads the store must know from now on, beside the kinds
    of its records. `migrates` and `epoch` are those of a message: such a change puts the policy,
    and moves records."""

    subject: str
    files: Mapping[str, bytes | None]
    bases: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    repairs: str | None = None
    needs: tuple[str, ...] = ()
    migrates: str | None = None
    epoch: str | None = None


Decide = Callable[[Tree, Writer], Change]  # what a write is


class FileEdit(NamedTuple):
    """The edit of one file, as a kind's rules see it. `old` is None if the file was added, `new` is
    None if it was removed. `policy` is the one in force on the parent tree."""

    path: str
    old: bytes | None
    new: bytes | None
    parent: Tree
    child: Tree
    message: Message
    policy: Mapping[str, Any]


class Violation(NamedTuple):
    """A rule that an edit breaks. `rule` is one word of a closed list; `text` says what is wrong
    with the file."""

    rule: str
    path: str
    text: str


def on_time(edit: FileEdit, at: str) -> Iterator[Violation]:
    """The rule that a record is dated as its commit is."""
    written = edit.message.at
    if written is not None and times.moment(at) != written:
        what = f"is dated {at}, its commit {times.rfc3339(written)}"
        yield Violation("clock", edit.path, what)


def rewritten(old: Record, **fields: object) -> Record:
    """A row with some fields set, one version further. A field that is None is taken out. Unknown
    fields survive."""
    record = {key: value for key, value in {**old, **fields}.items() if value is not None}
    record["version"] = old.get("version", 0) + 1
    return record


def given(**fields: Any) -> Record:
    """The optional fields of a new record that hold something."""
    return {key: value for key, value in fields.items() if value}


def no_near_miss(others: Iterable[str], what: str, name: str, meant: bool) -> None:
    """Raises Refused if a first write goes to a name that is nearly another one, unless a new name
    is `meant`."""
    if not meant and (neighbour := names.near(name, others)):
        raise Refused(
            f"there is no {what} {name} yet, but there is {named(neighbour)}",
            f"write to {named(neighbour)}, or say that a new {what} is meant: --new",
            code="near_miss",
        )


def flags(relies_on: Iterable[str], **texts: str | None) -> str:
    """The options of a printed command that repeat what the user asked for, so that nothing is lost
    when it is run."""
    given = [f" --{key} {shlex.quote(value)}" for key, value in texts.items() if value]
    return "".join([*(f" --relies-on {target}" for target in relies_on), *given])


def no_conflict_markers(text: str) -> None:
    """Raises Refused if a merge was left half done."""
    lines = text.split("\n")
    if any(line.startswith("<<<<<<< ") for line in lines) and any(
        line.startswith(">>>>>>> ") for line in lines
    ):
        raise Refused(
            "the text still holds conflict markers (<<<<<<< … >>>>>>>)",
            "settle them, then write again",
        )

"""A kind of record, as a value. The shapes *document*, *dated*, *numbered* and *row* say what all
of theirs share; what is left says the kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol

from . import dated, document, row
from .change import FileEdit, Shown, Violation
from .text import Record
from .tree import Tree

Rules = Callable[[FileEdit], Iterator[Violation]]
Files = dict[str, bytes | None]  # by path; None: taken away
Links = Callable[[Record], Iterable[tuple[str, str]]]


def no_links(record: Record) -> Iterable[tuple[str, str]]:
    """A record that points at nothing."""
    return ()


def never(record: Record) -> int | None:
    """A record that is in force at no moment: a document."""
    return None


class Find(Protocol):
    """The path of a record by the parts of its REF; NotFound where there is none."""

    def __call__(self, tree: Tree, wanted: str, number: int | None = None, /) -> str: ...


class Kind(NamedTuple):
    """name: the word before the colon of its REFs. folder: the top folder (or the file) of its
    records. suffix: how their paths end."""

    name: str
    folder: str
    suffix: str
    parse: Callable[
        [str, bytes], Record
    ]  # path, bytes: the fields; Damaged, with the path, for what is no such record
    ref: Callable[[str, Record], str]  # path, record: its REF
    find: Find
    view: Callable[
        [Tree, str, Record, int], Shown
    ]  # tree, path, record, now: what the view shows for it
    rules: Rules  # its rules on one changed file
    row: bool = False  # one live value, not a document that is kept for ever
    until: Callable[[Record], int | None] = (
        never  # a row's last moment in force, in seconds since 1970
    )
    links: Links = no_links  # (relation, REF) pairs that it points at
    path_of: Callable[[str, int], str] | None = (
        None  # name, number: the path of a numbered document
    )
    numbered: Callable[[str], tuple[str, int]] | None = (
        None  # path: the name and the number of a numbered document
    )
    queued: Callable[[Record], tuple[int, int, int, int] | None] | None = (
        None  # what the index finds the next one by
    )
    words: tuple[
        str, ...
    ] = ()  # the fields that hold what its writers said: withheld once it is retracted
    lead: str = ""  # how its names in the view begin
    clashes: Callable[[Tree, Record, Record], str] | None = (
        None  # a tree, a row, another's: why both cannot be
    )
    anew: Callable[[Tree, Files], Files] | None = (
        None  # a tree, the files of a write: these as they are made on it
    )


def unjudged(case: FileEdit) -> Iterator[Violation]:
    """The rules of a kind that has none of its own yet."""
    return iter(())


def of_document(
    parse: Callable[[str, bytes], Record], own: Callable[[FileEdit, Record], Iterator[Violation]]
) -> Rules:
    """The rules of documents: added once, `own` for a new one, signed by who wrote the commit."""

    def rules(case: FileEdit) -> Iterator[Violation]:
        yield from document.rules(case)
        if case.new is None or case.old is not None:
            return
        record = parse(case.path, case.new)
        yield from own(case, record)
        if "session" in record:
            yield from document.signed(case, record["session"])

    return rules


def no_more(case: FileEdit, record: Record) -> Iterator[Violation]:
    """A document that keeps the rules of all documents keeps its own."""
    return iter(())


def dated_kind(
    name: str,
    folder: str,
    parse: Callable[[str, bytes], Record],
    links: Links = no_links,
    own: Callable[[FileEdit, Record], Iterator[Violation]] = no_more,
) -> Kind:
    """Documents named by their day and their operation: `<folder>/<YYYY>/<MM-DD>-<words>-<six hex
    digits>.md`."""

    def find(tree: Tree, wanted: str, number: int | None = None) -> str:
        return dated.find(tree, name, folder, wanted)

    def ref(path: str, record: Record) -> str:
        return f"{name}:{dated.id_of(path)}"

    return Kind(
        name, folder, ".md", parse, ref, find, _while_young, of_document(parse, own), links=links
    )


def _while_young(tree: Tree, path: str, record: Record, now: int) -> Shown:
    """Itself, while it is young."""
    return path, path if document.young(record, now) else None


def row_kind(
    name: str,
    folder: str,
    suffix: str,
    key: str,
    parse: Callable[[str, bytes], Record],
    find: Find,
    until: Callable[[Record], int | None],
    own: Callable[[FileEdit, Record | None, Record], Iterator[Violation]] | None = None,
    links: Links = no_links,
) -> Kind:
    """Rows: one live value each, in the view while it is in force. `key`: the field that names it.
    `own`: its rules on (what is judged, the row before, the row now)."""

    def rules(case: FileEdit) -> Iterator[Violation]:
        new = None if case.new is None else parse(case.path, case.new)
        old = None if case.old is None else parse(case.path, case.old)
        yield from row.rules(case, old, new)
        if new is not None and own is not None:
            yield from own(case, old, new)

    def view(tree: Tree, path: str, record: Record, now: int) -> Shown:
        return row.view(path, until(record), now)

    def ref(path: str, record: Record) -> str:
        return f"{name}:{record[key]}"

    return Kind(
        name, folder, suffix, parse, ref, find, view, rules, row=True, until=until, links=links
    )

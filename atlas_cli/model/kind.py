"""A kind of record, as a value. The shapes *dated* and *row* fill in what all records of that shape
share; a kind adds what is its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple, Protocol

from . import dated, document, row
from .change import FileEdit, Shown, Violation
from .layout import Layout
from .message import Message
from .text import Record
from .tree import Tree

Rules = Callable[[FileEdit], Iterator[Violation]]
Files = dict[str, bytes | None]  # by path; None: taken away
Links = Callable[[Record], Iterable[tuple[str, str]]]


def no_links(record: Record) -> Iterable[tuple[str, str]]:
    """The links of a record that points at nothing."""
    return ()


def listed(field: str) -> Links:
    """The links of a record that lists REFs in one field."""

    def links(record: Record) -> Iterable[tuple[str, str]]:
        return [(field, target) for target in record.get(field, ())]

    return links


def never(record: Record) -> int | None:
    """The end of a record that is never in force: a document."""
    return None


class Find(Protocol):
    """Finds the path of a record by the parts of its REF. Raises NotFound if there is no such
    record."""

    def __call__(self, tree: Tree, wanted: str, number: int | None = None, /) -> str: ...


class Kind(NamedTuple):
    """A kind of record: how its files are named, read, found, shown and judged."""

    name: str  # the word before the colon of its REFs
    folder: str  # the top folder (or the file) of its records
    suffix: str  # how the paths of its records end
    # path, bytes: the fields. Raises Damaged, naming the path, for bytes that are no such record.
    parse: Callable[[str, bytes], Record]
    ref: Callable[[str, Record], str]  # path, record: its REF
    find: Find
    # tree, path, record, now: the name in the view, and the path that the view shows under it
    view: Callable[[Tree, str, Record, int], Shown]
    rules: Rules
    row: bool = False  # one live value, not a document that is kept for ever
    # a row's last moment in force, in seconds since 1970
    until: Callable[[Record], int | None] = never
    links: Links = no_links  # (relation, REF) of each record that it points at
    path_of: Callable[[str, int], str] | None = None  # name, number: a numbered document's path
    numbered: Callable[[str], tuple[str, int]] | None = None  # path: its name and its number
    # tree, name, operation: the number of the document that the operation wrote, 0 if there is
    # none. Only a kind has it whose documents get another number when they are carried over.
    written: Callable[[Tree, str, str], int] | None = None
    # the keys by which the index finds the next one
    queued: Callable[[Record], tuple[int, int, int, int] | None] | None = None
    # fields in its writers' words, which are withheld once it is retracted (`failures.why`: inside)
    words: tuple[str, ...] = ()
    lead: str = ""  # how its names in the view begin
    # what writing one means for who writes last: `work` owes a word, `word` is one, `result` is one
    # for the commits of its task
    duty: str = ""
    # tree, a row, another one: why both cannot be
    clashes: Callable[[Tree, Record, Record], str] | None = None
    # tree, the files of a write: the same files as they are made on that tree. Raises Refused if
    # they cannot be.
    anew: Callable[[Tree, Files], Files] | None = None
    layout: Layout | None = None  # where its records lie in stores of the first format
    # tree, a day: the documents of before it that an epoch may take from the tip
    settled: Callable[[Tree, str], Iterable[str]] | None = None
    # store, message, path, bytes: the digest of what was wished, if a file was made of a wish
    wish: Callable[[str, Message, str, bytes], str | None] | None = None


def unjudged(edit: FileEdit) -> Iterator[Violation]:
    """The rules of a kind whose rules are attached later."""
    return iter(())


def of_document(
    parse: Callable[[str, bytes], Record], own: Callable[[FileEdit, Record], Iterator[Violation]]
) -> Rules:
    """The rules of documents: each is added once, keeps its kind's `own` rules, and names the
    session that wrote its commit."""

    def rules(edit: FileEdit) -> Iterator[Violation]:
        yield from document.rules(edit)
        if edit.new is None or edit.old is not None:
            return
        record = parse(edit.path, edit.new)
        yield from own(edit, record)
        if "session" in record:
            yield from document.signed(edit, record["session"])

    return rules


def no_more(edit: FileEdit, record: Record) -> Iterator[Violation]:
    """The own rules of a document that keeps only the rules of all documents."""
    return iter(())


def dated_kind(
    name: str,
    folder: str,
    parse: Callable[[str, bytes], Record],
    links: Links = no_links,
    own: Callable[[FileEdit, Record], Iterator[Violation]] = no_more,
    words: tuple[str, ...] = (),
    duty: str = "",
) -> Kind:
    """A kind of documents named by day and operation: `<folder>/<YYYY>/<MM>/<DD>-<words>-<six hex
    digits>.md`. `own` judges a new document. `words` are the fields in its writer's words. `duty`
    is as of any kind."""

    def find(tree: Tree, wanted: str, number: int | None = None) -> str:
        return dated.find(tree, name, folder, wanted)

    def ref(path: str, record: Record) -> str:
        return f"{name}:{dated.id_of(path)}"

    kind = Kind(name, folder, ".md", parse, ref, find, _while_young, of_document(parse, own))
    settled = partial(dated.settled, folder)
    kind = kind._replace(links=links, words=words, duty=duty)
    return kind._replace(layout=dated.layout(folder), settled=settled)


def _while_young(tree: Tree, path: str, record: Record, now: int) -> Shown:
    """The document itself, as long as it is young, in the folder of its year."""
    folder, year, month, name = path.split("/")
    shown = f"{folder}/{year}/{month}-{name}"
    return shown, path if document.young(record, now) else None


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
    """A kind of rows: one live value each, shown while it is in force. `key` is the field that
    names the row. `own` judges an edit by the row before it and the row after it."""

    def rules(edit: FileEdit) -> Iterator[Violation]:
        new = None if edit.new is None else parse(edit.path, edit.new)
        old = None if edit.old is None else parse(edit.path, edit.old)
        yield from row.rules(edit, old, new)
        if new is not None and own is not None:
            yield from own(edit, old, new)

    def view(tree: Tree, path: str, record: Record, now: int) -> Shown:
        return row.view(path, until(record), now)

    def ref(path: str, record: Record) -> str:
        return f"{name}:{record[key]}"

    return Kind(
        name, folder, suffix, parse, ref, find, view, rules, row=True, until=until, links=links
    )

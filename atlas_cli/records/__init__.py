"""The kinds of record, one a file; KINDS lists them. Records are pure: no clock, no git, no
printing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

from ..errors import Damaged, NotFound, Usage
from ..model import names, text, times
from ..model.kind import Kind
from ..model.layout import Names
from ..model.message import Message
from ..model.names import Ref
from ..model.text import Record
from ..model.tree import Tree
from . import artifact, correction, decision, formats, inbox, lease, policy, session, signal, status
from .board import gate, result, task


def later(module: str, name: str) -> Callable[..., Any]:
    """A function of another file, loaded when it is first called, because few commands need it."""

    def call(*args: Any) -> Any:
        return getattr(import_module(module, __package__), name)(*args)

    return call


KINDS: tuple[Kind, ...] = (
    status.KIND._replace(
        rules=later(".carried", "rules"),
        anew=later(".carried", "anew"),
        wish=later(".carried", "wished"),
    ),
    artifact.KIND,
    decision.KIND,
    correction.KIND,
    lease.KIND,
    session.KIND,
    inbox.KIND,
    task.KIND._replace(rules=later(".board.task_rules", "rules")),
    result.KIND,
    gate.KIND._replace(
        rules=later(".board.raising", "rules"), anew=later(".board.raising", "anew")
    ),
    signal.KIND,
    policy.KIND,
)


BY_NAME = {kind.name: kind for kind in KINDS}
formats.LEARNT.update(BY_NAME)
_BY_FOLDER = {kind.folder: kind for kind in KINDS}
_SHOWN = r"(?:[a-z0-9]+/(?:[0-9a-z]+/)?)?[A-Za-z0-9%][A-Za-z0-9 %._-]{0,200}\Z"
FREE = ("README.md",)  # files of the branch that no rule looks at


def kind_of(path: str) -> Kind | None:
    """The kind whose records lie at a path; None if the path belongs to no kind."""
    return _BY_FOLDER.get(path.partition("/")[0])


def is_record(path: str) -> bool:
    """Whether the file at a path is a record. An artifact's bytes are not."""
    kind = kind_of(path)
    return kind is not None and path.endswith(kind.suffix)


def first_place(path: str) -> str | None:
    """The path that the file at a path has in stores of the first format; None if it is the
    same."""
    kind = kind_of(path)
    return kind.layout.first(path) if kind and kind.layout else None


def place_now(path: str) -> str | None:
    """The path that the file at a path of the first format has now; None if it is the same."""
    kind = kind_of(path)
    return kind.layout.now(path) if kind and kind.layout else None


def names_in(lies: Names, folder: str) -> Iterable[str]:
    """The names that stand in a folder by the paths of now, asked of what lies there."""
    kind = kind_of(folder)
    return kind.layout.names(lies, folder) if kind and kind.layout else lies(folder)


def kept_for_good(path: str) -> bool:
    """Whether an epoch may take the file at a path from the tip."""
    kind = kind_of(path)
    return kind is not None and kind.settled is not None


def bound(path: str) -> int:
    """The number of bytes that are read of the file at a path, at most."""
    return text.MOST if is_record(path) else artifact.MOST


def is_shown(name: str) -> bool:
    """Whether a name in the view can show a record: it lies in a kind's folder, is made of plain
    names, and no program takes orders from such a file."""
    kind, last = kind_of(name), name.rpartition("/")[2]
    plain = kind is not None and re.match(_SHOWN, name) is not None and names.heeded_as(name) != ""
    return plain and kind is not None and last.startswith(kind.lead)


def fleeting(subject: str) -> bool:
    """Whether a commit of this subject is of no use later: where it cannot be carried over, it is
    dropped."""
    return subject.startswith(session.SEEN)


_YIELDS = tuple(
    f"{kind}: {verb} "
    for kind, verbs in (
        ("lease", ("take", "renew", "release")),
        ("task", ("claim", "renew", "start", "release")),
    )
    for verb in verbs
)


def yields(subject: str, paths: Iterable[str]) -> bool:
    """Whether a commit of this subject only takes, keeps or gives back leases and claims: where
    others were first, nothing of it is worth keeping."""
    folders = tuple(f"{kind.folder}/" for kind in (lease.KIND, task.KIND, session.KIND))
    return subject.startswith(_YIELDS) and all(path.startswith(folders) for path in paths)


def same_write(write: Message, other: Message) -> bool:
    """Whether two writes under one operation are the same request: of one session (each `begin` had
    an id of its own), for the same words. The subject tells if one was not asked for under an
    id."""
    begins = write.subject.startswith(session.BEGUN) and other.subject.startswith(session.BEGUN)
    if write.session != other.session and not begins:
        return False
    if None in (write.request, other.request):
        return begins or write.subject == other.subject
    return write.request == other.request


def under(files: Mapping[str, bytes | None], operation: str | None) -> dict[str, bytes | None]:
    """The files of a write, whose entry names this operation as its own."""
    return status.under(files, operation)


def disowned(tree: Tree, message: Message, files: Mapping[str, bytes | None]) -> str:
    """The reason why a commit cannot stand behind others: when it was written, its session had been
    adopted. (A lease that stays with a running command is still renewed, and given back.)"""
    try:
        row = session.row_of(tree, message.session or "")
        adopted = times.moment(row["adopted"]) if "adopted_by" in row else None
        # (in the very second of the adoption it counts as written behind it: nothing is lost)
        if adopted is None or (message.at or 0) < adopted:
            return ""
        stays = all(_of_command(path, data) for path, data in files.items())
    except Damaged:
        return ""
    return "" if stays else f"{row['id']} was adopted by {row['adopted_by']} before"


def _of_command(path: str, data: bytes | None) -> bool:
    """Whether a file is a lease that stays with a running command."""
    of_lease = kind_of(path) is BY_NAME[lease.KIND.name] and data is not None
    return of_lease and bool(lease.KIND.parse(path, data or b"").get("run"))


def before(path: str) -> str | None:
    """The path of the document that a numbered one follows; None if it follows none."""
    kind = kind_of(path)
    if kind is None or kind.numbered is None or kind.path_of is None or not is_record(path):
        return None
    name, number = kind.numbered(path)
    return kind.path_of(name, number - 1) if number > 1 else None


def ref(text: str) -> Ref:
    """The REF that a text names. Raises Usage, with the forms of a REF, for any other text."""
    name, colon, rest = text.partition(":")
    kind = BY_NAME.get(name)
    if not colon or kind is None or not rest or not names.one_line(rest):
        forms = (
            "a REF is like status:main@12, artifact:schema@3, decision:2026-11-29-use-x, lease:gpu0"
            " or task:ID"
        )
        near = names.hint(name, BY_NAME, forms) if colon and kind is None else forms
        raise Usage(f"{text[:80]!r} is no REF", near)
    return names.versioned(rest, name) if kind.numbered else Ref(name, rest)


def find(tree: Tree, wanted: Ref) -> str:
    """The path of the record of a REF. Raises NotFound if there is none."""
    kind = BY_NAME[wanted.kind]
    if not wanted.operation:
        return kind.find(tree, wanted.id, wanted.number)
    number = kind.written(tree, wanted.id, wanted.operation) if kind.written else 0
    if not number:
        raise NotFound(
            f"there is no {wanted}: that operation wrote nothing of that name here",
            f"atlas log {wanted.operation} shows what it wrote",
        )
    return kind.find(tree, wanted.id, number)


def stored(tree: Tree, text: str, published: Callable[[str, str], bool]) -> str:
    """A REF as another record keeps it: with its number, once that can change no more, because the
    document (its path, its blob) is published. Until then a document of a kind that is carried over
    under another number is named by its operation."""
    wanted = ref(text)
    kind = BY_NAME[wanted.kind]
    if kind.written is None:
        return text
    path = kind.find(tree, wanted.id, wanted.number)
    if published(path, tree.blob(path) or ""):
        return text
    try:
        operation = kind.parse(path, tree.read(path) or b"").get("operation")
    except Damaged:  # no program wrote it
        return text
    return str(wanted._replace(number=None, operation=operation)) if operation else text


def describe(path: str, data: bytes) -> Record:
    """A record as a write answers it and a list shows it: `{ref, id, version, …the record}`."""
    kind = kind_of(path)
    if kind is None:
        raise Damaged(f"{path}: belongs to no kind of record that this version knows")
    record = kind.parse(path, data)
    ref = kind.ref(path, record)
    head = {
        "ref": ref,
        "id": ref.partition(":")[2] or ref,
        "version": record.get("number", record.get("version", 1)),
    }
    return {**head, **{key: value for key, value in record.items() if key not in head}}

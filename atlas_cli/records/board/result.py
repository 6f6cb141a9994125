"""Results: the bytes that a task came to, bound to the receipt of the claim that finished it.
Documents, one for each task: `results/<hh>/<task>/about.yaml`, and `body.<ext>` beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ...errors import Damaged, Held, NotFound, Refused
from ...model import document, names, schema, text
from ...model.change import FileEdit, Shown, Violation, Writer, given
from ...model.digests import sha256
from ...model.kind import Kind
from ...model.text import Record
from ...model.tree import Tree
from .. import artifact, policy
from . import task

FOLDER = "results"
ELSEWHERE = "put it as an artifact and name that in the result"
SUFFIX = "/about.yaml"
RECEIPT = ("generation", "attempt", "token", "store")


class NewResult(NamedTuple):
    """The bytes of a new result, their type, and the commit of the code that they are about."""

    data: bytes
    ext: str
    commit: str = ""


def folder(wanted: str) -> str:
    """The folder of a task's result."""
    return f"{FOLDER}/{names.bucket(names.name(wanted, 'task id'))}/{wanted}"


def path_of(wanted: str) -> str:
    """The path of a result's metadata."""
    return f"{folder(wanted)}/about.yaml"


def parse(path: str, data: bytes) -> Record:
    """The metadata of a result. The bytes lie beside it."""
    record = schema.fields(
        text.load(data, path),
        path,
        {
            "task": str,
            "generation": "count",
            "attempt": "count",
            "token": "count",
            "store": str,
            "ext": str,
            "size": "count",
            "sha256": str,
            "session": str,
            "actor": str,
            "at": "time",
        },
        {"commit": str},
    )
    schema.is_name(path, "file type", record["ext"], artifact.file_type(record["ext"]))
    schema.placed(
        path,
        f"result:{record['task']}",
        path_of(record["task"]) if names.valid(record["task"]) else None,
    )
    return record


def find(tree: Tree, wanted: str, number: int | None = None) -> str:
    """The path of a task's result. Raises NotFound if there is none."""
    path = path_of(wanted)
    if tree.blob(path) is None:
        raise NotFound(f"task {wanted} has left no result", f"atlas task show {wanted}")
    return path


def body_path(record: Record) -> str:
    """The path of a result's bytes."""
    return f"{folder(record['task'])}/body.{record['ext']}"


def body(tree: Tree, record: Record) -> bytes:
    """The bytes of a result. Raises Damaged if they are not those that were given."""
    data = tree.read(body_path(record))
    if data is None or len(data) != record["size"] or sha256(data).hexdigest() != record["sha256"]:
        raise Damaged(f"{body_path(record)}: these are not the bytes that were kept")
    return data


def put(tree: Tree, writer: Writer, row: Record, new: NewResult) -> dict[str, bytes | None]:
    """The files of a new result. Raises Held if the task has a result of another receipt, Refused
    if the bytes are too many."""
    most = policy.of(tree)["result_limit"]
    if len(new.data) > most:
        raise Refused(
            f"a result of {len(new.data):,} bytes; at most {most:,}",
            ELSEWHERE,
            code="limit",
        )
    if tree.blob(path_of(row["id"])) is not None:
        raise Held(
            f"task {row['id']} has a result of another receipt",
            f"atlas task results {row['id']}",
            code="receipt_mismatch",
        )
    record: Record = {
        "task": row["id"],
        **{key: row["claim"][key] for key in RECEIPT},
        "ext": new.ext,
        "size": len(new.data),
        "sha256": sha256(new.data).hexdigest(),
        **given(commit=new.commit),
        **writer.signature(),
    }
    return {path_of(row["id"]): text.dump(record), body_path(record): new.data}


def refuse_other_bytes(tree: Tree, row: Record, new: NewResult | None) -> None:
    """Raises Refused if a task that is done is finished again with other bytes. None stands for no
    result."""
    data = tree.read(path_of(row["id"]))
    before = None if data is None else parse(path_of(row["id"]), data)["sha256"]
    now = None if new is None else sha256(new.data).hexdigest()
    if before != now:
        raise Refused(
            f"task {row['id']} was done with {'another result' if before else 'no result'}",
            f"atlas task results {row['id']} shows what is kept",
            code="stale_result",
        )


def _ref(path: str, record: Record) -> str:
    return f"result:{record['task']}"


def _view(tree: Tree, path: str, record: Record, now: int) -> Shown:
    """The name of a result in the view, and its bytes while they are young."""
    body(tree, record)  # Damaged, and not shown, where these are other bytes
    shown = body_path(record) if document.young(record, now) else None
    return f"{folder(record['task'])}.{record['ext']}", shown


def _links(record: Record) -> Iterable[tuple[str, str]]:
    return [("result", f"task:{record['task']}")]


def _rules(edit: FileEdit) -> Iterator[Violation]:
    yield from document.rules(edit)
    if edit.new is None or edit.old is not None:
        return
    if not edit.path.endswith(SUFFIX):
        yield from _beside(edit)
        return
    record = parse(edit.path, edit.new)
    yield from document.signed(edit, record["session"])
    try:
        body(edit.child, record)
    except Damaged as error:
        yield Violation("digest", body_path(record), error.message)
    most = edit.policy["result_limit"]
    if record["size"] > most:
        what = f"a result of {record['size']} bytes; at most {most}"
        yield Violation("limit", edit.path, what)
    row = task.get(edit.child, record["task"])
    if row["state"] != "done" or any(row["claim"][key] != record[key] for key in RECEIPT):
        yield Violation(
            "receipt", edit.path, f"is not of the claim by which task {record['task']} was done"
        )


def _beside(edit: FileEdit) -> Iterator[Violation]:
    """The rules of the bytes: they come with their metadata, and lie beside it."""
    about = f"{edit.path.rpartition('/')[0]}{SUFFIX}"
    if not re.search(r"/body\.[a-z0-9]{1,16}\Z", edit.path) or not edit.child.blob(about):
        yield Violation(
            "misplaced", edit.path, "the bytes of a result lie as body.* beside its about.yaml"
        )
    elif edit.parent.blob(about):
        yield Violation(
            "immutable", edit.path, "bytes come with the about.yaml of their result, and once"
        )


KIND = Kind(
    "result",
    FOLDER,
    SUFFIX,
    parse,
    _ref,
    find,
    _view,
    _rules,
    links=_links,
    words=("text", "base64"),
    duty="result",
)

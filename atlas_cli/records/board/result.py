"""Results: the bytes that a task came to, bound to the receipt of the claim that finished it.
Documents: `results/<hh>/<task>/about.yaml` and `body.<ext>` beside it, once for a task."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ...errors import Damaged, Held, NotFound, Refused
from ...model import document, names, schema, text
from ...model.change import FileEdit, Shown, Violation, Writer
from ...model.kind import Kind
from ...model.text import Record
from ...model.tree import Tree
from .. import artifact, policy
from . import task

FOLDER = "results"
SUFFIX = "/about.yaml"
RECEIPT = ("generation", "attempt", "token", "store")


class NewResult(NamedTuple):
    """What is to be kept."""

    data: bytes
    ext: str


def folder(wanted: str) -> str:
    return f"{FOLDER}/{names.bucket(names.name(wanted, 'task id'))}/{wanted}"


def path_of(wanted: str) -> str:
    return f"{folder(wanted)}/about.yaml"


def parse(path: str, data: bytes) -> Record:
    """The metadata; the bytes lie beside it."""
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
        {},
    )
    schema.is_name(path, "file type", record["ext"], artifact.file_type(record["ext"]))
    schema.placed(
        path,
        f"result:{record['task']}",
        path_of(record["task"]) if names.valid(record["task"]) else None,
    )
    return record


def find(tree: Tree, wanted: str, number: int | None = None) -> str:
    path = path_of(wanted)
    if tree.blob(path) is None:
        raise NotFound(f"task {wanted} has left no result", f"atlas task show {wanted}")
    return path


def body_path(record: Record) -> str:
    return f"{folder(record['task'])}/body.{record['ext']}"


def body(tree: Tree, record: Record) -> bytes:
    """The bytes as they were given; Damaged where they are others."""
    data = tree.read(body_path(record))
    if (
        data is None
        or len(data) != record["size"]
        or hashlib.sha256(data).hexdigest() != record["sha256"]
    ):
        raise Damaged(f"{body_path(record)}: these are not the bytes that were kept")
    return data


def put(tree: Tree, writer: Writer, row: Record, wish: NewResult) -> dict[str, bytes | None]:
    """The files of a result; Held where the task has one of another receipt, Refused over the
    limit."""
    most = policy.of(tree)["result_limit"]
    if len(wish.data) > most:
        raise Refused(
            f"a result of {len(wish.data):,} bytes; at most {most:,}",
            "put it as an artifact and name that in the result",
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
        "ext": wish.ext,
        "size": len(wish.data),
        "sha256": hashlib.sha256(wish.data).hexdigest(),
        **writer.signature(),
    }
    return {path_of(row["id"]): text.dump(record), body_path(record): wish.data}


def same(tree: Tree, row: Record, wish: NewResult | None) -> None:
    """Refused where a task that is done is finished again with other bytes (None is none)."""
    data = tree.read(path_of(row["id"]))
    before = None if data is None else parse(path_of(row["id"]), data)["sha256"]
    now = None if wish is None else hashlib.sha256(wish.data).hexdigest()
    if before != now:
        raise Refused(
            f"task {row['id']} was done with {'another result' if before else 'no result'}",
            f"atlas task results {row['id']} shows what is kept",
            code="stale_result",
        )


def _ref(path: str, record: Record) -> str:
    return f"result:{record['task']}"


def _view(tree: Tree, path: str, record: Record, now: int) -> Shown:
    """The bytes, while they are young."""
    body(tree, record)  # Damaged, and not shown, where these are other bytes
    return f"{folder(record['task'])}.{record['ext']}", body_path(record) if document.young(
        record, now
    ) else None


def _links(record: Record) -> Iterable[tuple[str, str]]:
    return [("result", f"task:{record['task']}")]


def _rules(found: FileEdit) -> Iterator[Violation]:
    yield from document.rules(found)
    if found.new is None or found.old is not None:
        return
    if not found.path.endswith(SUFFIX):
        about = f"{found.path.rpartition('/')[0]}{SUFFIX}"
        if not re.search(r"/body\.[a-z0-9]{1,16}\Z", found.path) or not found.child.blob(about):
            yield Violation(
                "misplaced", found.path, "the bytes of a result lie as body.* beside its about.yaml"
            )
        elif found.parent.blob(about):
            yield Violation(
                "immutable", found.path, "bytes come with the about.yaml of their result, and once"
            )
        return
    record = parse(found.path, found.new)
    yield from document.signed(found, record["session"])
    try:
        body(found.child, record)
    except Damaged as error:
        yield Violation("digest", body_path(record), error.message)
    if record["size"] > found.policy["result_limit"]:
        yield Violation(
            "limit",
            found.path,
            f"a result of {record['size']} bytes; at most {found.policy['result_limit']}",
        )
    row = task.get(found.child, record["task"])
    if row["state"] != "done" or any(row["claim"][key] != record[key] for key in RECEIPT):
        yield Violation(
            "receipt", found.path, f"is not of the claim by which task {record['task']} was done"
        )


KIND = Kind("result", FOLDER, SUFFIX, parse, _ref, find, _view, _rules, links=_links)._replace(
    words=("text", "base64")
)

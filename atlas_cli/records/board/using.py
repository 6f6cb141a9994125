"""The leases that a task uses: taken with its claim, renewed with it, and given back when it ends,
all in the transaction of the claim. They name their task. One that its session held before stays
as it is."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from ...errors import Held
from ...model.change import Change, Writer
from ...model.text import Record
from ...model.tree import Overlay, Tree
from .. import lease, policy, resources
from . import task

Files = dict[str, bytes | None]


def paths(in_force: Mapping[str, Any], record: Record) -> tuple[str, ...]:
    """The paths that a task is about: those that it names, and those that mean what it uses."""
    names = [part for use in record.get("uses", ()) for part in resources.parts(in_force, use)]
    places = [name.removeprefix("path:") for name in names if name.startswith("path:")]
    return tuple(dict.fromkeys((*record.get("files", ()), *places)))


def of(tree: Tree, record: Record) -> list[str]:
    """The resources that a task uses and whose leases are kept in this store."""
    uses: list[str] = record.get("uses", [])
    in_force = policy.of(tree) if uses else {}
    return [resource for resource in uses if resources.is_own(in_force, resource)]


def barred(tree: Tree, writer: Writer, record: Record) -> Held | None:
    """The reason why the writer cannot have what a task uses now; None if it can."""
    try:
        for resource in of(tree, record):
            take(tree, writer, resource, record["id"], writer.at)
    except Held as stop:
        message = f"task {record['id']} uses {resource}, and {stop.message}"
        return Held(message, stop.hint, details=stop.details)
    return None


def follow(tree: Tree, writer: Writer, change: Change) -> Change:
    """The same change of tasks, with the leases that follow from it. Raises Held, with the holder,
    if another session holds what a claimed task uses."""
    rows = [row for row in _rows(change) if row.get("uses")]
    if not rows:
        return change
    files: Files = {}
    child = Overlay(tree, {**change.files})
    for resource in dict.fromkeys(name for row in rows for name in of(tree, row)):
        users = [row for row in _claimed(child, writer, rows) if resource in row["uses"]]
        files |= kept(tree, writer, resource, users, {row["id"] for row in rows})
    return change._replace(files={**change.files, **files})


def kept(
    tree: Tree, writer: Writer, resource: str, users: Sequence[Record], ids: Container[str]
) -> Files:
    """The row of a resource that the writer's claims `users` use; given back if there are none, and
    it was held for one of the tasks `ids`."""
    if users:
        last = max(users, key=task.claim_ends)
        return take(tree, writer, resource, last["id"], task.claim_ends(last))
    old = lease.current(tree, resource)
    mine = old is not None and old["holder"] == writer.session and lease.holds(old, writer.at)
    if mine and old is not None and old.get("task") in ids:
        return dict(lease.release(tree, writer, [resource]).files)
    return {}


def _rows(change: Change) -> Iterator[Record]:
    """The tasks that a change puts."""
    for path, data in change.files.items():
        if data is not None and path.startswith(f"{task.FOLDER}/"):
            yield task.parse(path, data)


def _claimed(tree: Tree, writer: Writer, rows: list[Record]) -> list[Record]:
    """The tasks that the writer's session works on: of `rows`, and those that it claimed before."""
    ids = {row["id"] for row in rows}
    before = [
        task.get(tree, row["id"])
        for row in task.held(tree, writer.session, writer.at)
        if row["id"] not in ids and row.get("uses")
    ]
    return [
        row
        for row in (*rows, *before)
        if row["state"] == "claimed"
        and row["claim"]["session"] == writer.session
        and "started" in row["claim"]
    ]


def take(tree: Tree, writer: Writer, resource: str, wanted: str, over: int) -> Files:
    """The row of a resource that the writer holds for a task until that moment; nothing if it held
    the resource before, or somebody holds it for the writer."""
    old = lease.current(tree, resource)
    seconds = over - writer.at
    if old is not None and lease.holds(old, writer.at):
        if old["holder"] in writer.lineage:
            return {}
        if old["holder"] == writer.session:
            if "task" not in old:
                return {}
            seconds = max(seconds, (lease.until(old) or 0) - writer.at)
    most = policy.seconds(policy.of(tree), "lease_max")
    seconds = min(most, max(lease.SHORTEST, seconds))
    why = f"task {wanted}"
    return dict(lease.take(tree, writer, [resource], why, seconds, task=wanted).files)

"""The writes on gates, each a pure function of the tree and the writer, and the rules of gates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...errors import Refused
from ...model import change, dated, document, text, times
from ...model.change import Change, FileEdit, Violation, Writer
from ...model.text import Record
from ...model.tree import Tree
from ...visible import named
from .. import policy, session, signal
from . import posting, task
from .gate import END, FOLDER, SUFFIX, find, parse, path_of, state
from .readiness import project, standing

# What the document of an end carries on from that of the raising.
_SAME = ("id", "signal", "blocker", "clearance", "scope", "edges", "graph_delta_hash", "deadline")


def raise_gate(
    tree: Tree,
    writer: Writer,
    why: str,
    about: str | None,
    scope: Sequence[str],
    deadline: str | None,
) -> Change:
    """The change that raises a gate: its blocker, its document and its clearance task. While the
    same gate is pending, nothing changes. One that has expired is ended as expired and raised anew.
    Raises Refused if a task in the scope is closed, or if the gate stands with another deadline."""
    for token in scope:
        if token.startswith("task:"):
            row = task.get(tree, token.removeprefix("task:"))
            if row["state"] in task.CLOSED:
                raise posting.state(row)
    blocker = signal.content({"kind": "blocker", "about": about or "", "text": why})
    scope = sorted(set(scope))
    old = _standing(tree, blocker, scope)
    subject = f"gate: raise {{}} ({writer.session})"
    if old is not None and state(tree, old, writer.at) == "pending":
        if old.get("deadline") != deadline:
            raise Refused(
                f"gate {old['id']} stands for that already, until"
                f" {old.get('deadline', 'it is cleared')}",
                f"atlas gate show {old['id']}",
                code="gate",
            )
        path = path_of(old["id"])
        return Change(subject.format(old["id"]), {path: tree.read(path)})
    made = project(tree, blocker, scope)
    new = made["clearance"]
    files = dict(signal.post(tree, writer, "blocker", about, why, new).files)
    record: Record = {
        "id": new,
        "signal": dated.id_of(next(iter(files))),
        "blocker": blocker,
        "scope": scope,
        **made,
        "resolution": "pending",
        **change.given(deadline=deadline),
        **writer.signature(),
        "operation": writer.operation,
    }
    files[path_of(new)] = text.dump(record)
    files |= _clearance(writer, new, why)
    if old is not None:
        files |= _end(tree, writer, old, "expired", None)
    return Change(subject.format(new), files)


def _standing(tree: Tree, blocker: str, scope: Sequence[str]) -> Record | None:
    """The gate that stands for the same blocker and scope, or None."""
    for record in standing(tree):
        if (record["blocker"], record["scope"]) == (blocker, scope):
            return record
    return None


def _clearance(writer: Writer, new: str, why: str) -> dict[str, bytes | None]:
    """The row of the task that clears a gate: frozen, so that nobody claims it."""
    frozen = {
        "why": f"a clearance: atlas gate clear {new}",
        "session": writer.session,
        "at": writer.when,
    }
    row = posting.new_row(writer, new, f"clear: {why}"[:200])
    return posting.row_files(writer, row, frozen=frozen)


def clear(tree: Tree, writer: Writer, wanted: str, why: str | None) -> Change:
    """The change that ends a gate. Raises Refused if the writer neither raised it, nor is an
    ancestor of the session that did, nor a principal of the policy."""
    old = parse(path_of(wanted), tree.read(find(tree, wanted)) or b"")
    subject = f"gate: clear {wanted} ({writer.session})"
    if (end := tree.read(path_of(wanted + END))) is not None:
        return Change(subject, {path_of(wanted + END): end})
    if not session.may_act_for(tree, writer.session, old["session"], policy.of(tree)["principals"]):
        raise Refused(
            f"gate {wanted} was raised by {named(old['session'])}",
            "it is cleared by that session, one that it descends from, or a principal of the"
            " policy",
            code="not_yours",
        )
    return Change(subject, _end(tree, writer, old, "cleared", why))


def _end(
    tree: Tree, writer: Writer, old: Record, how: str, why: str | None
) -> dict[str, bytes | None]:
    """The files of a gate's end: its document, and its clearance task if that is open."""
    record = {
        **{key: old[key] for key in _SAME if key in old},
        "resolution": how,
        "resolver": writer.session,
        "raised": old["operation"],
        **change.given(why=why),
        **writer.signature(),
        "operation": writer.operation,
    }
    files: dict[str, bytes | None] = {path_of(old["id"] + END): text.dump(record)}
    row = task.get(tree, old["clearance"])
    if row["state"] == "open":
        files |= posting.row_files(writer, row, state="done", frozen=None)
    return files


def anew(tree: Tree, files: dict[str, bytes | None]) -> dict[str, bytes | None]:
    """The files of a write that is carried over to another history. A gate is computed there again,
    never copied."""
    made = dict(files)
    for path, data in files.items():
        if path.startswith(f"{FOLDER}/") and not path.endswith(END + SUFFIX) and data is not None:
            record = parse(path, data)
            made[path] = text.dump(record | project(tree, record["blocker"], record["scope"]))
    return made


def rules(edit: FileEdit) -> Iterator[Violation]:
    """The rules of a gate's documents."""
    yield from document.rules(edit)
    if edit.new is None or edit.old is not None:
        return
    record = parse(edit.path, edit.new)
    wrong = _wrong_end if edit.path.endswith(END + SUFFIX) else _wrong_raising
    yield from change.on_time(edit, record["at"])
    yield from document.signed(edit, record["session"])
    for what in wrong(edit, record):
        yield Violation("gate", edit.path, what)


def _wrong_raising(edit: FileEdit, record: Record) -> Iterator[str]:
    """The faults of a document that raises a gate."""
    path = signal.path_of(record["signal"])
    data = edit.child.read(path)
    if data is None or signal.content(signal.parse(path, data)) != record["blocker"]:
        yield "its blocker is not there, or says something else"
    made = project(edit.parent, record["blocker"], record["scope"])
    other = any(record[key] != value for key, value in made.items())
    if other or record["id"] != record["clearance"]:
        yield "its edges are not what the history before it, the blocker and the scope give"
    clearance = task.path_of(record["clearance"])
    if record["resolution"] != "pending" or edit.child.blob(clearance) is None:
        yield "is not pending, or has no clearance task"


def _wrong_end(edit: FileEdit, record: Record) -> Iterator[str]:
    """The faults of a document that ends a gate."""
    data = edit.parent.read(path_of(record["id"]))
    if data is None:
        yield "ends a gate that was not raised"
        return
    old = parse(path_of(record["id"]), data)
    other = any(old.get(key) != record.get(key) for key in _SAME)
    if other or record.get("raised") != old["operation"]:
        yield "is not the end of the gate that was raised"
    by, owners = record["session"], edit.policy["principals"]
    if record["resolution"] == "expired":
        late = "deadline" in old and times.moment(old["deadline"]) <= times.moment(record["at"])
        again = path_of(project(edit.parent, old["blocker"], old["scope"])["clearance"])
        if not late or not edit.child.blob(again):
            yield "is ended as expired, and was not raised again after its deadline"
    elif not session.may_act_for(edit.parent, by, old["session"], owners):
        yield f"was cleared by {by}, who did not raise it and is above nobody who did"

"""The writes on gates, each a pure function of the tree and the writer, and the rules that judge
them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...errors import Refused
from ...model import dated, document, text, times
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
    """The blocker, its gate and the clearance task. The same one again is nothing while it is
    pending; an expired one is resolved as that, and raised anew."""
    for wanted in (token.removeprefix("task:") for token in scope if token.startswith("task:")):
        if (row := task.get(tree, wanted))["state"] in task.CLOSED:
            raise posting.state(row)
    said = {"kind": "blocker", "about": about or "", "text": why}
    blocker, scope = signal.content(said), sorted(set(scope))
    old = next(
        (one for one in standing(tree) if (one["blocker"], one["scope"]) == (blocker, scope)), None
    )
    subject = f"gate: raise {{}} ({writer.session})"
    if old is not None and state(tree, old, writer.at) == "pending":
        if old.get("deadline") != deadline:
            raise Refused(
                f"gate {old['id']} stands for that already, until"
                f" {old.get('deadline', 'it is cleared')}",
                f"atlas gate show {old['id']}",
                code="gate",
            )
        return Change(
            subject.format(old["id"]), {path_of(old["id"]): tree.read(path_of(old["id"]))}
        )
    made = project(tree, blocker, scope)
    files = dict(signal.post(tree, writer, "blocker", about, why, made["clearance"]).files)
    record: Record = {
        "id": made["clearance"],
        "signal": dated.id_of(next(iter(files))),
        "blocker": blocker,
        "scope": scope,
        **made,
        "resolution": "pending",
        "deadline": deadline,
        **writer.signature(),
        "operation": writer.operation,
    }
    files |= {
        path_of(record["id"]): text.dump(
            {key: value for key, value in record.items() if value is not None}
        )
    }
    cold = {
        "why": f"a clearance: atlas gate clear {record['id']}",
        "session": writer.session,
        "at": writer.when,
    }
    files |= posting.row_files(
        writer, posting.new_row(writer, record["id"], f"clear: {why}"[:200]), frozen=cold
    )
    files |= _end(tree, writer, old, "expired", None) if old is not None else {}
    return Change(subject.format(record["id"]), files)


def clear(tree: Tree, writer: Writer, wanted: str, why: str | None) -> Change:
    """The end of a gate, by who raised it, an ancestor of theirs, or a principal of the policy."""
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
    record = {
        **{key: old[key] for key in _SAME if key in old},
        "resolution": how,
        "resolver": writer.session,
        "raised": old["operation"],
        **({"why": why} if why else {}),
        **writer.signature(),
        "operation": writer.operation,
    }
    row = task.get(tree, old["clearance"])
    return {path_of(old["id"] + END): text.dump(record)} | (
        posting.row_files(writer, row, state="done", frozen=None) if row["state"] == "open" else {}
    )


def anew(tree: Tree, files: dict[str, bytes | None]) -> dict[str, bytes | None]:
    """The files of a write that is carried over to another history: a gate is computed there, never
    copied."""
    found = dict(files)
    for path, data in files.items():
        if path.startswith(f"{FOLDER}/") and not path.endswith(END + SUFFIX) and data is not None:
            record = parse(path, data)
            found[path] = text.dump(record | project(tree, record["blocker"], record["scope"]))
    return found


def rules(found: FileEdit) -> Iterator[Violation]:
    yield from document.rules(found)
    if found.new is None or found.old is not None:
        return
    record = parse(found.path, found.new)
    over = found.path.endswith(END + SUFFIX)
    if found.message.at is not None and times.moment(record["at"]) != found.message.at:
        yield Violation(
            "clock",
            found.path,
            f"is dated {record['at']}, its commit {times.rfc3339(found.message.at)}",
        )
    yield from document.signed(found, record["session"])
    for what in _wrong_end(found, record) if over else _wrong_raising(found, record):
        yield Violation("gate", found.path, what)


def _wrong_raising(found: FileEdit, record: Record) -> Iterator[str]:
    said = found.child.read(signal.path_of(record["signal"]))
    if (
        said is None
        or signal.content(signal.parse(signal.path_of(record["signal"]), said)) != record["blocker"]
    ):
        yield "its blocker is not there, or says something else"
    made = project(found.parent, record["blocker"], record["scope"])
    if record["id"] != record["clearance"] or any(
        record[key] != value for key, value in made.items()
    ):
        yield "its edges are not what the history before it, the blocker and the scope give"
    if (
        record["resolution"] != "pending"
        or found.child.blob(task.path_of(record["clearance"])) is None
    ):
        yield "is not pending, or has no clearance task"


def _wrong_end(found: FileEdit, record: Record) -> Iterator[str]:
    data = found.parent.read(path_of(record["id"]))
    if data is None:
        yield "ends a gate that was not raised"
        return
    old = parse(path_of(record["id"]), data)
    if (
        any(old.get(key) != record.get(key) for key in _SAME)
        or record.get("raised") != old["operation"]
    ):
        yield "is not the end of the gate that was raised"
    by, owners = record["session"], found.policy["principals"]
    if record["resolution"] == "expired":
        late = "deadline" in old and times.moment(old["deadline"]) <= times.moment(record["at"])
        again = path_of(project(found.parent, old["blocker"], old["scope"])["clearance"])
        if not late or not found.child.blob(again):
            yield "is ended as expired, and was not raised again after its deadline"
    elif not session.may_act_for(found.parent, by, old["session"], owners):
        yield f"was cleared by {by}, who did not raise it and is above nobody who did"

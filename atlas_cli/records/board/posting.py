"""The writes of those who post tasks: add, edit, freeze, thaw, cancel, retry. Each is a pure
function of the tree and the writer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...errors import AtlasError, Held, NotFound, Refused, VersionJump
from ...model import text, times
from ...model.change import Change, Writer, given, rewritten
from ...model.text import Record
from ...model.tree import Overlay, Tree
from ...visible import many, named, theirs
from .. import lease, policy
from . import gate, readiness, task, using


def row_files(writer: Writer, record: Record, **fields: object) -> dict[str, bytes | None]:
    """The file of a row with some fields set by the writer, one version further. A field that is
    None is taken out."""
    row = rewritten(record, **fields, at=writer.when)
    body = row.pop("body", "")
    return {task.path_of(row["id"]): text.with_front(row, body)}


def change_rows(
    verb: str, ids: Iterable[str], writer: Writer, files: dict[str, bytes | None]
) -> Change:
    """The change of several rows."""
    return Change(f"task: {verb} {lease.short(list(ids))} ({writer.session})", files)


def change_row(verb: str, writer: Writer, record: Record, **fields: object) -> Change:
    """The change of one row."""
    return change_rows(verb, [record["id"]], writer, row_files(writer, record, **fields))


def unchanged(verb: str, writer: Writer, tree: Tree, record: Record) -> Change:
    """The change of nothing: the row as it stands."""
    path = task.path_of(record["id"])
    return change_rows(verb, [record["id"]], writer, {path: tree.read(path)})


def add(tree: Tree, writer: Writer, wishes: Sequence[Record], count: int) -> Change:
    """The change that adds new tasks. `count` tasks are open already. A wish's `name` is the name
    by which other wishes need it. Raises Refused over a limit or for a circle of needs, NotFound
    for a need that does not exist."""
    in_force = policy.of(tree)
    _room(in_force, count, len(wishes))
    ids = {
        wish.get("name", nth): task.new_id(writer.operation, nth) for nth, wish in enumerate(wishes)
    }
    files: dict[str, bytes | None] = {}
    for nth, (wish, new) in enumerate(zip(wishes, ids.values(), strict=True)):
        needs = [ids.get(need, need) for need in wish.get("needs") or ()]
        others = {
            key: value
            for key, value in wish.items()
            if key not in ("name", "needs") and value not in (None, [])
        }
        _sized(in_force, needs, wish.get("body", ""))
        for need in set(needs).difference(ids.values()):
            task.find(tree, need)
        row = new_row(writer, new, wish["title"], nth)
        files |= row_files(writer, row, **others, needs=needs or None)
    _no_circle(tree, files, tree)
    return change_rows("add", ids.values(), writer, files)


def new_row(writer: Writer, new: str, title: str, nth: int = 0) -> Record:
    """The first fields of a new task's row."""
    return {
        "id": new,
        "version": 0,
        "state": "open",
        "title": title,
        "priority": 50,
        "generation": 1,
        "attempt": 0,
        "token": 0,
        "retries": 0,
        "session": writer.session,
        "actor": writer.actor,
        "created": writer.when,
        "nth": nth or None,
    }


def _room(in_force: policy.Policy, count: int, more: int) -> None:
    """Raises Refused if too many tasks would be open. This is a guard, like the limit on a
    session's claims: a rule would have to read every task of the tree for each commit that it
    judges."""
    most = in_force["open_tasks"]
    if count + more > most:
        raise limit(f"{many(count, 'open task')}, and {more} more", f"{most:,}", "open_tasks")


def _sized(in_force: policy.Policy, needs: Sequence[str], body: str) -> None:
    """Raises Refused if a task has too many needs or too long a text."""
    most = in_force["task_needs"]
    if len(needs) > most:
        raise limit(f"{len(needs)} needs of one task", str(most), "task_needs")
    size, most = len(body.encode(errors="replace")), in_force["task_body"]
    if size > most:
        raise limit(f"a task's text of {size:,} bytes", f"{most:,}", "task_body")


def limit(what: str, most: str, key: str) -> Refused:
    """The error for more than the policy allows."""
    return Refused(
        f"{what}; at most {most}",
        f"the policy's {key} says so: atlas config get {key}",
        code="limit",
    )


def _no_circle(tree: Tree, files: dict[str, bytes | None], only: Tree | None = None) -> None:
    """Raises Refused if a task would need itself, directly or through others."""
    child = Overlay(tree, files)
    for path, data in files.items():
        record = task.parse(path, data or b"")
        if task.makes_cycle(child, record["id"], record.get("needs", ()), only):
            raise Refused(
                f"task {record['id']} would need itself, in a circle",
                "atlas task graph shows the edges",
                code="cycle",
            )


def edit(
    tree: Tree,
    writer: Writer,
    wanted: str,
    fields: Record,
    more: Sequence[str],
    gone: Sequence[str],
    why: str | None,
) -> Change:
    """The change of an open task: other fields, more needs, or fewer of them for a reason."""
    old = _open(tree, wanted, writer.at)
    before = old.get("needs", [])
    if lost := [need for need in gone if need not in before]:
        raise NotFound(
            f"task {wanted} does not need {', '.join(lost)}", f"atlas task show {wanted}"
        )
    for need in more:
        task.find(tree, need)
    needs = [need for need in before if need not in gone]
    needs += [need for need in more if need not in before]
    dropped = list(old.get("dropped", ()))
    dropped += [{"need": need, "why": why, "session": writer.session} for need in gone]
    _sized(policy.of(tree), needs, fields.get("body") or "")
    files = row_files(writer, old, **fields, needs=needs or None, dropped=dropped or None)
    _no_circle(tree, files)
    return change_rows("edit", [wanted], writer, files)


def _open(tree: Tree, wanted: str, now: int) -> Record:
    """The row of an open task. Raises Held or Refused if it is not open."""
    old = _work(tree, wanted)
    if old["state"] != "open":
        raise not_free(tree, old, now) if old["state"] == "claimed" else state(old)
    return old


def _work(tree: Tree, wanted: str) -> Record:
    """The row of a task that is no clearance. Raises Refused for a clearance: it ends with its
    gate."""
    if tree.blob(gate.path_of(wanted)) is not None:
        raise Refused(
            f"task {wanted} is the clearance of a gate", f"atlas gate clear {wanted}", code="gate"
        )
    return task.get(tree, wanted)


def state(record: Record) -> Refused:
    """The error for a task that is in another state than the write needs."""
    why = f": {theirs(record['why'])}" if record["state"] == "cancelled" else ""
    return Refused(
        f"task {record['id']} is {record['state']}{why}",
        f"atlas task show {record['id']}",
        code="not_open",
    )


def not_free(tree: Tree, old: Record, now: int) -> AtlasError:
    """The error for a task that another session has claimed."""
    claim = old["claim"]
    rest = min(lease.LONGEST, max(0, task.claim_ends(old) - now))
    return Held(
        f"task {old['id']} is claimed by {named(claim['session'])} for at most"
        f" {times.span(rest)} more",
        f"take another: atlas task next --claim; or wait: atlas task claim {old['id']} --wait 100s",
        details={
            "task": old["id"],
            "holder": claim["session"],
            "expires": claim["expires"],
            "seconds_left": rest,
            "token": claim["token"],
        },
    )


def freeze(tree: Tree, writer: Writer, wanted: str, why: str, until: str | None) -> Change:
    """The change that freezes an open task."""
    frozen = {"why": why, "session": writer.session, "at": writer.when, **given(until=until)}
    return change_row("freeze", writer, _open(tree, wanted, writer.at), frozen=frozen)


def thaw(tree: Tree, writer: Writer, wanted: str) -> Change:
    """The change that thaws a frozen task. A task that is not frozen stays as it is."""
    old = _open(tree, wanted, writer.at)
    if "frozen" not in old:
        return unchanged("thaw", writer, tree, old)
    return change_row("thaw", writer, old, frozen=None)


def cancel(tree: Tree, writer: Writer, wanted: str, why: str, seen: int | None) -> Change:
    """The change that calls a task off: an open one by its poster, or against the version `seen`, a
    claimed one by its holder. Raises VersionJump if the open task has another version."""
    old = _work(tree, wanted)
    if old["state"] == "cancelled" and old.get("why") == why:
        return unchanged("cancel", writer, tree, old)
    if old["state"] in task.CLOSED:
        raise state(old)
    mine = old["state"] == "claimed" and old["claim"]["session"] == writer.session
    if old["state"] == "claimed" and not mine and task.holds(old, writer.at):
        raise not_free(tree, old, writer.at)
    poster = old["session"] == writer.session and seen is None
    if not (mine or poster) and seen != old["version"]:
        known = "no version was named (--base N)" if seen is None else f"you saw version {seen}"
        raise VersionJump(
            f"{known}, and task {wanted} is at {old['version']}",
            f"look at it: atlas task show {wanted}",
            details={"head": old["version"], "base": seen},
        )
    return using.follow(tree, writer, change_row("cancel", writer, old, state="cancelled", why=why))


def retry(tree: Tree, writer: Writer, wanted: str, why: str, count: int) -> Change:
    """The change that opens a dead or cancelled task again. Its failures stay. `count` tasks are
    open already. Raises Refused if the task needs no retry."""
    in_force, old = policy.of(tree), task.get(tree, wanted)
    if task.own_state(old, writer.at, in_force) not in ("dead", "cancelled"):
        state, _ = readiness.assess(tree, old, writer.at, in_force)
        raise Refused(
            f"task {wanted} is {state}, and needs no retry",
            "dead and cancelled ones do: atlas task dead",
            code="not_dead",
        )
    _room(in_force, count, 0 if old["state"] == "claimed" else 1)
    entry = reason("retried", why, old, writer)
    return change_row(
        "retry",
        writer,
        old,
        state="open",
        claim=None,
        why=None,
        generation=old["generation"] + 1,
        retries=0,
        failures=[*failures(old), entry],
    )


def reason(what: str, why: str, old: Record, writer: Writer) -> Record:
    """The entry beside a task's failures that says why it is on offer again: until its next claim,
    which has another token."""
    return {what: why, "session": writer.session, "at": writer.when, "token": old["token"]}


def failures(old: Record, why: str = "the claim ran out", at: str | None = None) -> list[Record]:
    """The failures of a task, with the claim that has just ended as the last one, if it counts as
    an attempt."""
    past = list(old.get("failures", ()))
    if not task.counts_as_attempt(old):
        return past
    claim = old["claim"]
    last = {
        "generation": claim["generation"],
        "attempt": claim["attempt"],
        "session": claim["session"],
        "why": why,
        "at": at or claim["expires"],
    }
    return [*past, last]

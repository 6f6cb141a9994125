"""The writes on what workers hold: assigning a task, giving back what the writer's session holds,
freeing what a lost session held, and inheriting it."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable

from ...errors import Refused
from ...model.change import Change, Writer
from ...model.text import Record
from ...model.tree import Tree
from .. import goals, lease, policy, session
from . import claims, offering, posting, task


def leave(
    tree: Tree,
    writer: Writer,
    spared: Container[str] = (),
    over: bool = True,
    goal: int | None = None,
    owes: Record | None = None,
    by: str | None = None,
) -> Change:
    """The change by which the writer's session gives back what it holds: its leases and its claims.
    Leases that are `spared`, or held for a running command, stay. A claim that is given back is no
    failure and no attempt. `over`: the session ends as well, and `owes` a word for this. `goal`:
    only that goal ends, and what was taken for it is given back. `by`: the AI tool that closes the
    session."""
    held = [
        row["resource"]
        for _, row in tree.live(lease.FOLDER, writer.at)
        if row["holder"] == writer.session
        and row["resource"] not in spared
        and not row.get("run")
        and goal in (None, row.get("goal", 1))
    ]
    change = lease.release(tree, writer, held)
    claimed = [
        row["id"]
        for row in task.held(tree, writer.session, writer.at)
        if goal in (None, row["claim"].get("goal", 1))
    ]
    if claimed:
        given = claims.released(tree, writer, claimed)
        change = Change(change.subject if held else given.subject, {**change.files, **given.files})
    if not over:
        return change
    if goal is None:
        ended = session.end(tree, writer, owes, by)
    else:
        ended = goals.end_goal(tree, writer, goal)
    return ended._replace(files={**change.files, **ended.files})


def freed(tree: Tree, writer: Writer, holder: str, why: str) -> dict[str, bytes | None]:
    """The rows of what a lost session had claimed, each with a failure more."""
    files: dict[str, bytes | None] = {}
    for row in task.held(tree, holder, writer.at):
        files |= claims.failed(tree, writer, task.get(tree, row["id"]), why)
    return files


def inherited(tree: Tree, writer: Writer, holder: str) -> dict[str, bytes | None]:
    """The rows of what a session has claimed, passed to the writer who adopts it, for the rest of
    their time."""
    files: dict[str, bytes | None] = {}
    for row in task.held(tree, holder, writer.at):
        old = task.get(tree, row["id"])
        receipt = {
            **old["claim"],
            "session": writer.session,
            "actor": writer.actor,
            "machine": writer.machine,
            "token": old["token"] + 1,
            "at": writer.when,
            "path": "adopt",
            "version": old["version"],
            "started": writer.when,
        }
        files |= posting.row_files(writer, old, claim=receipt, token=old["token"] + 1)
    return files


def effective(offer: Record, held: Iterable[Record]) -> int:
    """The slots that a session has left: what it offers, reduced by its load in basis points and by
    the tasks it holds."""
    taken: int = sum(row.get("slots", 1) for row in held)
    return int(offer["slots"]) * (10_000 - int(offer["load"])) // 10_000 - taken


def assign(
    tree: Tree,
    writer: Writer,
    queue: offering.Queue,
    wanted: str | None,
    holder: str | None,
    fresh: Collection[str],
    seconds: int | None,
) -> Change:
    """The change that gives the first ready task (or the one named) to the session with most slots
    left (or the one named); the smallest id where several have as many. `fresh` are the sessions
    that are not stale. Raises NotFound if no task is ready, Refused if no session fits, and the
    refusal of the named task if it cannot be claimed."""
    free = _free(tree, writer.at, holder, fresh)
    if wanted is not None and (why := claims.refusal(tree, writer, wanted, False)):
        raise why
    ready = False
    named = () if wanted is None else [(task.find(tree, wanted), task.get(tree, wanted))]
    for row in offering.ready(tree, named or queue, writer):
        ready = True
        if worker := _best(free, row):
            files = claims.grant(tree, writer, row, seconds, "assign", worker)
            return posting.change_rows("assign", [row["id"]], writer, files)
    if not ready:
        raise (
            posting.not_free(tree, named[0][1], writer.at)
            if named
            else offering.none_ready(tree, writer)
        )
    raise Refused(
        "no healthy session with a free slot fits",
        "atlas session offer --slots N offers some",
        code="no_worker",
    )


def _free(
    tree: Tree, now: int, holder: str | None, fresh: Collection[str]
) -> dict[str, tuple[int, Record]]:
    """The slots left and the row of each healthy session that may be given one more task."""
    free: dict[str, tuple[int, Record]] = {}
    held = task.held(tree, None, now)
    for _, row in tree.live(session.FOLDER, now):
        healthy = row.get("offer", {}).get("status") == "healthy"
        if row["id"] not in fresh or holder not in (None, row["id"]) or not healthy:
            continue
        own = [claimed for claimed in held if claimed["claim"]["session"] == row["id"]]
        if len(own) < policy.of(tree)["session_claims"]:
            free[row["id"]] = effective(row["offer"], own), row
    return free


def _best(free: dict[str, tuple[int, Record]], row: Record) -> Record | None:
    """The session that fits a task with most slots left; the smallest id where several do."""
    fit = [
        (-slots, name)
        for name, (slots, worker) in free.items()
        if slots >= row.get("slots", 1) and _fits_role(row, worker)
    ]
    return free[min(fit)[1]][1] if fit else None


def _fits_role(row: Record, worker: Record) -> bool:
    """Whether a session offers a task's role, or either names none."""
    role = row.get("role")
    return role is None or worker["offer"].get("role", role) == role

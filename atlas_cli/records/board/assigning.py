"""The writes on what workers hold: assigning a task, giving back what one's own session holds,
freeing what a lost one held, inheriting it."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable

from ...errors import Refused
from ...model.change import Change, Writer
from ...model.text import Record
from ...model.tree import Tree
from .. import lease, policy, session
from . import claims, posting, task


def leave(tree: Tree, writer: Writer, kept: Container[str] = (), over: bool = True) -> Change:
    """The writer's session gives back what it holds: its leases, but those that are `kept` or held
    for a command that runs, and its claims, which is no failure and no attempt. `over`: it ends,
    too."""
    held = [
        row["resource"]
        for _, row in tree.live(lease.FOLDER, writer.at)
        if row["holder"] == writer.session and row["resource"] not in kept and not row.get("run")
    ]
    change = lease.release(tree, writer, held)
    if claimed := [row["id"] for row in task.held(tree, writer.session, writer.at)]:
        given = claims.release(tree, writer, claimed)
        change = Change(change.subject if held else given.subject, {**change.files, **given.files})
    if not over:
        return change
    ended = session.end(tree, writer)
    return ended._replace(files={**change.files, **ended.files})


def freed(tree: Tree, writer: Writer, holder: str, why: str) -> dict[str, bytes | None]:
    """The rows of what a lost session had claimed: a failure each."""
    files: dict[str, bytes | None] = {}
    for row in task.held(tree, holder, writer.at):
        files |= claims.failed(tree, writer, task.get(tree, row["id"]), why)
    return files


def inherited(tree: Tree, writer: Writer, holder: str) -> dict[str, bytes | None]:
    """The rows that pass to whoever adopts a session: what it has claimed, for the rest of its
    time."""
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
    """The slots that a session has left: what it offers, by its load in basis points, less those of
    what it holds."""
    mine: int = sum(one.get("slots", 1) for one in held)
    return int(offer["slots"]) * (10_000 - int(offer["load"])) // 10_000 - mine


def assign(
    tree: Tree,
    writer: Writer,
    queue: claims.Queue,
    wanted: str | None,
    holder: str | None,
    fresh: Collection[str],
    seconds: int | None,
) -> Change:
    """The first ready task (or the one named) to the session with most slots left (or the one
    named), ties by smallest id. `fresh`: the sessions that are not stale."""
    free, held = {}, task.held(tree, None, writer.at)
    for _, row in tree.live(session.FOLDER, writer.at):
        if (
            row["id"] in fresh
            and holder in (None, row["id"])
            and row.get("offer", {}).get("status") == "healthy"
        ):
            mine = [one for one in held if one["claim"]["session"] == row["id"]]
            if len(mine) < policy.of(tree)["session_claims"]:
                free[row["id"]] = effective(row["offer"], mine), row
    if wanted is not None and (why := claims.refusal(tree, writer, wanted)):
        raise why
    ready = False
    named = () if wanted is None else [(task.find(tree, wanted), task.get(tree, wanted))]
    for one in claims.ready(tree, named or queue, writer.at, writer.machine):
        ready = True
        fit = [
            (-slots, name)
            for name, (slots, row) in free.items()
            if slots >= one.get("slots", 1)
            and one.get("role") in (None, row["offer"].get("role", one.get("role")))
        ]
        if fit:
            to = free[min(fit)[1]][1]
            return posting.change_rows(
                "assign",
                [one["id"]],
                writer,
                claims.grant(tree, writer, one, seconds, "assign", to),
            )
    if not ready:
        raise posting.not_free(tree, named[0][1], writer.at) if named else claims.none_ready()
    raise Refused(
        "no healthy session with a free slot fits",
        "atlas session offer --slots N offers some",
        code="no_worker",
    )

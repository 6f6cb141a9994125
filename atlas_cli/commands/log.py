"""`atlas log`: what was written, by whom, in which order; and whether an operation arrived."""

from typing import Annotated, Any

import typer

from .. import records
from ..env import reading
from ..env.env import Env
from ..errors import NotFound, Usage
from ..model import message, names, times
from ..outcome import Outcome, Table, listing
from ..records import KINDS, collision
from . import Since, env_of, single, verb

app = single()


@verb(
    app,
    "log",
    "atlas log --kind lease -n 5",
    7,
    limits=("what other clones have not published, and what was done without Atlas, is not in it",),
)
def log(
    ctx: typer.Context,
    what: Annotated[
        str | None, typer.Argument(metavar="REF|OPERATION", help="A record, or an operation id.")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option("--kind", metavar="K", help="Only of this kind: status, artifact, lease, …"),
    ] = None,
    by: Annotated[
        str | None, typer.Option("--session", metavar="S", help="Only by this session.")
    ] = None,
    since: Since = None,
    collisions: Annotated[
        bool, typer.Option("--collisions", help="Only stops, and what came of them.")
    ] = False,
    count: Annotated[int, typer.Option("-n", metavar="N", min=1, help="How many.")] = 20,
) -> Outcome:
    """The writes, newest first. A commit is one transaction; its order is the only order there
    is."""
    env = env_of(ctx)
    index, now = env.index, env.now()
    after = reading.since(env, since) if since is not None else None
    path = operation = None
    if what is not None and ":" in what:
        path = reading.path_of(env, records.ref(what))
    elif what is not None:
        operation = what
    commits, total = index.commits(
        count,
        session=by,
        folder=None if kind is None else _folder(kind),
        path=path,
        operation=operation,
        after=after,
        stopped=collisions,
    )
    if operation is not None and not commits:
        raise NotFound(
            f"no operation that begins with {operation[:80]!r} is in this store",
            "if that is what you gave with --operation it was never written, and it is safe to try"
            " again",
        )
    items = [_item(env, row) for row in commits]
    if collisions and what is None and kind is None:
        items = [*_unwritten(env, by), *items]
        total += len(items) - len(commits)
    more = (f"{total} in all; -n {total} shows them",) if total > len(items) else ()
    return Outcome(listing(items, total), (_table(items, collisions, now), *more))


def _unwritten(env: Env, by: str | None) -> list[dict[str, Any]]:
    """The stops of this clone's sessions that have written nothing since."""
    return [
        {
            "commit": None,
            "at": times.rfc3339(at),
            "subject": None,
            "session": session,
            "operation": None,
            "paths": [],
            "bases": [],
            "stops": [env.index.in_line(collision.read(kind)._replace(often=count).text())],
            "merged": [],
            "by": session,
        }
        for session, kind, count, at in env.local.stops(by)
    ]


def _folder(kind: str) -> str:
    """The folder of the records of a kind.

    Raises Usage if there is no such kind."""
    folders = {row.name: row.folder for row in KINDS}
    if kind not in folders:
        raise Usage(
            f"there is no kind {kind[:80]!r}",
            names.hint(kind, folders, f"the kinds are {', '.join(folders)}"),
        )
    return folders[kind]


def _table(items: list[dict[str, Any]], collisions: bool, now: int) -> Table:
    rows = tuple(
        (
            (item["commit"] or "-")[:12],
            times.ago(times.moment(item["at"]), now) if item["at"] else "-",
            (item["subject"] or "(nothing written since)").removesuffix(f" ({item['by']})"),
            item["by"],
            *(("; ".join(item["stops"]), "; ".join(item["merged"]) or "-") if collisions else ()),
        )
        for item in items
    )
    head = ("COMMIT", "WHEN", "WHAT", "BY")
    more = ("STOPS BEFORE IT: WHAT MET, WITH WHOM", "WHAT WAS KEPT") if collisions else ()
    return Table((*head, *more), rows, "nothing was written")


def _item(env: Env, row: dict[str, Any]) -> dict[str, Any]:
    """A commit as `atlas log` shows it."""
    answer = env.store.git.object(row["oid"])
    parsed = message.Message("")
    if answer:
        parsed = message.parse(answer[2].decode(errors="replace").partition("\n\n")[2])
    return {
        "commit": row["oid"],
        "at": times.rfc3339(row["at"]) if row["at"] else None,
        "subject": row["subject"],
        "session": row["session"],
        "operation": row["operation"],
        "paths": row["paths"].split("\n"),
        "bases": [env.index.in_line(base) for base in parsed.bases],
        "stops": [env.index.in_line(stop) for stop in parsed.stops],
        "merged": [env.index.in_line(note) for note in parsed.merged],
        "by": row["session"] or ("by hand" if parsed.by_hand and row["seq"] > 1 else "atlas"),
    }

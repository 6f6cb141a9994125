"""`atlas who [PATH…]`: who is on it, or at work at all."""

from typing import Annotated

import typer

from ..answers.paths import at_work
from ..answers.paths import who as on_paths
from ..env import code, reading
from ..env.who import session_id
from ..model.text import Record
from ..outcome import Outcome, Table, listing
from ..records import correction
from . import env_of, single, verb

app = single()


@verb(
    app,
    "who",
    "atlas who src/parser.py",
    7,
    limits=("a worker without a lease, a named path or a commit in this clone is invisible here",),
)
def who(
    ctx: typer.Context,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH…]", help="Relative to where you are (default: anywhere)."),
    ] = None,
    hours: Annotated[
        int,
        typer.Option(
            "--hours", metavar="N", min=1, max=8760, help="How far back commits are looked at."
        ),
    ] = 24,
) -> Outcome:
    """Live leases, live sessions that named or changed the path, signals about it, commits that
    only the remote has, and those of the last hours on any branch. Without a path: each other live
    session, with what it named, leased or claimed."""
    env = env_of(ctx)
    if not paths:
        return _shown(at_work(env.ask, session_id(env)), env.now())
    wanted = [
        reading.resource(env, f"path:{path.removeprefix('path:')}").partition(":")[2]
        for path in paths
    ]
    copy = code.brought(env)
    items = on_paths(env.ask, env.git, session_id(env), wanted, hours, code.ahead(env))
    code.say(env, copy, nothing=not items)
    return _shown(items, env.now())


def _shown(items: list[Record], now: int) -> Outcome:
    rows = tuple(
        (
            item["path"],
            item["what"],
            item["who"],
            item["when"],
            correction.said(item, "text", now),
        )
        for item in items
    )
    table = Table(("PATH", "WHAT", "WHO", "WHEN", "TEXT"), rows, "nobody that is known here")
    return Outcome(listing(items), (table,))

"""`atlas outbox`: what no remote has yet, carried by hand from a place that cannot push."""

import os
from pathlib import Path
from typing import Annotated

import typer

from ..cli.saving import save
from ..env import overtaken
from ..outcome import Outcome, Table, listing
from ..sharing import outbox
from ..store import files
from ..visible import many
from . import env_of, limits, noun, verb

app = noun()
File = Annotated[Path, typer.Argument(metavar="F")]


@verb(app, "list", "atlas outbox", 7, limits=(limits.WAITING,))
def list_(ctx: typer.Context) -> Outcome:
    """The writes of this clone that no remote is known to have."""
    env = env_of(ctx)
    items = outbox.waiting(env.store, env.index)
    rows = tuple((item["commit"][:12], item["subject"]) for item in items)
    table = Table(("COMMIT", "WRITE"), rows, "all that was recorded here is published")
    return Outcome(listing(items), (table,))


@verb(app, "export", "atlas outbox export ../day.bundle", 7, limits=(limits.WAITING,))
def export(ctx: typer.Context, file: File) -> Outcome:
    """Write them into a file (a git bundle) for a clone that can push. They stay here, and
    unpublished, as they are."""
    env = env_of(ctx)
    part = env.store.home / f"{files.PART}{os.urandom(8).hex()}"
    try:
        count = outbox.export(env.store, part)
        save(env, str(file), part.read_bytes())
    finally:
        part.unlink(missing_ok=True)
    line = f"{file} has {many(count, 'write')}; where it can be pushed: atlas outbox import"
    return Outcome({"file": str(file), "commits": count}, (line,))


@verb(
    app,
    "import",
    "atlas outbox import ../day.bundle",
    3,
    7,
    limits=("who wrote what is taken in is its commits' word: Atlas judges their form",),
)
def import_(ctx: typer.Context, file: File) -> Outcome:
    """Take in what another clone exported, under the rules of a sync, and publish it.

    Taken in twice it is there once. A write that contradicts one that is here is parked here (exit
    3)."""
    env = env_of(ctx)
    _ = env.snapshot  # asked first, so that the less is parked
    carried = outbox.take(env.store, Path(env.options.directory).absolute() / file)
    env.sharing.publish()
    env.forget("snapshot")
    data = {
        "taken": len(carried.moved),
        "there": len(carried.known),
        "parked": [write.why for write in carried.parked],
    }
    line = f"{many(len(carried.moved), 'write')} taken in, {len(carried.known)} there already"
    if carried.parked:
        count = len(carried.parked)
        raise overtaken.contradicted(env, f"{line}; {count} contradict what is here, and are", data)
    return Outcome(data, (line,), published=False)

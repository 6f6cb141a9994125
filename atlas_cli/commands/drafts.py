"""`atlas drafts`: the texts of yours that a stop or a refusal left over."""

from pathlib import Path
from typing import Annotated

import typer

from ..env import drafting, who
from ..errors import NotFound
from ..outcome import Outcome, Table, listing
from . import env_of, limits, noun, verb

app = noun()


@verb(app, "list", "atlas drafts", 7, limits=(limits.DRAFTED,))
def list_(ctx: typer.Context) -> Outcome:
    """Your drafts, and those of sessions that you have adopted, or that are over and have left them
    here, oldest first."""
    env = env_of(ctx)
    me = who.session_or_none(env)
    rows = drafting.listed(env, me)
    cells = tuple((row["file"], drafting.by(row, me) or "-", row["submit"] or "-") for row in rows)
    table = Table(("FILE", "SESSION", "SUBMIT WITH"), cells, "no draft of yours is left")
    return Outcome(listing(list(rows)), (table,))


@verb(
    app,
    "drop",
    "atlas drafts drop .git/atlas/drafts/text-1129-140000.md",
    7,
    limits=(limits.DRAFTED,),
)
def drop(
    ctx: typer.Context, file: Annotated[str, typer.Argument(metavar="FILE", help="As listed.")]
) -> Outcome:
    """Take a draft away without submitting it."""
    env = env_of(ctx)
    rows = drafting.listed(env, who.session_or_none(env))
    path = Path(env.options.directory, file).absolute()
    here = env.options.directory
    row = next((row for row in rows if _same(here, row["file"], path)), None)
    if row is None or not drafting.drafts(env).settle(path):
        raise NotFound(f"{file[:200]!r} is no draft of yours", "atlas drafts lists them")
    return Outcome(row, (f"dropped: {file}",))


def _same(here: str, shown: str, path: Path) -> bool:
    """Whether a draft's path, as it is shown to who stands here, is that of a file."""
    return Path(here, shown).absolute().resolve() == path.resolve()

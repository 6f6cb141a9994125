"""`atlas view`: write this worktree's .atlas/ folder anew."""

import typer

from ..env import after
from ..errors import Failed
from ..outcome import Outcome
from . import env_of, single, verb

app = single()


@verb(
    app,
    "view",
    "atlas view",
    7,
    limits=(
        (
            "a copy as of one commit (AS-OF), with documents of 90 days; reading there leaves no"
            " receipt"
        ),
    ),
)
def view(ctx: typer.Context) -> Outcome:
    """Write .atlas/ anew: current status, newest artifacts, live rows, and the decisions of 90
    days, as plain files.

    Reading there leaves no receipt. A file that a hand changed there is kept in .atlas/drafts/."""
    env = env_of(ctx)
    done = after.refresh(env, full=True)
    if done is None:
        return Outcome(
            {"path": None}, ("there is no view in a bare repository, nor of a worktree's outbox",)
        )
    if not done:
        raise Failed(
            f"{env.place.view} could not be written",
            "is it a folder of your own, or another command at it?",
        )
    return Outcome(
        {"path": str(env.place.view), "head": env.snapshot.head},
        (f"{env.place.view} is up to date",),
    )

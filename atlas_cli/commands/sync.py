"""`atlas sync`: publishes what was recorded here, and brings what others have published."""

import typer

from ..env import overtaken
from ..errors import NotPublished, Unknown
from ..outcome import Outcome
from ..sharing.dealing import UNASKED
from ..sharing.remote import keep
from ..visible import many
from . import env_of, single, verb

app = single()


@verb(
    app,
    "sync",
    "atlas sync",
    3,
    6,
    7,
    remote=UNASKED,
    limits=("in step as of this moment: what others record and have not pushed is invisible here",),
)
def sync(ctx: typer.Context) -> Outcome:
    """Publish what was recorded here, and bring what others have published.

    A write that contradicts one with which others were first is parked (exit 3), and shown until
    `atlas parked` settles it."""
    env = env_of(ctx)
    before = env.store.head()
    keep(env.store.home, here=False)
    shared = env.sharing.publish(look=True)
    if shared.parked:
        line = (
            f"{len(shared.parked)} of this clone's writes contradict what others published first,"
            " and are"
        )
        raise overtaken.contradicted(env, line, {"parked": list(shared.parked)})
    env.notices += env.sharing.copied()
    if shared.unclear:
        raise Unknown(
            f"the remote's answer was lost ({shared.why})", "to ask it once more: atlas sync"
        )
    if shared.error:
        raise shared.error
    if not shared.published:
        raise NotPublished(
            f"not published: {shared.why}", "what was recorded stays, and goes with a later sync"
        )
    after = env.store.head()
    commits = env.index.commits(1)[1]
    line = f"in step with the remote: {many(commits, 'commit')}" + (
        "" if before == after else ", new ones among them"
    )
    return Outcome(
        {"head": after, "moved": before != after, "commits": commits, "parked": []},
        (line,),
        published=True,
    )

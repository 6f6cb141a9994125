"""`atlas init`: create the store, or find the one that is there. Idempotent."""

import sys
from functools import partial
from typing import Annotated

import typer

from .. import callers, interrupts
from ..cli.templates import template
from ..env.env import Env, clock
from ..errors import NotPublished
from ..outcome import Outcome
from ..records import session
from ..sharing import joining
from ..sharing.dealing import UNASKED, Purpose
from ..sharing.remote import choose
from ..store import founding
from ..store.store import create
from . import env_of, single, verb
from .begin import register
from .hooks import at_init

app = single()


@verb(app, "init", "atlas init", 6, 7, remote=UNASKED)
def init(
    ctx: typer.Context,
    remote: Annotated[
        str | None, typer.Option("--remote", metavar="R", help="The git remote to share with.")
    ] = None,
    branch: Annotated[
        str | None, typer.Option("--branch", metavar="B", help="The branch's name there.")
    ] = None,
    carry: Annotated[
        bool,
        typer.Option(
            "--carry",
            help="Take the remote's store, and put behind it what this one holds beyond it.",
        ),
    ] = False,
    no_hooks: Annotated[
        bool, typer.Option("--no-hooks", help="Leave the git hooks alone.")
    ] = False,
    test: Annotated[bool, typer.Option("--test", hidden=True)] = False,
) -> Outcome:
    """Create the store of this repository, or find the one that is there: in this clone, or at its
    git remote.

    The store is a repository of its own inside the git directory: no ref, index or file of yours is
    touched but .atlas/ and info/exclude, and the git hooks: Atlas goes in front of those that are
    there, and atlas hooks remove brings them back to the byte. All worktrees share it, and all
    clones of the remote, by its branch `atlas`.

    The remote is asked first; where it gives no answer and this clone has no copy of its branch,
    nothing is made (8). With --offline a store is made knowingly: not yet used, it gives way to the
    remote's once that can be asked."""
    env = env_of(ctx)
    choose(env.place, remote, branch)
    joined = joining.take(env.place, env.options.offline)
    made = not joined and _made(env, test)
    own = env.policy["store"]
    shared = None if joined else env.sharing.publish(Purpose(carry=carry), look=True)
    if shared and shared.error:
        raise shared.error
    if carry and shared and not shared.published:
        raise NotPublished(f"nothing was carried: {shared.why}", "it needs a remote that answers")
    env.forget("snapshot", "policy")
    store = env.policy["store"]
    made = made and store == own
    word = "created" if made else "joined" if joined or store != own else "was there already"
    hooks, said = (
        ([], "no git hooks: atlas hooks install puts them in") if no_hooks else at_init(env)
    )
    lines = [f"the store {store} {word}: {env.store.home / 'store.git'}", said]
    if made and hooks and _person(env):
        lines.append(
            f"you are {register(env, goal='', kind=session.PERSON, everywhere=True)['id']} in this"
            " clone"
        )
    env.notices += env.sharing.copied()
    there = env.sharing.known
    limits = () if there else (f"this store is known to this clone only: {env.sharing.alone}",)
    if shared and shared.parked:
        lines.append(
            f"{len(shared.parked)} writes contradict what was there, and are parked: atlas parked"
        )
    lines.append('next: atlas begin --goal "what you will do"')
    data = {
        "store": store,
        "created": made,
        "joined": word == "joined",
        "path": str(env.store.home / "store.git"),
        "remote": there.name if there else None,
        "hooks": hooks,
    }
    return Outcome(data, lines, limits, published=None if env.sharing.published is None else False)


def _made(env: Env, test: bool) -> bool:
    """Makes the store if there is none. True if it was made."""
    create(env.place)
    readme, address = template("branch-README.md"), env.sharing.address
    made = founding.first_write(env.store, readme, test, address, partial(clock, test))
    env.wrote = env.wrote or made
    return made


def _person(env: Env) -> bool:
    """Whether somebody at a terminal wants a session that stands for them in this clone. Asked when
    a store is made."""
    if (
        env.options.json
        or env.options.quiet
        or callers.tool()
        or not (sys.stdin.isatty() and sys.stderr.isatty())
    ):
        return False
    try:
        with interrupts.Typing():
            return typer.confirm(
                "Commit here by hand too? Then a session stands for you in this clone",
                True,
                err=True,
            )
    except typer.Abort:
        return False

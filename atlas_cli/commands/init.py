"""`atlas init`: create the store, or find the one that is there. Idempotent."""

import sys
from functools import partial
from typing import Annotated, Any

import typer

from .. import callers, interrupts
from ..cli.templates import template
from ..env import beginning
from ..env.clock import clock
from ..env.env import Env
from ..errors import NotPublished
from ..outcome import Outcome
from ..records import session
from ..sharing import joining
from ..sharing.dealing import UNASKED, Purpose
from ..sharing.remote import choose
from ..store import founding
from ..store.store import create
from ..visible import many
from . import env_of, single, verb
from .hooks import at_join

app = single()
UNHOOKED = "no git hooks: atlas hooks install puts them in"
RemoteName = Annotated[
    str | None, typer.Option("--remote", metavar="R", help="The git remote to share with.")
]
Branch = Annotated[
    str | None, typer.Option("--branch", metavar="B", help="The branch's name there.")
]
Carry = Annotated[
    bool,
    typer.Option(
        "--carry", help="Take the remote's store, and put behind it what this one holds beyond it."
    ),
]
NoHooks = Annotated[bool, typer.Option("--no-hooks", help="Leave the git hooks alone.")]
Test = Annotated[bool, typer.Option("--test", hidden=True)]


@verb(
    app,
    "init",
    "atlas init",
    6,
    7,
    remote=UNASKED,
    limits=(("a store is known to the clones that have fetched it, and to no other"),),
)
def init(
    ctx: typer.Context,
    remote: RemoteName = None,
    branch: Branch = None,
    carry: Carry = False,
    no_hooks: NoHooks = False,
    test: Test = False,
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
    number = 0 if joined else _published(env, carry)
    env.forget("snapshot", "policy")
    if env.policy["store"] != own:
        made, joined = False, True
    hooks, line = ([], UNHOOKED) if no_hooks else at_join(env)
    lines = [line]
    if made and hooks and _person(env):
        person = beginning.register(env, goal="", kind=session.PERSON, everywhere=True)
        lines.append(f"you are {person['id']} in this clone")
    if number:
        lines.append(
            f"parked, for they contradict what was there: {many(number, 'write')} (atlas parked)"
        )
    return _outcome(env, made, joined, hooks, lines)


def _published(env: Env, carry: bool) -> int:
    """Publishes the store: the number of writes that were parked.

    Raises NotPublished if something was to be carried and the remote gave no answer."""
    shared = env.sharing.publish(Purpose(carry=carry), look=True)
    if shared.error:
        raise shared.error
    if carry and not shared.published:
        raise NotPublished(f"nothing was carried: {shared.why}", "it needs a remote that answers")
    return len(shared.parked)


def _outcome(
    env: Env, made: bool, joined: bool, hooks: list[dict[str, Any]], lines: list[str]
) -> Outcome:
    """The outcome of `atlas init`; `lines` stand between its first line and its last."""
    store, path = env.policy["store"], env.store.home / "store.git"
    word = "created" if made else "was there already"
    if joined:
        word = "joined"
    env.notices += env.sharing.copied()
    remote = env.sharing.known
    if remote is None:
        env.notices.append(f"known to this clone only: {env.sharing.alone}")
    data = {
        "store": store,
        "created": made,
        "joined": joined,
        "path": str(path),
        "remote": remote.name if remote else None,
        "hooks": hooks,
    }
    first, last = f"the store {store} {word}: {path}", 'next: atlas begin --goal "what you will do"'
    published = None if env.sharing.published is None else False
    return Outcome(data, [first, *lines, last], published=published)


def _made(env: Env, test: bool) -> bool:
    """Makes the store if there is none: whether it was made."""
    create(env.place)
    readme, address = template("branch-README.md"), env.sharing.address
    made = founding.first_write(env.store, readme, test, address, partial(clock, test))
    env.wrote = env.wrote or made
    return made


def _person(env: Env) -> bool:
    """Whether somebody at a terminal wants a session that stands for them in this clone. They are
    asked when a store is made."""
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

"""`atlas init`: create the store, or find the one that is there. Idempotent."""

import sys
from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any

import typer

from .. import callers
from ..cli.templates import template
from ..env import beginning, who
from ..env.clock import clock
from ..env.env import Env
from ..errors import NotPublished, Usage
from ..outcome import Outcome
from ..records import session
from ..sharing import joining
from ..sharing.dealing import UNASKED, Purpose
from ..sharing.remote import choose, keep
from ..store import founding
from ..store.store import create
from ..visible import many, visible
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
Local = Annotated[bool, typer.Option("--local", help="Keep it in this clone until a sync.")]
Publish = Annotated[bool, typer.Option("--publish", help="Share it at once, also from a terminal.")]
Person = Annotated[
    bool, typer.Option("--person", help="A session stands for you, who commit here by hand.")
]
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
    local: Local = False,
    publish: Publish = False,
    person: Person = False,
    test: Test = False,
) -> Outcome:
    """Create the store of this repository, or find the one that is there: in this clone, or at its
    git remote.

    The store is a repository of its own inside the git directory: no ref, index or file of yours is
    touched but .atlas/ and the git hooks: Atlas goes in front of those that are
    there, and atlas hooks remove brings them back to the byte. All worktrees share it, and all
    clones of the remote, by its branch `atlas`.

    The remote is asked first; where it gives no answer and this clone has no copy of its branch,
    nothing is made (8). With --offline a store is made knowingly: not yet used, it gives way to the
    remote's once that can be asked.

    A new store is shared at once; by a person at a terminal only with --publish, or by atlas
    sync."""
    env = env_of(ctx)
    if local and publish:
        raise Usage("--local and --publish say different things", "give one of them")
    choose(env.place, remote, branch)
    joined = joining.take(env.place, env.options.offline)
    made = not joined and _made(env, test)
    own = env.policy["store"]
    if local or publish or (made and _by_hand(env)):
        keep(env.store.home, here=not publish)
        env.forget("sharing")
    number = 0 if joined else _published(env, carry)
    env.forget("snapshot", "policy")
    if env.policy["store"] != own:
        made, joined = False, True
    hooks, line = ([], UNHOOKED) if no_hooks else at_join(env)
    lines = [line, *_more(env, person)]
    if number:
        lines.append(
            f"parked, for they contradict what was there: {many(number, 'write')} (atlas parked)"
        )
    return _outcome(env, made, joined, hooks, lines)


def _more(env: Env, person: bool) -> Iterator[str]:
    """The lines of the answer about the session of a person who wants one, and about the place that
    the store would be shared at."""
    if person:
        row = who.person(env)
        row = row or beginning.register(env, goal="", kind=session.PERSON, everywhere=True)
        yield f"you are {row['id']} in this clone"
    if (far := env.sharing.known) and far.here:
        yield (
            f"kept in this clone: atlas init --publish puts its branch {far.branch} at"
            f" {far.name} ({visible(far.url)}), for all who may read that"
        )


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


def _by_hand(env: Env) -> bool:
    """Whether a person at a terminal makes the store, who is to see first what would go where."""
    if env.options.json or env.options.quiet or callers.tool():
        return False
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr.isatty())

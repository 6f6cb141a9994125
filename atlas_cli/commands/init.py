"""`atlas init`: create the store, or find the one that is there. Idempotent."""

from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from ..outcome import Outcome
from . import env_of, single, verb
from .hooks import at_init

app = single()


def template(name: str) -> bytes:
    """A file of `templates/` (inside the wheel, or beside the package in a checkout)."""
    inside = resources.files("atlas_cli") / "templates" / name
    if inside.is_file():
        return inside.read_bytes()
    return (Path(__file__).parents[2] / "templates" / name).read_bytes()


@verb(app, "init", "atlas init", 6, 7)
def init(
    ctx: typer.Context,
    remote: Annotated[str | None, typer.Option("--remote", metavar="R", help="The git remote to share with.")] = None,
    branch: Annotated[str | None, typer.Option("--branch", metavar="B", help="The branch's name there.")] = None,
    no_hooks: Annotated[bool, typer.Option("--no-hooks", help="Leave the git hooks alone.")] = False,
    test: Annotated[bool, typer.Option("--test", hidden=True)] = False,
) -> Outcome:
    """Create the store of this repository, or find the one that is there.

    The store is a repository of its own inside the git directory: no ref, index or file of yours is touched but
    .atlas/ and info/exclude, and the git hooks: Atlas goes in front of those that are there, and atlas hooks remove
    brings them back to the byte. All worktrees share it. This version keeps to one clone: --remote and --branch are
    refused until it can publish."""
    env = env_of(ctx)
    made = env.create(template("branch-README.md"), test, remote or branch)
    store = env.policy["store"]
    word = "created" if made else "was there already"
    hooks, said = ([], "no git hooks: atlas hooks install puts them in") if no_hooks else at_init(env)
    lines = (f"the store {store} {word}: {env.store.home / 'store.git'}", said,
             'next: atlas begin --goal "what you will do"')  # fmt: skip
    data = {"store": store, "created": made, "path": str(env.store.home / "store.git"), "remote": None, "hooks": hooks}
    return Outcome(data, lines)

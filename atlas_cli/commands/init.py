"""`atlas init`: create the store, or find the one that is there. Idempotent."""

from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from ..outcome import Outcome
from . import env_of, single, verb

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
    no_hooks: Annotated[
        bool, typer.Option("--no-hooks", help="Install no git hooks (none are installed yet).")
    ] = False,
    test: Annotated[bool, typer.Option("--test", hidden=True)] = False,
) -> Outcome:
    """Create the store of this repository, or find the one that is there: in this clone, or at its git remote.

    The store is a repository of its own inside the git directory: no ref, index or file of yours is touched but
    .atlas/ and info/exclude. All worktrees share it, and all clones of the remote, by its branch `atlas`."""
    env = env_of(ctx)
    env.chosen(remote, branch)
    joined = env.join()
    made = not joined and env.create(template("branch-README.md"), test)
    store = env.policy["store"]
    word = "created" if made else ("joined" if joined else "was there already")
    if made:
        env.sharing.eager = True
        env.sharing.publish()
    there = env.sharing.remote
    name = there.name if there else None
    lines = (f"the store {store} {word}: {env.store.home / 'store.git'}", 'next: atlas begin --goal "what you will do"')
    data = {"store": store, "created": made, "joined": joined, "path": str(env.store.home / "store.git"),
            "remote": name, "hooks": []}  # fmt: skip
    limits = () if there else ("this store is known to this clone only; it has no remote yet",)
    return Outcome(data, lines, limits, published=None if env.sharing.published is None else False)

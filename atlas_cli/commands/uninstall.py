"""`atlas uninstall`: takes Atlas out of this clone."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from ..answers import sessions
from ..env import drafting, who
from ..env.env import Env
from ..errors import Failed, Refused
from ..hooks.install import HookFiles
from ..model.text import Record
from ..outcome import Outcome
from ..records import session
from ..sharing.dealing import UNASKED
from ..sharing.parked import parked_commits
from ..store import REMOTE, lock
from ..store.database import reachable
from ..store.notebook import FILE
from ..visible import many, named, visible
from ..worktree.view import View
from . import env_of, single, verb
from .setup import TOOLS, File

app = single()
Discard = Annotated[
    bool, typer.Option("--discard", help="Also what this clone alone has: it is gone then.")
]


@verb(
    app,
    "uninstall",
    "atlas uninstall",
    6,
    7,
    remote=UNASKED,
    limits=("it takes nothing away but here: other clones, and the remote, keep what they have",),
)
def uninstall(ctx: typer.Context, discard: Discard = False) -> Outcome:
    """Take Atlas out of this clone: its hooks, the views in the worktrees, the store in the git
    directory. The answer says what stays, and where.

    It is refused (6) while this clone has something that no remote has, or another session is at
    work in it."""
    env = env_of(ctx)
    home = env.store.home
    with lock.held(home / "writer.lock") as fd:  # what is written meanwhile is not lost with it
        if fd is None:
            raise Failed("another command writes the store", "try again", retry="now")
        if not discard:
            _judge(env)
        stays = list(_stays(env))
        hooks = [hook.name for hook in HookFiles(env.place).remove()]
        left = [str(path) for top in env.place.worktrees for path in _taken(env, top)]
        env.close()
        env.forget("snapshot", "tree", "local", "sharing", "store")
        aside = home.with_name(f"{home.name}.{os.urandom(8).hex()}")
        home.rename(aside)  # (at once: a command that is called meanwhile finds no half of it)
    shutil.rmtree(aside)
    if (far := reachable(home / FILE).parent) != home:
        shutil.rmtree(far, ignore_errors=True)
    lines = [f"Atlas is out of this clone: {home}, the hooks and .atlas are gone"]
    if left:
        lines.append(f"not Atlas's, and left where they are: {', '.join(map(visible, left))}")
    data = {"path": str(home), "hooks": hooks, "left": left, "stays": stays}
    return Outcome(data, (*lines, *stays))


def _judge(env: Env) -> None:
    """Raises Refused if something would be lost, or somebody be disturbed."""
    if alone := list(_only_here(env)):
        raise Refused(
            f"this clone alone has {', '.join(alone)}",
            "publish it: atlas sync; end a session: atlas end --session ID -m TEXT; keep a copy:"
            " atlas outbox export FILE",
            code="unpublished",
        )


def _only_here(env: Env) -> Iterator[str]:
    """The things that are nowhere else, each in words."""
    me, store = who.session_or_none(env), env.store
    if waiting := store.unpublished():
        yield many(waiting, "write")
    if writes := len(parked_commits(store)):
        yield many(writes, "parked write")
    if texts := len(drafting.every(env)):
        yield many(texts, "draft")
    for row in _at_work(env, me):
        yield f"the session {named(row['id'])}, which is at work"


def _at_work(env: Env, me: Record | None) -> Iterator[Record]:
    """The live sessions of this clone, but for the caller's own."""
    mine = me["id"] if me else ""
    for row in sessions.rows(env.ask, every=False):
        here = row["machine"] == env.store.machine and row["id"] != mine
        if here and row["state"] == "live" and row.get("class") != session.PERSON:
            yield row


def _stays(env: Env) -> Iterator[str]:
    """The lines about what stays: the branch on the remote, and the texts in files that a team
    shares."""
    if (far := env.sharing.known) and env.store.ref(REMOTE):
        name, branch = visible(far.name), visible(far.branch)
        yield (
            f"the branch {branch} stays at {name} ({visible(far.url)}), for all others:"
            f" git push {name} --delete {branch} takes it from them"
        )
    if (top := env.place.top) is None:
        return
    for tool, parts in TOOLS.items():
        names = [name for name, part in parts.items() if _is_in(top, tool, name)]
        if names:
            yield f"Atlas's part of {', '.join(names)} stays: atlas setup {tool} --remove"


def _is_in(top: Path, tool: str, name: str) -> bool:
    try:
        file = File.read(top, tool, name, TOOLS[tool][name])
        return file.data is not None and file.without() != file.data
    except (Refused, OSError):
        return False


def _taken(env: Env, top: Path) -> list[Path]:
    """Takes the view of a worktree away; the files in it that are none of Atlas's."""
    return View(env.place._replace(top=top), env.local, env.store.home).remove()

"""The beginning of a session: a new row, and the row that follows one which its tool had closed."""

from __future__ import annotations

import os

from .. import signs
from ..errors import Protocol
from ..model.change import Change, Writer
from ..model.text import Record
from ..model.tree import Tree
from ..records import goals, lease, session, takeover
from ..visible import named
from . import who, writing
from .env import Env

RESUMED = "its tool has resumed it"


def register(
    env: Env,
    *,
    goal: str,
    kind: str,
    actor: str | None = None,
    paths: list[str] | None = None,
    streams: list[str] | None = None,
    lasts: int | None = None,
    parent: str | None = None,
    everywhere: bool = False,
    heir_of: Record | None = None,
) -> Record:
    """Begins a session. everywhere: it belongs to the clone, and to no worktree of it. heir_of: the
    session of the same tool that its end had closed, and that this one goes on with."""
    name = who.actor(env, actor)
    new = session.new_id(name, env.now(), os.urandom(6))
    where = "" if everywhere else writing.public(env, "worktree", who.worktree(env))
    branch = writing.public(env, "branch", _branch(env))
    me: Record = {"id": new, "actor": name}
    if parent is not None:
        me["lineage"] = [*session.live(env.snapshot, parent, env.now()).get("lineage", ()), parent]
    process = None if everywhere else signs.process()
    signs.sweep(str(env.store.home), env.now())

    def decide(tree: Tree, writer: Writer) -> Change:
        change = session.begin(
            tree,
            writer,
            goal=goal,
            worktree=where,
            branch=branch,
            kind=kind,
            paths=paths or [],
            streams=streams or [],
            lasts=lasts,
            parent=parent,
            process=process,
        )
        if heir_of is None or "adopted_by" in session.get(tree, heir_of["id"]):
            return change
        taken = takeover.adopt(tree, writer, heir_of["id"], RESUMED).files
        held = lease.inherit(tree, writer, heir_of["id"])
        return change._replace(files={**change.files, **taken, **held})

    records = writing.records(env, writing.write(env, decide, me, "session: begin"))
    rows = [row for row in records if row["ref"].startswith("session:")]
    adopted = [row for row in rows if row.get("adopted_by")]  # (a replay answers another id)
    return next((row for row in rows if row not in adopted), rows[0])


def _branch(env: Env) -> str:
    """The branch of this worktree; empty if HEAD is detached or there is no worktree."""
    if env.place.top is None:
        return ""
    code, out, _ = env.git.ask("symbolic-ref", "--quiet", "--short", "HEAD")
    return "" if code else out.decode(errors="replace").strip()


def writer(env: Env, strict: bool = False) -> Record:
    """The live session that this command writes for, as `who.session` has it. One that its tool has
    closed, and now has resumed, is followed by a new one, which is begun here."""
    try:
        return who.session(env, strict)
    except Protocol as stop:
        if stop.code != "no_session" or (me := resumed(env)) is None:
            raise
        return me


def resumed(env: Env) -> Record | None:
    """A new session that adopts the one of this caller which its tool had closed, and goes on with
    its goal; None if there is none."""
    if env.options.session or os.environ.get("ATLAS_SESSION"):
        return None
    if (old := who.closed(env)) is None:
        return None
    # The operation, its condition and the text are those of the write that follows.
    options, text = env.options, (env.spoken, env.source)
    env.options = options._replace(operation=None, expect=None)
    env.spoken = env.source = None
    try:
        me = register(
            env,
            goal=goals.text_of(old),
            kind=old.get("class", "work"),
            actor=old["actor"],
            paths=old.get("paths"),
            streams=old.get("streams"),
            heir_of=old,
        )
    finally:
        env.options, (env.spoken, env.source) = options, text
    env.local.follow(old["id"], me["id"])
    who.note_begun(env, me["id"])
    who.sign(env, me["id"])
    env.notices.append(
        f"your tool had closed {named(old['id'])}: resumed, you are {me['id']}, which adopts it"
    )
    return me

"""Claims and leases that were taken without the remote's word for it, and at which others were
first: their sessions are told of them once."""

from __future__ import annotations

from typing import Any

from .. import records
from ..answers import leases, sessions, words
from ..errors import VersionJump
from ..model import names
from ..model.text import Record
from ..records import lease
from ..sharing import parked
from ..visible import named
from . import drafting, who
from .env import Env


def settled(env: Env, me: Record | None) -> list[str]:
    """Settles what was parked and only took, kept or gave back what others have by now: nothing of
    it is worth keeping. The line that tells its session who has it. That of a session at work waits
    for its next command."""
    lost: dict[str, None] = {}
    for write in parked.rows(env.store, env.index):
        if not records.yields(write["subject"], ()):
            continue
        paths = env.store.changed(write["commit"])
        if not records.yields(write["subject"], paths):
            continue
        if me is not None and write["session"] == me["id"]:
            lines = (_lost(env, write["commit"], me["id"], path) for path in paths)
            lost |= dict.fromkeys(filter(None, lines))
        elif _is_at_work(env, write["session"] or ""):
            continue
        parked.unpark(env.store, write["operation"])
    return [f"LOST, others were first: {'; '.join(lost)}"] if lost else []


def contradicted(env: Env, line: str, details: dict[str, Any]) -> VersionJump:
    """The stop for writes that others were first at. `line` ends with the verb that they are the
    subject of. It says where they are by now: parked, or drafts, if nobody can take them."""
    drafting.of_parked(env)
    env.notices += settled(env, who.session_or_none(env))
    if parked.rows(env.store, env.index):
        where = "parked"
        hint = "atlas parked shows them, atlas parked take ID writes one again on what is there now"
    else:
        where = "kept as drafts, since they cannot be written any more"
        hint = "atlas drafts lists the texts, each with the command that submits it"
    return VersionJump(f"{line} {where}", hint, code="parked", details=details)


def _is_at_work(env: Env, id: str) -> bool:
    row = words.row(env.ask, id)
    return bool(row) and sessions.pulse(env.ask, row)[1] == "live"


def _lost(env: Env, commit: str, mine: str, path: str) -> str:
    """The lease or the task that a parked commit put at a path, with who has it in place of a
    session; empty if nobody has."""
    if path.startswith(f"{lease.FOLDER}/"):
        return _lost_lease(
            env, lease.parse(path, env.store.snapshot(commit).read(path) or b""), mine
        )
    row = env.index.readable(path) or {}
    by = row.get("claim", {}).get("session", "")
    if not row or by == mine:
        return ""
    return f"task:{row['id']} is {row['state']}{f' by {named(by)}' if by else ''}"


def _lost_lease(env: Env, old: Record, mine: str) -> str:
    """The same of a lease: others have that, or one that overlaps it."""
    wanted, own = old["resource"], env.index.readable(lease.path_of(old["resource"]))
    if "released" in old or (own and own["holder"] == mine):
        return ""
    for row in leases.live(env.ask):
        if row["holder"] != mine and names.overlap(wanted, row["resource"]):
            other = f" ({named(row['resource'])})" if row["resource"] != wanted else ""
            return f"{named(wanted)} is held by {named(row['holder'])}{other}"
    return f"{named(wanted)} is free again" if own else ""

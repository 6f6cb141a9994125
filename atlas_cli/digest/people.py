"""The sessions that are, or were, at work, and what they hold."""

from __future__ import annotations

from ..answers import leases as held
from ..answers import paths
from ..answers import sessions as working
from ..env.who import session_id
from ..model import times
from ..model.text import Record
from .part import Part, State, listed


def stores(state: State) -> Part | None:
    """The state of the stores that leases are shared through; said in notices."""
    if not state.env.shares:
        return None
    looks = state.elsewhere[1]
    state.env.notices += [look.line() for look in looks]
    return Part("shared", [look._asdict() for look in looks])


def unfinished(state: State) -> Part:
    """The sessions that are over, and owe the status a word."""
    items = working.unfinished(state.ask)
    rows = ((item["id"], state.ago(item["last"]), state.words(item, "goal")) for item in items)
    title = (
        "over, and never wrote the status (it has not happened until someone does: atlas session"
        " adopt ID)"
    )
    more = "atlas session list --all"
    return listed("unfinished", items, rows, "SESSION|LAST WRITE|GOAL", title, more)


def on_paths(state: State) -> Part | None:
    """The others on the paths that this session said it would touch."""
    wanted = state.me.get("paths") if state.me else None
    if not wanted:
        return None
    env = state.env
    items = paths.who(state.ask, env.git, session_id(env), wanted)
    rows = (
        (item["path"], item["what"], item["who"], item["when"], state.words(item, "text"))
        for item in items
    )
    more = f"atlas who {' '.join(wanted)}"
    return listed("on", items, rows, "PATH|WHAT|WHO|WHEN|TEXT", "on your paths", more)


def lease_name(row: Record) -> str:
    """A lease's resource, with the store that it is kept in, if that is another one."""
    return f"{row['resource']} ({row['store']})" if "store" in row else str(row["resource"])


def leases(state: State) -> Part:
    """The live leases, those on the reader's paths first."""
    items = [*held.live(state.ask), *state.elsewhere[0]]
    items.sort(key=lambda row: not state.mine(row["resource"]))
    rows = (
        (
            lease_name(row),
            row["holder"],
            times.span(row["seconds_left"]),
            state.words(row, "why"),
        )
        for row in items
    )
    columns = "RESOURCE|HOLDER|LEFT|WHY"
    return listed("leases", items, rows, columns, "live leases", "atlas lease list")


def sessions(state: State) -> Part:
    """The other live sessions, those on the reader's paths first."""
    items = [row for row in working.rows(state.ask, every=False) if row["id"] != state.id]
    items.sort(key=lambda row: not any(state.mine(f"path:{path}") for path in row.get("paths", ())))
    rows = (
        (row["id"], row["state"], state.ago(row["last"]), state.words(row, "goal")) for row in items
    )
    columns = "SESSION|STATE|LAST WRITE|GOAL"
    return listed("sessions", items, rows, columns, "other live sessions", "atlas session list")


def done(state: State) -> Part | None:
    """The sessions that have ended since."""
    if state.after is None:
        return None
    items = working.ended(state.ask, state.after)
    rows = ((row["id"], state.ago(row["ended"]), state.words(row, "goal")) for row in items)
    more = "atlas session list --all"
    return listed("done", items, rows, "SESSION|ENDED|GOAL", "sessions done", more)

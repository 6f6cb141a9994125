"""The sessions that are, or were, at work, and what they hold."""

from __future__ import annotations

from ..answers import leases as held
from ..answers import paths, words
from ..answers import sessions as working
from ..env import code, pushed, who
from ..env.who import session_id
from ..model import times
from ..model.text import Record
from ..records import resources as declared
from .part import Part, State, listed


def stores(state: State) -> Part | None:
    """The state of the stores that leases are shared through; said in notices."""
    if not state.env.shares:
        return None
    looks = state.elsewhere[1]
    state.env.notices += [look.line() for look in looks]
    return Part("shared", [look._asdict() for look in looks])


def unfinished(state: State) -> Part:
    """The sessions that are over, and owe a word."""
    env = state.env
    heads = pushed.heads(env)
    items = words.unfinished(state.ask, env.git, heads)
    rows = (
        (item["id"], state.ago(item["last"]), item["owes"], state.words(item, "goal"))
        for item in items
    )
    title = (
        "over, and left no word (it has not happened until someone writes it: atlas session adopt"
        " ID …)"
    )
    older = words.long_unfinished(state.ask, env.git, env.store.machine, heads)
    many = "that were" if older > 1 else "that was"
    blocks = [f"and {older} {many} over more than seven days ago left no word"] if older else []
    more, columns = "atlas session list --all", "SESSION|LAST WRITE|OWES|GOAL"
    return listed("unfinished", items, rows, columns, title, more, blocks=blocks)


def on_paths(state: State) -> Part | None:
    """The others on the paths that this session said it would touch, or leases; and what was
    signalled of them."""
    if state.me is None:
        return None
    env = state.env
    leased = (row["resource"] for row in held.held(state.ask, state.id))
    wanted = list(
        dict.fromkeys(
            [
                *state.me.get("paths", ()),
                *(name.partition(":")[2] for name in leased if name.startswith("path:")),
            ]
        )
    )
    if not wanted:
        return None
    items = paths.who(state.ask, env.git, session_id(env), wanted, ahead=code.ahead(env))
    items = [item for item in items if item["who"] != state.id]
    places: dict[tuple[str, ...], list[str]] = {}  # what meets several of the paths is said once
    for item in items:
        row = (item["what"], item["who"], item["when"], state.words(item, "text"))
        places.setdefault(row, []).append(item["path"])
    rows = ((", ".join(dict.fromkeys(met)), *row) for row, met in places.items())
    more = f"atlas who {' '.join(wanted)}"
    columns, title = "PATH|WHAT|WHO|WHEN|TEXT", "on your paths"
    return listed("on", items, rows, columns, title, more, total=len(places))


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


def resources(state: State) -> Part | None:
    """The names that the policy declares, and whether one can be had."""
    if not (names := declared.declared(state.env.policy)):
        return None
    holders = {row["resource"]: row["holder"] for row in held.live(state.ask)}
    items: list[Record] = [
        {"resource": name, "about": about, "holder": holders.get(name)}
        for name, about in names.items()
    ]
    rows = ((row["resource"], row["holder"] or "free", row["about"] or "-") for row in items)
    title, more = "resources: atlas lease take NAME", "atlas lease list"
    return listed("resources", items, rows, "RESOURCE|HOLDER|ABOUT", title, more)


def sessions(state: State) -> Part:
    """The other live sessions, those on the reader's paths first."""
    items = [row for row in working.rows(state.ask, every=False) if row["id"] != state.id]
    items.sort(key=lambda row: not any(state.mine(f"path:{path}") for path in row.get("paths", ())))
    rows = (
        (row["id"], row["state"], state.ago(row["last"]), state.words(row, "goal")) for row in items
    )
    title, columns = "other live sessions", "SESSION|STATE|LAST SIGN|GOAL"
    if near := sum(_is_here(state, row) for row in items):
        title += f" ({near} in this folder: git status may show their files, commit by paths)"
    return listed("sessions", items, rows, columns, title, "atlas session list")


def _is_here(state: State, row: Record) -> bool:
    """Whether a session is at work in the reader's worktree."""
    place = (who.worktree(state.env), state.env.store.machine)
    at_work = row["state"] == "live" and row.get("class") != "run"
    return at_work and (row.get("worktree"), row["machine"]) == place


def done(state: State) -> Part | None:
    """The sessions that have ended since."""
    if state.after is None:
        return None
    items = working.ended(state.ask, state.after)
    rows = ((row["id"], state.ago(row["ended"]), state.words(row, "goal")) for row in items)
    more = "atlas session list --all"
    return listed("done", items, rows, "SESSION|ENDED|GOAL", "sessions done", more)

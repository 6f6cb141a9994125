"""Claims and leases that were taken without the remote's word for it: one that is given back leaves
this clone's history as if it had never been; one that others were first at is told of once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from .. import records
from ..answers import leases, sessions, words
from ..errors import AtlasError
from ..model import names
from ..model.change import Change, Writer
from ..model.text import Record
from ..model.tree import Tree
from ..records import lease
from ..records.board import task
from ..sharing import parked
from ..sharing.taking_back import is_unseen
from ..store import REMOTE
from ..visible import named
from . import writing
from .env import Env

UNDONE = "undone"  # the field of a row whose taking is out of the history again
GivesBack = Callable[[Tree, Writer, list[str]], Change]


def given_back(
    env: Env, me: Record, wanted: Mapping[str, str], gives: GivesBack, what: str, mute: bool = True
) -> list[Record]:
    """The rows of what a session gives back: `wanted`, names by path. One that nobody but this
    clone can have seen it take is not written, if that is `mute` (says nothing): its taking leaves
    the history."""
    undone: list[Record] = []
    options = env.options
    if mute and options.operation is None and options.expect is None and _shares(env):
        undone = [row for path in wanted for row in _undone(env, me, path, wanted, gives)]
    gone = {row["id"] for row in undone}
    rest = [name for name in wanted.values() if name not in gone]
    if not rest:
        return undone
    done = writing.write(env, lambda tree, by: gives(tree, by, rest), me, what)
    return [*undone, *writing.records(env, done)]


def said(row: Record) -> str:
    """The words on a row that was given back, if its taking is undone."""
    return ": nobody else saw it taken, and it is not in the history" if UNDONE in row else ""


def _shares(env: Env) -> bool:
    """Whether what this clone records is on its way to a remote."""
    known = env.sharing.known
    return known is not None and not known.here and not known.local and not env.sharing.required


def _undone(
    env: Env, me: Record, path: str, wanted: Mapping[str, str], gives: GivesBack
) -> Iterator[Record]:
    """The row, if it is the session's no more once what nobody has seen is taken back."""
    by = Writer(me["id"], me["actor"], env.store.machine, env.now(), "", ())
    rows: list[Record] = []
    while True:
        try:
            files = gives(env.tree, by, [wanted[path]]).files
        except AtlasError:  # it is not the session's, or not any more
            break
        if not (operation := _unseen(env, me, path, wanted)):
            return
        rows.append({**records.describe(path, files[path] or b""), "operation": operation})
        if not env.sharing.taken_back(operation):
            return
        env.look_again()
        env.forget("tree")
    yield from ({**env.ask.shown(row), "replayed": False, UNDONE: True} for row in rows[:1])


def _unseen(env: Env, me: Record, path: str, wanted: Mapping[str, str]) -> str:
    """The operation that wrote a row last, if it is the session's, did nothing but take what is
    given back (with what a task uses), and nobody but this clone can have it; else empty."""
    known = env.store.ref(REMOTE)
    after = env.index.reached(known) if known else 0
    commit = next(iter(env.index.commits(1, path=path, after=after)[0]), None)
    if commit is None or commit["session"] != me["id"]:
        return ""
    claims = path.startswith(f"{task.FOLDER}/")
    others = [other for other in commit["paths"].split("\n") if other not in wanted]
    if others and not (claims and all(other.startswith(f"{lease.FOLDER}/") for other in others)):
        return ""
    takes = records.yields(commit["subject"], ())
    return str(commit["operation"] or "") if takes and is_unseen(env.store, commit["oid"]) else ""


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

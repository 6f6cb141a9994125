"""The resources that tasks use and other stores keep: leased before the claim, store by store in
the order of their names, and given back where the claim is not had, or ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from ..answers import leases
from ..errors import AtlasError
from ..model.change import Change, Decide, Writer
from ..model.text import Record
from ..model.tree import Tree
from ..records import lease
from ..records.board import task, using
from . import writing
from .env import Env

if TYPE_CHECKING:
    from .elsewhere import LeaseStore

T = TypeVar("T")


def stores_of(env: Env, rows: Iterable[Record]) -> dict[str, list[str]]:
    """The resources that tasks use and that other stores keep, by the name of the store."""
    names = list(dict.fromkeys(name for row in rows for name in row.get("uses", ())))
    if not names or not env.shares:
        return {}
    from . import elsewhere

    stores = elsewhere.by_store(env, names, None)
    return {name: stores[name] for name in sorted(stores) if name}


def first(env: Env, me: Record, rows: list[Record], seconds: int, claim: Callable[[], T]) -> T:
    """Runs `claim` once the session holds, in other stores, what these tasks use. The new ones
    are given back if the claim is not had. Raises Held if somebody holds it there."""
    stores = stores_of(env, rows)
    if not stores:
        return claim()
    from . import elsewhere

    taken: dict[str, list[str]] = {}
    had = False
    try:
        for name, resources in stores.items():
            with elsewhere.kept_in(env, name, me) as store:
                taken[name] = _taken(store, me, rows, resources, seconds)
        result = claim()
        had = True
    finally:
        for name, resources in taken.items() if not had else ():
            with elsewhere.kept_in(env, name, me) as store:
                _give_back(store, me, resources)
    return result


def _taken(
    store: LeaseStore, me: Record, rows: list[Record], resources: list[str], seconds: int
) -> list[str]:
    """Takes what these tasks use in one store; what of it is new."""
    held = partial(_held, store, me)
    users = {name: row["id"] for row in rows for name in row.get("uses", ())}

    def decide(tree: Tree, who: Writer) -> Change:
        files: using.Files = {}
        for name in resources:
            files |= using.take(tree, who, name, users[name], who.at + seconds)
        return Change(f"lease: take {lease.short(resources)} ({who.session})", files)

    before = held()
    back = partial(_give_back, store, me)
    writing.exclusive(store.env, partial(store.decided, decide), me, "lease: take ", held, back)
    return [name for name in held() if name not in before]


def _held(store: LeaseStore, me: Record) -> list[str]:
    return [row["resource"] for row in leases.held(store.env.ask, me["id"])]


def _give_back(store: LeaseStore, me: Record, resources: list[str]) -> None:
    if resources:
        _written(store, me, lambda tree, who: lease.release(tree, who, resources))


def _written(store: LeaseStore, me: Record, decide: Decide) -> None:
    """Writes there. A write that cannot be made is a notice: such a lease expires by itself."""
    try:
        writing.write(store.env, partial(store.decided, decide), me, "lease: ")
    except AtlasError as error:
        store.env.notices.append(error.message)


def follow(env: Env, me: Record, rows: list[Record]) -> None:
    """The leases that the session holds in other stores for these tasks go on with their claims, or
    ends with them."""
    stores = stores_of(env, rows)
    if not stores:
        return
    from . import elsewhere

    held = task.held(env.tree, me["id"], env.now())
    claims = [row for row in held if "started" in row["claim"] and row.get("uses")]
    ids = {row["id"] for row in rows}
    for name, resources in stores.items():

        def decide(tree: Tree, who: Writer, resources: list[str] = resources) -> Change:
            files: using.Files = {}
            for resource in resources:
                users = [row for row in claims if resource in row["uses"]]
                files |= using.kept(tree, who, resource, users, ids)
            return Change(f"lease: renew {lease.short(resources)} ({who.session})", files)

        with elsewhere.kept_in(env, name, me) as store:
            _written(store, me, decide)

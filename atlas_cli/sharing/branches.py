"""Outbox branches: where this clone may not push the store's branch, it pushes one of its own, and
the next clone that may takes it in."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ..errors import AtlasError
from ..store import OUTBOX, history
from ..store.branch import change
from ..store.root import root_id
from ..store.store import Store
from .remote import Away, Remote
from .remote_state import RemoteState

if TYPE_CHECKING:
    from . import carry_over

# As `push` names them: no other is taken away.
_OWN = re.compile(r"/atlas-[0-9a-f]{12}-[0-9a-f]{8}\Z")


def refs(memory: RemoteState) -> list[str]:
    """The refs of the store under which the branches that are known were fetched."""
    return [f"{OUTBOX}{name}" for name in memory.data.get("known", {})]


def wanted(memory: RemoteState, patterns: Sequence[str]) -> list[str]:
    """The branches to look for, as patterns. None, if this clone uses one itself."""
    if memory.data.get("beside"):
        return []
    return [pattern.replace("*", "atlas-*") for pattern in patterns]


def push(
    store: Store, remote: Remote, head: str, known: str | None, patterns: Sequence[str], call: float
) -> str:
    """Pushes `head` to a branch of this clone's own that the policy names. The result is its name;
    empty if the remote takes none."""
    for pattern in patterns:
        name = pattern.replace("*", f"atlas-{store.machine}-{(known or head)[:8]}")
        pushed = remote._replace(ref=f"refs/heads/{name}").push(head, call)
        if pushed.ok or pushed.old == head:
            return name
    return ""


def take_in(
    store: Store,
    remote: Remote,
    memory: RemoteState,
    busy: float,
    notice: Callable[[str], None],
    park: Callable[[Sequence[carry_over.Parked]], None],
) -> None:
    """Takes in what waits on such branches. A lock of a ref is waited for `busy` seconds."""
    from . import outbox  # most pushes need none of it

    known, taken = memory.data.get("known", {}), dict(memory.data.get("taken", {}))
    listed = store.git.run("for-each-ref", "--format=%(refname) %(objectname)", OUTBOX).decode()
    lines = [line for line in listed.split("\n") if line]
    seen = dict(line.removeprefix(OUTBOX).split(" ") for line in lines)
    for name, oid in seen.items():
        if known.get(name) == oid or not _OWN.search(name):
            continue
        try:
            carried = _carried(store, oid)
        except AtlasError as error:
            notice(f"the branch {name} on {remote.name} was left alone: {error.message}")
            if not isinstance(error, outbox.NoOutbox):
                seen[name] = ""  # what is here may have been in the way: tried again
            continue
        taken[name] = oid
        if carried.moved or carried.parked:
            park(carried.parked)
            notice(f"taken in from the branch {name}")
    # (A ref that stays would bar another whose name it begins.)
    change(store, [f"delete {OUTBOX}{name}" for name in seen], busy)
    memory.put(known=seen, taken=taken)


def _carried(store: Store, tip: str) -> carry_over.Carried:
    from . import outbox

    # (All stores share their root.)
    if history.fork(store.git, store.head(), tip) in (None, root_id(store.place.width)):
        raise outbox.NoOutbox("it is no outbox of this store")
    return outbox.behind(store, tip)


def drop_taken(remote: Remote, memory: RemoteState, call: float) -> None:
    """Takes away the branches that brought what is published now."""
    taken = memory.data.get("taken", {})
    with suppress(Away):  # tried again after the next push
        for name, oid in taken.items():
            remote.drop(name, oid, call)
        if taken or memory.data.get("beside"):
            memory.put(taken={}, beside="")

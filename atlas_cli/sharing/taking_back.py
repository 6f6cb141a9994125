"""Taking back: what was to count only once it is published, and is not, leaves this clone's history
as if it had never been recorded."""

from __future__ import annotations

from ..store import BEFORE, REMOTE, history, lock
from ..store.branch import Branch
from ..store.store import Store
from . import carry_over
from .remote_state import RemoteState

PATIENCE = 5.0  # seconds for another command that publishes


def taken_back(store: Store, operation: str) -> bool:
    """Whether an operation is out of this clone's history again. It stays where somebody else may
    have it, and where a later write of this clone stands on it."""
    if store.home == store.place.outbox or RemoteState(store).data.get("beside"):
        return False  # it lies where others take it from
    home = store.home
    # (In this order, as a fetch takes them: no push is on its way meanwhile.)
    with lock.held(home / "publish.lock", wait=PATIENCE) as publishing:
        if publishing is None:
            return False
        with lock.held(home / "writer.lock") as fd:
            branch = Branch(store, fd)
            while (head := store.head()) and (row := store.at(head).operation(operation)):
                known = store.ref(REMOTE)
                if known and store.holds(row["oid"], known):
                    return False
                later = list(history.between(store.git, row["oid"], head))
                base = history.commit(store.git, row["oid"]).parents[0]
                carried = carry_over.carry(store, later, (), base)
                if carried.parked:
                    return False
                if carry_over.moved(store, branch, head, carried.head, (), [(BEFORE, head)]):
                    break
    return True

"""The outbox: what no remote has yet as one file, for a clone that cannot push, and taking such a file in."""

from __future__ import annotations

from pathlib import Path

from ..errors import Failed, NotFound
from . import BRANCH, REMOTE, history, lock, publish, replay
from .branch import Branch
from .store import Store, root_id

_TAKEN = "refs/atlas/outbox"


def export(store: Store, file: Path) -> int:
    """Writes the commits that no remote is known to have into a git bundle; how many. NotFound where there are none."""
    waiting = publish.unpublished(store)
    if not waiting:
        raise NotFound("nothing waits: all that was recorded here is published")
    known = store.ref(REMOTE)
    store.git.run("bundle", "create", "--quiet", str(file), BRANCH, *([f"^{known}"] if known else []))
    return waiting


def take(store: Store, file: Path) -> replay.Carried:
    """Puts what another clone exported behind what is here, by the rules of a sync: what contradicts it is parked."""
    if not file.is_file():
        raise NotFound(f"there is no file {file}")
    code, _, err = store.git.ask(
        "fetch", "--no-tags", "--no-write-fetch-head", "--", str(file), f"+{BRANCH}:{_TAKEN}",
        options=("fetch.fsckObjects=true",),
    )  # fmt: skip
    tip = None if code else store.ref(_TAKEN)
    if tip is None or history.root(store.git, tip) != root_id(store.place.width):
        behind = "prerequisite" in err
        raise Failed(
            f"{file.name} stands on commits that are not here" if behind else f"{file.name} is no outbox of a store",
            "atlas sync brings them, if they are published" if behind else "atlas outbox export makes one",
        )
    with lock.held(store.home / "writer.lock") as fd:
        branch = Branch(store, fd)
        while True:
            head = store.head()
            base = store.git.run("merge-base", head, tip).decode().strip()
            theirs = [one for one in history.between(store.git, base, tip) if not replay.brings_policy(one)]
            carried = replay.carry(store, theirs, list(history.between(store.git, base, head)), head)
            if replay.moved(store, branch, head, carried.head, carried.parked):
                return carried

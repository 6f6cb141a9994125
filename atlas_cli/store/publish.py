"""Publishing: a push is the compare-and-set of the fleet. Recorded writes are pushed plainly; where others were first,
theirs are fetched and judged, and ours carried over behind them, or parked."""

from __future__ import annotations

import json
import random
import shutil
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..errors import Refused
from ..records import policy
from . import BEFORE, BRANCH, REMOTE, audit, fault, history, lock, replay
from .place import Place
from .remote import Away, Remote, find
from .store import Store, create, is_bare_root, parked_ref, root_commit, sync_folders

LOCK_WAIT = 10.0  # seconds for another command that publishes; then the answer is "recorded"
CALL = 10.0  # seconds for one call to the remote
DEADLINE = 30.0  # seconds for all of it
REMEMBERED = 30  # seconds that a failed push is remembered
TRIES = 4  # pushes in a row that may be refused although nobody else was first


class Shared(NamedTuple):
    """What became of it. `published`: all that was recorded is in the remote's history; `parked`: the operations that
    could not be carried over; `unclear`: the remote may have taken a push whose answer was lost."""

    published: bool
    why: str = ""
    parked: tuple[str, ...] = ()
    unclear: bool = False
    notices: tuple[str, ...] = ()


class Memory:
    """What this clone remembers of its remote: when it was asked last, and when that failed."""

    def __init__(self, store: Store) -> None:
        self.file = store.home / "sync.json"
        try:
            self.data: dict[str, Any] = json.loads(self.file.read_text())
        except (OSError, ValueError):
            self.data = {}

    def get(self, key: str) -> float:
        found = self.data.get(key)
        return float(found) if isinstance(found, int | float) else 0.0

    def put(self, **fields: Any) -> None:
        self.data |= fields
        part = self.file.with_suffix(".part")
        try:
            part.write_text(json.dumps(self.data))
            part.replace(self.file)
        except OSError:
            return  # a memory, no more


class Exchange:
    """One conversation with the remote."""

    def __init__(self, store: Store, remote: Remote, now: Callable[[], float] = time.time) -> None:
        self.store, self.remote, self.memory, self.now = store, remote, Memory(store), now
        self.rules = policy.usable(store.snapshot())
        self.notices: list[str] = []
        self.parked: list[str] = []
        self.unclear = False

    def publish(self, wait: float = LOCK_WAIT, look: bool = False) -> Shared:
        """Pushes what was recorded; `look`: asks the remote even where nothing is to be pushed."""
        with lock.held(self.store.home / "publish.lock", wait=wait) as fd:
            if fd is None:
                return self._told(False, "another command is publishing; it, or the next one, carries this along")
            try:
                return self._pushed(look)
            except Away as error:
                self.memory.put(failed_at=self.now(), failed=error.message)
                return self._told(False, error.message)

    def pull(self, timeout: float, wait: float = 0.0) -> bool:
        """Brings what others have published, if nobody else is at it; False where it could not be asked."""
        with lock.held(self.store.home / "publish.lock", wait=wait) as fd:
            if fd is None:
                return False
            try:
                self._pulled(timeout)
            except Away as error:
                now = self.now()
                self.memory.put(asked_at=now, away_at=now, failed_at=now, failed=error.message)
                return False
            return True

    def take(self) -> None:
        """Takes the remote's store into one that has nothing yet."""
        self._pulled(CALL)

    def _told(self, published: bool, why: str = "") -> Shared:
        return Shared(published, why, tuple(self.parked), self.unclear and not published, tuple(self.notices))

    def _pushed(self, look: bool) -> Shared:
        deadline = time.monotonic() + DEADLINE
        refused = 0
        if look:
            self._pulled(CALL)
        while True:
            head, known = self.store.head(), self.store.ref(REMOTE)
            if known is not None and self.store.holds(head, known):
                return self._told(True)
            if known is None and (why := self._first()):
                return self._told(False, why)
            fault.at("before_push", self.rules)
            pushed = self.remote.push(head, CALL)
            fault.at("after_push", self.rules)
            if pushed.ok:
                self._published(head, known, pushed.old)
                return self._told(True)
            self.unclear = True  # until the remote has said what it has
            before = (self.store.head(), self.store.ref(REMOTE))
            self._pulled(CALL)
            self.unclear = False
            refused = refused + 1 if before == (self.store.head(), self.store.ref(REMOTE)) else 0
            if refused >= TRIES or time.monotonic() > deadline:
                self.memory.put(failed_at=self.now(), failed=pushed.why)
                return self._told(False, f"{self.remote.name} refused it: {pushed.why}")
            time.sleep(random.uniform(0.01, 0.05) * (1 + refused * 4))

    def _first(self) -> str:
        """Before the first push: why it is not made; empty where it may be."""
        heads = self.remote.heads(CALL)
        if not heads:
            return (
                f"{self.remote.name} has no branch yet, and the store is not to be the first (it would be the default)"
            )
        if self.remote.branch in heads:
            self._pulled(CALL)
        return ""

    def _published(self, head: str, known: str | None, old: str | None) -> None:
        if known is not None and (old is None or not self._reaches(known, old)):
            was = "was deleted" if old is None else f"had gone back to {old[:12]}"
            self.notices.append(f"the branch {self.remote.branch} on {self.remote.name} {was}; it is whole again now")
        self._note(head)

    def _reaches(self, old: str, new: str) -> bool:
        return self.store.git.object(new) is not None and self.store.holds(old, new)

    def _note(self, head: str) -> None:
        self.store.git.run("update-ref", "--no-deref", REMOTE, head)
        self.memory.put(asked_at=self.now(), fetched_at=self.now(), failed_at=0, away_at=0, failed="", lost="")

    def _pulled(self, timeout: float) -> None:
        """Fetches, judges and takes what others have published."""
        theirs, known = self.remote.fetch(timeout), self.store.ref(REMOTE)
        if theirs is None:
            if known is not None:
                self._lost(f"the branch {self.remote.branch} was deleted on {self.remote.name}")
            self.memory.put(asked_at=self.now())
            return
        if known is not None and not self.store.holds(known, theirs):
            if not self.store.holds(theirs, known):
                self._lost(f"the history on {self.remote.name} was rewritten: it no longer holds {known[:12]}")
                raise Away(f"{self.remote.name} has a history that is not this store's any more", "atlas doctor")
            self._lost(f"the branch {self.remote.branch} on {self.remote.name} went back to {theirs[:12]}")
            self.memory.put(asked_at=self.now())
            return
        self._same_store(theirs)
        self._taken(theirs, known)
        self._note(theirs)

    def _lost(self, what: str) -> None:
        self.memory.put(lost=what)
        self.notices.append(f"{what}; this clone still holds all of it: atlas doctor says what can be done")

    def _same_store(self, theirs: str) -> None:
        """Refused for a branch that is no store, and for another store than ours, once ours has grown."""
        tree = self.store.snapshot(theirs)
        there = str(policy.usable(tree).get("store", "")) if tree.blob(policy.FOLDER) else ""
        root = history.root(self.store.git, theirs)
        if not there or root != _root(self.store):
            raise Refused(
                f"the branch {self.remote.branch} on {self.remote.name} is not an Atlas store; it was left alone",
                "name another branch: atlas init --branch B",
                code="not_a_store",
            )
        ours = str(policy.usable(self.store.snapshot()).get("store", ""))
        if ours and ours != there and self._grown():
            raise Refused(
                f"{self.remote.name} holds another store ({there}) than this clone ({ours}), and both have grown",
                "atlas init --carry takes the remote's, and puts what this one holds behind it",
                code="two_stores",
            )

    def _grown(self) -> bool:
        """Whether the store has more than its root and its policy."""
        return int(self.store.git.run("rev-list", "--count", "--max-count=3", BRANCH)) > 2

    def _taken(self, theirs: str, known: str | None) -> None:
        """Moves the local branch so that it holds theirs, and ours behind it."""
        with lock.held(self.store.home / "writer.lock") as fd:
            keep = () if fd is None else (fd,)
            while True:
                head = self.store.head()
                if self.store.holds(theirs, head):
                    return
                base = self.store.git.run("merge-base", head, theirs).decode().strip()
                new = list(history.between(self.store.git, base, theirs))
                self._judged(known, theirs)
                ours = [] if base == head or not self._grown() else list(history.between(self.store.git, base, head))
                if base == _root(self.store):
                    ours = []  # a store that was made here and never used: theirs is the one
                carried = replay.carry(self.store, ours, new, theirs) if ours else None
                for one in carried.parked if carried else ():
                    self._park(one)
                if self._moved(head, carried.head if carried else theirs, keep):
                    return

    def _park(self, one: replay.Parked) -> None:
        operation = one.commit.message.operation or one.commit.oid
        self.store.git.run("update-ref", "--no-deref", parked_ref(operation), one.commit.oid)
        self.parked.append(operation)
        self.notices.append(f"parked: {one.commit.message.subject}: {one.why} (operation {operation})")

    def _moved(self, old: str, new: str, keep: Sequence[int]) -> bool:
        git = self.store.git
        if old != new and not self.store.holds(old, new):
            git.run("update-ref", "--no-deref", BEFORE, old)
        git.ask("update-ref", "--no-deref", BRANCH, new, old, options=["core.fsync=all"], keep=keep)
        sync_folders(self.store.home / "store.git/refs/heads")
        self.store.git.close()
        return self.store.head() == new

    def _judged(self, known: str | None, theirs: str) -> None:
        """What a fetch brought is history, whatever it holds; what breaks a rule is said."""
        if known is None or not self.store.holds(known, theirs):
            return  # joining: `atlas verify` judges all of it
        found = audit.judge(self.store, known, theirs)
        if found:
            first = found[0]
            self.notices.append(
                f"{len(found)} violation{'s' * (len(found) > 1)} came with the fetch, the first in {first.commit[:12]} "
                f"({first.violation.rule}: {first.violation.path}): atlas verify"
            )


def join(place: Place) -> bool:
    """Makes this clone's store from the one that its remote has; False where there is no remote, or no store in it.
    Where the remote gives no answer, from the copy of its branch that the user's repository holds; Away without one."""
    there = find(place, place.home)
    if there is None:
        return False
    try:
        if there.branch not in there.heads(CALL):
            return False
        copy = None
    except Away:
        copy = there.copy(place)
        if copy is None:
            raise
    made = create(place)
    there = copy or find(place, place.home)
    try:
        if there is not None:
            Exchange(made, there).take()
    except BaseException:
        if is_bare_root(made.snapshot()):
            shutil.rmtree(made.home / "store.git", ignore_errors=True)
        raise
    return True


def _root(store: Store) -> str:
    from ..records.tree import object_id

    return object_id("commit", root_commit(store.place.width), store.place.width)


def unpublished(store: Store) -> int:
    """How many commits no remote is known to have."""
    known = store.ref(REMOTE)
    return int(store.git.run("rev-list", "--count", BRANCH, *([f"^{known}"] if known else [])))

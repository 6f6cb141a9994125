"""Publishing: a push is the compare-and-set of the fleet. Recorded writes are pushed plainly; where others were first,
theirs are fetched and judged, and ours carried over behind them, or parked."""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import AtlasError, Refused
from ..records import policy
from . import BEFORE, BRANCH, PARKED, REMOTE, audit, fault, history, lock, replay
from .branch import Branch
from .place import Place
from .remote import INCOMING, Away, Remote, find
from .store import Store, create, is_bare_root, parked_ref, root_commit, sync_folders

LOCK_WAIT = 10.0  # seconds for another command that publishes; then the answer is "recorded"
CALL = 10.0  # seconds for one call to the remote
DEADLINE = 30.0  # seconds for all of it
LOOK = 0.2  # seconds after which a waiting command looks whether the other's push has taken it along
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
        self.data = self._read(self.file)

    def get(self, key: str) -> float:
        found = self.data.get(key)
        return float(found) if isinstance(found, int | float) else 0.0

    def put(self, **fields: Any) -> None:
        self.data = Memory._read(self.file) | fields  # another command may have noted something since
        part = self.file.with_suffix(f".{os.getpid()}")
        try:
            part.write_text(json.dumps(self.data))
            part.replace(self.file)
        except OSError:
            return  # a memory, no more

    @staticmethod
    def _read(file: Path) -> dict[str, Any]:
        try:
            found = json.loads(file.read_text())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


class Exchange:
    """One conversation with the remote. `mine`: the operation that it is for, if it is for one."""

    def __init__(self, store: Store, remote: Remote, mine: str = "") -> None:
        self.store, self.remote, self.memory, self.mine = store, remote, Memory(store), mine
        self.rules = policy.usable(store.snapshot())
        self.call = fault.patience(CALL, self.rules)
        self.notices: list[str] = []
        self.parked: list[str] = []
        self.unclear = False
        self.seen = store.ref(REMOTE)
        self.brought: str | None = None  # the newest head that was fetched

    def publish(self, look: bool = False) -> Shared:
        """Pushes what was recorded; `look`: asks the remote even where nothing is to be pushed. Who waits here while
        another command pushes, that command's push may take along."""
        deadline = time.monotonic() + LOCK_WAIT
        while True:
            with lock.held(self.store.home / "publish.lock", wait=LOOK) as fd:
                if self._arrived():
                    return self._told(True)
                if fd is not None:
                    return self._held(look, self.store.ref(REMOTE))
            if time.monotonic() > deadline:
                return self._told(False, "another command is publishing; it, or the next one, carries this along")

    def _held(self, look: bool, known: str | None) -> Shared:
        """As the one command that publishes. What was brought is judged last: until then others are first again."""
        try:
            shared = self._pushed(look)
        except AtlasError as error:
            self.memory.put(failed_at=time.time(), failed=error.message)
            if not isinstance(error, Away):
                raise
            shared = self._told(False, error.message)
        self._judged(known)
        return shared._replace(notices=tuple(self.notices))

    def _arrived(self) -> bool:
        """Whether the remote is known to have the operation that this is for."""
        known = self.store.ref(REMOTE) if self.mine else None
        if known is None or known == self.seen:
            return False
        self.seen = known
        found = self.store.at(self.store.head()).operation(self.mine)
        return found is not None and self.store.holds(found["oid"], known)

    def pull(self, timeout: float, wait: float = 0.0) -> bool:
        """Brings what others have published, if nobody else is at it; False where it could not be asked."""
        with lock.held(self.store.home / "publish.lock", wait=wait) as fd:
            if fd is None:
                return False
            known = self.store.ref(REMOTE)
            try:
                self._pulled(fault.patience(timeout, self.rules))
                self._judged(known)
            except Away as error:
                now = time.time()
                self.memory.put(asked_at=now, away_at=now, failed_at=now, failed=error.message)
                return False
            return True

    def take(self) -> None:
        """Takes the remote's store into one that has nothing yet."""
        self._pulled(self.call)

    def _told(self, published: bool, why: str = "") -> Shared:
        return Shared(published, why, tuple(self.parked), self.unclear and not published, tuple(self.notices))

    def _pushed(self, look: bool) -> Shared:
        deadline = time.monotonic() + DEADLINE
        refused, why = 0, ""
        if look:
            self._pulled(self.call)
        if self.store.ref(REMOTE) is None and (why := self._first()):
            return self._told(False, why)
        while True:
            head, known = self.store.head(), self.store.ref(REMOTE)
            if head == known:  # (the branch always holds what is known to be there)
                return self._told(True)
            if refused >= TRIES or (refused and time.monotonic() > deadline):
                self.memory.put(failed_at=time.time(), failed=why)
                return self._told(False, f"{self.remote.name} refused it: {why}")
            if time.monotonic() > deadline:
                return self._told(False, f"others were faster, for {DEADLINE:.0f} s")
            fault.at("before_push", self.rules)
            pushed = self.remote.push(head, self.call)
            fault.at("after_push", self.rules)
            if pushed.ok:
                self._published(head, known, pushed.old)
                return self._told(True)
            self.unclear, why = pushed.unclear, pushed.why  # until the remote has said what it has
            before = (self.store.head(), self.store.ref(REMOTE))
            time.sleep(random.uniform(0, 0.05) * (1 + refused * 4))  # before the look: what it shows is to be pushed on
            self._pulled(self.call)
            self.unclear = False
            refused = refused + 1 if before == (self.store.head(), self.store.ref(REMOTE)) else 0

    def _first(self) -> str:
        """Before the first push: why it is not made; empty where it may be."""
        heads = self.remote.heads(self.call)
        if not heads:
            return (
                f"{self.remote.name} has no branch yet, and the store is not to be the first (it would be the default)"
            )
        if self.remote.branch in heads:
            self._pulled(self.call)
        return ""

    def _published(self, head: str, known: str | None, old: str | None) -> None:
        if known is not None and (old is None or not self._reaches(known, old)):
            was = "was deleted" if old is None else f"had gone back to {old[:12]}"
            self.notices.append(f"the branch {self.remote.branch} on {self.remote.name} {was}; it is whole again now")
        self._note(head)

    def _reaches(self, old: str, new: str) -> bool:
        return self.store.git.object(new) is not None and self.store.holds(old, new)

    def _note(self, head: str) -> None:
        if self.store.ref(REMOTE) != head:
            self.store.git.run("update-ref", "--no-deref", REMOTE, head)
        self.memory.put(asked_at=time.time(), fetched_at=time.time(), failed_at=0, away_at=0, failed="", lost="")

    def _pulled(self, timeout: float) -> None:
        """Fetches, judges and takes what others have published."""
        known = self.store.ref(REMOTE)
        theirs = self.store.ref(INCOMING) if self.remote.fetch(timeout) else None
        if theirs is None:
            if known is not None:
                self._lost(f"the branch {self.remote.branch} was deleted on {self.remote.name}")
            self.memory.put(asked_at=time.time())
            return
        if known is not None and not self.store.holds(known, theirs):
            if not self.store.holds(theirs, known):
                self._lost(f"the history on {self.remote.name} was rewritten: it no longer holds {known[:12]}")
                raise Away(f"{self.remote.name} has a history that is not this store's any more", "atlas doctor")
            self._lost(f"the branch {self.remote.branch} on {self.remote.name} went back to {theirs[:12]}")
            self.memory.put(asked_at=time.time())
            return
        if known is None:  # what it holds of ours makes it ours
            self._same_store(theirs)
        self._taken(theirs)
        self._note(theirs)
        self.brought = theirs if theirs != known else self.brought

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

    def _taken(self, theirs: str) -> None:
        """Moves the local branch so that it holds theirs, and ours behind it."""
        with lock.held(self.store.home / "writer.lock") as fd:
            branch = Branch(self.store, fd)
            while True:
                head = self.store.head()
                base = self.store.git.run("merge-base", head, theirs).decode().strip()
                if base == theirs:
                    return
                # What was made here and never used gives way to what is there.
                ours = [] if base in (head, _root(self.store)) else list(history.between(self.store.git, base, head))
                new = list(history.between(self.store.git, base, theirs)) if ours else []
                carried = replay.carry(self.store, ours, new, theirs) if ours else None
                parked = carried.parked if carried else ()
                refs = [(parked_ref(one.commit.message.operation or one.commit.oid), one.commit.oid) for one in parked]
                refs += [(REMOTE, theirs), *[(BEFORE, head)] * (base != head)]
                self.store.at(head)  # an index that were behind would take this for a history that was rewound
                fault.at("before_carry", self.rules)
                if branch.move(head, carried.head if carried else theirs, ["core.fsync=all"], refs):
                    break
        sync_folders(*(self.store.home / "store.git" / name for name in ("refs/heads", PARKED)))
        fault.at("after_carry", self.rules)
        self._park(parked)

    def _park(self, parked: Sequence[replay.Parked]) -> None:
        for one in parked:
            operation = one.commit.message.operation or one.commit.oid
            self.parked.append(operation)
            self.notices.append(f"parked: {one.commit.message.subject}: {one.why} (operation {operation})")

    def _judged(self, known: str | None) -> None:
        """What a fetch brought is history, whatever it holds; what breaks a rule is said."""
        if known is None or self.brought is None:
            return  # joining: `atlas verify` judges all of it
        try:
            found = audit.judge(self.store, known, self.brought)
        except AtlasError as error:
            self.notices.append(f"what came with the fetch cannot be judged: {error.message}")
            return
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

"""Publishing: a push is the compare-and-set of the fleet. Recorded writes are pushed plainly; where
others were first, theirs are fetched and judged, and ours carried over behind them, or parked."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from .. import interrupts
from ..errors import AtlasError, Failed, Refused
from ..records import judging
from ..store import BEFORE, BRANCH, OUTBOX, REMOTE, failpoints, history, lock
from ..store.branch import STALE, Branch, change, cleared, swept
from ..store.store import Store, root_id
from .joining import is_store
from .remote import CALL, INCOMING, Away, Remote
from .remote_state import RemoteState

if TYPE_CHECKING:
    from . import carry_over

# seconds for another command that publishes, and for all tries; then the answer is "recorded"
LOCK_WAIT = 10.0
DEADLINE = 30.0  # seconds for all tries where only "published" will do
LOOK = (
    0.2  # seconds after which a waiting command looks whether the other's push has taken it along
)
SPACING = 6  # times what a push takes that one waits for the other sessions of a clone
REMEMBERED = 30  # seconds that a failed push is remembered
IN_OUTBOX = (
    "nothing but this worktree can be written here: the next command that can write the store takes"
    " it in"
)
_OUTBOX = re.compile(
    r"/atlas-[0-9a-f]{12}-[0-9a-f]{8}\Z"
)  # as `_beside` names them: no other is dropped
TRIES = 3  # pushes in a row that may be refused although nobody else was first


class Shared(NamedTuple):
    """What became of it. `published`: all that was recorded is in the remote's history; `parked`:
    the operations that could not be carried over; `unclear`: the remote may have taken a push whose
    answer was lost; `error`: it will not work until somebody does something."""

    published: bool
    why: str = ""
    parked: tuple[str, ...] = ()
    unclear: bool = False
    notices: tuple[str, ...] = ()
    error: AtlasError | None = None


class Lost(Refused):
    """The remote has lost what was published there."""

    code = "branch_lost"


class Exchange:
    """One conversation with the remote. `mine`: the operation that it is for, if it is for one;
    `carry`: the remote's history is taken whatever it is, if only it is a store's, and all that
    this clone holds beyond it is put behind; `restore`: what was lost there is pushed back."""

    def __init__(self, store: Store, remote: Remote, mine: str = "") -> None:
        self.store, self.remote, self.memory, self.mine = store, remote, RemoteState(store), mine
        self.rules = store.policy(store.snapshot())
        self.call = failpoints.patience(CALL, self.rules)
        self.notices: list[str] = []
        self.parked: list[str] = []
        self.unclear = self.restore = False
        self.carry = remote.local  # (what the clone has recorded and not published moves on)
        self.asked = False  # the remote has said what it has
        self.within: float | None = None  # seconds that all of it may take
        self.busy = STALE + 2  # seconds that a lock of a ref is waited for
        self.by = ""  # the session that it is for
        self.aside = True  # whether another branch may take what the store's own does not
        self.where = f"{remote.url} {remote.branch}"
        self.seen = store.ref(REMOTE)
        self.brought: str | None = None  # the newest head that was fetched

    def publish(self, look: bool = False) -> Shared:
        """Pushes what was recorded; `look`: asks the remote even where nothing is to be pushed. Who
        waits here while another command pushes, that command's push may take along."""
        began = time.monotonic()
        while True:
            interrupts.waited()
            with lock.held(self.store.home / "publish.lock", wait=LOOK) as fd:
                if self._arrived():
                    return self._told(True)
                if fd is not None:
                    return self._held(
                        look, began + (self.within or (LOCK_WAIT if self.aside else DEADLINE))
                    )
            if time.monotonic() > began + (self.within or LOCK_WAIT):
                return self._told(
                    False, "another command is publishing; it, or the next one, carries this along"
                )

    def _held(self, look: bool, deadline: float) -> Shared:
        """As the one command that publishes. What was brought is judged last: until then others are
        first again."""
        known = self.store.ref(REMOTE)
        swept(self.store, self._refs())
        try:
            shared = self._pushed(look, deadline)
        except (AtlasError, OSError) as failure:
            error = environment(failure)
            self._failed(error)
            unclear = self.unclear and not isinstance(
                error, Refused
            )  # (that stands on what the remote has said)
            shared = self._told(False, error.message)._replace(unclear=unclear)
            shared = shared if isinstance(error, Away) else shared._replace(error=error)
        self._judged(known)
        return shared._replace(notices=tuple(self.notices))

    def _refs(self) -> list[str]:
        """What a conversation with the remote may move."""
        return [
            BRANCH,
            INCOMING,
            REMOTE,
            BEFORE,
            *(f"{OUTBOX}{name}" for name in self.memory.data.get("known", {})),
        ]

    def _arrived(self) -> bool:
        """Whether the remote is known to have the operation that this is for."""
        known = self._known() if self.mine else None
        if known is None or known == self.seen:
            return False
        self.seen = known
        found = self.store.at(self.store.head()).operation(self.mine)
        return found is not None and self.store.holds(found["oid"], known)

    def pull(self, timeout: float, wait: float = 0.0) -> AtlasError | None:
        """Brings what others have published, if nobody else is at it; why it could not be."""
        try:
            with lock.held(self.store.home / "publish.lock", wait=wait) as fd:
                if fd is None:
                    return None
                known = self.store.ref(REMOTE)
                swept(self.store, self._refs())
                self.busy = 0.0  # a reader goes on with the copy that is there
                if timeout < CALL:
                    self.remote = self.remote._replace(
                        until=time.monotonic() + failpoints.patience(timeout, self.rules)
                    )
                self._pulled(failpoints.patience(timeout, self.rules))
                self._judged(known)
        except (AtlasError, OSError) as failure:
            error = environment(failure)
            if error.code != "configuration":  # (that is not a matter of time: each read says so)
                self._failed(error)
                self.memory.put(asked_at=time.time(), away_at=time.time())
            return error
        return None

    def _failed(self, error: AtlasError) -> None:
        """Remembered; what will not mend itself is told by every command until it is mended."""
        lost = {"lost": error.message} if isinstance(error, Refused) else {}
        self.memory.put(failed_at=time.time(), failed=error.message, **lost)

    def _known(self) -> str | None:
        """The last published head; None at an address that has not answered yet, whatever another
        one has."""
        same = self.memory.data.get("where", self.where) == self.where
        return self.store.ref(REMOTE) if same else None

    def _told(self, published: bool, why: str = "") -> Shared:
        return Shared(
            published, why, tuple(self.parked), self.unclear and not published, tuple(self.notices)
        )

    def _pushed(self, look: bool, deadline: float) -> Shared:
        self.call = min(self.call, self.within or CALL)
        refused, why = 0, ""
        if look or self.memory.data.get("lost") or self.remote.local:
            self._asked()
        if self.remote.local:
            return self._told(False, IN_OUTBOX)
        if self._known() is None and (why := self._first()):
            return self._told(False, why)
        self._gather_others()
        began = 0.0
        while True:
            head, known = self.store.head(), self._known()
            if (
                head == known and not self.restore
            ):  # (the branch always holds what is known to be there)
                return self._done()
            if refused >= TRIES or (refused and time.monotonic() > deadline):
                why = f"{self.remote.name} refused it: {why}{self._beside(head, known)}"
                self.memory.put(failed_at=time.time(), failed=why)
                return self._told(False, why)
            if (
                began and time.monotonic() > deadline
            ):  # (one try it has, however long it stood in the queue)
                return self._told(
                    False, "others were faster; the next push of this clone carries it along"
                )
            began = time.monotonic()
            failpoints.at("before_push", self.rules)
            pushed = self.remote.push(head, self.call)
            failpoints.at("after_push", self.rules)
            if pushed.ok and not self.remote.split:
                with suppress(
                    AtlasError, OSError
                ):  # it is there, whatever this clone can note of it
                    self._published(head, known, pushed.old)
                self.memory.put(
                    pushed_at=time.time(), pushed_by=self.by, took=time.monotonic() - began
                )
                return self._done()
            self.unclear, why = pushed.unclear, pushed.why  # until the remote has said what it has
            # Before the look, since what that shows is to be pushed on at once.
            time.sleep(random.uniform(0, min(1.0, time.monotonic() - began)))
            interrupts.waited()
            self._pulled(self.call)
            self.unclear, final = False, pushed.final
            if (pushed.ok or pushed.old == head) and self._known() != head:
                why, final = "it is read from another place than it is pushed to (pushurl)", True
            refused = refused + (TRIES if final else 1) if self._known() == known else 0

    def _gather_others(self) -> None:
        """Where several sessions of this clone write at once, there are a few moments between two
        pushes: in these the others record what the next push takes along, and other clones have
        theirs."""
        if self.by and self.memory.data.get("pushed_by") not in (None, self.by):
            rest = (
                self.memory.get("pushed_at")
                + min(1.0, SPACING * self.memory.get("took"))
                - time.time()
            )
            time.sleep(rest if 0.0 < rest <= 1.0 else 0.0)  # (the clock may have gone back)

    def _beside(self, head: str, known: str | None) -> str:
        """Where the branch may not be pushed: pushed to one of this clone's own that the policy
        names, from which the next clone that may takes it in."""
        for pattern in self.rules["outbox_refs"] if self.aside else ():
            name = pattern.replace("*", f"atlas-{self.store.machine}-{(known or head)[:8]}")
            pushed = self.remote._replace(ref=f"refs/heads/{name}").push(head, self.call)
            if pushed.ok or pushed.old == head:
                self.memory.put(beside=name)
                return f"; it waits on the branch {name} for a clone that may"
        return ""

    def _outboxes(self) -> list[str]:
        """The branches to look for; none where this clone uses one itself."""
        mine = self.memory.data.get("beside")
        return (
            []
            if mine
            else [pattern.replace("*", "atlas-*") for pattern in self.rules["outbox_refs"]]
        )

    def _gathered(self) -> None:
        """Takes in what waits on such branches."""
        from . import outbox

        git, known, taken = (
            self.store.git,
            *(self.memory.data.get(key, {}) for key in ("known", "taken")),
        )
        rows = (
            git.run("for-each-ref", "--format=%(refname) %(objectname)", OUTBOX)
            .decode()
            .split("\n")
        )
        seen, taken = dict(row.removeprefix(OUTBOX).split(" ") for row in rows if row), dict(taken)
        for name, oid in seen.items():
            if known.get(name) == oid or not _OUTBOX.search(name):
                continue
            try:
                if history.fork(git, self.store.head(), oid) in (
                    None,
                    root_id(self.store.place.width),
                ):
                    raise outbox.NoOutbox(
                        "it is no outbox of this store"
                    )  # (all stores share their root)
                carried = outbox.behind(self.store, oid)
            except AtlasError as error:
                self.notices.append(
                    f"the branch {name} on {self.remote.name} was left alone: {error.message}"
                )
                if not isinstance(error, outbox.NoOutbox):
                    seen[name] = ""  # what is here may have been in the way: tried again
                continue
            taken[name] = oid
            if carried.moved or carried.parked:
                self._park(carried.parked)
                self.notices.append(f"taken in from the branch {name}")
        # (a ref that stays would bar another whose name it begins)
        change(self.store, [f"delete {OUTBOX}{name}" for name in seen], self.busy)
        self.memory.put(known=seen, taken=taken)

    def _done(self) -> Shared:
        """All is published: the branches that brought some of it are done with."""
        taken = self.memory.data.get("taken", {})
        with suppress(Away):  # tried again after the next push
            for name, oid in taken.items():
                self.remote.drop(name, oid, self.call)
            if taken or self.memory.data.get("beside"):
                self.memory.put(taken={}, beside="")
        return self._told(True)

    def _asked(self) -> None:
        """Asks what is there; a branch that was deleted or went back may be on its way to be
        restored."""
        try:
            self._pulled(self.call)
        except Lost:
            if not self.restore:
                raise
        else:
            self.restore = False

    def _first(self) -> str:
        """Before the first push: why it is not made; empty where it may be."""
        heads = self.remote.heads(self.call)
        if not heads:
            return (
                f"{self.remote.name} has no branch yet, and the store is not to be the first (it"
                " would be the default)"
            )
        if self.remote.branch in heads:
            self._pulled(self.call)
        return ""

    def _published(self, head: str, known: str | None, old: str | None) -> None:
        if known is not None and (old is None or not self._reaches(known, old)):
            was = "was deleted" if old is None else f"had gone back to {old[:12]}"
            self.notices.append(
                f"the branch {self.remote.branch} on {self.remote.name} {was}; it is whole"
                " again now"
            )
        self._note(head)

    def _reaches(self, old: str, new: str) -> bool:
        return self.store.git.object(new) is not None and self.store.holds(old, new)

    def _note(self, head: str) -> None:
        if self.store.ref(REMOTE) != head:
            change(self.store, [f"update {REMOTE} {head}"], self.busy)
        self.restore = False
        self.memory.put(
            asked_at=time.time(),
            fetched_at=time.time(),
            failed_at=0,
            away_at=0,
            failed="",
            lost="",
            where=self.where,
        )

    def _pulled(self, timeout: float) -> None:
        """Fetches, judges and takes what others have published."""
        known = self._known()
        also = [f"+refs/heads/{one}:{OUTBOX}{one}" for one in self._outboxes()]
        theirs = self.store.ref(INCOMING) if self._fetched(timeout, also) else None
        self.asked = True
        there = f"the branch {self.remote.branch} on {self.remote.name}"
        if theirs is None:
            if known is not None:
                raise Lost(
                    f"{there} was deleted; this clone still holds it all",
                    "atlas doctor --fix pushes it back",
                )
            self.memory.put(asked_at=time.time(), lost="")
            return
        if known is not None and not self.carry and not self.store.holds(known, theirs):
            if self.store.holds(theirs, known):
                raise Lost(
                    f"{there} went back to {theirs[:12]}; this clone still holds it all",
                    "atlas doctor --fix pushes the rest again",
                )
            raise Refused(
                f"{there} was rewritten: its history no longer holds {known[:12]}, which this clone"
                " still does",
                "whoever may force a push there can put that back; if the new history is right,"
                " atlas init --carry takes it, and puts behind it what this clone holds beyond it",
                code="rewritten",
            )
        if known is None or (
            self.carry and not self.remote.local
        ):  # else what it holds of ours makes it ours
            is_store(self.store.git, self.remote, theirs)
        self._taken(theirs)
        self._note(theirs)
        if self._outboxes():
            self._gathered()
        self.brought = theirs if theirs != known else self.brought

    def _fetched(self, timeout: float, also: Sequence[str]) -> bool:
        """Fetches; once more where it was a lock of a ref that was in the way."""
        refs = [INCOMING, *(one.rpartition(":")[2] for one in also)]
        for again in (True, False):
            try:
                return self.remote.fetch(timeout, also)
            except Away:
                if not again or not cleared(self.store, refs, self.busy):
                    raise
        return False

    def _only_one(self, theirs: str) -> None:
        """Refused for another store than ours, once ours has grown."""
        ours, others = (judging.store_id(self.store.snapshot(one)) for one in (None, theirs))
        if not self.carry:
            raise Refused(
                f"{self.remote.name} holds another store ({others}) than this clone ({ours}), and"
                " both have grown",
                "atlas init --carry takes the remote's, and puts what this one holds behind it",
                code="two_stores",
            )

    def _taken(self, theirs: str) -> None:
        """Moves the local branch so that it holds theirs, and ours behind it."""
        from . import carry_over  # most pushes need none of it

        with lock.held(self.store.home / "writer.lock") as fd:
            branch = Branch(self.store, fd, within=DEADLINE if self.busy else 3.0)
            while True:
                head = self.store.head()
                base = history.fork(self.store.git, head, theirs)
                if base == theirs:
                    return
                ours = [] if base == head else list(history.between(self.store.git, base, head))
                if base == root_id(self.store.place.width):
                    ours = [one for one in ours if not carry_over.brings_policy(one)]
                    if ours:  # what was made here and never used gives way to what is there
                        self._only_one(theirs)
                new = list(history.between(self.store.git, base, theirs)) if ours else []
                carried = carry_over.carry(self.store, ours, new, theirs) if ours else None
                parked = carried.parked if carried else ()
                also = [(REMOTE, theirs), *[(BEFORE, head)] * (base != head)]
                if carry_over.moved(
                    self.store, branch, head, carried.head if carried else theirs, parked, also
                ):
                    break
        self._park(parked)

    def _park(self, parked: Sequence[carry_over.Parked]) -> None:
        for one in parked:
            self.parked.append(one.operation)
            self.notices.append(
                f"parked: {one.commit.message.subject}: {one.why} (operation {one.operation})"
            )

    def _judged(self, known: str | None) -> None:
        """What a fetch brought is history, whatever it holds; what breaks a rule is said."""
        if known is None or self.brought is None or self.carry:
            return  # joining: `atlas verify` judges all of it
        from ..verify import audit

        try:
            index = self.store.at(self.store.head())
            found = audit.judge(self.store.git, self.store.place.width, known, self.brought, index)
        except (AtlasError, OSError) as failure:
            self.notices.append(
                f"what came with the fetch cannot be judged: {environment(failure).message}"
            )
            return
        if found:
            first = found[0]
            what = f"{first.violation.rule}: {first.violation.path or first.violation.text}"
            self.notices.append(
                f"{len(found)} violation{'s' * (len(found) > 1)} came with the fetch, the first in"
                f" {first.commit[:12]} ({what}): atlas verify"
            )


def environment(failure: AtlasError | OSError) -> AtlasError:
    """An error of the operating system on the way to the remote, as one of ours."""
    if isinstance(failure, AtlasError):
        return failure
    what = f"{failure.filename}: " if failure.filename else ""
    return Failed(f"{what}{failure.strerror or failure}", "atlas doctor", code="environment")

"""Publishing: a push is the compare-and-set of the fleet. Recorded writes are pushed plainly. If
others were first, their commits are fetched and judged, and ours are carried over behind them, or
parked."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from .. import interrupts
from ..errors import AtlasError, NotPublished, Refused
from ..records import judging
from ..store import BEFORE, BRANCH, OUTBOX, REMOTE, failpoints, history, lock
from ..store.branch import STALE, Branch, change, cleared, swept
from ..store.root import root_id
from ..store.store import Store
from ..visible import many
from . import branches
from .dealing import Purpose
from .joining import brings_policy, is_store
from .remote import CALL, INCOMING, Away, Remote
from .remote_state import RemoteState
from .shared import Lost, Shared, as_error

if TYPE_CHECKING:
    from . import carry_over

# seconds for another command that publishes, and for all tries; then the answer is "recorded"
LOCK_WAIT = 10.0
DEADLINE = 30.0  # seconds for all tries where only "published" will do
# seconds after which a waiting command looks whether the other's push has taken it along
LOOK = 0.2
SPACING = 6  # times what a push takes that one waits for the other sessions of a clone
REMEMBERED = 30  # seconds that a failed push is remembered
IN_OUTBOX = (
    "nothing but this worktree can be written here: the next command that can write the store takes"
    " it in; until then git clean -fdx would lose it"
)
TRIES = 3  # pushes in a row that may be refused although nobody else was first


class Exchange:
    """One conversation with the remote."""

    def __init__(self, store: Store, remote: Remote, purpose: Purpose) -> None:
        self.store, self.remote, self.memory = store, remote, RemoteState(store)
        self.purpose, self.mine, self.by = purpose, purpose.mine, purpose.by
        self.policy = store.rules(store.snapshot())
        self.call = failpoints.patience(CALL, self.policy)
        self.notices: list[str] = []
        self.parked: list[str] = []
        self.unclear, self.restore = False, purpose.restore
        # (what the clone has recorded and not published moves on)
        self.carry = purpose.carry or remote.local
        self.asked = False  # the remote has said what it has
        self.busy = STALE + 2  # seconds that a lock of a ref is waited for
        self.where = f"{remote.url} {remote.branch}"
        self.seen = store.ref(REMOTE)
        self.brought: str | None = None  # the newest head that was fetched

    def publish(self, look: bool = False) -> Shared:
        """Pushes what was recorded. While this command waits for another one that pushes, that push
        may take it along. look: ask the remote even if nothing is to be pushed."""
        began = time.monotonic()
        while True:
            interrupts.waited()
            with lock.held(self.store.home / "publish.lock", wait=LOOK) as fd:
                if self._arrived():
                    return self._shared(True)
                if fd is not None:
                    return self._held(look, began + self._patience())
            if time.monotonic() > began + (self.purpose.within or LOCK_WAIT):
                return self._shared(
                    False, "another command is publishing; it, or the next one, carries this along"
                )

    def _patience(self) -> float:
        """The seconds that all tries may take."""
        return self.purpose.within or (LOCK_WAIT if self.purpose.aside else DEADLINE)

    def _held(self, look: bool, deadline: float) -> Shared:
        """Publishes, as the one command that may now. The commits that were brought are judged
        last, since others may be first again until then."""
        known = self.store.ref(REMOTE)
        swept(self.store, self._refs())
        try:
            shared = self._pushed(look, deadline)
        except (AtlasError, OSError) as failure:
            error = as_error(failure)
            self._failed(error)
            # (A refusal stands on what the remote has said.)
            unclear = self.unclear and not isinstance(error, Refused)
            shared = self._shared(False, error.message)._replace(unclear=unclear)
            if not isinstance(error, Away):
                shared = shared._replace(error=error)
        self._judged(known)
        return shared._replace(notices=tuple(self.notices))

    def _refs(self) -> list[str]:
        """The refs that a conversation with the remote may move."""
        return [BRANCH, INCOMING, REMOTE, BEFORE, *branches.refs(self.memory)]

    def _arrived(self) -> bool:
        """Whether the remote is known to have the operation that this is for."""
        known = self._known() if self.mine else None
        if known is None or known == self.seen:
            return False
        self.seen = known
        commit = self.store.at(self.store.head()).operation(self.mine)
        return commit is not None and self.store.holds(commit["oid"], known)

    def pull(self, timeout: float, wait: float = 0.0) -> AtlasError | None:
        """Brings what others have published, if nobody else is at it. The error, if it could not
        be."""
        try:
            with lock.held(self.store.home / "publish.lock", wait=wait) as fd:
                if fd is None:
                    return None
                known = self.store.ref(REMOTE)
                swept(self.store, self._refs())
                self.busy = 0.0  # a reader goes on with the copy that is there
                if timeout < CALL:
                    self.remote = self.remote._replace(
                        until=time.monotonic() + failpoints.patience(timeout, self.policy)
                    )
                self._pulled(failpoints.patience(timeout, self.policy))
                self._judged(known)
        except (AtlasError, OSError) as failure:
            error = as_error(failure)
            if error.code != "configuration":  # (that is not a matter of time: each read says so)
                self._failed(error)
                self.memory.put(asked_at=time.time(), away_at=time.time())
            return error
        return None

    def _failed(self, error: AtlasError) -> None:
        """Notes a failure. One that will not mend itself is told by every command until it is
        mended."""
        lost = {"lost": error.message} if isinstance(error, Refused) else {}
        self.memory.put(failed_at=time.time(), failed=error.message, **lost)

    def _known(self) -> str | None:
        """The last published head. None if the address has not answered yet, whatever another one
        has."""
        same = self.memory.data.get("where", self.where) == self.where
        return self.store.ref(REMOTE) if same else None

    def _shared(self, published: bool, why: str = "") -> Shared:
        return Shared(
            published, why, tuple(self.parked), self.unclear and not published, tuple(self.notices)
        )

    def _pushed(self, look: bool, deadline: float) -> Shared:
        self.call = min(self.call, self.purpose.within or CALL)
        refused, why, hint = 0, "", ""
        if look or self.memory.data.get("lost") or self.remote.local:
            self._asked()
        if self.remote.local:
            return self._shared(False, IN_OUTBOX)
        if self._known() is None and (why := self._first()):
            return self._shared(False, why)
        self._gather_others()
        began = 0.0
        while True:
            head, known = self.store.head(), self._known()
            # (The branch always holds what is known to be there.)
            if head == known and not self.restore:
                return self._done()
            if refused >= TRIES or (refused and time.monotonic() > deadline):
                return self._refused(head, known, why, hint)
            # (One try it has, however long it stood in the queue.)
            if began and time.monotonic() > deadline:
                return self._shared(
                    False, "others were faster; the next push of this clone carries it along"
                )
            began = time.monotonic()
            failpoints.at("before_push", self.policy)
            pushed = self.remote.push(head, self.call)
            failpoints.at("after_push", self.policy)
            if pushed.ok and not self.remote.split:
                # It is there, whatever this clone can note of it.
                with suppress(AtlasError, OSError):
                    self._published(head, known, pushed.old)
                took = time.monotonic() - began
                self.memory.put(pushed_at=time.time(), pushed_by=self.by, took=took)
                return self._done()
            hint = pushed.hint
            self.unclear, why = pushed.unclear, pushed.why  # until the remote has said what it has
            # Before the look, since what that shows is to be pushed on at once.
            time.sleep(random.uniform(0, min(1.0, time.monotonic() - began)))
            interrupts.waited()
            self._pulled(self.call)
            self.unclear, final = False, pushed.final
            if (pushed.ok or pushed.old == head) and self._known() != head:
                why, final = "it is read from another place than it is pushed to (pushurl)", True
            if self._known() != known:
                refused = 0
            else:
                refused += TRIES if final else 1

    def _refused(self, head: str, known: str | None, why: str, hint: str) -> Shared:
        """The remote does not take the store's branch. It may take another one."""
        why = f"{self.remote.name} refused it: {why}"
        patterns = self.policy["outbox_refs"] if self.purpose.aside else ()
        name = branches.push(self.store, self.remote, head, known, patterns, self.call)
        if name:
            self.memory.put(beside=name)
            why += f"; it waits on the branch {name} for a clone that may"
        self.memory.put(failed_at=time.time(), failed=why)
        error = NotPublished(f"not published: {why}", hint) if hint else None
        return self._shared(False, why)._replace(error=error)

    def _gather_others(self) -> None:
        """Waits a moment before the push, if another session of this clone pushed just now: the
        others record what this push takes along, and other clones have their turn."""
        if self.by and self.memory.data.get("pushed_by") not in (None, self.by):
            spacing = min(1.0, SPACING * self.memory.get("took"))
            rest = self.memory.get("pushed_at") + spacing - time.time()
            time.sleep(rest if 0.0 < rest <= 1.0 else 0.0)  # (the clock may have gone back)

    def _done(self) -> Shared:
        branches.drop_taken(self.remote, self.memory, self.call)
        return self._shared(True)

    def _asked(self) -> None:
        """Asks the remote what it has. A branch that was deleted, or went back, is no error if it
        is to be restored."""
        try:
            self._pulled(self.call)
        except Lost:
            if not self.restore:
                raise
        else:
            self.restore = False

    def _first(self) -> str:
        """Asks the remote before the first push. The reason why that push is not made; empty if it
        may be."""
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
        patterns = branches.wanted(self.memory, self.policy["outbox_refs"])
        also = [f"+refs/heads/{pattern}:{OUTBOX}{pattern}" for pattern in patterns]
        theirs = self.store.ref(INCOMING) if self._fetched(timeout, also) else None
        self.asked = True
        branch = f"the branch {self.remote.branch} on {self.remote.name}"
        if theirs is None:
            if known is not None:
                raise Lost(
                    f"{branch} was deleted; this clone still holds it all",
                    "atlas doctor --fix pushes it back",
                )
            self.memory.put(asked_at=time.time(), lost="")
            return
        if known is not None and not self.carry and not self.store.holds(known, theirs):
            if self.store.holds(theirs, known):
                raise Lost(
                    f"{branch} went back to {theirs[:12]}; this clone still holds it all",
                    "atlas doctor --fix pushes the rest again",
                )
            raise Refused(
                f"{branch} was rewritten: its history no longer holds {known[:12]}, which this"
                " clone still does",
                "whoever may force a push there can put that back; if the new history is right,"
                " atlas init --carry takes it, and puts behind it what this clone holds beyond it",
                code="rewritten",
            )
        # (Else what it holds of ours makes it ours.)
        if known is None or (self.carry and not self.remote.local):
            is_store(self.store.git, self.remote, theirs)
        self._taken(theirs)
        self._note(theirs)
        if branches.wanted(self.memory, self.policy["outbox_refs"]):
            notice, park = self.notices.append, self._park
            branches.take_in(self.store, self.remote, self.memory, self.busy, notice, park)
        self.brought = theirs if theirs != known else self.brought

    def _fetched(self, timeout: float, also: Sequence[str]) -> bool:
        """Fetches, and once more if a lock of a ref was in the way."""
        refs = [INCOMING, *(refspec.rpartition(":")[2] for refspec in also)]
        for again in (True, False):
            try:
                return self.remote.fetch(timeout, also)
            except Away:
                if not again or not cleared(self.store, refs, self.busy):
                    raise
        return False

    def _only_one(self, theirs: str) -> None:
        """Raises Refused if the remote holds another store than ours, once ours has grown."""
        ours, others = (judging.store_id(self.store.snapshot(head)) for head in (None, theirs))
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
                    ours = [commit for commit in ours if not brings_policy(commit)]
                    if ours:  # what was made here and never used gives way to what is there
                        self._only_one(theirs)
                new = list(history.between(self.store.git, base, theirs)) if ours else []
                carry_over.known_format(self.store, new)
                carried = (
                    carry_over.carry(self.store, ours, new, theirs, self.mine) if ours else None
                )
                parked = carried.parked if carried else ()
                also = [(REMOTE, theirs)] if base == head else [(REMOTE, theirs), (BEFORE, head)]
                if carry_over.moved(
                    self.store, branch, head, carried.head if carried else theirs, parked, also
                ):
                    break
        self._park(parked)

    def _park(self, parked: Sequence[carry_over.Parked]) -> None:
        for write in (write for write in parked if not write.yields):
            subject, operation = write.commit.message.subject, write.operation
            self.parked.append(operation)
            self.notices.append(f"parked: {subject}: {write.why} (operation {operation})")

    def _judged(self, known: str | None) -> None:
        """Judges what a fetch brought. It is history, whatever it holds; a notice says what breaks
        a rule."""
        if known is None or self.brought is None or self.carry:
            return  # joining: `atlas verify` judges all of it
        from ..verify import audit

        git, width = self.store.git, self.store.place.width
        try:
            index = self.store.at(self.store.head())
            self.store.policy(self.store.snapshot())
            findings = audit.range_violations(git, width, known, self.brought, index)
        except (AtlasError, OSError) as failure:
            if isinstance(failure, AtlasError) and failure.code == "newer_format":
                return  # only a newer Atlas can judge it, and each read says so
            self.notices.append(
                f"what came with the fetch cannot be judged: {as_error(failure).message}"
            )
            return
        if findings:
            first = findings[0]
            what = f"{first.violation.rule}: {first.violation.path or first.violation.text}"
            self.notices.append(
                f"{many(len(findings), 'violation')} came with the fetch, the first in"
                f" {first.commit[:12]} ({what}): atlas verify"
            )

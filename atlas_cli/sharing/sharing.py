"""How one command shares: whether the remote is asked first, and whether what was recorded is
published."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .. import interrupts
from ..errors import AtlasError, Failed, Held, NotPublished, Unknown
from ..model import times
from ..model.change import Decide
from ..records import policy
from ..store import REMOTE
from ..store.store import Store
from ..visible import many
from .dealing import PLAIN, Purpose
from .parked import parked_commits, unpark
from .remote import Remote, find
from .settings import remotes

if TYPE_CHECKING:
    from ..store.transaction import Intent, Written
    from .exchange import Exchange
    from .remote_state import RemoteState
    from .shared import Shared

HASTE = 5.0  # seconds that a push of code waits for the store's
FETCH = 3.0  # seconds that a read waits for the remote
# Errors that a read does not print: they are no matter of each read, or printed anyway.
SILENT = ("remote", "branch_lost", "rewritten", "two_stores", "not_a_store")
AWAY = 60  # seconds that a read does not ask a remote which gave no answer


class Sharing:
    """A command's dealings with the remote.

    offline: there are none. required: a write counts only once it is published."""

    def __init__(
        self, store: Store, say: Callable[[str], None], offline: bool, required: bool
    ) -> None:
        self.store, self.say, self.offline, self.required = store, say, offline, required
        self.asked = False  # the remote has said, since this command began, what it has
        self.published: bool | None = None  # whether the last write is; None: nothing was written
        self.why = ""  # why it is not published

    @cached_property
    def known(self) -> Remote | None:
        """The git remote that the store is shared through."""
        return find(self.store.place, self.store.home)

    @property
    def remote(self) -> Remote | None:
        """The remote, if it is to be asked at all."""
        return None if self.offline or (self.known and self.known.here) else self.known

    def sources(self) -> list[Remote]:
        """The remotes that may still have what this clone has lost: the remote, else the copy of
        its branch that the user's repository holds."""
        copy = self.known.copy(self.store.place) if self.known else None
        return [remote for remote in (self.remote, copy) if remote is not None]

    @property
    def alone(self) -> str:
        """The reason why there is no remote to ask."""
        if self.offline:
            return "--offline was given"
        if self.known and self.known.here:
            return "it is kept in this clone: atlas sync shares it"
        several = ", ".join(remotes(self.store.place, self.store.home))
        return (
            f"none of its remotes was chosen ({several})" if several else "this store has no remote"
        )

    @cached_property
    def memory(self) -> RemoteState:
        """This clone's memory of its remote."""
        from .remote_state import RemoteState

        return RemoteState(self.store)

    def fetched_at(self) -> str | None:
        """The moment at which the remote was last asked with success."""
        at = int(self.memory.get("fetched_at")) if self.known else 0
        return times.rfc3339(at) if at else None

    def asked_ago(self) -> int | None:
        """The seconds since the remote was last asked with success; None if it never was."""
        at = self.memory.get("fetched_at") if self.remote else 0.0
        return max(0, int(time.time() - at)) if at else None

    def address(self) -> str:
        """The remote's address as all clones know it; empty if only this machine knows it."""
        if self.known is None or self.known.local:
            return ""
        # (`insteadOf` may say another.)
        _, out, _ = self.known.git.ask("ls-remote", "--get-url", "--", self.known.name)
        return policy.address(out.decode(errors="replace").strip())

    def copied(self) -> list[str]:
        """A warning, if the store's home is another place than this clone's remote."""
        home, remote = self._policy()["home"], self.known
        if not home or remote is None or remote.local or policy.address(remote.url) == home:
            return []
        if (here := self.address()) == home:
            return []
        through = f"{remote.name} ({here})" if here else remote.name
        return [
            f"this is a copy: the store's home is {home}, and this clone shares it through"
            f" {through}"
        ]

    def freshen(self, look: bool, again: bool = False) -> None:
        """Asks the remote, for three seconds at most, if the copy is older than the policy's
        `fresh`. After a failure it is not asked for a minute, unless `again`.

        look: ask it however new the copy is."""
        if self.remote is None or not (again or time.time() - self.memory.get("away_at") >= AWAY):
            return
        age = time.time() - self.memory.get("asked_at")
        if not look and age < policy.seconds(self._policy(), "fresh"):
            return
        exchange = self._exchange(Purpose(wanted=look))
        error = exchange.pull(FETCH, wait=1.0 if again else 0.0)
        self.asked = exchange.asked
        self._heard(exchange.notices)
        if error is not None and error.code not in SILENT:
            self.say(f"what the remote has is not known now: {_with_hint(error)}")

    def fetched(self, within: float) -> bool:
        """Whether what the remote has was brought, while nobody waits for it."""
        if self.remote is None:
            return True
        return self._exchange(Purpose(wanted=False)).pull(within) is None

    def lost(self) -> str:
        """The reason why the remote's branch is no longer what was published; empty if it is."""
        return str(self.memory.data.get("lost", "")) if self.remote else ""

    def write(self, decide: Decide, intent: Intent, exclusive: bool, eager: bool) -> Written:
        """Records a write, and publishes it if it is to be. If it is parked on the way, it is
        decided anew on the new head under the same operation: what others wrote meanwhile stops it,
        or does not.

        exclusive: it counts only once it is published."""
        if self.required and self.remote is None:
            raise NotPublished(
                f"{self.alone}, so nothing can be published; nothing was written",
                "leave out --require-published",
            )
        self.published = None
        operation = intent.writer.operation
        try:
            return self._shared(decide, intent, exclusive, eager)
        except KeyboardInterrupt:
            if not interrupts.hint():
                raise
            raise Unknown(
                f"interrupted while it was being published (operation {operation})",
                f"it is recorded in this clone; atlas log {operation} shows it",
            ) from None

    def _shared(self, decide: Decide, intent: Intent, exclusive: bool, eager: bool) -> Written:
        wanted = exclusive or self.required
        attempt = self._sure if exclusive and self.remote else self._written
        written = attempt(decide, intent)
        self.published = False
        if self.remote is None and (self.known or remotes(self.store.place, self.store.home)):
            self.why = self.alone
        if self.remote is None or not (wanted or self.remote.local or self._due(eager)):
            self._laid()
            return written
        operation = intent.writer.operation
        purpose = Purpose(operation, intent.writer.session, aside=not exclusive)
        shared = self._tried(purpose)
        while not written.empty:
            parked = operation in parked_commits(self.store)  # (its id may be another's)
            if not parked and (row := self._standing(operation)):
                written = written.standing(self.store, row)
                break
            written = attempt(decide, intent._replace(given=True))._replace(replayed=False)
            shared = self._tried(purpose)
        if shared.published or not wanted:
            return written
        raise shared.refusal(operation, exclusive)

    def _standing(self, operation: str) -> Mapping[str, Any] | None:
        """The row of what was recorded, if it is in the history still, and not parked."""
        try:
            return self.store.at(self.store.head()).operation(operation)
        except (Failed, OSError) as error:
            why = error.message if isinstance(error, Failed) else error.strerror
            raise Unknown(
                f"it was recorded, and the store cannot be read now: {why} (operation {operation})",
                f"atlas log {operation} says whether it is there",
            ) from None

    def _sure(self, decide: Decide, intent: Intent) -> Written:
        """The write, or a refusal that stands on what the remote has: what holds the thing may only
        be recorded here, and come to nothing, or it may be given back there by now.

        Raises NotPublished if the remote does not say."""
        from .exchange import LOCK_WAIT

        deadline = time.monotonic() + LOCK_WAIT
        while True:
            try:
                return self._written(decide, intent)
            except Held as stop:
                known = self.store.ref(REMOTE)
                if self.asked and known and self.store.holds(self.store.decided, known):
                    raise
                if time.monotonic() > deadline or not self._looked(intent.writer.session):
                    raise NotPublished(
                        f"{stop.message}, as far as this clone knows; not published: {self.why}",
                        stop.hint,
                        details=stop.details,
                    ) from None

    def taken_back(self, operation: str) -> bool:
        """Whether a write that nobody but this clone has ever seen is out of its history again."""
        from .taking_back import taken_back

        try:
            return taken_back(self.store, operation)
        except (AtlasError, OSError):
            return False

    def _looked(self, by: str) -> bool:
        """Publishes what was recorded, and brings what the remote has now."""
        return self._tried(Purpose(by=by, aside=False), look=True).published

    def _written(self, decide: Decide, intent: Intent) -> Written:
        """The write, or its refusal. Either settles what was parked of it: nothing stays that the
        command said no to, whatever the reason. Only if nobody knows what became of the write, that
        stays: it may be all that is left."""
        from ..store import transaction

        operation = intent.writer.operation
        parked = intent.given and operation in parked_commits(self.store)
        try:
            written = transaction.write(self.store, decide, intent)
        except Unknown:
            raise
        except Exception as error:
            if parked and not self._settled(operation):
                raise self._left_parked(error, operation) from error
            raise
        if parked:
            self._settled(operation)
        return written

    @staticmethod
    def _left_parked(error: Exception, operation: str) -> Exception:
        """The answer if what is parked could not be forgotten. A stop stays the stop that it is,
        and names it. A failure does not mean "nothing was written" any more."""
        hint = (
            f"what was recorded of it before stays parked: atlas parked drop {operation} forgets"
            f" it, atlas parked take {operation} writes it"
        )
        if isinstance(error, AtlasError) and 2 <= error.exit <= 7:
            error.hint = f"{error.hint}\n{hint}".lstrip()
            return error
        why = error.message if isinstance(error, AtlasError) else str(error)
        return Unknown(f"{why} (operation {operation})", hint)

    def _settled(self, operation: str) -> bool:
        """Whether what was parked is forgotten: its ref may be busy, or git die over it."""
        try:
            unpark(self.store, operation, within=1.0)
        except (Failed, OSError):
            return operation not in parked_commits(self.store)
        return True

    def hastily(self) -> str:
        """Publishes what was recorded, while git waits for the answer: for a few seconds. The
        result is why it could not be; empty if it is published, or need not be."""
        if self.remote is None or self._policy()["publish"] == "manual":
            return ""
        if not self.store.unpublished():
            return ""
        return "" if self._tried(Purpose(within=HASTE)).published else self.why

    def _tried(self, purpose: Purpose, look: bool = False) -> Shared:
        """Publishes. The writes stay recorded, whatever comes between this clone and the remote."""
        from .shared import Shared, as_error

        try:
            return self.publish(purpose, look)
        except (AtlasError, OSError) as failure:
            error = as_error(failure)
            self.published, self.why = False, error.message
            return Shared(False, error.message, error=error)

    def publish(self, purpose: Purpose = PLAIN, look: bool = False) -> Shared:
        """Pushes all that was recorded. No notice is given of the operation that it is for: if it
        is parked, it is decided anew.

        look: ask the remote even if there is nothing to push."""
        from .shared import Shared

        if self.remote is None:
            return Shared(False, self.alone)
        exchange = self._exchange(purpose)
        shared = exchange.publish(look)
        self.asked = self.asked or exchange.asked
        self._laid()
        self._heard(
            [line for line in shared.notices if not purpose.mine or purpose.mine not in line]
        )
        self.published, self.why = shared.published, shared.why
        return shared

    def gathered(self) -> None:
        """Takes in, and publishes, what callers who cannot write the store have left in a worktree
        of the clone."""
        if self.store.home == self.store.place.outbox or not (boxes := self.store.place.waiting):
            return
        if not os.access(self.store.home, os.W_OK):
            return
        from . import outbox

        if notices := [line for box in boxes for line in outbox.gather(self.store, box)]:
            self._heard(notices)
            if self.remote and self._due(False):
                self._tried(Purpose(wanted=False))  # they only read

    def _laid(self) -> None:
        """Lays what an outbox holds where the next command that can write the store finds it."""
        if self.store.home == self.store.place.outbox:
            from . import outbox

            try:
                outbox.lay(self.store)
            except (AtlasError, OSError) as error:
                self.say(
                    f"what was recorded stays in {self.store.home}, and cannot be laid there for"
                    f" others: {error}"
                )

    def health(self, fix: bool) -> tuple[str, str]:
        """(state, text) of what is shared, for `doctor`.

        fix: push back what the remote has lost."""
        from .exchange import LOCK_WAIT
        from .remote import CALL

        if self.remote is None:
            return "ok", self.alone
        where, lost = f"{self.remote.name}, branch {self.remote.branch}", self.lost()
        shared = self.publish(Purpose(restore=True), look=True) if fix else None
        error = (
            shared.error if shared else self._exchange(Purpose(wanted=False)).pull(CALL, LOCK_WAIT)
        )
        if error is not None:
            return "warn" if isinstance(error, Failed) else "bad", _with_hint(error)
        if shared and not shared.published:
            return "warn", f"{where}: {shared.why}"
        if shared and lost:
            return "fixed", f"{lost}: pushed back"
        waiting = self.store.unpublished()
        if waiting:
            return "ok", f"{where}: {many(waiting, 'commit')} not published yet"
        return "ok", f"{where}: in step"

    def _exchange(self, purpose: Purpose) -> Exchange:
        from .exchange import Exchange

        assert self.remote
        return Exchange(self.store, self.remote._replace(wanted=purpose.wanted), purpose)

    def _heard(self, notices: object) -> None:
        self.__dict__.pop("memory", None)
        for line in notices if isinstance(notices, list | tuple) else ():
            self.say(line)

    def _due(self, eager: bool) -> bool:
        """Whether a write that need not be published now is pushed all the same; `eager`: whatever
        failed a moment ago."""
        from .exchange import REMEMBERED

        when = self._policy()["publish"]
        if when != "now" and not (when == "end" and eager):
            self.why = f"the policy says publish: {when}"
            return False
        if not eager and time.time() - self.memory.get("failed_at") < REMEMBERED:
            self.why = f"{self.memory.data.get('failed')} (a moment ago)"
            return False
        return True

    def _policy(self) -> policy.Policy:
        return self.store.rules(self.store.snapshot())


def _with_hint(error: AtlasError) -> str:
    return f"{error.message}; {error.hint}".removesuffix("; ")

"""The taking of leases: tried once, or waited for; of no account until it is published."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ..answers import leases
from ..env import writing
from ..env.env import Env
from ..errors import Refused
from ..model.change import Decide, Writer
from ..model.text import Record
from ..records import lease
from .leased_run import give_back

if TYPE_CHECKING:
    from ..env.elsewhere import LeaseStore

T = TypeVar("T")


class Take(NamedTuple):
    """The resources to be taken, the write that takes them, and the seconds that they are waited
    for."""

    env: Env
    me: Record
    wanted: list[str]
    decide: Decide
    wait: int | None = None
    any_of: bool = False

    def in_own_store(self) -> None:
        """Asks the project's own store, where the leases go to another one: somebody may hold them
        there, since before they were shared, or from a clone that does not know of it."""
        me, env = self.me, self.env

        def look() -> None:
            by, above = env.store.machine, tuple(me.get("lineage", ()))
            self.decide(env.snapshot, Writer(me["id"], me["actor"], by, env.now(), "", above))

        self._had(env, look, self.decide)

    def had(self, store: "LeaseStore") -> list[Record]:
        """Takes it: the rows."""
        decide = self.decide
        if self.wait is not None and not store.name:
            from ..env import waiting

            decide = waiting.settled(decide)
        return self._had(store.env, lambda: _exclusive(store, self.me, decide), decide)

    def _had(self, place: Env, attempt: Callable[[], T], decide: Decide) -> T:
        if self.wait is None:
            return attempt()
        from ..env import waiting

        whats = [f"lease:{resource}" for resource in self.wanted]
        wanted = waiting.Wanted(whats, self.wait, self.any_of)
        return waiting.had(place, self.env, self.me, wanted, attempt, decide)


def _exclusive(store: "LeaseStore", me: Record, decide: Decide) -> list[Record]:
    """Takes a lease: its rows. It counts only once it is published; one that is not confirmed is
    given back."""
    env, what = store.env, "lease: take "
    written = writing.exclusive(
        env,
        partial(store.decided, decide),
        me,
        what,
        lambda: [row["resource"] for row in leases.held(env.ask, me["id"])],
        lambda new: give_back(env, me, new),
    )
    # In another store the session's own row is written with them.
    rows = [row for row in writing.records(env, written) if "resource" in row]
    now = [lease.current(env.snapshot, row["resource"]) or row for row in rows]
    over = [row["resource"] for row in now if "released" in row or row["holder"] != me["id"]]
    if written.replayed and over:
        raise Refused(
            f"the operation {written.writer.operation} was done before, and {', '.join(over)} is no"
            " longer held by it",
            "take it anew, with another operation id",
            code="not_held",
        )
    return rows

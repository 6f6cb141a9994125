"""One lease, several sessions on machines whose clocks differ, and moving time: whatever they do,
it is held once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from atlas_cli.errors import Held, Refused
from atlas_cli.model import times
from atlas_cli.model.change import Change, Writer
from atlas_cli.records import lease

from .files import ANN, BOB, EVE, NOW, changes, judged, store, writer

HOMES = {ANN: "m1", BOB: "m1", EVE: "m2"}
sessions = st.sampled_from(sorted(HOMES))
lengths = st.sampled_from([300, 301, 600, 3600, 4 * 3600])


class OneLease(RuleBasedStateMachine):
    """The model is four values: who holds it, until when, whether it was given back, and the
    token."""

    @initialize(
        fast=st.integers(-times.SKEW, times.SKEW), slow=st.integers(-times.SKEW, times.SKEW)
    )
    def begin(self, fast: int, slow: int) -> None:
        self.tree, self.time = store(), NOW
        self.clocks = {"m1": min(0, fast), "m2": max(0, slow)}
        self.last: dict[str, int] = {}
        self.holder, self.until, self.back, self.token = "", 0, True, 0

    def writer(self, session: str) -> Writer:
        """The session at its machine's clock; never before its own last write."""
        now = max(self.time + self.clocks[HOMES[session]], self.last.get(session, 0))
        return writer(session, now, HOMES[session])

    def wrote(self, who: Writer, change: Change) -> None:
        assert judged(self.tree, change.files, who) == []
        old, self.tree = self.tree, self.tree.put(change.files)
        assert [path for path, _, _ in changes(old, self.tree)] == [lease.path_of("gpu0")]
        self.last[who.session] = who.at

    @rule(seconds=st.sampled_from([1, 30, 59, 60, 61, 239, 300, 1800, 3600, 4 * 3600]))
    def later(self, seconds: int) -> None:
        self.time += seconds

    @rule(session=sessions, exactly=st.sampled_from([-61, -60, -1, 0, 1, 59, 60, 61]))
    def taken_about_when_it_ends(self, session: str, exactly: int) -> None:
        """At so many seconds after its end, by the clock of who wants it."""
        self.time = max(self.time, self.until + exactly - self.clocks[HOMES[session]])
        self.take(session, 600)

    @rule(session=sessions, seconds=lengths)
    def taken(self, session: str, seconds: int) -> None:
        self.take(session, seconds)

    def take(self, session: str, seconds: int) -> None:
        who = self.writer(session)
        other = self.holder != session
        wait = times.SKEW if other and self.holder and HOMES[self.holder] != HOMES[session] else 0
        free = self.back or self.until + wait <= who.at
        try:
            change = lease.take(self.tree, who, ["gpu0"], "w", seconds)
        except Held:
            assert other and not free
            return
        assert free or not other
        if other and not self.back:  # by its own clock, the former holder has stopped already
            assert lease.left(self.row(), self.time + self.clocks[HOMES[self.holder]]) == 0
        self.wrote(who, change)
        self.token += 1 if free else 0
        self.holder, self.until, self.back = session, who.at + seconds, False

    @rule(session=sessions, seconds=lengths)
    def renew(self, session: str, seconds: int) -> None:
        who = self.writer(session)
        try:
            change = lease.renew(self.tree, who, ["gpu0"], seconds)
        except (Held, Refused):
            assert not self.mine(who)
            return
        assert self.mine(who)
        self.wrote(who, change)
        self.until = who.at + seconds

    @rule(session=sessions)
    def release(self, session: str) -> None:
        who = self.writer(session)
        try:
            change = lease.release(self.tree, who, ["gpu0"])
        except (Held, Refused):
            assert not self.mine(who)
            return
        assert self.mine(who)
        self.wrote(who, change)
        self.back = True

    def mine(self, who: Writer) -> bool:
        return self.holder == who.session and not self.back and self.until > who.at

    def row(self) -> dict[str, Any]:
        found = lease.current(self.tree, "gpu0")
        assert found is not None
        return found

    @invariant()
    def the_row_is_what_the_model_says(self) -> None:
        if not getattr(self, "token", 0):
            return
        row = self.row()
        assert (row["holder"], row["token"], "released" in row) == (
            self.holder,
            self.token,
            self.back,
        )
        assert self.back or times.moment(row["expires"]) == self.until

    @invariant()
    def nobody_counts_on_it_but_its_holder(self) -> None:
        if getattr(self, "token", 0) and not self.back:
            assert [row["holder"] for _, row in self.tree.live(lease.FOLDER, self.time)] in (
                [],
                [self.holder],
            )


def test_one_lease_is_held_once_whatever_its_sessions_do() -> None:
    few = settings(
        max_examples=40, stateful_step_count=30, deadline=None, database=None, derandomize=True
    )
    run_state_machine_as_test(OneLease, settings=few)  # type: ignore[no-untyped-call]


@pytest.mark.long
def test_the_same_in_a_thousand_lives() -> None:
    many = settings(max_examples=1000, stateful_step_count=50, deadline=None, database=None)
    run_state_machine_as_test(OneLease, settings=many)  # type: ignore[no-untyped-call]

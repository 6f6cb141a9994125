"""What is dated ahead: nobody honours it longer than a lease can run, whoever reads it, and
whenever."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas_cli.errors import Held
from atlas_cli.model import text, times
from atlas_cli.records import lease, takeover
from atlas_cli.records.board import assigning, claims, task

from .board import by_hand, ids, later, queue, world
from .files import ANN, BOB, FEW, NOW, Files, done, judged, store, writer

FEWER = settings(FEW, max_examples=60)
HOUR, DAY = 3600, 86400
ahead = st.one_of(
    st.integers(-DAY, 2 * DAY), st.integers(-130, 130), st.integers(4 * HOUR - 130, 4 * HOUR + 130)
)
length = st.sampled_from([300, HOUR, 2 * HOUR, 4 * HOUR])


def taken(at: int, seconds: int, who: str = ANN) -> Files:
    """A store in which a session has taken gpu0 by its own clock."""
    by = writer(who, at)
    return done(store(), lease.take(store(), by, ["gpu0"], "w", seconds), by)


@given(ahead, length, st.integers(-DAY, 2 * DAY))
@FEW
def test_a_lease_is_honoured_for_four_hours_from_any_now_at_most(
    ahead: int, seconds: int, now: int
) -> None:
    row = lease.current(taken(NOW + ahead, seconds), "gpu0")
    assert row is not None
    held, over = lease.holds(row, NOW + now), ahead + seconds
    assert held == (now < over <= now + 4 * HOUR + 120)
    assert lease.rest(row, NOW + now) <= 4 * HOUR and lease.left(row, NOW + now) <= 4 * HOUR
    if abs(ahead - now) <= 2 * times.SKEW:  # clocks of good faith
        assert held == (now < over)


@given(ahead, length, st.sampled_from(["m1", "m2"]))
@FEWER
def test_what_nobody_honours_is_taken_by_the_next_and_no_violation(
    ahead: int, seconds: int, machine: str
) -> None:
    tree, bob = taken(NOW + ahead, seconds), writer(BOB, NOW, machine)
    row = lease.current(tree, "gpu0")
    try:
        change = lease.take(tree, bob, ["gpu0"], "w", HOUR)
    except Held as stop:
        assert stop.details["seconds_left"] <= 4 * HOUR
        assert lease.holds(row, NOW) or (machine == "m2" and lease.holds(row, NOW - times.SKEW))
        return
    assert not lease.holds(row, NOW)
    assert judged(tree, change.files, bob) == []


@given(st.integers(0, 2 * DAY), length)
@FEW
def test_an_old_history_that_was_dated_ahead_throughout_breaks_no_rule(
    ahead: int, seconds: int
) -> None:
    tree = taken(NOW + ahead, seconds)
    by = writer(ANN, NOW + ahead + 200)
    tree = done(tree, lease.renew(tree, by, ["gpu0"], seconds), by)
    done(tree, lease.release(tree, by, ["gpu0"]), by)


@pytest.mark.parametrize("ahead", [0, 3 * HOUR, DAY])
def test_a_session_that_is_dropped_gives_back_what_nobody_honours_too(ahead: int) -> None:
    tree = world(principals=["bob"])
    by = writer(ANN, NOW + ahead)
    tree = done(tree, lease.take(tree, by, ["gpu0"], "w", 2 * HOUR), by)
    bob = writer(BOB, NOW + 60)
    change = takeover.drop(tree, bob, ANN, "gone", ["bob"])
    freed = lease.freed(tree, bob, ANN)
    assert len(freed) == 1
    done(tree, change._replace(files={**change.files, **freed}), bob)


def claimed(ahead: int, seconds: int) -> Files:
    """A board with a task that ann has claimed by her own clock."""
    tree, by = world("one"), writer(ANN, NOW + ahead)
    return done(tree, claims.claim(tree, by, ids(tree), seconds), by)


@given(ahead.filter(lambda at: at >= 0), length, st.integers(-DAY, 2 * DAY))
@FEWER
def test_a_claim_is_honoured_as_a_lease_is(ahead: int, seconds: int, now: int) -> None:
    tree = claimed(ahead, seconds)
    row, over = task.get(tree, ids(tree)[0]), ahead + seconds
    held = now < over <= now + 4 * HOUR + 120
    assert task.holds(row, NOW + now) == held
    assert (task.own_state(row, NOW + now, {"max_retries": 3}) == "claimed") == held
    assert bool(task.held(tree, ANN, NOW + now)) == held


@given(ahead.filter(lambda at: at >= 0), length, st.sampled_from(["m1", "m2"]))
@FEWER
def test_who_claims_what_nobody_honours_breaks_no_rule(
    ahead: int, seconds: int, machine: str
) -> None:
    tree, bob = claimed(ahead, seconds), writer(BOB, NOW + 60, machine)
    row = task.get(tree, ids(tree)[0])
    try:
        change = claims.claim(tree, bob, ids(tree), HOUR)
    except Held as stop:
        assert stop.details["seconds_left"] <= 4 * HOUR and task.holds(row, NOW + 60)
        return
    assert not task.holds(row, NOW + 60)
    assert judged(tree, change.files, bob) == []
    assert task.get(tree.put(change.files), ids(tree)[0])["token"] == 2
    first = claims.claim_next(tree, bob, queue(tree), None, HOUR)
    assert judged(tree, first.files, bob) == []


def test_a_claim_by_hand_that_runs_for_years_is_over_after_four_hours() -> None:
    tree = claimed(0, HOUR)
    one = ids(tree)[0]
    row = task.get(tree, one)
    tree = tree.put(by_hand(tree, one, claim={**row["claim"], "expires": "2099-01-01T00:00:00Z"}))
    row = task.get(tree, one)
    assert task.holds(row, NOW + 4 * HOUR - 1) and not task.holds(row, NOW + 4 * HOUR)


def test_adopting_passes_on_what_is_honoured_and_nothing_else() -> None:
    for ahead, passed in ((0, 1), (DAY, 0)):
        tree, by = world("one"), writer(ANN, NOW + ahead)
        tree = done(tree, lease.take(tree, by, ["gpu0"], "w", 2 * HOUR), by)
        tree = done(tree, claims.claim(tree, by, ids(tree), HOUR), by)
        bob = writer(BOB, NOW + 60)
        assert (
            len(lease.inherit(tree, bob, ANN)) == len(assigning.inherited(tree, bob, ANN)) == passed
        )
    assert text.load(
        lease.take(store(), writer(), ["a"], "w", 300).files[lease.path_of("a")] or b"", ""
    )["at"] == later(0)
    assert times.moment(later(5)) == NOW + 5

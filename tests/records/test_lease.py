"""The life of a lease: taken, renewed, given back, over by itself; and a token that rises when it
changes hands."""

from __future__ import annotations

from typing import Any

import pytest

from atlas_cli.errors import Damaged, Held, NotFound, Refused
from atlas_cli.model import text, times
from atlas_cli.model.change import Writer
from atlas_cli.records import lease

from .files import ANN, BOB, EVE, NOW, Files, broken, done, store, writer

HOUR = 3600


def take(
    tree: Files, who: Writer, *resources: str, seconds: int | None = None, **more: Any
) -> Files:
    """The tree once somebody has taken it, by a change that breaks no rule."""
    return done(tree, lease.take(tree, who, resources or ("gpu0",), "a test", seconds, **more), who)


def row(tree: Files, resource: str = "gpu0") -> dict[str, Any]:
    found = lease.current(tree, resource)
    assert found is not None
    return found


def test_a_lease_is_taken_for_the_default_and_says_who_and_why() -> None:
    found = row(take(store(), writer()))
    assert found == {
        "resource": "gpu0",
        "version": 1,
        "token": 1,
        "holder": ANN,
        "actor": "ann",
        "machine": "m1",
        "why": "a test",
        "at": "2026-11-29T14:00:00Z",
        "expires": "2026-11-29T16:00:00Z",
    }
    assert row(take(store(lease_default="30m"), writer()))["expires"] == "2026-11-29T14:30:00Z"


def test_who_comes_second_is_told_who_holds_it_why_and_how_long() -> None:
    tree = take(store(), writer())
    with pytest.raises(Held) as stop:
        lease.take(tree, writer(BOB, NOW + HOUR), ["gpu0"], "mine", None)
    assert (
        ANN in stop.value.message and "a test" in stop.value.message and "1 h" in stop.value.message
    )
    assert stop.value.details == {
        "resource": "gpu0",
        "holder": ANN,
        "actor": "ann",
        "why": "a test",
        "expires": "2026-11-29T16:00:00Z",
        "seconds_left": HOUR,
        "token": 1,
    }


def test_it_is_over_in_the_second_that_it_names() -> None:
    tree = take(store(), writer(), seconds=HOUR)
    assert lease.holds(row(tree), NOW + HOUR - 1) and not lease.holds(row(tree), NOW + HOUR)
    with pytest.raises(Held):
        lease.take(tree, writer(BOB, NOW + HOUR - 1), ["gpu0"], "mine", None)
    found = row(take(tree, writer(BOB, NOW + HOUR)))
    assert (found["holder"], found["token"], found["version"]) == (BOB, 2, 2)


def test_another_machine_waits_longer_and_a_holder_counts_on_less() -> None:
    tree = take(store(), writer(), seconds=HOUR)
    with pytest.raises(Held):
        lease.take(tree, writer(BOB, NOW + HOUR + times.SKEW - 1, "m2"), ["gpu0"], "mine", None)
    assert row(take(tree, writer(BOB, NOW + HOUR + times.SKEW, "m2")))["token"] == 2
    assert lease.left(row(tree), NOW) == HOUR - times.SKEW
    assert (
        lease.left(row(tree), NOW + HOUR - times.SKEW) == lease.left(row(tree), NOW + 2 * HOUR) == 0
    )


def test_another_machine_waits_for_what_overlaps_too() -> None:
    tree = take(store(), writer(), "path:src", seconds=HOUR)
    with pytest.raises(Held):
        lease.take(tree, writer(BOB, NOW + HOUR + 59, "m2"), ["path:src/a.py"], "mine", None)
    take(tree, writer(BOB, NOW + HOUR + 60, "m2"), "path:src/a.py")
    take(tree, writer(BOB, NOW + HOUR), "path:src/a.py")


def test_the_token_stays_over_renewals_and_rises_when_it_changes_hands() -> None:
    tree = take(store(), writer())
    ann, later = writer(at=NOW + 600), writer(at=NOW + 700)
    tree = done(tree, lease.renew(tree, ann, ["gpu0"], HOUR), ann)
    assert (row(tree)["token"], row(tree)["version"], row(tree)["expires"]) == (
        1,
        2,
        "2026-11-29T15:10:00Z",
    )
    tree = take(tree, later)  # taking what one holds renews it
    assert (row(tree)["token"], row(tree)["version"]) == (1, 3)
    tree = done(tree, lease.release(tree, later, ["gpu0"]), later)
    assert (row(tree)["token"], row(tree)["released"]) == (1, later.when)
    tree = take(tree, writer(BOB, NOW + 700))  # in the very second in which it was given back
    assert row(tree)["token"] == 2 and "released" not in row(tree)
    tree = take(tree, writer(BOB, NOW + 5 * HOUR))  # its own, but it had lapsed in between
    assert row(tree)["token"] == 3
    tree = take(tree, writer(EVE, NOW + 10 * HOUR, "m2"))
    assert (row(tree)["token"], row(tree)["version"]) == (4, 7)


def test_who_lost_it_can_neither_renew_nor_release_it() -> None:
    tree = take(store(), writer(), seconds=HOUR)
    for verb in (
        lambda who: lease.renew(tree, who, ["gpu0"], None),
        lambda who: lease.release(tree, who, ["gpu0"]),
    ):
        with pytest.raises(Refused, match="yours was over 0 s ago"):
            verb(writer(at=NOW + HOUR))
        with pytest.raises(Held):
            verb(writer(BOB))
        with pytest.raises(Refused, match="holds no lease") as stop:
            verb(writer(BOB, NOW + HOUR))
        assert stop.value.code == "not_held"
    tree = take(tree, writer(BOB, NOW + HOUR))
    with pytest.raises(Held, match=BOB):
        lease.renew(tree, writer(at=NOW + HOUR + 1), ["gpu0"], None)


def test_what_overlaps_is_held_and_the_stop_says_so() -> None:
    tree = take(store(), writer(), "path:src/app")
    for other in ("path:src/app/main.py", "path:src", "path:.", "glob:src/**/*.py", "repo:run"):
        with pytest.raises(Held, match=r"path:src/app \(overlaps"):
            lease.take(tree, writer(BOB), [other], "mine", None)
    take(tree, writer(BOB), "path:src/apple", "path:lib", "gpu0")
    take(tree, writer(), "path:src", "repo:run")  # one's own is in nobody's way


def test_several_are_taken_all_or_none() -> None:
    tree = take(store(), writer(), "gpu1")
    with pytest.raises(Held, match="gpu1"):
        lease.take(tree, writer(BOB), ["gpu0", "gpu1", "gpu2"], "mine", None)
    tree = take(tree, writer(BOB), "gpu0", "gpu2")
    assert row(tree)["holder"] == row(tree, "gpu2")["holder"] == BOB
    with pytest.raises(Held):
        lease.release(tree, writer(BOB), ["gpu0", "gpu1"])
    with pytest.raises(Refused):
        lease.renew(tree, writer(BOB), ["gpu0", "gpu3"], None)


def test_any_is_the_first_that_is_free() -> None:
    tree = take(store(), writer(), "gpu0")
    change = lease.take(tree, writer(BOB), ["gpu0", "gpu1", "gpu2"], "mine", None, any_of=True)
    assert list(change.files) == [lease.path_of("gpu1")]
    tree = take(done(tree, change, writer(BOB)), writer(BOB), "gpu2")
    with pytest.raises(Held, match=f"gpu0 is held by {ANN}"):
        lease.take(tree, writer(EVE), ["gpu0", "gpu1"], "mine", None, any_of=True)


@pytest.mark.parametrize("seconds", [-1, 0, 1, 299, 4 * HOUR + 1, 10 * HOUR, 10**12])
def test_it_runs_from_five_minutes_to_the_policys_limit(seconds: int) -> None:
    for verb in (
        lambda: lease.take(store(), writer(), ["a"], "w", seconds),
        lambda: lease.renew(store(), writer(), ["a"], seconds),
    ):
        with pytest.raises(Refused) as stop:
            verb()
        assert stop.value.code == "limit" and "5 min to 4 h" in stop.value.message
    for length in (300, 4 * HOUR):
        take(store(), writer(), seconds=length)
    short = store(lease_max="1h", lease_default="1h")
    take(short, writer(), seconds=HOUR)
    with pytest.raises(Refused, match="5 min to 1 h"):
        lease.take(short, writer(), ["a"], "w", HOUR + 1)


def test_no_file_is_honoured_for_longer_than_four_hours_from_its_date() -> None:
    tree = take(store(), writer())
    record = {**row(tree), "expires": "2099-01-01T00:00:00Z"}
    assert lease.until(record) == NOW + 4 * HOUR
    assert lease.until({**record, "released": "2026-11-29T14:01:00Z"}) == NOW + 60
    assert lease.until({**record, "expires": "2020-01-01T00:00:00Z"}) == times.moment(
        "2020-01-01T00:00:00Z"
    )


def test_unknown_fields_survive_renewal_release_and_another_holder() -> None:
    tree = take(store(), writer())
    odd = {"colour": "1.10", "deep": {"a": [1, None, True]}, "zoned": "12:30"}
    tree = tree.put({lease.path_of("gpu0"): text.dump({**row(tree), **odd})})
    ann, bob = writer(at=NOW + 60), writer(BOB, NOW + 120)
    for change, who in ((lease.renew, ann), (lease.release, ann), (lease.take, bob)):
        more = {lease.renew: (None,), lease.release: (), lease.take: ("w", None)}[change]
        tree = done(tree, change(tree, who, ["gpu0"], *more), who)  # type: ignore[operator]
        assert {key: row(tree)[key] for key in odd} == odd


def test_where_a_row_lies_and_what_is_none_is_named() -> None:
    assert lease.path_of("gpu0") == "leases/8b/gpu0.yaml"
    assert lease.path_of("path:src/[id]/A.py").endswith("/path%3asrc%2f%5bid%5d%2f%41.py.yaml")
    with pytest.raises(NotFound, match="nobody has taken a lease on gpu9"):
        lease.find(store(), "gpu9")
    for bad in (b"", b"resource: 1\n", text.dump({**row(take(store(), writer())), "format": 99})):
        with pytest.raises(Damaged, match=r"^p: "):
            lease.parse("p", bad)


def test_a_hand_that_takes_a_live_lease_or_renews_for_too_long_breaks_a_rule() -> None:
    tree = take(store(), writer())
    record = {**row(tree), "version": 2}
    place = lease.path_of("gpu0")
    assert broken(tree, {place: text.dump({**record, "holder": BOB, "token": 2})}) == {"live_lease"}
    assert broken(tree, {place: text.dump({**record, "expires": "2026-11-29T18:00:01Z"})}) == {
        "limit"
    }
    assert broken(
        tree,
        {
            place: text.dump(
                {**record, "at": "2026-11-29T16:00:00Z", "expires": "2026-11-29T17:00:00Z"}
            )
        },
    ) == {"token"}
    assert broken(tree, {place: text.dump({**record, "expires": "2026-11-29T15:00:00Z"})}) == set()

"""A writer that is stopped in the middle of a write holds others up for a while, not for ever, and
never overwrites."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from subprocess import Popen, TimeoutExpired

import pytest

from atlas_cli.store.failpoints import POINTS

from ..conftest import Result
from .test_crash import Shop, ended, shop

__all__ = ["shop"]
BEFORE = POINTS[: POINTS.index("after_ref")]
LATER = {"ATLAS_CLOCK_OFFSET": "+3600"}  # another process, for whom an hour has passed
# Where a stopped process holds what others want: the writer lock at most points, the cache too at
# one of them.
SMALL = ("before_ref", "mid_cache")
ALL = [pytest.param(point, marks=() if point in SMALL else pytest.mark.long) for point in POINTS]


@contextmanager
def paused(shop: Shop, point: str, *args: str, data: str = "") -> Iterator[Popen[bytes]]:
    """A command stopped at a point of its write; what the block leaves of it is killed."""
    child = shop.stopped(point, *args, data=data)
    try:
        yield child
    finally:
        if child.poll() is None:
            child.kill()
            child.communicate(timeout=60)


def gone_on(child: Popen[bytes]) -> Result:
    """How it ends once it goes on; it stops again at each new try."""
    for _ in range(300):
        child.send_signal(signal.SIGCONT)
        with suppress(TimeoutExpired):
            return ended(child, 0.2)
    raise AssertionError("it never ends")


def another(shop: Shop) -> str:
    """A second session; the commands of the first are named by its id from here on."""
    done = shop.atlas("begin", "--new", "--goal", "another", "--json")
    assert done.code == 0, done
    return str(done.data["id"])


@pytest.mark.parametrize("point", ALL)
def test_others_go_on_without_a_writer_that_is_stopped(shop: Shop, begun: str, point: str) -> None:
    with paused(
        shop, point, "lease", "take", "gpu0", "--why", "w", "--operation", "stopped-one"
    ) as child:
        reading = shop.start("lease", "list", "--json")
        writing = shop.atlas("lease", "take", "gpu1", "--why", "w", "--operation", "other-one")
        assert (writing.code, ended(reading).code, child.poll()) == (0, 0, None), writing
        # It decides again on what it now finds, and both are in the history.
        done = gone_on(child)
    assert done.code == 0, done
    shop.kept(["stopped-one", "other-one"])
    held = {
        item["resource"]: item["token"]
        for item in shop.atlas("lease", "list", "--json").data["items"]
    }
    assert held == {"gpu0": 1, "gpu1": 1}
    shop.whole()


@pytest.mark.parametrize(
    "point", [pytest.param(p, marks=() if p == "before_ref" else pytest.mark.long) for p in BEFORE]
)
@pytest.mark.parametrize("verb", ["renew", pytest.param("release", marks=pytest.mark.long)])
def test_a_lease_that_lapsed_while_its_holder_was_stopped_stays_with_its_taker(
    shop: Shop, begun: str, point: str, verb: str
) -> None:
    mine = shop.atlas("lease", "take", "gpu0", "--why", "mine", "--for", "30m", "--json")
    assert mine.code == 0, mine
    other = another(shop)
    with paused(shop, point, "lease", verb, "gpu0", "--session", begun, "--json") as child:
        theirs = shop.atlas(
            "lease", "take", "gpu0", "--why", "theirs", "--session", other, "--json", **LATER
        )
        assert theirs.code == 0, theirs
        head = shop.head()
        done = gone_on(child)
    assert (done.code, done.json["error"]["code"]) == (4, "held"), done
    assert done.json["error"]["details"]["holder"] == other
    assert shop.head() == head
    assert theirs.data["token"] > mine.data["token"]
    shop.whole()


@pytest.mark.long
def test_a_lease_that_was_taken_and_given_back_meanwhile_is_not_renewed(
    shop: Shop, begun: str
) -> None:
    """Nobody holds it now, so nobody is in the way; but the stopped holder's own hold is over."""
    mine = shop.atlas("lease", "take", "gpu0", "--why", "mine", "--for", "30m", "--json")
    assert mine.code == 0, mine
    other = another(shop)
    with paused(
        shop, "before_ref", "lease", "renew", "gpu0", "--session", begun, "--json"
    ) as child:
        for verb in (("take", "gpu0", "--why", "theirs"), ("release", "gpu0")):
            assert shop.atlas("lease", *verb, "--session", other, **LATER).code == 0
        done = gone_on(child)
    assert (done.code, done.json["error"]["code"]) == (6, "not_held"), done
    # Who takes it anew gets a token that no holder before had.
    again = shop.atlas(
        "lease", "take", "gpu0", "--why", "mine", "--session", begun, "--json", **LATER
    )
    assert (again.code, again.data["token"]) == (0, mine.data["token"] + 2), again
    shop.whole()


@pytest.mark.long
def test_a_status_written_meanwhile_is_not_written_over(shop: Shop, begun: str) -> None:
    other = another(shop)
    with paused(
        shop, "before_ref", "status", "write", "-m", "mine", "--session", begun, "--json"
    ) as child:
        theirs = shop.atlas("status", "write", "-m", "theirs", "--session", other, "--json")
        assert theirs.code == 0, theirs
        done = gone_on(child)
    assert done.code == 0, "a section of its own is carried on what stands there now"
    body = shop.atlas("status", "--json").data["body"]
    assert "theirs" in body and "mine" in body
    assert shop.atlas("status", "log", "--json").data["total"] == 2
    shop.whole()


@pytest.mark.long
@pytest.mark.parametrize("point", BEFORE)
def test_stopped_again_and_again_a_stale_holder_never_gets_through(
    shop: Shop, begun: str, point: str
) -> None:
    other, tokens, now = another(shop), [0], 0
    for _ in range(5):
        offset = {"ATLAS_CLOCK_OFFSET": f"+{now}"}
        mine = shop.atlas(
            "lease",
            "take",
            "gpu0",
            "--why",
            "w",
            "--for",
            "30m",
            "--session",
            begun,
            "--json",
            **offset,
        )
        assert mine.code == 0, mine
        child = shop.stopped(
            point, "lease", "renew", "gpu0", "--for", "30m", "--session", begun, **offset
        )
        now += 3600
        later = {"ATLAS_CLOCK_OFFSET": f"+{now}"}
        theirs = shop.atlas(
            "lease",
            "take",
            "gpu0",
            "--why",
            "w",
            "--for",
            "30m",
            "--session",
            other,
            "--json",
            **later,
        )
        assert theirs.code == 0, theirs
        assert gone_on(child).code == 4
        tokens += [mine.data["token"], theirs.data["token"]]
        now += 3600
    assert tokens == sorted(set(tokens))
    shop.whole()


@pytest.mark.long
def test_a_lock_left_behind_a_stopped_writer_is_named_with_what_to_do(shop: Shop) -> None:
    """Nobody may put a lock aside while the writer lock is held: its owner may only be slow."""
    with paused(shop, "before_ref", "lease", "take", "gpu0", "--why", "w"):
        file = shop.bare / "refs/heads/atlas.lock"
        file.write_text("")
        done = shop.atlas("lease", "take", "gpu1", "--why", "w", "--json")
        assert (done.code, done.json["error"]["code"]) == (1, "locked"), done
        assert (
            str(file) in done.json["error"]["message"] and "stopped" in done.json["error"]["hint"]
        )
        file.unlink()
    assert shop.atlas("lease", "take", "gpu1", "--why", "w").code == 0
    shop.whole()

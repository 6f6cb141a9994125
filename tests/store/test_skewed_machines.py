"""A machine that lies behind the clocks of most others takes no lease; one whose clock is wrong
locks nobody out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ..conftest import DECISION
from .crew import Worker
from .fleet import Fleet, done, fleet

NAMES = ("a", "b", "c", "d", "e")
LEASE = ("lease", "take", "gpu0", "--why", "w", "--json")
AHEAD = {"ATLAS_CLOCK_OFFSET": "+90"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    return fleet(tmp_path_factory.mktemp("fleet") / "made", NAMES)


@pytest.fixture
def five(made: Fleet, tmp_path: Path) -> Iterator[list[Worker]]:
    hub = made.copied(tmp_path / "fleet")
    with hub.crew(NAMES) as workers:
        yield workers


def wrote(*workers: Worker, env: dict[str, str] | None = None) -> None:
    for worker in workers:
        done(worker(*DECISION, env=env))


def test_who_lies_behind_two_others_takes_nothing(five: list[Worker]) -> None:
    a, b, c, *_ = five
    wrote(b, c, env=AHEAD)
    done(a("sync"))
    stop = done(a(*LEASE), 6).json["error"]
    assert stop["code"] == "clock" and "2 others" in stop["message"], stop
    assert done(a("lease", "run", "gpu0", "--why", "w", "--", "true"), 6)
    done(a(*LEASE, env={"ATLAS_CLOCK_OFFSET": "+31"})), "once it is within the bound it takes it"
    done(a("lease", "release", "gpu0"))


def test_one_clock_that_is_ahead_locks_nobody_out(five: list[Worker]) -> None:
    a, b, *_ = five
    wrote(b, env={"ATLAS_CLOCK_OFFSET": "+7200"})
    wrote(b, env={"ATLAS_CLOCK_OFFSET": "+7300"})
    done(a("sync"))
    done(a(*LEASE))


def test_nor_do_two_where_as_many_others_go_with_this_one(five: list[Worker]) -> None:
    a, b, c, d, e = five
    wrote(b, c, env=AHEAD)  # two clones on a machine whose clock is ahead, it may be
    wrote(d, e)
    done(a("sync"))
    done(a(*LEASE))

"""What one command does to another's feet: carrying over while others of the same clone write, read
and look."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..conftest import DECISION, Result, command
from .crew import Worker
from .fleet import Fleet, done, fleet

# Only a whole status, which nobody can carry over, is parked because another was first.
STATUS = ("status", "write", "--replace", "-m")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    return fleet(tmp_path_factory.mktemp("fleet") / "made", ["a", "b"])


@pytest.fixture
def two(made: Fleet, tmp_path: Path) -> Fleet:
    return made.copied(tmp_path / "fleet")


@pytest.fixture
def both(two: Fleet) -> Iterator[list[Worker]]:
    with two.crew(["a", "b"]) as workers:
        yield workers
        for worker in workers:
            done(worker("sync"))
            found = done(worker("status", "--json")).json
            assert "rewound" not in str(found["notices"]), "nobody has rewound anything"
            done(worker("verify", "--full"))
        assert two.head("a") == two.head("b") == two.head("hub.git")


class Halted:
    """A command in clone `a` that has stopped itself at a point, until it is let go on."""

    def __init__(self, two: Fleet, point: str, *argv: str) -> None:
        env = two.env | {"ATLAS_FAULT": f"{point}:stop", "ATLAS_SESSION": two.sessions["a"]}
        self.child = subprocess.Popen(
            command(*argv),
            cwd=two.top / "a",
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        os.waitpid(self.child.pid, os.WUNTRACED)

    def gone_on(self) -> Result:
        """How it ends; it stops again at each new try."""
        while True:
            self.child.send_signal(signal.SIGCONT)
            try:
                out, err = self.child.communicate(timeout=0.2)
            except subprocess.TimeoutExpired:
                continue
            return Result(self.child.returncode, out.decode(), err.decode())


def offline(worker: Worker, *argv: str) -> Any:
    return done(worker(*argv, "--offline", "--json")).data


def recorded(two: Fleet, operation: str) -> None:
    """Waits until the clone `a` has an operation in its own history."""
    for _ in range(600):
        if operation in two.operations("a"):
            return
        time.sleep(0.02)
    raise AssertionError("it was never recorded")


def test_a_write_that_another_command_parks_answers_with_the_stop(
    two: Fleet, both: list[Worker]
) -> None:
    a, b = both
    offline(a, *DECISION)
    first = Halted(two, "before_push", "sync")
    done(b(*STATUS, "of b"))
    a.tell(*STATUS, "of a", "--operation", "mine", "--json")
    recorded(two, "mine")
    done(first.gone_on(), 3)
    stop = done(a.heard(), 3).json
    assert "of a" in Path(stop["error"]["details"]["draft"]).read_text()
    assert "mine" not in two.operations() and done(a("parked", "--json")).data["total"] == 0


def test_a_write_that_another_command_carries_over_was_not_done_before(
    two: Fleet, both: list[Worker]
) -> None:
    a, b = both
    offline(a, *DECISION)
    first = Halted(two, "before_push", "sync")
    done(b(*DECISION))
    a.tell(*DECISION, "--operation", "mine", "--json")
    recorded(two, "mine")
    done(first.gone_on())
    said = done(a.heard()).json
    assert (said["data"]["replayed"], said["store"]["published"]) == (False, True)
    assert two.operations().count("mine") == 1


def test_two_carryings_over_by_one_command_are_no_rewound_history(
    two: Fleet, both: list[Worker]
) -> None:
    a, b = both
    offline(a, *DECISION)
    done(b(*DECISION))
    first = Halted(two, "before_push", "sync")  # it has carried ours over once
    done(b(*DECISION))
    done(first.gone_on())


def test_a_reader_that_was_overtaken_sees_no_rewound_history(
    two: Fleet, both: list[Worker]
) -> None:
    a, b = both
    offline(a, *DECISION)
    reader = Halted(two, "before_view", "lease", "list", "--json")
    done(b(*DECISION))
    done(a("sync"))
    assert "rewound" not in str(done(reader.gone_on()).json["notices"])


def test_what_was_retracted_meanwhile_is_told_after_a_carrying_over(
    two: Fleet, both: list[Worker]
) -> None:
    a, b = both
    done(b("artifact", "put", "base", "x.py"))
    done(a("sync")), done(a("artifact", "show", "base"))
    done(a("artifact", "put", "mine", "x.py", "--relies-on", "artifact:base"))
    for _ in range(3):
        offline(a, *DECISION)
    done(b("correct", "artifact:base", "--retract", "--why", "measured wrongly"))
    told = done(a("sync", "--json")).json["notices"]
    assert any(
        "artifact:base@1, which you relied on, was retracted" in notice for notice in told
    ), told


def test_a_lost_lease_leaves_the_view_and_times_tell_what_overlaps(
    two: Fleet, both: list[Worker]
) -> None:
    a, b = both
    offline(a, "lease", "take", "path:src", "--why", "w", "--for", "1h")
    shown = two.top / "a/.atlas/leases"
    assert len(list(shown.rglob("*.yaml"))) == 1
    done(b("lease", "take", "path:src/deep", "--why", "w"))
    told = "LOST, others were first: path:src is held by "
    lost = done(a("sync")).err
    assert told in lost and "(path:src/deep)" in lost and len(list(shown.rglob("*.yaml"))) == 1
    assert done(a("lease", "show", "path:src"), 7)
    assert done(a("parked", "--json")).data["items"] == []
    # One that was over before the other began contradicts nothing.
    offline(a, "lease", "take", "path:doc", "--why", "w", "--for", "5m")
    done(b("lease", "take", "path:doc/deep", "--why", "w", env={"ATLAS_CLOCK_OFFSET": "+600"}))
    done(a("sync"))


def test_a_session_in_two_clones_never_goes_back_in_time(two: Fleet, both: list[Worker]) -> None:
    a, b = both
    offline(a, *DECISION, "--operation", "early")
    b.session = a.session
    done(b(*DECISION, env={"ATLAS_CLOCK_OFFSET": "+30"}))
    assert done(a("sync", "--json"), 3).json["error"]["details"]["parked"] == ["early"]
    done(a("parked", "drop", "early"))


def test_a_lock_that_a_dead_git_left_holds_nothing_up_for_ever(
    two: Fleet, both: list[Worker]
) -> None:
    left = two.top / "a/.git/atlas/store.git/refs/heads/atlas.lock"
    left.touch()
    os.utime(left, (1, 1))
    done(both[1](*DECISION))
    done(both[0]("sync"))
    assert not left.exists()


def test_writers_of_one_clone_ride_on_one_push(two: Fleet, both: list[Worker]) -> None:
    """Six wait for a seventh that holds the lock: they are all carried along by one push."""
    two.git("hub.git", "config", "core.logAllRefUpdates", "always")
    first = Halted(two, "before_push", *DECISION)
    with two.crew(["a"] * 6) as workers:
        for number, worker in enumerate(workers):
            worker.tell(*DECISION, "--operation", f"op{number}", "--json")
        for number in range(6):
            recorded(two, f"op{number}")
        done(first.gone_on())
        assert all(done(worker.heard()).json["store"]["published"] for worker in workers)
    pushes = (two.top / "hub.git/logs/refs/heads/atlas").read_text().count("\n")
    assert pushes == 2, "the first, and one for the six"


def test_asking_again_settles_what_was_parked_meanwhile(two: Fleet, both: list[Worker]) -> None:
    a, b = both
    write = (*STATUS, "of a", "--operation", "mine")
    assert a(*write, env={"ATLAS_FAULT": "after_ref:kill"}).code == -9
    done(b(*STATUS, "of b"))
    done(a("sync"), 3)
    done(a(*write), 3)
    assert done(a("parked", "--json")).data["total"] == 0, "the stop was the answer"

"""Two clones and a remote, whatever befalls them, against a plain model: what was recorded is
published or parked, what was refused is neither, and every stop had its reason."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from atlas_cli.records import lease

from ..conftest import DECISION, Result
from .crew import Worker, crew
from .fleet import Fleet, done, fleet

clones = st.sampled_from(["a", "b"])
keys = st.sampled_from(["gpu0", "path:src", "path:src/deep"])
points = st.sampled_from(["after_ref", "before_push", "after_push", "before_carry", "after_carry"])
KILLED = -9


class TwoClones(RuleBasedStateMachine):
    """The model: the operations that were recorded, refused, or may have been either; what each
    session has read."""

    made: Fleet
    worker: Worker

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.hub = self.made.copied(self.folder / "fleet")
        self.skew = dict.fromkeys("ab", 0)
        self.offline: set[str] = set()
        self.recorded: dict[str, str] = {}  # operation: clone
        self.refused: set[str] = set()
        self.seen: dict[str, set[str]] = {"a": set(), "b": set()}  # blobs of status entries
        self.count = 0

    def teardown(self) -> None:
        if not hasattr(self, "hub"):
            return
        try:
            self.level()
            there = self.hub.operations()
            assert len(there) == len(set(there)), "no operation twice"
            parked = {
                clone: {one["operation"] for one in self.ok(clone, "parked")["items"]}
                for clone in "ab"
            }
            for operation, clone in self.recorded.items():
                assert (operation in there) != (operation in parked[clone]), (
                    operation,
                    clone,
                    parked,
                )
            assert not self.refused & {*there, *parked["a"], *parked["b"]}
        finally:
            shutil.rmtree(self.folder)

    # what is done

    def run(self, clone: str, *argv: str, fault: str = "") -> Result:
        env = {"ATLAS_CLOCK_OFFSET": str(self.skew[clone])} | (
            {"ATLAS_FAULT": fault} if fault else {}
        )
        where = ("-C", str(self.hub.top / clone), "--session", self.hub.sessions[clone], "--json")
        found = self.worker(*where, *argv, env=env)
        assert found.code == KILLED or "rewound" not in str(found.json["notices"]), found
        return found

    def ok(self, clone: str, *argv: str) -> Any:
        return done(self.run(clone, *argv)).data

    def write(self, clone: str, *argv: str, fault: str = "") -> Result:
        """A write under an operation of its own; killed, it is asked for again."""
        self.count += 1
        operation = f"op{self.count}"
        found = self.run(clone, *argv, "--operation", operation, fault=fault)
        if found.code == KILLED:
            found = self.run(clone, *argv, "--operation", operation)
        if found.code == 0:
            self.recorded[operation] = clone
        elif found.code in (3, 4, 5):
            self.refused.add(operation)
        return found

    def show(self, clone: str, path: str) -> str:
        """A file at the head of a clone's store; empty where there is none."""
        where = f"{clone}/.git/atlas/store.git"
        found = self.hub.git(where, "ls-tree", "-r", "atlas", "--", path).split()
        return self.hub.git(where, "cat-file", "blob", found[2]) if found else ""

    def newest(self, clone: str) -> str:
        """The blob of a clone's newest status entry; empty where there is none."""
        rows = self.hub.git(
            f"{clone}/.git/atlas/store.git", "ls-tree", "-r", "atlas", "--", "status/main"
        ).split("\n")
        return rows[-1].split()[2] if rows[-1] else ""

    def level(self) -> None:
        for clone in list(self.offline):
            self.back(clone)
        self.skew = dict.fromkeys("ab", 0)
        for clone in ("a", "b", "a"):
            done(self.run(clone, "sync"), 0, 3)
        assert self.hub.head("a") == self.hub.head("b") == self.hub.head("hub.git")
        assert self.ok("a", "verify", "--full")["commits"] > 1

    # what may befall them

    @rule(clone=clones, fault=st.none() | points)
    def decide(self, clone: str, fault: str | None) -> None:
        done(self.write(clone, *DECISION, fault=f"{fault}:kill" if fault else ""))

    @rule(clone=clones, fault=st.none() | points)
    def enter(self, clone: str, fault: str | None) -> None:
        found = self.write(
            clone, "status", "write", "-m", f"{self.count}", fault=f"{fault}:kill" if fault else ""
        )
        if done(found, 0, 3, 5).code:
            assert self.newest(clone) not in {"", *self.seen[clone]}, ("stopped for nothing", found)
        elif not found.data["replayed"]:
            self.seen[clone].add(self.newest(clone))

    @rule(clone=clones)
    def read(self, clone: str) -> None:
        if self.run(clone, "status", "show").code == 0 and (newest := self.newest(clone)):
            self.seen[clone].add(newest)

    @rule(clone=clones, key=keys, fault=st.none() | points)
    def take(self, clone: str, key: str, fault: str | None) -> None:
        found = self.write(
            clone, "lease", "take", key, "--why", "w", fault=f"{fault}:kill" if fault else ""
        )
        codes = (8,) if clone in self.offline else (0,)
        if done(found, *codes, 4, 6).code == 4:
            details = found.json["error"]["details"]
            row = self.show(clone, lease.path_of(details["resource"]))
            assert f'holder: "{details["holder"]}"' in row and "released" not in row, (
                "held by nobody",
                found,
                row,
            )
            assert details["holder"] != self.hub.sessions[clone], found
        elif (
            found.code == 6
        ):  # killed, and found given back by the retry; or its clock was set back
            late = "clock" if self.skew[clone] < 0 else "not_held"
            assert found.json["error"]["code"] in ("not_held", late)

    @rule(clone=clones, key=keys)
    def release(self, clone: str, key: str) -> None:
        done(self.write(clone, "lease", "release", key), 0, 4, 6)

    @rule(clone=clones)
    def sync(self, clone: str) -> None:
        found = self.run(clone, "sync")
        done(found, *((8, 10) if clone in self.offline else (0, 3)))

    @rule(clone=clones)
    def away(self, clone: str) -> None:
        self.hub.git(clone, "remote", "set-url", "origin", "../gone.git")
        self.offline.add(clone)

    @precondition(lambda self: self.offline)
    @rule(clone=clones)
    def back(self, clone: str) -> None:
        self.hub.git(clone, "remote", "set-url", "origin", "../hub.git")
        self.offline.discard(clone)

    @rule(clone=clones, seconds=st.sampled_from([-7200, -60, 0, 60, 7200]))
    def skewed(self, clone: str, seconds: int) -> None:
        self.skew[clone] = seconds

    @rule(place=st.sampled_from(["hub.git", "a/.git/atlas/store.git", "b/.git/atlas/store.git"]))
    def collected(self, place: str) -> None:
        self.hub.git(place, "gc", "-q", *(["--prune=now"] if place == "hub.git" else []))

    @rule()
    def deleted(self) -> None:
        """The branch is taken away from the remote, while both clones have all of it."""
        self.level()
        self.hub.git("hub.git", "update-ref", "-d", "refs/heads/atlas")
        for clone in "ab":
            assert done(self.run(clone, "sync"), 6).json["error"]["code"] == "branch_lost"
        self.decide("a", None)
        assert self.hub.git("hub.git", "for-each-ref", "refs/heads/atlas") == "", (
            "it is not for a write to bring it back"
        )
        self.ok("a", "doctor", "--fix")


@pytest.fixture
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[type[TwoClones]]:
    made = fleet(tmp_path_factory.mktemp("fleet") / "made", ["a", "b"])
    with crew([made.top], made.env) as [worker]:
        yield type("Machine", (TwoClones,), {"made": made, "worker": worker})


@pytest.mark.parametrize(
    ("examples", "steps"), [(4, 10), pytest.param(200, 40, marks=pytest.mark.long)]
)
def test_what_two_clones_do_is_what_the_model_says(
    machine: type[TwoClones], examples: int, steps: int
) -> None:
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )

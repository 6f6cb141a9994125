"""Races: eight processes write every kind at once over two worktrees, and nothing is lost, doubled
or torn."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from atlas_cli.records import artifact

from ..conftest import Atlas, Git, Result
from .crew import Worker, crew

WORKERS = 8
# What each stop may be called; any other end of a write is a fault.
STOPS = {3: {"version_jump"}, 4: {"held"}, 5: {"read_first"}, 6: {"not_held"}}
Deed = tuple[str, Result]


class Life:
    """One worker's writes, in an order of its own; `deeds` are all its answers by kind."""

    def __init__(self, worker: Worker, number: int, rounds: int) -> None:
        self.worker, self.number = worker, number
        self.deeds: list[Deed] = []
        self.left = dict.fromkeys(("status", "lease", "decision", "artifact"), rounds)
        self.dice = random.Random(number)

    def run(self) -> list[Deed]:
        while kinds := [kind for kind, left in self.left.items() for _ in range(left)]:
            kind = self.dice.choice(kinds)
            self.left[kind] -= 1
            getattr(self, kind)(self.left[kind])
        return self.deeds

    def do(self, kind: str, *argv: str, data: str | None = None) -> Result:
        done = self.worker(*argv, "--json", data=data)
        self.deeds.append((kind, done))
        return done

    def status(self, left: int) -> None:
        self.do(
            "status",
            "status",
            "write",
            f"own{self.number}",
            "-m",
            f"worker {self.number}, {left} to go",
        )

    def lease(self, left: int) -> None:
        if (
            self.do(
                "lease", "lease", "take", "gpu0", "--why", f"worker {self.number}, {left} to go"
            ).code
            == 0
        ):
            self.do("lease", "lease", "release", "gpu0")

    def decision(self, left: int) -> None:
        self.do(
            "decision",
            "decision",
            "add",
            "--title",
            "who goes on",
            "--recommended",
            "one",
            "--chosen",
            "another",
            "--stance",
            "disagreed",
            "--why",
            f"worker {self.number}, {left} to go",
        )

    def artifact(self, left: int) -> None:
        """Puts a version; told that it had not read the newest one, it reads and puts again, until
        it is in."""
        text = f"worker {self.number}, {left} to go\n"
        while self.do("artifact", "artifact", "put", "shared", "-", data=text).code in (3, 5):
            assert self.worker("artifact", "show", "shared", "--json").code == 0


@pytest.fixture
def worktrees(repo: Path, tmp_path: Path, git: Git) -> tuple[Path, Path]:
    git("worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"))
    return repo, tmp_path / "linked"


@pytest.fixture
def race(worktrees: tuple[Path, Path], env: dict[str, str]) -> Callable[[int], list[Deed]]:
    """All the deeds of a race with that many writes of each kind from each worker."""

    def run(rounds: int) -> list[Deed]:
        with crew([worktrees[number % 2] for number in range(WORKERS)], env) as workers:
            for number, worker in enumerate(workers):
                worker.begin(f"race {number}")
            lives = [Life(worker, number, rounds) for number, worker in enumerate(workers)]
            with ThreadPoolExecutor(WORKERS) as pool:
                return [deed for deeds in pool.map(Life.run, lives) for deed in deeds]

    return run


@pytest.mark.parametrize("rounds", [2, pytest.param(25, marks=pytest.mark.long)])
def test_every_success_is_one_commit_and_every_refusal_is_a_stop(
    rounds: int, race: Callable[[int], list[Deed]], repo: Path, git: Git, atlas: Atlas
) -> None:
    deeds = race(rounds)
    store = repo / ".git/atlas/store.git"
    won = [(kind, done.data) for kind, done in deeds if done.code == 0]
    for kind, done in deeds:
        assert done.code == 0 or done.json["error"]["code"] in STOPS.get(done.code, ()), (
            kind,
            done,
        )

    # Those that nobody can be in the way of have all succeeded, and the artifact was put until it
    # was in.
    count = Counter(kind for kind, _ in won)
    assert {kind: count[kind] for kind in ("status", "decision", "artifact")} == dict.fromkeys(
        ("status", "decision", "artifact"), WORKERS * rounds
    )
    assert {kind for kind, done in deeds if done.code != 0} <= {"lease", "artifact"}

    # One commit a success: the operations that were acknowledged are those of the history, each
    # once.
    found = [
        line
        for line in git(
            "log", "--format=%(trailers:key=Atlas-Operation,valueonly)", "atlas", cwd=store
        ).split("\n")
        if line
    ]
    begun = WORKERS + 1  # the sessions, and the policy
    assert len(found) == len(set(found)) == len(won) + begun
    assert {data["operation"] for _, data in won} <= set(found)
    assert len({data["operation"] for _, data in won}) == len(won)

    # Every success is in the store as it was acknowledged, numbered without gap or repeat.
    for number in range(WORKERS):
        assert numbers(won, "status", "stream", f"own{number}") == list(range(1, rounds + 1))
    assert numbers(won, "artifact", "name", "shared") == list(range(1, WORKERS * rounds + 1))
    assert sorted(data["version"] for kind, data in won if kind == "lease") == list(
        range(1, count["lease"] + 1)
    )
    for kind, data in won:
        if kind != "lease":
            shown = git("show", f"atlas:{place(data['ref'])}", cwd=store)
            assert data["session"] in shown and data["at"] in shown, data
    row = atlas("lease", "show", "gpu0", "--json").data
    assert (row["version"], row["state"]) == (count["lease"], "released")

    # A token for each time that the lease was taken, without gap or repeat.
    assert tokens(won) == list(range(1, len(tokens(won)) + 1))
    assert git("fsck", "--strict", "--no-dangling", cwd=store) == ""
    done = atlas("verify", "--full", "--json")
    assert done.code == 0 and done.data["commits"] == len(found) + 1, done


def numbers(won: list[tuple[str, Any]], kind: str, key: str, value: str) -> list[int]:
    return sorted(data["number"] for what, data in won if what == kind and data[key] == value)


def tokens(won: list[tuple[str, Any]]) -> list[int]:
    return sorted(data["token"] for kind, data in won if kind == "lease" and "released" not in data)


def place(ref: str) -> str:
    """Where a record must lie, worked out from its REF alone."""
    kind, _, rest = ref.partition(":")
    name, _, number = rest.partition("@")
    return {
        "status": f"status/{name}/000/{number.zfill(6)}.md",
        "artifact": artifact.path_of(name, int(number or 0)),
        "decision": f"decisions/{rest[:4]}/{rest[5:7]}/{rest[8:]}.md",
    }[kind]

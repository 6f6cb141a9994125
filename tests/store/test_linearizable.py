"""Four processes in each of four clones take, renew and give back leases and write numbered
entries, are held up and killed on the way, and ask again: what they were told could have happened
one at a time, in the order of the remote's history, and nothing that was acknowledged is missing
from it."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from atlas_cli.records import lease

from ..conftest import Result
from .crew import Worker, crew
from .fleet import Fleet, done, fleet
from .wgl import Call, linearizable

CLONES = ("a", "b", "c", "d")
LEASES, STREAMS = ("gpu0", "gpu1", "gpu2", "gpu3"), ("main", "api")
POINTS = ("before_ref", "after_ref", "before_push", "after_push", "before_carry", "after_carry")
STOPS = {"take": {4, 8, 10}, "renew": {4, 6, 8, 10}, "release": {4, 6}, "write": {3, 5}}
KILLED = -9


class Deed(NamedTuple):
    """One operation, from its first call to its last answer."""

    operation: str
    verb: str
    key: str
    session: str
    called: float
    returned: float
    result: Result

    @property
    def published(self) -> bool:
        return self.result.code == 0 and self.result.json["store"]["published"] is True

    @property
    def unknown(self) -> bool:
        """Whether it may have been done, or may be done yet, for all that the caller was told."""
        return not self.published and self.result.code in (0, 6, 8, 10, KILLED)


class Life:
    """One session's operations."""

    def __init__(self, worker: Worker, number: int, seed: int) -> None:
        self.worker, self.number = worker, number
        self.dice = random.Random(seed * 1000 + number)
        self.held: set[str] = set()
        self.deeds: list[Deed] = []

    def run(self, count: int) -> list[Deed]:
        for at in range(count):
            name = f"op-{self.number}-{at}"
            if self.held and self.dice.random() < 0.7:
                self.lease(name, self.dice.choice(sorted(self.held)))
            elif self.dice.random() < 0.3:
                self.write(name, self.dice.choice(STREAMS))
            else:
                self.lease(name, self.dice.choice(LEASES))
        return self.deeds

    def lease(self, name: str, key: str) -> None:
        verb = "take" if key not in self.held else self.dice.choice(("release", "release", "renew"))
        why = ("--why", "w") if verb == "take" else ()
        found = self.do(name, verb, key, "lease", verb, key, *why)
        if (found.code == 0 and verb == "take") or found.code == KILLED:
            self.held.add(key)  # (after a kill it may be: then it is to be given back)
        elif verb == "release" or found.code in (4, 6, 8, 10):
            self.held.discard(key)

    def write(self, name: str, key: str) -> None:
        self.worker("status", "show", key, "--json")
        self.do(name, "write", key, "status", "write", key, "--new", "-m", name)

    def do(self, name: str, verb: str, key: str, *argv: str) -> Result:
        """The operation, asked for again where it was killed, half of the times."""
        called = inf
        while True:
            found = self.worker(
                *argv,
                "--operation",
                name,
                "--json",
                env=self.fault(),
                pause=self.dice.uniform(0, 0.2),
            )
            called = min(called, self.worker.span[0])
            if found.code != KILLED or self.dice.random() < 0.5:
                break
        session = self.worker.session or ""
        self.deeds.append(Deed(name, verb, key, session, called, self.worker.span[1], found))
        return found

    def fault(self) -> dict[str, str]:
        chance, point = self.dice.random(), self.dice.choice(POINTS)
        how = "kill" if chance < 0.3 else ("stop" if chance < 0.6 else "")
        return {"ATLAS_FAULT": f"{point}:{how}"} if how else {}


class Commit(NamedTuple):
    oid: str
    operation: str
    files: dict[str, dict[str, Any]]  # what it put, by path


class Chain:
    """The remote's history."""

    def __init__(self, hub: Fleet) -> None:
        form = "--format=%x00%H %(trailers:key=Atlas-Operation,valueonly,separator=%x2C)"
        out = hub.git("hub.git", "log", "--reverse", "--name-only", form, "atlas")
        self.commits = []
        for block in out.split("\0")[1:]:
            head, *paths = [line for line in block.split("\n") if line]
            oid, _, operation = head.partition(" ")
            rows = [path for path in paths if path.startswith("leases/")]
            files = {path: {} for path in paths}
            files |= {path: record(hub.git("hub.git", "show", f"{oid}:{path}")) for path in rows}
            self.commits.append(Commit(oid, operation, files))
        self.place = {
            commit.operation: at for at, commit in enumerate(self.commits) if commit.operation
        }
        self.at = {commit.oid: at for at, commit in enumerate(self.commits)}

    def state(self, key: str, upto: int) -> tuple[Any, ...]:
        """What a key was once a commit had been made: of a lease (version, token, holder), of a
        stream (number,)."""
        found: tuple[Any, ...] = (0, 0, None) if key in LEASES else (0,)
        for commit in self.commits[: upto + 1]:
            for path, row in commit.files.items():
                if key in LEASES and path == lease.path_of(key):
                    found = (
                        row["version"],
                        row["token"],
                        None if "released" in row else row["holder"],
                    )
                elif key in STREAMS and path.startswith(f"status/{key}/"):
                    found = (int(Path(path).stem),)
        return found


def record(text: str) -> dict[str, Any]:
    """A row, read by hand."""
    return {
        key: json.loads(value)
        for key, _, value in (line.partition(": ") for line in text.split("\n") if line)
    }


def step(state: tuple[Any, ...], what: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The plain model of a lease and of a numbered stream; `said` is what the caller was told
    (None: nothing)."""
    verb, session, said = what
    if verb == "read":
        return state if state == said else None
    if verb == "write":
        after: tuple[Any, ...] = (state[0] + 1,)
        return after if said in (None, after) else None
    version, token, holder = state
    if (
        said == "held"
    ):  # and so refused: by another, or (nothing to renew or give back) not by oneself
        return state if holder != session and (holder or verb != "take") else None
    if holder not in ((None, session) if verb == "take" else (session,)):
        return None
    after = (version + 1, token + (holder is None), None if verb == "release" else session)
    return after if said in (None, after) else None


def calls(deeds: list[Deed], key: str, chain: Chain) -> list[Call]:
    """What the deeds on a key say of it; of those that nobody was told the end of, the ones that
    are there."""
    found = []
    for deed in (deed for deed in deeds if deed.key == key):
        if deed.published:
            data = deed.result.data
            held = None if "released" in data else data.get("holder")
            said = (
                (data["number"],)
                if deed.verb == "write"
                else (data["version"], data["token"], held)
            )
            found.append(Call(deed.called, deed.returned, (deed.verb, deed.session, said)))
        elif deed.result.code == 4 and deed.verb in (
            "take",
            "renew",
        ):  # (a release speaks of this clone)
            found.append(Call(deed.called, deed.returned, (deed.verb, deed.session, "held")))
        elif deed.unknown and deed.operation in chain.place:
            found.append(Call(deed.called, inf, (deed.verb, deed.session, None)))
            if deed.verb == "take" and deed.result.code in (
                6,
                8,
                10,
                KILLED,
            ):  # and what gave it back
                found.append(Call(deed.called, inf, ("release", deed.session, None)))
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    return fleet(tmp_path_factory.mktemp("fleet") / "made", CLONES)


@contextmanager
def watched(hub: Fleet, seen: list[tuple[float, float, str]]) -> Iterator[None]:
    """Looks at the remote's head all the time: (from, to, head)."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.05):
            began = time.monotonic()
            head = hub.head("hub.git")
            seen.append((began, time.monotonic(), head))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def raced(
    hub: Fleet, seed: int, each: int, count: int
) -> tuple[list[Deed], list[tuple[float, float, str]]]:
    """All deeds of a race, with what was seen of the remote beside it; afterwards all clones are
    level."""
    seen: list[tuple[float, float, str]] = []
    names = [name for name in CLONES for _ in range(each)]
    with crew([hub.top / name for name in names], hub.env) as workers:
        for number, worker in enumerate(workers):
            worker.begin(f"race {number}", "--offline")
        lives = [Life(worker, number, seed) for number, worker in enumerate(workers)]
        with watched(hub, seen), ThreadPoolExecutor(len(workers)) as pool:
            deeds = [
                deed for found in pool.map(lambda life: life.run(count), lives) for deed in found
            ]
        for _ in range(2):  # the last one has what the others brought
            for worker in workers[::each]:
                done(worker("sync"), 0, 3)
        for worker in workers[::each]:
            done(worker("verify", "--full"))
    assert len({hub.head(name) for name in (*CLONES, "hub.git")}) == 1
    return deeds, seen


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(1, 1 + metafunc.config.getoption("--seeds")))


def test_what_all_were_told_could_have_happened_one_at_a_time(
    seed: int, made: Fleet, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    hub = made.copied(tmp_path / "fleet")
    deeds, seen = raced(hub, seed, 4, 50 if pytestconfig.getoption("--long") else 5)
    chain = Chain(hub)
    for deed in deeds:
        allowed = STOPS[deed.verb] | {0, KILLED} | ({6} if deed.verb == "take" else set())
        assert deed.result.code in allowed, (deed.verb, deed.result.out, deed.result.err)
        if deed.result.code in (3, 4):
            assert deed.operation not in chain.place, ("a stop was written", deed)

    # Every acknowledged write is there, once, as it was acknowledged; what is only recorded, there
    # or parked.
    assert len(chain.place) == sum(1 for commit in chain.commits if commit.operation), (
        "no operation twice"
    )
    parked = {
        path.name
        for name in CLONES
        for path in (hub.top / name / ".git/atlas/store.git/refs/atlas/parked").glob("*")
    }
    for deed in deeds:
        if deed.result.code == 0:
            assert deed.operation in chain.place or (
                not deed.published and deed.operation in parked
            ), deed
    for deed in (deed for deed in deeds if deed.published):
        (what,) = calls([deed], deed.key, chain)
        assert chain.state(deed.key, chain.place[deed.operation]) == what.what[2], deed

    # The chain is a witness: it is lawful, keeps the order of what did not overlap, and whoever
    # looks sees it grow.
    holders: dict[tuple[str, int], set[str]] = {}
    for key in LEASES:
        for at, commit in enumerate(chain.commits):
            if (row := commit.files.get(lease.path_of(key))) is not None:
                holders.setdefault((key, row["token"]), set()).add(row["holder"])
                assert chain.state(key, at)[0] == chain.state(key, at - 1)[0] + 1
    assert all(len(found) == 1 for found in holders.values()), holders
    ended = sorted((deed.returned, chain.place[deed.operation]) for deed in deeds if deed.published)
    for deed in (deed for deed in deeds if deed.published):
        before = [place for returned, place in ended if returned < deed.called]
        assert max(before, default=-1) < chain.place[deed.operation], deed
    for began, _, head in seen:
        before = [place for returned, place in ended if returned < began]
        assert max(before, default=-1) <= chain.at[head], "an acknowledged write was not to be seen"

    # And without the witness: by the answers alone, and by what was seen.
    for key in (*LEASES, *STREAMS):
        reads = [
            Call(began, to, ("read", "", chain.state(key, chain.at[head])))
            for began, to, head in thinned(seen)
        ]
        start = (0, 0, None) if key in LEASES else (0,)
        found = [*calls(deeds, key, chain), *reads]
        if not linearizable(found, start, step):
            pytest.fail(f"seed {seed}, {key}:\n{history(found)}", pytrace=False)


def history(found: list[Call]) -> str:
    base = min(one.called for one in found)
    return "\n".join(
        f"{one.called - base:.3f} {one.returned - base:.3f} {one.what}" for one in sorted(found)
    )


def thinned(seen: list[tuple[float, float, str]], most: int = 40) -> list[tuple[float, float, str]]:
    return seen[:: len(seen) // most + 1]


S, T = "session-s", "session-t"
# history, whether it can have been
JUDGED: dict[str, tuple[list[Call], bool]] = {
    "one after the other": (
        [
            Call(0, 1, ("take", S, (1, 1, S))),
            Call(2, 3, ("release", S, (2, 1, None))),
            Call(4, 5, ("take", T, (3, 2, T))),
        ],
        True,
    ),
    "beside each other": (
        [
            Call(0, 9, ("take", T, (3, 2, T))),
            Call(0, 9, ("take", S, (1, 1, S))),
            Call(0, 9, ("release", S, (2, 1, None))),
        ],
        True,
    ),
    "a double win": (
        [Call(0, 5, ("take", S, (1, 1, S))), Call(0, 5, ("take", T, (1, 1, T)))],
        False,
    ),
    "a double win, with a token of its own": (
        [Call(0, 5, ("take", S, (1, 1, S))), Call(6, 7, ("take", T, (2, 2, T)))],
        False,
    ),
    "a stale read": (
        [Call(0, 1, ("take", S, (1, 1, S))), Call(2, 3, ("read", "", (0, 0, None)))],
        False,
    ),
    "a read beside it": (
        [Call(0, 2, ("take", S, (1, 1, S))), Call(1, 3, ("read", "", (0, 0, None)))],
        True,
    ),
    "refused, since it was held": (
        [Call(0, 2, ("take", S, (1, 1, S))), Call(1, 3, ("take", T, "held"))],
        True,
    ),
    "refused, although it was free": (
        [
            Call(0, 1, ("take", S, (1, 1, S))),
            Call(2, 3, ("release", S, (2, 1, None))),
            Call(4, 5, ("take", T, "held")),
        ],
        False,
    ),
    "unknown, and done": (
        [Call(0, inf, ("take", S, None)), Call(2, 3, ("read", "", (1, 1, S)))],
        True,
    ),
    "unknown, and done later": (
        [
            Call(0, inf, ("take", S, None)),
            Call(2, 3, ("read", "", (0, 0, None))),
            Call(4, 5, ("read", "", (1, 1, S))),
        ],
        True,
    ),
    "unknown, and never done": (
        [Call(0, inf, ("take", S, None)), Call(2, 3, ("take", T, (1, 1, T)))],
        True,
    ),
    "unknown, and undone": (
        [
            Call(0, inf, ("take", S, None)),
            Call(2, 3, ("read", "", (1, 1, S))),
            Call(4, 5, ("take", T, (2, 2, T))),
        ],
        False,
    ),
}
NUMBERS: dict[str, tuple[list[Call], bool]] = {
    "in order": ([Call(0, 1, ("write", S, (1,))), Call(2, 3, ("write", T, (2,)))], True),
    "a lost update": ([Call(0, 1, ("write", S, (1,))), Call(2, 3, ("write", T, (1,)))], False),
    "out of order": ([Call(0, 1, ("write", S, (2,))), Call(2, 3, ("write", T, (1,)))], False),
    "a hole": ([Call(0, 1, ("write", S, (1,))), Call(2, 3, ("write", T, (3,)))], False),
    "a hole that an unknown one fills": (
        [
            Call(0, 1, ("write", S, (1,))),
            Call(0, inf, ("write", T, None)),
            Call(2, 3, ("write", T, (3,))),
        ],
        True,
    ),
}


@pytest.mark.parametrize("name", JUDGED)
def test_the_checker_tells_which_histories_of_a_lease_can_have_been(name: str) -> None:
    history, lawful = JUDGED[name]
    assert linearizable(history, (0, 0, None), step) is lawful


@pytest.mark.parametrize("name", NUMBERS)
def test_the_checker_tells_which_histories_of_a_stream_can_have_been(name: str) -> None:
    history, lawful = NUMBERS[name]
    assert linearizable(history, (0,), step) is lawful

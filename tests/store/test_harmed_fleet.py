"""Sessions of three clones write, are killed and interrupted at any moment (and their gits), while
the remote's answers are lost, late or refusals: exits are true, nothing is lost or doubled, and no
two hold one thing."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ..conftest import DECISION, Result, command
from .fleet import Fleet, done, fleet

CLONES = ("a", "b", "c")
# What the other side of a push or fetch does, one time in six.
REMOTE = """#!/bin/sh
case $(od -An -N1 -tu1 /dev/urandom | tr -d ' ') in
1?|2?) git-{pack}-pack "$@"; exit 1 ;;
3?) git-{pack}-pack "$@" | head -c 300 ;;
4?) exit 1 ;;
5?) sleep 1; exec git-{pack}-pack "$@" ;;
*) exec git-{pack}-pack "$@" ;;
esac
"""
# exits that say "it is not in the history"
NOT = {1, 2, 3, 4, 5, 6, 7, 130}


class Deed(NamedTuple):
    operation: str
    verb: str
    key: str
    session: str
    called: float
    returned: float
    result: Result


class Life:
    """One session: its deeds, each of them harmed now and then."""

    def __init__(self, hub: Fleet, clone: str, seed: str) -> None:
        self.hub, self.clone, self.dice = hub, clone, random.Random(seed)
        self.session, self.seed, self.held, self.deeds = "", seed, set[str](), list[Deed]()

    def run(self, count: int) -> list[Deed]:
        while not self.session:
            begun = self.do("begin", "", "begin", "--new", "--actor", "worker")
            self.session = begun.json["data"]["id"] if begun.code == 0 else ""
        for _ in range(count):
            self.one(self.dice.choice(("take", "take", "release", "write", "claim", "decision")))
        return self.deeds

    def one(self, verb: str) -> None:
        if verb == "take":
            key = self.dice.choice(("gpu0", "path:src", "path:src/x.py"))
            if self.do(verb, key, "lease", "take", key, "--why", "w").code == 0:
                self.held.add(key)
        elif verb == "release" and self.held:
            key = self.dice.choice(sorted(self.held))
            self.held -= {key} if self.do(verb, key, "lease", "release", key).code == 0 else set()
        elif verb == "write":
            self.do(
                verb,
                "",
                "status",
                "write",
                "--section",
                self.session,
                "-m",
                f"words of {self.session}",
            )
        elif verb == "claim":
            self.do(verb, "", "task", "next", "--claim")
        else:
            self.do("decision", "", *DECISION)

    def do(self, verb: str, key: str, *argv: str) -> Result:
        operation = f"{self.seed}-{len(self.deeds)}"
        named = ("--session", self.session) if self.session else ()
        called = time.monotonic()
        child = subprocess.Popen(
            command("--json", *named, "--operation", operation, *argv),
            cwd=self.hub.top / self.clone,
            env=self.hub.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        harm = threading.Timer(self.dice.uniform(0.1, 0.8), self.harm, (child,))
        if self.dice.random() < 0.4:
            harm.start()
        out, err = child.communicate(timeout=120)
        harm.cancel()
        found = Result(child.returncode, out, err)
        self.deeds.append(Deed(operation, verb, key, self.session, called, time.monotonic(), found))
        return found

    def harm(self, child: subprocess.Popen[str]) -> None:
        how = self.dice.choice(("kill", "interrupt", "interrupt", "git"))
        if child.poll() is None:
            if how == "git":
                for pid in children(child.pid):
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            else:
                child.send_signal(signal.SIGKILL if how == "kill" else signal.SIGINT)


def children(pid: int) -> Iterator[int]:
    """The processes that it has started (none where that cannot be seen)."""
    file = Path(f"/proc/{pid}/task/{pid}/children")
    yield from map(int, file.read_text().split()) if file.exists() else ()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    found = fleet(tmp_path_factory.mktemp("fleet") / "made", CLONES)
    with found.crew(["a"]) as (a,):
        done(a("status", "write", "-m", "The first words."))
        for number in range(3):
            done(a("task", "add", f"job number {number}"))
    return found


def holdings(deeds: list[Deed]) -> list[tuple[str, str, float, float]]:
    """(what, who, from, to) of what was held for certain: from the answer that said so to the next
    call about it."""
    found = []
    for deed in deeds:
        if deed.result.code != 0 or deed.verb not in ("take", "claim"):
            continue
        key = deed.key or deed.result.json["data"]["id"]
        later = [
            one.called
            for one in deeds
            if one.session == deed.session
            and one.key == key
            and one.verb == "release"
            and one.called > deed.returned
        ]
        found.append((key, deed.session, deed.returned, min(later, default=float("inf"))))
    return found


def overlap(one: str, other: str) -> bool:
    return one == other or {one, other} == {"path:src", "path:src/x.py"}


@pytest.mark.parametrize(
    ("seed", "count"),
    [(1, 3), *(pytest.param(seed, 12, marks=pytest.mark.long) for seed in range(2, 20))],
)
def test_whatever_harm_is_done_to_them(made: Fleet, tmp_path: Path, seed: int, count: int) -> None:
    hub = made.copied(tmp_path / "fleet")
    for name in CLONES:
        for pack in ("receive", "upload"):
            script = hub.top / f"{pack}-pack"
            script.write_text(REMOTE.format(pack=pack))
            script.chmod(0o755)
            hub.git(name, "config", f"remote.origin.{pack}pack", str(script))
    lives = [
        Life(hub, clone, f"s{seed}-{number}") for number, clone in enumerate((*CLONES, *CLONES))
    ]
    with ThreadPoolExecutor(len(lives)) as pool:
        deeds = [deed for found in pool.map(lambda life: life.run(count), lives) for deed in found]
    for name in CLONES:
        for pack in ("receive", "upload"):
            hub.git(name, "config", "--unset", f"remote.origin.{pack}pack")
    (hub.top / "hub.git/refs/heads/atlas.lock").unlink(missing_ok=True)
    parked: set[str] = set()
    with hub.crew(CLONES) as workers:
        for _ in range(2):
            for worker in workers:
                done(worker("sync"), 0, 3)
        for worker in workers:
            done(worker("verify", "--full"))
            parked |= {one["operation"] for one in done(worker("parked", "--json")).data["items"]}
    assert len({hub.head(name) for name in (*CLONES, "hub.git")}) == 1
    there = Counter(hub.operations())
    assert set(there.values()) == {1}, "no operation twice"
    for deed in deeds:
        what: Any = (deed, deed.operation in there, deed.operation in parked)
        assert deed.result.code in {0, 8, 10, -9} | NOT, what
        assert "Traceback" not in deed.result.err and (
            deed.result.code < 0 or json.loads(deed.result.out)
        ), what
        if deed.result.code == 0:
            assert (
                deed.operation in there
                or deed.operation in parked
                or deed.result.data.get("replayed")
            ), what
        if deed.result.code in NOT:
            assert deed.operation not in there and deed.operation not in parked, what
        assert not (deed.operation in there and deed.operation in parked), what
    held = holdings(deeds)
    for at, one in enumerate(held):
        for other in held[at + 1 :]:
            assert (
                one[1] == other[1]
                or not overlap(one[0], other[0])
                or one[3] <= other[2]
                or other[3] <= one[2]
            ), (
                one,
                other,
            )

"""Struck at any call that writes, of atlas, of its gits or of the remote's: a command's exit is
true, the next command works within fifteen seconds, and once all is well again every write is in
every history once, or parked, or was refused."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from ..conftest import DECISION, Result, command
from .crew import Worker
from .fleet import Fleet, done
from .harm import HOWS, library, plan, struck

COMMANDS = {
    "write": ("status", "write", "--section", "mine", "-m", "words of mine"),
    "take": ("lease", "take", "gpu0", "--why", "w"),
    "next": ("task", "next", "--claim"),
    "put": ("artifact", "put", "doc", "x.py"),
    "begin": ("begin", "--new"),
    "end": ("end", "-m", "All is said and done here."),
    "sync": ("sync",),
}
SERVER = (
    "refs/heads/atlas.lock",
)  # what a killed git leaves on a remote that is a folder: nobody else may touch it
SOME = [
    ("take", "caller killed", 0.55),
    ("sync", "all killed", 0.4),
    ("write", "interrupted", 0.75),
    ("next", "EIO", 0.7),
]


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = library(tmp_path_factory.mktemp("harm"))
    if isinstance(found, str):
        pytest.skip(found)
    return found


@pytest.fixture(scope="module")
def ready(pair: Fleet, tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """Two clones with tasks to claim and a status that is read."""
    found = pair.copied(tmp_path_factory.mktemp("ready") / "fleet")
    with found.crew(["a", "b"]) as (a, b):
        done(a("status", "write", "-m", "The first words."))
        done(a("task", "add", "one job")), done(a("task", "add", "another job"))
        done(b("sync")), done(b("status", "show"))
    return found


def run(two: Fleet, shim: Path, argv: tuple[str, ...], how: str, at: int) -> Result:
    plan(two.top / "plan", how, at)
    child = subprocess.Popen(
        command("--json", "--session", two.sessions["a"], *argv),
        cwd=two.top / "a",
        stdin=subprocess.DEVNULL,
        env=two.env | {"LD_PRELOAD": str(shim), "HARM": str(two.top / "plan")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    out, err = child.communicate(timeout=100)
    return Result(child.returncode, out, err)


def behind(two: Fleet, verb: str, a: Worker, b: Worker) -> None:
    """For a sync: a has recorded what stands, and what contradicts what b then publishes."""
    if verb == "sync":
        done(a(*DECISION, "--offline", "--operation", "kept"))
        done(
            a(
                "status",
                "write",
                "--replace",
                "-m",
                "quite another text",
                "--offline",
                "--operation",
                "parked",
            )
        )
        done(
            b(
                "status",
                "write",
                "--replace",
                "-m",
                "the text that was first",
                "--operation",
                "first",
            )
        )


def judged(two: Fleet, verb: str, how: str, found: Result, a: Worker, b: Worker) -> None:
    """All that must be so, however it was struck."""
    what = (verb, how, struck(two.top / "plan"), found)
    assert found.code in (0, 1, 3, 8, 10, 130, -9), what
    assert found.code < 0 or json.loads(found.out)["atlas"] == 1, what
    assert "Traceback" not in found.err and "internal" not in found.out, what
    began = time.monotonic()
    after = a(*DECISION, "--json")
    assert after.code == 0 or (verb == "end" and after.code == 5), (what, after)
    assert time.monotonic() - began < 15, what
    for name in SERVER:
        (two.top / "hub.git" / name).unlink(missing_ok=True)
    for worker in (a, b, a):
        last = done(worker("sync"), 0, 3)
    done(b("sync"))
    assert two.head("a") == two.head("b") == two.head("hub.git"), (what, last)
    there, parked = (
        two.operations(),
        {one["operation"] for one in done(a("parked", "--json")).data["items"]},
    )
    assert len(there) == len(set(there)), (what, "twice")
    if verb == "sync":
        assert {"kept", "first"} <= set(there) and "parked" not in there and parked == {"parked"}, (
            what,
            parked,
        )
    else:
        assert not parked, what
        assert ("mine" in there) == (found.code == 0) or found.code in (8, 10, -9), what
        if found.code == 10:
            assert (a("log", "mine").code == 0) == ("mine" in there), what
    done(a("verify", "--full"))
    assert two.git("a/.git/atlas/store.git", "fsck", "--strict", "--no-dangling") == "", what


def point(ready: Fleet, tmp_path: Path, shim: Path, verb: str, how: str, at: int) -> bool:
    """One point of a sweep; False where it lies behind the last call."""
    two = ready.copied(tmp_path / "fleet")
    operation = () if verb == "sync" else ("--operation", "mine")
    try:
        with two.crew(["a", "b"]) as (a, b):
            behind(two, verb, a, b)
            found = run(two, shim, (*operation, *COMMANDS[verb]), how, at)
            if not struck(two.top / "plan").call:
                return False
            judged(two, verb, how, found, a, b)
    finally:
        shutil.rmtree(two.top)
    return True


@pytest.mark.parametrize(
    ("verb", "how", "part"),
    [*SOME[:2], *(pytest.param(*one, marks=pytest.mark.long) for one in SOME[2:])],
)
def test_struck_at_a_call_that_writes(
    ready: Fleet, tmp_path: Path, shim: Path, verb: str, how: str, part: float
) -> None:
    two = ready.copied(tmp_path / "counted")
    with two.crew(["a", "b"]) as (a, b):
        behind(two, verb, a, b)
    assert run(two, shim, COMMANDS[verb], how, 0).code in (0, 3)
    calls = struck(two.top / "plan").calls
    assert calls > 100, "they are no longer counted"
    assert point(ready, tmp_path, shim, verb, how, int(calls * part))


@pytest.mark.long
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("verb", COMMANDS)
def test_struck_at_every_fifth_call(
    ready: Fleet, tmp_path: Path, shim: Path, verb: str, how: str
) -> None:
    at = 3
    while point(ready, tmp_path, shim, verb, how, at):
        at += 5
    assert at > 100

"""What a git that died has left locked is put aside by the next command that has the locks of the
kernel; what a git that lives may hold is not, and is named."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from atlas_cli.errors import Locked
from atlas_cli.store import branch

from ..conftest import DECISION
from .crew import Worker
from .fleet import Fleet, done

REFS = ("incoming", "remote", "before", "parked/loser")
OTHERS = (
    "HEAD.lock",
    "packed-refs.lock",
    "packed-refs.new",
    "config.lock",
    "shallow.lock",
    "refs/heads/atlas.lock",
)
LEASE = ("lease", "take", "gpu0", "--why", "w", "--json")


@pytest.fixture(scope="module")
def made(pair: Fleet, tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """Two clones; both have written since they met: one of a's writes contradicts one of b's."""
    found = pair.copied(tmp_path_factory.mktemp("fleet") / "made")
    with found.crew(["a", "b"]) as (a, b):
        done(a("status", "write", "--replace", "-m", "a", "--offline", "--operation", "loser"))
        done(a(*DECISION, "--offline", "--operation", "mine"))
        done(b("status", "write", "-m", "of b", "--operation", "winner"))
    return found


@pytest.fixture
def two(made: Fleet, tmp_path: Path) -> Fleet:
    return made.copied(tmp_path / "fleet")


@pytest.fixture
def a(two: Fleet) -> Iterator[Worker]:
    with two.crew(["a"]) as workers:
        yield workers[0]


def left(two: Fleet, name: str, age: int = 3600) -> Path:
    """A lock file as a dead git leaves it."""
    file = two.top / "a/.git/atlas/store.git" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("left\n")
    os.utime(file, (time.time() - age,) * 2)
    return file


def forget(two: Fleet) -> None:
    """The next read asks the remote."""
    (two.top / "a/.git/atlas/sync.json").unlink(missing_ok=True)


@pytest.mark.parametrize("age", [3600, -3600])
def test_a_dead_lock_of_any_ref_is_in_nobodys_way(two: Fleet, a: Worker, age: int) -> None:
    """A clock may have been set back since, too."""
    files = [left(two, f"refs/atlas/{name}.lock", age) for name in REFS] + [
        left(two, name, age) for name in OTHERS
    ]
    forget(two)
    assert "was left" not in str(done(a("status", "--json")).json["notices"])
    assert {"winner"} <= set(two.operations("a")), (
        "a read brought it, and parked what it contradicts"
    )
    assert not [file for file in files if file.exists()]
    files = [left(two, f"refs/atlas/{name}.lock", age) for name in REFS] + [
        left(two, name, age) for name in OTHERS
    ]
    done(a(*LEASE)), done(a("sync"))
    assert {"winner", "mine"} <= set(two.operations()) and not [
        file for file in files if file.exists()
    ]
    left(two, "refs/atlas/parked/loser.lock", age)
    done(a("parked", "drop", "loser"))
    assert done(a("parked", "--json")).data["total"] == 0
    assert two.git("a/.git/atlas/store.git", "fsck", "--strict", "--no-dangling") == ""


def test_what_a_living_git_may_hold_is_left_to_it_and_named(two: Fleet, a: Worker) -> None:
    done(a("sync"), 3)
    bare = two.top / "a/.git/atlas/store.git"
    child = subprocess.Popen(
        ["git", f"--git-dir={bare}", "update-ref", "--stdin"],
        env=two.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdin and child.stdout
    child.stdin.write(f"start\nupdate refs/atlas/incoming {two.head('a')}\nprepare\n".encode())
    child.stdin.flush()
    assert b"ok" in child.stdout.readline() + child.stdout.readline()
    file = bare / "refs/atlas/incoming.lock"
    past = time.time() - branch.STALE - 2  # it is slow, no more
    os.utime(file, (past, past))
    with two.crew(["b"]) as (b,):
        done(b(*DECISION))
    forget(two)
    said = done(a("status", "--json"))
    if not Path("/proc/self/cmdline").exists():
        child.kill()
        pytest.skip("which processes live cannot be seen here")
    assert str(file) in str(said.json["notices"]) and str(child.pid) in str(said.json["notices"]), (
        said
    )
    child.stdin.write(b"commit\n")
    child.stdin.close()
    assert child.wait(30) == 0, "its lock was there when it came to it"
    done(a("sync"))


def test_a_write_does_not_fail_over_what_only_the_remote_needs(two: Fleet, a: Worker) -> None:
    """A young lock, which may be a living git's: recorded, not published, and why."""
    file = left(two, "refs/atlas/remote.lock", 0)
    with two.crew(["b"]) as (b,):
        done(b(*DECISION))
    forget(two)
    began = time.monotonic()
    said = done(a("status", "--json"))  # the read does not wait for it
    assert str(file) in str(said.json["notices"]), said
    assert time.monotonic() - began < 15
    done(a(*LEASE))
    assert not file.exists()


def test_across_file_systems_and_where_it_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "x.lock"

    def refuse(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(Path, "rename", refuse)
    file.write_text("")
    branch.aside(file, tmp_path / "elsewhere", 12)
    assert not file.exists()
    file.write_text("")
    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(Locked) as stop:
        branch.aside(file, tmp_path / "elsewhere", 12)
    assert str(file) in stop.value.message and "12 s" in stop.value.message
    assert "atlas doctor --fix" in stop.value.hint

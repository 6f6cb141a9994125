"""A writer that dies, fails or is interrupted at any step leaves the store at the old or the new
commit, and usable."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from atlas_cli.store.failpoints import POINTS

from ..conftest import Atlas, Git, Result, command

try:
    import fcntl
except ImportError:
    pytest.skip("kernel locks of this kind are not to be had here", allow_module_level=True)

# From this point on the branch has moved: the write is there.
MOVED = POINTS.index("after_ref")
# Each kind of write, with what it reads on standard input.
KINDS: dict[str, tuple[tuple[str, ...], str]] = {
    "lease": (("lease", "take", "gpu1", "--why", "training"), ""),
    "status": (("status", "write", "main", "-m", "Parser done. Open: the cache."), ""),
    "artifact": (
        ("artifact", "put", "schema", "-", "--type", "md", "--title", "the schema"),
        "# Schema\n",
    ),
    "decision": (
        (
            "decision",
            "add",
            "--title",
            "which cache",
            "--recommended",
            "a",
            "--chosen",
            "b",
            "--stance",
            "disagreed",
            "--why",
            "timing, not content",
        ),
        "",
    ),
    "begin": (("begin", "--new", "--goal", "the next goal"), ""),
    "end": (("end", "-m", "Done: the parser. Open: the cache."), ""),
}
TWO = [
    pytest.param(kind, marks=() if kind in ("lease", "end") else pytest.mark.long) for kind in KINDS
]
ONE = [pytest.param(kind, marks=() if kind == "lease" else pytest.mark.long) for kind in KINDS]


@dataclass
class Shop:
    """One store under test: how to write in it, and what must be true of it afterwards."""

    repo: Path
    atlas: Atlas
    git: Git
    env: dict[str, str]

    @property
    def home(self) -> Path:
        return self.repo / ".git/atlas"

    @property
    def bare(self) -> Path:
        return self.home / "store.git"

    def head(self) -> str:
        return self.git("rev-parse", "refs/heads/atlas", cwd=self.bare)

    def log(self) -> list[str]:
        """The ids of all operations in the history, newest first."""
        form = "--format=%(trailers:key=Atlas-Operation,valueonly,separator=%x2C)"
        return self.git("log", form, "refs/heads/atlas", cwd=self.bare).split("\n")

    def start(
        self, *args: str, data: str = "", prefix: tuple[str, ...] = (), **extra: str
    ) -> subprocess.Popen[bytes]:
        """A command that goes on beside the test, in a session of its own."""
        child = subprocess.Popen(
            [*prefix, *command(*args)],
            cwd=self.repo,
            env=self.env | extra,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert child.stdin is not None
        with suppress(BrokenPipeError):
            child.stdin.write(data.encode())
            child.stdin.close()
        child.stdin = None
        return child

    def stopped(
        self, point: str, *args: str, data: str = "", **extra: str
    ) -> subprocess.Popen[bytes]:
        """A command that has stopped itself at a point of its write."""
        child = self.start(*args, data=data, ATLAS_FAULT=f"{point}:stop", **extra)
        _, status = os.waitpid(child.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), (point, status, child.communicate())
        return child

    def whole(self, *heads: str) -> None:
        """The branch is at one of these, every object is sound, every record parses, no rule is
        broken."""
        assert not heads or self.head() in heads
        self.git("fsck", "--strict", "--no-dangling", cwd=self.bare)
        judged = self.atlas("verify", "--full", "--json")
        assert judged.code == 0, judged.out
        assert judged.data["head"] == self.head()

    def kept(self, acknowledged: list[str]) -> None:
        """Every operation that was acknowledged is in the history, each once."""
        found = self.log()
        assert [operation for operation in acknowledged if found.count(operation) != 1] == []


def ended(child: subprocess.Popen[bytes], seconds: float = 60) -> Result:
    out, err = child.communicate(timeout=seconds)
    return Result(child.returncode, out.decode(), err.decode())


@pytest.fixture
def shop(repo: Path, begun: str, atlas: Atlas, git: Git, env: dict[str, str]) -> Shop:
    return Shop(repo, atlas, git, env)


Fatal = Callable[[Shop, str, str, str], Result]


def killed(shop: Shop, kind: str, point: str, operation: str) -> Result:
    argv, data = KINDS[kind]
    return shop.atlas(*argv, "--operation", operation, data=data, ATLAS_FAULT=f"{point}:kill")


def broken(shop: Shop, kind: str, point: str, operation: str) -> Result:
    """A fault of Atlas itself."""
    argv, data = KINDS[kind]
    done = shop.atlas(*argv, "--operation", operation, data=data, ATLAS_FAULT=f"{point}:raise")
    lines = done.err.strip().split("\n")
    assert f"planted at {point}" in lines[0] and "Traceback" not in done.err
    # Behind the one line: the next step, where the text is kept, notices.
    assert all(line.startswith(("  ", "notice: ")) for line in lines[1:])
    return done


def signalled(sign: signal.Signals) -> Fatal:
    def run(shop: Shop, kind: str, point: str, operation: str) -> Result:
        argv, data = KINDS[kind]
        child = shop.stopped(point, *argv, "--operation", operation, data=data)
        child.send_signal(sign)
        child.send_signal(signal.SIGCONT)
        return ended(child)

    return run


def suffered(shop: Shop, kind: str, fatal: Fatal, codes: tuple[int, int]) -> None:
    """At each point of a write: its end, the state of the store, and what the next command finds.
    `codes`: how it ends before and after the branch has moved."""
    acknowledged = []
    for number, point in enumerate(POINTS):
        if kind == "end":  # it closes what the last round ended
            assert shop.atlas("begin", "--new", "--goal", f"round {number}").code == 0
        old, operation = shop.head(), f"write-{number}"
        done = fatal(shop, kind, point, operation)
        moved = number >= MOVED
        assert done.code == codes[moved], (point, done)
        assert (shop.head() != old) == moved, point
        assert shop.log().count(operation) == moved, point
        if moved:
            assert shop.git("rev-parse", "refs/heads/atlas^", cwd=shop.bare) == old, point
        # The next command, at once, with nothing put right by hand: the same write once more.
        argv, data = KINDS[kind]
        again = shop.atlas(*argv, "--operation", operation, "--json", data=data)
        assert (again.code, again.json["error"]) == (0, None), (point, again)
        assert again.data["replayed"] == moved, point
        acknowledged.append(operation)
        shop.kept(acknowledged)
    shop.whole()
    assert shop.atlas("doctor").code == 0


@pytest.mark.parametrize("kind", TWO)
def test_killed_at_any_point_of_a_write_the_store_is_at_the_old_or_the_new_commit(
    shop: Shop, kind: str
) -> None:
    suffered(shop, kind, killed, (-signal.SIGKILL, -signal.SIGKILL))


@pytest.mark.parametrize("kind", ONE)
def test_a_fault_of_atlas_itself_is_one_line_and_loses_nothing(shop: Shop, kind: str) -> None:
    suffered(shop, kind, broken, (1, 1))


@pytest.mark.parametrize("kind", ONE)
def test_interrupted_it_says_whether_anything_was_written(shop: Shop, kind: str) -> None:
    suffered(shop, kind, signalled(signal.SIGINT), (130, 10))


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_terminated_it_is_as_dead_as_killed(shop: Shop, kind: str) -> None:
    suffered(shop, kind, signalled(signal.SIGTERM), (-signal.SIGTERM, -signal.SIGTERM))


@pytest.mark.parametrize(
    ("sign", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)]
)
def test_a_writer_that_waits_for_its_turn_can_be_ended(
    shop: Shop, sign: signal.Signals, code: int
) -> None:
    old, lock = shop.head(), shop.home / "writer.lock"
    with lock.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        child = shop.start(*KINDS["lease"][0])
        waits = Path(f"/proc/{child.pid}/fd")
        if not waits.exists():
            child.kill()
            pytest.skip("whether a process waits cannot be seen without /proc")
        while child.poll() is None and not any(_opens(entry, lock) for entry in waits.iterdir()):
            time.sleep(0.02)
        child.send_signal(sign)
        done = ended(child)
    assert (done.code, "Traceback" in done.err) == (code, False), done
    assert shop.head() == old
    assert shop.atlas(*KINDS["lease"][0]).code == 0


def _opens(entry: Path, file: Path) -> bool:
    with suppress(OSError):
        return entry.readlink() == file
    return False


LOCKS = pytest.mark.parametrize("name", ["refs/heads/atlas.lock", "HEAD.lock"])


@LOCKS
@pytest.mark.parametrize("age", [3600, 8])
def test_a_lock_that_a_dead_git_left_is_put_aside(shop: Shop, name: str, age: int) -> None:
    """Also a young one, once it has grown old enough: within 15 seconds, of which eight are
    over."""
    file = shop.bare / name
    file.write_text("left by a git that died\n")
    os.utime(file, (time.time() - age,) * 2)
    old = shop.head()
    done = shop.atlas(*KINDS["lease"][0])
    assert done.code == 0, done
    assert shop.git("rev-parse", "refs/heads/atlas^", cwd=shop.bare) == old
    assert not file.exists()
    assert (shop.home / "stale.lock").read_text() == "left by a git that died\n"
    shop.whole()


@LOCKS
def test_a_lock_of_a_living_git_is_waited_for(shop: Shop, name: str) -> None:
    file = shop.bare / name
    file.write_text("")
    child = shop.start(*KINDS["lease"][0])
    time.sleep(1)
    assert child.poll() is None and file.exists()
    file.unlink()
    assert ended(child).code == 0
    assert not (shop.home / "stale.lock").exists()

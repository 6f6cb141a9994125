"""How the cost of sharing grows with the history: `python -m tests.bench.growth [COMMITS…]` prints
the table of help/speed.md. The remote lies on the same disk: what a network adds is a round trip or two
each, and the bytes."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ..conftest import DECISION, command, environment
from .stores import fill, records


def main(sizes: list[int]) -> None:
    print(
        "| commits | remote | first push | join | one write, published | sync, three new | verify |"
    )
    print("|---|---|---|---|---|---|---|")
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="atlas-growth-") as folder:
            print(row(Path(folder), size), flush=True)


def row(top: Path, size: int) -> str:
    env = environment(top) | {"GIT_AUTHOR_NAME": "b", "GIT_AUTHOR_EMAIL": "b@localhost"}
    env |= {"GIT_COMMITTER_NAME": "b", "GIT_COMMITTER_EMAIL": "b@localhost"}

    def took(cwd: str, *argv: str) -> float:
        began = time.perf_counter()
        done = subprocess.run(argv, cwd=top / cwd, env=env, capture_output=True, check=False)
        assert done.returncode == 0, (argv, done.stdout[-500:], done.stderr[-500:])
        return time.perf_counter() - began

    def atlas(cwd: str, *argv: str) -> float:
        return took(cwd, *command(*argv))

    def decided(cwd: str) -> float:
        return atlas(cwd, *DECISION)

    (
        took(".", "git", "init", "-q", "--bare", "hub.git"),
        took(".", "git", "clone", "-q", "hub.git", "a"),
    )
    (
        took("a", "git", "commit", "-q", "--allow-empty", "-m", "x"),
        took("a", "git", "push", "-q", "origin", "HEAD"),
    )
    atlas("a", "init", "--offline")
    fill(top / "a/.git/atlas/store.git", records(size, int(time.time())), int(time.time()), 1)
    first = atlas("a", "sync")
    took("hub.git", "git", "gc", "-q")
    heavy = sum(file.stat().st_size for file in (top / "hub.git").rglob("*") if file.is_file())
    for clone in "bc":
        took(".", "git", "clone", "-q", "--single-branch", "hub.git", clone)
    join = [atlas(clone, "begin", "--goal", "g") for clone in "bc"]
    write = sorted(decided("c") for _ in range(7))[3]
    sync = []
    for _ in range(5):
        for _ in range(3):
            decided("c")
        sync.append(atlas("b", "sync"))
    verify = atlas("b", "verify", "--full")
    return (
        f"| {size:,} | {heavy / 1e6:.1f} MB | {first:.1f} s | {min(join):.1f} s | {write:.2f} s | "
        f"{sorted(sync)[2]:.2f} s | {verify:.1f} s |"
    )


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [1_000, 10_000, 100_000])

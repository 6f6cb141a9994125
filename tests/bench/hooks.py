"""The hook that passes, as git runs it: from `sh` to the end, its git child included."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from atlas_cli.model import text, times
from atlas_cli.records import lease

from .stores import fill

STAGED, LEASES = 5000, 1000


def leases(count: int, now: int) -> Iterator[tuple[str, bytes]]:
    """Live leases of another on as many paths, none of them staged."""
    for number in range(count):
        row = {
            "resource": f"path:other/{number}.py",
            "version": 1,
            "token": 1,
            "holder": "bench-260101-aaaaaa",
            "actor": "bench",
            "why": "bench",
            "at": times.rfc3339(now),
            "expires": times.rfc3339(now + 7200),
        }
        yield lease.path_of(str(row["resource"])), text.dump(row)


def prepared(repo: Path, env: dict[str, str], staged: int, held: int) -> None:
    """A project with a session, that many staged paths and leases, and the hooks."""
    repo.mkdir()
    (repo / "src").mkdir()

    def run(*args: str) -> None:
        subprocess.run(args, cwd=repo, env=env, check=True, capture_output=True)

    run("git", "init", "-q")
    (
        run("git", "config", "user.name", "bench"),
        run("git", "config", "user.email", "bench@example.invalid"),
    )
    for number in range(staged):
        (repo / f"src/{number}.py").write_text(f"{number}\n")
    run("git", "add", "."), run("git", "commit", "-qm", "first")
    run(sys.executable, "-m", "atlas_cli", "init")
    if held:
        fill(repo / ".git/atlas/store.git", leases(held, int(time.time())), int(time.time()))
    run(sys.executable, "-m", "atlas_cli", "begin")
    for number in range(staged):
        (repo / f"src/{number}.py").write_text(f"{number} again\n")
    run("git", "add", ".")
    for _ in range(2):  # the first draws the cache
        hook(repo, env, "pre-commit")


def hook(repo: Path, env: dict[str, str], name: str, *args: str) -> float:
    """Seconds of one call."""
    began = time.perf_counter()
    done = subprocess.run(
        [str(repo / ".git/hooks" / name), *args],
        cwd=repo,
        capture_output=True,
        env=env | {"GIT_INDEX_FILE": ".git/index", "GIT_EDITOR": ":"},
    )
    spent = time.perf_counter() - began
    if done.returncode or done.stderr:
        raise SystemExit(f"{name}: {done.stderr.decode()}")
    return spent


def table(home: Path, runs: int, env: dict[str, str]) -> None:
    """Prints what help/speed.md says of the hooks."""
    env = {
        key: value for key, value in env.items() if key != "PYTHONPYCACHEPREFIX"
    }  # the hook's is isolated from it
    prepared(home / "small", env, 3, 0)
    prepared(home / "big", env, STAGED, LEASES)
    message = home / "message"
    calls = {
        "pre-commit": ("small", "pre-commit"),
        f"pre-commit, {STAGED:,} staged paths, {LEASES:,} live leases": ("big", "pre-commit"),
        "prepare-commit-msg": ("small", "prepare-commit-msg", str(message), "message"),
    }
    took: dict[str, list[float]] = {}
    for _ in range(runs):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], env=env)
        took.setdefault("bare", []).append(time.perf_counter() - began)
        for name, (where, *call) in calls.items():
            message.write_text("a message\n")
            took.setdefault(name, []).append(hook(home / where, env, *call))
    bare = statistics.median(took["bare"])
    print("\n| hook that passes | ratio |\n|---|---|")
    for name in calls:
        print(
            f"| `{name.replace(',', '`,', 1) if ',' in name else name + '`'} | {statistics.median(took[name]) / bare:.1f}× |"
        )


if __name__ == "__main__":
    import tempfile

    from ..conftest import environment

    with tempfile.TemporaryDirectory(prefix="atlas-bench-") as folder:
        table(Path(folder), int((sys.argv[1:] or ["15"])[0]), environment(Path(folder)))

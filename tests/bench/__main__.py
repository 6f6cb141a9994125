"""The bench: whole processes as ratios to a bare `python -c pass` in the same run.

`python -m tests.bench [RUNS]` prints the table of help/speed.md. A timing is never a test."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ..conftest import DECISION, environment
from . import hooks
from .stores import board, fill, records

SIZES = (100, 100_000)
COMMANDS: dict[str, tuple[str, ...]] = {
    "status": ("status",),
    "status --json": ("status", "--json"),
    "begin (again)": ("begin",),
    "lease list": ("lease", "list"),
    "lease take": ("lease", "take", "gpu0", "--why", "bench"),
    "artifact put": ("artifact", "put", "bench", "note.md"),
    "status write": ("status", "write", "-m", "All is well, once more.", "--section", "Bench"),
    "task list --ready": ("task", "list", "--ready", "-n", "20"),
    "task next --claim": ("task", "next", "--claim"),
    "decision add": DECISION,
}


def main(runs: int) -> None:
    with tempfile.TemporaryDirectory(prefix="atlas-bench-") as folder:
        home = Path(folder)
        env = environment(home)
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        env["PYTHONPYCACHEPREFIX"] = str(home / "pyc")
        for size in SIZES:
            prepared(home / str(size), size, env)
        took = measured(home, runs, env)
        bare = statistics.median(took["bare", 0])
        print(f"\nbare `python -c pass`: {bare * 1000:.1f} ms (median of {runs})\n")
        print("| command | 100 records | 100,000 records | large : small |\n|---|---|---|---|")
        for name in COMMANDS:
            small, large = (statistics.median(took[name, size]) for size in SIZES)
            print(f"| `{name}` | {small / bare:.1f}× | {large / bare:.1f}× | {large / small:.2f} |")
        hooks.table(home, runs, env)
        prepared(home / "judged", 0, env)
        judged(home / "judged", env)


def prepared(repo: Path, size: int, env: dict[str, str]) -> None:
    """A project with a store of that many records, its index built, a session begun."""
    repo.mkdir()
    subprocess.run(["git", "init", "-q", str(repo)], check=True, env=env)
    run(("init", "--no-hooks"), repo, env)
    began = time.perf_counter()
    now = int(time.time())
    fill(repo / ".git/atlas/store.git", (*records(size, now), *board(size, now)), now)
    made = time.perf_counter()
    run(("begin", "--goal", "bench"), repo, env)
    print(
        f"{size} records: made in {made - began:.1f} s, first command (builds the index) {time.perf_counter() - made:.1f} s"
    )
    (repo / "note.md").write_text("# note\n\nsome words\n")
    for key, value in (("session_claims", "1000"), ("open_tasks", "100000")):
        run(("config", "set", key, value), repo, env)
    (repo / "plan.md").write_text(
        "".join(f"## one more {nth}\n\nwhat is to be done\n" for nth in range(60))
    )
    run(("task", "add", "--plan", "plan.md"), repo, env)
    for command in COMMANDS.values():
        run(command, repo, env)


def run(args: tuple[str, ...], cwd: Path, env: dict[str, str]) -> float:
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "atlas_cli", *args], cwd=cwd, env=env, capture_output=True
    )
    spent = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(f"{args}: {done.stderr.decode()}")
    return spent


def measured(home: Path, runs: int, env: dict[str, str]) -> dict[tuple[str, int], list[float]]:
    """Seconds of each command at each size, in turns, so that a slow moment of the machine falls on
    all alike."""
    took: dict[tuple[str, int], list[float]] = {("bare", 0): []}
    for _ in range(runs):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], env=env)
        took["bare", 0].append(time.perf_counter() - began)
        for name, command in COMMANDS.items():
            for size in SIZES:
                took.setdefault((name, size), []).append(run(command, home / str(size), env))
    return took


def judged(repo: Path, env: dict[str, str]) -> None:
    """How many commits a second `verify --full` judges."""
    code = (
        "import sys; from atlas_cli.main import main\n"
        "for n in range(1000): main(['decision', 'add', '--title', f't{n}', '--recommended', 'a', '--chosen', 'a',"
        "'--stance', 'agreed', '--why', 'w', '--quiet'])"
    )
    subprocess.run(
        [sys.executable, "-c", code],
        cwd=repo,
        env=env | {"PYTHONUNBUFFERED": ""},
        stdout=subprocess.DEVNULL,
    )
    done = subprocess.run(
        [sys.executable, "-m", "atlas_cli", "verify", "--full", "--json"],
        cwd=repo,
        env=env,
        capture_output=True,
        text=True,
    )
    done = subprocess.run(
        [sys.executable, "-m", "atlas_cli", "verify", "--full"],
        cwd=repo,
        env=env,
        capture_output=True,
        text=True,
    )
    print(f"\nverify: {done.stdout.splitlines()[0]}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)

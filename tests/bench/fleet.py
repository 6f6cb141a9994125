"""The bench of publishing: sessions in several clones write decisions, then claim tasks, each write
a whole process; beside it the same load through plain `git pull --rebase && git commit && git push`
loops, each with a clone of its own: a claim there moves the first file of `open/` to `taken/`, and
counts once it is pushed.

`python -m tests.bench.fleet [SECONDS] [SESSIONS] [CLONES] [DELAY]`; DELAY: seconds that the remote
takes to answer a call, as one behind a network does (0). A timing is never a test."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..conftest import DECISION, command
from ..store.fleet import Fleet, fleet

PLAIN = """
pull() { git pull -q --rebase origin main 2>/dev/null; }
pull && echo "$1" > "decision-$1.md" && git add "decision-$1.md" && git commit -qm "decision $1" || exit 1
until git push -q origin HEAD:main 2>/dev/null; do pull; done
"""
CLAIM = """
while git fetch -q origin main && git reset -q --hard origin/main && first=$(ls open | head -n 1) && mkdir -p taken; do
  git mv "open/$first" taken/ && git commit -qm "claim $first by $1" && git push -q origin HEAD:main 2>/dev/null && exit
done; exit 1
"""
TASKS = 5000  # more than are claimed


def measured(
    name: str, write: Callable[[int, int], list[str]], where: list[Path], seconds: float, hub: Fleet
) -> float:
    """Writes per second of sessions that each write one after the other for so long; prints what it
    saw."""
    log = hub.top / "hub.git/logs/refs/heads" / ("atlas" if name.startswith("atlas") else "main")
    shutil.rmtree(log, ignore_errors=True)
    log.unlink(missing_ok=True)
    began = time.monotonic()

    def session(number: int) -> list[float]:
        took: list[float] = []
        while time.monotonic() < began + seconds:
            start = time.monotonic()
            env = hub.env | {"CODEX_THREAD_ID": f"session-{number}"}
            done = subprocess.run(
                write(number, len(took)), cwd=where[number], env=env, capture_output=True, text=True
            )
            if done.returncode:
                raise SystemExit(f"{name}: {done.stdout}{done.stderr}")
            took.append(time.monotonic() - start)
        return took

    with ThreadPoolExecutor(len(where)) as pool:
        found = list(pool.map(session, range(len(where))))
    rate = sum(map(len, found)) / (time.monotonic() - began)
    all_, pushes = sorted(one for took in found for one in took), log.read_text().count("\n")
    print(
        f"| {name} | {rate:.1f} | {pushes / len(all_):.2f} | {all_[len(all_) // 2]:.2f} | {all_[-1]:.2f} | "
        f"{min(map(len, found))}–{max(map(len, found))} |"
    )
    return rate


def main(seconds: float = 30, sessions: int = 16, clones: int = 4, delay: float = 0) -> None:
    with tempfile.TemporaryDirectory(prefix="atlas-bench-") as folder:
        names = [f"c{number}" for number in range(clones)]
        hub = fleet(Path(folder) / "fleet", names)
        hub.git("hub.git", "config", "core.logAllRefUpdates", "always")
        where = [hub.top / names[number % clones] for number in range(sessions)]
        for number, place in enumerate(where):
            env = hub.env | {"CODEX_THREAD_ID": f"session-{number}"}
            subprocess.run(
                command("begin", "--goal", f"bench {number}"),
                cwd=place,
                env=env,
                check=True,
                stdout=subprocess.DEVNULL,
            )
        own = [hub.top / f"own{number}" for number in range(sessions)]
        for place in own:
            hub.git(".", "clone", "-q", "-b", "main", "hub.git", str(place))
        for place in (*map(str, own), *names) if delay else ():
            for end in ("receive", "upload"):
                hub.git(
                    place, "config", f"remote.origin.{end}pack", f"sleep {delay}; git-{end}-pack"
                )
        print(
            f"{sessions} sessions, {clones} clones, {seconds:.0f} s, remote + {delay:.1f} s; load {os.getloadavg()[0]:.1f}\n"
        )
        print(
            "| | writes/s | pushes/write | median s | slowest s | writes of a session |\n|---|---|---|---|---|---|"
        )
        ours = measured("atlas", lambda *_: command(*DECISION), where, seconds, hub)
        plain = measured(
            "plain git", lambda at, n: ["sh", "-c", PLAIN, "-", f"{at}-{n}"], own, seconds, hub
        )
        print(
            f"\natlas : plain git = {ours / plain:.1f}\n\n| | claims/s | pushes/claim | median s | slowest s | claims of a "
            "session |\n|---|---|---|---|---|---|"
        )
        posted(hub, where, own)
        ours = measured(
            "atlas claims", lambda *_: command("task", "next", "--claim"), where, seconds, hub
        )
        plain = measured(
            "plain git claims",
            lambda at, n: ["sh", "-c", CLAIM, "-", f"{at}-{n}"],
            own,
            seconds,
            hub,
        )
        print(f"\nclaims, atlas : plain git = {ours / plain:.1f}")


def posted(hub: Fleet, where: list[Path], own: list[Path]) -> None:
    """The same tasks for both: on the board, and as files."""
    (hub.top / "plan.md").write_text("".join(f"## task {number}\n\n" for number in range(TASKS)))
    env = hub.env | {"CODEX_THREAD_ID": "session-0"}
    plan = ("task", "add", "--plan", str(hub.top / "plan.md"))
    for args, places in (
        (("config", "set", "session_claims", str(TASKS)), where[:1]),
        (plan, where[:1]),
        (("sync",), where),
    ):
        for place in places:
            subprocess.run(
                command(*args), cwd=place, env=env, check=True, stdout=subprocess.DEVNULL
            )
    (own[0] / "open").mkdir()
    for number in range(TASKS):
        (own[0] / f"open/{number:04}").write_text(f"task {number}\n")
    (
        hub.git(str(own[0]), "fetch", "-q"),
        hub.git(str(own[0]), "reset", "-q", "--soft", "origin/main"),
    )
    hub.git(str(own[0]), "add", "open"), hub.git(str(own[0]), "commit", "-qm", "tasks")
    hub.git(str(own[0]), "push", "-q", "origin", "HEAD:main")
    for place in own:
        (
            hub.git(str(place), "fetch", "-q"),
            hub.git(str(place), "reset", "-q", "--hard", "origin/main"),
        )


if __name__ == "__main__":
    main(
        float(sys.argv[1] if len(sys.argv) > 1 else 30),
        *map(int, sys.argv[2:4]),
        *map(float, sys.argv[4:5]),
    )

"""Every hook on an ordinary day, as the processor time of its whole process tree to that of a bare
`python -c pass` beside it: pairs in turns, so that whatever else the machine does falls on both.

`python -m tests.bench.ordinary [PAIRS]` prints the table; processor time, since others may be at
work. A figure is never a test."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from atlas_cli.model import times
from atlas_cli.records import session
from atlas_cli.setup.claude import HOOKS

from ..conftest import environment
from .stores import fill, records

SESSIONS, RECORDS, LIVE = 100, 500, 10


class Call(NamedTuple):
    """One call of a hook: its words, its standard input, and what is done before it."""

    argv: tuple[str, ...]
    given: bytes = b""
    before: Callable[[], object] = lambda: None
    extra: tuple[tuple[str, str], ...] = ()


def spent(argv: tuple[str, ...], cwd: Path, env: dict[str, str], given: bytes = b"") -> float:
    """Seconds of processor time of a process and all that it waited for."""
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as said:
        stdin.write(given), stdin.seek(0)
        child = subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=stdin, stdout=subprocess.DEVNULL, stderr=said
        )
        _, state, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(state)
        if child.returncode:
            said.seek(0)
            raise SystemExit(f"{argv}: {said.read().decode()}")
    return usage.ru_utime + usage.ru_stime


def older(now: int) -> Iterator[tuple[str, bytes]]:
    """The records of a year, and the sessions that the store has besides."""
    from atlas_cli.model import text

    yield from records(RECORDS, now)
    for count in range(SESSIONS - RECORDS // 10 - LIVE):
        began = now - (count + 1) * 7200
        one = session.new_id("older", began, count.to_bytes(6, "big"))
        row = {"id": one, "version": 1, "actor": "older", "machine": "m"}
        row |= {"began": times.rfc3339(began), "ended": times.rfc3339(began + 3600)}
        yield session.path_of(one), text.dump(row)


def prepared(repo: Path, env: dict[str, str]) -> str:
    """A clone with such a store, others at work on files of their own, a session that has read
    where things stand, and a staged change. The result is the session."""

    def run(*args: str, **extra: str) -> str:
        done = subprocess.run(args, cwd=repo, env=env | extra, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{args}: {done.stdout}{done.stderr}")
        return done.stdout

    def atlas(*args: str, **extra: str) -> str:
        return run(sys.executable, "-m", "atlas_cli", *args, **extra)

    repo.mkdir()
    run("git", "init", "-q", "-b", "main")
    run("git", "config", "user.name", "bench"), run("git", "config", "user.email", "b@localhost")
    (repo / "src").mkdir()
    for count in range(20):
        (repo / f"src/{count}.py").write_text(f"{count}\n")
    run("git", "add", "."), run("git", "commit", "-qm", "first")
    run("git", "init", "-q", "--bare", "-b", "main", "../hub.git")
    run("git", "remote", "add", "origin", "../hub.git"), run("git", "push", "-q", "origin", "main")
    run("git", "fetch", "-q")
    atlas("init")
    fill(repo / ".git/atlas/store.git", older(int(time.time())), int(time.time()))
    for count in range(LIVE):
        me = {"CODEX_THREAD_ID": f"other-{count}"}
        goal = ("--goal", f"what {count} does", "--on", f"other/{count}")
        atlas("begin", "--new", "--actor", f"other{count}", *goal, **me)
        atlas("status", "write", "-m", f"part {count} is done", "--on", f"other/{count}", **me)
        atlas("lease", "take", f"path:other/{count}/x.py", "--why", "bench", **me)
    me = str(json.loads(atlas("begin", "--goal", "mine", "--json"))["data"]["id"])
    atlas("status", "show"), atlas("sync")
    (repo / "src/0.py").write_text("again\n"), run("git", "add", ".")
    run("git", "commit", "-qm", "mine")
    atlas("status", "write", "-m", "the first part is done")
    (repo / "src/1.py").write_text("again\n"), run("git", "add", ".")
    return me


def calls(repo: Path) -> dict[str, Call]:
    """Each hook as git, or a tool, calls it."""
    hooks, message = repo / ".git/hooks", repo.parent / "message"
    head, typed = ("git", "rev-parse", "HEAD"), repo / ".git/COMMIT_EDITMSG"
    tip = subprocess.check_output(head, cwd=repo, text=True).strip()
    signed = subprocess.check_output(("git", "log", "-1", "--format=%B"), cwd=repo)

    def git(name: str, *args: str) -> tuple[str, ...]:
        return (str(hooks / name), *args)

    def push(ref: str) -> bytes:
        return f"refs/heads/main {tip} refs/heads/{ref} {'0' * 40}\n".encode()

    edit = {"cwd": str(repo), "tool_input": {"file_path": str(repo / "src/2.py")}}
    edited = json.dumps(edit).encode()
    tool = (sys.executable, "-I", "-S", str(Path(__file__).parents[2] / "atlas_cli/hook.py"))
    setting = str(HOOKS["PreToolUse"]["hooks"][0]["command"])
    plain = ("prepare-commit-msg", str(message), "message")
    return {
        "pre-commit": Call(git("pre-commit")),
        "pre-merge-commit": Call(git("pre-merge-commit")),
        "prepare-commit-msg (-m)": Call(
            git(*plain), before=lambda: message.write_text("a message\n")
        ),
        "prepare-commit-msg (editor)": Call(
            git("prepare-commit-msg", str(typed)),
            before=lambda: typed.write_text("\n# a comment\n"),
            extra=(("GIT_EDITOR", "true"),),
        ),
        "commit-msg (-m)": Call(
            git("commit-msg", str(message)), before=lambda: message.write_bytes(signed)
        ),
        "commit-msg (editor)": Call(
            git("commit-msg", str(message)),
            before=lambda: message.write_text("typed\n"),
            extra=(("GIT_EDITOR", "true"),),
        ),
        "post-checkout": Call(git("post-checkout", tip, tip, "1")),
        "post-merge": Call(git("post-merge", "0")),
        "post-rewrite": Call(git("post-rewrite", "amend"), f"{tip} {tip}\n".encode()),
        "pre-push (a branch)": Call(git("pre-push", "origin", "../hub.git"), push("mine")),
        "pre-push (main)": Call(git("pre-push", "origin", "../hub.git"), push("main")),
        "edit (an AI tool's)": Call((*tool, "edit"), edited),
        "edit (by its settings' command)": Call(("sh", "-c", setting), edited),
    }


def main(pairs: int) -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory(prefix="atlas-bench-") as folder:
        home, repo = Path(folder), Path(folder, "repo")
        env = environment(home)
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        me = prepared(repo, env)
        env |= {"ATLAS_SESSION": me, "GIT_INDEX_FILE": ".git/index"}
        print(f"| hook, {pairs} pairs | to a bare Python | middle half |\n|---|---|---|")
        for name, call in calls(repo).items():
            own = env | {"GIT_EDITOR": ":"} | dict(call.extra)
            ratios = []
            for number in range(pairs + 2):  # the first ones draw the cache
                call.before()
                bare = spent((sys.executable, "-c", "pass"), repo, env)
                hook = spent(call.argv, repo, own, call.given)
                ratios += [hook / bare] if number > 1 else []
            low, middle, high = statistics.quantiles(ratios, n=4)
            print(f"| `{name}` | {middle:.1f}× | {low:.1f} to {high:.1f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)

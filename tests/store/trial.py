"""A small project, and sessions that work on it by a fixed script: what the AGENTS block says, and
what each stop prints. A session is a process of its own that carries an AI tool's id, with real
git and real hooks. Run as a program, it is one of them."""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..conftest import command, environment

README = """# logmill
Parses web server logs. Work goes to `main` by small commits; what to do stands on the board.

## Commands
"""
# name, title, needs, priority: the plan; {m} is the package that a copy of it works in
PLAN = (
    ("parse", "{m}/parse.py: parse_line(text), per artifact line-format", (), 90),
    ("read", "{m}/read.py: read_lines(path), bad lines counted", ("parse",), 80),
    ("top", "command {m}/top.py, listed in README.md", ("read",), 70),
    ("slow", "command {m}/slow.py, listed in README.md", ("read",), 70),
    ("errors", "command {m}/errors.py, listed in README.md", ("read",), 70),
    ("hours", "command {m}/hours.py, listed in README.md", ("read",), 60),
    ("users", "command {m}/users.py, listed in README.md", ("read",), 60),
    ("gen", "{m}/gen.py: writes N random lines", (), 85),
    ("size", "{m}/size.py: human_size(bytes)", (), 50),
    ("span", "{m}/span.py: parse_span(text)", (), 50),
    ("rig1", "measure {m}/parse.py on the rig", ("parse",), 65),
    ("rig2", "measure {m}/read.py on the rig", ("read",), 65),
    ("rig3", "measure {m}/gen.py on the rig", ("gen",), 65),
)
BAR = ("│", "──", "────────")
STOPS = (3, 4, 5)
PATIENCE = 150.0  # seconds after which a session that still runs is stuck


class Call(NamedTuple):
    """One call of Atlas or git, as it ended."""

    argv: list[str]
    code: int
    words: int  # outside frames
    stop: bool
    out: str


def words(text: str) -> int:
    """The words of an answer outside frames and tables."""
    return sum(len(line.split()) for line in text.split("\n") if not line.startswith(BAR))


class Session:
    """A session at work in a folder; each of its calls is noted in a log."""

    def __init__(self, folder: Path, log: Path, name: str) -> None:
        self.folder, self.log, self.name = folder, log, name
        # As an AI tool does: what it starts carries its id, not the tool itself.
        self.env = os.environ | {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": name}

    def run(self, argv: Sequence[str], data: str = "") -> Call:
        """Runs a program. Its answer and its stop are noted."""
        program = command(*argv[1:]) if argv[0] == "atlas" else list(argv)
        done = subprocess.run(
            program,
            cwd=self.folder,
            env=self.env,
            input=data,
            capture_output=True,
            text=True,
            timeout=150,
        )
        text = done.stdout + done.stderr
        ours = argv[0] == "atlas"
        stop = done.returncode in STOPS if ours else bool(done.returncode and "atlas: stop" in text)
        count = 0 if argv[1:2] == ["begin"] or not (ours or "atlas" in text) else words(text)
        call = Call(list(argv), done.returncode, count, stop, text)
        with self.log.open("a") as log:
            log.write(json.dumps({**call._asdict(), "at": time.time(), "who": self.name}) + "\n")
        return call

    def atlas(self, *argv: str, data: str = "") -> Call:
        return self.run(["atlas", *argv], data)

    def git(self, *argv: str) -> Call:
        """Runs git; stopped, it does what the stop prints and runs the same command again."""
        for _ in range(40):  # (several may want one index)
            call = self.run(["git", *argv])
            if call.code == 0 or not (call.stop or "index.lock" in call.out):
                return call
            answer = self.obey(call) if call.stop else None
            if answer is None or answer.code:
                time.sleep(0.2)
        return call

    def obey(self, call: Call) -> Call | None:
        """Runs the Atlas command that a stop prints for its reader; None if it prints none."""
        printed = re.findall(
            r"(?:git )?(atlas (?:status|session adopt|end|correct)[^\n;|`]*?)(?: takes over|[\n;|`]|$)",
            call.out,
        )
        for line in printed[:1]:
            line = re.sub(r" (?:\(|, then ).*", "", line.strip())
            try:
                argv = shlex.split(line)
            except ValueError:
                continue
            return self.atlas(*argv[1:])
        return None


def _push(me: Session) -> None:
    """Pushes to main, over whoever was first. (Only then are their commits taken in: in a checkout
    that others work in, what they have not committed is in the way.)"""
    for _ in range(60):  # (sixteen on two cores: one may be outrun a dozen times)
        if me.git("push", "-q", "origin", "HEAD:main").code == 0:
            return
        me.run(["git", "pull", "-q", "--rebase", "--autostash", "origin", "main"])
        time.sleep(random.uniform(0.0, 0.5))
    raise SystemExit(f"{me.name} cannot push")


def _commit(me: Session, title: str, paths: list[str]) -> None:
    for _ in range(100):  # (three of them share one index)
        if me.run(["git", "add", *paths]).code == 0:
            break
        time.sleep(0.2)
    if me.git("commit", "-qm", title, "--", *paths).code:
        raise SystemExit(f"{me.name} cannot commit {title}")


def _build(me: Session, task: str, title: str, pause: float) -> list[str]:
    """Does what a task asks for; the paths that it changed."""
    path = (re.findall(r"[\w/]+\.py", title) or ["notes.py"])[0]
    if title.startswith("measure"):
        run = me.atlas(
            "lease", "run", "rig", "--wait", "90s", "--why", title, "--", "tools/rig", task
        )
        if run.code:
            raise SystemExit(f"{me.name} cannot measure: {run.out}")
        file = me.folder / "docs/measured.md"
        file.parent.mkdir(exist_ok=True)
        with file.open("a") as out:
            out.write(f"{title}: 1\n")
        return ["docs/measured.md"]
    time.sleep(pause)
    file = me.folder / path
    file.parent.mkdir(exist_ok=True)
    with file.open("a") as out:
        out.write(f'"""{title}"""\n')
    if "README" not in title:
        return [path]
    with (me.folder / "README.md").open("a") as out:
        out.write(f"- {path}\n")
    return [path, "README.md"]


def work(me: Session, pause: float, crash: int) -> None:
    """Takes tasks until the board is done. crash: the number of the task in which it dies."""
    assert me.atlas("begin", "--goal", f"work off the board as {me.name}").code == 0
    count = 0
    while True:
        claim = me.atlas("task", "next", "--claim", "--wait", "20s")
        if claim.code == 7 and "done" in claim.out:
            break
        if claim.code and "is gone" in claim.out:  # it tells how to take over
            claim = me.obey(claim) or claim
        tasks = re.findall(CLAIM, claim.out, re.MULTILINE)
        if claim.code or not tasks:
            time.sleep(0.3)
        for task, receipt, title in tasks:
            count += 1
            _do(me, task, receipt, title, pause, count == crash)
    _end(me, count)


# A claim as it is printed: the task, its receipt, and the first line of its frame.
CLAIM = r"^you have task:(\w+),.*receipt (\S+)\n.*\n│ (.*)$"


def _do(me: Session, task: str, receipt: str, title: str, pause: float, dies: bool) -> None:
    """Does one task that was claimed, up to `task done`; or dies over it."""
    paths = _build(me, task, title, pause)
    if dies:
        os.kill(os.getpid(), 9)
    _commit(me, title, paths)
    _push(me)
    done = me.atlas("task", "done", task, "-m", f"{title} is done", "--receipt", receipt)
    if done.code:
        raise SystemExit(f"{me.name} cannot finish {task}: {done.out}")


def _end(me: Session, count: int) -> None:
    """Writes last; stopped, it does what the stop prints."""
    call = me.atlas("end", "-", data=f"{me.name}: {count} tasks done. Nothing is open.\n")
    for _ in range(12):
        if call.code == 0:
            return
        call = me.obey(call) or me.atlas("end")
    raise SystemExit(f"{me.name} cannot end: {call.out}")


class Trial(NamedTuple):
    """A project with a board, at `top`, and its clones."""

    top: Path
    env: dict[str, str]

    def run(self, folder: str, *argv: str, **more: str) -> str:
        """Runs git or Atlas as the planner. Its output; it must end with 0."""
        program = command(*argv[1:]) if argv[0] == "atlas" else list(argv)
        env = self.env | {"ATLAS_ACTOR": "planner"} | more
        done = subprocess.run(
            program, cwd=self.top / folder, env=env, capture_output=True, text=True
        )
        assert done.returncode == 0, (argv, done.stdout, done.stderr)
        return done.stdout

    def start(
        self, folder: str, name: str, pause: float = 0.0, crash: int = 0
    ) -> subprocess.Popen[bytes]:
        """A session at work in a folder."""
        log = self.top / "calls.jsonl"
        argv = [sys.executable, "-m", "tests.store.trial", str(self.top / folder), str(log), name]
        env = {key: value for key, value in self.env.items() if key != "CODEX_THREAD_ID"}
        env["ATLAS_ACTOR"] = name
        return subprocess.Popen(
            [*argv, str(pause), str(crash)],
            cwd=Path(__file__).parent.parent.parent,
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=(self.top / f"{name}.err").open("wb"),
        )

    def calls(self) -> list[dict[str, Any]]:
        """All calls of the sessions, as they ended."""
        return [
            json.loads(line) for line in (self.top / "calls.jsonl").read_text().split("\n") if line
        ]


def project(top: Path, clones: int, copies: int = 1, own: bool = True, rig: float = 0.3) -> Trial:
    """A hub, clones of it with hooks, and the plan on the board, several times over. own: each copy
    of the plan works in a package of its own."""
    env = environment(top.parent)
    env |= {
        f"GIT_{role}_{what}": "t@x"
        for role in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    trial = Trial(top, env)
    top.mkdir()
    trial.run(".", "git", "init", "-q", "--bare", "-b", "main", "hub.git")
    trial.run(".", "git", "clone", "-q", "hub.git", "seed")
    seed = top / "seed"
    (seed / "tools").mkdir()
    (seed / "README.md").write_text(README)
    (seed / ".gitattributes").write_text("*.md merge=union\n*.py merge=union\n")
    log = shlex.quote(str(top / "rig.log"))
    (seed / "tools/rig").write_text(
        f"#!/bin/sh\necho start $1 >> {log}; sleep {rig}; echo stop $1 >> {log}\n"
    )
    (seed / "tools/rig").chmod(0o755)
    trial.run("seed", "git", "add", "-A")
    trial.run("seed", "git", "commit", "-qm", "start")
    trial.run("seed", "git", "push", "-q", "origin", "HEAD:main")
    trial.run("seed", "atlas", "init", "--test")
    trial.run("seed", "atlas", "begin", "--goal", "plan logmill", "--new")
    (top / "format.md").write_text("MILLIS is in microseconds.\n")
    trial.run("seed", "atlas", "artifact", "put", "line-format", "../format.md", "--title", "lines")
    _plan(trial, copies, own)
    trial.run("seed", "atlas", "end", "-m", "The plan is on the board. Nothing is built yet.")
    for number in range(clones):
        trial.run(".", "git", "clone", "-q", "hub.git", f"w{number}")
    return trial


def _plan(trial: Trial, copies: int, own: bool) -> None:
    """Posts the plan, several times over."""
    lines = []
    for copy in range(copies):
        package = f"logmill{copy if own else 0}"
        for name, title, needs, priority in PLAN:
            lines.append(f"## {title.format(m=package)}\nname: {name}{copy}\npriority: {priority}")
            if needs:
                lines.append(f"needs: {', '.join(f'{need}{copy}' for need in needs)}")
            lines.append("")
    (trial.top / "plan.md").write_text("\n".join(lines))
    trial.run("seed", "atlas", "task", "add", "--plan", "../plan.md")


def main() -> None:
    folder, log, name, pause, crash = sys.argv[1:6]
    work(Session(Path(folder), Path(log), name), float(pause), int(crash))


if __name__ == "__main__":
    main()

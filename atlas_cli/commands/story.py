"""The project in which `atlas tour` plays: its folder, its workers and its clock."""

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import interrupts
from ..errors import Failed
from ..model import times
from ..outcome import Block

START = -44 * 3600  # the story begins so long before now, and has a clock of its own


class Story:
    """The project of the story: one repository, a worktree for each worker, and a clock."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.offset = folder, START
        self.task = ""
        self.made = ""  # the id of the task or gate that the last command named first
        self.steps: list[dict[str, Any]] = []
        hidden = ("GIT_", "ATLAS_")
        self.env = {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
        self.env |= {
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path[1:]]),
            "PYTHONUTF8": "1",
        }

    def later(self, duration: str) -> None:
        """Moves the clock of the story on."""
        self.offset += times.duration(duration)

    def git(self, worker: str, *args: str, ago: int = 0) -> str:
        """The output of git, called by a worker. `ago` dates the call back, in seconds."""
        when = f"@{int(time.time()) + self.offset - ago} +0000"
        who = {
            f"GIT_{role}_{key}": value
            for role in ("AUTHOR", "COMMITTER")
            for key, value in (
                ("NAME", worker),
                ("EMAIL", f"{worker}@example.invalid"),
                ("DATE", when),
            )
        }
        done = subprocess.run(
            ["git", *args], cwd=self.folder / worker, env=self.env | who, capture_output=True
        )
        if done.returncode:
            raise Failed(
                f"git {args[0]} failed in the tour: {done.stderr.decode(errors='replace').strip()}"
            )
        return done.stdout.decode(errors="replace").strip()

    def atlas(
        self, worker: str, *args: str, text: str | None = None, code: int = 0
    ) -> Iterator[Block]:
        """Runs a command in a worker's worktree and shows it with its answer. Raises Failed if it
        does not end with `code`."""
        done = self.start(worker, *args, text=text)
        yield from self.shown(worker, args, text, *done.communicate(text), done.returncode, code)

    def start(
        self, worker: str, *args: str, text: str | None = None, quiet: bool = True
    ) -> "subprocess.Popen[str]":
        """Starts a command of a worker as a process of its own."""
        env = self.env | {"ATLAS_CLOCK_OFFSET": str(self.offset), "ATLAS_ACTOR": worker}
        return subprocess.Popen(
            [sys.executable, "-m", "atlas_cli", *args, *(["--quiet"] if quiet else [])],
            cwd=self.folder / worker,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def shown(
        self,
        worker: str,
        args: tuple[str, ...],
        text: str | None,
        out: str,
        err: str,
        got: int,
        code: int,
    ) -> Iterator[Block]:
        """Shows a command and its answer. Raises Failed if its exit code is not the one that the
        story tells of."""
        interrupts.waited()
        self.steps.append({"worker": worker, "command": ["atlas", *args], "exit": got})
        typed = shlex.join(["atlas", *args])
        yield f"\n{worker}$ {typed}" + (f" <<'EOF'\n{text.rstrip()}\nEOF" if text else "")
        self.made = next(iter(re.findall(r"(?:task|gate):(\w+)", out)), "")
        answer = (out + err).rstrip("\n")
        yield "\n".join(f"  {line}" for line in answer.split("\n")) if answer else "  (done)"
        if got:
            yield f"  [exit {got}]"
        if got != code:
            raise Failed(
                f"the tour expected exit {code} from {typed}, and got {got}", "please report it"
            )

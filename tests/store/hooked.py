"""A project whose hooks are installed by hand, with two sessions that have read the status: real
git, real scripts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from atlas_cli.hooks import NAMES

from ..conftest import Result
from .crew import Worker

SCRIPT = '#!/bin/sh\nexec "{python}" -I -S "{hook}" {name} "$@"\n'


def install(repo: Path, program: Path) -> None:
    """Hooks in place of those of `atlas init`, that call another program."""
    for name in NAMES:
        file = repo / ".git/hooks" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(SCRIPT.format(python=sys.executable, hook=program, name=name))
        file.chmod(0o755)


class Project:
    """The repository at `top`, `ann` and `bob`; `project("commit", …)` is git as ann, `who` says as
    whom."""

    def __init__(
        self, top: Path, env: dict[str, str], worker: Worker, sessions: dict[str, str]
    ) -> None:
        self.top, self.env, self.worker, self.sessions = top, env, worker, sessions

    def __call__(
        self, *args: str, who: str = "ann", cwd: str = "", data: bytes = b"", **extra: str
    ) -> Result:
        env = {
            **self.env,
            "ATLAS_SESSION": self.sessions.get(who, ""),
            "GIT_EDITOR": "true",
            **extra,
        }
        done = subprocess.run(
            ["git", *args], cwd=self.top / cwd, env=env, input=data, capture_output=True, timeout=60
        )
        return Result(
            done.returncode,
            done.stdout.decode(errors="replace"),
            done.stderr.decode(errors="replace"),
        )

    def ok(self, *args: str, who: str = "ann", cwd: str = "", **extra: str) -> str:
        done = self(*args, who=who, cwd=cwd, **extra)
        assert done.code == 0, (args, done)
        return done.out.strip()

    def atlas(self, who: str, *args: str, code: int = 0) -> Result:
        done = self.worker("--session", self.sessions[who], *args, cwd=self.top)
        assert done.code == code, (args, done)
        return done

    def write(self, path: str, text: str = "text\n", cwd: str = "") -> None:
        file = self.top / cwd / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def commit(
        self, path: str, *args: str, who: str = "ann", cwd: str = "", **extra: str
    ) -> Result:
        """Changes a file and commits it."""
        self.write(path, os.urandom(4).hex() + "\n", cwd)
        self.ok("add", "--", path, cwd=cwd)
        return self("commit", "-qm", f"change {path}", *args, who=who, cwd=cwd, **extra)

    def message(self, rev: str = "HEAD", cwd: str = "") -> str:
        return self.ok("log", "-1", "--format=%B", rev, cwd=cwd)

    def trailers(self, rev: str = "HEAD", cwd: str = "") -> list[str]:
        """The trailers of Atlas, as git itself finds them."""
        found = subprocess.run(
            ["git", "interpret-trailers", "--parse"],
            input=self.message(rev, cwd).encode(),
            capture_output=True,
            check=True,
            env=self.env,
            cwd=self.top,
        )
        return [line for line in found.stdout.decode().splitlines() if line.startswith("Atlas-")]

    def signs(self, who: str = "ann", read: int = 1) -> list[str]:
        """The trailers of a commit that one makes who has read that entry of main."""
        store = f"--git-dir={self.top}/.git/atlas/store.git"
        blob = self.ok(store, "rev-parse", f"atlas:status/main/000/{read:06}.md")
        reads = f"Atlas-Read: main@{read}~{blob[:12]}"
        return [f"Atlas-Session: {self.sessions[who]}", reads, f"Atlas-Word: {self.word(who)}"]

    def word(self, who: str) -> str:
        """The operation of the newest entry that one has written; none if there is none."""
        store = f"--git-dir={self.top}/.git/atlas/store.git"
        form = "--format=%(trailers:key=Atlas-Operation,valueonly,separator=)"
        by = f"--grep=^Atlas-Session: {self.sessions[who]}$"
        return self.ok(store, "log", "-1", form, by, "atlas", "--", "status") or "none"


def prepared(top: Path, env: dict[str, str], worker: Worker) -> Project:
    """A project with a commit, a store with one status entry that both have read, and the hooks."""
    top.mkdir()
    project = Project(top, env, worker, {})
    project.ok("init", "-q")
    for path in ("src/x.py", "src/y.py", "docs/page.md"):
        project.write(path)
    project.ok("add", ".")
    project.ok("commit", "-qm", "first")
    assert worker("-C", str(top), "init", "--test").code == 0
    for name in ("ann", "bob"):
        done = worker(
            "-C",
            str(top),
            "begin",
            "--new",
            "--goal",
            f"what {name} does",
            "--actor",
            name,
            "--json",
        )
        project.sessions[name] = done.data["id"]
    project.atlas("ann", "status", "write", "-m", "one")
    project.atlas("bob", "status", "show")
    return project


def copied(found: Project, top: Path, env: dict[str, str]) -> Project:
    shutil.copytree(found.top, top, symlinks=True)
    return Project(top, env, found.worker, found.sessions)

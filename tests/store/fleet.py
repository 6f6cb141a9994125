"""Clones of one project that share a store through a bare remote."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ..conftest import Result, environment
from .crew import Worker, crew

OPERATIONS = "--format=%(trailers:key=Atlas-Operation,valueonly,separator=%x2C)"


class Fleet(NamedTuple):
    """`hub.git` and the clones of it below `top`, each with a session begun in it, in a test
    store."""

    top: Path
    env: dict[str, str]
    sessions: dict[str, str]

    def git(self, place: str, *args: str) -> str:
        done = subprocess.run(
            ["git", *args], cwd=self.top / place, env=self.env, capture_output=True, text=True
        )
        assert done.returncode == 0, (place, args, done.stderr)
        return done.stdout.strip()

    def head(self, place: str) -> str:
        return self.git(
            place if place == "hub.git" else f"{place}/.git/atlas/store.git", "rev-parse", "atlas"
        )

    def operations(self, place: str = "hub.git") -> list[str]:
        """The operations of the history there, oldest first."""
        where = place if place == "hub.git" else f"{place}/.git/atlas/store.git"
        return [
            one
            for one in self.git(where, "log", "--reverse", OPERATIONS, "atlas").split("\n")
            if one
        ]

    @contextmanager
    def crew(self, places: Sequence[str]) -> Iterator[list[Worker]]:
        """A worker in each of these clones, each as the clone's session."""
        with crew([self.top / place for place in places], self.env) as workers:
            for place, worker in zip(places, workers, strict=True):
                worker.session = self.sessions[place]
            yield workers

    def copied(self, top: Path) -> Fleet:
        shutil.copytree(self.top, top, symlinks=True, ignore=shutil.ignore_patterns(".atlas"))
        return self._replace(top=top)


def fleet(top: Path, names: Sequence[str]) -> Fleet:
    """A new one. Its remotes are given by relative paths, so that it can be copied."""
    env = environment(top.parent)
    env |= {
        f"GIT_{role}_{what}": "t@x"
        for role in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    made = Fleet(top, env, {})
    top.mkdir()
    made.git(".", "init", "-q", "--bare", "-b", "main", "hub.git")
    for number, name in enumerate(names):
        made.git(".", "clone", "-q", "hub.git", name)
        made.git(name, "remote", "set-url", "origin", "../hub.git")
        if number == 0:
            (top / name / "x.py").write_text("print('x')\n")
            made.git(name, "add", "."), made.git(name, "commit", "-qm", "first")
            made.git(name, "push", "-q", "origin", "HEAD:main")
    with crew([top / name for name in names], env) as workers:
        assert workers[0]("init", "--test").code == 0
        for name, worker in zip(names, workers, strict=True):
            made.sessions[name] = worker.begin(f"work of {name}", "--actor", f"actor-{name}")
        for worker in workers:
            assert worker("sync").code == 0
    return made


def done(found: Result, *codes: int) -> Result:
    """It, if it ended with one of these exit codes (0 where none is given)."""
    assert found.code in (codes or (0,)), found
    return found

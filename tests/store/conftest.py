"""What the tests of the store share: a store with a bit of everything in it, made once and copied for each test."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..conftest import Atlas, Result, environment
from .crew import Worker, crew
from .hand import Hand, Seen
from .hooked import Project, copied, prepared

DEEDS: dict[str, list[list[str]]] = {
    "bob": [
        ["status", "write", "-m", "first: the parser is planned"], ["artifact", "put", "plan", "--title", "one"],
        ["lease", "take", "gpu1", "--why", "a test"], ["lease", "release", "gpu1"],
    ],
    "ann": [
        ["status", "write", "-m", "second: the parser is done"], ["artifact", "show", "plan"],
        ["artifact", "put", "plan", "--title", "two"], ["lease", "take", "gpu0", "--why", "a test"],
        ["lease", "release", "gpu0"], ["lease", "take", "gpu0", "--why", "a longer test"],
        ["decision", "add", "--title", "storage", "--recommended", "sqlite", "--chosen", "files", "--stance",
         "disagreed", "--why", "no server"],
    ],
}  # fmt: skip


@pytest.fixture(scope="session")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """One process for many tests."""
    with crew([tmp_path_factory.getbasetemp()], environment(tmp_path_factory.mktemp("home"))) as [found]:
        yield found


@pytest.fixture
def quick(worker: Worker, tmp_path: Path) -> Atlas:
    """Runs `atlas` like the fixture of that name, but in a process that is there already: `quick("status", …)`."""

    def run(*args: str, data: str | None = None) -> Result:
        return worker("-C", str(tmp_path / "repo"), *args, data=data)

    return run


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Seen]:
    """A repository whose store has two sessions (ann, bob), two status entries, two versions of an artifact, a
    decision, a lease that ann holds with token 2 (gpu0), and one that bob gave back (gpu1)."""
    env = environment(tmp_path_factory.mktemp("home"))
    repo = tmp_path_factory.mktemp("written") / "repo"
    subprocess.run(["git", "init", "-q", str(repo)], env=env, check=True)
    sessions = {}
    with crew([repo], env) as [worker]:
        assert worker("init", "--test", "--no-hooks").code == 0
        for name, commands in DEEDS.items():
            worker.session = None
            sessions[name] = worker.begin(f"what {name} does", "--actor", name)
            for argv in commands:
                done = worker(*argv, data="body\n")
                assert done.code == 0, done
    return repo, Seen(sessions, Hand(repo, env).head())


@pytest.fixture
def store(written: tuple[Path, Seen], tmp_path: Path, env: dict[str, str]) -> tuple[Hand, Seen]:
    """A copy of that repository, at the place where the commands run, and the hand for it."""
    shutil.copytree(written[0], tmp_path / "repo", symlinks=True, ignore=shutil.ignore_patterns(".atlas"))
    return Hand(tmp_path / "repo", env), written[1]


@pytest.fixture(scope="session")
def first_project(worker: Worker, tmp_path_factory: pytest.TempPathFactory) -> Project:
    home = tmp_path_factory.mktemp("home")
    (home / ".gitconfig").write_text(
        "[user]\n\tname = T\n\temail = t@example.invalid\n[init]\n\tdefaultBranch = main\n"
    )
    return prepared(tmp_path_factory.mktemp("hooked") / "repo", environment(home), worker)


@pytest.fixture
def project(first_project: Project, tmp_path: Path, env: dict[str, str]) -> Project:
    """A copy of that project, hooks installed."""
    return copied(first_project, tmp_path / "repo", env)

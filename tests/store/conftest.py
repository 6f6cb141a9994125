"""What the tests of the store share: a store with a bit of everything in it, made once and copied
for each test."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ..conftest import Atlas, Result, environment
from .crew import Worker, crew
from .fleet import Fleet, fleet
from .hand import Hand, Seen
from .hooked import Project, copied, prepared

At = Callable[..., Result]
DEEDS: dict[str, list[list[str]]] = {
    "bob": [
        ["status", "write", "-m", "first: the parser is planned"],
        ["artifact", "put", "plan", "--title", "one"],
        ["lease", "take", "gpu1", "--why", "a test"],
        ["lease", "release", "gpu1"],
    ],
    "ann": [
        ["status", "write", "-m", "second: the parser is done"],
        ["artifact", "show", "plan"],
        ["artifact", "put", "plan", "--title", "two"],
        ["lease", "take", "gpu0", "--why", "a test"],
        ["lease", "release", "gpu0"],
        ["lease", "take", "gpu0", "--why", "a longer test"],
        [
            "decision",
            "add",
            "--title",
            "storage",
            "--recommended",
            "sqlite",
            "--chosen",
            "files",
            "--stance",
            "disagreed",
            "--why",
            "no server",
        ],
    ],
}


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """Two clones, `a` and `b`, to be copied."""
    return fleet(tmp_path_factory.mktemp("pair") / "made", ["a", "b"])


@pytest.fixture(scope="session")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """One process for many tests."""
    with crew([tmp_path_factory.getbasetemp()], environment(tmp_path_factory.mktemp("home"))) as [
        found
    ]:
        yield found


@pytest.fixture
def quick(worker: Worker, tmp_path: Path) -> Atlas:
    """Runs `atlas` like the fixture of that name, but in a process that is there already:
    `quick("status", …)`."""

    def run(*args: str, data: str | None = None) -> Result:
        return worker(*args, data=data, cwd=tmp_path / "repo")

    return run


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Seen]:
    """A repository whose store has two sessions (ann, bob), two status entries, two versions of an
    artifact, a decision, a lease that ann holds with token 2 (gpu0), and one that bob gave back
    (gpu1)."""
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
    shutil.copytree(
        written[0], tmp_path / "repo", symlinks=True, ignore=shutil.ignore_patterns(".atlas")
    )
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


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory, worker: Worker) -> Path:
    """A remote with one commit of code, and a store in which one session has written one status."""
    top = tmp_path_factory.mktemp("published")
    env = environment(top)

    def git(*args: str, cwd: str = ".") -> None:
        subprocess.run(["git", *args], cwd=top / cwd, env=env, check=True, capture_output=True)

    (top / ".gitconfig").write_text(
        "[user]\n\tname = T\n\temail = t@example.invalid\n[init]\n\tdefaultBranch = main\n"
    )
    git("init", "-q", "--bare", "hub.git"), git("clone", "-q", "hub.git", "first")
    (top / "first/x.py").write_text("print('x')\n")
    git("add", ".", cwd="first"), git("commit", "-qm", "first", cwd="first")
    git("push", "-q", "origin", "HEAD:main", cwd="first")
    for argv in (
        ("init", "--test"),
        ("begin", "--goal", "g"),
        ("status", "write", "-m", "From the first clone."),
    ):
        done = worker("-C", str(top / "first"), *argv)
        assert done.code == 0, done
    return top / "hub.git"


@pytest.fixture
def hub(published: Path, tmp_path: Path) -> Path:
    """A copy of that remote, `hub.git`."""
    return Path(shutil.copytree(published, tmp_path / "hub.git"))


@pytest.fixture
def at(worker: Worker, tmp_path: Path) -> At:
    """Runs `atlas … --json` in a folder below the test's own: `at("clone", "status", …)`."""

    def run(folder: str, *args: str) -> Result:
        return worker(*args, "--json", cwd=tmp_path / folder)

    return run

"""What all tests share: a hermetic home, a repository with a store, and the command as a real process."""

from __future__ import annotations

import compileall
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="the long editions of the race, crash and power tests")


def pytest_configure(config: pytest.Config) -> None:
    """Compiled once, before thousands of processes start (and before tests count their system calls)."""
    if not hasattr(config, "workerinput"):
        compileall.compile_dir(ROOT / "atlas_cli", quiet=1)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--long"):
        return
    for item in items:
        if "long" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="the long edition: --long"))


@dataclass(frozen=True)
class Result:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The envelope."""
        return json.loads(self.out)

    @property
    def data(self) -> Any:
        return self.json["data"]


def environment(home: Path) -> dict[str, str]:
    """A fixed environment: own home, no configuration of the machine, no variable of an AI tool or of Atlas."""
    kept = ("PATH", "PYTHONPATH", "VIRTUAL_ENV", "TMPDIR")
    env = {key: os.environ[key] for key in kept if key in os.environ}
    return env | {
        "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "XDG_STATE_HOME": str(home / ".state"),
        "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8", "TZ": "UTC", "ATLAS_ACTOR": "tester",
        "CODEX_THREAD_ID": "tests",  # one caller, however many processes a test makes
        "PYTHONPATH": str(ROOT) + os.pathsep + os.environ.get("PYTHONPATH", ""),
    }  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Path:
    found = tmp_path / "home"
    found.mkdir()
    (found / ".gitconfig").write_text(
        "[user]\n\tname = Test\n\temail = test@example.invalid\n[init]\n\tdefaultBranch = main\n"
    )
    return found


@pytest.fixture
def env(home: Path) -> dict[str, str]:
    return environment(home)


Git = Callable[..., str]
Atlas = Callable[..., Result]


@pytest.fixture
def git(env: dict[str, str], tmp_path: Path) -> Git:
    """Runs git as the user would: `git("commit", …, cwd=…)`; its standard output, stripped."""

    def run(*args: str, cwd: Path | None = None, data: bytes | None = None, **extra: str) -> str:
        done = subprocess.run(
            ["git", *args], cwd=cwd or tmp_path / "repo", env=env | extra, input=data, capture_output=True, check=False
        )
        assert done.returncode == 0, (args, done.stderr)
        return done.stdout.decode(errors="surrogateescape").strip()

    return run


@pytest.fixture
def bare_project(tmp_path: Path, git: Git) -> Path:
    """A git repository with one commit and no store."""
    folder = tmp_path / "repo"
    folder.mkdir()
    git("init", "-q", cwd=folder)
    (folder / "src").mkdir()
    (folder / "src/x.py").write_text("print('x')\n")
    git("add", ".", cwd=folder)
    git("commit", "-qm", "first", cwd=folder)
    return folder


@pytest.fixture
def atlas(env: dict[str, str], tmp_path: Path) -> Atlas:
    """Runs `atlas` as a real process: `atlas("lease", "take", …, cwd=…, data=…, ATLAS_SESSION=…)`."""

    def run(*args: str, cwd: Path | None = None, data: bytes | str | None = None, **extra: str) -> Result:
        given = data.encode() if isinstance(data, str) else data
        done = subprocess.run(
            command(*args), cwd=cwd or tmp_path / "repo", env=env | extra, input=given or b"", capture_output=True,
            check=False, timeout=120,
        )  # fmt: skip
        return Result(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))

    return run


def command(*args: str) -> list[str]:
    """The argv of `atlas`, for tests that start processes themselves."""
    return [sys.executable, "-m", "atlas_cli", *args]


@pytest.fixture
def repo(bare_project: Path, atlas: Atlas) -> Path:
    """A repository with a test store (planted faults and a moved clock work in it) and no session yet."""
    done = atlas("init", "--test", "--no-hooks")
    assert done.code == 0, done.err
    return bare_project


@pytest.fixture
def begun(repo: Path, atlas: Atlas) -> str:
    """A session begun in the main worktree; its id."""
    done = atlas("begin", "--goal", "test", "--json")
    assert done.code == 0, done.out
    return str(done.data["id"])

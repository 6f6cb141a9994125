"""What all tests share: a hermetic home, a repository with a store, and the command as a real
process."""

from __future__ import annotations

import compileall
import fcntl
import json
import os
import pty
import shutil
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from atlas_cli.store import index, notebook

INDEX, NOTEBOOK = index.FILE, notebook.FILE
ROOT = Path(__file__).parent.parent
DECISION = (
    "decision",
    "add",
    "--title",
    "t",
    "--recommended",
    "a",
    "--chosen",
    "a",
    "--stance",
    "agreed",
    "--why",
    "w",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--long", action="store_true", help="the long editions of the race, crash and power tests"
    )
    parser.addoption(
        "--seeds", type=int, default=1, help="how many races are checked for linearizability"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Compiled once, before thousands of processes start (and before tests count their system
    calls). Interrupts reach the commands that are tried, also where whoever started the tests wants
    none."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
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
    """A fixed environment: own home, no configuration of the machine, no variable of an AI tool or
    of Atlas."""
    kept = ("PYTHONPATH", "VIRTUAL_ENV")
    env = {key: os.environ[key] for key in kept if key in os.environ}
    programs = Path(sys.executable).parent  # where `atlas` and `atlas-hook` are installed
    temporary = home / "tmp"  # so that a checkout below /tmp is no temporary one
    temporary.mkdir(parents=True, exist_ok=True)
    return env | {
        "TMPDIR": str(temporary),
        "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_STATE_HOME": str(home / ".state"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "ATLAS_ACTOR": "tester",
        "CODEX_THREAD_ID": "tests",  # one caller, however many processes a test makes
        "PYTHONPATH": str(ROOT) + os.pathsep + os.environ.get("PYTHONPATH", ""),
    }


@pytest.fixture(autouse=True)
def _called_as_atlas(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test calls in its own process counts as called by its name, through PATH."""
    programs = str(Path(sys.executable).parent)
    monkeypatch.setattr(sys, "argv", ["atlas"])
    monkeypatch.setenv("PATH", programs + os.pathsep + os.environ.get("PATH", os.defpath))


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
            ["git", *args],
            cwd=cwd or tmp_path / "repo",
            env=env | extra,
            input=data,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, (args, done.stderr)
        return done.stdout.decode(errors="surrogateescape").strip()

    return run


@pytest.fixture(scope="session")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A git repository with one commit and a test store (planted faults and a moved clock work in
    it), made once."""
    folder, env = (
        tmp_path_factory.mktemp("pattern") / "repo",
        environment(tmp_path_factory.mktemp("home")),
    )
    env |= {
        f"GIT_{role}_{what}": "t@x"
        for role in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    (folder / "src").mkdir(parents=True)
    (folder / "src/x.py").write_text("print('x')\n")
    for argv in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run(["git", *argv], cwd=folder, env=env, check=True)
    subprocess.run(
        command("init", "--test", "--no-hooks"),
        cwd=folder,
        env=env,
        check=True,
        capture_output=True,
    )
    return folder


@pytest.fixture
def bare_project(pattern: Path, tmp_path: Path) -> Path:
    """A git repository with one commit and no store."""
    return Path(
        shutil.copytree(pattern, tmp_path / "repo", ignore=shutil.ignore_patterns("*atlas"))
    )


class Forks:
    """Starts `atlas` from a program that has loaded it (tests/forks.py); one command at a time."""

    def __init__(self, env: dict[str, str]) -> None:
        here, there = os.pipe()
        argv = [sys.executable, "-m", "tests.forks", str(there)]
        self.program = subprocess.Popen(
            argv, stdin=subprocess.PIPE, env=env, cwd=ROOT, pass_fds=[there], text=True
        )
        os.close(there)
        self.answers, self.lock = os.fdopen(here), threading.Lock()

    def __call__(
        self, args: tuple[str, ...], cwd: Path, env: dict[str, str], data: bytes
    ) -> Result:
        assert self.program.stdin is not None
        wish = {"argv": args, "cwd": str(cwd), "env": env, "data": data.decode("latin-1")}
        self.program.stdin.write(json.dumps(wish) + "\n")
        self.program.stdin.flush()
        return Result(*json.loads(self.answers.readline()))


@pytest.fixture(scope="session")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    found = Forks(environment(tmp_path_factory.mktemp("home")))
    yield found
    assert found.program.stdin is not None
    found.program.stdin.close()
    found.program.wait(60)


@pytest.fixture
def atlas(env: dict[str, str], tmp_path: Path, forks: Forks) -> Atlas:
    """Runs `atlas` as a real process: `atlas("lease", "take", …, cwd=…, data=…, ATLAS_SESSION=…)`.
    It is forked from one that has loaded the program, unless a variable is given that a start
    depends on, or a command runs beside it."""

    def run(
        *args: str, cwd: Path | None = None, data: bytes | str | None = None, **extra: str
    ) -> Result:
        given = data.encode() if isinstance(data, str) else data or b""
        where = cwd or tmp_path / "repo"
        if not any(
            key.startswith(("PYTHON", "LC_", "LANG")) for key in extra
        ) and forks.lock.acquire(blocking=False):
            try:
                return forks(args, where, env | extra, given)
            finally:
                forks.lock.release()
        done = subprocess.run(
            command(*args),
            cwd=where,
            env=env | extra,
            input=given,
            capture_output=True,
            check=False,
            timeout=120,
        )
        return Result(
            done.returncode,
            done.stdout.decode(errors="replace"),
            done.stderr.decode(errors="replace"),
        )

    return run


def command(*args: str) -> list[str]:
    """The argv of `atlas`, for tests that start processes themselves."""
    return [sys.executable, "-m", "atlas_cli", *args]


def on_terminal(
    args: tuple[str, ...], cwd: Path, env: dict[str, str], columns: int = 100
) -> Result:
    """How `atlas` ended on a terminal so wide, and what it showed there."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execvpe(command()[0], command(*args), env)
    out = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            break
        if not part:
            break
        out += part
    os.close(terminal)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return Result(code, out.decode().replace("\r\n", "\n"), "")


@pytest.fixture
def repo(pattern: Path, tmp_path: Path) -> Path:
    """A repository with a test store and no session yet."""
    return Path(
        shutil.copytree(pattern, tmp_path / "repo", ignore=shutil.ignore_patterns(".atlas"))
    )


@pytest.fixture
def begun(repo: Path, atlas: Atlas) -> str:
    """A session begun in the main worktree; its id."""
    done = atlas("begin", "--goal", "test", "--json")
    assert done.code == 0, done.out
    return str(done.data["id"])

"""What the tests of bad input share: a desk with a store, a session and a worker; and what a good
refusal is like."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from ..conftest import Result, environment
from ..store.crew import Worker, crew
from ..store.hand import Hand

LONE = "\udcff"  # what an argument's byte that is no UTF-8 becomes


class Desk(NamedTuple):
    """A repository with a store, a process that runs one command after another in its session, and
    git in the store."""

    repo: Path
    worker: Worker
    hand: Hand


@contextmanager
def desk_in(folder: Path) -> Iterator[Desk]:
    """A new desk."""
    env = environment(folder)
    repo = folder / "repo"
    (repo / "src").mkdir(parents=True)
    (repo / "src/x.py").write_text("print('x')\n")
    subprocess.run(["git", "init", "-q"], cwd=repo, env=env, check=True)
    with crew([repo], env) as [worker]:
        assert worker("init", "--test", "--no-hooks").code == 0
        assert worker("begin", "--goal", "test").code == 0
        yield Desk(repo, worker, Hand(repo, env))


@pytest.fixture(scope="module", name="desk")
def shared_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """One desk for a whole module: what is refused leaves nothing behind."""
    with desk_in(tmp_path_factory.mktemp("desk")) as found:
        yield found


@pytest.fixture(name="desk")
def own_desk(tmp_path: Path) -> Iterator[Desk]:
    """A desk for each test."""
    with desk_in(tmp_path) as found:
        yield found


@pytest.fixture
def repo(desk: Desk) -> Path:
    return desk.repo


@pytest.fixture
def worker(desk: Desk) -> Worker:
    return desk.worker


@pytest.fixture
def hand(desk: Desk) -> Hand:
    return desk.hand


def argv(form: str, what: str = "") -> list[str]:
    """The words of a command; `{}` stands for what is given in it."""
    return [word.replace("{}", what) for word in form.split()]


def fails(done: Result, *codes: int) -> Result:
    """One clear line in place of an answer, with one of these exit codes; hints below it, and no
    traceback."""
    assert done.code in codes, done
    assert "Traceback" not in done.err and "internal error" not in done.err, done
    head, _, hints = done.err.partition("\n")
    assert done.out == "" and head.startswith(("atlas: error (", f"atlas: stop {done.code} (")), (
        done
    )
    assert all(line.startswith(("  ", "notice: ", "│", "──")) for line in hints.splitlines()), done
    assert not {"\x1b", "\x07", "\x7f", "\x9b"} & set(done.err), done
    return done


def unharmed(worker: Worker, hand: Hand, head: str) -> None:
    """Nothing was written since, and what is there is in order."""
    assert hand.head() == head
    done = worker("verify", "--full")
    assert done.code == 0, done

"""What the tests of bad input share: a worker that begun a session, and what a good refusal looks like."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ..conftest import Result
from ..store.crew import Worker, crew
from ..store.hand import Hand

LONE = "\udcff"  # what an argument's byte that is no UTF-8 becomes


@pytest.fixture
def worker(begun: str, repo: Path, env: dict[str, str]) -> Iterator[Worker]:
    """A process that runs one command after another, in the worktree of a session."""
    with crew([repo], env) as [found]:
        yield found


@pytest.fixture
def hand(begun: str, repo: Path, env: dict[str, str]) -> Hand:
    """git in the store's own repository."""
    return Hand(repo, env)


def argv(form: str, what: str = "") -> list[str]:
    """The words of a command; `{}` stands for what is given in it."""
    return [word.replace("{}", what) for word in form.split()]


def fails(done: Result, *codes: int) -> Result:
    """One clear line in place of an answer, with one of these exit codes; hints below it, and no traceback."""
    assert done.code in codes, done
    assert "Traceback" not in done.err and "internal error" not in done.err, done
    head, _, hints = done.err.partition("\n")
    assert done.out == "" and head.startswith(("atlas: error (", f"atlas: stop {done.code} (")), done
    assert all(line.startswith(("  ", "notice: ", "│", "──")) for line in hints.splitlines()), done
    assert not {"\x1b", "\x07", "\x7f", "\x9b"} & set(done.err), done
    return done


def unharmed(worker: Worker, hand: Hand, head: str) -> None:
    """Nothing was written since, and what is there is in order."""
    assert hand.head() == head
    done = worker("verify", "--full")
    assert done.code == 0, done

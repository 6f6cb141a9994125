"""Workers: processes that run one command after another. A start costs more than a command, and a
race needs many."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..conftest import Result

# seconds between telling a crew to start and its start, so that all of them stand at the line
GRACE = 0.05


class Worker:
    """One process. Called, it runs a command: `worker("lease", "take", …)`. `session` is passed
    with each, once set."""

    def __init__(self, wishes: int, answers: int) -> None:
        self.session: str | None = None
        self.span: list[float] = []  # when the last command began and ended, by the monotonic clock
        self.wishes, self.answers = os.fdopen(wishes, "w"), os.fdopen(answers)

    def tell(
        self,
        *argv: str,
        data: str | None = None,
        at: float | None = None,
        env: dict[str, str] | None = None,
        pause: float = 0,
        cwd: Path | None = None,
    ) -> None:
        named = ("--session", self.session) if self.session else ()
        wish = {"argv": [*named, *argv], "data": data, "at": at, "env": env, "pause": pause}
        wish["cwd"] = str(cwd) if cwd else None
        self.wishes.write(json.dumps(wish) + "\n")
        self.wishes.flush()

    def heard(self) -> Result:
        line = self.answers.readline()
        assert line, "the worker has died"
        code, out, err, *self.span = json.loads(line)
        return Result(code, out, err)

    def __call__(
        self,
        *argv: str,
        data: str | None = None,
        env: dict[str, str] | None = None,
        pause: float = 0,
        cwd: Path | None = None,
    ) -> Result:
        self.tell(*argv, data=data, env=env, pause=pause, cwd=cwd)
        return self.heard()

    def begin(self, goal: str, *more: str) -> str:
        """Begins a session of its own, and goes on as that."""
        done = self("begin", "--new", "--goal", goal, *more, "--json")
        assert done.code == 0, done
        self.session = str(done.data["id"])
        return self.session

    def close(self) -> None:
        self.wishes.close()
        self.answers.close()


@contextmanager
def crew(places: Sequence[Path], env: dict[str, str]) -> Iterator[list[Worker]]:
    """A worker in each of these folders."""
    pipes = [(*os.pipe(), *os.pipe()) for _ in places]
    theirs = [
        (str(place), wished, answers)
        for place, (wished, _, _, answers) in zip(places, pipes, strict=True)
    ]
    program = subprocess.Popen(
        [sys.executable, "-m", "tests.store.worker", json.dumps(theirs)],
        env=env,
        pass_fds=[fd for _, *ends in theirs for fd in ends],
    )
    for _, *ends in theirs:
        for fd in ends:
            os.close(fd)
    workers = [Worker(wishes, answered) for _, wishes, answered, _ in pipes]
    try:
        yield workers
    finally:
        for worker in workers:
            worker.close()
        program.wait(60)


def at_once(workers: Sequence[Worker], wishes: Sequence[Sequence[str]]) -> list[Result]:
    """One command of each worker, started at the same moment."""
    start = time.monotonic() + GRACE
    for worker, argv in zip(workers, wishes, strict=True):
        worker.tell(*argv, at=start)
    return [worker.heard() for worker in workers]

"""Sessions by a fixed script work off a board together: every task once, no text out of sight,
nobody stuck, and what it costs each of them."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .trial import PATIENCE, PLAN, Trial, project


def _finished(trial: Trial, sessions: dict[str, subprocess.Popen[bytes]], dead: str = "") -> None:
    """Waits until each session has ended by itself; the dead one was killed."""
    end = time.monotonic() + PATIENCE * max(1, len(sessions) / 4)
    for name, process in sessions.items():
        try:
            code = process.wait(max(1.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError(f"{name} is stuck") from None
        said = (trial.top / f"{name}.err").read_text()
        assert code == (-9 if name == dead else 0), (name, code, said)


def _once(trial: Trial, copies: int) -> None:
    """Every task was done exactly once, by the history."""
    trial.run("seed", "atlas", "sync")
    log = trial.run("seed", "atlas", "git", "log", "--format=%s", "atlas")
    done = re.findall(r"^task: done (\w+)", log, re.MULTILINE)
    assert len(set(done)) == len(done) == copies * len(PLAN), sorted(done)


def _in_sight(trial: Trial) -> None:
    """The last text of each session stands in the status, or under a REF that it names."""
    shown = json.loads(trial.run("seed", "atlas", "status", "show", "--json"))["data"]
    text = shown["body"] + json.dumps(shown.get("earlier", []))
    for name in {call["who"] for call in trial.calls() if call["argv"][1:2] == ["end"]}:
        assert name in text, (name, text)


def _alone_on_the_rig(trial: Trial) -> None:
    lines = (trial.top / "rig.log").read_text().split("\n")[:-1]
    assert [line.split()[0] for line in lines] == ["start", "stop"] * (len(lines) // 2)


def _cost(trial: Trial, sessions: int) -> tuple[float, float, float]:
    """Stops, words outside frames, and calls of Atlas a session."""
    calls = trial.calls()
    stops = sum(call["stop"] for call in calls)
    words = sum(call["words"] for call in calls)
    ours = sum(call["argv"][0] == "atlas" for call in calls)
    return stops / sessions, words / sessions, ours / sessions


def _played(
    trial: Trial, folders: list[str], meanwhile: Callable[[], None], dead: int = -1
) -> None:
    """Starts a session in each of these folders, and waits for all. The one at `dead` dies in its
    second task."""
    names = [f"claude-{number}" for number in range(len(folders))]
    started = {
        name: trial.start(folder, name, 0.2, 2 if number == dead else 0)
        for number, (name, folder) in enumerate(zip(names, folders, strict=True))
    }
    try:
        meanwhile()
        _finished(trial, started, names[dead] if dead >= 0 else "")
    finally:
        for process in started.values():  # one that failed leaves the others at work
            process.kill()


def _retracts(trial: Trial) -> None:
    """The planner retracts the format in the middle of the work."""
    time.sleep(2.0)
    trial.run("seed", "atlas", "begin", "--goal", "correct the format", "--new")
    trial.run(
        "seed", "atlas", "correct", "artifact:line-format@1", "--retract", "--why", "wrong unit"
    )
    trial.run("seed", "atlas", "end", "--unchanged", "only the format was wrong")


def _said(trial: Trial, sessions: int) -> float:
    """Prints what it cost; the stops a session."""
    stops, words, calls = _cost(trial, sessions)
    print(f"{sessions} sessions: stops {stops:.1f}, words {words:.0f}, calls {calls:.0f} a session")
    assert words <= 900
    return stops


@pytest.mark.parametrize("checkout", [False, True], ids=["four clones", "three in one checkout"])
def test_a_plan_is_worked_off_together(tmp_path: Path, checkout: bool) -> None:
    trial = project(tmp_path / "trial", 1 if checkout else 4)
    folders = ["w0"] * 3 if checkout else [f"w{number}" for number in range(4)]
    _played(trial, folders, lambda: _retracts(trial), dead=1)
    _once(trial, 1)
    _in_sight(trial)
    _alone_on_the_rig(trial)
    assert _said(trial, len(folders)) <= 2.6


@pytest.mark.long
@pytest.mark.parametrize("sessions", [8, 16])
@pytest.mark.parametrize("own", [True, False], ids=["modules of its own", "fixed modules"])
def test_stops_do_not_grow_with_the_number_of_sessions(
    tmp_path: Path, sessions: int, own: bool
) -> None:
    trial = project(tmp_path / "trial", sessions, sessions // 4, own)
    _played(trial, [f"w{number}" for number in range(sessions)], lambda: _retracts(trial))
    _once(trial, sessions // 4)
    _in_sight(trial)
    _alone_on_the_rig(trial)
    assert _said(trial, sessions) <= (2.6 if own else 3.5)

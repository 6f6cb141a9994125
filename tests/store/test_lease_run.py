"""`lease run` holds a lease for as long as its command runs; a lease whose holder vanished is over
by itself."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ..conftest import DECISION, Atlas, Result, command

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(repo: Path, env: dict[str, str]) -> Start:
    """Starts `lease run gpu0` with a shell script, and waits until that has made the file `up`."""

    def run(
        script: str, *more: str, program: tuple[str, ...] = (), **extra: str
    ) -> subprocess.Popen[bytes]:
        argv = ["lease", "run", "gpu0", "--why", "a run", *more, "--", "sh", "-c", script]
        started = subprocess.Popen(
            [*program, *argv] if program else command(*argv),
            cwd=repo,
            env=env | extra,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        until(lambda: (repo / "up").exists() or started.poll() is not None)
        return started

    return run


def until(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def finished(started: subprocess.Popen[bytes]) -> Result:
    out, err = started.communicate(timeout=60)
    return Result(started.returncode, out.decode(), err.decode())


def lease(quick: Atlas) -> dict[str, object]:
    return dict(quick("lease", "show", "gpu0", "--json").data)


FAST = (sys.executable, "-m", "tests.store.fast")
RENEWALS = "git --git-dir=.git/atlas/store.git log --oneline --grep='^lease: renew' atlas | wc -l"


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137)])
def test_it_returns_the_code_of_its_command_and_gives_the_lease_back(
    script: str, code: int, begun: str, atlas: Atlas, quick: Atlas
) -> None:
    done = atlas(
        "lease", "run", "gpu0", "--why", "a run", "--", "sh", "-c", f"echo hello; {script}"
    )
    assert (done.code, done.out.split("\n")[0]) == (code, "hello"), done
    row = lease(quick)
    assert (row["state"], row["holder"], row["version"]) == ("released", begun, 2)


def test_what_was_held_before_lasts_as_it_did_unless_more_is_asked_for(
    begun: str, atlas: Atlas, quick: Atlas
) -> None:
    atlas("lease", "take", "gpu0", "--why", "mine", "--for", "10m")
    ends = [lease(quick)["expires"]]
    for asked in ((), ("--for", "5m"), ("--for", "1h")):
        assert atlas("lease", "run", "gpu0", "--why", "a run", *asked, "--", "true").code == 0
        row = lease(quick)
        assert (row["state"], row["why"]) == ("held", "mine")
        ends.append(row["expires"])
    assert ends[0] == ends[1] == ends[2] < ends[3]


def test_it_says_what_was_withdrawn_before_and_what_is_not_committed_behind_it(
    begun: str, repo: Path, atlas: Atlas
) -> None:
    bob = {"CODEX_THREAD_ID": "bob", "ATLAS_ACTOR": "bob"}
    assert atlas("begin", "--goal", "second", **bob).code == 0
    assert atlas("artifact", "put", "unit", data="seconds").code == 0
    rely = (*DECISION, "--relies-on", "artifact:unit")
    assert atlas(*rely, **bob).code == 0
    retract = ("correct", "artifact:unit", "--retract", "--why", "it is minutes")
    assert atlas(*retract).code == 0
    run = ("lease", "run", "path:src", "gpu0", "--why", "w", "--", "sh", "-c")
    done = atlas(*run, "echo STARTED >&2; echo 2 >> src/x.py", **bob)
    before, _, behind = done.err.partition("STARTED")
    assert (done.code, "artifact:unit@1, which you relied on" in before) == (0, True), done.err
    assert "│ it is minutes" in before and "relied on" not in behind
    assert "notice: given back with changes not committed: path:src: git status" in behind
    data = atlas(*run[:-3], "--json", *run[-3:], "true", **bob).json
    assert [line for line in data["notices"] if "given back with" in line]
    assert "not committed" not in atlas(*run[:2], "path:docs", *run[4:], "true", **bob).err
    take = ("lease", "take", "path:src/x.py", "--why", "w")
    for back in (("lease", "release", "path:src/x.py"), ("end", "-m", "done")):
        assert atlas(*take, **bob).code == 0
        assert "changes not committed: path:src/x.py" in atlas(*back, **bob).err


def test_with_json_there_is_one_envelope_and_the_command_speaks_on_stderr(
    begun: str, atlas: Atlas
) -> None:
    done = atlas(
        "lease", "run", "gpu0", "--why", "x", "--json", "--", "sh", "-c", "echo hello; exit 7"
    )
    assert (done.code, done.data["exit"], done.data["resources"]) == (7, 7, ["gpu0"])
    assert "hello" in done.err and "hello" not in done.out


def test_a_command_that_cannot_start_leaves_nothing_held(
    repo: Path, atlas: Atlas, quick: Atlas
) -> None:
    done = atlas("lease", "run", "gpu0", "--why", "x", "--", "./no-such-program")
    assert done.code == 127 and "./no-such-program could not be started" in done.err
    assert lease(quick)["state"] == "released"
    (repo / "plain").write_text("no program\n")
    assert atlas("lease", "run", "gpu0", "--why", "x", "--", "./plain").code == 126
    assert lease(quick)["state"] == "released"
    assert quick("session", "list", "--json").data["total"] == 0


def test_outside_a_session_it_begins_and_ends_one_of_class_run(
    repo: Path, atlas: Atlas, quick: Atlas
) -> None:
    assert atlas("lease", "run", "gpu0", "--why", "nightly", "--", "sh", "-c", "exit 3").code == 3
    [session] = quick("session", "list", "--all", "--json").data["items"]
    assert (session["class"], session["state"], session["goal"]) == ("run", "ended", "nightly")
    assert lease(quick)["holder"] == session["id"]
    assert quick("status", "write", "-m", "x").code == 5  # it is nobody else's session
    assert quick("verify", "--full").code == 0


def test_where_another_holds_the_lease_the_command_does_not_run(
    repo: Path, begun: str, atlas: Atlas, quick: Atlas
) -> None:
    assert quick("lease", "take", "gpu0", "--why", "mine").code == 0
    other = str(quick("begin", "--new", "--goal", "other", "--json").data["id"])
    done = atlas("--session", other, "lease", "run", "gpu0", "--why", "x", "--", "touch", "ran")
    assert done.code == 4 and f"is held by {begun}" in done.err and not (repo / "ran").exists()


def test_it_renews_at_half_time(begun: str, start: Start, quick: Atlas) -> None:
    # The command waits until it sees the third renewal; without renewals it gives up with another
    # code.
    script = (
        f'touch up; for i in $(seq 300); do [ "$({RENEWALS})" -ge 3 ] && exit 11; sleep 0.1; done'
    )
    done = finished(start(script, "--for", "5m", program=FAST))
    assert done.code == 11, done
    row = lease(quick)
    assert (row["token"], row["state"]) == (1, "released")
    renewals = [
        item
        for item in quick("log", "lease:gpu0", "--json").data["items"]
        if "renew" in item["subject"]
    ]
    assert len(renewals) >= 3 and row["version"] == len(renewals) + 2


def test_when_the_lease_is_lost_the_command_is_told(
    begun: str, start: Start, atlas: Atlas, quick: Atlas
) -> None:
    # Its holder seems to have slept: for the other, whose clock is ahead, the lease is over.
    script = 'trap "touch told; exit 5" TERM; touch up; for i in $(seq 300); do sleep 0.1; done'
    running = start(script, "--for", "5m", program=FAST)
    other = str(quick("begin", "--new", "--goal", "other", "--json").data["id"])
    taken = atlas(
        "lease", "take", "gpu0", "--why", "mine", ATLAS_SESSION=other, ATLAS_CLOCK_OFFSET="400"
    )
    assert taken.code == 0 and "token 2" in taken.out, taken
    done = finished(running)
    assert done.code == 4 and f"is held by {other}" in done.err and "told to stop" in done.err, done
    assert lease(quick)["holder"] == other


def test_what_a_lease_run_holds_outlives_the_end_of_its_session(
    begun: str, start: Start, quick: Atlas, repo: Path
) -> None:
    running = start("touch up; until [ -e go ]; do sleep 0.05; done; exit 6")
    assert quick("lease", "take", "gpu1", "--why", "by hand").code == 0
    done = quick("end", "-m", "the run goes on", "--json")
    assert (done.code, done.data["released"]) == (0, ["gpu1"])
    assert lease(quick)["state"] == "held"
    (repo / "go").touch()
    assert finished(running).code == 6
    assert lease(quick)["state"] == "released"


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"])
def test_it_passes_signals_on(
    name: str, begun: str, start: Start, quick: Atlas, repo: Path
) -> None:
    script = f'trap "touch told; exit 42" {name[3:]}; sleep 0.2; touch up; for i in $(seq 300); do sleep 0.1; done'
    running = start(script)
    running.send_signal(getattr(signal, name))
    assert finished(running).code == 42
    assert (repo / "told").exists() and lease(quick)["state"] == "released"


def at(offset: int) -> dict[str, str]:
    """A clock that is ahead by so many seconds."""
    return {"ATLAS_CLOCK_OFFSET": str(offset)}


def test_the_lease_of_a_holder_that_vanished_is_over_by_itself(
    begun: str, atlas: Atlas, quick: Atlas
) -> None:
    other = str(quick("begin", "--new", "--goal", "other", "--json").data["id"])
    take = ("--session", other, "lease", "take", "gpu0", "--why", "next", "--json")
    assert (
        quick("--session", begun, "lease", "take", "gpu0", "--why", "mine", "--for", "5m").code == 0
    )
    held = atlas(*take, **at(240))
    assert held.code == 4 and held.json["error"]["details"]["holder"] == begun, held
    assert atlas("lease", "list", "--json", **at(301)).data["total"] == 0
    assert atlas("lease", "show", "gpu0", **at(301)).out.startswith("gpu0: expired ")
    late = atlas("--session", begun, "lease", "renew", "gpu0", **at(301))
    assert (
        late.code == 6 and "yours was over" in late.err
    )  # nobody has taken it, and yet it is not the holder's any more
    taken = atlas(*take, **at(301))
    assert (taken.code, taken.data["token"], taken.data["holder"]) == (0, 2, other), taken
    for verb in ("renew", "release"):
        stale = atlas("--session", begun, "lease", verb, "gpu0", **at(302))
        assert stale.code == 4 and f"is held by {other}" in stale.err, stale
    assert quick("verify", "--full").code == 0


def test_a_session_without_a_write_for_hours_counts_as_gone(begun: str, atlas: Atlas) -> None:
    assert atlas("lease", "take", "gpu0", "--why", "x", **at(4 * 3600 - 60)).code == 0
    gone = atlas("lease", "renew", "gpu0", "--json", **at(9 * 3600))
    assert (gone.code, gone.json["error"]["code"]) == (
        5,
        "no_session",
    ) and "has expired" in gone.json["error"]["message"]


def test_its_code_survives_a_session_that_was_ended_meanwhile(
    repo: Path, start: Start, quick: Atlas
) -> None:
    running = start("touch up; until [ -e go ]; do sleep 0.05; done; exit 6")
    [session] = quick("session", "list", "--json").data["items"]
    assert quick("--session", session["id"], "end").code == 0
    (repo / "go").touch()
    done = finished(running)
    assert done.code == 6, done
    assert lease(quick)["state"] == "released"


def test_ctrl_c_at_a_terminal_reaches_the_command_once(
    begun: str, repo: Path, env: dict[str, str]
) -> None:
    """The terminal gives it to the command as well: passed on again it would be the second,
    impatient one."""
    script = "trap 'echo int >> hits' INT; touch up; n=0; while [ $n -lt 20 ]; do sleep 0.1; n=$((n+1)); done"
    argv = command("lease", "run", "gpu0", "--why", "a run", "--", "sh", "-c", script)
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(repo)
        os.execve(argv[0], argv, env)
    until(lambda: (repo / "up").exists())
    os.write(terminal, b"\x03")
    with contextlib.suppress(OSError):  # its other end is closed
        while os.read(terminal, 1024):
            pass
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert (repo / "hits").read_text() == "int\n"


def test_under_nohup_its_command_goes_on(begun: str, repo: Path, env: dict[str, str]) -> None:
    program = ("nohup", *command("lease", "run", "gpu0", "--why", "a run", "--"))
    started = subprocess.Popen(
        [*program, "sh", "-c", "touch up; sleep 1; touch through"],
        cwd=repo,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    until(lambda: (repo / "up").exists())
    started.send_signal(signal.SIGHUP)
    assert finished(started).code == 0 and (repo / "through").exists()

"""An exit says what is known: whatever fails or is interrupted between the write and the end of the
command."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..conftest import DECISION, command
from .crew import Worker
from .fleet import Fleet, done

LEASE = ("lease", "take", "gpu0", "--why", "w")


@pytest.fixture
def two(pair: Fleet, tmp_path: Path) -> Fleet:
    return pair.copied(tmp_path / "fleet")


@pytest.fixture
def both(two: Fleet) -> Iterator[list[Worker]]:
    with two.crew(["a", "b"]) as workers:
        yield workers


def folder(two: Fleet, name: str) -> Path:
    """A folder where a file is wanted: an error of the system that stays."""
    found = two.top / "a/.git/atlas" / name
    found.unlink(missing_ok=True)
    (found / "x").mkdir(parents=True)
    return found


def test_an_error_of_the_system_behind_the_write_is_recorded_not_published(
    two: Fleet, both: list[Worker]
) -> None:
    a, b = both
    barred = folder(two, "publish.lock")
    said = done(a(*DECISION, "--operation", "plain", "--json")).json
    assert said["store"]["published"] is False and "publish.lock" in str(said["notices"])
    wanted = done(a(*DECISION, "--operation", "wanted", "--require-published", "--json"), 8).json
    assert "publish.lock" in wanted["error"]["message"]
    lease = done(a(*LEASE, "--operation", "lease", "--json"), 8).json
    assert "was given back" in lease["error"]["message"]
    assert done(a("lease", "list", "--json")).data["total"] == 0
    assert done(a("status", "--json")).code == 0
    done(a("sync"), 1)
    shutil.rmtree(barred)
    done(a("sync"))
    assert {"plain", "wanted", "lease"} <= set(two.operations())
    done(b(*LEASE))


@pytest.mark.parametrize("name", ["store.git.push", "sync.json", "remotes.json"])
def test_what_is_only_a_note_fails_nothing(name: str, two: Fleet, both: list[Worker]) -> None:
    folder(two, name)
    said = done(both[0](*LEASE, "--operation", "mine", "--json")).json
    assert said["store"]["published"] is True and "mine" in two.operations()
    home = two.top / "a/.git/atlas"
    assert not [path for path in home.iterdir() if path.suffix[1:].isdecimal()], "half made files"


def hooked(two: Fleet, tmp_path: Path, lines: str) -> None:
    """a's pushes do `lines` first, once."""
    script = tmp_path / "receive"
    script.write_text(
        f'#!/bin/sh\nif mkdir "{tmp_path}/once" 2>/dev/null; then {lines}\nfi\nexec git-receive-pack "$@"\n'
    )
    script.chmod(0o755)
    two.git("a", "config", "remote.origin.receivepack", str(script))


def test_a_refusal_of_any_code_leaves_nothing_parked(
    two: Fleet, both: list[Worker], tmp_path: Path
) -> None:
    """The last task goes to another while this one pushes its claim: none is ready (7)."""
    a, b = both
    done(a("task", "add", "the only one")), done(b("sync"))
    claim = " ".join(
        command("-C", str(two.top / "b"), "--session", two.sessions["b"], "task", "next", "--claim")
    )
    hooked(two, tmp_path, f"{claim} >/dev/null 2>&1")
    late = done(a("task", "next", "--claim", "--operation", "late", "--json"), 7)
    assert late.json["error"]["code"] == "no_task", late
    assert done(a("parked", "--json")).data["total"] == 0 and "late" not in two.operations()
    done(a("end", "-m", "Nothing was left to do here."))


def test_also_one_that_is_a_failure(two: Fleet, both: list[Worker], tmp_path: Path) -> None:
    """Overtaken while it pushes, and then the disk takes nothing more."""
    a = both[0]
    write = " ".join(
        command(
            "-C",
            str(two.top / "b"),
            "--session",
            two.sessions["b"],
            "status",
            "write",
            "-m",
            "theirs",
        )
    )
    lock = two.top / "a/.git/atlas/writer.lock"
    objects = two.top / "a/.git/atlas/store.git/objects"
    hooked(two, tmp_path, f"{write} >/dev/null 2>&1; touch {tmp_path}/now")
    git = tmp_path / "bin/git"
    git.parent.mkdir()
    git.write_text(
        f'#!/bin/sh\ncase "$*" in *unpack-objects*) [ -e {tmp_path}/now ] && {{ echo "fatal: no room" >&2; exit 128; }};; '
        f'esac\nexec {shutil.which("git")} "$@"\n'
    )
    git.chmod(0o755)
    path = {"PATH": f"{git.parent}{os.pathsep}{two.env['PATH']}"}
    late = done(
        a("status", "write", "--replace", "-m", "ours", "--operation", "late", "--json", env=path),
        1,
        3,
    )
    assert lock.exists() and objects.is_dir() and late.json["error"]
    assert done(a("parked", "--json")).data["total"] == 0 and "late" not in two.operations("a")


def test_and_where_that_cannot_be_nobody_is_told_no(
    two: Fleet, both: list[Worker], tmp_path: Path
) -> None:
    """Neither written anew nor forgotten, since git dies over both: what is parked is no "nothing
    was written"."""
    a, b = both
    done(a("task", "add", "one")), done(a("task", "add", "another")), done(b("sync"))
    claim = " ".join(
        command("-C", str(two.top / "b"), "--session", two.sessions["b"], "task", "next", "--claim")
    )
    hooked(two, tmp_path, f"{claim} >/dev/null 2>&1; touch {tmp_path}/now")
    git = tmp_path / "bin/git"
    git.parent.mkdir()
    git.write_text(
        f'#!/bin/sh\ncase "$*" in *unpack-objects*) [ -e {tmp_path}/now ] && {{ touch {tmp_path}/dying; kill -9 $$; }};; '
        f'*update-ref*) [ -e {tmp_path}/dying ] && kill -9 $$;; esac\nexec {shutil.which("git")} "$@"\n'
    )
    git.chmod(0o755)
    path = {"PATH": f"{git.parent}{os.pathsep}{two.env['PATH']}"}
    late = a("task", "next", "--claim", "--operation", "late", "--json", env=path)
    assert late.code == 10 and "atlas parked drop late" in late.json["error"]["hint"], late
    assert done(a("parked", "drop", "late", "--json")).data["operation"] == "late"


def interrupted(folder: Path, env: dict[str, str], code: str, *argv: str) -> tuple[int, str, str]:
    """How `atlas ARGV` ends where that code runs right behind its entry point."""
    lines = f"import sys, os; sys.argv = ['atlas', *{argv!r}]; from atlas_cli.start import run; {code}; run()"
    restored = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    child = subprocess.run(
        [sys.executable, "-c", lines],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        **restored,
    )
    return child.returncode, child.stdout, child.stderr


def test_from_the_first_line_on_an_interrupt_has_an_answer(two: Fleet) -> None:
    kill = "os.kill(os.getpid(), 2)"
    there = two.top / "a"
    code, out, err = interrupted(there, two.env, kill, "status", "--json")
    assert (code, json.loads(out)["error"]["code"], err) == (130, "interrupted", "")
    code, out, err = interrupted(there, two.env, kill, "status")
    assert (code, out, err.count("\n")) == (130, "", 1)
    # In the middle of an import: the module is loaded, and whole.
    late = (
        "import builtins; real = __import__; builtins.__import__ = lambda name, *more, **also: ("
        "os.kill(os.getpid(), 2) if name == 'typer' else None, real(name, *more, **also))[1]"
    )
    code, out, err = interrupted(there, two.env, late, "status", "--json")
    assert (code, json.loads(out)["error"]["code"], err) == (130, "interrupted", "")


def test_a_program_that_cannot_be_loaded_is_one_line(two: Fleet) -> None:
    gone = "sys.modules['typer'] = None"
    code, out, err = interrupted(two.top / "a", two.env, gone, "status", "--json")
    assert (code, json.loads(out)["error"]["code"], err) == (1, "environment", "")
    code, out, err = interrupted(two.top / "a", two.env, gone, "status")
    assert (code, out) == (1, "") and "typer" in err and "Traceback" not in err


@pytest.mark.parametrize(
    "fault",
    ["KeyboardInterrupt", "OSError(5, 'EIO')", "sqlite3.OperationalError('disk I/O error')"],
)
def test_what_comes_while_it_closes_changes_no_answer(fault: str, two: Fleet) -> None:
    raising = (
        "import sqlite3, atlas_cli.main; from atlas_cli.store.notebook import Notebook; real = Notebook.close; "
        f"Notebook.close = lambda self: (real(self), (_ for _ in ()).throw({fault}))"
    )
    if fault == "KeyboardInterrupt":
        raising = raising.partition("(_ for")[0] + "os.kill(os.getpid(), 2))"
    argv = ("--session", two.sessions["a"], "--operation", "closing", *DECISION, "--json")
    code, out, err = interrupted(two.top / "a", two.env, raising, *argv)
    assert (code, err, json.loads(out)["status"]) == (0, "", "ok") and two.operations("a").count(
        "closing"
    ) == 1


def test_while_it_waits_for_what_is_typed_it_ends_at_once(two: Fleet) -> None:
    child = subprocess.Popen(
        command("--session", two.sessions["a"], "status", "write", "-", "--json"),
        cwd=two.top / "a",
        env=two.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    waits = Path(f"/proc/{child.pid}/syscall")
    while waits.exists() and not waits.read_text().startswith("0 0x0 "):  # read(0, …)
        time.sleep(0.02)
    time.sleep(0 if waits.exists() else 3)
    child.send_signal(signal.SIGINT)
    assert child.stdout is not None
    assert json.loads(child.stdout.readline())["error"]["code"] == "interrupted"
    assert child.wait(60) == 130


def test_a_sync_that_is_interrupted_when_the_remote_may_have_it_is_unknown(
    two: Fleet, both: list[Worker], tmp_path: Path
) -> None:
    done(both[0](*DECISION, "--offline", "--operation", "mine"))
    hooked(two, tmp_path, f"touch {tmp_path}/asked; sleep 30")
    child = subprocess.Popen(
        command("sync", "--json"),
        cwd=two.top / "a",
        env=two.env,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not (tmp_path / "asked").exists():
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    said = json.loads(child.communicate(timeout=60)[0])
    assert (child.returncode, said["error"]["code"]) == (10, "unknown"), said
    assert "atlas sync" in said["error"]["hint"]
    done(both[0]("sync"))
    assert two.operations().count("mine") == 1

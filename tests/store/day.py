"""A whole day of work in one place: every kind of write, through to a green `verify`."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ..conftest import Git
from .crew import crew

NOTE = b"one line\r\nanother\nand no end"


@dataclass(frozen=True)
class Spot:
    """Where the commands run: the folder, where the store must lie, the worktree's top, what is set
    there."""

    cwd: Path
    store: Path
    top: Path | None
    env: dict[str, str] = field(default_factory=dict)


Make = Callable[[Path, Git], Spot]


def project(folder: Path, git: Git, *options: str, commit: bool = True) -> Path:
    """A repository; with one commit, if that is wanted."""
    folder.mkdir(parents=True)
    git("init", "-q", *options, cwd=folder)
    if commit:
        (folder / "src").mkdir()
        (folder / "src/x.py").write_text("print('x')\n")
        git("add", ".", cwd=folder)
        git("commit", "-qm", "first", cwd=folder)
    return folder


def inside(folder: Path, **env: str) -> Spot:
    return Spot(folder, folder / ".git/atlas", folder, env)


def day(spot: Spot, env: dict[str, str]) -> None:
    """Init, begin, lease, artifact, status, decision, end, verify; the store lies where it must,
    and is whole."""
    with crew([spot.cwd], env | spot.env) as [work]:
        made = work("init", "--json")
        assert made.code == 0 and made.data["created"], made
        assert (spot.store / "store.git/HEAD").is_file()
        assert Path(made.data["path"]).samefile(spot.store / "store.git")
        if spot.top is None:  # nothing tells whose a call is: a session must be named
            assert work("begin", "--goal", "a day", "--json").code == 0
            assert work("lease", "take", "gpu0", "--why", "x").code == 5
            work.begin("the day’s goal")
        else:
            assert work("begin", "--goal", "the day’s goal", "--on", ".").code == 0
        held = work("lease", "take", "gpu0", "path:ä b.py", "--why", "größer")
        assert held.code == 0, held
        put = work("artifact", "put", "note", "-", data=NOTE.decode())
        assert put.code == 0, put
        got = work("artifact", "get", "note", "-o", "copy.txt")
        assert got.code == 0 and (spot.cwd / "copy.txt").read_bytes() == NOTE, got
        assert work("artifact", "put", "note", "copy.txt").code == 0
        assert work("status", "write", "-m", "Größe: 大小, done").code == 0
        shown = work("status")
        assert shown.code == 0 and "done" in shown.out, shown
        decided = work(
            "decision",
            "add",
            "--title",
            "Ä",
            "--recommended",
            "a",
            "--chosen",
            "b",
            "--stance",
            "agreed",
            "--why",
            "ü",
        )
        assert decided.code == 0, decided
        assert work("who", "src").code == 0
        ended = work("end", "-m", "the day is over", "--json")
        assert ended.code == 0 and len(ended.data["released"]) == 2, ended
        work.session = None
        assert "the day is over" in work("status", "--json").data["body"]
        for judge in (("verify", "--full"), ("doctor",)):
            done = work(*judge)
            assert done.code == 0, done
    look(spot, env)


def look(spot: Spot, env: dict[str, str]) -> None:
    """The view is there where there is a worktree, and the store's repository is whole and has no
    hooks."""
    if spot.top is None:
        assert not list(spot.cwd.rglob(".atlas"))
    else:
        assert "the day is over" in (spot.top / ".atlas/status/main.md").read_text(encoding="utf-8")
        assert (spot.top / ".atlas/artifacts/note.txt").read_bytes() == NOTE
    store = spot.store / "store.git"
    subprocess.run(
        ["git", f"--git-dir={store}", "fsck", "--strict"], env=env, capture_output=True, check=True
    )
    assert not list((store / "hooks").glob("*"))

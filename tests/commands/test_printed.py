"""Printed commands run as printed, where they are printed: however Atlas was called, and beside
other programs of its name."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from atlas_cli.env import aim

from ..conftest import Atlas

SPELLED = re.compile(r"(\S*(?:git )?\S*atlas) task list shows them")


def _without_atlas(tmp_path: Path, env: dict[str, str]) -> str:
    """A PATH with git and Python, and another program that is called `atlas`."""
    programs = tmp_path / "programs"
    programs.mkdir()
    other = programs / "atlas"
    other.write_text("#!/bin/sh\necho a cloud database\n")
    other.chmod(0o755)
    ours = str(Path(sys.executable).parent)
    rest = [folder for folder in env["PATH"].split(os.pathsep) if folder != ours]
    return os.pathsep.join([str(programs), *rest])


def _said(argv: list[str], cwd: Path, env: dict[str, str]) -> str:
    done = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 7, done
    match = SPELLED.search(done.stderr)
    assert match, done
    return match[1]


def test_a_command_is_spelled_as_atlas_was_called(
    begun: str, repo: Path, env: dict[str, str], tmp_path: Path
) -> None:
    programs = Path(sys.executable).parent
    assert _said(["git", "atlas", "show", "task:none"], repo, env) == "git atlas"
    assert _said([str(programs / "atlas"), "show", "task:none"], repo, env) == "atlas"
    other = env | {"PATH": _without_atlas(tmp_path, env)}
    launcher = repo / ".atlas/atlas"
    for folder, way in ((repo, ".atlas/atlas"), (repo / "src", "../.atlas/atlas")):
        assert _said([str(launcher), "show", "task:none"], folder, other) == way
        shown = subprocess.run([way, "task", "list"], cwd=folder, env=other, check=False)
        assert shown.returncode == 0
    launcher.chmod(0o755)
    launcher.write_text("#!/bin/sh\necho of the project\n")
    module = [sys.executable, "-m", "atlas_cli", "show", "task:none"]
    assert _said(module, repo, other) == str(programs / "atlas")
    # Its own name is another program there, though git finds it.
    both = env | {"PATH": other["PATH"] + os.pathsep + str(programs)}
    assert _said([str(programs / "atlas"), "show", "task:none"], repo, both) == "git atlas"


def test_a_hook_prints_what_runs_where_git_was_called(
    begun: str, repo: Path, atlas: Atlas, env: dict[str, str], tmp_path: Path
) -> None:
    assert atlas("hooks", "install").code == 0
    env = env | {"CODEX_THREAD_ID": "newcomer"}
    other = env | {"PATH": _without_atlas(tmp_path, env)}
    said = {
        where: subprocess.run(
            ["git", "commit", "-q", "--allow-empty", "-m", "x"],
            cwd=repo / "src",
            env=place,
            capture_output=True,
            text=True,
            check=False,
        ).stderr
        for where, place in (("path", env), ("launcher", other))
    }
    assert "begin one: git atlas begin --goal" in said["path"]
    printed = re.search(r"begin one: (\S+) begin --goal", said["launcher"])
    assert printed, said
    begun = [printed[1], "begin", "--goal", "try"]
    assert subprocess.run(begun, cwd=repo / "src", env=other, check=False).returncode == 0
    # A text that is refused is not lost, and the command of its draft runs there as well.
    write = [printed[1], "status", "write", "-", "--section", "s"]
    lost = subprocess.run(
        [*write, "--for", "session:nobody-261129-aaaaaa"],
        cwd=repo / "src",
        env=other,
        input="an hour's text",
        capture_output=True,
        text=True,
        check=False,
    )
    assert lost.returncode == 7 and "your text is kept in " in lost.stderr
    listed = subprocess.run(
        [printed[1], "drafts"], cwd=repo / "src", env=other, capture_output=True, text=True
    ).stdout
    assert f"{printed[1]} status write --file" in listed, listed


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("atlas sync brings it", "git atlas -C d sync brings it"),
        (
            "run git atlas sync, then `atlas log`",
            "run git atlas -C d sync, then `git atlas -C d log`",
        ),
        ("atlas -C e sync; atlas --help lists", "git atlas -C e sync; git atlas -C d --help lists"),
        ('its goal: "atlas log is slow"', 'its goal: "atlas log is slow"'),
        ("write --section 'atlas sync' --on 'it'\"'\"'s atlas log'", None),
        ("this clone's copy: atlas sync", "this clone's copy: git atlas -C d sync"),
        ("atlas -C '/a b' sync", "git atlas -C '/a b' sync"),
        ("the atlas of roads; atlas-hook; .atlas/atlas log", None),
        ("atlas sync-all", None),
    ],
)
def test_only_commands_of_atlas_are_spelled(text: str, printed: str | None) -> None:
    assert aim.at(" -C d", ["sync", "log"], "git atlas")(text) == (printed or text)


def test_a_command_for_a_sub_agent_is_marked_once() -> None:
    at = aim.at(" -C d", ["sync"], "git atlas", "ATLAS_AGENT=a1 ")
    marked = "ATLAS_AGENT=a1 git atlas -C d sync"
    assert at("atlas sync; ATLAS_AGENT=a2 atlas sync") == f"{marked}; {marked.replace('a1', 'a2')}"
    assert at(at("atlas sync")) == marked

"""The view's launcher, and a view that was moved."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from ..conftest import NOTEBOOK, Atlas, Git, Result


def launched(repo: Path, env: dict[str, str], *args: str, cwd: Path | None = None) -> Result:
    """Runs `.atlas/atlas` as a shell would that knows neither `atlas` nor PYTHONPATH."""
    bare = {key: value for key, value in env.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    folder = str(Path(shutil.which("git") or "/usr/bin/git").parent)
    done = subprocess.run(
        [repo / ".atlas/atlas", *args],
        cwd=cwd or repo,
        env=bare | {"PATH": f"{folder}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    return Result(done.returncode, done.stdout, done.stderr)


def test_the_launcher_is_this_atlas_wherever_it_is_started(
    begun: str, repo: Path, env: dict[str, str]
) -> None:
    launcher = repo / ".atlas/atlas"
    assert launcher.stat().st_mode & 0o777 == 0o555
    trap = repo / "src/atlas_cli"
    trap.mkdir()
    (trap / "__init__.py").write_text("raise SystemExit('the wrong one')\n")
    done = launched(
        repo, env, "lease", "take", "gpu0", "--why", "two  words; $x", "--json", cwd=repo / "src"
    )
    assert (done.code, done.err, done.data["why"], done.data["holder"]) == (
        0,
        "",
        "two  words; $x",
        begun,
    )
    assert launched(repo, env, "--version").out.startswith("atlas ")
    assert launched(repo, env, "lease", "show", "gpu1").code == 7
    done = launched(repo, env, "lease", "show", "gpu0", cwd=Path("/"))
    assert (done.code, "not in a git repository" in done.err) == (7, True)


def test_the_launcher_comes_back_after_git_clean(
    begun: str, repo: Path, atlas: Atlas, git: Git
) -> None:
    git("clean", "-fdxq")
    assert atlas("status").code == 0
    assert os.access(repo / ".atlas/atlas", os.X_OK)
    assert git("status", "--porcelain") == ""


def test_the_launcher_follows_the_interpreter_and_says_when_it_is_gone(
    begun: str, repo: Path, atlas: Atlas, env: dict[str, str], tmp_path: Path
) -> None:
    before = (repo / ".atlas/atlas").read_bytes()
    python = tmp_path / "other one/bin/python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", python.parents[1]], check=True)
    path = os.pathsep.join([env["PYTHONPATH"], sysconfig.get_path("purelib")])
    subprocess.run(
        [python, "-m", "atlas_cli", "status"], cwd=repo, env=env | {"PYTHONPATH": path}, check=True
    )
    assert str(python) in (repo / ".atlas/atlas").read_text()
    shutil.rmtree(python.parents[1])
    done = launched(repo, env, "status")
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert "install atlas-cli" in done.err
    assert atlas("status").code == 0
    assert (repo / ".atlas/atlas").read_bytes() == before
    written = (repo / ".atlas/atlas").stat().st_ino
    assert atlas("status").code == 0
    assert (repo / ".atlas/atlas").stat().st_ino == written, "what is current is not written"


@pytest.mark.parametrize("how", ["moved", "copied without its notebook"])
def test_a_view_elsewhere_was_not_edited_by_hand(
    how: str, begun: str, repo: Path, atlas: Atlas, tmp_path: Path
) -> None:
    assert atlas("status", "write", "-m", "One.").code == 0
    there = tmp_path / "elsewhere"
    shutil.copytree(repo, there, symlinks=True)
    if how != "moved":
        for file in (there / ".git/atlas").glob(f"{NOTEBOOK}*"):
            file.unlink()
    done = atlas(
        "status",
        "write",
        "-m",
        "Two, quite another.",
        "--session",
        begun,
        "--base",
        "1",
        "--json",
        cwd=there,
    )
    assert (done.code, "by hand" in done.out) == (0, False)
    assert (there / ".atlas/status/main.md").read_text().endswith("Two, quite another.\n")
    assert not (there / ".git/atlas/drafts").exists()
    (there / ".atlas/status/main.md").unlink()
    (there / ".atlas/status/main.md").write_text("words of a hand\n")
    done = atlas("status", "write", "-m", "Three.", "--session", begun, "--json", cwd=there)
    assert "edited by hand" in str(done.json["notices"])
    drafts = (there / ".git/atlas/drafts").iterdir()
    assert [file.read_text() for file in drafts] == ["words of a hand\n"]

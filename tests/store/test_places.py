"""A whole day of work goes through wherever a git repository can be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ..conftest import Atlas, Git
from .day import Make, Spot, day, inside, project

MAKERS: list[Make] = []


def place(make: Make) -> Make:
    MAKERS.append(make)
    return make


@place
def main_worktree(tmp: Path, git: Git) -> Spot:
    return inside(project(tmp / "repo", git))


@place
def linked_worktree(tmp: Path, git: Git) -> Spot:
    repo = project(tmp / "repo", git)
    git("worktree", "add", "-q", "-b", "other", str(tmp / "linked"), cwd=repo)
    return Spot(tmp / "linked", repo / ".git/atlas", tmp / "linked")


@place
def subfolder(tmp: Path, git: Git) -> Spot:
    repo = project(tmp / "repo", git)
    return Spot(repo / "src", repo / ".git/atlas", repo)


@place
def no_commit_yet(tmp: Path, git: Git) -> Spot:
    return inside(project(tmp / "repo", git, commit=False))


@place
def detached_head(tmp: Path, git: Git) -> Spot:
    repo = project(tmp / "repo", git)
    git("switch", "-q", "--detach", cwd=repo)
    return inside(repo)


@place
def bare_repository(tmp: Path, git: Git) -> Spot:
    project(tmp / "repo.git", git, "--bare", commit=False)
    return Spot(tmp / "repo.git", tmp / "repo.git/atlas", None)


@place
def inside_a_git_directory(tmp: Path, git: Git) -> Spot:
    repo = project(tmp / "repo", git)
    return Spot(repo / ".git", repo / ".git/atlas", None)


@place
def worktree_of_a_bare_repository(tmp: Path, git: Git) -> Spot:
    project(tmp / "origin", git)
    git("clone", "-q", "--bare", str(tmp / "origin"), str(tmp / "repo.git"), cwd=tmp)
    git("worktree", "add", "-q", str(tmp / "tree"), "main", cwd=tmp / "repo.git")
    return Spot(tmp / "tree", tmp / "repo.git/atlas", tmp / "tree")


@place
def submodule(tmp: Path, git: Git) -> Spot:
    project(tmp / "part", git)
    repo = project(tmp / "repo", git)
    git(
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(tmp / "part"),
        "part",
        cwd=repo,
    )
    return Spot(repo / "part", repo / ".git/modules/part/atlas", repo / "part")


@place
def separate_git_directory(tmp: Path, git: Git) -> Spot:
    repo = project(tmp / "repo", git, f"--separate-git-dir={tmp / 'elsewhere'}")
    return Spot(repo, tmp / "elsewhere/atlas", repo)


@place
def spaces_and_other_scripts_in_the_path(tmp: Path, git: Git) -> Spot:
    return inside(project(tmp / "Größe 大小 [x]" / "re po", git))


@place
def newline_in_the_path(tmp: Path, git: Git) -> Spot:
    return inside(project(tmp / "two\nlines", git))


@place
def bytes_in_the_path_that_are_not_utf8(tmp: Path, git: Git) -> Spot:
    folder = Path(os.fsdecode(os.fsencode(tmp) + b"/\xff\xfe"))
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("NOT TESTED: this file system takes no such name")
    folder.rmdir()
    return inside(project(folder, git))


@place
def symlink_to_the_repository(tmp: Path, git: Git) -> Spot:
    repo = project(tmp / "real", git)
    (tmp / "link").symlink_to(repo, target_is_directory=True)
    return Spot(tmp / "link", repo / ".git/atlas", repo)


@place
def sha256_repository(tmp: Path, git: Git) -> Spot:
    return inside(project(tmp / "repo", git, "--object-format=sha256"))


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_a_whole_day(make: Make, tmp_path: Path, git: Git, env: dict[str, str]) -> None:
    day(make(tmp_path, git), env)


def test_a_submodule_has_a_store_of_its_own(tmp_path: Path, git: Git, quick: Atlas) -> None:
    spot = submodule(tmp_path, git)
    ids = {
        quick("-C", str(where), "init", "--json").data["store"]
        for where in (spot.cwd, tmp_path / "repo")
    }
    assert len(ids) == 2


def test_all_worktrees_share_one_store_and_each_has_its_own_session(
    tmp_path: Path, git: Git, quick: Atlas, atlas: Atlas
) -> None:
    spot = linked_worktree(tmp_path, git)
    assert quick("init").code == 0
    found = [
        atlas("-C", str(where), "begin", "--goal", "x", "--json", CODEX_THREAD_ID=caller).data["id"]
        for where, caller in ((spot.cwd, "tests"), (tmp_path / "repo", "another"))
    ]
    mine = quick("-C", str(spot.cwd), "begin", "--json").data
    assert (mine["id"], mine["continued"], mine["you"]["branch"]) == (found[0], True, "other")
    assert quick("-C", str(spot.cwd), "status", "write", "-m", "from the linked one").code == 0
    assert quick("status", "--json").data["body"] == "## x\n\nfrom the linked one\n"
    assert quick("--session", found[1], "session", "show", "--json").data["branch"] == "main"
    git(
        "worktree", "remove", str(spot.cwd), cwd=tmp_path / "repo"
    )  # the view in it is in nobody's way
    assert quick("status", "--json").data["session"] == found[0]


@pytest.mark.parametrize(
    "command", [("status",), ("begin", "--goal", "x"), ("verify",), ("doctor", "--fix")]
)
def test_without_a_store_or_a_repository_it_is_seven_and_says_what_to_do(
    command: tuple[str, ...], tmp_path: Path, git: Git, quick: Atlas
) -> None:
    nowhere = quick("-C", str(tmp_path), *command, "--json")
    assert (nowhere.code, nowhere.json["error"]["code"]) == (
        7,
        "no_store",
    ) and "git init" in nowhere.json["error"]["hint"]
    project(tmp_path / "repo", git)
    empty = quick(*command, "--json")
    assert (empty.code, empty.json["error"]["code"]) == (
        7,
        "no_store",
    ) and "atlas init" in empty.json["error"]["hint"]
    assert not (tmp_path / "repo/.git/atlas").exists()

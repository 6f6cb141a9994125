"""A whole day of work goes through whatever is set around it, and runs nobody's code."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from ..conftest import Atlas, Git, command
from .day import Make, Spot, day, inside, project
from .snap import difference, picture

PLAIN = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def set_globally(git: Git, repo: Path, **values: str) -> None:
    for key, value in values.items():
        git("config", "--global", key.replace("_", "."), value, cwd=repo)


def no_user_name(tmp: Path, git: Git) -> Spot:
    repo = project(tmp / "repo", git)
    (tmp / "home/.gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    return inside(repo)


def commits_that_must_be_signed(tmp: Path, git: Git) -> Spot:
    repo = project(tmp / "repo", git)
    set_globally(
        git,
        repo,
        commit_gpgSign="true",
        gpg_program="/bin/false",
        tag_gpgSign="true",
        log_showSignature="true",
    )
    return inside(repo)


def line_ends_that_are_converted(tmp: Path, git: Git) -> Spot:
    repo = project(tmp / "repo", git)
    set_globally(git, repo, core_autocrlf="true", core_safecrlf="true", core_eol="crlf")
    (repo / ".gitattributes").write_text("* text eol=crlf\n")
    return inside(repo)


def other_defaults_of_git(tmp: Path, git: Git) -> Spot:
    repo = project(tmp / "repo", git)
    set_globally(
        git,
        repo,
        init_defaultBranch="atlas",
        core_quotePath="true",
        status_showUntrackedFiles="no",
        diff_noprefix="true",
        diff_renames="copies",
        color_ui="always",
        core_pager="false",
        log_date="relative",
        core_abbrev="4",
        log_decorate="full",
        gc_auto="1",
    )
    return inside(
        repo, GIT_DEFAULT_REF_FORMAT="reftable", GIT_DEFAULT_HASH="sha256", GIT_PAGER="false"
    )


def a_hook_of_another_repository(tmp: Path, git: Git) -> Spot:
    spot, other = inside(project(tmp / "repo", git)), project(tmp / "other", git)
    where = {
        "GIT_DIR": ".git",
        "GIT_INDEX_FILE": ".git/index",
        "GIT_WORK_TREE": ".",
        "GIT_COMMON_DIR": ".git",
        "GIT_OBJECT_DIRECTORY": ".git/objects",
    }
    more = {
        "GIT_PREFIX": "src/",
        "GIT_CONFIG_PARAMETERS": "'core.bare=true'",
        "GIT_TRACE": "1",
        "GIT_NAMESPACE": "x",
    }
    return Spot(
        spot.cwd,
        spot.store,
        spot.top,
        {key: str(other / path) for key, path in where.items()} | more,
    )


AROUND = (
    no_user_name,
    commits_that_must_be_signed,
    line_ends_that_are_converted,
    other_defaults_of_git,
    a_hook_of_another_repository,
)


@pytest.mark.parametrize("make", AROUND, ids=lambda make: make.__name__)
def test_a_whole_day(make: Make, tmp_path: Path, git: Git, env: dict[str, str]) -> None:
    spot = make(tmp_path, git)
    other = tmp_path / "other"
    before = picture(other, ()) if other.exists() else {}
    day(spot, env)
    assert difference(before, picture(other, ()) if other.exists() else {}) == []


def test_names_and_texts_stay_what_they_are_in_the_plain_locale(
    tmp_path: Path, git: Git, atlas: Atlas
) -> None:
    repo = project(tmp_path / "größe", git)
    (repo / "süd").mkdir()
    (repo / "süd/höhe.txt").write_bytes("Höhe\n".encode())
    here = {"cwd": repo / "süd", **PLAIN}
    assert atlas("init", "--test", "--no-hooks", **here).code == 0
    assert atlas("begin", "--goal", "die Größe", **here).code == 0
    assert atlas("artifact", "put", "note", "höhe.txt", "--title", "Höhe", **here).code == 0
    assert atlas("lease", "take", "path:höhe.txt", "--why", "größer", **here).code == 0
    assert atlas("status", "write", "-", data="大小\n", **here).code == 0
    assert atlas("artifact", "get", "note", "-o", "kopie-ü.txt", **here).code == 0
    assert (repo / "süd/kopie-ü.txt").read_bytes() == "Höhe\n".encode()
    # Read in another locale, it is the same.
    assert atlas("status", "--json", cwd=repo).data["body"] == "## die Größe\n\n大小\n"
    [lease] = atlas("lease", "list", "--json", cwd=repo).data["items"]
    assert (lease["resource"], lease["why"]) == ("path:süd/höhe.txt", "größer")
    assert atlas("end", "-m", "Ende", **here).code == 0
    assert atlas("verify", "--full", **here).code == 0


def canary(folder: Path) -> tuple[Path, Path]:
    """A program that leaves a mark when it runs, and the mark."""
    mark, program = folder / "MARK", folder / "canary.sh"
    program.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{mark}'\nexit 0\n")
    program.chmod(0o755)
    return program, mark


HOOKS = (
    "reference-transaction",
    "post-index-change",
    "pre-commit",
    "post-commit",
    "post-checkout",
    "pre-auto-gc",
    "fsmonitor-watchman",
    "commit-msg",
    "prepare-commit-msg",
    "post-rewrite",
    "pre-push",
    "update",
    "post-update",
)


def hooks(folder: Path, program: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in HOOKS:
        (folder / name).symlink_to(program)
    return folder


def settings(program: Path, folder: Path) -> dict[str, str]:
    """Everything in a configuration that names a program or a place of programs."""
    return {
        "core.fsmonitor": str(program),
        "core.hooksPath": str(folder),
        "core.editor": str(program),
        "core.pager": str(program),
        "core.sshCommand": str(program),
        "core.gitProxy": str(program),
        "core.askPass": str(program),
        "diff.external": str(program),
        "gpg.program": str(program),
        "filter.x.clean": str(program),
        "filter.x.smudge": str(program),
        "diff.x.textconv": str(program),
        "diff.x.command": str(program),
        "sequence.editor": str(program),
        "credential.helper": f"!{program}",
        "alias.rev-parse": f"!{program}",
        "alias.x": f"!{program}",
        "uploadpack.packObjectsHook": str(program),
        "merge.x.driver": str(program),
        "trailer.x.command": str(program),
        "gc.recentObjectsHook": str(program),
    }


def test_no_program_of_the_users_configuration_runs(
    tmp_path: Path, git: Git, env: dict[str, str]
) -> None:
    repo = project(tmp_path / "repo", git)
    program, mark = canary(tmp_path)
    (repo / ".gitattributes").write_text("* filter=x diff=x merge=x\n")
    template = tmp_path / "template"
    hooks(template / "hooks", program)
    hooks(repo / ".git/hooks", program)
    for key, value in settings(program, hooks(tmp_path / "hooks", program)).items():
        git("config", key, value, cwd=repo)
    git("config", "--global", "init.templateDir", str(template), cwd=repo)
    mark.unlink(missing_ok=True)  # git itself may have run one while the trap was set
    day(
        inside(repo, GIT_EDITOR=str(program), GIT_EXTERNAL_DIFF=str(program), EDITOR=str(program)),
        env,
    )
    assert not mark.exists(), mark.read_text()
    # The trap works: git in that repository does run it.
    git("status", cwd=repo)
    assert mark.exists()


def test_no_program_planted_in_the_store_runs(
    repo: Path, tmp_path: Path, git: Git, quick: Atlas
) -> None:
    program, mark = canary(tmp_path)
    store = repo / ".git/atlas/store.git"
    hooks(store / "hooks", program)
    for key, value in settings(program, hooks(tmp_path / "hooks", program)).items():
        git("config", "--file", str(store / "config"), key, value)
    for argv in (
        ("begin", "--goal", "x"),
        ("status", "write", "-m", "x"),
        ("lease", "take", "gpu0", "--why", "x"),
        ("verify", "--full"),
        ("doctor", "--fix"),
        ("who", "src"),
        ("end", "-m", "done"),
    ):
        assert quick(*argv).code == 0, argv
    assert not mark.exists(), mark.read_text()


def read_only(folder: Path) -> list[str]:
    """What to put before a command so that it cannot write into a folder; skipped where that cannot
    be had."""
    if os.geteuid() != 0:
        for path in (folder, *folder.rglob("*")):
            path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
        return []
    script = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
    before = ["unshare", "--mount", "sh", "-c", script, str(folder)]
    if subprocess.run([*before, "true"], capture_output=True, check=False).returncode:
        pytest.skip("NOT TESTED: root is not stopped by modes, and mounting is not allowed here")
    return before


def test_where_the_git_directory_cannot_be_written_the_store_lies_in_the_state_folder(
    bare_project: Path, env: dict[str, str], atlas: Atlas, home: Path
) -> None:
    before = read_only(bare_project / ".git")

    def run(*argv: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*before, *command(*argv)], cwd=bare_project, env=env, capture_output=True, text=True
        )

    for argv in (
        ("init",),
        ("begin", "--goal", "x"),
        ("status", "write", "-m", "all is well"),
        ("verify", "--full"),
    ):
        done = run(*argv)
        assert done.returncode == 0, done
    [store] = (home / ".state/atlas").glob("*/store.git")
    assert not (bare_project / ".git/atlas").exists()
    # Where it can be written again, the store that is there stays the store.
    (bare_project / ".git").chmod(0o755)
    assert "all is well" in atlas("status").out
    assert atlas("init", "--json").data["path"] == str(store)


@pytest.mark.skipif(
    os.geteuid() != 0, reason="NOT TESTED: only root can give a repository to somebody else"
)
def test_a_repository_of_somebody_else_is_refused_with_gits_own_remedy(
    bare_project: Path, atlas: Atlas
) -> None:
    for path in (bare_project, bare_project / ".git"):
        os.chown(path, 12345, 12345)
    done = atlas("init")
    assert done.code == 1 and "dubious" in done.err and "safe.directory" in done.err
    assert not (bare_project / ".git/atlas").exists()

"""A server with the `pre-receive` template takes what the rules allow, and refuses the rest with
commit, path, rule."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ..conftest import ROOT, Atlas, Git
from .hand import Hand, Seen, row
from .snap import Picture, picture
from .violations import (
    VIOLATIONS,
    Broken,
    dates_itself_back,
    edits_a_document,
    merges_two_histories,
    puts_a_file_where_none_belongs,
    repeats_an_operation,
)

MAIN, CACHE = "refs/heads/atlas:refs/heads/atlas", ("atlas",)
Push = Callable[..., str]


@pytest.fixture
def server(tmp_path: Path, git: Git, env: dict[str, str]) -> Path:
    """A bare repository with the template in it, and `atlas` on PATH."""
    folder, bin_ = tmp_path / "server.git", tmp_path / "bin"
    git("init", "-q", "--bare", str(folder), cwd=tmp_path)
    shutil.copy(ROOT / "templates/pre-receive", folder / "hooks/pre-receive")
    bin_.mkdir()
    (bin_ / "atlas").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m atlas_cli "$@"\n')
    (bin_ / "atlas").chmod(0o755)
    env["PATH"] = f"{bin_}:{env['PATH']}"
    return folder


@pytest.fixture
def push(store: tuple[Hand, Seen], server: Path, env: dict[str, str]) -> Push:
    """Pushes from the store; what the server said, and "" where it was taken."""

    def run(*refs: str, code: bool = False) -> str:
        where = env if code else {**env, "GIT_DIR": str(store[0].store)}
        done = subprocess.run(
            ["git", "push", "--quiet", str(server), *refs],
            env=where,
            cwd=store[0].repo,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode == 0) == ("rejected" not in done.stderr), done
        return done.stderr if done.returncode else ""

    return run


def there(server: Path) -> Picture:
    return picture(server, CACHE)


def test_good_pushes_are_taken(
    store: tuple[Hand, Seen], push: Push, server: Path, quick: Atlas, git: Git
) -> None:
    assert push("refs/heads/atlas~3:refs/heads/atlas") == ""
    assert push(MAIN) == "" and push(MAIN) == ""
    assert (
        quick(
            "status", "write", "-m", "third", "--base", "2", "--session", store[1].sessions["bob"]
        ).code
        == 0
    )
    assert push(MAIN) == ""
    assert git("rev-parse", "atlas", cwd=server) == store[0].head()
    git("fsck", "--strict", cwd=server)


SOME = (
    edits_a_document,
    dates_itself_back,
    repeats_an_operation,
    merges_two_histories,
    puts_a_file_where_none_belongs,
)
assert set(SOME) <= set(VIOLATIONS)


@pytest.mark.parametrize(
    ("violate", "first"), [(SOME[0], True), *((violate, False) for violate in SOME)]
)
def test_what_breaks_a_rule_is_refused_by_name(
    violate: Callable[[Hand, Seen], Broken],
    first: bool,
    store: tuple[Hand, Seen],
    push: Push,
    server: Path,
) -> None:
    if not first:
        assert push(MAIN) == ""
    before = there(server)
    rule, path = violate(*store)
    said = push(MAIN)
    assert f"{store[0].head()[:12]} {path}".rstrip() in said and f": {rule}: " in said, said
    assert there(server) == before


def test_the_branch_is_never_deleted_or_rewound(push: Push, server: Path, git: Git) -> None:
    assert push(MAIN) == ""
    before = there(server)
    assert "append_only: the branch of the store cannot be deleted" in push(":refs/heads/atlas")
    assert "cannot be rewound" in push("+refs/heads/atlas~1:refs/heads/atlas")
    assert there(server) == before


def test_a_branch_that_is_no_store_is_refused(
    store: tuple[Hand, Seen], push: Push, server: Path, git: Git
) -> None:
    (store[0].repo / "x.py").write_text("x\n")
    git("add", "."), git("commit", "-qm", "code")
    before = there(server)
    assert "linear: does not begin with" in push("HEAD:refs/heads/atlas", code=True)
    root = store[0].git("rev-list", "--max-parents=0", "atlas")
    assert "damaged: holds no policy" in push(f"{root}:refs/heads/atlas")
    assert there(server) == before
    # All or nothing: the code does not get in beside it, and alone it does.
    assert (
        "linear" in push("HEAD:refs/heads/main", "HEAD:refs/heads/atlas", code=True)
        and there(server) == before
    )
    assert push("HEAD:refs/heads/main", code=True) == ""


def test_a_repair_of_what_was_there_before_the_hook_is_taken(
    store: tuple[Hand, Seen], push: Push, server: Path, quick: Atlas
) -> None:
    hook, aside = server / "hooks/pre-receive", server / "aside"
    hook.rename(aside)
    edits_a_document(*store)
    assert push(MAIN) == ""
    aside.rename(hook)
    assert quick("doctor", "--fix", "--session", store[1].sessions["ann"]).code == 0
    assert store[0].git("log", "-1", "--format=%s").startswith("repair: ")
    assert push(MAIN) == ""
    # What only says that it is one takes nothing away.
    innocent = store[0].git("log", "--format=%H", "--diff-filter=A", "atlas", "--", row("gpu1"))
    store[0].commit({row("gpu1"): None}, f"repair\n\nAtlas-Repairs: {innocent}\n")
    assert f": repair: {innocent} broke no rule" in push(MAIN)


def test_by_policy_the_integration_branch_is_checked_too(
    store: tuple[Hand, Seen], push: Push, server: Path, quick: Atlas, git: Git
) -> None:
    hand, seen = store
    ann, bob = (seen.sessions[name] for name in ("ann", "bob"))
    blob = (hand.blob("status/main/000/000002.md", "atlas") or "")[:12]

    def commit(session: str, read: str) -> str:
        git(
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            f"work\n\nAtlas-Session: {session}\nAtlas-Read: main@{read}",
        )
        return git("rev-parse", "--short=12", "HEAD")

    commit(ann, f"2~{blob}")
    assert push(MAIN) == "" and push("HEAD:main", code=True) == ""  # off by default
    for level, refused in (("warn", False), ("stop", True)):
        assert quick("config", "set", "check_on_receive", level, "--session", ann).code == 0
        assert push(MAIN) == ""
        forged = commit(ann, "9~0123456789ab")
        assert push(f"HEAD:side-{level}", code=True) == ""
        said = push("HEAD:main", code=True)
        assert bool(said) == refused
        if refused:
            git("reset", "-q", "--hard", "HEAD~1")
            assert f"{forged} Test <test@example.invalid>: read_first: names main@9" in said, said
    # The word of who adopted a session that is over is there with the push that needs it.
    end = quick("end", "-m", "third", "--base", "2", "--session", bob, "--json")
    done = commit(bob, f"2~{blob}\nAtlas-Word: {end.data['status']['operation']}")
    git("fetch", "-q", str(hand.store), "refs/heads/atlas:refs/atlas-to-push")
    both = ("HEAD:main", "refs/atlas-to-push:refs/heads/atlas")
    assert f"{done} Test <test@example.invalid>: write_last: " in push(*both, code=True)
    heir = ("--session", ann)
    assert quick("session", "adopt", bob, "--why", "it committed on", *heir).code == 0
    assert quick("status", "write", "-m", "4", "--replace", "--base", "3", *heir).code == 0
    git("fetch", "-q", str(hand.store), "+refs/heads/atlas:refs/atlas-to-push")
    assert push(*both, code=True) == ""
    assert git("rev-parse", "main", cwd=server) == git("rev-parse", "HEAD")

"""Write last: a push to a branch of integration wants a status entry that is later than what the
commits were made on."""

from __future__ import annotations

from pathlib import Path

import pytest

from .hooked import Project
from .test_hooks import STATUS, first, hint, policy


@pytest.fixture
def shared(project: Project, tmp_path: Path) -> Project:
    """With a remote that has main, as a clone would know it."""
    project.ok("init", "-q", "--bare", str(tmp_path / "origin.git"))
    project.ok("remote", "add", "origin", str(tmp_path / "origin.git"))
    project.ok("-c", "core.hooksPath=/dev/null", "push", "-q", "origin", "main")
    project.ok("remote", "set-head", "origin", "main")
    return project


def there(project: Project, branch: str = "main") -> str:
    return project.ok("ls-remote", "origin", f"refs/heads/{branch}").partition("\t")[0]


def test_a_push_without_a_status_stops_and_one_entry_clears_it(shared: Project) -> None:
    before = there(shared)
    shared.commit("src/x.py")
    done = shared("push", "-q", "origin", "main")
    assert (done.code, there(shared)) == (1, before)
    assert first(done).startswith("atlas: stop 5 (write last): commits go to main of origin")
    assert "(read: main@1)" in first(done)
    shared.atlas("ann", *hint(done, r"atlas (status write .* -m '[^']+')"))
    shared.ok("push", "-q", "origin", "main")
    assert there(shared) == shared.ok("rev-parse", "main")
    shared.commit("src/x.py")
    assert shared("push", "-q", "origin", "main").code == 1, "each push has its own"


def test_unchanged_counts_while_it_is_current(shared: Project) -> None:
    shared.commit("src/x.py")
    shared.atlas("ann", "status", "write", "--unchanged", "a typo")
    shared.atlas("bob", "status", "show")
    shared.atlas("bob", *STATUS)
    assert "write last" in first(shared("push", "-q", "origin", "main"))
    shared.atlas("ann", "status", "show")
    shared.atlas("ann", "status", "write", "--unchanged", "a typo")
    shared.ok("push", "-q", "origin", "main")


def test_feature_branches_deletions_and_tags_are_free(shared: Project) -> None:
    shared.ok("checkout", "-q", "-b", "feature")
    shared.commit("src/x.py")
    shared.ok("tag", "v1")
    shared.ok("push", "-q", "origin", "feature", "v1")
    shared.ok("push", "-q", "origin", "--delete", "feature", "v1")
    assert first(shared("push", "-q", "origin", "HEAD:main")).startswith(
        "atlas: stop 5 (write last)"
    )
    shared.atlas("bob", "config", "set", "integration", '["release", "other"]')
    assert first(shared("push", "-q", "origin", "HEAD:other")).startswith(
        "atlas: stop 5 (write last)"
    )
    shared.ok("push", "-q", "origin", "HEAD:main")


def test_other_live_sessions_only_warn_and_ended_ones_are_covered(shared: Project) -> None:
    shared.commit("src/x.py", who="bob")
    done = shared("push", "-q", "origin", "main")
    assert (done.code, f"commits of {shared.sessions['bob']}, which is at work" in done.err) == (
        0,
        True,
    )
    shared.commit("src/y.py", who="bob")
    shared.atlas("bob", "lease", "take", "gpu0", "--why", "w")
    shared.atlas("bob", "end", "-m", "done")
    assert shared("push", "-q", "origin", "main").err == "", "bob wrote last, for himself"
    shared.ok(
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "by hand",
        "--no-verify",
        who="nobody",
        CODEX_THREAD_ID="x",
    )
    told = first(shared("push", "-q", "origin", "main"))
    assert "write last" in told and "(of 20" in told, "nobody's commits are the pusher's to tell of"
    shared.atlas("ann", "status", "show")
    shared.atlas("ann", "status", "write", "--section", "S", "-m", "with a commit by hand")
    shared.ok("push", "-q", "origin", "main")


def test_a_session_is_named_or_begun(shared: Project) -> None:
    nobody = {"who": "nobody", "CODEX_THREAD_ID": "x"}
    shared.commit("src/x.py", "--no-verify", **nobody)
    done = shared("push", "-q", "origin", "main", **nobody)
    assert first(done).startswith("atlas: stop 5 (no session)")
    policy(shared, write_last="off")
    shared.ok("push", "-q", "origin", "main", **nobody)


def test_a_remote_without_branches_and_one_that_is_ahead(shared: Project, tmp_path: Path) -> None:
    shared.ok("init", "-q", "--bare", str(tmp_path / "empty.git"))
    shared.ok("remote", "add", "empty", str(tmp_path / "empty.git"))
    shared.commit("src/x.py")
    assert "write last" in first(shared("push", "-q", "empty", "main:anything"))
    shared.ok("clone", "-q", str(tmp_path / "origin.git"), str(tmp_path / "clone"))
    shared.ok("commit", "-q", "--allow-empty", "-m", "theirs", cwd="../clone")
    shared.ok("push", "-q", "origin", "HEAD:main", cwd="../clone")
    shared.atlas("ann", "status", "write", "-m", "mine", "--replace")
    done = shared("push", "-q", "origin", "main")
    assert "fetch first" in done.err
    assert "atlas" not in done.err


def test_what_pre_push_was_given_is_read_to_its_end(shared: Project) -> None:
    """Many refs, more than a pipe holds: git must not be left writing."""
    for number in range(5):
        shared.ok("tag", f"t{number}")
    lines = "".join(f"refs/tags/t{n} {'1' * 40} refs/tags/t{n} {'0' * 40}\n" for n in range(2000))
    done = shared("hook", "run", "pre-push", "--", "origin", "url", data=lines.encode())
    assert done.code in (0, 129)  # (129: a git without `hook run`)
    shared.ok("push", "-q", "origin", "--tags")


def test_the_store_is_published_before_the_code(shared: Project, tmp_path: Path) -> None:
    shared.atlas("ann", "config", "set", "publish", "end")
    shared.commit("src/x.py")
    shared.atlas("ann", *STATUS)
    assert not there(shared, "atlas")
    shared.ok("push", "-q", "origin", "main")
    assert there(shared, "atlas") == shared.ok(
        "--git-dir=.git/atlas/store.git", "rev-parse", "atlas"
    )

    shared.commit("src/x.py")
    shared.atlas("ann", *STATUS)
    hook = tmp_path / "origin.git/hooks/update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\n[ "$1" != refs/heads/atlas ]\n')
    hook.chmod(0o755)
    done = shared("push", "-q", "origin", "main")
    assert done.code == 0 and "NOT PUBLISHED" in done.err, "it is said, and stops nothing"
    shared.atlas("ann", "config", "set", "publish", "manual")
    shared.commit("src/x.py")
    shared.atlas("ann", *STATUS)
    assert shared("push", "-q", "origin", "main").err == ""

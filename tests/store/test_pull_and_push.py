"""Clones that push to one branch all the time: a push that is rejected, the pull that follows it,
and the one that gets there; what each of them is told, and what others see of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ..conftest import Result
from .crew import Worker
from .fleet import fleet
from .hooked import Project
from .test_hooks import TO_ALL, first
from .test_hooks_sequences import branched, unread

PUSH = ("push", "-q", "origin", "HEAD:main")
PULL = ("pull", "-q", "--rebase", "origin", "main")


@pytest.fixture
def clones(tmp_path: Path, worker: Worker) -> tuple[Project, Project]:
    """Two clones with hooks, of ann and of bob, who has just pushed what ann does not have."""
    made = fleet(tmp_path / "fleet", ("a", "b"))
    sessions = {"ann": made.sessions["a"], "bob": made.sessions["b"]}
    a, b = (Project(made.top / name, made.env, worker, sessions) for name in "ab")
    for clone in (a, b):
        assert worker("-C", str(clone.top), "hooks", "install").code == 0
    ahead(b)
    return a, b


def ahead(b: Project, path: str = "y.py") -> None:
    """Bob pushes what others do not have yet, with his word on it."""
    b.commit(path, who="bob")
    b.atlas("bob", "status", "write", "-m", f"{path} is changed")
    b.ok(*PULL, who="bob"), b.ok(*PUSH, who="bob")


def rejected(a: Project) -> Result:
    done = a(*PUSH)
    assert (done.code, "fetch first" in done.err) == (1, True), done
    return done


def shown(clone: Project, who: str) -> list[str]:
    """The subjects and commits of what `begin` and `status show` say was pushed without a word."""
    marks = clone.atlas(who, "--json").data["pushed"]
    text = clone.atlas(who, "status", "show").out
    assert ("pushed without a word" in text) == bool(marks), text
    return [f"{mark['commits']}: {', '.join(mark['subjects'])}" for mark in marks]


def test_a_pull_goes_through_and_what_came_meanwhile_stops_the_push(
    clones: tuple[Project, Project],
) -> None:
    a, b = clones
    a.commit("x.py")
    signs = a.trailers()
    rejected(a)
    b.atlas("bob", "signal", "post", "alert", "--about", "x.py", "-m", "do not touch x.py")
    a.atlas("ann", "sync")
    done = a(*PULL)
    assert (done.code, "atlas" in done.err, "notice" in done.err) == (0, False, False), done
    assert a.trailers() == signs
    done = a(*PUSH)
    assert "stop 5 (read first)" in first(done) and "do not touch x.py" in done.err
    assert a(*PUSH).code == 0


def test_a_rejected_push_has_not_happened_and_the_next_one_happens_once(
    clones: tuple[Project, Project],
) -> None:
    a, b = clones
    b.ok("fetch", "-q")
    a.commit("x.py")
    rejected(a)
    b.atlas("bob", "sync")
    assert (shown(a, "ann"), shown(b, "bob")) == ([], [])
    assert "change x.py" not in b.atlas("bob", "session", "list", "--json").out
    b.ok("fetch", "-q")
    assert shown(b, "bob") == [], "it is on no remote, however new the copy of it"
    a.ok(*PULL), a.ok(*PUSH)
    assert shown(a, "ann") == ["1: change x.py"]
    b.atlas("bob", "sync")
    assert shown(b, "bob") == [], "bob's copy of main does not have it yet"
    b.ok("fetch", "-q")
    assert shown(b, "bob") == ["1: change x.py"]
    # The same by a merge: the tip of the rejected push is among what the next one brings.
    a.commit("x.py"), ahead(b), rejected(a)
    a.ok("pull", "-q", "--no-rebase", "--no-edit", "origin", "main"), a.ok(*PUSH)
    assert shown(a, "ann") == ["1: change x.py", "1: change x.py"], "each commit once"
    a.atlas("ann", "status", "write", "-m", "x.py is changed")
    assert shown(a, "ann") == []


def test_where_no_copy_of_the_branch_is_the_remote_is_asked(
    clones: tuple[Project, Project], worker: Worker
) -> None:
    """A clone that never fetched the code, and the pusher's own that keeps no copy of the branch."""
    a, _ = clones
    bare = Project(a.top.parent / "c", a.env, worker, dict(a.sessions))
    bare.top.mkdir()
    bare.ok("init", "-q"), bare.ok("remote", "add", "origin", "../hub.git")
    begun = worker("-C", str(bare.top), "begin", "--goal", "g", "--actor", "eve", "--json")
    bare.sessions["eve"] = begun.data["id"]
    a.commit("x.py"), rejected(a)
    a.ok("update-ref", "-d", "refs/remotes/origin/main")
    bare.atlas("eve", "sync")
    assert (shown(a, "ann"), shown(bare, "eve")) == ([], [])
    a.ok(*PULL), a.ok("push", "-q", "../hub.git", "HEAD:main")
    a.ok("update-ref", "-d", "refs/remotes/origin/main")
    bare.atlas("eve", "sync")
    assert (shown(a, "ann"), shown(bare, "eve")) == (["1: change x.py"], ["1: change x.py"])
    (a.top.parent / "hub.git").rename(a.top.parent / "away.git")
    assert shown(bare, "eve") == [], "what cannot be known is not claimed"


def due(done: Result) -> list[str]:
    """The times by which a push says that a word is wanted."""
    assert done.code == 0, done
    return re.findall(
        r"notice: say by (\d\d:\d\d) what these commits did: git atlas status write -m …; a task's"
        r" result or `end` does it too",
        done.err,
    )


def test_a_push_asks_for_a_word_once_for_each_debt(clones: tuple[Project, Project]) -> None:
    a, _ = clones
    a.commit("x.py")
    assert "say by" not in rejected(a).err, "nothing was pushed"
    a.ok(*PULL)
    assert len(due(a(*PUSH))) == 1
    a.commit("x.py")
    assert due(a(*PUSH)) == [], "the same debt"
    a.atlas("ann", "status", "show")
    a.atlas("ann", "status", "write", "--unchanged", "it holds")
    a.commit("x.py")
    assert due(a(*PUSH)) == [], "no commit is confirmed away"
    a.commit("x.py")
    a.atlas("ann", "status", "write", "-m", "x.py is changed")
    assert a(*PUSH).err == "", "the word speaks of it"
    a.commit("x.py")
    assert len(due(a(*PUSH))) == 1, "another debt"
    task = a.atlas("ann", "task", "add", "more of x.py", "--json").data["id"]
    a.atlas("ann", "task", "claim", task)
    a.commit("x.py")
    assert due(a(*PUSH)) == []
    a.atlas("ann", "task", "done", task, "-m", "x.py is changed")
    a.atlas("ann", "status", "write", "-m", "the rest as well")
    assert a(*PUSH).err == ""


def test_the_moment_that_was_said_is_kept(clones: tuple[Project, Project]) -> None:
    """The debt is as old as its oldest commit, also where that is pushed already."""
    a, _ = clones
    a.ok(*PULL), a.commit("x.py")
    assert len(due(a(*PUSH))) == 1
    soon, late = ({"ATLAS_CLOCK_OFFSET": str(minutes * 60)} for minutes in (40, 46))
    a.commit("x.py", **soon)
    assert due(a(*PUSH, **soon)) == []
    a.commit("x.py", **late)
    done = a(*PUSH, **late)
    assert "stop 5 (write last)" in first(done) and "your 3 commits, the oldest 4" in first(done)


def test_a_patch_by_mail_is_resolved_without_a_word(project: Project) -> None:
    """git am runs no hook that commits; its user's own commit in the middle does."""
    branched(project)
    project.commit("docs/page.md")
    patch = project.ok("format-patch", "-1", "--stdout")
    project.ok("reset", "-q", "--hard", "HEAD~1")
    project.write("docs/page.md", "other\n")
    project.ok("commit", "-qam", "other")
    assert project("am", "-3", data=(patch + "\n").encode()).code == 128
    project.write("docs/page.md", "resolved\n")
    project.ok("add", "docs")
    project.atlas("bob", *TO_ALL)
    done = project("commit", "-qm", "the patch")
    assert (done.code, done.err, project.trailers()) == (0, "", project.signs())
    project.ok("am", "--skip")
    assert project.ok("show", "HEAD:docs/page.md") == "resolved"
    unread(project)

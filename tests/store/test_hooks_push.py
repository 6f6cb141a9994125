"""Write last: what a branch of integration gains by a push is judged by the words of the sessions
whose commits these are."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from atlas_cli.hooks import quick

from ..conftest import Result
from .hooked import Project
from .test_hooks import STATUS, first, policy

OVER = {"ATLAS_CLOCK_OFFSET": str(5 * 3600)}  # when every session is over that does nothing more


@pytest.fixture
def shared(project: Project, tmp_path: Path) -> Project:
    """With a remote that has main, as a clone would know it; each push wants a word."""
    project.ok("init", "-q", "--bare", str(tmp_path / "origin.git"))
    project.ok("remote", "add", "origin", str(tmp_path / "origin.git"))
    project.ok("-c", "core.hooksPath=/dev/null", "push", "-q", "origin", "main")
    project.ok("remote", "set-head", "origin", "main")
    project.atlas("ann", "config", "set", "word_within", "0")
    return project


def there(project: Project, branch: str = "main") -> str:
    return project.ok("ls-remote", "origin", f"refs/heads/{branch}").partition("\t")[0]


def printed(stop: Result) -> str:
    """The one command that a stop prints."""
    line = re.search(r"then push again: git (atlas .*)", stop.err)
    assert line, stop
    words = shlex.split(line[1])
    assert words.count("atlas") == 1 and not {"&&", ";", "|"} & set(words), line[1]
    return line[1]


def shell(project: Project, line: str, who: str = "ann", **extra: str) -> Result:
    """Runs a line as a session's shell does, `atlas` on its PATH."""
    env = {**project.env, "ATLAS_SESSION": project.sessions[who], **extra}
    done = subprocess.run(
        ["sh", "-c", line], cwd=project.top, env=env, capture_output=True, text=True, timeout=60
    )
    return Result(done.returncode, done.stdout, done.stderr)


def as_printed(project: Project, stop: Result, who: str = "ann", **extra: str) -> Result:
    """Runs what a stop prints, in one call."""
    done = shell(project, printed(stop), who, **extra)
    assert done.code == 0, (printed(stop), done)
    return done


def test_a_push_without_a_word_stops_and_what_it_prints_clears_it(shared: Project) -> None:
    before = there(shared)
    shared.commit("src/x.py")
    done = shared("push", "-q", "origin", "main")
    assert (done.code, there(shared)) == (1, before)
    assert first(done).startswith(
        "atlas: stop 5 (write last): commits go to main of origin that no"
    )
    assert "your 1 commit, the oldest " in first(done)
    shared.atlas("bob", "status", "show"), shared.atlas("bob", *STATUS)  # others write meanwhile
    as_printed(shared, shared("push", "-q", "origin", "main"))
    shared.ok("push", "-q", "origin", "main")
    assert there(shared) == shared.ok("rev-parse", "main")
    shared.commit("src/x.py")
    assert shared("push", "-q", "origin", "main").code == 1, "each push wants its own"
    shared.atlas("ann", "status", "write", "--unchanged", "a typo")
    assert shared("push", "-q", "origin", "main").code == 1, "no commit is confirmed away"


def test_a_session_of_class_run_owes_its_word_like_any_other(shared: Project) -> None:
    begin = ("begin", "--new", "--class", "run", "--goal", "nightly", "--json")
    shared.sessions["run"] = run = str(shared.worker(*begin, cwd=shared.top).data["id"])
    shared.commit("src/x.py", who="run")
    stop = shared("push", "-q", "origin", "main", who="run")
    assert stop.code == 1 and "your 1 commit, the oldest " in first(stop)
    shared.atlas("ann", *STATUS)
    as_ann = ("--session", shared.sessions["ann"], "--json")
    digest = shared.worker(*as_ann, cwd=shared.top, env={**shared.env, **OVER})
    assert [(row["id"], row["owes"]) for row in digest.data["unfinished"]] == [(run, "1 commit")]
    assert f"{run}, which is over" in shared("push", "-q", "origin", "main", **OVER).err


def test_it_is_judged_by_what_the_branch_gains(shared: Project) -> None:
    """Also by way of a feature branch and a merge. Other branches, deletions and tags are free."""
    shared.ok("checkout", "-q", "-b", "feature")
    shared.commit("src/x.py")
    shared.ok("tag", "v1")
    shared.ok("push", "-q", "origin", "feature", "v1")
    shared.ok("push", "-q", "origin", "--delete", "v1")
    shared.ok("checkout", "-q", "main")
    shared.ok("merge", "-q", "--no-ff", "--no-edit", "feature")
    assert "write last" in first(shared("push", "-q", "origin", "main"))
    shared.atlas("bob", "config", "set", "integration", '["main", "other"]')
    assert "your 1 commit" in first(shared("push", "-q", "origin", "HEAD:other"))
    shared.atlas("ann", *STATUS)
    shared.ok("push", "-q", "origin", "main")
    shared.commit("src/y.py", who="bob")
    shared.atlas("bob", "status", "show"), shared.atlas("bob", *STATUS)
    assert shared("push", "-q", "origin", "HEAD:other").err == "", "main has ann's already"
    shared.atlas("bob", "config", "set", "integration", '["main", "release/*"]')
    shared.commit("src/z.py")
    assert "your 1 commit" in first(shared("push", "-q", "origin", "HEAD:release/1.0"))
    shared.ok("push", "-q", "origin", "HEAD:relief")
    shared.atlas("ann", "status", "write", "-m", "z.py, too")
    shared.ok("push", "-q", "origin", "HEAD:release/1.0")
    shared.commit("src/x.py")
    assert "your 1 commit" in first(shared("push", "-q", "origin", "HEAD:release/2.0"))


def test_the_quick_answer_passes_no_branch_that_a_pattern_may_mean() -> None:
    meant = {"main": {"main"}, "release/*": {"release/1.0", "release/"}, "*-ok": {"x-ok", "main"}}
    for name, branches in meant.items():
        for branch in ("main", "release/1.0", "release/", "relief", "x-ok"):
            assert branch not in branches or quick._may_be(branch, name)
    assert not quick._may_be("mainline", "main") and not quick._may_be("relief", "release/*")


def test_younger_debt_passes_with_a_line_and_leaves_a_mark(shared: Project, tmp_path: Path) -> None:
    shared.atlas("bob", "config", "set", "word_within", "45m")
    shared.commit("src/x.py")
    done = shared("push", "-q", "origin", "main")
    assert done.code == 0 and re.search(r"say by \d\d:\d\d what these commits did", done.err), done
    shown = shared.atlas("bob", "status", "show").out
    assert "pushed without a word" in shown and "change src/x.py [src/x.py]" in shown
    shared.ok("clone", "-q", str(tmp_path / "origin.git"), str(tmp_path / "clone"))
    other = shared.worker("-C", str(tmp_path / "clone"), "begin", "--actor", "eve", "--json")
    [mark] = other.data["pushed"]
    assert (mark["session"], mark["tip"], mark["commits"]) == (
        shared.sessions["ann"],
        shared.ok("rev-parse", "main"),
        1,
    )
    # Nor does it matter who ends the session, and how: it has happened without a word.
    assert shared.atlas("ann", "end", code=5).err.startswith("atlas: stop 5 (write last)")
    shared.atlas("ann", *STATUS)
    assert "pushed without" not in shared.atlas("bob", "status", "show").out
    shared.atlas("ann", "end")


def test_a_push_of_anothers_commit_leaves_a_mark_of_that_session(
    shared: Project, tmp_path: Path
) -> None:
    """A session that only commits is unfinished on every machine, whoever pushed: where the code is
    that was pushed, and where it is not."""
    shared.commit("src/x.py", who="bob")
    shared.commit("src/y.py")
    shared.atlas("ann", *STATUS)
    shared.ok("push", "-q", "origin", "main")
    clone, bob = tmp_path / "clone", shared.sessions["bob"]
    shared.ok("clone", "-q", str(tmp_path / "origin.git"), str(clone))
    begun = shared.worker("-C", str(clone), "begin", "--actor", "eve", "--json", env=OVER)
    assert [(row["id"], row["owes"]) for row in begun.data["unfinished"]] == [(bob, "1 commit")]
    [mark] = begun.data["pushed"]
    assert (mark["session"], mark["commits"], mark["paths"]) == (bob, 1, ["src/x.py"])
    argv = ("session", "adopt", bob, "--why", "w", "-m", "x.py, too", "--json")
    assert shared.worker("-C", str(clone), *argv, env=OVER).code == 0
    begun = shared.worker("-C", str(clone), "digest", "--json", env=OVER)
    assert begun.data["unfinished"] == begun.data["pushed"] == []
    shared.commit("src/x.py", who="ann")
    shared.ok("-c", "core.hooksPath=/dev/null", "push", "-q", "origin", "main")
    shared.ok("pull", "-q", cwd=str(clone))
    unmarked = shared.worker("-C", str(clone), "digest", "--json", env=OVER)
    assert [row["id"] for row in unmarked.data["unfinished"]] == [shared.sessions["ann"]]


def test_a_mark_counts_once_its_push_has_arrived(shared: Project, tmp_path: Path) -> None:
    shared.atlas("bob", "config", "set", "word_within", "45m")
    hook = tmp_path / "origin.git/hooks/update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\n[ "$1" != refs/heads/main ]\n')
    hook.chmod(0o755)
    shared.commit("src/x.py")
    assert shared("push", "-q", "origin", "main").code == 1
    for offset in ("0", "3700"):
        later = shared.worker("-C", str(shared.top), "status", env={"ATLAS_CLOCK_OFFSET": offset})
        assert "pushed without" not in later.out
    hook.unlink()
    shared.ok("push", "-q", "origin", "main")
    for offset in ("0", "3700"):
        later = shared.worker("-C", str(shared.top), "status", env={"ATLAS_CLOCK_OFFSET": offset})
        assert later.out.count("change src/x.py") == 1


def test_a_lease_of_another_lets_a_push_go_on_or_says_how_it_does(shared: Project) -> None:
    """Its holder has no ear but the store: a signal is what can be done."""
    shared.atlas("ann", "config", "set", "word_within", "45m")
    shared.atlas("bob", "lease", "take", "path:src", "--why", "w")
    bob = shared.sessions["bob"]
    tell = f"tell its holder what you changed: git atlas signal post dependency --for {bob} -m …"
    done = shared.commit("src/x.py")
    for what in ("commit", "push"):
        assert done.code == 0 and f"is held by {bob} for" in done.err
        assert (
            f"it does not stop this {what}: work on something else until then, or {tell}"
            in done.err
        )
        done = shared("push", "-q", "origin", "main")
    assert there(shared) == shared.ok("rev-parse", "main")
    shared.commit("src/y.py")
    policy(shared, leases="stop")
    done = shared("push", "-q", "origin", "main")
    assert (done.code, first(done)[:20]) == (1, "atlas: stop 4 (held)")
    assert f"push again once it is free (git atlas wait lease:path:src), or {tell}" in done.err
    shared.atlas("ann", "wait", "lease:path:src", "--timeout", "1s", code=4)
    shared.atlas("ann", "signal", "post", "dependency", "--for", bob, "-m", "src/x.py is changed")
    assert "src/x.py is changed" in shared.commit("src/x.py", who="bob").err


def test_one_stop_names_all_that_are_over_and_one_adoption_takes_them(shared: Project) -> None:
    shared.commit("src/x.py", who="bob")
    done = shared("push", "-q", "origin", "main")
    bob = shared.sessions["bob"]
    assert done.code == 0 and f"what they did: {bob}" in done.err
    shared.ok("reset", "-q", "--hard", "HEAD~")
    shared.ok("push", "-q", "--force", "origin", "main")
    begun = shared.worker("-C", str(shared.top), "begin", "--new", "--actor", "eve", "--json")
    shared.sessions["eve"] = begun.data["id"]
    shared.commit("src/x.py", who="bob"), shared.commit("src/y.py", who="eve")
    late = {"who": "dan", **OVER}
    begun = shared.worker(
        "-C", str(shared.top), "begin", "--new", "--actor", "dan", "--json", env=OVER
    )
    shared.sessions["dan"] = begun.data["id"]
    assert {row["id"] for row in begun.data["unfinished"]} == {bob, shared.sessions["eve"]}, (
        "sessions that only committed"
    )
    shared.commit("docs/page.md", **late)
    done = shared("push", "-q", "origin", "main", **late)
    assert first(done).startswith("atlas: stop 5 (write last)") and "which are over" in first(done)
    assert "your 1 commit" in first(done)
    assert printed(done).count("session adopt") == 1
    as_printed(shared, done, "dan", **OVER)
    shared.ok("push", "-q", "origin", "main", **late)


CONCERNING = {
    "about the same file": ("--section", "Bob's", "--on", "src/x.py"),
    "addressed to all": ("--section", "Bob's", "--for", "all"),
    "addressed to it": ("--section", "Bob's", "--for", "SESSION"),
    "a warning": ("--section", "Bob's", "--on", "src/x.py", "--warn", "the parser is broken"),
    "over its own section": ("--section", "what ann does"),
    "the whole": ("--replace",),
}


@pytest.mark.parametrize(
    ("when", "how"),
    [
        (when, how)
        for when in ("before", "between", "both")
        for how in CONCERNING
        if (when, how) != ("both", "addressed to all")  # (once an hour)
    ],
)
def test_what_the_stop_prints_works_whatever_others_write_meanwhile(
    how: str, when: str, shared: Project
) -> None:
    """Before the stop, and between the stop and the call. No text is lost, and it is told."""
    words = [
        word.replace("SESSION", f"session:{shared.sessions['ann']}") for word in CONCERNING[how]
    ]

    def bob(text: str) -> None:
        shared.atlas("bob", "status", "show")
        done = shared.worker(
            "-C",
            str(shared.top),
            "--session",
            shared.sessions["bob"],
            "status",
            "write",
            "-m",
            text,
            *words,
        )
        assert done.code == 0, done

    shared.commit("src/x.py")
    if when != "between":
        bob("bob wrote this before the stop")
    stop = shared("push", "-q", "origin", "main")
    for _ in range(3):
        if "then push again" in stop.err:
            break
        stop = shared("push", "-q", "origin", "main")
    if when != "before":
        bob("bob wrote this after the stop")
    said = as_printed(shared, stop)
    body = shared.atlas("ann", "status", "show").out
    assert "what is done, what is open" in body
    assert "bob wrote this" in body and (
        when == "before" or "after the stop" in said.out + said.err
    )
    shared.ok("push", "-q", "origin", "main")
    assert there(shared) == shared.ok("rev-parse", "main")


def test_only_the_word_that_was_asked_for_is_not_stopped(shared: Project) -> None:
    shared.commit("src/x.py")
    as_printed(shared, shared("push", "-q", "origin", "main"))
    bobs = ("status", "write", "--section", "Bob's", "--on", "src/x.py", "-m")
    words = ("status", "write", "--on", "src/x.py", "-m", "the next one")
    shared.atlas("bob", "status", "show"), shared.atlas("bob", *bobs, "bob's")
    assert "version jump" in shared.atlas("ann", *words, code=3).err
    shared.commit("src/x.py"), shared("push", "-q", "origin", "main")
    shared.atlas("bob", *bobs, "again")
    done = shared.worker(
        "-C",
        str(shared.top),
        "--session",
        shared.sessions["ann"],
        *words,
        env={"ATLAS_CLOCK_OFFSET": "3700"},
    )
    assert done.code == 3, done
    shared.atlas("ann", "status", "write", "--replace", "-m", "over all of it", code=3)


def test_of_several_that_are_over_one_may_be_taken_care_of_meanwhile(shared: Project) -> None:
    """Taken over by another, or back at work, between the stop and the call."""
    for name in ("eve", "fay", "dan"):
        env = OVER if name == "dan" else {}
        argv = ("begin", "--new", "--actor", name, "--goal", f"what {name} does", "--json")
        shared.sessions[name] = shared.worker("-C", str(shared.top), *argv, env=env).data["id"]
    for name in ("bob", "eve", "fay"):
        shared.commit(f"src/{name}.py", who=name)
    shared.commit("docs/page.md", who="dan", **OVER)
    stop = shared("push", "-q", "origin", "main", who="dan", **OVER)
    line = printed(stop)
    assert all(shared.sessions[name] in line for name in ("bob", "eve", "fay")), stop
    begin = ("begin", "--new", "--actor", "gil", "--goal", "what gil does", "--json")
    shared.sessions["gil"] = shared.worker("-C", str(shared.top), *begin, env=OVER).data["id"]
    taken = shell(shared, f"atlas session adopt {shared.sessions['bob']} --why w", "gil", **OVER)
    assert taken.code == 0, taken
    alive = {"ATLAS_CLOCK_OFFSET": str(2 * 3600)}
    back = shell(
        shared,
        "atlas decision add --title t --recommended a --chosen a --stance agreed --why w",
        "eve",
        **alive,
    )
    assert back.code == 0, back
    done = as_printed(shared, stop, "dan", **OVER)
    assert done.err.count("passed over: ") == 2, done
    row = shared.worker("-C", str(shared.top), "session", "show", shared.sessions["fay"], "--json")
    assert row.data["adopted_by"] == shared.sessions["dan"]
    pushed = shared("push", "-q", "origin", "main", who="dan", **OVER)
    at_work = ", ".join(shared.sessions[name] for name in ("eve", "gil"))
    assert (
        pushed.code == 0 and f"that have not said for long what they did: {at_work}" in pushed.err
    )


def test_one_that_is_over_is_taken_over_with_a_word_where_nothing_is_owed_oneself(
    shared: Project,
) -> None:
    shared.commit("src/x.py", who="bob")
    begin = ("begin", "--new", "--actor", "dan", "--goal", "what dan does", "--json")
    shared.sessions["dan"] = shared.worker("-C", str(shared.top), *begin, env=OVER).data["id"]
    stop = shared("push", "-q", "origin", "main", who="dan", **OVER)
    assert printed(stop).startswith(f"atlas session adopt {shared.sessions['bob']} --why 'its ")
    as_printed(shared, stop, "dan", **OVER)
    again = shell(shared, printed(stop), "dan", **OVER)
    assert again.code == 0 and "passed over" in again.err, "twice does no harm"
    shared.ok("push", "-q", "origin", "main", who="dan", **OVER)
    words = (
        "session",
        "adopt",
        shared.sessions["bob"],
        "--why",
        "w",
        "-m",
        "t",
        "--operation",
        "x1",
    )
    assert shared.atlas("ann", *words, code=2).err
    assert shared.atlas("ann", *words[:5], code=6).err, "without a word it is refused as before"


def test_a_pusher_without_a_session_gets_one_line(shared: Project) -> None:
    shared.commit("src/x.py")
    nobody = {"who": "nobody", "CODEX_THREAD_ID": "x"}
    shared.commit("src/y.py", "--no-verify", **nobody)
    done = shared("push", "-q", "origin", "main", **nobody)
    assert done.code == 0 and done.err.count("notice: ") == 1, done
    shared.ok("commit", "-q", "--allow-empty", "-m", "by hand", "--no-verify", **nobody)
    assert shared("push", "-q", "origin", "main").err == "", "nobody's commits owe nothing"
    policy(shared, write_last="off")
    shared.commit("src/x.py")
    shared.ok("push", "-q", "origin", "main")


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
    before = there(shared, "atlas")
    shared.commit("src/x.py")
    shared.atlas("ann", *STATUS)
    assert there(shared, "atlas") == before
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

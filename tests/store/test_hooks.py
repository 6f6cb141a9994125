"""The commit preconditions through real git: each stop with its code, name and next step, and that
this clears it."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from atlas_cli.hooks import NAMES, cache
from atlas_cli.hooks.cache import HookCache
from atlas_cli.hooks.handlers import HOOKS
from atlas_cli.model import names

from ..conftest import NOTEBOOK, ROOT, Result
from .hooked import Project, install

STATUS = ("status", "write", "-m", "two", "--replace")
TO_ALL = ("signal", "post", "alert", "--for", "all", "-m", "two")
ALERT = ("signal", "post", "alert", "--about", "src/x.py", "-m", "do not run x.py")


def first(done: Result) -> str:
    """The first line that Atlas says."""
    return next(line for line in done.err.splitlines() if line.startswith("atlas:"))


def hint(done: Result, pattern: str) -> list[str]:
    """The words of the next step that a stop prints."""
    found = re.search(pattern, done.err)
    assert found, done.err
    return shlex.split(found[1])


def policy(project: Project, **levels: str) -> None:
    project.atlas("bob", "config", "set", "preconditions", json.dumps(levels))


def last(project: Project) -> int:
    """Entries of main that there are."""
    return int(project.worker("-C", str(project.top), "status", "--json").data["number"])


def test_every_hook_that_is_put_in_is_answered() -> None:
    assert tuple(HOOKS) == NAMES


def test_a_commit_on_a_fresh_cache_passes_and_is_signed(project: Project) -> None:
    assert project.commit("src/x.py") == Result(0, "", "")
    assert project.trailers() == project.signs()


def test_read_first_prints_what_concerns_the_commit_and_the_same_command_passes(
    project: Project,
) -> None:
    project.atlas("bob", *STATUS)
    done = project.commit("src/y.py")
    assert (done.code, "the status moved on: 1 section, none on your files" in done.err) == (
        0,
        True,
    )
    assert project.commit("src/y.py").err == "", "it is counted once"
    assert project.trailers() == project.signs("ann", 2)
    project.atlas("bob", *ALERT)
    done = project.commit("src/x.py")
    assert (done.code, first(done)[:35]) == (1, "atlas: stop 5 (read first): signal:")
    assert "│ alert: do not run x.py" in done.err
    assert "on src/x.py" in done.err
    assert "run the same git command again" in done.err
    project.ok("commit", "-qm", "change")
    assert project.commit("src/x.py").err == ""
    project.atlas(
        "ann", "status", "write", "--replace", "-m", "mine", code=3
    )  # counted is not read: it cannot be superseded unread


def test_without_a_session_the_stop_names_how_to_begin(project: Project) -> None:
    done = project.commit("src/x.py", who="nobody", CODEX_THREAD_ID="another tool")
    assert first(done).startswith("atlas: stop 5 (no session): ")
    words = hint(done, r"(atlas begin --goal \"[^\"]+\")")
    env = {**project.env, "CODEX_THREAD_ID": "another tool"}
    subprocess.run(
        [sys.executable, "-m", "atlas_cli", *words[1:]],
        cwd=project.top,
        env=env,
        check=True,
        capture_output=True,
    )
    assert project("commit", "-qm", "x", who="nobody", CODEX_THREAD_ID="another tool").code == 0
    project.write("src/x.py", "gone")
    named = project("commit", "-qam", "x", ATLAS_SESSION="ann-261129-aaaaaa")
    assert first(named).startswith(
        "atlas: stop 5 (no session): there is no session ann-261129-aaaaaa"
    )
    assert "unset ATLAS_SESSION && git atlas begin" in named.err
    assert "stop 5 (no session): 'nonsense' is no session id" in first(
        project("commit", "-qam", "x", ATLAS_SESSION="nonsense")
    )


def test_a_person_without_a_session_is_told_in_one_line(project: Project) -> None:
    project.atlas("bob", "lease", "take", "path:src/x.py", "--why", "w")
    del project.env["CODEX_THREAD_ID"]
    for path, line in (("src/x.py", "is held by bob-"), ("src/y.py", "atlas begin --person")):
        done = project.commit(path, who="nobody")
        assert done.code == 0 and done.err.count("\n") == 1 and line in done.err, done
    assert project.commit("src/y.py", who="nobody", CLAUDECODE="1").code == 1
    assert project.commit("src/y.py", who="nobody", ATLAS_SESSION="bob-261129-aaaaaa").code == 1


def test_a_person_has_a_standing_session(project: Project) -> None:
    project.atlas("ann", "config", "set", "unattended", "stop")
    person = {key: value for key, value in project.env.items() if key != "CODEX_THREAD_ID"}
    project.env = person
    done = project.commit("src/x.py", who="nobody")
    words = hint(done, r"(atlas begin --person)")

    def atlas(*args: str, **extra: str) -> Result:
        found = subprocess.run(
            [sys.executable, "-m", "atlas_cli", *args],
            cwd=project.top,
            env={**person, **extra},
            capture_output=True,
            text=True,
        )
        return Result(found.returncode, found.stdout, found.stderr)

    assert atlas(*words[1:]).code == 0
    project.ok("commit", "-qm", "x", who="nobody")
    mine = project.trailers()[0].removeprefix("Atlas-Session: ")
    assert atlas("begin", "--person", "--json").data["id"] == mine, "one in a clone"
    project.ok("worktree", "add", "-q", "../linked")
    assert project.commit("src/x.py", who="nobody", cwd="../linked").code == 0
    assert project.trailers(cwd="../linked")[0] == f"Atlas-Session: {mine}"
    # Two weeks later it still stands, and only in the hands of a person.
    later = {"ATLAS_CLOCK_OFFSET": str(14 * 86400)}
    assert atlas("lease", "take", "gpu0", "--why", "w", **later).code == 0
    assert atlas("begin", "--person", CLAUDECODE="1").code == 6
    assert atlas("lease", "take", "gpu1", "--why", "w", "--session", mine, CLAUDECODE="1").code == 5
    done = project.commit("src/y.py", who="nobody", ATLAS_SESSION=mine, CLAUDECODE="1")
    assert "no session" in first(done)
    assert atlas("begin", "--json").data["id"] != mine, "who begins without --person is another"


def test_the_view_never_gets_into_a_commit(project: Project) -> None:
    project.ok("add", "-f", ".atlas/AS-OF")
    done = project("commit", "-qm", "x")
    assert first(done).startswith("atlas: error (view): .atlas/AS-OF is a view of the store")
    project.ok(*hint(done, r"git (rm .*\.atlas)"))
    project.write("src/x.py", "new")
    project.ok("commit", "-qam", "x")
    assert (project.top / ".atlas/AS-OF").exists()


PATHS = {
    "the file": ("path:src/x.py", "src/x.py", True),
    "its folder": ("path:src", "src/x.py", True),
    "not component-wise": ("path:sr", "src/x.py", False),
    "a longer name": ("path:src/x", "src/x.py", False),
    "beside": ("path:docs", "src/x.py", False),
    "all": ("repo:run", "src/x.py", True),
    "a pattern": ("glob:src/*.py", "src/x.py", True),
    "another pattern": ("glob:src/*.txt", "src/x.py", False),
    "brackets are literal": ("path:src/[id]/p.ts", "src/[id]/p.ts", True),
    "brackets match nothing": ("path:src/[id]/p.ts", "src/i/p.ts", False),
    "not plain": ("path:src/ä b/ü.py", "src/ä b/ü.py", True),
}


@pytest.mark.parametrize("case", PATHS)
def test_a_lease_of_another_lies_on_exactly_its_paths(case: str) -> None:
    resource, path, held = PATHS[case]
    text = f"{cache.FORMAT}\nhead\tx\t0\t9\nlease\t{resource}\tbob\t9\nend"
    near = cache.HookCache(text).near([path], {"ann"})
    assert any(names.overlap(found, f"path:{one}") for found, one in near) == held
    assert cache.HookCache(text).near([path], {"ann", "bob"}) == []


@pytest.mark.parametrize("case", ["its folder", "brackets are literal", "a pattern"])
def test_a_lease_of_another_stops_a_commit(case: str, project: Project) -> None:
    resource, path, _ = PATHS[case]
    policy(project, leases="stop")
    project.atlas("bob", "lease", "take", resource, "--why", "the great move")
    done = project.commit(path)
    assert first(done).startswith(
        f"atlas: stop 4 (held): {path}: {resource} is held by {project.sessions['bob']}"
    )
    assert "the great move" in first(done)
    project.ok(*hint(done, r"git (restore --staged -- .*) \(with"))
    project.ok("commit", "-qm", "the rest", "--allow-empty")
    assert project.commit(path, who="bob").code == 0


def test_leases_warn_by_default_and_lineage_is_no_other(project: Project) -> None:
    project.atlas("bob", "lease", "take", "path:src", "--why", "w")
    done = project.commit("src/x.py")
    assert done.code == 0
    assert f"path:src is held by {project.sessions['bob']}" in done.err
    child = project.worker(
        "-C", str(project.top), "begin", "--parent", project.sessions["bob"], "--json"
    ).data["id"]
    project.sessions["child"] = child
    assert project.commit("src/x.py", who="child").err == ""
    policy(project, leases="off")
    assert project.commit("src/x.py").err == ""


def test_a_child_that_names_itself_nowhere_is_told_how(project: Project) -> None:
    begun = project.worker(
        "-C", str(project.top), "begin", "--parent", project.sessions["bob"], "--json"
    )
    child = project.sessions["child"] = begun.data["id"]
    done = project.commit("src/x.py", who="nobody", CODEX_THREAD_ID="another tool")
    assert first(done).startswith("atlas: stop 5 (no session): ")
    named = f"if you are {child}: put ATLAS_SESSION={child} before the git command"
    assert named in done.err
    project.ok("commit", "-qm", "a part", who="child")
    assert f"Atlas-Session: {child}" in project.trailers()


def test_the_next_commit_of_a_session_that_was_adopted_stops_once(project: Project) -> None:
    project.atlas("bob", "config", "set", "principals", '["bob"]')
    project.atlas("bob", "session", "adopt", project.sessions["ann"], "--why", "it is mine now")
    done = project.commit("src/x.py")
    assert first(done).startswith("atlas: stop 5 (adopted): ")
    assert "it is mine now" in done.err and "atlas begin --goal" in done.err
    done = project("commit", "-qm", "the same command again")
    assert (done.code, project.trailers()) == (0, [])
    assert "no session makes this commit: " in done.err and done.err.count("\n") == 1
    assert project.commit("src/y.py").code == 0
    project.atlas("ann", "lease", "take", "gpu0", "--why", "w", code=5)


def test_a_file_that_another_in_the_same_folder_has_named_is_told_once(project: Project) -> None:
    bob = project.sessions["bob"]
    task = project.atlas("bob", "task", "add", "the page", "--on", "docs/page.md", "--json").data[
        "id"
    ]
    project.atlas("bob", "begin", "--on", "src/x.py"), project.atlas("bob", "task", "claim", task)
    project.worker("-C", str(project.top), "begin", "--new", "--actor", "eve")  # (begun here)
    begun = project.atlas("ann", "begin", "--on", "src/y.py").out
    assert "other live sessions (1 in this folder: git status may show their files" in begun
    project.write("docs/page.md", "bob's"), project.write("src/x.py", "bob's")
    project.ok("add", ".")
    done = project.commit("src/y.py")
    told = f"docs/page.md and 1 more: named by {bob}, at work in this folder"
    assert (done.code, told in done.err) == (0, True)
    assert project.commit("src/x.py").err == "", "once"
    assert project.commit("src/y.py", who="bob").err.count("at work in this folder") == 1
    project.atlas("bob", "begin", "--on", "src/y.py")
    assert project.commit("src/y.py", who="bob").err == ""


def test_both_sides_of_a_rename_deletions_and_modes_count(project: Project) -> None:
    policy(project, leases="stop", links="off")
    project.atlas("bob", "lease", "take", "path:src/x.py", "--why", "w")
    project.ok("mv", "src/x.py", "src/z.py")
    assert "stop 4" in first(project("commit", "-qm", "renamed away"))
    project.ok("reset", "-q", "--hard")
    project.ok("rm", "-q", "src/x.py")
    assert "stop 4" in first(project("commit", "-qm", "deleted"))
    project.ok("reset", "-q", "--hard")
    (project.top / "src/x.py").chmod(0o755)
    assert "stop 4" in first(project("commit", "-qam", "mode"))


def test_a_gitlink_counts_as_its_path(project: Project) -> None:
    policy(project, leases="stop")
    project.atlas("bob", "lease", "take", "path:vendor/lib/file.c", "--why", "w")
    project.ok(
        "update-index",
        "--add",
        "--cacheinfo",
        f"160000,{project.ok('rev-parse', 'HEAD')},vendor/lib",
    )
    assert "vendor/lib" in first(project("commit", "-qm", "the submodule"))


def test_what_relies_on_a_retracted_record_warns_or_stops(project: Project) -> None:
    project.atlas("bob", "artifact", "put", "facts", str(project.top / "src/x.py"))
    project.atlas(
        "ann",
        "artifact",
        "put",
        "plan",
        str(project.top / "src/y.py"),
        "--relies-on",
        "artifact:facts@1",
    )
    assert project.commit("src/x.py").err == ""
    project.atlas("bob", "correct", "artifact:facts@1", "--retract", "--why", "measured wrongly")
    done = project.commit("src/z.py")
    assert "artifact:facts@1, on which yours relies, was retracted" in done.err
    assert first(done).startswith("atlas: stop 5 (read first): correction:")
    done = project.commit("src/z.py")
    assert (done.code, "artifact:plan@1 relies on artifact:facts@1" in done.err) == (0, True)
    policy(project, retracted="stop")
    done = project.commit("src/x.py")
    assert first(done).startswith("atlas: stop 5 (retracted): ")
    project.atlas("ann", *hint(done, r"atlas (correct \S+ --why )"), "rests on a wrong measurement")
    project.ok("commit", "-qm", "x")


def test_streams_of_a_monorepo_are_judged_by_the_paths(project: Project) -> None:
    project.atlas("bob", "config", "set", "streams", '{"api": ["src/**"]}')
    project.atlas("bob", "status", "write", "api", "-m", "the api")
    done = project.commit("docs/page.md")
    assert (done.code, "1 section, none on your files" in done.err) == (0, True)
    assert project.trailers() == project.signs()
    assert project.commit("src/x.py").code == 0
    assert [line.partition("~")[0] for line in project.trailers()][1:2] == ["Atlas-Read: api@1"]


def test_a_precondition_can_warn_or_be_off(project: Project) -> None:
    policy(project, read_first="warn")
    project.atlas("bob", *ALERT)
    done = project.commit("src/x.py")
    assert (done.code, "do not run x.py" in done.err) == (0, True)
    assert project.commit("src/x.py").err == "", "printed is told"
    project.atlas("bob", *ALERT)
    policy(project, read_first="off")
    assert project.commit("src/x.py").err == ""
    assert project.commit("src/x.py", who="nobody", CODEX_THREAD_ID="none").err == ""
    project.atlas("bob", "config", "set", "preconditions", '{"read_first": "sometimes"}', code=2)


def test_without_a_store_or_a_repository_of_atlas_it_is_silent(
    project: Project, tmp_path: Path
) -> None:
    (project.top / ".git/atlas").rename(tmp_path / "aside")
    assert project.commit("src/x.py", who="nobody") == Result(0, "", "")
    assert "Atlas" not in project.message()


def test_a_failure_of_atlas_itself_stops_nobody(project: Project) -> None:
    (project.top / ".git/atlas/store.git/refs/heads/atlas").write_text("nonsense\n")
    done = project.commit("src/x.py")
    assert done.code == 0
    assert "unjudged" in done.err


def test_the_quick_answer_comes_from_the_cache_alone(project: Project, tmp_path: Path) -> None:
    """A passing hook starts nothing but one git; were the cache not to say so, this would stop
    it."""
    assert project.commit("src/x.py").code == 0  # draws the cache
    broken = tmp_path / "site"
    broken.mkdir()
    text = (project.top / ".git/hooks/pre-commit").read_text()
    for name in ("pre-commit", "prepare-commit-msg", "commit-msg"):
        (project.top / ".git/hooks" / name).write_text(
            text.replace("exec ", "exec env PATH=" + str(fake_git(tmp_path)) + " ").replace(
                "pre-commit", name
            )
        )
    assert project.commit("src/x.py").code == 0
    assert (tmp_path / "calls").read_text().split("\n") == ["diff-index", ""]
    project.atlas("bob", "lease", "take", "path:docs", "--why", "the head moves")
    assert project.commit("src/x.py").code == 0
    assert (tmp_path / "calls").read_text().count("\n") == 2, "whoever moved the head drew it anew"


def test_a_message_in_an_editor_and_a_merge_are_answered_quickly_too(
    project: Project, tmp_path: Path
) -> None:
    """By a program of which no more is there than the quick answer needs."""
    lonely = tmp_path / "lonely/atlas_cli"
    shutil.copytree(ROOT / "atlas_cli", lonely, ignore=shutil.ignore_patterns("__pycache__"))
    (lonely / "main.py").unlink()
    project.ok("checkout", "-q", "-b", "side"), project.commit("docs/page.md")
    project.ok("rm", "-q", "src/y.py"), project.ok("commit", "-qm", "gone")
    project.ok("checkout", "-q", "-b", "other", "main"), project.commit("docs/page.md")
    project.ok("checkout", "-q", "main"), project.commit("src/x.py")
    install(project.top, program=lonely / "hook.py")
    typed = {"GIT_EDITOR": 'f() { printf "typed\n# no\n" > "$1"; }; f'}

    def quiet(*args: str, **extra: str) -> None:
        done = project(*args, **extra)
        assert (done.code, done.err) == (0, ""), (args, done)

    project.write("src/x.py", "in an editor\n")
    quiet("commit", "-qa", **typed)
    assert project.message() == "typed\n\n" + "\n".join(project.signs())
    project.write("src/x.py", "a message and an editor\n")
    quiet("commit", "-qa", "-e", "-m", "told", **{"GIT_EDITOR": "true"})
    assert project.message() == "told\n\n" + "\n".join(project.signs())
    quiet("merge", "-q", "--no-ff", "--no-edit", "side")
    assert project.trailers() == project.signs()
    assert project("merge", "-q", "other").code == 1, "both have changed the page"
    project.write("docs/page.md", "of both\n"), project.ok("add", ".")
    quiet("commit", "-q", "--no-edit")
    assert project.trailers() == project.signs() and "Merge branch" in project.message()


def test_a_merge_brings_in_what_meets_nothing_or_is_looked_at_closely(project: Project) -> None:
    """A quick answer judges by more than the merge changes itself."""
    project.atlas("ann", "config", "set", "preconditions", '{"leases": "stop"}')
    project.ok("checkout", "-q", "-b", "side"), project.commit("docs/page.md")
    project.ok("checkout", "-q", "main"), project.commit("src/x.py")
    project.atlas("bob", "lease", "take", "path:docs", "path:src/x.py", "--why", "w")
    project.ok("merge", "-q", "--no-ff", "--no-edit", "side")
    project.ok("checkout", "-q", "-b", "again", "HEAD~", "--")
    project.write("docs/page.md", "both have changed it\n"), project.ok("add", ".")
    project.ok("commit", "-qm", "x", "--no-verify", who="bob")
    assert project("merge", "-q", "side").code == 1
    project.write("docs/page.md", "put together\n"), project.ok("add", ".")
    done = project("commit", "-q", "--no-edit")
    assert done.code == 1 and "path:docs is held by" in done.err


@pytest.fixture
def by_hand(project: Project) -> Project:
    """The store's branch as a branch of the user's, and what stops each commit of ann's in
    `inbox/`."""
    project.atlas("ann", "config", "set", "preconditions", '{"leases": "stop"}')
    project.atlas("bob", "lease", "take", "path:inbox", "--why", "w")
    store = str(project.top / ".git/atlas/store.git")
    project.ok("fetch", "-q", store, "atlas:atlas", "atlas:hand")
    project.ok("worktree", "add", "-q", "../notes", "hand")
    assert project.commit("inbox/x.md").code == 1, "a commit of code is stopped"
    project.ok("reset", "-q", "--hard")
    return project


@pytest.mark.parametrize("where", ["checkout", "worktree"])
def test_a_commit_on_the_stores_own_branch_is_none_of_the_code(
    where: str, by_hand: Project, tmp_path: Path
) -> None:
    cwd = "." if where == "checkout" else "../notes"
    if where == "checkout":
        by_hand.ok("checkout", "-q", "atlas")
    typed = {"GIT_EDITOR": 'f() { echo typed > "$1"; }; f'}
    acts: list[tuple[tuple[str, ...], dict[str, str]]] = [
        (("commit", "-qm", "a note"), {}),
        (("commit", "-qm", "a note", "--no-verify"), {}),
        (("commit", "-q"), typed),
    ]

    def quiet(*args: str, **extra: str) -> None:
        done = by_hand(*args, cwd=cwd, **extra)
        assert (done.code, done.err) == (0, ""), (args, done)

    for number, (args, extra) in enumerate(acts):
        by_hand.write(f"inbox/2026-11-29 note {number}.md", "a note\n", cwd)
        by_hand.ok("add", "inbox", cwd=cwd)
        quiet(*args, **extra)
    quiet("commit", "-q", "--amend", "--no-edit")
    quiet("rebase", "-q", "--force-rebase", "HEAD~1")
    tip = by_hand.ok("rev-parse", "HEAD", cwd=cwd)
    quiet("reset", "-q", "--hard", "HEAD~1"), by_hand.ok("cherry-pick", tip, cwd=cwd)
    assert "Atlas-" not in by_hand.ok("log", "--format=%B", "-n3", cwd=cwd)
    store = str(by_hand.top / ".git/atlas/store.git")
    by_hand.ok("init", "-q", "--bare", str(tmp_path / "origin.git"))
    by_hand.ok("remote", "add", "origin", str(tmp_path / "origin.git"))
    quiet("push", "-q", "origin", "HEAD:main")
    quiet("push", "-q", store, "HEAD:atlas")
    assert by_hand.atlas("ann", "verify", "--full").code == 0
    assert by_hand.atlas("ann", "log", "--kind", "inbox", "--json").data["total"] == 3


def test_what_only_looks_like_the_stores_branch_is_code(by_hand: Project) -> None:
    """A file of that name, a branch of that name, and a history that was merged into the code."""

    def judged() -> None:
        assert by_hand.commit("src/x.py").code == 0 and by_hand.trailers() == by_hand.signs()
        assert by_hand.commit("inbox/x.md").code == 1
        by_hand.ok("reset", "-q", "--hard")

    by_hand.write("atlas.yaml", "store: of the project's own\n"), by_hand.ok("add", ".")
    by_hand.ok("commit", "-qm", "a file"), judged()
    by_hand.ok("branch", "-q", "-M", "atlas", "was")
    by_hand.ok("checkout", "-q", "-b", "atlas"), judged()
    by_hand.ok("rm", "-q", "atlas.yaml"), judged()
    by_hand.ok("merge", "-q", "--allow-unrelated-histories", "--no-edit", "hand")
    assert (by_hand.top / "leases").exists() and (by_hand.top / "atlas.yaml").exists()
    judged()


def test_the_stores_commits_are_no_work_of_their_sessions(by_hand: Project) -> None:
    """As they would be if each branch of the user's held code."""
    by_hand.atlas("ann", "lease", "take", "gpu0", "--why", "w")
    store = str(by_hand.top / ".git/atlas/store.git")
    by_hand.ok("fetch", "-q", store, "+atlas:atlas")
    rows = by_hand.atlas("ann", "who", ".", "--json").data["items"]
    assert [row["text"] for row in rows if row["what"].startswith("commit")] == ["first"]
    by_hand.atlas("ann", "end")


def fake_git(folder: Path) -> Path:
    """A folder with a git that notes each call."""
    (folder / "bin").mkdir(exist_ok=True)
    real = subprocess.run(["which", "git"], capture_output=True, text=True).stdout.strip()
    (folder / "bin/git").write_text(f'#!/bin/sh\necho "$1" >> {folder}/calls\nexec {real} "$@"\n')
    (folder / "bin/git").chmod(0o755)
    return folder / "bin"


@pytest.mark.parametrize(
    "spoilt", ["", f"{cache.FORMAT}\nend", "atlas-hooks 1\nhead\tx\nend", "half"]
)
def test_a_spoilt_cache_is_drawn_anew(spoilt: str, project: Project) -> None:
    assert project.commit("src/x.py").code == 0
    file = project.top / ".git/atlas" / cache.FILE
    good = file.read_text()
    file.write_text(spoilt or good[: len(good) // 2])
    assert project.commit("src/x.py").code == 0
    drawn, before = HookCache(file.read_text()), HookCache(good)
    assert drawn.sessions.keys() == before.sessions.keys()
    for id, session in drawn.sessions.items():
        assert session.until >= before.sessions[id].until, "each commit is a sign of life"
        session.until = before.sessions[id].until
        assert vars(session) == vars(before.sessions[id])
    assert (drawn.streams, drawn.levels, drawn.begun) == (
        before.streams,
        before.levels,
        before.begun,
    )


def test_sixty_thousand_paths(project: Project) -> None:
    project.atlas("bob", "lease", "take", "path:big/59999", "glob:big/*.txt", "--why", "w")
    blob = project.ok("hash-object", "-w", "--stdin")
    lines = "".join(f"100644 {blob} 0\tbig/{n}\n" for n in range(60_000))
    assert project("update-index", "--index-info", data=lines.encode()).code == 0
    done = project("commit", "-qm", "many")
    assert (done.code, "big/59999" in done.err) == (0, True)


def test_from_a_subfolder_and_through_a_link_it_is_one_path(project: Project) -> None:
    policy(project, leases="stop")
    (project.top / "link").symlink_to("src")
    for resource in ("path:./src/../src/x.py", f"path:{project.top}/src/x.py", "path:link/x.py"):
        project.atlas("bob", "lease", "take", resource, "--why", "w")
        project.write("src/x.py", resource)
        project.ok("add", "x.py", cwd="src")
        assert "path:src/x.py is held" in first(project("commit", "-qm", "x", cwd="src")), resource
        project.atlas("bob", "lease", "release", "path:src/x.py")


def test_hooks_in_any_place_see_the_same(project: Project, tmp_path: Path) -> None:
    """Another git directory and work tree, named to git by the caller."""
    project.atlas("bob", *ALERT)
    project.write("src/x.py", "new")
    where = {"GIT_DIR": str(project.top / ".git"), "GIT_WORK_TREE": str(project.top)}
    os.chdir(tmp_path)
    done = project("commit", "-qam", "x", cwd="..", **where)
    assert "stop 5 (read first)" in first(done)
    project.ok("commit", "-qam", "x", cwd="..", **where)
    assert project.trailers() == project.signs("ann", 1)


def test_nothing_of_python_is_taken_from_the_project(project: Project) -> None:
    """The interpreter is isolated: no module of the project, no variable of the caller's."""
    for name in ("os.py", "time.py", "atlas_cli.py", "sitecustomize.py"):
        project.write(name, "raise SystemExit('taken')\n")
    project.ok("add", ".")
    assert (
        project("commit", "-qm", "x", PYTHONPATH=str(project.top), PYTHONSTARTUP="x.py").code == 0
    )
    assert project.trailers() == project.signs()
    assert (ROOT / "atlas_cli/hook.py").exists()


def test_a_move_that_leaves_links_behind_stops_with_the_corrected_line(project: Project) -> None:
    project.write("docs/page.md", "see [the code](../src/x.py)\nand [nothing](gone.md)\n")
    project.ok("add", ".")
    project.ok("commit", "-qm", "links, one of them dead")
    project.ok("mv", "src/x.py", "src/new.py")
    for form in ((), ("-a",), ("--", "src/x.py", "src/new.py")):
        done = project("commit", "-qm", "moved", *form)
        assert first(done).startswith(
            "atlas: stop 5 (links): docs/page.md:1: this commit breaks the link to ../src/x.py"
        )
        assert "see [the code](../src/new.py)" in done.err
        assert "gone.md" not in done.err, "what was dead before is nobody's"
    words = hint(done, r"atlas (links --fix) &&")
    env = {**project.env, "ATLAS_SESSION": project.sessions["ann"]}
    subprocess.run(
        [sys.executable, "-m", "atlas_cli", *words],
        cwd=project.top,
        env=env,
        check=True,
        capture_output=True,
    )
    project.ok(*hint(done, r"&& git (add -- \S+)"))
    project.ok("commit", "-qm", "moved")
    project.ok("rm", "-q", "src/new.py")
    assert "leads to something deleted" in project("commit", "-qm", "deleted").err
    policy(project, links="warn")
    project.ok("commit", "-qm", "deleted")


def test_no_record_can_put_a_line_into_the_cache() -> None:
    evil = "path:x\t9\nlevel\tread_first\toff\r%0a"
    text = "\n".join(
        [cache.FORMAT, cache.line("head", "h", 0, 9), cache.line("lease", evil, "b\tc", 9), "end"]
    )
    found = cache.HookCache(text)
    assert (found.leases, found.levels) == ([(evil, "b\tc", 9)], {})


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("main.py", None, "cannot be loaded"),
        ("hooks/quick.py", None, "quick"),
        ("hooks/findings.py", "(", "cannot be loaded"),
        ("hooks/draw.py", "draw = None", "TypeError"),
    ],
)
def test_an_atlas_that_is_broken_or_half_there_says_so_and_stops_nobody(
    project: Project, tmp_path: Path, file: str, text: str | None, said: str
) -> None:
    lonely = tmp_path / "lonely/atlas_cli"
    shutil.copytree(ROOT / "atlas_cli", lonely, ignore=shutil.ignore_patterns("__pycache__"))
    if text is None:
        (lonely / file).unlink()
    else:
        with (lonely / file).open("a") as out:
            out.write(f"\n{text}\n")
    old = "atlas-hooks 1\nhead\tof another time\t0\t9\nend"
    (project.top / ".git/atlas" / cache.FILE).write_text(old)  # a cache that is of no use
    install(project.top, program=lonely / "hook.py")
    done = project.commit("src/x.py")
    assert (done.code, said in done.err, "unjudged" in done.err, "Traceback" in done.err) == (
        0,
        True,
        True,
        False,
    )


def test_read_first_only_warns_where_it_cannot_be_noted_that_it_was_read(project: Project) -> None:
    """Else the same command would be stopped for ever."""
    project.atlas("bob", *ALERT)
    notebook = project.top / ".git/atlas" / NOTEBOOK
    for end in ("", "-wal", "-shm"):
        Path(f"{notebook}{end}").unlink(missing_ok=True)
    notebook.mkdir()
    done = project.commit("src/x.py")
    assert (done.code, "do not run x.py" in done.err, "no stop" in done.err) == (0, True, True)


def test_the_caller_is_who_called_git_whatever_runs_the_hooks(project: Project) -> None:
    """Two tools that name no session: each is the process whose shells begin and commit; a
    framework runs the hooks."""
    project.env = {key: value for key, value in project.env.items() if key != "CODEX_THREAD_ID"}
    for name in ("pre-commit", "prepare-commit-msg"):
        file = project.top / ".git/hooks" / name
        file.rename(file.with_suffix(".real"))
        file.write_text(
            f"#!{sys.executable}\nimport subprocess, sys\nsys.exit(subprocess.call([__file__ + '.real', *sys.argv[1:]]))\n"
        )
        file.chmod(0o755)
    work = (
        "import subprocess, sys\n"
        "def sh(line):\n    return subprocess.run(['sh', '-c', line + '; exit $?'], capture_output=True, text=True)\n"
        f"done = sh('{sys.executable} -m atlas_cli begin --goal work --json')\n"
        "assert done.returncode == 0, done\n"
        "sys.stdout.write(done.stdout); sys.stdout.flush(); sys.stdin.readline()\n"
        "done = sh('echo $$ > src/x.py; git commit -qam x')\n"
        "assert done.returncode == 0, done.stderr\n"
    )
    tools = [
        subprocess.Popen(
            [sys.executable, "-c", work],
            cwd=project.top,
            env=project.env,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    for tool in tools:
        assert tool.stdin is not None
        assert tool.stdout is not None
        mine = json.loads(tool.stdout.readline())["data"]["id"]
        tool.communicate("go\n")
        assert tool.returncode == 0
        assert project.trailers()[0] == f"Atlas-Session: {mine}"

"""What concerns a commit, through real git: who is stopped, how often, and what cannot be skipped."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from atlas_cli.hooks import cache

from ..conftest import Result
from .crew import Worker
from .fleet import Fleet, done, fleet
from .hooked import Project
from .test_hooks import fake_git

WORDS = "the parser drops the last line of each file"


def said(result: Result) -> str:
    """The kind of stop, or what was printed."""
    stop = re.search(r"^atlas: (stop \d \([\w ]+\))", result.err, re.M)
    return stop[1] if stop else result.err


def signal(project: Project, *more: str, text: str = WORDS) -> str:
    """Bob posts one; its REF."""
    args = ("signal", "post", "finding", "-m", text, *more, "--json")
    return str(project.atlas("bob", *args).data["ref"])


def test_a_day_of_stops(project: Project) -> None:
    """What is addressed always stops, what merely meets once in stop_every, the rest is counted;
    no stop is met twice, and none is skipped."""
    signal(project)
    out = project.commit("src/x.py")
    assert (out.code, "1 signal, none on your files" in out.err) == (0, True)
    signal(project, "--about", "src/x.py")
    assert said(project.commit("docs/page.md")) == "stop 5 (read first)", "committed since its word"
    project.ok("commit", "-qm", "the same command")
    signal(project, "--about", "docs")
    out = project.commit("docs/page.md")
    assert (out.code, f"│ finding: {WORDS}" in out.err, "new, and concerns you" in out.err) == (
        0,
        True,
        True,
    ), "a second one within 15 minutes is printed, and passes"
    assert project.commit("docs/page.md").err == "", "printed is told"
    ann = project.sessions["ann"]
    for whom in (ann, f"session:{ann}", "path:src", "all"):
        signal(project, "--for", whom)
        out = project.commit("src/y.py", "--no-verify")
        assert said(out) == "stop 5 (read first)", whom
        assert "addressed to" in out.err
        assert project("commit", "-qm", "the same", "--no-verify").err == ""
        assert project.trailers()[0] == f"Atlas-Session: {ann}"
    later = {"ATLAS_CLOCK_OFFSET": str(50 * 60)}
    signal(project, "--about", "src/x.py")
    assert said(project.commit("src/x.py", **later)) == "stop 5 (read first)", "stop_every is over"
    signal(project, text="of nothing here")
    later = {"ATLAS_CLOCK_OFFSET": str(120 * 60)}
    out = project("commit", "-qm", "look", **later)
    assert said(out) == "stop 5 (read first)"
    assert "you were told nothing for 1 h" in out.err
    assert "of nothing here" not in out.err, "by its heading only"
    project.ok("commit", "-qm", "look", **later)


def test_what_was_counted_leaves_the_quick_answer_quick(project: Project, tmp_path: Path) -> None:
    signal(project, "--about", "src/y.py")
    project.commit("docs/page.md")
    project.commit("docs/page.md")
    path = fake_git(tmp_path)
    for name in ("pre-commit", "prepare-commit-msg", "commit-msg"):
        file = project.top / ".git/hooks" / name
        file.write_text(file.read_text().replace("exec ", f"exec env PATH={path} "))
    assert project.commit("docs/page.md").err == ""
    assert set((tmp_path / "calls").read_text().split()) == {"diff-index"}, "no whole program"
    assert said(project.commit("src/y.py")) == "stop 5 (read first)"


def test_the_picture_passes_only_what_is_certain() -> None:
    rows = ["session\tann\twork\t/w\t9\t\t-\tnone\t0", "item\t0\tsrc/x.py", "item\t1\tdocs"]
    far = int(time.time()) + 999

    def known(*news: object) -> tuple[cache.HookCache, cache.Session]:
        lines = [cache.FORMAT, "head\tx\t0\t9", *rows, cache.line("news", "ann", *news), "end"]
        picture = cache.HookCache("\n".join(lines))
        return picture, picture.sessions["ann"]

    for asks, look, heard in ((0, 0, True), (0, far, True), (0, 1, False), (1, 0, False)):
        picture, me = known(asks, look)
        assert (picture.heard(me), picture.placed(me)) == (heard, False), (asks, look)
    picture, me = known(0, 0, 0, 1, 2)
    for path, meets in {"src/x.py": 1, "docs/a/b": 1, "docs": 1, "src/y.py": 0, "src": 0}.items():
        assert picture.meets(me, [path]) == bool(meets), path
    assert cache.Session("eve", "work", "/w", "9", "", "-", "none", "0").asks, (
        "of whom nothing is known"
    )


def test_whom_a_text_cannot_be_addressed_to(project: Project) -> None:
    ann = project.sessions["ann"]

    def post(*more: str, code: int, text: str = "w") -> str:
        return project.atlas("bob", "signal", "post", "alert", "-m", text, *more, code=code).err

    assert f"did you mean {ann}?" in post("--for", "ann", code=7)
    near = f"{ann[:-1]}{'y' if ann.endswith('x') else 'x'}"
    assert f"did you mean {ann}?" in post("--for", f"session:{near}", code=7)
    assert "there is no task nonsense" in post("--for", "task:nonsense", code=7)
    assert "nobody to address" in post("--for", "lease:gpu0", code=2)
    assert "at most 25 words; this one has 26" in post("--for", "all", code=6, text="w " * 26)
    post("--for", "all", code=0)
    assert "has addressed all already" in post("--for", "all", code=6)
    decision = ("--title", "t", "--recommended", "r", "--chosen", "c", "--stance", "agreed")
    project.atlas("bob", "decision", "add", *decision, "--why", "w", "--for", "all", code=6)
    project.atlas("ann", "config", "set", "principals", '["bob"]')
    post("--for", "all", code=0)
    assert "at most 25 words" in post("--for", "all", code=6, text="w " * 26)
    assert "stop 5" in said(project.commit("src/x.py"))


def test_a_folder_that_was_named_and_what_others_read_is_a_notice(project: Project) -> None:
    project.atlas("ann", "begin", "--on", "docs")
    signal(project, "--about", "docs/page.md")
    out = project.commit("src/x.py")
    assert (out.code, "1 signal, signal:" in out.err, "on docs/page.md" in out.err) == (
        0,
        True,
        True,
    )
    project.atlas("bob", "artifact", "put", "facts", str(project.top / "src/x.py"))
    project.atlas("ann", "artifact", "show", "facts")
    project.atlas("bob", "correct", "artifact:facts@1", "--retract", "--why", "wrong")
    out = project.commit("src/x.py")
    assert (out.code, "artifact:facts@1, which you read, was retracted" in out.err) == (0, True)
    # once, and in a notice of its own
    assert out.err.count("artifact:facts@1, ") == 1 and "1 correction" not in out.err
    assert "│ wrong\n" in out.err and "--relies-on correction:" in out.err
    assert "facts" not in project.commit("src/x.py").err


def test_a_record_names_its_writers_files(project: Project) -> None:
    """Bob's decision is about what he has committed, without a word of it. (What is staged may be
    of any session in the same checkout.)"""
    project.commit("src/x.py", who="bob")
    project.atlas("bob", "status", "show")
    head = ("decision", "add", "--title", "the form", "--recommended", "a", "--chosen", "b")
    row = project.atlas("bob", *head, "--stance", "agreed", "--why", "w", "--json").data
    assert row["files"] == ["src/x.py"]
    out = project.commit("src/x.py")
    assert (said(out), "│ chosen: b (agreed)" in out.err) == ("stop 5 (read first)", True)


def test_an_artifact_stops_whose_files_are_its_writers(project: Project) -> None:
    """Who is elsewhere is not even told that there is one; who has opened it knows it."""
    project.commit("src/x.py", who="bob")
    project.atlas("ann", "status", "show"), project.atlas("bob", "status", "show")
    facts = str(project.top / "docs/page.md")
    put = ("artifact", "put", "facts", facts, "--title", WORDS, "--json")
    assert project.atlas("bob", *put).data["files"] == ["src/x.py"]
    for _ in range(2):  # by the whole program, and by what it keeps for the next hook
        assert project.commit("docs/page.md").err == ""
    out = project.commit("src/x.py")
    assert said(out) == "stop 5 (read first)"
    assert f"│ {WORDS}" in out.err and "artifact:facts@1 by" in out.err and "on src/x.py" in out.err
    project.ok("commit", "-qm", "the same command")
    project.atlas("bob", *put)  # version 2
    project.atlas("ann", "artifact", "show", "facts")
    assert project.commit("src/x.py").err == "", "what was opened is known"
    ann = project.sessions["ann"]
    given = ("artifact", "put", "far", facts, "--title", "for you", "--json", "--for", ann)
    assert project.atlas("bob", *given).data["for"] == [f"session:{ann}"]
    assert said(project.commit("docs/page.md")) == "stop 5 (read first)"


@pytest.mark.parametrize("told", ["result", "section"])
def test_no_file_counts_that_a_word_speaks_of(told: str, project: Project) -> None:
    """A task's result is a word for its commits, as a section is; also once they are made anew."""
    task = project.atlas("ann", "task", "add", "change x", "--json").data["id"]
    project.atlas("ann", "task", "claim", task)
    project.commit("src/x.py")
    if told == "result":
        project.atlas("ann", "task", "done", task, "-m", "x is changed")
    else:
        project.atlas("ann", "status", "write", "-m", "x is changed")
        project.atlas("ann", "task", "release", task)
    before = project.ok("rev-parse", "HEAD")
    time.sleep(1.1)
    project.ok("rebase", "-q", "--no-ff", "HEAD~1")
    assert project.ok("rev-parse", "HEAD") != before
    signal(project, "--about", "src/x.py")
    out = project.commit("docs/page.md")
    assert (out.code, "1 signal, none on your files" in out.err) == (0, True), out
    signal(project, "--about", "docs/page.md")
    assert said(project.commit("src/y.py")) == "stop 5 (read first)", "committed since the word"


def test_a_section_names_the_files_of_the_tasks_that_are_done(project: Project) -> None:
    """Nobody is told of a result: the next section is about its files as well."""
    task = project.atlas("bob", "task", "add", "change x", "--json").data["id"]
    project.atlas("bob", "task", "claim", task)
    project.commit("src/x.py", who="bob")
    project.atlas("bob", "task", "done", task, "-m", "x is changed")
    project.atlas("bob", "status", "write", "-m", "x gives pairs now")
    out = project.commit("src/x.py")
    assert (said(out), "x gives pairs now" in out.err) == ("stop 5 (read first)", True)


def test_two_sections_of_one_goal_are_told_apart_by_their_writers(project: Project) -> None:
    project.atlas("ann", "begin", "--on", "docs")
    project.commit("docs/page.md", who="bob")
    project.atlas("bob", "status", "write", "-m", "the page is whole")
    bob = project.sessions["bob"]
    out = project.commit("src/x.py")
    assert f'1 section, status:main@2 "what bob does" by {bob} on docs/page.md' in out.err
    project.atlas("bob", "status", "write", "-m", "the page is whole", "--for", "all")
    out = project.commit("src/x.py")
    assert f'status:main@3 "what bob does" by {bob}: new, and concerns you' in out.err


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[Fleet, list[Worker]]]:
    """Two clones, with hooks."""
    made = fleet(tmp_path / "fleet", ("a", "b"))
    with made.crew(("a", "b")) as workers:
        for worker in workers:
            done(worker("hooks", "install"))
        yield made, workers


def test_what_another_machine_published_stops_the_push_at_the_latest(
    two: tuple[Fleet, list[Worker]],
) -> None:
    made, (a, b) = two
    made.env["ATLAS_SESSION"] = made.sessions["a"]
    (made.top / "a/x.py").write_text("print('y')\n")
    (made.top / "hub.git").rename(made.top / "away")
    done(a("--session", made.sessions["a"], "lease", "list"))
    (made.top / "away").rename(
        made.top / "hub.git"
    )  # a read that failed a moment ago excuses no push
    done(b("signal", "post", "alert", "--about", "x.py", "-m", "DO NOT touch x.py"))
    done(b("lease", "take", "path:x.py", "--why", "a great move"))
    made.git("a", "commit", "-qam", "nobody has told it yet")

    def ran(*args: str) -> Result:
        out = subprocess.run(
            ["git", *args], cwd=made.top / "a", env=made.env, capture_output=True, text=True
        )
        return Result(out.returncode, out.stdout, out.stderr)

    push = ("push", "-q", "origin", "HEAD:feature")
    out = ran(*push)
    assert (out.code, "stop 5 (read first)" in out.err, "DO NOT touch" in out.err) == (
        1,
        True,
        True,
    )
    out = ran(*push)
    assert (out.code, "x.py: path:x.py is held by" in out.err) == (0, True)
    (made.top / "hub.git").rename(made.top / "away")
    made.git("a", "init", "-q", "--bare", str(made.top / "other.git"))
    out = ran("push", "-q", str(made.top / "other.git"), "HEAD:feature")
    said = [line for line in out.err.splitlines() if "judged by what the remote had" in line]
    assert len(said) == 1 and said[0].endswith("ago, which gives no answer now")
    (made.top / "away").rename(made.top / "hub.git")
    state = json.loads((made.top / "a/.git/atlas/sync.json").read_text())
    (made.top / "a/.git/atlas/sync.json").write_text(
        json.dumps({**state, "fetched_at": state["fetched_at"] - 700})
    )
    (made.top / "a/x.py").write_text("print('z')\n")
    assert "judged by what the remote had 11 min ago" in ran("commit", "-qam", "old copy").err


def test_a_hook_fetches_where_the_users_own_file_says_so(
    two: tuple[Fleet, list[Worker]],
) -> None:
    """Nobody waits for it; it is not started again within a minute, nor within ten after a
    failure."""
    made, (_, b) = two
    own = made.top / "config"
    (own / "atlas").mkdir(parents=True)
    (own / "atlas/atlas.yaml").write_text("hook_fetch: on\n")
    env = {**made.env, "XDG_CONFIG_HOME": str(own), "ATLAS_SESSION": made.sessions["a"]}
    home = made.top / "a/.git/atlas"

    def commit() -> Result:
        words = ["git", "commit", "-q", "--allow-empty", "-m", "x"]
        out = subprocess.run(words, cwd=made.top / "a", env=env, capture_output=True, text=True)
        return Result(out.returncode, out.stdout, out.stderr)

    done(b("signal", "post", "alert", "--for", made.sessions["a"], "-m", "DO NOT touch x.py"))
    head = made.head("hub.git")
    first = commit()
    until = time.monotonic() + 30
    while made.head("a") != head and time.monotonic() < until:
        time.sleep(0.05)
    assert made.head("a") == head
    assert "DO NOT touch" in first.err + commit().err, "the next commit at the latest"
    mark = (home / "hook-fetch").stat().st_mtime
    assert commit().code == 0
    assert (home / "hook-fetch").stat().st_mtime == mark, "a minute apart"
    (made.top / "hub.git").rename(made.top / "away.git")
    os.utime(home / "hook-fetch", (0, 0))
    assert commit().code == 0
    until = time.monotonic() + 30
    while (home / "hook-fetch").stat().st_mtime < time.time() + 300 and time.monotonic() < until:
        time.sleep(0.05)
    assert (home / "hook-fetch").stat().st_mtime > time.time() + 300, "off after a failure"


def test_a_session_that_only_commits_is_known_to_be_at_work(
    two: tuple[Fleet, list[Worker]],
) -> None:
    """Once an hour the hook has the sign published, by a process that nobody waits for."""
    made, (a, b) = two
    env = {**made.env, "ATLAS_SESSION": made.sessions["a"]}
    done(a("lease", "take", "gpu0", "--for", "4h", "--why", "a long run"))
    for offset in (3700, 3 * 3600):
        head = made.head("hub.git")
        words = ["git", "commit", "-q", "--allow-empty", "-m", "x"]
        shifted = env | {"ATLAS_CLOCK_OFFSET": str(offset)}
        subprocess.run(words, cwd=made.top / "a", env=shifted, check=True)
        until = time.monotonic() + 30
        while made.head("hub.git") == head and time.monotonic() < until:
            time.sleep(0.05)
        assert made.head("hub.git") != head, offset
        os.utime(made.top / "a/.git/atlas/hook-fetch", (0, 0))
    later = {"ATLAS_CLOCK_OFFSET": str(5 * 3600)}
    other = done(b("begin", "--goal", "looks", "--new", "--json", env=later)).data["id"]
    adopt = ("session", "adopt", made.sessions["a"], "--why", "silent")
    refused = b("--session", other, *adopt, env=later)
    assert refused.code == 4 and "is live" in refused.err, refused


def test_a_file_that_the_policy_calls_hot_stops_nobody(project: Project) -> None:
    project.atlas("ann", "config", "set", "hot", '["CHANGELOG.md"]')
    signal(project, "--about", "CHANGELOG.md")
    out = project.commit("CHANGELOG.md")
    assert (out.code, "on CHANGELOG.md" in out.err) == (0, True), out
    for path, code in (("CHANGELOG.md", 0), ("src/x.py", 3)):  # nor a write of its own
        about = ("--on", path, "--section")
        project.atlas("bob", "status", "write", *about, f"Bob on {path}", "-m", "bob's")
        own = ("status", "write", *about, f"Ann on {path}", "-m", "ann's")
        project.atlas("ann", *own, code=code)


def test_what_an_ancestor_writes_reaches_those_that_it_started(project: Project) -> None:
    ann = project.sessions["ann"]
    kid = project.atlas("ann", "begin", "--parent", ann, "--goal", "kid", "--json").data["id"]
    project.atlas("ann", "status", "write", "-m", "use tabs, not blanks")
    out = project.commit("docs/page.md", ATLAS_SESSION=kid)
    assert said(out) == "stop 5 (read first)" and "who started you wrote it" in out.err, out
    project.ok("commit", "-qm", "the same command", ATLAS_SESSION=kid)


def test_what_an_ancestor_writes_stops_the_own_write_of_those_that_it_started(
    project: Project,
) -> None:
    ann = project.sessions["ann"]
    goal = ("begin", "--parent", ann, "--goal", "kid", "--json")
    project.sessions["kid"] = project.atlas("ann", *goal).data["id"]
    project.commit("src/y.py", who="kid")
    write = ("status", "write", "-m")
    project.atlas("ann", *write, "leave x and y alone", "--on", "src/y.py", "--on", "src/x.py")
    for who in ("kid", "bob"):
        stop = project.atlas(who, *write, f"{who}: y", "--on", "src/y.py", code=3)
        assert "leave x and y alone" in stop.err + stop.out, who
        project.atlas(who, *write, f"{who}: y", "--on", "src/y.py")
    # another one that is about none of it hears of it as it writes
    goal = ("begin", "--parent", ann, "--goal", "second", "--new", "--json")
    project.sessions["second"] = project.atlas("ann", *goal).data["id"]
    project.atlas("ann", *write, "the tabs stay", "--on", "src/x.py")
    out = project.atlas("second", *write, "docs", "--on", "docs/page.md").out
    assert "the tabs stay" in out and "carried beside it" in out

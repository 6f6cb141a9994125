"""Who am I, and who is dead: goals are added, a sub-agent is a child, silence and dead processes
free what a session held."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ..conftest import Atlas, Git
from .test_agent_hooks import argv
from .test_callers import Tool

CLAUDE = {"CLAUDE_CODE_SESSION_ID": "c", "CLAUDECODE": "1"}


@pytest.fixture
def env(env: dict[str, str]) -> dict[str, str]:
    """Without the id that makes all processes of a test one caller."""
    return {key: value for key, value in env.items() if key != "CODEX_THREAD_ID"}


def data(atlas: Atlas, *args: str, **who: Any) -> Any:
    """The data of a command that must work."""
    done = atlas("--json", *args, **who)
    assert done.code == 0, (args, done)
    return done.data


def stop(atlas: Atlas, *args: str, **who: Any) -> Any:
    """The error of a command that must stop."""
    done = atlas("--json", *args, **who)
    assert done.code in (4, 5), (args, done)
    return done.json["error"]


def test_a_goal_is_added_and_ended_by_its_number(repo: Path, atlas: Atlas) -> None:
    (repo / "docs").mkdir()
    me = data(atlas, "begin", "--goal", "the parser", "--on", "src", **CLAUDE)["id"]
    data(atlas, "lease", "take", "path:src", "--why", "w", **CLAUDE)
    other = ("begin", "--goal", "the docs", "--on", "docs")
    error = stop(atlas, *other, **CLAUDE)
    assert error["code"] == "another"
    for words in (me, "the parser", "holds path:src", "before your context was compacted?"):
        assert words in error["message"]
    assert [error["hint"].index(f"atlas begin{rest}") for rest in (",", " --parent", " --new")]
    assert data(atlas, "begin", **CLAUDE)["id"] == me, "that was I"
    more = atlas(*other, **CLAUDE)
    assert f"if it has started you, be its child: atlas begin --parent {me} --goal …" in more.out
    again = data(atlas, *other, **CLAUDE)
    assert (again["id"], again["you"]["goal"], again["you"]["under"]) == (
        me,
        "the parser; the docs",
        2,
    )
    assert data(atlas, "lease", "take", "path:docs", "--why", "w", **CLAUDE)["goal"] == 2
    task = data(atlas, "task", "add", "write them", **CLAUDE)["id"]
    data(atlas, "task", "claim", task, **CLAUDE)
    error = stop(atlas, "end", "-m", "All of it.", **CLAUDE)
    assert (error["code"], "--goal 2" in error["hint"]) == ("several_goals", True)
    ended = data(atlas, "end", "--goal", "2", "-m", "The docs are done.", **CLAUDE)
    assert sorted(ended["released"]) == ["path:docs", f"task:{task}"]
    assert "## the docs" in data(atlas, "status", **CLAUDE)["body"]
    assert [row["resource"] for row in data(atlas, "lease", "list")["items"]] == ["path:src"]
    assert data(atlas, "end", "-m", "The parser, too.", **CLAUDE)["released"] == ["path:src"]
    assert data(atlas, "session", "show", me)["state"] == "ended"
    assert atlas("verify", "--full").code == 0


def test_the_goal_that_is_shown_is_what_its_session_has_not_ended(repo: Path, atlas: Atlas) -> None:
    me = data(atlas, "begin", "--goal", "the parser", "--on", "x.py", **CLAUDE)["id"]
    data(atlas, "begin", "--goal", "the docs", **CLAUDE)
    data(atlas, "status", "write", "-m", "Nothing yet.", **CLAUDE)
    two = 'your goals: 1 ("the parser"), 2 ("the docs"); now for 2; you hold: nothing'
    assert two in atlas("digest", **CLAUDE).out
    data(atlas, "end", "--goal", "1", "--unchanged", "it is as it was", **CLAUDE)
    assert "goal: the docs; you hold: nothing" in atlas("digest", **CLAUDE).out
    near = data(atlas, "begin", "--goal", "docs, the docs", "--new")
    assert [row["goal"] for row in near["alike"]] == ["the docs"]
    for words in (("digest",), ("who", "x.py"), ("session", "list"), ("session", "show", me)):
        shown = atlas(*words, "--session", near["id"]).out.replace("over): the parser", "")
        assert "the docs" in shown and "the parser" not in shown.replace("## the", ""), words
    assert data(atlas, "begin", "--goal", "the parser", "--new")["alike"] == []
    data(atlas, "begin", "--goal", "the parser", **CLAUDE)  # again: that is its third
    data(atlas, "end", "--goal", "2", "-m", "The docs are done.", **CLAUDE)
    assert "goal: the parser; you hold: nothing" in atlas("digest", **CLAUDE).out


def test_a_sub_agent_ends_itself_and_not_who_started_it(
    repo: Path, atlas: Atlas, env: dict[str, str]
) -> None:
    me = data(atlas, "begin", "--goal", "all", **CLAUDE)["id"]
    data(atlas, "lease", "take", "path:src", "--why", "w", **CLAUDE)

    def hook(name: str, **given: Any) -> Any:
        told_ = {"session_id": "c", "cwd": str(repo), "agent_id": "a1", **given}
        done = subprocess.run(
            argv(name),
            cwd=repo,
            env=env | CLAUDE,
            input=json.dumps(told_).encode(),
            capture_output=True,
        )
        assert done.returncode == 0
        return json.loads(done.stdout)["hookSpecificOutput"] if done.stdout else None

    words = hook("sub-agent-start")["additionalContext"]
    assert "ATLAS_AGENT=a1 git atlas begin" in words
    edit = {"tool_input": {"file_path": str(repo / "src/x.py")}}
    assert hook("edit", **edit) is None, "it was told, and its parent's lease is no other's"
    error = stop(atlas, "end", **CLAUDE)
    assert error["code"] == "sub_agent"
    assert "ATLAS_AGENT=a1 atlas end" in error["hint"]
    error = stop(atlas, "begin", "--goal", "a part", "--on", "docs", **CLAUDE)
    assert error["code"] == "sub_agent", "it is no goal of who started it"
    part = "atlas begin '--goal=a part' --on=docs"
    assert (
        f"as the sub-agent: ATLAS_AGENT=a1 {part}. As {me} itself: {part} --session"
        in (error["hint"])
    )
    plain = atlas("begin", **CLAUDE).out
    assert f"you go on as {me} (the sub-agent a1 begins with: ATLAS_AGENT=a1 atlas begin)" in plain
    agent = CLAUDE | {"ATLAS_AGENT": "a1"}
    assert atlas("end", **agent).code == 5, "it has begun nothing"
    # what the stop of an end prints ends with the text that was given
    for words in (("-m", "It's done; all of it."), ("-",)):
        error = stop(atlas, "end", *words, "--on", "docs", data="It's done; all of it.", **CLAUDE)
        assert Path(error["details"]["draft"]).read_text() == "It's done; all of it."
        first, _, second = error["hint"].partition("\n")[0].partition(f". As {me} itself: ")
        assert first.startswith("as the sub-agent: ATLAS_AGENT=a1 atlas end --file ")
        assert "--base 0 --on docs" in first and second.endswith(f"--on docs --session {me}")
    two = data(atlas, "begin", "--goal", "one", "--new", **CLAUDE)["id"]
    data(atlas, "begin", "--goal", "two", "--session", two)
    error = stop(atlas, "end", "-m", "Both are done.", "--session", two)
    command = error["hint"].partition("or all of them: ")[2].partition("\n")[0]
    assert "-m TEXT" not in error["hint"]
    data(atlas, *shlex.split(command)[1:], "--session", two)
    assert "Both are done." in data(atlas, "status")["body"]
    data(atlas, "begin", "--session", me, **CLAUDE)
    child = data(atlas, "begin", "--goal", "a part", **agent)
    assert (child["you"]["parent"], child["id"] != me) == (me, True)
    assert data(atlas, "begin", **agent)["id"] == child["id"]
    assert data(atlas, "begin", **CLAUDE)["id"] == me
    # what is printed for it runs as printed
    data(atlas, "artifact", "put", "notes", "-", data="its notes\n", **agent)
    marked = "ATLAS_AGENT=a1 atlas end"
    error = stop(atlas, "end", **agent)
    assert f"write last: {marked} -m '" in error["hint"]
    assert f"or {marked} --unchanged 'why'" in error["hint"]
    lost = ("--expect", "status:main@9", "status", "write", "-m", "its words")
    assert atlas(*lost, **agent).code == 3
    (draft,) = data(atlas, "drafts", **agent)["items"]
    first, *words = shlex.split(draft["submit"])
    assert (first, words[0]) == ("ATLAS_AGENT=a1", "atlas")
    assert data(atlas, *words[1:], **CLAUDE, ATLAS_AGENT="a1")["session"] == child["id"]
    assert "ATLAS_AGENT" not in atlas("help", "leases", **agent).out
    assert data(atlas, "end", **agent)["id"] == child["id"]
    assert data(atlas, "lease", "show", "path:src")["holder"] == me
    assert hook("sub-agent-stop") is None
    assert data(atlas, "end", **CLAUDE)["released"] == ["path:src"]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no process can be seen here")
def test_a_session_whose_process_is_dead_is_adopted_at_once(
    repo: Path, atlas: Atlas, env: dict[str, str]
) -> None:
    tool = Tool(repo, env)
    named = " ".join(f"{key}={value}" for key, value in CLAUDE.items())

    def run(*args: str) -> Any:
        words = shlex.join([sys.executable, "-m", "atlas_cli", *args, "--json"])
        return json.loads(tool.run(f"{named} {words}; exit $?")[1])["data"]

    lost = run("begin", "--goal", "the parser")["id"]
    run("lease", "take", "gpu0", "--why", "w")
    heir = {"CODEX_THREAD_ID": "heir"}
    first = data(atlas, "begin", **heir)
    assert first["left"] == [], "a process that is there is never gone"
    assert stop(atlas, "session", "adopt", lost, "--why", "w", **heir)["code"] == "held"
    tool.child.kill(), tool.child.wait()
    error = stop(atlas, "lease", "take", "gpu0", "--why", "w", **heir)
    assert error["hint"].startswith(f"{lost} is gone (its process is gone): atlas session adopt")
    states = {row["id"]: row["state"] for row in data(atlas, "session", "list")["items"]}
    assert states == {lost: "gone", first["id"]: "live"}
    (repo / "half.py").write_text("half\n")
    begun = atlas("begin", **heir)
    lines = begun.out.splitlines()[1:3]
    assert f"left here by {lost} (its process is gone)" in lines[0] and "gpu0" in lines[0]
    assert "half.py" in lines[1]
    done = atlas("session", "adopt", lost, "--why", "its tool is dead", **heir)
    assert (done.code, "git status first" in done.out) == (0, True)
    assert "atlas drafts" not in done.out, "it left none"
    row = data(atlas, "lease", "show", "gpu0")
    assert (row["holder"], row["token"]) == (first["id"], 2)
    for words in (("lease", "take", "gpu1", "--why", "w"), ("status", "write", "-m", "My text.")):
        error = stop(atlas, *words, **CLAUDE)
        assert (error["code"], error["message"].count("its tool is dead")) == ("adopted", 1)
    assert "draft" in error["hint"], "its text is kept"
    assert atlas("hooks", "install").code == 0
    commit = ("git", "commit", "--allow-empty", "-qm", "blind")
    done = subprocess.run(commit, cwd=repo, env=env | CLAUDE, capture_output=True, text=True)
    assert (done.returncode != 0, "its tool is dead" in done.stderr) == (True, True), done
    assert data(atlas, "begin", **CLAUDE)["id"] != lost
    assert subprocess.run(commit, cwd=repo, env=env | CLAUDE).returncode == 0
    assert atlas("verify", "--full").code == 0


def later(seconds: int) -> dict[str, str]:
    return {"ATLAS_CLOCK_OFFSET": str(seconds)}


def test_a_caller_without_an_id_is_judged_by_its_silence(
    repo: Path, atlas: Atlas, env: dict[str, str], git: Git, tmp_path: Path
) -> None:
    tool = Tool(repo, env)
    git("worktree", "add", "-q", "--detach", "../other")
    lost = tool("begin", "--goal", "the parser")[1]["data"]["id"]
    heir = {"CODEX_THREAD_ID": "heir"}
    adopt = ("session", "adopt", lost, "--why", "it is silent")
    data(atlas, "begin", **heir)
    tool("status", "write", "-m", "word " * 200)
    error = stop(atlas, *adopt, **heir, **later(3500))
    assert (error["code"], "after 1 h of silence, at " in error["hint"]) == ("held", True)
    assert error["details"]["until"] in error["hint"], "the bound that holds here, and its moment"
    far = {"CODEX_THREAD_ID": "far", "cwd": tmp_path / "other"}
    data(atlas, "begin", **far)
    error = stop(atlas, *adopt, **far, **later(3700))
    assert "after 4 h of silence" in error["hint"], "in its own worktree only"
    tool.run(
        "ATLAS_CLOCK_OFFSET=3600 "
        + shlex.join([sys.executable, "-m", "atlas_cli", "lease", "list"])
    )
    assert stop(atlas, *adopt, **heir, **later(3700))["code"] == "held", "a read is a sign of life"
    named = ("--session", data(atlas, "begin", **heir)["id"])
    done = atlas("-C", "repo", *adopt, *named, cwd=tmp_path, **later(7300))
    assert (done.code, "\natlas -C repo drafts lists the texts" in done.out) == (0, True), done
    there = data(atlas, "-C", "repo", "drafts", *named, cwd=tmp_path)["items"][0]
    here = data(atlas, "drafts", **heir)["items"][0]
    assert here["submit"] == f"atlas status write main --base 0 --file {here['file']}"
    Path(there["file"]).write_text("What was left.")
    words = shlex.split(there["submit"])[1:]
    assert words[:4] == ["-C", "repo", *named]
    assert data(atlas, *words, cwd=tmp_path)["session"] == named[1], "as printed, from where it was"
    assert atlas("-C", "repo", "show", "task:x", cwd=tmp_path).err.count("atlas -C repo task") == 1
    tool.close()


def test_a_session_whose_worktree_was_removed_is_orphaned_and_can_be_adopted(
    repo: Path, atlas: Atlas, git: Git, tmp_path: Path
) -> None:
    git("worktree", "add", "-q", "../wt")
    there = {"CODEX_THREAD_ID": "", "cwd": tmp_path / "wt"}  # no tool, no process of one
    lost = data(atlas, "begin", **there)["id"]
    data(atlas, "lease", "take", "gpu0", "--why", "w", **there)
    git("worktree", "remove", "--force", "../wt")
    mine = data(atlas, "begin", **CLAUDE)["id"]
    adopt = ("session", "adopt", lost, "--why", "its folder is gone")
    assert stop(atlas, *adopt, **CLAUDE)["code"] == "held", "it gave a sign a moment ago"
    (repo / ".git/atlas/signs" / lost).write_text("- 0\n")
    states = {row["id"]: row["state"] for row in data(atlas, "session", "list")["items"]}
    assert (states[lost], states[mine]) == ("orphaned", "live")
    data(atlas, *adopt, **CLAUDE)
    assert data(atlas, "lease", "show", "gpu0")["holder"] == mine
    assert data(atlas, "session", "show", lost)["state"] == "ended"


def test_every_command_and_hook_is_a_sign_of_life(repo: Path, atlas: Atlas, git: Git) -> None:
    me = data(atlas, "begin", **CLAUDE)["id"]
    for hours in (3, 6, 9):
        data(atlas, "lease", "list", **CLAUDE, **later(hours * 3600))
    shown = data(atlas, "session", "show", me, **later(12 * 3600))
    assert (shown["state"], shown["wrote"][0]) == ("live", f"session: seen ({me})")
    assert "seen" in shown and not data(atlas, "begin", **CLAUDE)["you"]["owes_status"]
    assert data(atlas, "session", "show", me, **later(14 * 3600))["state"] == "expired"
    assert atlas("hooks", "install").code == 0
    sign = repo / ".git/atlas/signs" / me
    for number in range(2):  # the first one draws what the second one answers from
        (repo / "src/x.py").write_text(f"{number}\n")
        os.utime(sign, (1, 1))
        git("commit", "-qam", "work", **CLAUDE)
        assert sign.stat().st_mtime > 1
    shutil.rmtree(sign.parent)
    data(atlas, "session", "list", **CLAUDE)
    assert sign.exists()


def test_a_worker_that_is_silent_gets_no_task(repo: Path, atlas: Atlas) -> None:
    worker, boss = CLAUDE, {"CODEX_THREAD_ID": "boss"}
    data(atlas, "begin", **worker)
    data(atlas, "session", "offer", "--slots", "2", **worker)
    data(atlas, "begin", **boss)
    for title in ("one", "two"):
        data(atlas, "task", "add", title, **boss)
    silent = atlas("task", "assign", "--json", **boss, **later(1000))
    assert (silent.code, silent.json["error"]["code"]) == (6, "no_worker")
    data(atlas, "session", "list", **worker, **later(950))
    assert data(atlas, "task", "assign", **boss, **later(1000))["claim"]["actor"] == "tester"


def test_a_resumed_tool_goes_on_with_what_it_had_closed(
    repo: Path, atlas: Atlas, env: dict[str, str]
) -> None:
    def hook(name: str, **given: Any) -> None:
        told_ = json.dumps({"session_id": "c", "cwd": str(repo), **given}).encode()
        subprocess.run(argv(name), cwd=repo, env=env | CLAUDE, input=told_, capture_output=True)

    first = data(atlas, "begin", **CLAUDE)["id"]
    hook("session-end")
    assert data(atlas, "session", "show", first)["state"] == "ended"
    hook("session-start", source="resume")
    now = data(atlas, "session", "show", **CLAUDE)
    assert now["id"] != first
    assert data(atlas, "session", "show", first)["adopted_by"] == now["id"]
    data(atlas, "end", **CLAUDE)
    last = data(atlas, "begin", **CLAUDE)["id"]
    assert "adopted_by" not in data(atlas, "session", "show", now["id"]), "it had ended itself"
    assert last not in (first, now["id"])
    assert atlas("verify", "--full").code == 0

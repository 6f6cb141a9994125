"""Who am I: each caller has its own session, told apart by real processes."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..conftest import Atlas, Git, command

# A tool that runs each command in a shell started fresh for it, as AI tools do.
TOOL = (
    "import json, subprocess, sys\n"
    "if sys.argv[1:]:\n"
    "    open('/proc/self/comm', 'w').write(sys.argv[1])\n"
    "for line in sys.stdin:\n"
    "    done = subprocess.run(['sh', '-c', line], capture_output=True, text=True)\n"
    "    print(json.dumps([done.returncode, done.stdout, done.stderr]), flush=True)\n"
)


@pytest.fixture
def env(env: dict[str, str]) -> dict[str, str]:
    """Without the id that makes all processes of a test one caller."""
    return {key: value for key, value in env.items() if key != "CODEX_THREAD_ID"}


class Tool:
    """A process that outlives its commands."""

    def __init__(self, cwd: Path, env: dict[str, str], name: str = "") -> None:
        self.child = subprocess.Popen(
            [sys.executable, "-c", TOOL, *[name] * bool(name)],
            cwd=cwd,
            env=env,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def run(self, script: str) -> tuple[int, str]:
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.child.stdin.write(script + "\n")
        self.child.stdin.flush()
        code, out, _ = json.loads(self.child.stdout.readline())
        return code, out

    def __call__(self, *args: str) -> tuple[int, Any]:
        code, out = self.run(shlex.join(command(*args, "--json")) + "; exit $?")
        return code, json.loads(out)

    def close(self) -> None:
        self.child.communicate()


@pytest.fixture
def tools(repo: Path, env: dict[str, str]) -> Iterator[list[Tool]]:
    found = [Tool(repo, env) for _ in range(2)]
    yield found
    for tool in found:
        tool.close()


def test_two_agents_in_one_worktree_are_two_sessions(tools: list[Tool]) -> None:
    ids = [
        tool("begin", "--goal", f"goal {number}")[1]["data"]["id"]
        for number, tool in enumerate(tools)
    ]
    assert ids[0] != ids[1]
    assert [tool("begin")[1]["data"]["id"] for tool in tools] == ids, (
        "a lost context costs one call"
    )
    assert tools[0]("lease", "take", "gpu0", "--why", "w")[0] == 0
    code, answer = tools[1]("lease", "take", "gpu0", "--why", "w")
    assert (code, answer["error"]["details"]["holder"]) == (4, ids[0])


def test_a_caller_that_has_not_begun_is_nobody(tools: list[Tool]) -> None:
    first = tools[0]("begin", "--goal", "mine")[1]["data"]["id"]
    code, answer = tools[1]("status", "write", "-m", "not mine")
    assert (code, answer["error"]["code"]) == (5, "no_session")
    assert first in answer["error"]["hint"]
    assert tools[1]("status", "write", "-m", "for another", "--session", first)[0] == 0


def test_the_tools_own_session_id_counts_before_the_process(repo: Path, atlas: Atlas) -> None:
    one, two = ({"CLAUDE_CODE_SESSION_ID": name} for name in ("one", "two"))
    ids = [atlas("begin", "--json", **who).data["id"] for who in (one, two, one)]
    assert (ids[0] == ids[2], ids[0] == ids[1]) == (True, False)


def test_an_id_of_a_tool_counts_in_each_worktree_of_a_clone(
    repo: Path, atlas: Atlas, git: Git, tmp_path: Path
) -> None:
    git("worktree", "add", "-q", "--detach", "../other")
    ids = [
        atlas("begin", "--json", cwd=where, CODEX_THREAD_ID="t").data["id"]
        for where in (repo, tmp_path / "other")
    ]
    assert ids[0] == ids[1]


def test_a_tool_that_runs_in_another_tool_is_another_caller(repo: Path, atlas: Atlas) -> None:
    outer = {"CLAUDE_CODE_SESSION_ID": "o", "CLAUDECODE": "1"}
    ids = [
        atlas("begin", "--json", **who).data["id"]
        for who in (outer, outer | {"CODEX_THREAD_ID": "i"}, outer)
    ]
    assert (ids[0] == ids[2], ids[0] == ids[1]) == (True, False)


@pytest.mark.parametrize(
    ("marks", "actor"),
    [
        ({"CLAUDECODE": "1"}, "claude"),
        ({"CODEX_THREAD_ID": "t"}, "codex"),
        ({"COPILOT_CLI": "1"}, "copilot"),
        ({"CURSOR_TRACE_ID": "a person's window"}, "test"),  # git's user, not who is logged in
        ({"AI_AGENT": "new-tool/2.1"}, "new-tool-2-1"),
    ],
)
def test_the_actor_is_the_tool(marks: dict[str, str], actor: str, repo: Path, atlas: Atlas) -> None:
    named = atlas("begin", "--json", ATLAS_ACTOR="", USER="tester", LOGNAME="tester", **marks)
    assert named.data["you"]["actor"] == actor


@pytest.mark.skipif(not Path("/proc/self/comm").exists(), reason="a process cannot be named here")
def test_each_job_of_cron_is_its_own_session(repo: Path, env: dict[str, str]) -> None:
    """One daemon starts them all; a job is a shell, whose last command may take its place."""
    daemon = Tool(repo, env, "crond")
    begin = shlex.join(command("begin", "--json"))
    jobs = [daemon.run(f"{begin}; {begin}") for _ in range(2)]
    daemon.close()
    ids = [
        [json.loads(line)["data"]["id"] for line in out.splitlines()]
        for code, out in jobs
        if code == 0
    ]
    assert [len(set(job)) for job in ids] == [1, 1]
    assert ids[0][0] != ids[1][0]


# A container whose first process is the command's own shell, and one in which no process can be
# looked at.
ALONE = (
    ["unshare", "-pf", "--mount-proc", "sh", "-c"],
    ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc && exec sh -c "$0"'],
)


def alone(container: list[str], repo: Path, env: dict[str, str], *args: str) -> Any:
    """The envelope of a command that sees no process but its own shell, as in some containers."""
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed")
    done = subprocess.run(
        [*container, shlex.join(command(*args, "--json")) + "; exit 0"],
        cwd=repo,
        env=env,
        capture_output=True,
    )
    if done.returncode:
        pytest.skip(f"no namespace of one's own here: {done.stderr.decode().strip()}")
    return json.loads(done.stdout)


@pytest.mark.parametrize("container", ALONE, ids=["one process", "no /proc"])
def test_where_nothing_tells_it_is_the_only_live_session_here(
    container: list[str], repo: Path, env: dict[str, str]
) -> None:
    first = alone(container, repo, env, "begin", "--goal", "one")["data"]["id"]
    assert alone(container, repo, env, "begin")["data"]["id"] == first
    second = alone(container, repo, env, "begin", "--new", "--goal", "two")["data"]["id"]
    stop = alone(container, repo, env, "status", "write", "-m", "whose?")["error"]
    assert stop["code"] == "which_session"
    assert first in stop["hint"]
    assert second in stop["hint"]
    taken = alone(container, repo, env, "lease", "take", "gpu0", "--why", "w")
    assert taken["data"]["holder"] in (first, second)
    assert any("newest of 2 sessions" in notice for notice in taken["notices"])


def test_a_child_works_under_its_ancestors_leases_and_gives_none_back(
    repo: Path, atlas: Atlas
) -> None:
    def data(*args: str) -> Any:
        done = atlas(*args, "--json")
        assert done.code == 0, done.out
        return done.data

    parent = data("begin", "--goal", "all of it")["id"]
    data("lease", "take", "gpu0", "path:src", "--why", "w")
    child = data("begin", "--parent", parent, "--goal", "a part")["id"]
    assert data("begin")["id"] == parent, "a child is nobody's default"
    before = atlas("git", "rev-parse", "atlas").out
    assert data("lease", "take", "gpu0", "--why", "w", "--session", child)["holder"] == parent
    assert atlas("git", "rev-parse", "atlas").out == before, "nothing had to be written"
    assert (
        data("lease", "take", "path:src/x.py", "--why", "w", "--session", child)["holder"] == child
    )
    assert atlas("lease", "release", "gpu0", "--session", child).code == 4
    assert data("end", "--session", child)["released"] == ["path:src/x.py"]
    assert sorted(row["resource"] for row in data("lease", "list")["items"]) == ["gpu0", "path:src"]
    stranger = data("begin", "--new", "--actor", "stranger")["id"]
    assert atlas("lease", "take", "path:src/x.py", "--why", "w", "--session", stranger).code == 4
    assert atlas("begin", "--parent", child).code == 5, "a parent lives"
    assert atlas("verify", "--full").code == 0

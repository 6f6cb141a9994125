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

    def __init__(self, cwd: Path, env: dict[str, str]) -> None:
        self.child = subprocess.Popen(
            [sys.executable, "-c", TOOL], cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __call__(self, *args: str) -> tuple[int, Any]:
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.child.stdin.write(shlex.join(command(*args, "--json")) + "; exit $?\n")
        self.child.stdin.flush()
        code, out, _ = json.loads(self.child.stdout.readline())
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
    ids = [tool("begin", "--goal", f"goal {number}")[1]["data"]["id"] for number, tool in enumerate(tools)]
    assert ids[0] != ids[1]
    assert [tool("begin")[1]["data"]["id"] for tool in tools] == ids, "a lost context costs one call"
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


def test_subagents_of_one_tool_in_another_worktree_are_others(
    repo: Path, atlas: Atlas, git: Git, tmp_path: Path
) -> None:
    git("worktree", "add", "-q", "--detach", "../other")
    ids = [atlas("begin", "--json", cwd=where, CODEX_THREAD_ID="t").data["id"] for where in (repo, tmp_path / "other")]
    assert ids[0] != ids[1]


def alone(repo: Path, env: dict[str, str], *args: str) -> Any:
    """The envelope of a command that sees no process but its own shell, as in some containers."""
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed")
    script = shlex.join(command(*args, "--json")) + "; exit 0"
    done = subprocess.run(
        ["unshare", "-pf", "--mount-proc", "sh", "-c", script], cwd=repo, env=env, capture_output=True
    )
    if done.returncode:
        pytest.skip(f"no process namespace of one's own here: {done.stderr.decode().strip()}")
    return json.loads(done.stdout)


def test_where_nothing_tells_it_is_the_only_live_session_here(repo: Path, env: dict[str, str]) -> None:
    first = alone(repo, env, "begin", "--goal", "one")["data"]["id"]
    assert alone(repo, env, "begin")["data"]["id"] == first
    second = alone(repo, env, "begin", "--new", "--goal", "two")["data"]["id"]
    stop = alone(repo, env, "status", "write", "-m", "whose?")["error"]
    assert stop["code"] == "which_session"
    assert first in stop["hint"]
    assert second in stop["hint"]
    taken = alone(repo, env, "lease", "take", "gpu0", "--why", "w")
    assert taken["data"]["holder"] in (first, second)
    assert any("newest of 2 sessions" in notice for notice in taken["notices"])


def test_a_child_works_under_its_ancestors_leases_and_gives_none_back(repo: Path, atlas: Atlas) -> None:
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
    assert data("lease", "take", "path:src/x.py", "--why", "w", "--session", child)["holder"] == child
    assert atlas("lease", "release", "gpu0", "--session", child).code == 4
    assert data("end", "--session", child)["released"] == ["path:src/x.py"]
    assert sorted(row["resource"] for row in data("lease", "list")["items"]) == ["gpu0", "path:src"]
    stranger = data("begin", "--new", "--actor", "stranger")["id"]
    assert atlas("lease", "take", "path:src/x.py", "--why", "w", "--session", stranger).code == 4
    assert atlas("begin", "--parent", child).code == 5, "a parent lives"
    assert atlas("verify", "--full").code == 0

"""The reader is the session, never the tool: two sessions of one tool are two readers, and a fresh
one begins where the session before it in its worktree has ended."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from ..conftest import Atlas, Git


def test_two_sessions_of_one_tool_are_two_readers(repo: Path, atlas: Atlas, git: Git) -> None:
    git("worktree", "add", "-q", "--detach", "../linked")
    (repo / "facts.md").write_text("the facts, measured twice\n")
    (repo / "plan.md").write_text("another thing altogether\n")

    def run(who: str, *args: str, code: int = 0) -> Any:
        where = str(repo.parent / "linked") if who == "b" else str(repo)
        done = atlas("--json", "-C", where, *args, CLAUDE_CODE_SESSION_ID=who, CLAUDECODE="1")
        assert done.code == code, done
        return done.data

    def new(who: str) -> list[str]:
        return [row["ref"] for row in run(who, "artifact", "list", "--new")["items"]]

    a, b = (run(who, "begin", "--goal", f"what {who} does")["id"] for who in "ab")
    run("a", "artifact", "put", "facts", str(repo / "facts.md"))
    assert new("b") == ["artifact:facts@1"]
    assert [row["ref"] for row in run("b", "digest")["new"]] == ["artifact:facts@1"]
    assert new("a") == []
    run("b", "artifact", "show", "facts")
    assert new("b") == []
    # what concerns a fresh session is in its digest, once, and counts as told
    ref = run("b", "signal", "post", "alert", "--for", "all", "-m", "do not run it")["ref"]
    assert [row["ref"] for row in run("a", "digest")["concern"]] == [ref]
    assert run("a", "digest")["concern"] == []
    run("a", "end", "-m", "done")
    run("b", "artifact", "put", "plan", str(repo / "plan.md"))
    c = run("c", "begin")
    assert [row["ref"] for row in c["new"]] == ["artifact:plan@1"], "since a has ended"
    assert [row["ref"] for row in c["concern"]] == [ref]
    assert c["id"] not in (a, b)
    assert new("c") == ["artifact:plan@1"]
    # its last look is that of the session which it follows
    assert run("c", "digest", "--since", "last")["since"]["asked"] == "last"


def test_what_came_since_the_session_before_is_told_apart_within_one_second(
    repo: Path, atlas: Atlas
) -> None:
    for name, text in (("facts", "the facts, measured twice\n"), ("plan", "quite another thing\n")):
        (repo / f"{name}.md").write_text(text)
    second = int(time.time()) + 60

    def run(who: str, *args: str) -> Any:
        while time.time() % 1 > 0.2:  # so that the command ends within it
            time.sleep(0.02)
        still = {"ATLAS_CLOCK_OFFSET": str(second - int(time.time()))}
        done = atlas("--json", *args, CLAUDE_CODE_SESSION_ID=who, CLAUDECODE="1", **still)
        assert done.code == 0, done
        return done.data

    for who in "ab":
        run(who, "begin", "--goal", f"what {who} does", "--new")
    run("a", "artifact", "put", "facts", str(repo / "facts.md"))
    run("a", "end", "-m", "done")
    run("b", "artifact", "put", "plan", str(repo / "plan.md"))
    assert [row["ref"] for row in run("c", "begin")["new"]] == ["artifact:plan@1"]

"""The reader is the session, never the tool: two sessions of one tool are two readers, and a fresh
one begins where the session before it in its worktree has ended."""

from __future__ import annotations

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

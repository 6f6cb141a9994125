"""`atlas who`: what it knows of a path is found under any name, on any branch, in any worktree,
fetched or not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..conftest import Atlas, Git


def test_commits_are_found_wherever_they_are(
    repo: Path, begun: str, quick: Atlas, git: Git, tmp_path: Path
) -> None:
    other = quick("begin", "--new", "--goal", "another", "--json").data["id"]

    def commit(subject: str, *files: str, cwd: Path = repo, session: str = "") -> None:
        for name in files:
            (cwd / name).parent.mkdir(exist_ok=True, parents=True)
            (cwd / name).write_text(subject)
        git("add", "-A", cwd=cwd)
        git(
            "commit", "-qm", subject + (f"\n\nAtlas-Session: {session}" if session else ""), cwd=cwd
        )

    def who(path: str) -> list[tuple[Any, ...]]:
        rows = quick("who", path, "--session", begun, "--json").data["items"]
        return [(row["what"].split()[0], row["who"], row["text"]) for row in rows]

    commit("literal", "src/[id]/p.ts", "src/i/p.ts", ":(odd)x")
    git("worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    commit("in a detached worktree", "docs/a.md", cwd=tmp_path / "linked", session=other)
    git("mv", "docs/a.md", "docs/b.md", cwd=tmp_path / "linked")
    git("commit", "-qm", "renamed", cwd=tmp_path / "linked")
    git("clone", "-q", str(repo), str(tmp_path / "far"), cwd=tmp_path)
    git("switch", "-qc", "theirs", cwd=tmp_path / "far")
    commit("fetched", "src/x.py", cwd=tmp_path / "far")
    git("remote", "add", "far", str(tmp_path / "far")), git("fetch", "-q", "far")
    (repo / "src/x.py").write_text("put aside\n"), git("add", "-A"), git("stash", "-q")

    assert [row[2] for row in who("src/x.py")] == ["fetched", "first"]
    assert (
        [row[2] for row in who("src/[id]/p.ts")]
        == [row[2] for row in who(":(odd)x")]
        == ["literal"]
    )
    seen = [("commit", "Test", "renamed"), ("commit", other, "in a detached worktree")]
    assert who("docs/b.md") == [("session", other, "another"), *seen]
    assert who("docs/a.md") == [("session", other, "another"), *seen]
    assert who("docs/ab.md") == []
    assert len(who(".")) == 6  # five commits, and the session that changed something

    # Without a path: who else is at work, and on what.
    quick("lease", "take", "path:docs", "path:src", "--why", "w", "--session", other)
    bare = quick("who", "--session", begun)
    assert bare.out.splitlines()[1].split()[1:5] == ["docs,", "src", "session", other]
    [row] = quick("who", "--session", begun, "--json").data["items"]
    assert (row["paths"], row["text"]) == (["docs", "src"], "another")

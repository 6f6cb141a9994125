"""`atlas init` as a stranger meets it: it says where things go, asks nothing, and shares nothing that
a person at a terminal has not seen first."""

from __future__ import annotations

from pathlib import Path

from ..conftest import Atlas, Git, on_terminal

Env = dict[str, str]


def clone(project: Path, git: Git) -> Path:
    """A project with a remote; the hub."""
    hub = project.parent / "hub.git"
    git("init", "-q", "--bare", str(hub))
    git("remote", "add", "origin", str(hub))
    git("push", "-q", "origin", "HEAD")
    return hub


def test_a_person_at_a_terminal_sees_first_what_would_go_where(
    bare_project: Path, env: Env, git: Git
) -> None:
    hub, own = clone(bare_project, git), env | {"TERM": "dumb"}
    del own["CODEX_THREAD_ID"]

    def typed(*args: str) -> str:
        done = on_terminal(args, bare_project, own)
        assert done.code == 0, done.out
        return done.out

    made = typed("init", "--person")
    assert f"atlas init --publish puts its branch atlas at origin ({hub})" in made
    assert "you are tester-" in made and "[Y/n]" not in made
    kept = "it is kept in this clone: atlas sync shares it"
    assert kept in typed("begin", "--goal", "a look")
    assert kept in typed("lease", "take", "gpu0", "--why", "w"), "as if there were no remote"
    assert "kept in this clone" in typed("init") and "atlas" not in git("for-each-ref", cwd=hub)
    assert "published at" in typed("init", "--publish")
    assert "refs/heads/atlas" in git("for-each-ref", cwd=hub)
    assert "published at" in typed("lease", "release", "gpu0")


def test_a_program_shares_at_once_unless_it_is_told_not_to(
    bare_project: Path, atlas: Atlas, git: Git
) -> None:
    hub = clone(bare_project, git)
    assert atlas("init", "--local", "--publish").code == 2
    assert atlas("init", "--local").code == 0 and "atlas" not in git("for-each-ref", cwd=hub)
    assert atlas("begin", "--goal", "g").code == 0
    assert atlas("status", "write", "-m", "mine").code == 0
    assert "atlas" not in git("for-each-ref", cwd=hub)
    assert atlas("sync").code == 0 and "refs/heads/atlas" in git("for-each-ref", cwd=hub)
    other = bare_project.parent / "other"
    git("clone", "-q", str(hub), str(other), cwd=hub.parent)
    assert "joined" in atlas("init", cwd=other).out

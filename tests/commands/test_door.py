"""`atlas init` as a stranger meets it: it says where things go, asks nothing, and shares nothing that
a person at a terminal has not seen first."""

from __future__ import annotations

from pathlib import Path

from atlas_cli.store import lock

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


def test_it_goes_as_it_came_and_says_what_stays(
    bare_project: Path, tmp_path: Path, atlas: Atlas, git: Git
) -> None:
    hub = clone(bare_project, git)
    git("worktree", "add", "-q", "../wt")
    before = names_in(bare_project)
    assert atlas("init").code == 0
    assert atlas("setup", "agents").code == 0
    assert atlas("begin", "--goal", "g").code == 0
    assert atlas("status", "write", "-m", "mine", "--offline").code == 0
    assert atlas("status", "show", cwd=tmp_path / "wt").code == 0
    alone = atlas("uninstall")
    assert alone.code == 6 and "this clone alone has 1 write" in alone.err
    assert atlas("sync").code == 0
    assert atlas("begin", "--goal", "other", CODEX_THREAD_ID="two").code == 0
    busy = atlas("uninstall")
    assert busy.code == 6 and "is at work" in busy.err
    assert atlas("end", "-m", "done", CODEX_THREAD_ID="two").code == 0
    (tmp_path / "wt/.atlas/mine.txt").write_text("laid by hand\n")
    with lock.held(bare_project / ".git/atlas/writer.lock"):
        busy = atlas("uninstall")
    assert busy.code == 1 and "another command writes the store" in busy.err
    gone = atlas("uninstall")
    assert gone.code == 0 and f"{tmp_path / 'wt/.atlas/mine.txt'}" in gone.out
    assert f"the branch atlas stays at origin ({hub})" in gone.out
    assert "Atlas's part of AGENTS.md stays: atlas setup agents --remove" in gone.out
    assert atlas("setup", "agents", "--remove").code == 0
    assert names_in(bare_project) == before
    assert [path.name for path in (tmp_path / "wt/.atlas").iterdir()] == ["mine.txt"]
    assert atlas("status", "show").code == 7
    back = atlas("begin", "--goal", "again")
    assert back.code == 0 and "joined the store" in back.err, "nothing was lost"


def names_in(repo: Path) -> list[str]:
    """The names of all that lies in a repository, but for the objects and logs of its user."""
    names = (path.relative_to(repo).as_posix() for path in repo.rglob("*"))
    return sorted(name for name in names if not name.startswith((".git/objects", ".git/logs")))


def test_the_policy_is_edited_in_the_editor_that_git_would_choose(
    begun: str, repo: Path, env: Env, git: Git, tmp_path: Path
) -> None:
    own = env | {"TERM": "dumb", "ATLAS_SESSION": begun}
    git("config", "core.editor", "sed -i s/^format:.*/format:/", cwd=repo)
    bad = on_terminal(("config", "edit"), repo, own)
    assert bad.code in (2, 6) and "drafts" in bad.out, "what was typed is kept"
    (tmp_path / "my editor").write_text(
        '#!/bin/sh\nsed -i "s/^# status_words:.*/status_words: 300/" "$1"\n'
    )
    (tmp_path / "my editor").chmod(0o755)
    done = on_terminal(("config", "edit"), repo, own | {"GIT_EDITOR": f"'{tmp_path}/my editor'"})
    assert done.code == 0 and "the policy was changed" in done.out
    failed = on_terminal(("config", "edit"), repo, own | {"GIT_EDITOR": "false"})
    assert failed.code == 1 and "false failed; the policy stays as it was" in failed.out

"""Who can write nothing but the worktree: a sandboxed session's writes wait in `.atlas/outbox/`,
and the next command that can write the store takes them in, under the rules of a sync."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..conftest import DECISION, INDEX, NOTEBOOK, Atlas, Git, Result, command
from .fleet import done

CAPS = "-dac_override,-dac_read_search"  # what lets root write past a file's mode


class Sandbox:
    """Runs `atlas` where neither the git directory nor the home folder can be written."""

    def __init__(self, repo: Path, env: dict[str, str]) -> None:
        self.repo, self.box = repo, repo / ".atlas/outbox"
        self.env = env | {"CODEX_THREAD_ID": "sandboxed"}
        self.closed = (repo / ".git", Path(env["HOME"]))

    def __call__(self, *args: str, data: bytes = b"") -> Result:
        for folder in self.closed:
            subprocess.run(["chmod", "-R", "a-w", folder], check=True)
        weak = (
            ["setpriv", "--bounding-set", CAPS, "--inh-caps", CAPS, "--"]
            if os.geteuid() == 0
            else []
        )
        try:
            ran = subprocess.run(
                [*weak, *command(*args)],
                cwd=self.repo,
                env=self.env,
                input=data,
                capture_output=True,
                check=False,
            )
        finally:
            for folder in self.closed:
                subprocess.run(["chmod", "-R", "u+w", folder], check=True)
        return Result(ran.returncode, ran.stdout.decode(), ran.stderr.decode())


@pytest.fixture
def sandbox(repo: Path, env: dict[str, str], atlas: Atlas) -> Iterator[Sandbox]:
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        pytest.skip(
            "no setpriv here: nothing was seen of a caller that cannot write the git directory"
        )
    done(atlas("begin", "--goal", "outside"))
    done(atlas("status", "write", "-m", "as seen outside"))
    found = Sandbox(repo, env)
    yield found
    for folder in found.closed:
        subprocess.run(["chmod", "-R", "u+w", folder], check=True)


def test_a_sandboxed_session_works_and_is_taken_in(
    sandbox: Sandbox, atlas: Atlas, git: Git
) -> None:
    before = done(sandbox("decision", "list", "--json"))
    assert sandbox(*DECISION).code == 5 and before.data["total"] == 0, "it has not begun"
    begun = done(sandbox("begin", "--goal", "inside", "--json"))
    assert begun.json["store"]["published"] is False
    assert "as seen outside" in done(sandbox("status", "show")).out
    assert (
        "takes it in"
        in done(sandbox("status", "write", "--section", "in", "-m", "as done inside")).out
    )
    held = sandbox("lease", "take", "gpu0", "--why", "w")
    assert held.code == 8 and "gpu0 was given back" in held.err
    assert "NOT PUBLISHED" in done(sandbox("end", "-m", "that was it")).out
    seen = git("status", "--short", "--untracked-files=all")
    assert seen == "?? .atlas/outbox/waiting.bundle", "so that git does not remove the worktree"

    taken = done(atlas("status", "show"))
    assert (
        "taken in from" in taken.err
        and "that was it" in taken.out
        and "as seen outside" in taken.out
    )
    assert list(sandbox.box.glob("*bundle*")) == [] and git("status", "--short") == ""
    assert atlas("session", "show", begun.data["id"], "--json").data["ended"]
    done(atlas("verify", "--full"))
    assert done(atlas("status", "show")).err == "", "once"

    again = done(sandbox("begin", "--goal", "once more"))
    assert "that was it" in again.out, "it sees what the store has"
    done(sandbox(*DECISION))
    assert done(atlas("decision", "list", "--json")).data["total"] == 1


def test_what_contradicts_is_parked(sandbox: Sandbox, atlas: Atlas) -> None:
    done(sandbox("begin", "--goal", "inside"))
    done(sandbox("artifact", "put", "plan", "-", data=b"of the sandbox\n"))
    waiting = sandbox.box / "waiting.bundle"
    kept = waiting.read_bytes()
    waiting.unlink(), waiting.mkdir()
    assert "cannot be laid" in done(sandbox(*DECISION)).err, "it is recorded all the same"
    waiting.rmdir()
    done(atlas("artifact", "put", "plan", "-", data="of outside\n"))
    waiting.write_bytes(kept)
    assert "PARKED" in done(sandbox(*DECISION)).err, "there; who works outside is told all the same"
    assert "1 contradict what is here, and are parked" in done(atlas("log")).err
    assert done(atlas("parked", "list", "--json")).data["total"] == 1
    stopped = sandbox("artifact", "put", "plan", "-", data=b"of the sandbox\n")
    assert stopped.code in (3, 5) and "of outside" in sandbox("artifact", "show", "plan").out


def test_it_waits_for_what_it_stands_on_and_survives_a_kill(sandbox: Sandbox, atlas: Atlas) -> None:
    done(sandbox("begin", "--goal", "inside"))
    done(sandbox(*DECISION))
    shutil.rmtree(sandbox.box / "store.git")
    assert sandbox("status", "show").err == "", "it is not the one to take in what waits"
    done(
        sandbox("begin", "--goal", "another store")
    )  # what the first has left waits beside what this one lays
    done(sandbox("signal", "post", "status", "--about", "path:src/x.py", "-m", "more"))
    assert done(atlas("decision", "list", "--json")).data["total"] == 1
    assert done(atlas("signal", "list", "--json")).data["total"] == 1
    done(atlas("verify", "--full"))


def test_what_the_clone_has_not_published_may_move_on(
    sandbox: Sandbox, atlas: Atlas, git: Git, tmp_path: Path
) -> None:
    git("init", "-q", "--bare", "-b", "main", "../hub.git")
    git("remote", "add", "origin", "../hub.git"), git("push", "-q", "origin", "HEAD:main")
    done(atlas("sync"))
    git("clone", "-q", "../hub.git", "../other")
    done(atlas("begin", "--goal", "other", cwd=tmp_path / "other"))
    done(atlas("--offline", *DECISION))
    done(sandbox("begin", "--goal", "inside")), done(sandbox(*DECISION))
    kept = sandbox.box / "kept"
    (sandbox.box / "waiting.bundle").rename(kept)
    done(atlas(*DECISION, cwd=tmp_path / "other")), done(atlas("sync"))
    done(sandbox(*DECISION))
    assert "rewritten" not in sandbox("sync").err
    done(atlas("outbox", "import", str(kept))), done(atlas("verify", "--full"))
    assert done(atlas("decision", "list", "--json")).data["total"] == 4


def test_a_store_that_came_with_the_project_is_not_opened(sandbox: Sandbox, atlas: Atlas) -> None:
    done(sandbox("begin", "--goal", "inside"))
    shutil.rmtree(sandbox.box / "store.git/.git")  # git checks out nothing of that name
    stopped = sandbox("status", "show")
    assert stopped.code == 6 and "came with the project's files" in stopped.err
    done(atlas("status", "show"))


def test_what_waits_in_another_worktree_is_taken_in(
    sandbox: Sandbox, atlas: Atlas, git: Git, tmp_path: Path
) -> None:
    git("worktree", "add", "-q", "../linked")
    inside = Sandbox(tmp_path / "linked", sandbox.env)
    inside.closed = sandbox.closed
    for one in (sandbox, inside):
        done(one("begin", "--goal", "inside")), done(one(*DECISION))
    assert done(atlas("decision", "list", "--json")).data["total"] == 2
    done(sandbox(*DECISION))
    assert done(atlas("decision", "list", "--json", cwd=inside.repo)).data["total"] == 3
    assert list(tmp_path.glob("*/.atlas/outbox/*.bundle")) == []


@pytest.mark.parametrize("how", ["tracked", "link", "rubbish"])
def test_what_others_laid_there_is_not_taken_in(
    sandbox: Sandbox, atlas: Atlas, git: Git, how: str
) -> None:
    done(sandbox("begin", "--goal", "inside"))
    done(sandbox(*DECISION))
    waiting = sandbox.box / "waiting.bundle"
    if how == "tracked":
        git("add", "-f", ".atlas/outbox/waiting.bundle")
    elif how == "link":
        sandbox.box.rename(sandbox.repo / "elsewhere")
        sandbox.box.symlink_to(sandbox.repo / "elsewhere")
    else:
        waiting.write_bytes(b"# v2 git bundle\nrubbish\n")
    seen = done(atlas("decision", "list", "--json"))
    assert seen.data["total"] == 0
    said = " ".join(seen.json["notices"])
    if how == "rubbish":
        assert "is no outbox of a store" in said and list(sandbox.box.glob("refused*"))
        assert "outbox" not in str(done(atlas("log", "--json")).json["notices"]), "once"
    else:
        assert "was not taken in" in said and waiting.exists()


def test_what_this_clone_has_not_laid_is_not_taken_in(
    sandbox: Sandbox, atlas: Atlas, git: Git, tmp_path: Path
) -> None:
    done(atlas("--offline", *DECISION)), done(atlas("outbox", "export", "../forged"))
    done(sandbox("begin", "--goal", "inside")), done(sandbox(*DECISION))
    box, root, saved = sandbox.box, sandbox.repo / ".atlas", tmp_path / "saved"
    waiting, laid = box / "waiting.bundle", (box / "waiting.bundle").read_bytes()
    root.rename(saved)

    def another() -> None:
        waiting.write_bytes((tmp_path / "forged").read_bytes())

    def copied() -> (
        None
    ):  # as a checkout leaves it: all but what has a name that git checks nothing out under
        shutil.rmtree(box / ".git"), shutil.rmtree(box / "store.git")

    def a_file_of_that_name() -> None:
        shutil.rmtree(box / ".git"), (box / ".git").write_text("gitdir: ../elsewhere\n")

    def its_own_repository() -> None:
        (root / ".git").write_text("gitdir: ../elsewhere\n")

    def a_link() -> None:
        waiting.rename(tmp_path / "laid"), waiting.symlink_to(tmp_path / "laid")

    def a_submodule() -> None:
        shutil.rmtree(root), git("init", "-q", "../sub")
        (
            (tmp_path / "sub/outbox").mkdir(),
            (tmp_path / "sub/outbox/waiting.bundle").write_bytes(laid),
        )
        git("add", ".", cwd=tmp_path / "sub"), git("commit", "-qm", "x", cwd=tmp_path / "sub")
        git(
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
            "-f",
            "../sub",
            ".atlas",
        )

    for laying in (another, copied, a_file_of_that_name, its_own_repository, a_link, a_submodule):
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(saved, root, symlinks=True)
        laying()
        seen = done(atlas("decision", "list", "--json"))
        said = str(seen.json["notices"])
        assert seen.data["total"] == 1, (laying, said)
        if laying in (another, copied, a_file_of_that_name):
            (kept,) = box.glob("refused.*")
            assert "that a session of this clone has laid" in said and "import" not in said
            assert kept.stat().st_size and "outbox" not in str(
                done(atlas("log", "--json")).json["notices"]
            ), "once"
        else:
            assert os.path.lexists(waiting) and "not taken in" in said, laying
    git("rm", "-qrf", "--cached", ".atlas", ".gitmodules"), git("reset", "-q")
    shutil.rmtree(root), saved.rename(root)
    assert done(atlas("decision", "list", "--json")).data["total"] == 2, "what is ours is taken in"


def test_an_outbox_is_made_through_no_link(sandbox: Sandbox, git: Git, tmp_path: Path) -> None:
    shutil.rmtree(sandbox.repo / ".atlas")
    for hole in (sandbox.repo / ".atlas", sandbox.box):
        (tmp_path / "outside").mkdir(exist_ok=True)
        hole.parent.mkdir(exist_ok=True)
        hole.symlink_to(tmp_path / "outside")
        stopped = sandbox("begin", "--goal", "inside")
        assert stopped.code == 1 and "cannot be made" in stopped.err, stopped
        assert list((tmp_path / "outside").iterdir()) == []
        hole.unlink()
    sandbox.box.mkdir()
    (sandbox.box / INDEX).symlink_to(tmp_path / "outside/made")
    git("add", "-f", ".atlas")
    stopped = sandbox("begin", "--goal", "inside")
    assert stopped.code == 1 and f"git tracks .atlas/outbox/{INDEX}" in stopped.err, stopped
    git("reset", "-q"), (sandbox.box / INDEX).unlink()
    done(sandbox("begin", "--goal", "inside"))
    (sandbox.box / f"{NOTEBOOK}-wal").unlink(missing_ok=True)
    (sandbox.box / f"{NOTEBOOK}-wal").symlink_to(tmp_path / "outside/made")
    assert sandbox("status").code == 6 and list((tmp_path / "outside").iterdir()) == []


def test_a_sandboxed_clone_without_a_store(
    bare_project: Path, env: dict[str, str], atlas: Atlas, git: Git
) -> None:
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        pytest.skip(
            "no setpriv here: nothing was seen of a caller that cannot write the git directory"
        )
    sandbox = Sandbox(bare_project, env)
    (bare_project / ".git/info/exclude").write_text("")
    done(sandbox("init", "--no-hooks"))
    done(sandbox("begin", "--goal", "inside"))
    assert "outbox/drafts" in sandbox("status", "write", "-m", "w " * 300).err
    seen = git("status", "--short", "--untracked-files=all")
    assert seen == "?? .atlas/outbox/waiting.bundle"
    done(sandbox(*DECISION))
    done(atlas("init", "--no-hooks"))
    assert done(atlas("decision", "list", "--json")).data["total"] == 1
    done(atlas("verify", "--full"))

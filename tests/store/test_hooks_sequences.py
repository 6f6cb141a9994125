"""Each row of what was measured of git: which commits run which hooks, whose trailers they carry,
and that the hooks change nothing of what is committed."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from atlas_cli.hooks import NAMES

from .hooked import Project
from .test_hooks import STATUS, TO_ALL, first, hint, policy


def branched(project: Project, count: int = 3) -> None:
    """Commits on `side`, made without Atlas by somebody else, and one on main."""
    project.ok("config", "core.hooksPath", "/dev/null")
    project.ok("checkout", "-q", "-b", "side")
    for number in range(count):
        project.commit(f"side/{number}", "--author=Else <else@example.invalid>", who="nobody")
    project.ok("checkout", "-q", "main")
    project.commit("docs/page.md", who="nobody")
    project.ok("config", "--unset", "core.hooksPath")


Act = Callable[[Project, str], None]


def _merge(project: Project, cwd: str) -> None:
    project.ok("merge", "-q", "--no-edit", "side", cwd=cwd)


def _rebase(project: Project, cwd: str) -> None:
    project.ok("checkout", "-q", "--detach", "side", cwd=cwd)
    project.ok("rebase", "-q", "main", cwd=cwd)


def _plain(*args: str, stage: bool = True) -> Act:
    def act(project: Project, cwd: str) -> None:
        project.write("src/x.py", "changed\n", cwd)
        project.write("src/y.py", "changed too\n", cwd)
        if stage:
            project.ok("add", "src/x.py", cwd=cwd)
        project.ok("commit", "-qm", "x", *args, cwd=cwd)

    return act


def _git(*args: str) -> Act:
    def act(project: Project, cwd: str) -> None:
        project.ok(*args, cwd=cwd)

    return act


ACTS: dict[str, tuple[Act, bool]] = {
    "commit": (_plain(), True),
    "commit -a": (_plain("-a", stage=False), True),
    "commit -- path": (_plain("--", "src/y.py"), True),
    "commit --no-verify": (_plain("--no-verify"), True),
    "commit --amend": (_plain("--amend"), True),
    "merge": (_merge, True),
    "rebase": (_rebase, False),
    "cherry-pick": (_git("cherry-pick", "side"), False),
    "cherry-picks": (_git("cherry-pick", "side~2..side"), False),
    "revert": (_git("revert", "--no-edit", "HEAD"), True),
}


def trees(project: Project, cwd: str) -> list[str]:
    """The trees, parents' count and authors of the newest commits, and the state of the
    worktree."""
    log = project.ok("log", "-5", "--format=%T %an %s", cwd=cwd)
    return [
        *log.splitlines(),
        project.ok("status", "--porcelain", cwd=cwd),
        project.ok("ls-files", "-s", cwd=cwd),
    ]


@pytest.mark.parametrize("cwd", ["", "../linked"], ids=["main", "linked"])
def test_a_commit_has_the_same_tree_as_without_hooks(cwd: str, project: Project) -> None:
    branched(project)
    project.ok("worktree", "add", "-q", "--detach", "../linked")
    off = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.hooksPath",
        "GIT_CONFIG_VALUE_0": "/dev/null",
    }
    env = project.env
    for act, (do, signed) in ACTS.items():
        found = []
        for more in ({}, off):
            project.env = env | off
            project.ok("checkout", "-qf", "--detach", "main", cwd=cwd)
            project.env = env | more
            do(project, cwd)
            found.append(trees(project, cwd))
            assert project.trailers(cwd=cwd) == (project.signs() if signed and not more else []), (
                act
            )
        assert found[0] == found[1], act


def test_the_very_first_commit(project: Project) -> None:
    project.ok("checkout", "-q", "--orphan", "fresh")
    project.ok("rm", "-rqf", "--cached", ".")
    project.atlas("bob", "lease", "take", "path:src/x.py", "--why", "w")
    project.ok("add", "src/x.py")
    done = project("commit", "-qm", "root")
    assert (done.code, "src/x.py: path:src/x.py is held" in done.err) == (0, True)
    assert project.ok("ls-tree", "-r", "--name-only", "HEAD") == "src/x.py"
    assert project.trailers() == project.signs()


def test_which_hooks_git_runs(project: Project, tmp_path: Path) -> None:
    """The facts that all this rests on: pre-commit and commit-msg are left out where
    prepare-commit-msg is not."""
    branched(project)
    for name in NAMES:
        file = project.top / ".git/hooks" / name
        first, rest = file.read_text().split("\n", 1)
        file.write_text(f"{first}\necho {name} >> {tmp_path}/ran\n{rest}")
    wanted = {
        "commit": ["pre-commit", "prepare-commit-msg", "commit-msg"],
        "commit --no-verify": ["prepare-commit-msg"],
        "commit --amend": ["pre-commit", "prepare-commit-msg", "commit-msg", "post-rewrite"],
        "merge": ["pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-merge"],
        "revert": ["prepare-commit-msg"],
        "cherry-pick": ["prepare-commit-msg"],
        "rebase": ["post-checkout", "post-checkout", *["prepare-commit-msg"] * 3, "post-rewrite"],
    }
    for act, hooks in wanted.items():
        project.ok("checkout", "-qf", "--detach", "main")
        (tmp_path / "ran").write_text("")
        ACTS[act][0](project, "")
        assert (tmp_path / "ran").read_text().split() == hooks, act


def test_an_editor_a_template_and_giving_up(project: Project, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text(
        f'#!/bin/sh\ncp "$1" {tmp_path}/seen\n[ -z "$TYPE" ] || printf "%b" "$TYPE" > "$1"\n'
    )
    editor.chmod(0o755)
    edit = {"GIT_EDITOR": str(editor)}
    project.write("src/x.py", "1")
    assert project("commit", "-qa", **edit).code == 1, (
        "quitting the editor gives up, as without hooks"
    )
    assert "Atlas" not in (tmp_path / "seen").read_text()
    assert project("commit", "-qa", GIT_EDITOR=":").code == 1, "and so does an editor that is none"
    project.ok("commit", "-qa", TYPE="typed\\n\\nbody\\n# a comment\\n", **edit)
    assert project.message() == "typed\n\nbody\n\n" + "\n".join(project.signs())
    for extra in (("-v",), ("-c", "x"), ("-v", "-e", "-m", "told")):
        config, args = (
            (("-c", "core.commentChar=;"), ("-e", "-m", "told"))
            if extra[0] == "-c"
            else ((), extra)
        )
        project.write("src/x.py", repr(extra))
        project.ok(
            *config, "commit", "-qa", *args, TYPE="" if "told" in args else "typed\\n", **edit
        )
        assert project.message() == ("told" if "told" in args else "typed") + "\n\n" + "\n".join(
            project.signs()
        ), extra
    project.write("src/x.py", "auto")
    project.ok(
        "-c", "core.commentChar=auto", "commit", "-qa", "-e", "-m", "told\n\n#1 is done", **edit
    )
    assert project.message() == "told\n\n#1 is done\n\n" + "\n".join(project.signs())
    project.write("src/x.py", "plain")
    project.ok("commit", "-qa", "-m", "told\n\n#1 is done")
    assert project.message() == "told\n\n#1 is done\n\n" + "\n".join(project.signs())
    project.write("template", "What and why\n")
    project.write("src/x.py", "t")
    assert project("commit", "-qa", "-t", "template", **edit).code == 1, (
        "a template that nobody filled in"
    )
    project.ok("commit", "-qa", "-t", "template", TYPE="filled in\\n", **edit)
    assert project.message() == "filled in\n\n" + "\n".join(project.signs())
    assert project("commit", "--allow-empty", "-qm", "").code == 1, "an empty message"


def test_amending_signs_once_and_never_anothers(project: Project) -> None:
    project.commit("src/x.py")
    project.atlas("bob", *STATUS)
    project.atlas("ann", "status", "show")
    for args in (("--no-edit",), ("-m", "again"), ("--no-edit", "--no-verify")):
        project.ok("commit", "-q", "--amend", *args)
        assert project.trailers() == project.signs("ann", 2)
    project.ok("commit", "-q", "--amend", "--no-edit", who="bob")
    assert project.trailers() == project.signs("ann", 2)
    project.write("src/x.py", "fix")
    project.ok("commit", "-qa", "--fixup", "HEAD")
    assert project.trailers() == project.signs("ann", 2)


def unread(project: Project, words: str = "two") -> None:
    """What a sequence passed over is unread still: the next commit of one's own stops for it."""
    done = project("commit", "-q", "--allow-empty", "-m", "own")
    assert "stop 5 (read first)" in first(done) and f"alert: {words}" in done.err


def test_a_rebase_of_thirty_commits_brands_nobody_and_stops_for_nothing(project: Project) -> None:
    branched(project, 30)
    project.atlas("bob", *TO_ALL)
    project.ok("checkout", "-q", "side")
    done = project("rebase", "main")
    assert (done.code, "atlas" in done.err, "notice" in done.err) == (0, False, False)
    assert project.ok("rev-list", "--count", "main..side") == "30"
    assert set(project.ok("log", "--format=%an|%(trailers)", "main..side").split("\n")) == {"Else|"}
    unread(project)


@pytest.mark.parametrize(
    "todo",
    ["3s/pick/fixup/", "3s/pick/squash/", "2s/pick/reword/", "2s/^/exec true\\n/", "1s/pick/edit/"],
)
@pytest.mark.parametrize("onto", ["main", "side~3"])
def test_a_rebase_ends_as_without_hooks(todo: str, onto: str, project: Project) -> None:
    """Whatever was written meanwhile, and whatever the policy stops commits for."""
    branched(project)
    how = {"GIT_SEQUENCE_EDITOR": f"sed -i -e '{todo}'", "GIT_EDITOR": "sed -i '1s/^/said: /'"}
    command = ("rebase", "-q", "-i", "--autostash", onto)
    policy(project, leases="stop")
    project.atlas("bob", *TO_ALL)
    project.atlas("bob", "lease", "take", "path:side", "--why", "w")
    for branch, hooks in (("again", "/dev/null"), ("side", ".git/hooks")):
        project.ok("-c", "core.hooksPath=/dev/null", "checkout", "-q", "-B", branch, "side", "--")
        project.write("src/y.py", "not committed")
        for words in (command, *[("rebase", "--continue")] * ("edit" in todo)):
            done = project("-c", f"core.hooksPath={hooks}", *words, **how)
            assert (done.code, "atlas" in done.err) == (0, False), done
        assert project.ok("status", "--porcelain") == "M src/y.py"
        project.ok("checkout", "-q", "--", ".")
    for form in ("%T", "%B"):
        made = [project.ok("log", f"--format={form}", name, "--") for name in ("side", "again")]
        assert made[0] == made[1]
    unread(project)


@pytest.mark.parametrize("step", [("commit", "-q", "--no-edit"), ("rebase", "--continue")], ids=str)
def test_a_conflict_of_a_rebase_is_resolved_without_a_word(
    step: tuple[str, ...], project: Project
) -> None:
    branched(project)
    project.ok("checkout", "-q", "side")
    project.commit("docs/page.md")
    signs = project.trailers()
    assert project("rebase", "main").code == 1
    project.write("docs/page.md", "resolved")
    project.ok("add", "docs")
    project.atlas("bob", *TO_ALL)
    done = project(*step)
    assert (done.code, "atlas" in done.err, "notice" in done.err) == (0, False, False), done
    if step[0] == "commit":
        project.ok("rebase", "--continue")
    assert (project.ok("show", "side:docs/page.md"), project.trailers()) == ("resolved", signs)
    unread(project)


def test_no_push_judges_the_view_and_links_so_a_sequence_does(project: Project) -> None:
    """Of a commit that its user makes; git itself is never stopped."""
    branched(project)
    project.ok("checkout", "-q", "side")
    project.write("docs/index.md", "[page](page.md)\n")
    project.ok("add", "docs")
    project.ok("commit", "-qm", "a link")
    project.ok("rebase", "-q", "-i", "HEAD~2", GIT_SEQUENCE_EDITOR="sed -i '2s/pick/edit/'")
    project.ok("add", "-f", ".atlas/AS-OF")
    assert first(project("commit", "-qm", "x")).startswith("atlas: error (view): ")
    project.ok("rm", "-rqf", "--cached", ".atlas")
    project.ok("mv", "docs/page.md", "docs/moved.md")
    assert first(project("commit", "-qm", "x")).startswith("atlas: stop 5 (links): ")
    done = project("commit", "-qm", "x", who="nobody", CODEX_THREAD_ID="another")
    assert first(done).startswith("atlas: stop 5 (no session): ")
    assert "then run the same git command again" in done.err
    project.write("docs/index.md", "[page](moved.md)\n")
    project.ok("add", "docs")
    project.ok("commit", "-qm", "x")
    nobody = {"who": "nobody", "CODEX_THREAD_ID": "another"}
    assert project("rebase", "--continue", **nobody).code == 0, "it makes no commit of its own"


def test_several_picks_and_reverts_stop_for_nothing(project: Project) -> None:
    branched(project)
    project.commit("src/x.py"), project.commit("src/y.py")
    project.atlas("bob", *TO_ALL)
    for act, signs in (
        (("cherry-pick", "side~2..side"), []),
        (("revert", "--no-edit", "HEAD", "HEAD~1"), project.signs()),
    ):
        done = project(*act)
        assert (done.code, done.err, project.trailers()) == (0, "", signs), act
    unread(project)
    # A folder that git no longer takes for a sequence silences nothing.
    (project.top / ".git/sequencer").mkdir()
    project.write(".git/sequencer/abort-safety", project.ok("rev-parse", "HEAD"))
    assert "progress" not in project.ok("status")
    project.atlas("bob", "signal", "post", "alert", "--about", "src/x.py", "-m", "three")
    assert "stop 5 (read first)" in first(project.commit("src/x.py"))


@pytest.mark.parametrize("act", [("cherry-pick", "side"), ("revert", "--no-edit", "HEAD")], ids=str)
def test_a_stop_of_one_pick_or_revert_loses_nothing(act: tuple[str, ...], project: Project) -> None:
    """One is its user's own act, and git says nothing beside: it is judged as a commit is."""
    branched(project)
    before = int(project.ok("rev-list", "--count", "HEAD"))
    project.atlas("bob", *TO_ALL)
    done = project(*act)
    assert "stop 5 (read first)" in first(done)
    if act[0] == "revert":
        project.ok(*hint(done, r"git (commit --no-edit) makes"))
        assert project.trailers() == project.signs()
    else:
        project.ok(*hint(done, r"git (-c \S+ cherry-pick --continue) goes on"))
        assert project.trailers() == []
    assert int(project.ok("rev-list", "--count", "HEAD")) == before + 1
    assert project.ok("status", "--porcelain") == ""


def test_a_commit_made_in_the_middle_of_a_rebase_is_ones_own(project: Project) -> None:
    branched(project)
    project.ok("checkout", "-q", "side")
    project.ok("rebase", "-q", "-i", "main", GIT_SEQUENCE_EDITOR="sed -i '1s/pick/edit/'")
    project.ok("commit", "-q", "--amend", "--no-edit")
    assert project.trailers() == [], "another's commit stays another's"
    project.commit("src/x.py")
    assert project.trailers() == project.signs()
    project.ok("rebase", "--continue")
    project.commit("src/y.py", "--fixup", "side~1")
    project.ok("rebase", "-q", "-i", "--autosquash", "main", GIT_SEQUENCE_EDITOR="true")
    marked = project.ok(
        "log", "--format=%s|%(trailers:key=Atlas-Session,valueonly)", "main..side"
    ).split("\n")
    assert [line.partition("|")[0] for line in marked if project.sessions["ann"] in line] == [
        "change src/x.py"
    ]


def test_a_merge_answers_for_its_own_changes_only(project: Project) -> None:
    branched(project)
    project.atlas("bob", "lease", "take", "path:side", "path:docs", "--why", "w")
    assert project("merge", "-q", "--no-edit", "side").err == ""
    project.ok("reset", "-q", "--hard", "HEAD^")
    project.atlas("bob", *TO_ALL)
    done = project("merge", "-q", "--no-edit", "side")
    assert "stop 5 (read first)" in first(done)
    project.ok(*hint(done, r"git (commit --no-edit) completes"))
    assert project.ok("log", "-1", "--format=%P").count(" ") == 1


def test_a_conflict_resolved_by_hand(project: Project) -> None:
    branched(project)
    project.ok("checkout", "-q", "side")
    project.commit("docs/page.md")
    for command in (("merge", "main"), ("rebase", "main"), ("cherry-pick", "main")):
        assert project(*command).code == 1
        project.write("docs/page.md", "resolved " + command[0])
        project.ok("add", "docs")
        project.ok(
            *(
                ("commit", "-q", "--no-edit")
                if command[0] == "merge"
                else (command[0], "--continue")
            )
        )
        assert project.trailers() == (project.signs() if command[0] != "cherry-pick" else []), (
            command
        )
        project.ok("reset", "-q", "--hard", "ORIG_HEAD" if command[0] == "rebase" else "HEAD~1")


def test_notices_after_the_fact_never_fail(project: Project) -> None:
    branched(project)
    project.atlas("bob", *TO_ALL)
    done = project("checkout", "-q", "side")
    assert (done.code, "the status moved on: 1 signal" in done.err) == (0, True)
    assert (
        subprocess.run(
            ["git", "checkout", "-q", "main"],
            cwd=project.top,
            env=project.env | {"ATLAS_SESSION": "none"},
        ).returncode
        == 0
    )

"""Atlas in the user's git hooks: beside what is there, and out again to the byte. A stand-in
answers for Atlas."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from atlas_cli.errors import Failed, Refused
from atlas_cli.hooks import NAMES
from atlas_cli.hooks.install import HookFiles
from atlas_cli.store.repo import find

from ..conftest import ROOT, Atlas, Git
from .snap import difference, picture

# Says what it was called with, and what there was to read; ends as it is told to.
STAND_IN = """\
import os, sys
log = os.environ.get("LOG")
if log:
    with open(log, "ab") as out:
        out.write(b"atlas " + os.fsencode(" ".join(sys.argv[1:])) + b"\\n" + (sys.stdin.buffer.read() if sys.argv[1] in ("pre-push", "post-rewrite") else b""))
sys.exit(int(os.environ.get("ATLAS_SAYS", "0")))
"""
THEIRS = 'echo "theirs $0 $*" >>"$LOG"\n[ "${0##*/}" != pre-push ] || cat >>"$LOG"\nexit ${THEY_SAY:-0}\n'
PYTHON = f"#!{sys.executable} -IS\nimport os, sys\nopen(os.environ['LOG'], 'a', errors='surrogateescape').write('theirs ' + ' '.join(sys.argv) + chr(10))\nif sys.argv[0].endswith('push'): open(os.environ['LOG'], 'ab').write(sys.stdin.buffer.read())\nsys.exit(int(os.environ.get('THEY_SAY', '0')))\n"
Make = Callable[[Path], object]


def script(text: str | bytes, mode: int = 0o755) -> Make:
    def make(file: Path) -> None:
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        file.chmod(mode)

    return make


def linked(file: Path) -> None:
    (file.parents[1] / "theirs.sh").write_text(f"#!/bin/sh\n{THEIRS}")
    (file.parents[1] / "theirs.sh").chmod(0o755)
    file.symlink_to("../theirs.sh")


def under_two_names(file: Path) -> None:
    script(f"#!/bin/sh\n[ ${{0##*/}} = {file.name} ] || exit 0\n{THEIRS}")(
        file.with_name("pre-commit")
    )
    file.symlink_to("pre-commit")


FOREIGN: dict[str, Make] = {
    "sh": script(f"#!/bin/sh\n{THEIRS}", 0o750),
    "env bash -eu": script(f"#!/usr/bin/env bash\nset -eu\n{THEIRS}", 0o700),
    "no final line feed": script(f"#!/bin/sh -e\n{THEIRS}".rstrip()),
    "python": script(PYTHON),
    "a link": linked,
    "two names": under_two_names,
    "reads itself": script(
        '#!/bin/sh\n[ "${AGAIN-}" ] || AGAIN=1 exec sh -c "$(sed 1,2d "$0")" "$0" "$@"\n' + THEIRS
    ),
    "no first line": script(THEIRS),
}


@pytest.fixture
def folder(tmp_path: Path, git: Git) -> Path:
    """A repository whose path has everything in it that a shell could trip over."""
    found = Path(os.fsdecode(os.fsencode(tmp_path) + b'/it\'s "a" $HOME `x`\n\xe9 *'))
    found.mkdir()
    git("init", "-q", cwd=found)
    (found / "x").write_text("x\n")
    git("add", ".", cwd=found), git("commit", "-qm", "first", cwd=found)
    return found


@pytest.fixture
def hooks(
    folder: Path, monkeypatch: pytest.MonkeyPatch, env: dict[str, str]
) -> Callable[..., HookFiles]:
    """The hooks of that repository (or of another folder), answered by the stand-in."""
    monkeypatch.setattr(os, "environ", env)
    python, program = folder / "py'th$on", folder / "hook\n's.py"
    python.symlink_to(sys.executable)
    program.write_text(STAND_IN)

    def make(where: Path = folder, closed: bool = False) -> HookFiles:
        made = HookFiles(find(str(where)), closed)
        made.python, made.program = str(python), str(program)
        return made

    return make


def states(hooks: HookFiles) -> set[str]:
    return {hook.state for hook in hooks.status()}


def run(folder: Path, env: dict[str, str], *args: str, **extra: str) -> tuple[int, str, list[str]]:
    """git's exit code, what it said, and what was called in which order."""
    log = folder / "LOG"
    log.unlink(missing_ok=True)
    done = subprocess.run(
        ["git", *args],
        cwd=folder,
        env=env | {"LOG": str(log)} | extra,
        capture_output=True,
        check=False,
    )
    return (
        done.returncode,
        os.fsdecode(done.stderr),
        os.fsdecode(log.read_bytes()).splitlines() if log.exists() else [],
    )


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_hook_that_was_there_still_runs_and_comes_back_to_the_byte(
    kind: str, folder: Path, hooks: Callable[..., HookFiles], env: dict[str, str]
) -> None:
    there = folder / ".git/hooks"
    shutil.rmtree(there)
    there.mkdir()
    FOREIGN[kind](there / "prepare-commit-msg")
    before = picture(there)
    hooks().install()
    once = picture(there)
    *_, kept = [hook.kept for hook in hooks().status() if hook.kept]
    hooks().install()
    assert (
        picture(there) == once
        and states(hooks()) == {"installed"}
        and Path(kept).parent.name in ("hooks", "before-atlas")
    )
    code, _, said = run(folder, env, "commit", "-qm", "one", "--allow-empty")
    assert code == 0 and said[:2] == [
        "atlas pre-commit",
        "atlas prepare-commit-msg .git/COMMIT_EDITMSG message",
    ]
    assert (
        len(said) == 4
        and said[2].startswith("theirs ")
        and said[2].endswith("/prepare-commit-msg .git/COMMIT_EDITMSG message")
    )
    code, _, said = run(folder, env, "commit", "-qm", "two", "--allow-empty", ATLAS_SAYS="5")
    assert code == 1 and said == ["atlas pre-commit"]
    file = str(there / "prepare-commit-msg")
    for ours, theirs, wanted in (("5", "0", 5), ("0", "7", 7)):
        done = subprocess.run(
            [file, "a b", ""],
            env=env | {"LOG": str(folder / "LOG"), "ATLAS_SAYS": ours, "THEY_SAY": theirs},
            cwd=folder,
        )
        assert done.returncode == wanted
    assert (folder / "LOG").read_bytes().count(b"theirs") == 1  # not where ours stops
    hooks().remove()
    assert difference(before, picture(there)) == [] and states(hooks()) == {"absent", "foreign"}
    hooks().remove()
    assert difference(before, picture(there)) == []


@pytest.mark.parametrize("kind", ["sh", "python", "a link", "env bash -eu"])
def test_both_read_the_lines_of_a_push(
    kind: str, folder: Path, hooks: Callable[..., HookFiles], git: Git, env: dict[str, str]
) -> None:
    git("clone", "-q", "--bare", ".", "../far.git", cwd=folder)
    FOREIGN[kind](folder / ".git/hooks/pre-push")
    refs = "".join(
        f"create refs/heads/branch-{number:04} HEAD\n" for number in range(1500)
    )  # more than a pipe holds
    git("update-ref", "--stdin", cwd=folder, data=refs.encode())
    hooks().install()
    code, err, said = run(folder, env, "push", "-q", "../far.git", "--all")
    assert code == 0, err
    cut = next(at for at, line in enumerate(said) if line.startswith("theirs"))
    assert (
        len(said[1:cut]) == 1500
        and said[1:cut] == said[cut + 1 :]
        and said[0] == "atlas pre-push ../far.git ../far.git"
    )
    (folder / "aside").mkdir()
    given, log = b"\xff a\n\n$HOME `id` \\n end\n", folder / "LOG"
    for shell in (
        ([], ["sh", "-eu"], ["bash", "-eu"], ["bash", "--posix"])
        if kind != "env bash -eu"
        else ([],)
    ):
        log.unlink()
        subprocess.run(
            [*shell, folder / ".git/hooks/pre-push", "r", "u"],
            input=given,
            env=env | {"LOG": str(log), "TMPDIR": str(folder / "aside")},
            check=True,
        )
        first, _, rest = log.read_bytes().partition(b"theirs")
        assert first == b"atlas pre-push r u\n" + given and rest.split(b"u\n", 1)[1] == given, shell
    assert list((folder / "aside").iterdir()) == []


def test_a_binary_and_one_that_is_not_executable(
    folder: Path, hooks: Callable[..., HookFiles], env: dict[str, str]
) -> None:
    there = folder / ".git/hooks"
    shutil.copy(shutil.which("false") or "", there / "pre-commit")
    script(f"#!/bin/sh\n{THEIRS}", 0o640)(there / "prepare-commit-msg")
    before = picture(there)
    hooks().install()
    code, _, said = run(folder, env, "commit", "-qm", "one", "--allow-empty")
    assert (code, said) == (1, ["atlas pre-commit"])  # the binary said no
    (there / "before-atlas/pre-commit").chmod(0o644)
    code, _, said = run(folder, env, "commit", "-qm", "one", "--allow-empty")
    assert code == 0 and [line[:5] for line in said] == ["atlas"] * 3
    assert [hook.text[-7:] for hook in hooks().status() if hook.kept] == ["not run", "not run"]
    (there / "before-atlas/pre-commit").chmod(0o755)
    hooks().remove()
    assert difference(before, picture(there)) == []


@pytest.mark.parametrize("where", ["absolute", "relative", "home", "linked"])
def test_they_are_put_where_git_looks(
    where: str,
    folder: Path,
    hooks: Callable[..., HookFiles],
    git: Git,
    env: dict[str, str],
    tmp_path: Path,
    home: Path,
) -> None:
    value = {
        "absolute": str(tmp_path / "a b"),
        "relative": "my hooks",
        "home": "~/their hooks",
        "linked": "",
    }[where]
    spot, settings = folder, folder / ".git/config"
    hooks().install()  # in the usual place
    if value:
        git("config", "core.hooksPath", value, cwd=folder)
        assert states(hooks()) == {"shadowed"}
    else:
        spot = tmp_path / "other"
        git("worktree", "add", "-q", str(spot), cwd=folder)
    was = settings.read_bytes()
    made = hooks(spot)
    assert made.ours == (where in ("relative", "linked"))
    made.install()
    expected = {
        "absolute": tmp_path / "a b",
        "relative": folder / "my hooks",
        "home": home / "their hooks",
    }
    assert sorted(
        file.name
        for file in expected.get(where, folder / ".git/hooks").iterdir()
        if file.suffix == ""
    ) == sorted(NAMES)
    assert states(made) == {"installed"} and settings.read_bytes() == was
    (spot / "sub").mkdir()
    code, _, said = run(spot / "sub", env, "commit", "-qm", "one", "--allow-empty")
    assert code == 0 and said[0] == "atlas pre-commit"
    made.remove()
    assert states(hooks(spot)) == {"absent"} == states(hooks())
    assert run(spot, env, "commit", "-qm", "two", "--allow-empty")[2] == []


def test_a_folder_that_takes_no_hooks_is_named(
    folder: Path, hooks: Callable[..., HookFiles], git: Git
) -> None:
    for value in ("/dev/null", "/proc/none/hooks"):
        git("config", "core.hooksPath", value, cwd=folder)
        assert states(hooks()) == {"absent"}
        with pytest.raises(Failed, match=value):
            hooks().install()
        hooks().remove()


def test_a_folder_that_cannot_be_written_is_left_as_it_is(
    folder: Path, hooks: Callable[..., HookFiles]
) -> None:
    there = folder / ".git/hooks"
    before = picture(there)
    there.chmod(0o555)
    if os.access(there, os.W_OK):
        pytest.skip("root may write anywhere")
    with pytest.raises(Failed, match="pre-commit"):
        hooks().install()
    there.chmod(0o755)
    assert picture(there) == before


def test_without_its_python_a_hook_finds_atlas_or_says_how_to_repair_it(
    folder: Path, hooks: Callable[..., HookFiles], env: dict[str, str], tmp_path: Path
) -> None:
    commit = ("commit", "-qm", "one", "--allow-empty")
    for closed in (False, True):
        made = hooks(closed=closed)
        made.python = str(tmp_path / "it's gone")
        made.install()
        assert states(hooks(closed=closed)) == {"missing"}
        code, err, said = run(folder, env, *commit, PATH="/usr/bin:/bin")
        assert (
            (code, said) == (int(closed), [])
            and err.count("atlas hooks install") == 1
            and "\n" in err
        )
        assert (
            run(folder, env, "checkout", "-q", "-b", f"b{closed}", PATH="/usr/bin:/bin")[0] == 0
        )  # a notice never stops
    (folder / ".atlas").mkdir()
    script("#!/bin/sh\n")(folder / ".atlas/atlas")
    for tracked in (False, True):  # one that the project has brought is no launcher
        if tracked:
            run(folder, env, "add", "-f", ".atlas/atlas", PATH="/usr/bin:/bin")
        err = run(folder, env, *commit, PATH="/usr/bin:/bin")[1]
        assert ("run .atlas/atlas hooks install" in err) != tracked, err
        assert ("install it, then run atlas hooks install" in err) == tracked, err
    run(folder, env, "rm", "-qrf", "--cached", ".atlas", PATH="/usr/bin:/bin")
    (tmp_path / "bin").mkdir()
    script('#!/bin/sh\necho "from PATH $*" >>"$LOG"\n')(tmp_path / "bin/atlas-hook")
    code, err, said = run(folder, env, *commit, PATH=f"{tmp_path}/bin:/usr/bin:/bin")
    assert (code, err, said[0]) == (0, "", "from PATH pre-commit")
    script("#!/nowhere/python3\n")(tmp_path / "bin/atlas-hook")  # what is left of an installation
    code, err, _ = run(folder, env, *commit, PATH=f"{tmp_path}/bin:/usr/bin:/bin")
    assert (code, "atlas hooks install" in err) == (1, True), "closed"
    made = hooks()
    made.python = str(tmp_path / "it's gone")
    made.install()
    code, err, _ = run(folder, env, *commit, PATH=f"{tmp_path}/bin:/usr/bin:/bin")
    assert (code, "atlas hooks install" in err) == (0, True), "open"
    before = picture(folder / ".git/hooks")
    hooks().install()
    after = picture(folder / ".git/hooks")
    assert states(hooks()) == {"installed"} and len(difference(before, after)) == len(NAMES)


def test_lines_that_are_added_behind_ours_run_and_are_told_what_git_tells(
    folder: Path, hooks: Callable[..., HookFiles], git: Git, env: dict[str, str]
) -> None:
    """As git-lfs has it done by hand, where a hook stands already."""
    git("clone", "-q", "--bare", ".", "../far.git", cwd=folder)
    hooks().install()
    for name in ("pre-push", "pre-commit"):
        with (folder / ".git/hooks" / name).open("a") as out:
            out.write(f'echo "theirs {name} $*" >>"$LOG"; cat >>"$LOG"\n')
    code, _, said = run(folder, env, "commit", "-q", "--allow-empty", "-m", "x")
    assert code == 0 and "theirs pre-commit " in said
    code, err, said = run(folder, env, "push", "-q", "../far.git", "HEAD:refs/heads/new")
    assert code == 0, err
    assert "theirs pre-push ../far.git ../far.git" in said
    assert len([line for line in said if " refs/heads/new " in line]) == 2


def test_a_newer_version_changes_nothing_but_the_version(
    folder: Path, hooks: Callable[..., HookFiles], monkeypatch: pytest.MonkeyPatch
) -> None:
    FOREIGN["sh"](folder / ".git/hooks/pre-commit")
    hooks().install()
    before = (folder / ".git/hooks/pre-commit").read_bytes()
    monkeypatch.setattr("atlas_cli.hooks.install.VERSION", "99")
    assert {(hook.state, hook.version) for hook in hooks().status()} == {("outdated", "2")}
    hooks().install()
    assert (folder / ".git/hooks/pre-commit").read_bytes() == before.replace(
        b"atlas 2 ", b"atlas 99 "
    )


def test_what_others_do_to_our_hooks_is_seen(
    folder: Path, hooks: Callable[..., HookFiles], env: dict[str, str]
) -> None:
    there = folder / ".git/hooks"
    hooks().install()
    with (there / "pre-commit").open("a") as out:
        out.write('echo more >>"$LOG"\n')
    (there / "pre-push").chmod(0o644)
    script(f"#!/bin/sh\n{THEIRS}")(there / "post-merge")
    (there / "post-rewrite").unlink()
    found = {hook.name: hook.state for hook in hooks().status()}
    assert [found[name] for name in ("pre-commit", "pre-push", "post-merge", "post-rewrite")] == [
        "outdated",
        "off",
        "foreign",
        "absent",
    ]
    hooks().install()
    assert run(folder, env, "commit", "-qm", "one", "--allow-empty")[2][:2] == [
        "atlas pre-commit",
        "more",
    ]
    hooks().remove()
    assert (there / "pre-commit").read_text() == '#!/bin/sh\necho more >>"$LOG"\n'
    assert {hook.name for hook in hooks().status() if hook.state == "foreign"} == {
        "pre-commit",
        "post-merge",
    }


def test_the_pre_commit_framework_before_and_after(
    folder: Path, hooks: Callable[..., HookFiles], env: dict[str, str]
) -> None:
    there, theirs = (
        folder / ".git/hooks",
        f'#!/usr/bin/env bash\n# File generated by pre-commit: https://pre-commit.com\nh=$(dirname "$0")\n[ ! -x "$h/pre-commit.legacy" ] || "$h/pre-commit.legacy" || exit\n{THEIRS}',
    )
    script(theirs)(there / "pre-commit")
    hooks().install()
    assert [
        line[:6] for line in run(folder, env, "commit", "-qm", "one", "--allow-empty")[2][:2]
    ] == [
        "atlas ",
        "theirs",
    ]
    script(theirs)(there / "pre-commit")  # installed again, it writes over its own
    assert hooks().status()[0].state == "foreign"
    hooks().remove()
    (there / "pre-commit").unlink()
    hooks().install()
    (there / "pre-commit").rename(there / "pre-commit.legacy")  # what it does with a hook of others
    script(theirs)(there / "pre-commit")
    hooks().install()
    assert states(hooks()) == {"installed"}
    assert [
        line[:6] for line in run(folder, env, "commit", "-qm", "one", "--allow-empty")[2][:2]
    ] == [
        "atlas ",
        "theirs",
    ]
    hooks().remove()
    assert (there / "pre-commit").read_text() == theirs and not (
        there / "pre-commit.legacy"
    ).exists()
    (folder / ".pre-commit-config.yaml").write_text("- hooks: [{id: atlas-pre-commit}]\n")
    assert (
        hooks().install()[0].state == "by pre-commit"
        and (there / "pre-commit").read_text() == theirs
    )


def owned(tool: str, repo: Path, git: Git) -> Path:
    """The folder of the hooks of a repository in which a tool, or git, has them."""
    there = {
        "husky": repo / ".husky/_",
        "lefthook": repo / ".git/hooks",
        "git": repo / ".githooks",
    }[tool]
    there.mkdir(parents=True, exist_ok=True)
    script(f"#!/bin/sh\n# {tool}\n")(there / "pre-commit")
    if tool != "lefthook":
        git("config", "core.hooksPath", str(there.relative_to(repo)))
    if tool == "git":
        git("add", ".githooks")
    return there


@pytest.mark.parametrize("tool", ["husky", "lefthook", "git"])
def test_where_others_write_the_hooks_they_are_told_what_to_add(
    tool: str, repo: Path, git: Git, atlas: Atlas
) -> None:
    there = owned(tool, repo, git)
    before = picture(repo)
    done = atlas("hooks", "install", "--json")
    assert (done.code, done.json["error"]["code"]) == (6, "managed") and difference(
        before, picture(repo)
    ) == []
    hint = done.json["error"]["hint"]
    assert (
        f"no git hooks: the hooks in {there} are not Atlas's to write\n{hint}" in atlas("init").out
    )
    lines = "\n".join(hint.split("\n")[1:])
    if tool == "lefthook":
        (repo / "lefthook.yml").write_text(lines.replace("NAME", "pre-commit"))
    else:
        script(f"#!/bin/sh\n{lines}\ncat >seen\n")(
            repo / ".husky/pre-commit" if tool == "husky" else there / "pre-commit"
        )
        done_ = subprocess.run(
            ["sh", "-eu", there.parent / "pre-commit" if tool == "husky" else there / "pre-commit"],
            input=b"a\0b",
            cwd=repo,
            env={**os.environ, "PATH": os.defpath},
        )
        assert done_.returncode == 0 and (repo / "seen").read_bytes() == b"a\0b"
    found = {item["name"]: item["state"] for item in atlas("hooks", "--json").data["items"]}
    assert found["pre-commit"] == ("by itself" if tool == "git" else f"by {tool}")


@pytest.mark.parametrize("tool", ["husky", "lefthook", "git"])
def test_on_request_atlas_goes_into_the_files_of_others_and_out_again(
    tool: str, repo: Path, git: Git, atlas: Atlas
) -> None:
    owned(tool, repo, git)
    if tool == "husky":
        (repo / ".husky/pre-commit").write_text("echo theirs\n")
    before = picture(repo)
    assert "hooks install --write" in atlas("begin", "--goal", "g").err
    done = atlas("hooks", "install", "--write")
    assert (done.code, "notice: written: " in done.err) == (0, True), done
    found = {item["state"] for item in atlas("hooks", "--json").data["items"]}
    assert found == {"by itself" if tool == "git" else f"by {tool}"}
    assert "hooks install" not in atlas("begin").err
    assert atlas("hooks", "install", "--write").code == 0  # a second time, and it is the same
    assert atlas("hooks", "remove").code == 0
    changed = [name for name in difference(before, picture(repo)) if "atlas" not in name]
    assert changed == []
    if tool == "lefthook":
        (repo / "lefthook-local.yml").write_text("pre-commit: {}\n")
        done = atlas("hooks", "install", "--write", "--json")
        assert (done.code, done.json["error"]["code"]) == (6, "managed")
        assert (repo / "lefthook-local.yml").read_text() == "pre-commit: {}\n"


def test_the_files_of_others_are_written_whole_or_not_at_all_and_by_no_link(
    repo: Path, git: Git, atlas: Atlas, tmp_path: Path
) -> None:
    def refused() -> bool:
        before = picture(repo)
        done = atlas("hooks", "install", "--write", "--json")
        assert difference(before, picture(repo)) == []
        return (done.code, done.json["error"]["code"]) == (6, "managed")

    # One of git's tracked folder that is in another language, or is a link: none is written.
    own = repo / ".githooks"
    own.mkdir()
    script("#!/usr/bin/env python3\nprint('theirs')\n")(own / "pre-push")
    git("add", ".githooks")
    git("config", "core.hooksPath", ".githooks")
    assert refused()
    (own / "pre-push").unlink()
    (own / "pre-push").symlink_to("nowhere")
    assert refused()
    # An older husky has its hooks in .husky itself; what was empty is so again.
    husky = repo / ".husky"
    husky.mkdir()
    (husky / "pre-commit").write_text("")
    git("config", "core.hooksPath", ".husky")
    before = picture(repo)
    assert atlas("hooks", "install", "--write").code == 0
    assert (husky / "pre-push").exists() and not (repo / "pre-push").exists()
    assert atlas("hooks", "remove").code == 0
    assert [name for name in difference(before, picture(repo)) if "atlas" not in name] == []
    # Nothing is taken out by way of a link.
    git("config", "--unset", "core.hooksPath")
    shutil.rmtree(husky)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "pre-commit").write_bytes(b"# >>> atlas made >>> x\ny\n# <<< atlas <<<\n")
    husky.symlink_to(outside)
    assert atlas("hooks", "remove").code == 0
    assert (outside / "pre-commit").exists()
    (repo / "lefthook-local.yml").symlink_to("nowhere")
    script("#!/bin/sh\n# lefthook\n")(repo / ".git/hooks/pre-commit")
    assert refused()


def test_a_section_that_was_pasted_twice_goes_whole_and_one_cut_short_takes_nothing(
    folder: Path, hooks: Callable[..., HookFiles]
) -> None:
    file = folder / ".git/hooks/pre-commit"
    hooks().install()
    ours = file.read_bytes().removeprefix(b"#!/bin/sh\n")
    script(b"#!/bin/sh\n" + ours + b"echo theirs\n" + ours)(file)
    hooks().remove()
    assert file.read_bytes() == b"#!/bin/sh\necho theirs\n"
    begun = ours.partition(b"# <<<")[0]
    script(b"#!/bin/sh\n" + begun + b"echo theirs\n" + ours)(file)
    hooks().install()
    assert b"echo theirs\n" in file.read_bytes()


@pytest.mark.parametrize("ending", ["legacy", "old"])
def test_a_hook_of_ours_that_another_tool_moved_is_known_by_its_text(
    ending: str, repo: Path, atlas: Atlas, env: dict[str, str]
) -> None:
    """One runs it under its new name, whatever its own hook says; the other does not."""
    there = repo / ".git/hooks"
    assert atlas("hooks", "install").code == 0 and atlas("begin", "--goal", "g").code == 0
    for name in ("pre-commit", "commit-msg"):
        (there / name).rename(there / f"{name}.{ending}")
        script("#!/bin/sh\nexit 0\n")(there / name)
    found = {item["name"]: item for item in atlas("hooks", "--json").data["items"]}
    moved = {name: found[name]["state"] for name in ("pre-commit", "commit-msg")}
    runs = ending == "legacy"
    assert set(moved.values()) == {"installed" if runs else "foreign"}
    assert (f"pre-commit.{ending} is not run" in str(found["pre-commit"]["text"])) is not runs
    committed = subprocess.run(
        ["git", "commit", "-qm", "x", "--allow-empty"],
        cwd=repo,
        env=env,
        capture_output=True,
        text=True,
    )
    gone = "notice: pre-commit runs no Atlas here any more" in committed.stderr
    assert (committed.returncode, gone) == (0, not runs), committed
    assert atlas("hooks", "remove").code == 0
    assert not list(there.glob("*.legacy")) and not list(there.glob("*.old"))
    assert sorted(file.name for file in there.iterdir() if file.suffix != ".sample") == [
        "commit-msg",
        "pre-commit",
    ]


def test_the_command_and_init(bare_project: Path, git: Git, atlas: Atlas, tmp_path: Path) -> None:
    there = bare_project / ".git/hooks"
    before = picture(there)
    done = atlas("init", "--json", "--no-hooks")
    assert done.data["hooks"] == [] and picture(there) == before
    git("config", "--global", "core.hooksPath", str(tmp_path / "for all"))
    assert "outside this repository" in atlas("init").out and not (tmp_path / "for all").exists()
    git("config", "--global", "--unset", "core.hooksPath")
    done = atlas("init", "--json")
    assert [item["state"] for item in done.data["hooks"]] == ["installed"] * len(NAMES)
    assert stat.S_IMODE((there / "pre-push").stat().st_mode) == 0o777 & ~_umask()
    shutil.rmtree(
        bare_project / ".git/atlas"
    )  # without a store they let everything pass, and come out all the same
    git("commit", "-qm", "one", "--allow-empty")
    assert atlas("hooks", "remove").code == 0 and difference(before, picture(there)) == []


def test_the_list_for_the_pre_commit_framework_names_every_hook() -> None:
    listed = YAML(typ="safe").load(ROOT / ".pre-commit-hooks.yaml")
    assert {hook["id"] for hook in listed} == {
        f"atlas-{name}" for name in NAMES if not name.startswith("post-")
    }
    for hook in listed:
        assert (
            hook["language"] == "python"
            and hook["always_run"]
            and [hook["id"]] == [f"atlas-{stage}" for stage in hook["stages"]]
        )
        assert f"atlas-hook {hook['stages'][0]}" in hook["entry"]


def _umask() -> int:
    os.umask(found := os.umask(0))
    return found


def test_a_hook_is_kept_behind_no_link_that_the_project_brings(
    folder: Path, git: Git, tmp_path: Path
) -> None:
    (folder / "hooks").mkdir(), (tmp_path / "outside").mkdir()
    (folder / "hooks/before-atlas").symlink_to(tmp_path / "outside")
    FOREIGN["python"](folder / "hooks/pre-commit")
    git("config", "core.hooksPath", "hooks", cwd=folder)
    before = picture(folder)
    for call in (HookFiles(find(str(folder))).install, HookFiles(find(str(folder))).remove):
        with pytest.raises(Failed, match="before-atlas is a link"):
            call()
    (folder / "way").symlink_to("../outside")
    git("add", "way", cwd=folder), git("config", "core.hooksPath", "way", cwd=folder)
    before = picture(folder)
    for call in (HookFiles(find(str(folder))).install, HookFiles(find(str(folder))).remove):
        with pytest.raises(Refused, match="way, a link that git tracks") as stop:
            call()
    assert picture(folder) == before and list((tmp_path / "outside").iterdir()) == []
    subprocess.run(stop.value.hint.partition(" names")[0], shell=True, cwd=folder, check=True)
    HookFiles(find(str(folder))).install()
    assert (tmp_path / "outside/pre-commit").exists(), "the user has said so"


@pytest.mark.parametrize(
    ("file", "soon_gone"),
    [
        ("{top}/.venv/bin/python", True),
        ("{home}/.cache/uv/archive/x/bin/python", True),
        ("/var/tmp/x/bin/python", True),
        ("{temporary}/x/bin/python", True),
        ("{home}/.local/bin/python", False),
        ("/usr/bin/python3", False),
        ("{top}-2/.venv/bin/python", False),
    ],
)
def test_an_interpreter_that_may_soon_be_gone_is_named_in_no_hook(
    file: str,
    soon_gone: bool,
    folder: Path,
    env: dict[str, str],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "environ", env)
    monkeypatch.setattr(tempfile, "tempdir", env["TMPDIR"])
    python = file.format(top=folder, home=home, temporary=env["TMPDIR"])
    monkeypatch.setattr(sys, "executable", python)
    made = HookFiles(find(str(folder)))
    assert (b" -I -S " not in made.section("pre-commit", "alone")) == soon_gone
    if not soon_gone:
        return
    made.install()
    atlas_hook = folder.parent / "atlas-hook"
    for there in (False, True):
        if there:
            script(f"#!/bin/sh\n{THEIRS}", 0o755)(atlas_hook)
        env["PATH"] = f"{folder.parent}:/usr/bin:/bin"
        assert states(HookFiles(find(str(folder)))) == {"installed" if there else "missing"}
        code, err, said = run(folder, env, "commit", "-qm", "x", "--allow-empty")
        assert code == 0 and ("finds no Atlas" in err) != there and bool(said) == there

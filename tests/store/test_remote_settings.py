"""Whatever the user's settings say, the store's branch goes to the remote that was chosen, and
nothing else moves."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ..conftest import DECISION, Git, Result, command
from .conftest import At
from .snap import difference, picture

# Settings of a repository, each with a value that would harm a plain `git push` or `git fetch` of
# the store.
SETTINGS = {
    "nothing is pushed by default": {"push.default": "nothing"},
    "all is pushed": {"push.default": "matching"},
    "tags follow": {
        "push.followTags": "true",
        "remote.origin.tagOpt": "--tags",
        "fetch.pruneTags": "true",
    },
    "a mirror": {
        "remote.origin.mirror": "true",
        "remote.origin.fetch": "+refs/*:refs/*",
        "fetch.prune": "true",
    },
    "nothing is fetched": {"remote.origin.fetch": "^refs/heads/atlas"},
    "prune": {"remote.origin.prune": "true"},
    "its own push refspecs": {"remote.origin.push": "+refs/heads/*:refs/heads/x/*"},
    "signed pushes": {"push.gpgSign": "true", "gpg.program": "/bin/false"},
    "push options": {"push.pushOption": "ci.skip"},
    "if included": {"push.useForceIfIncludes": "true"},
    "another remote is pushed to": {
        "remote.pushDefault": "other",
        "branch.main.pushRemote": "other",
    },
    "submodules": {
        "fetch.recurseSubmodules": "true",
        "push.recurseSubmodules": "only",
        "submodule.recurse": "true",
    },
    "hidden refs": {"transfer.hideRefs": "refs/heads/atlas"},
    "old protocol": {"protocol.version": "0"},
    "new protocol": {
        "protocol.version": "2",
        "push.negotiate": "true",
        "fetch.negotiationAlgorithm": "skipping",
    },
    "every object is checked": {"transfer.fsckObjects": "true"},
    "a promise": {
        "remote.origin.promisor": "true",
        "remote.origin.partialclonefilter": "blob:none",
    },
    "short ids": {"core.abbrev": "5", "fetch.output": "compact"},
    "in colour": {
        "color.ui": "always",
        "color.push": "always",
        "color.remote": "always",
        "push.autoSetupRemote": "true",
    },
    "a graph": {
        "fetch.writeCommitGraph": "true",
        "core.commitGraph": "true",
        "fetch.unpackLimit": "1",
    },
}


@pytest.fixture
def clone(hub: Path, git: Git) -> Path:
    """A clone with a second remote that nothing is to be pushed to, and hooks that would tell that
    they ran."""
    found = hub.parent / "clone"
    git("clone", "-q", f"file://{hub}", str(found), cwd=hub.parent)
    git("config", "core.hooksPath", str(found / ".git/hooks"), cwd=found)
    git("init", "-q", "--bare", "other.git", cwd=hub.parent)
    (
        git("remote", "add", "other", "../other.git", cwd=found),
        git("tag", "-am", "t", "v1", cwd=found),
    )
    for hook in ("pre-push", "reference-transaction", "post-merge"):
        (found / ".git/hooks" / hook).write_text(
            f"#!/bin/sh\necho {hook} >> {hub.parent}/RAN\nexit 1\n"
        )
        (found / ".git/hooks" / hook).chmod(0o755)
    return found


@pytest.mark.parametrize("name", SETTINGS)
def test_the_store_is_shared_whatever_is_set(
    name: str, clone: Path, hub: Path, git: Git, at: At
) -> None:
    for key, value in SETTINGS[name].items():
        git("config", "--add", key, value, cwd=clone)
    refs = git("for-each-ref", cwd=hub)
    before = picture(clone)
    assert at("clone", "begin", "--goal", "g").json["store"]["published"] is True
    assert at("clone", *DECISION).json["store"]["published"] is True
    assert at("clone", "sync").code == 0
    after = git("for-each-ref", cwd=hub)
    assert [row for row in after.split("\n") if "atlas" not in row] == [
        row for row in refs.split("\n") if "atlas" not in row
    ]
    assert git("rev-parse", "atlas", cwd=hub) == git(
        "rev-parse", "atlas", cwd=clone / ".git/atlas/store.git"
    )
    assert git("for-each-ref", cwd=hub.parent / "other.git") == ""
    assert not (hub.parent / "RAN").exists()
    changed = difference(before, picture(clone))
    assert all(path.startswith(".git/hooks/") for path in changed), changed
    assert at("clone", "hooks", "remove").code == 0
    assert difference(before, picture(clone)) == [], "`begin` had put hooks in, and nothing else"


def run(folder: Path, env: dict[str, str], *args: str) -> Result:
    done = subprocess.run(
        command(*args, "--json"), cwd=folder, env=env, capture_output=True, text=True
    )
    return Result(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("url", ["../hub.git", "./../hub.git", "short:hub.git"])
def test_addresses_are_meant_as_git_means_them(
    url: str, clone: Path, hub: Path, git: Git, at: At
) -> None:
    git("remote", "set-url", "origin", url, cwd=clone)
    git("config", "url.../.insteadOf", "short:", cwd=clone)
    (hub.parent / "deep").mkdir()
    (clone / "src").mkdir()
    git(
        "-c",
        "core.hooksPath=/dev/null",
        "worktree",
        "add",
        "-q",
        "--detach",
        "../deep/linked",
        cwd=clone,
    )
    for folder in ("clone", "clone/src", "deep/linked"):
        at(folder, "begin", "--goal", "g")
        assert at(folder, *DECISION).json["store"]["published"] is True, folder


def test_a_place_that_is_read_from_but_not_pushed_to_is_told(
    clone: Path, hub: Path, git: Git, at: At
) -> None:
    at("clone", "begin", "--goal", "g")
    git("config", "remote.origin.pushurl", f"file://{hub}", cwd=clone)
    assert at("clone", *DECISION).json["store"]["published"] is True
    git("config", "remote.origin.pushurl", "../other.git", cwd=clone)
    written = at("clone", *DECISION)
    assert written.code == 0 and written.json["store"]["published"] is False
    assert "pushurl" in at("clone", "sync").json["error"]["message"]
    assert (
        "pushed to" in at("clone", "lease", "take", "gpu0", "--why", "w").json["error"]["message"]
    )


@pytest.mark.parametrize(
    "name", [b"with 'quotes' and \"more\"", b"a=b c;d $(e)", b"line\nfeed", b"not \xff utf-8"]
)
def test_odd_folders(name: bytes, hub: Path, env: dict[str, str]) -> None:
    folder = hub.parent / os.fsdecode(name)
    folder.mkdir()
    subprocess.run(
        ["git", "clone", "-q", "../hub.git", b"in " + name], cwd=folder, env=env, check=True
    )
    inside = folder / os.fsdecode(b"in " + name)
    subprocess.run(
        ["git", "remote", "set-url", "origin", "../../hub.git"], cwd=inside, env=env, check=True
    )
    done = run(inside, env, "begin", "--goal", "g")
    assert done.json["store"]["published"] is True, done


def test_settings_that_are_included_hold_and_a_helper_is_asked(
    clone: Path, hub: Path, git: Git, env: dict[str, str]
) -> None:
    """An ssh command of the repository's own, found through `includeIf`, carries the store."""
    script = hub.parent / "my ssh"
    script.write_text(
        f'#!/bin/sh\necho "$SSH_ASKPASS_REQUIRE" > "{hub.parent}/ASKED"\nshift\nexec sh -c "$*"\n'
    )
    script.chmod(0o755)
    (hub.parent / "more").write_text(
        f'[core]\n\tsshCommand = "\\"{script}\\""\n[ssh]\n\tvariant = simple\n'
    )
    git("config", f"includeIf.gitdir:{clone}/.path", "../../more", cwd=clone)
    git("remote", "set-url", "origin", f"ssh://host{hub}", cwd=clone)
    assert run(clone, env, "begin", "--goal", "g").json["store"]["published"] is True
    assert (hub.parent / "ASKED").read_text() == "never\n"


def test_an_ssh_connection_that_lives_on_holds_nothing_up(
    clone: Path, hub: Path, git: Git, env: dict[str, str]
) -> None:
    script = hub.parent / "ssh.sh"
    script.write_text(
        f'#!/bin/sh\nsleep 6 &\necho $! >> "{hub.parent}/PIDS"\nshift\nexec sh -c "$*"\n'
    )
    script.chmod(0o755)
    (
        git("config", "core.sshCommand", str(script), cwd=clone),
        git("config", "ssh.variant", "simple", cwd=clone),
    )
    git("remote", "set-url", "origin", f"ssh://host{hub}", cwd=clone)
    assert run(clone, env, "init").data["joined"] is True
    pids = (hub.parent / "PIDS").read_text().split()
    assert any(Path(f"/proc/{pid}").exists() for pid in pids) or not Path("/proc").exists()


def test_inside_a_hook_of_git(clone: Path, hub: Path, git: Git, env: dict[str, str]) -> None:
    """Another repository's hook, with all that git gives it, and settings from the command line (as
    CI gives them)."""
    other = hub.parent / "other.git"
    here = {
        "GIT_DIR": str(other),
        "GIT_INDEX_FILE": str(other / "index"),
        "GIT_PREFIX": "x/",
        "GIT_WORK_TREE": "/",
        "GIT_OBJECT_DIRECTORY": str(other / "objects"),
        "GIT_REFLOG_ACTION": "x",
        "GIT_EDITOR": "/bin/false",
        "GIT_PUSH_OPTION_COUNT": "1",
        "GIT_PUSH_OPTION_0": "x",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "url.file://.insteadOf",
        "GIT_CONFIG_VALUE_0": "forge:",
    }
    git("remote", "set-url", "origin", f"forge:{hub}", cwd=clone)
    assert run(clone, env | here, "begin", "--goal", "g").json["store"]["published"] is True
    assert git("for-each-ref", cwd=other) == ""


@pytest.mark.parametrize("where", ["gitdir", "onbranch", "worktree"])
def test_what_only_the_users_own_repository_reads_is_heeded(
    hub: Path, clone: Path, env: dict[str, str], git: Git, where: str
) -> None:
    """As actions/checkout keeps its credentials: in a file for this git directory alone."""
    file = hub.parent / "more"
    file.write_text(f'[url "{hub}"]\n\tinsteadOf = forge:team/r\n')
    if where == "worktree":
        git("config", "extensions.worktreeConfig", "true", cwd=clone)
        git("config", "--worktree", f"url.{hub}.insteadOf", "forge:team/r", cwd=clone)
    else:
        value = f"{clone}/.git" if where == "gitdir" else "main"
        git("config", f"includeIf.{where}:{value}.path", str(file), cwd=clone)
    git("config", "remote.origin.url", "forge:team/r", cwd=clone)
    done = run_there(clone, env | {"GIT_SSH_COMMAND": "false"}, "init", "--no-hooks")
    assert done.returncode == 0, done.stderr
    assert "refs/heads/atlas" in git("for-each-ref", cwd=hub)


def test_a_branch_that_stands_in_the_way_is_named_and_another_one_helps(
    hub: Path, clone: Path, env: dict[str, str], git: Git
) -> None:
    git("branch", "-D", "atlas", cwd=hub)
    git("push", "-q", "--no-verify", str(hub), "HEAD:refs/heads/atlas/foo", cwd=clone)
    done = run_there(clone, env, "init", "--no-hooks")
    assert done.returncode == 8 and "it has the branch atlas/foo" in done.stderr
    line = done.stderr.rstrip().rpartition("atlas init ")[2]
    assert run_there(clone, env, "init", "--no-hooks", *line.split()).returncode == 0
    assert "refs/heads/atlas-store" in git("for-each-ref", cwd=hub)


def run_there(clone: Path, env: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*words), cwd=clone, env=env, capture_output=True, text=True)

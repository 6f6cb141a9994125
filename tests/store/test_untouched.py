"""The user's own git is left as it is, to the byte, by every command; and nothing that git does
there harms the store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from atlas_cli.call import root
from atlas_cli.commands import COMMANDS

from ..conftest import NOTEBOOK, Atlas, Git
from .snap import Picture, difference, picture

# Every command and verb, in an order in which most of them succeed; codes are what they may end
# with.
EVERY = (
    "init --no-hooks",
    "hooks",
    "hooks install",
    "hooks remove",
    "hooks status",
    "begin --goal day --on src",
    "begin",
    "status",
    "status show",
    "status write -m one",
    "status write --section S -m two",
    "status log",
    "status history S",
    "drafts list",
    "epoch --before 2026-01-01",
    "status diff",
    "lease take gpu0 path:src --why w",
    "lease renew gpu0",
    "lease show gpu0",
    "lease list --all",
    "lease release gpu0",
    "lease run gpu1 --why w -- true",
    "artifact put note FILE",
    "artifact show note",
    "artifact put note OTHER --same-topic",
    "artifact log note",
    "artifact get note -o COPY",
    "artifact list",
    "artifact diff note",
    "show status:main artifact:note",
    "decision add --title t --recommended a --chosen b --stance agreed --why w",
    "decision list",
    "correct status:main@1 --why wrong --retract",
    "who src",
    "links",
    "links --fix",
    "log",
    "log --collisions",
    "session list",
    "session show",
    "config",
    "config show",
    "config get status_words",
    "config set status_words 300",
    "verify",
    "verify --full",
    "check",
    "task add a",
    "task list --explain",
    "task next --claim",
    "task board",
    "task graph",
    "task dead",
    "gate raise --scope label:x --why w",
    "gate list",
    "signal post alert --about src -m t",
    "signal list",
    "session offer --slots 1",
    "doctor",
    "doctor --fix",
    "view",
    "setup --list",
    "completion bash",
    "help",
    "help leases",
    "git log --oneline",
    "git gc --quiet",
    "end -m done",
    "session list --all",
    "sync",
    "parked",
    "parked list",
    "outbox list",
)
# Commands that end otherwise, and must leave everything as it is all the same.
REFUSED = {
    "status write -m three": 5,
    "lease renew gpu0 gpu1": 5,
    "artifact get nothing": 7,
    "decision show 2026-01-01-x": 7,
    "config edit": 2,
    "nonsense": 2,
    "session adopt x-261129-aaaaaa --why w": 5,
    "session dismiss x-261129-aaaaaa --why w": 5,
    "lease take ../x --why w": 2,
    "end": 5,
    "setup claude --check": 9,
    "uninstall": 6,
    "parked show x": 7,
    "parked take x": 5,
    "parked drop x": 7,
    "outbox export COPY": 7,
    "outbox import COPY": 1,
    "task show x": 7,
    "task results x": 7,
    **{
        f"task {verb} x": 5
        for verb in ("edit", "claim", "start", "renew", "done", "release", "thaw")
    },
    **{f"task {verb} x --why w": 5 for verb in ("fail", "cancel", "retry", "freeze")},
    "task assign": 5,
    "session drop x-261129-aaaaaa --why w": 5,
    "gate show x": 7,
    "gate clear x": 5,
    "signal show x": 7,
    "drafts drop x": 7,
    "status unwarn S": 5,
    "wait --timeout 1s": 7,
}


def verbs(name: str) -> set[str]:
    """`status show`, `status write` …, or `init`."""
    app = root().parser(name)
    return {f"{name} {verb}" for verb in app.commands} if hasattr(app, "commands") else {name}


def test_the_list_of_commands_is_complete() -> None:
    there = {verb for name in COMMANDS for verb in verbs(name)}
    called = {" ".join(line.split()[:2]) for line in (*EVERY, *REFUSED)} | {
        line.split()[0] for line in (*EVERY, *REFUSED)
    }
    assert there - called == {"tour"}  # it makes a folder of its own


@pytest.fixture
def lived_in(bare_project: Path, tmp_path: Path, git: Git) -> Path:
    """A repository in the middle of work: staged, changed and untracked files, a stash, a tag, a
    hook, a remote, a linked worktree, a merge that was left half done."""
    repo = bare_project
    (repo / "README.md").write_text("read me\n")
    git("add", "."), git("commit", "-qm", "second"), git("tag", "v1"), git("branch", "side")
    (repo / "src/x.py").write_text("print('stashed')\n")
    git("stash", "-q")
    git("clone", "-q", "--bare", str(repo), str(tmp_path / "origin.git"), cwd=tmp_path)
    git("remote", "add", "origin", str(tmp_path / "origin.git"))
    git("fetch", "-q", "origin")
    git("worktree", "add", "-q", str(tmp_path / "linked"), "side")
    (repo / ".git/hooks/pre-commit").write_text("#!/bin/sh\nexit 1\n")
    (repo / ".git/hooks/pre-commit").chmod(0o755)
    (repo / ".git/info/exclude").write_text("*.tmp")  # without a line feed at its end
    (repo / "staged.txt").write_text("staged\n")
    git("add", "staged.txt")
    (repo / "src/x.py").write_text("print('changed')\n")
    (repo / "untracked.txt").write_text("untracked\n")
    return repo


def look(repo: Path, tmp_path: Path) -> Picture:
    mine, linked = picture(repo), picture(tmp_path / "linked")
    return {
        **mine,
        **{f"linked/{name}": entry for name, entry in linked.items()},
        **picture(
            tmp_path / "origin.git", ("objects", "refs/heads/atlas")
        ),  # the store's own branch there
    }


@pytest.mark.parametrize("where", ["repo", "repo/src", "linked"])
def test_every_command_leaves_the_users_repository_as_it_was(
    where: str, lived_in: Path, tmp_path: Path, atlas: Atlas, quick: Atlas, git: Git
) -> None:
    before, status = look(lived_in, tmp_path), git("status", "--porcelain")
    folder = ("-C", str(tmp_path / where))
    files = {
        "FILE": str(lived_in / "src/x.py"),
        "OTHER": str(lived_in / "README.md"),
        "COPY": str(tmp_path / "copy"),
    }
    for line, code in ({"init --test --no-hooks": 0} | dict.fromkeys(EVERY, 0) | REFUSED).items():
        words = [files.get(word, word) for word in line.split()]
        # These start programs that speak for themselves.
        run = atlas if words[0] == "git" or words[1:2] == ["run"] else quick
        done = run(*folder, *words)
        assert done.code == code, (line, done)
        changed = difference(before, look(lived_in, tmp_path))
        if (
            line == "hooks install"
        ):  # the one thing of the user's that is touched; `hooks remove` takes it back
            assert changed and all(name.startswith(".git/hooks/") for name in changed)
        else:
            assert changed == [], line
    assert git("status", "--porcelain") == status  # `.atlas/` is not seen as something to commit
    assert (lived_in / ".git/info/exclude").read_bytes() == b"*.tmp"


HARM = (
    ("gc", "-q", "--prune=now"),
    ("prune", "--expire=now"),
    ("reflog", "expire", "--all", "--expire=now"),
    ("fetch", "-q", "--prune", "origin"),
    ("fetch", "-q", "--prune", "origin", "+refs/heads/*:refs/heads/*", "--update-head-ok"),
    ("branch", "-D", "other"),
    ("switch", "-q", "other"),
    ("switch", "-q", "--orphan", "fresh"),
    ("clean", "-fdxq"),
    ("stash", "-q", "--all"),
    ("reset", "-q", "--hard"),
    ("worktree", "prune"),
    ("repack", "-adq"),
    ("pack-refs", "--all"),
    ("checkout", "-q", "--detach"),
    ("push", "-q", "--mirror", "origin"),
)

BODY = (
    "## what bob does\n\nfirst: the parser is planned\n\n"
    "## what ann does\n\nsecond: the parser is done\n"
)


@pytest.mark.parametrize("harm", HARM, ids=" ".join)
def test_what_git_does_there_does_not_reach_the_store(
    harm: tuple[str, ...], store: tuple[Any, Any], quick: Atlas, git: Git, tmp_path: Path
) -> None:
    repo = tmp_path / "repo"
    (repo / "x.py").write_text("x\n")
    git("add", "."), git("commit", "-qm", "first"), git("branch", "other"), git("tag", "t")
    git("clone", "-q", "--bare", str(repo), str(tmp_path / "origin.git"), cwd=tmp_path)
    git("remote", "add", "origin", str(tmp_path / "origin.git"))
    assert quick("status").code == 0
    view, before = picture(repo / ".atlas", ()), picture(repo / ".git/atlas", (NOTEBOOK,))
    git(*harm)
    assert difference(before, picture(repo / ".git/atlas", (NOTEBOOK,))) == []
    # The view may have gone (`clean -x`); the next command brings it back.
    assert (repo / ".atlas").exists() == (harm[0] not in ("clean", "stash"))
    assert quick("status", "--json").data["body"] == BODY
    assert difference(view, picture(repo / ".atlas", ())) in ([], ["AS-OF"])
    assert quick("verify", "--full").code == 0
    refs = git("for-each-ref", "--format=%(refname)", cwd=tmp_path / "origin.git").split("\n")
    assert not [ref for ref in refs if "atlas" in ref]

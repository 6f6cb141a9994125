"""Where only branches of another name may be pushed: a clone's writes wait on such a branch, and
the next clone that may push the store's takes them in."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ..conftest import DECISION, Result
from .fleet import Fleet, done, fleet

HOOK = '#!/bin/sh\n[ "$1" != refs/heads/atlas ] || [ -z "$ONLY_OWN" ] || { echo "only claude/* here"; exit 1; }\n'
CLOSED = {"ONLY_OWN": "1"}
EVIL = "claude/atlas-0123456789ab-01234567"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    found = fleet(tmp_path_factory.mktemp("outbox") / "fleet", ["a", "b", "c"])
    (found.top / "hub.git/hooks").mkdir(exist_ok=True)
    (found.top / "hub.git/hooks/update").write_text(HOOK)
    (found.top / "hub.git/hooks/update").chmod(0o755)
    with found.crew(["a"]) as [a]:
        done(a("config", "set", "outbox_refs", '["claude/*"]'))
    return found


@pytest.fixture
def hub(made: Fleet, tmp_path: Path) -> Fleet:
    return made.copied(tmp_path / "fleet")


def branches(hub: Fleet) -> list[str]:
    return hub.git(
        "hub.git", "for-each-ref", "--format=%(refname:short)", "refs/heads/claude"
    ).split()


def test_writes_wait_on_a_branch_and_are_taken_in(hub: Fleet) -> None:
    with hub.crew(["a"]) as [a], hub._replace(env=hub.env | CLOSED).crew(["b"]) as [b]:
        done(b("sync"))
        wrote: Result = done(b(*DECISION, "--json"))
        assert wrote.json["store"]["published"] is False
        assert (
            "waits on the branch claude/atlas-" in str(wrote.json["notices"])
            and "only claude/* here" in wrote.out
        )
        done(b("sync"), 8)
        done(b(*DECISION)), done(b("sync"), 8)
        assert len(branches(hub)) == 1, "one branch, moved on"
        assert b("lease", "take", "gpu0", "--why", "w").code == 8
        assert len(branches(hub)) == 1 and "lease: take" not in hub.git(
            "hub.git", "log", "--format=%s", *branches(hub)
        )
        done(b("sync"), 8)

        done(a(*DECISION))
        synced = done(a("sync"))
        assert "taken in from the branch claude/atlas-" in synced.err
        assert branches(hub) == [], "published, so that it is done with"
        assert a("decision", "list", "--json").data["total"] == 3

        assert done(b("sync")).code == 0, "nothing of it waits any more"
        done(b(*DECISION)), done(b("sync"), 8)
        assert len(branches(hub)) == 1
        done(a("begin", "--goal", "reads", "--new")), done(a("verify", "--full"))
        assert a("decision", "list", "--json").data["total"] == 4, "a begin takes in too"
        assert len(hub.operations()) == len(set(hub.operations()))


def test_what_contradicts_is_parked_and_another_branch_is_left_alone(hub: Fleet) -> None:
    hub.git("a", "push", "-q", "origin", f"HEAD:refs/heads/{EVIL}")
    with hub.crew(["a"]) as [a], hub._replace(env=hub.env | CLOSED).crew(["b"]) as [b]:
        done(b("artifact", "put", "plan", "-", data="of b\n")), done(b("sync"), 8)
        done(a("artifact", "put", "plan", "-", data="of a\n"))
        synced = a("sync")
        assert synced.code == 3 and EVIL in synced.err and "left alone" in synced.err
        assert branches(hub) == [EVIL]
        assert done(a("parked", "list", "--json")).data["total"] == 1
        done(b("sync"), 3), done(a("verify", "--full"))


def test_no_branch_bars_the_others(hub: Fleet) -> None:
    """Branches that are no outbox, a merge with another history, a name that begins another's, no
    leave to delete."""
    hub.git("hub.git", "config", "receive.denyDeletes", "true")
    hub.git("a", "fetch", "-q", "origin", "atlas")
    tree = hub.git("a", "rev-parse", "FETCH_HEAD^{tree}")
    old = ["env", "GIT_COMMITTER_DATE=@0 +0000", "git", "commit-tree", "-m", "other", tree]
    other = subprocess.run(
        old, cwd=hub.top / "a", env=hub.env, capture_output=True, text=True, check=True
    ).stdout.strip()
    merge = hub.git("a", "commit-tree", "-m", "merge", "-p", "FETCH_HEAD", "-p", other, tree)
    hub.git(
        "a", "push", "-q", "origin", f"{merge}:refs/heads/{EVIL}", "HEAD:refs/heads/claude/atlas-x"
    )
    with hub.crew(["a"]) as [a], hub._replace(env=hub.env | CLOSED).crew(["b"]) as [b]:
        done(b("artifact", "put", "plan", "-", data="of b\n")), done(b("sync"), 8)
        done(a("artifact", "put", "plan", "-", data="of a\n"))
        assert done(a("sync"), 3).err.count("left alone: it is no outbox of a store") == 1
        [parked] = a("parked", "list", "--json").data["items"]
        done(a("parked", "drop", parked["operation"]))
        hub.git("hub.git", "update-ref", "-d", "refs/heads/claude/atlas-x")
        hub.git("a", "push", "-q", "origin", "HEAD:refs/heads/claude/atlas-x/y")
        assert done(a("sync")).err == "", "nor is what was dropped parked again, nor said twice"


def test_no_branch_is_dropped_but_an_outbox(hub: Fleet) -> None:
    """Not the one that the store itself is on, nor one of another store."""
    with hub.crew(["a"]) as [a]:
        done(a("init", "--branch", "claude/atlas-own", "--no-hooks"))
        done(a(*DECISION)), done(a("sync")), done(a("sync"))
        assert branches(hub) == ["claude/atlas-own"]
        hub.git(".", "clone", "-q", "hub.git", "d")
        done(a("-C", "../d", "init", "--no-hooks", "--branch", "other"))
        hub.git(
            "d/.git/atlas/store.git",
            "push",
            "-q",
            str(hub.top / "hub.git"),
            f"atlas:refs/heads/{EVIL}",
        )
        assert "no outbox of this store" in done(a("sync")).err
        assert branches(hub) == [EVIL, "claude/atlas-own"]

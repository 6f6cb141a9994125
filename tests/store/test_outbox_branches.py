"""Where only branches of another name may be pushed: a clone's writes wait on such a branch, and the next clone that may
push the store's takes them in."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..conftest import Result
from .fleet import DECISION, Fleet, done, fleet

HOOK = '#!/bin/sh\n[ "$1" != refs/heads/atlas ] || [ -z "$ONLY_OWN" ] || { echo "only claude/* here"; exit 1; }\n'
CLOSED = {"ONLY_OWN": "1"}


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
    return hub.git("hub.git", "for-each-ref", "--format=%(refname:short)", "refs/heads/claude").split()


def test_writes_wait_on_a_branch_and_are_taken_in(hub: Fleet) -> None:
    with hub.crew(["a"]) as [a], hub._replace(env=hub.env | CLOSED).crew(["b"]) as [b]:
        done(b("sync"))
        wrote: Result = done(b(*DECISION, "--json"))
        assert wrote.json["store"]["published"] is False
        assert "waits on the branch claude/atlas-" in str(wrote.json["notices"]) and "only claude/* here" in wrote.out
        done(b("sync"), 8)
        done(b(*DECISION)), done(b("sync"), 8)
        assert len(branches(hub)) == 1, "one branch, moved on"
        assert b("lease", "take", "gpu0", "--why", "w").code == 8
        assert len(branches(hub)) == 1 and "lease: take" not in hub.git("hub.git", "log", "--format=%s", *branches(hub))
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
    hub.git("a", "push", "-q", "origin", "HEAD:refs/heads/claude/atlas-notes")
    with hub.crew(["a"]) as [a], hub._replace(env=hub.env | CLOSED).crew(["b"]) as [b]:
        done(b("artifact", "put", "plan", "-", data="of b\n")), done(b("sync"), 8)
        done(a("artifact", "put", "plan", "-", data="of a\n"))
        synced = a("sync")
        assert synced.code == 3 and "claude/atlas-notes" in synced.err and "left alone" in synced.err
        assert branches(hub) == ["claude/atlas-notes"]
        assert done(a("parked", "list", "--json")).data["total"] == 1
        done(b("sync"), 3), done(a("verify", "--full"))

"""Waiting with real processes: whoever waits wakes when it is over, one of two gets it, two who wait
for each other are told, and what is over is known to all who ask."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from ..conftest import Result
from .crew import Worker, crew
from .fleet import Fleet, done

WHY = ("--why", "w")


def error(found: Result, code: int, name: str) -> Any:
    assert found.code == code and found.json["error"]["code"] == name, found
    return found.json["error"]


def began(worker: Worker, name: str) -> str:
    return worker.begin(f"work of {name}", "--actor", name)


def test_one_of_two_who_wait_has_it_once_it_is_given_back(
    begun: str, repo: Path, env: dict[str, str]
) -> None:
    with crew([repo] * 3, env) as (ann, bob, eve):
        for worker, name in zip((ann, bob, eve), ("ann", "bob", "eve"), strict=True):
            began(worker, name)
        done(ann("lease", "take", "gpu0", *WHY))
        stop = error(bob("lease", "take", "gpu0", *WHY, "--json"), 4, "held")
        assert "for at most" in stop["message"] and "--wait 100s" in stop["hint"]
        for worker in (bob, eve):
            worker.tell("lease", "take", "gpu0", *WHY, "--wait", "5s", "--json")
        time.sleep(1.5)  # (both have said what they wait for by then)
        rows = ann("session", "list", "--json").data["items"]
        assert [row["waits"]["for"] for row in rows if "waits" in row] == [["lease:gpu0"]] * 2
        done(ann("lease", "release", "gpu0"))
        ends = [bob.heard(), eve.heard()]
        assert sorted(found.code for found in ends) == [0, 4], ends
        winner, loser = sorted(ends, key=lambda found: found.code)
        assert winner.data["resource"] == "gpu0"
        late = error(loser, 4, "timeout")
        name = (bob, eve)[ends.index(loser)].session
        assert late["message"].startswith("waited 5 s: gpu0 is held by") and late["hint"] == (
            f"go on: atlas lease take gpu0 --why w --wait 5s --session {name}"
        )
        rows = {row["id"]: row for row in ann("session", "list", "--json").data["items"]}
        assert "waits" not in rows[winner.data["holder"]], "who has it waits no more"


def test_it_wakes_for_what_another_clone_published(pair: Fleet, tmp_path: Path) -> None:
    fleet = pair.copied(tmp_path / "fleet")
    with fleet.crew(["a", "b"]) as (a, b):
        done(a("lease", "take", "gpu0", *WHY))
        wanted = done(a("task", "add", "only one", "--uses", "rig", "--json")).data["id"]
        done(a("task", "claim", wanted))
        b.tell("lease", "take", "gpu0", *WHY, "--wait", "60s", "--json")
        time.sleep(1)
        done(a("lease", "release", "gpu0"))
        assert done(b.heard()).data["resource"] == "gpu0"
        b.tell("task", "next", "--claim", "--wait", "60s", "--json")
        time.sleep(1)
        done(a("task", "release", wanted))
        claimed = done(b.heard()).data
        assert claimed["id"] == wanted and claimed["receipt"].startswith(f"{wanted}.1.2.2.")
        assert done(b("lease", "show", "rig", "--json")).data["task"] == wanted
        b("task", "done", wanted)
        done(a("sync"))
        assert done(a("lease", "show", "rig", "--json")).data["state"] == "released"
        end = error(a("task", "next", "--claim", "--wait", "60s", "--json"), 7, "no_task")
        assert end["message"] == "the board is done: 1 done; 1 other session may post more"
        assert end["details"]["open"] == 0


def test_two_who_wait_for_each_other_are_told_at_once(
    begun: str, repo: Path, env: dict[str, str]
) -> None:
    with crew([repo] * 2, env) as (ann, bob):
        ids = [began(ann, "ann"), began(bob, "bob")]
        done(ann("lease", "take", "gpu0", *WHY))
        done(bob("lease", "take", "gpu1", *WHY))
        ann.tell("wait", "lease:gpu1", "--timeout", "60s", "--json")
        time.sleep(1.5)
        stop = error(bob("lease", "take", "gpu0", *WHY, "--wait", "60s", "--json"), 4, "circle")
        assert stop["hint"].endswith("atlas lease release gpu1") and stop["details"]["circle"] == [
            {"waiter": ids[1], "what": "lease:gpu0", "holder": ids[0]},
            {"waiter": ids[0], "what": "lease:gpu1", "holder": ids[1]},
        ]
        done(bob("lease", "release", "gpu1"))
        assert done(ann.heard()).data["how"] == "free"


def test_what_is_over_is_known_to_all_who_ask(begun: str, repo: Path, env: dict[str, str]) -> None:
    with crew([repo] * 2, env) as (ann, bob):
        live, other = began(ann, "ann"), began(bob, "bob")
        done(bob("lease", "take", "gpu0", *WHY))
        add = ("task", "add", "t", "--json")
        first = done(bob(*add)).data["id"]
        done(bob("task", "claim", first))
        gate = done(bob("gate", "raise", "--scope", "label:x", *WHY, "--json")).data["id"]
        awaited = [f"session:{other}", "lease:gpu0", f"task:{first}", f"gate:{gate}"]
        awaited += ["artifact:plan", "2999-01-01T00:00:00Z"]
        frozen = {}
        for what in awaited:
            row = done(ann(*add, "--frozen", "w", "--until", what))
            frozen[row.data["id"]] = what
        error(ann(*add, "--frozen", "w", "--until", "task:nowhere"), 7, "not_found")

        def thaws() -> set[str]:
            rows = done(ann("task", "list", "--state", "frozen", "--json")).data["items"]
            return {frozen[row["id"]] for row in rows if row["can_thaw"]}

        def late(what: str, code: int, *words: str) -> None:
            stop = error(ann("wait", what, "--timeout", "1s", "--json"), code, "timeout")
            assert all(word in stop["message"] for word in words), stop
            assert f"go on: atlas wait {what} --timeout 1s" in stop["hint"]

        assert thaws() == set()
        own = done(bob("wait", "lease:gpu0"))
        assert own.out.startswith("you hold gpu0\n")
        late("lease:gpu0", 4, f"held by {other} for at most")
        late(f"task:{first}", 4, "claimed by", "for at most")
        late(f"session:{other}", 7, "at work")
        late("status", 7, "nobody wrote a status")
        assert done(ann("wait", f"session:{live}x", "--json"), 2, 7).code
        (repo / "p.md").write_text("a plan\n")
        done(bob("artifact", "put", "plan", "p.md"))
        done(bob("task", "done", first)), done(bob("gate", "clear", gate))
        done(bob("lease", "release", "gpu0"))
        notices = ann("lease", "list", "--json").json["notices"]
        assert sum("can thaw: " in line for line in notices) == 4
        assert not any("can thaw: " in line for line in ann("status", "--json").json["notices"])
        done(bob("end", "-m", "Done."))
        assert thaws() == set(awaited[:-1])
        for what, how in zip(
            awaited[:-1], ("ended", "free", "done", "cleared", "there"), strict=True
        ):
            assert done(ann("wait", what, "--json")).data["how"] == how


def test_a_status_and_a_ready_task_wake_whoever_waits_for_them(
    begun: str, repo: Path, env: dict[str, str]
) -> None:
    with crew([repo] * 2, env) as (ann, bob):
        began(ann, "ann"), began(bob, "bob")
        for deed, what in (
            (("status", "write", "-m", "here"), "status"),
            (("task", "add", "to do"), "ready"),
            (("signal", "post", "finding", "-m", "look"), "any"),
        ):
            ann.tell("wait", what, "--timeout", "60s", "--json")
            time.sleep(0.6)
            done(bob(*deed))
            assert done(ann.heard()).data["waited_for"] == what


@pytest.mark.parametrize("what", ["gpu0", "nothing:x", "status:"])
def test_what_nobody_can_wait_for_is_a_usage_error(what: str, begun: str, quick: Any) -> None:
    assert quick("wait", what, "--json").code == 2

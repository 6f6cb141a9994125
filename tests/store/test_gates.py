"""Gates in a real store: seen, passed by plumbing and found, and carried over to what others have
published."""

from __future__ import annotations

from typing import Any

from atlas_cli.model import text, times
from atlas_cli.records import policy
from atlas_cli.records.board import gate, task

from ..conftest import Atlas
from .hand import Hand, Seen
from .test_clones import Fleet, hub
from .violations import now

__all__ = ["hub"]  # a fixture


def made(run: Any, *args: str) -> dict[str, Any]:
    done = run(*args, "--json")
    assert done.code == 0, (args, done)
    return dict(done.data)


def test_a_gate_from_its_raising_to_its_end(store: tuple[Hand, Seen], quick: Atlas) -> None:
    _, seen = store
    ann = ("--session", seen.sessions["ann"])
    first = made(quick, *ann, "task", "add", "a", "--label", "x")["id"]
    raised = made(
        quick,
        *ann,
        "gate",
        "raise",
        "--why",
        "wrong schema",
        "--scope",
        "label:x",
        "--about",
        "src/x.py",
    )
    assert (raised["edges"], raised["about"], raised["state"]) == (
        [first],
        "path:src/x.py",
        "pending",
    )
    assert made(
        quick,
        *ann,
        "gate",
        "raise",
        "--why",
        "wrong schema",
        "--scope",
        "label:x",
        "--about",
        "src/x.py",
    )["replayed"]
    stop = quick(*ann, "task", "claim", first, "--json").json["error"]
    assert (stop["code"], stop["details"]["unmet"]) == ("gated", {raised["id"]: "uncleared"})
    assert made(quick, "task", "list", "--ready")["total"] == 0
    digest = made(quick, *ann, "digest")["gates"]
    assert [(one["id"], one["yours"]) for one in digest] == [(raised["id"], [first])]
    assert [one["kind"] for one in made(quick, "signal", "list")["items"]] == ["blocker"]
    assert quick("--session", seen.sessions["bob"], "gate", "clear", raised["id"]).code == 6
    assert (
        made(quick, *ann, "gate", "clear", raised["id"], "--why", "mended")["resolution"]
        == "cleared"
    )
    assert made(quick, *ann, "task", "next", "--claim")["id"] == first
    assert (
        made(quick, "gate", "list")["total"] == 0
        and made(quick, "gate", "list", "--all")["total"] == 1
    )
    assert made(quick, "gate", "show", raised["id"])["end"]["resolver"] == seen.sessions["ann"]
    assert made(quick, "verify", "--gates")["gates"] == 1


def test_a_claim_past_a_gate_is_found_from_the_history_alone(
    store: tuple[Hand, Seen], quick: Atlas
) -> None:
    hand, seen = store
    ann = ("--session", seen.sessions["ann"])
    wanted = made(quick, *ann, "task", "add", "a")["id"]
    raised = made(quick, *ann, "gate", "raise", "--why", "w", "--task", wanted)["id"]
    assert quick("verify").code == 0
    path, at = task.path_of(wanted), now()
    row, body = text.front(hand.read(path), path)
    when, late = times.rfc3339(at), times.rfc3339(at + 600)
    receipt = {
        "session": seen.sessions["ann"],
        "actor": "ann",
        "generation": 1,
        "attempt": 1,
        "token": 1,
        "at": when,
        "store": policy.parse("atlas.yaml", hand.read("atlas.yaml"))["store"],
        "expires": late,
        "path": "claim",
        "version": 1,
        "started": when,
        "needs": {},
    }
    row |= {
        "version": 2,
        "state": "claimed",
        "attempt": 1,
        "token": 1,
        "claim": receipt,
        "at": when,
    }
    hand.signed({path: text.with_front(row, body)}, seen.sessions["ann"], at)
    bad = hand.head()
    hand.commit(
        {gate.path_of(raised + gate.END): hand.read(gate.path_of(raised))}
    )  # and a false end
    for args in (("verify",), ("verify", "--gates")):
        found = quick(*args, "--json").json["error"]["details"]["violations"]
        assert (bad, path, "gate") in {
            (one["commit"], one["path"], one["rule"]) for one in found
        }, args
        assert raised in next(one["text"] for one in found if one["commit"] == bad)
    assert {one["commit"] for one in found} == {bad, hand.head()}


def test_a_gate_that_is_carried_over_is_computed_anew(hub: Fleet) -> None:
    hub.ok("a", "init"), hub.ok("a", "begin", "--goal", "g", "--new")
    hub.ok("a", "task", "add", "first", "--label", "x")
    hub.ok("b", "begin", "--goal", "h", "--new")
    raised = hub.ok("a", "gate", "raise", "--why", "w", "--scope", "label:x", "--offline")
    late = hub.ok("b", "task", "add", "second", "--label", "x")["id"]
    hub.ok("a", "sync")
    there = hub.ok("a", "gate", "show", raised["id"])
    assert late in there["edges"] and late not in raised["edges"]
    assert there["graph_delta_hash"] != raised["graph_delta_hash"]
    hub.level("a", "b")
    assert hub.run("b", "task", "claim", late).code == 6
    again = ("gate", "raise", "--why", "the same in both", "--scope", "all")
    mine, theirs = hub.ok("a", *again, "--offline"), hub.ok("b", *again)
    assert mine["id"] == theirs["id"] and hub.run("a", "sync").code == 3
    (parked,) = hub.ok("a", "parked")["items"]
    assert hub.ok("a", "parked", "take", parked["operation"])["there"] == [f"gate:{mine['id']}"]


def test_gates_are_judged_in_a_clone_without_a_store_as_in_one_that_has_it(hub: Fleet) -> None:
    hub.ok("a", "init"), hub.ok("a", "begin", "--goal", "g", "--new")
    hub.ok("a", "gate", "raise", "--why", "w", "--scope", "label:x")
    over = hub.ok("a", "gate", "raise", "--why", "v", "--scope", "all")["id"]
    hub.ok("a", "gate", "clear", over)
    own = hub.ok("a", "verify", "--gates")
    hub.git(".", "clone", "-q", "hub.git", "c")
    for _ in ("fetched", "on the remote"):
        there = hub.ok("c", "verify", "--gates")
        assert (own["gates"], there["gates"], there["violations"]) == (2, 2, [])
        assert there == {**hub.ok("c", "verify"), "gates": 2}
        hub.git("c", "update-ref", "-d", "refs/remotes/origin/atlas")
    assert not (hub.top / "c/.git/atlas").exists()

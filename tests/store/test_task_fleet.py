"""A board emptied by several clones at once: each task is done exactly once, after what it needs,
whatever is killed."""

from __future__ import annotations

import random
import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ..conftest import command
from .crew import Worker, at_once, crew
from .test_clones import Fleet, fleet, hub

__all__ = ["fleet", "hub"]  # fixtures
LATER = 3 * 3600  # seconds: after the claims of the killed have run out


def plan(count: int, poison: int) -> str:
    """Tasks in layers, each needing two of the layer above it; and poisonous ones that one task
    each needs."""
    lines, width = [], max(4, count // 10)
    for nth in range(count):
        needs = f"needs: t{nth - width}, t{nth - width + 1}\n" if nth >= width else ""
        lines.append(f"## task {nth}\nname: t{nth}\npriority: {nth * 7 % 90}\n{needs}")
    for nth in range(poison):
        lines.append(
            f"## poison {nth}\nname: p{nth}\npriority: 95\n\n## behind {nth}\nname: b{nth}\nneeds: p{nth}\n"
        )
    return "\n".join(lines)


def emptied(worker: Worker) -> int:
    """Works until nothing is ready any more; how many claims it had."""
    claims, quiet = 0, 0
    while quiet < 2:
        got = worker("task", "next", "--claim", "--json")
        if got.code != 0:
            assert got.code in (7, 8, 10), got
            quiet += got.code == 7
            time.sleep(0.2)
            continue
        claims, quiet, row = claims + 1, 0, got.data
        bad = row["title"].startswith("poison")
        end = (
            ("fail", row["id"], "--why", "it is poison")
            if bad
            else ("done", row["id"], "-m", row["title"])
        )
        done = worker("task", *end, "--receipt", row["receipt"], "--require-published", "--json")
        assert done.code in (0, 8, 10), done
    return claims


def killed(found: Fleet, clone: str, nth: int) -> None:
    """A worker that is killed while it claims, or right after."""
    who = found.ok(clone, "begin", "--new", "--goal", "victim", "--actor", f"victim{nth}")["id"]
    env = {**found.env, "ATLAS_SESSION": who}
    child = subprocess.Popen(
        command("task", "next", "--claim"),
        cwd=found.top / clone,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        child.wait(random.Random(nth).uniform(0.1, 1.2))
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def worked(places: list[Path], env: dict[str, str]) -> tuple[int, float]:
    """Claims of a crew that empties the board, and its seconds."""
    with crew(places, env) as workers:
        for nth, worker in enumerate(workers):
            worker.begin(f"worker {nth}", "--actor", f"worker{nth}")
        began = time.monotonic()
        with ThreadPoolExecutor(len(workers)) as pool:
            claims = sum(pool.map(emptied, workers))
        return claims, time.monotonic() - began


@pytest.mark.parametrize(
    ("clones", "each", "tasks", "kills"),
    [(2, 2, 10, 2), pytest.param(4, 4, 500, 12, marks=pytest.mark.long)],
)
def test_every_task_is_done_once_and_in_order(
    clones: int,
    each: int,
    tasks: int,
    kills: int,
    hub: Fleet,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = [chr(ord("a") + nth) for nth in range(clones)]
    hub.ok("a", "init", "--test")
    hub.ok("a", "begin", "--goal", "plan")
    (tmp_path / "plan.md").write_text(plan(tasks, 2))
    hub.ok("a", "task", "add", "--plan", str(tmp_path / "plan.md"))
    for name in names[2:]:
        hub.git(".", "clone", "-q", "hub.git", name)
    for name in names[1:]:
        hub.ok(name, "begin", "--goal", "join")
    for nth in range(kills):
        killed(hub, names[nth % clones], nth)
    places = [tmp_path / name for name in names for _ in range(each)]
    claims, seconds = worked(places, hub.env)
    late = {**hub.env, "ATLAS_CLOCK_OFFSET": str(LATER)}
    assert claims >= tasks // 4  # (what the killed have holds back the rest)
    worked(places, late)
    with capsys.disabled():
        print(f"\n{claims / seconds:.1f} claims a second by {clones} clones x {each} processes")

    hub.level(*names)
    dead = hub.ok("a", "task", "dead", ATLAS_CLOCK_OFFSET=str(LATER))["items"]
    assert sorted(row["title"] for row in dead) == ["poison 0", "poison 1"]
    assert {row["retries"] for row in dead} == {3}
    left = hub.ok("a", "task", "list", ATLAS_CLOCK_OFFSET=str(LATER))["items"]
    assert {row["title"]: row["state"] for row in left if row["state"] != "dead"} == {
        "behind 0": "blocked",
        "behind 1": "blocked",
    }

    # One commit a success, and no claim before the success of what the task needs.
    subjects = hub.git("hub.git", "log", "--reverse", "--format=%s", "atlas").split("\n")
    done = [found[1] for one in subjects if (found := re.match(r"task: done (\w+) ", one))]
    assert len(done) == len(set(done)) == tasks
    rows = hub.ok("a", "task", "list", "--all")["items"] + left
    needs = {row["id"]: row.get("needs", []) for row in rows}
    over: set[str] = set()
    for one in subjects:
        if found := re.match(r"task: (claim|done) (\w+) ", one):
            assert set(needs.get(found[2], ())) <= over, one
            over |= {found[2]} if found[1] == "done" else set()


def test_a_claim_offline_of_what_another_has_is_lost_and_cannot_be_finished(fleet: Fleet) -> None:
    one = fleet.ok("a", "task", "add", "t")["id"]
    fleet.ok("b", "sync")
    mine = fleet.ok("a", "task", "claim", one, "--offline")
    theirs = fleet.ok("b", "task", "next", "--claim")
    assert (mine["id"], theirs["id"]) == (one, one)
    late = fleet.run("a", "task", "done", one, "--receipt", mine["receipt"], "--require-published")
    assert late.code == 4 and late.json["error"]["code"].startswith("stale_"), late
    lost = f"LOST, others were first: task:{one} is claimed by {theirs['claim']['session']}"
    assert [fleet.run("a", "task", "list").json["notices"].count(lost) for _ in "ab"] == [1, 0]
    assert fleet.ok("a", "parked")["items"] == []
    assert fleet.ok("b", "task", "done", one)["state"] == "done"


def test_done_says_what_nobody_else_has_yet(fleet: Fleet) -> None:
    one, two = (fleet.ok("a", "task", "add", title)["id"] for title in ("one", "two"))
    fleet.ok("a", "task", "claim", one, two)
    fleet.git("a", "fetch", "-q")
    assert not any(
        "remote" in line for line in fleet.run("a", "task", "start", one).json["notices"]
    )
    (fleet.top / "a/x.py").write_text("print('y')\n")
    me = fleet.ok("a", "session", "show")["id"]
    fleet.git("a", "commit", "-qam", f"more\n\nAtlas-Session: {me}", "--no-verify")
    fleet.ok("a", "config", "set", "done_unpushed", "stop")
    stop = fleet.run("a", "task", "done", one, "-m", "it")
    assert (stop.code, stop.json["error"]["code"]) == (5, "unpushed")
    fleet.ok("a", "config", "set", "done_unpushed", "warn")
    told = fleet.run("a", "task", "done", one, "-m", "it")
    assert told.code == 0 and "a commit of yours is on no remote" in str(told.json["notices"])
    [kept] = fleet.ok("a", "task", "results", one)["items"]
    assert kept["commit"] == fleet.git("a", "rev-parse", "HEAD")
    fleet.git("a", "push", "-q", "--no-verify", "origin", "HEAD")
    told = fleet.run("a", "task", "done", two)
    assert told.code == 0 and "on no remote" not in str(told.json["notices"])


def test_a_lost_race_takes_the_next_one_in_the_same_call(fleet: Fleet) -> None:
    first, second = (fleet.ok("a", "task", "add", title)["id"] for title in ("one", "two"))
    fleet.ok("b", "sync")
    assert fleet.ok("b", "task", "next", "--claim")["id"] == first
    got = fleet.run("a", "task", "next", "--claim", ATLAS_FAULT="")
    assert (got.code, got.data["id"]) == (0, second)
    assert fleet.run("a", "task", "claim", first).json["error"]["code"] == "held"


def test_who_loses_the_last_task_is_left_with_nothing_parked(fleet: Fleet) -> None:
    for clone in ("a", "b"):
        fleet.ok(clone, "config", "set", "fresh", "9h")
    fleet.ok("a", "task", "add", "the last one")
    fleet.ok("b", "sync")
    places = [fleet.top / clone for clone in ("a", "b")]
    with crew(places, fleet.env) as workers:
        for nth, worker in enumerate(workers):
            worker.begin(f"racer {nth}", "--actor", f"racer{nth}")
            worker("sync")
        got = at_once(workers, [("task", "next", "--claim", "--json")] * 2)
        assert sorted(done.code for done in got) == [0, 7], got
        for worker in workers:
            assert worker("parked", "--json").data["total"] == 0
        loser = workers[[done.code for done in got].index(7)]
        assert loser("end", "-m", "Done.", "--json").code == 0


def test_a_claim_that_cannot_be_published_is_given_back(fleet: Fleet) -> None:
    one = fleet.ok("a", "task", "add", "t")["id"]
    url = fleet.git("a", "remote", "get-url", "origin")
    fleet.git("a", "remote", "set-url", "origin", str(fleet.top / "nowhere.git"))
    lost = fleet.run("a", "task", "next", "--claim")
    assert lost.code == 8 and f"{one} was given back" in lost.json["error"]["message"], lost
    assert fleet.ok("a", "task", "show", one)["state"] == "ready"
    fleet.ok("a", "task", "add", "behind it")
    taken = fleet.run("a", "lease", "take", "gpu0", "--why", "w")
    assert taken.code == 8 and "gpu0 was given back" in taken.json["error"]["message"], taken
    fleet.git("a", "remote", "set-url", "origin", url)
    fleet.ok("a", "sync")
    subjects = fleet.git("hub.git", "log", "--format=%s", "atlas")
    assert not re.search("claim|release|take", subjects), (
        "what nobody had confirmed is in no history"
    )
    assert "rewound" not in str(fleet.run("a", "status").json["notices"])
    fleet.ok("a", "config", "set", "principals", '["actor-a"]')
    theirs = fleet.ok("b", "task", "next", "--claim")
    assert theirs["id"] == one
    assert fleet.ok("a", "session", "drop", theirs["claim"]["session"], "--why", "w")["freed"] == [
        f"task:{one}"
    ]
    assert fleet.run("b", "task", "done", one).code in (4, 6), "its copy knew of no drop"


def test_thousands_of_ids_made_apart_never_meet() -> None:
    from atlas_cli.records.board import task
    from atlas_cli.store.transaction import new_operation

    made = [task.new_id(new_operation(), nth) for _ in range(2) for nth in range(5000)]
    assert len(set(made)) == 10_000 and {len(one) for one in made} == {10}


def test_two_edges_made_apart_close_no_circle(fleet: Fleet) -> None:
    first, second = (fleet.ok("a", "task", "add", title)["id"] for title in ("one", "two"))
    fleet.ok("b", "sync")
    fleet.ok("a", "task", "edit", first, "--needs", second, "--offline")
    fleet.ok("b", "task", "edit", second, "--needs", first)
    assert fleet.run("a", "sync").code == 3, "its edge would close the circle"
    for parked in fleet.ok("a", "parked")["items"]:
        fleet.ok("a", "parked", "drop", parked["operation"])

"""The task board by its commands: what they answer, what is told to whom, and what is never
printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from atlas_cli.model import text
from atlas_cli.records.board import task

from ..conftest import INDEX, Atlas
from .hand import Hand

SECRET = "the-planted-body-of-a-task"
PLAN = """# A plan

## Write the parser
name: parser
priority: 70

Its text.

## Write its tests
- name: tests
- depends_on: parser
- labels: slow, big
- on: src/x.py, docs
"""


@pytest.fixture
def do(begun: str, quick: Atlas) -> Any:
    """The data of a command that succeeds."""

    def run(*argv: str, code: int = 0, **more: Any) -> Any:
        done = quick(*argv, "--json", **more)
        assert done.code == code, done
        return done.data if code == 0 else done.json["error"]

    return run


def test_a_plan_is_posted_whole_in_both_forms(do: Any, repo: Path, quick: Atlas) -> None:
    (repo / "p.md").write_text(PLAN)
    parser, tests = do("task", "add", "--plan", str(repo / "p.md"))["items"]
    assert (parser["title"], parser["priority"], parser["body"]) == (
        "Write the parser",
        70,
        "Its text.\n",
    )
    assert (tests["needs"], tests["labels"]) == ([parser["id"]], ["slow", "big"])
    assert tests["files"] == ["src/x.py", "docs"] and "files" not in parser
    yaml = f"tasks:\n  - {{title: one, name: a, needs: [b], on: [./src//x.py]}}\n  - title: two\n    name: b\n    needs: ['{tests['id']}']\n"
    (repo / "p.yaml").write_text(yaml)
    one, two = do("task", "add", "--plan", str(repo / "p.yaml"))["items"]
    assert one["files"] == ["src/x.py"]
    assert (one["needs"], two["needs"]) == ([two["id"]], [tests["id"]])
    assert do("task", "graph", "--format", "mermaid")["edges"] == [
        [parser["id"], tests["id"]],
        [two["id"], one["id"]],
        [tests["id"], two["id"]],
    ]
    do("task", "add", 'a "quoted" \x1b[2J\u202e title]')
    for form in ("dot", "mermaid"):
        drawn = quick("task", "graph", "--format", form)
        assert "note:" not in drawn.out and "a 'quoted' '[2J' title]" in drawn.out, drawn
    for wrong, says in (
        ("tasks: [{name: x}]", "has no title"),
        ("tasks: []", "no task in it"),
        ("a: [", "p.yaml"),
        ("tasks: [{title: t, priority: high}]", "priority cannot be"),
        ("tasks: [{title: t}, {title: t}]", "stands twice"),
        ("tasks: [{title: t, on: [1]}]", "on cannot be"),
        ("tasks: [{title: t, needs: [nowhere]}]", "no task nowhere"),
    ):
        (repo / "p.yaml").write_text(wrong)
        assert (
            says
            in do(
                "task", "add", "--plan", str(repo / "p.yaml"), code=7 if "nowhere" in wrong else 2
            )["message"]
        )


OF_ONE_TASK = {
    "-m": "text",
    "--file": "p.md",
    "--needs": "7f3k2mq9xa",
    "--priority": "90",
    "--role": "backend",
    "--label": "slow",
    "--slots": "2",
    "--relies-on": "status:main",
    "--deadline": "2h",
    "--on": "src/x.py",
}


@pytest.mark.parametrize("option", OF_ONE_TASK)
def test_an_option_that_a_plan_cannot_heed_is_refused_by_its_name(
    option: str, do: Any, repo: Path
) -> None:
    (repo / "p.md").write_text(PLAN)
    told = do("task", "add", "--plan", str(repo / "p.md"), option, OF_ONE_TASK[option], code=2)[
        "message"
    ]
    assert told.startswith(f"{option}: ")
    assert do("task", "list")["total"] == 0


def test_a_plan_that_is_frozen_is_so_in_each_of_its_tasks(do: Any, repo: Path) -> None:
    (repo / "p.md").write_text(PLAN)
    rows = do("task", "add", "--plan", str(repo / "p.md"), "--frozen", "not yet", "--until", "2h")[
        "items"
    ]
    assert [row["frozen"]["why"] for row in rows] == ["not yet", "not yet"]
    assert all("until" in row["frozen"] for row in rows)


def test_a_long_plan_is_one_file_of_the_store(do: Any, repo: Path, env: dict[str, str]) -> None:
    """Thousands of objects, each with a sync of its own, would take minutes."""
    (repo / "p.md").write_text("".join(f"## task {nth}\n\n" for nth in range(250)))
    assert do("task", "add", "--plan", str(repo / "p.md"))["total"] == 250
    hand = Hand(repo, env)
    loose, packs = (
        int(line.split()[1]) for line in hand.git("count-objects", "-v").split("\n")[0:4:3]
    )
    assert loose < 50 and packs == 1 and do("verify")["violations"] == []


def test_done_says_what_it_unblocked_and_goes_on(do: Any) -> None:
    first = do("task", "add", "one")["id"]
    second = do("task", "add", "two", "--needs", first)["id"]
    one, two = do("task", "list", "--ready", "--explain")["items"]
    assert (one["state"], one["unblocks"], two["unmet"]) == ("ready", [second], {first: "open"})
    do("task", "claim", first)
    done = do("task", "done", first, "-m", "all of it", "--claim-next")
    assert (done["unblocked"], done["next"]["id"]) == ([second], second)
    again = do("task", "done", first, "-m", "all of it")
    assert again["replayed"] and again["version"] == done["version"]
    assert do("task", "results", first)["items"][0]["text"] == "all of it\n"
    assert [row["id"] for row in do("task", "list", "--state", "done")["items"]] == [first]
    assert do("task", "list", "--state", "finished", code=2)["code"] == "usage"
    do("task", "done", second, "--result", "-", data="\0\1")
    assert do("task", "results", second)["items"][0]["base64"] == "AAE="
    assert do("task", "results", second, first)["items"][1]["text"] == "all of it\n"
    third = do("task", "add", "three")["id"]
    assert do("task", "results", third, code=7)["message"] == f"task {third} has left no result"
    assert "twice" in do("task", "results", first, first, code=2)["message"]


def test_a_batch_says_which_it_could_not_claim_and_why(do: Any) -> None:
    first = do("task", "add", "one")["id"]
    second = do("task", "add", "two", "--depends-on", first)["id"]
    got = do("task", "claim", first, second, "nowhere")
    assert got["claimed"] == [first]
    assert {row["id"]: row["code"] for row in got["failed"]} == {
        second: "gated",
        "nowhere": "not_found",
    }
    assert do("task", "claim", second, code=6)["details"]["unmet"] == {first: "claimed"}


def test_a_frozen_task_says_when_it_can_thaw(do: Any, begun: str) -> None:
    first = do("task", "add", "one")["id"]
    second = do("task", "add", "two", "--frozen", "not yet", "--until", f"task:{first}")["id"]
    frozen = {
        row["id"]: row.get("can_thaw") for row in do("task", "list", "--state", "frozen")["items"]
    }
    assert frozen == {second: False}
    do("task", "next", "--claim")
    do("task", "done", first)
    assert (
        do("task", "show", second)["can_thaw"] and do("task", "next", code=7)["code"] == "no_task"
    )
    do("task", "thaw", second)
    assert do("task", "next")["id"] == second


def test_a_claim_says_all_that_its_worker_must_know(do: Any, repo: Path, quick: Atlas) -> None:
    (repo / "p.md").write_text("a plan\n")
    do("artifact", "put", "plan", "p.md", "--caveat", "not measured")
    choice = [f"--{key}={key}" for key in ("title", "recommended", "chosen", "why")]
    ground = do("decision", "add", *choice, "--stance", "agreed")["ref"]
    first = do("task", "add", "one")["id"]
    relies = ("--relies-on", "artifact:plan", "--relies-on", ground)
    body = ("-m", "All of it:\n\n- this\n- and that")
    second = do("task", "add", "two", *body, "--needs", first, *relies, "--uses", "rig")["id"]
    do("correct", ground, "--retract", "--why", "it was wrong")
    old = do("gate", "raise", "--scope", "label:x", "--why", "w")["id"]
    head = quick("log", "--json").json["store"]["head"]
    do("gate", "clear", old)
    do("task", "next", "--claim")
    do("task", "done", first, "-m", "forty two")
    text = quick("task", "claim", second).out
    assert "│ - and that" in text and f"receipt {second}.1.1.1." in text
    assert "held for it: rig" in text and f"it builds on result:{first}, which is yours" in text
    assert "relies on artifact:plan@1, whose caveat is: not measured" in text
    assert "it was wrong" in text and ground in text
    data = do("task", "claim", second)
    assert data["results"] == [f"result:{first}"] and len(data["warnings"]) == 2
    do("task", "fail", second, "--why", "the rig is broken", "--receipt", data["receipt"])
    [row] = do("task", "list")["items"]
    assert row["came_back"].endswith(": the rig is broken")
    assert "came back: " in quick("task", "list").out
    do("task", "claim", second)
    back = do("task", "release", second, "--why", "the rig is away today")
    assert (back["state"], back["retries"]) == ("open", 1), "it is no failure"
    [row] = do("task", "list")["items"]
    why = f"released by {row['failures'][-1]['session']}: the rig is away today"
    assert row["came_back"] == why and f"came back: {why}" in quick("task", "list").out
    assert why in quick("task", "show", second).out
    assert quick("task", "release", second, "--why", " ").code == 2
    do("task", "claim", second), do("task", "release", second)
    assert "came_back" not in do("task", "list")["items"][0], "the newest time, for no reason"
    assert why in quick("task", "show", second).out
    assert do("lease", "show", "rig")["state"] == "released"
    assert do("gate", "list")["total"] == 0 and do("gate", "list", "--all")["total"] == 1
    [then] = do("gate", "list", "--at", head)["items"]
    assert (then["id"], then["state"]) == (old, "pending")


def test_a_claim_prints_the_short_results_of_others_that_it_builds_on(
    do: Any, quick: Atlas
) -> None:
    ids = [do("task", "add", title)["id"] for title in ("short", "long")]
    other = do("begin", "--goal", "other", "--new")["id"]
    for id, came in zip(ids, ("forty two", "word " * 100), strict=True):
        do("task", "claim", id)
        do("task", "done", id, "-m", came)
    do("begin", "--goal", "next", "--new")
    last = do("task", "add", "last", "--needs", ids[0], "--needs", ids[1])["id"]
    short, long = (quick("task", "show", id).out for id in ids)
    assert f"result:{ids[0]} by {other}, " in short and "│ forty two\n" in short
    assert re.search(rf"^result:{ids[1]} by .* bytes.*: atlas task results {ids[1]}$", long, re.M)
    assert "word word" not in long
    text = quick("task", "claim", last).out
    assert f"it builds on result:{ids[0]} by {other}" in text and "│ forty two" in text
    assert f"it builds on result:{ids[1]}: atlas task results {ids[1]}" in text
    do("task", "done", last)
    shown = quick("task", "show", last)
    assert "without a result" in shown.out and do("task", "show", last)["result"] is None
    assert do("show", f"task:{ids[0]}")["result"] == f"result:{ids[0]}"
    end = quick("task", "next").err
    assert "atlas: answer 7 (no task): the board is done: 3 done; 2 other sessions may" in end
    assert "atlas wait ready waits for it" in end
    waited = quick("task", "next", "--claim", "--wait", "1s")  # (there is nothing to wait for)
    assert (waited.code, "answer 7 (no task)" in waited.err) == (7, True)
    assert "answer 7 (timeout): waited 1 s" in quick("wait", "ready", "--timeout", "1s").err
    assert "no open task: the board is done: 3 done" in quick("task", "list").out
    assert "the board is done: 3 done" in quick("task", "board").out
    assert "there is no `atlas task give`" in quick("task", "give", "x").err


def test_a_take_names_what_is_held_beside_it_and_lists_name_what_is_declared(
    do: Any, begun: str, quick: Atlas
) -> None:
    rig = '{"rig": {"about": "the test rig", "paths": ["tools/rig"]}}'
    do("config", "set", "resources", rig)
    [free] = do("lease", "list")["items"]
    assert "│ rig" in quick("digest").out or "│ rig" in quick().out
    assert (free["id"], free["state"], free["about"]) == ("rig", "free", "the test rig")
    other = do("begin", "--new", "--goal", "other")["id"]
    do("lease", "take", "rig", "--why", "w", "--session", begun)
    taken = do("lease", "take", "gpu0", "--why", "w", "--session", other)
    assert [row["resource"] for row in taken["beside"]] == ["rig"]
    assert (
        do("lease", "take", "path:tools/rig/x", "--why", "w", code=4)["details"]["holder"] == begun
    )
    assert do("who", "tools/rig/x.py")["items"][0]["what"] == "lease rig"
    assert "beside it: rig (" in quick("lease", "take", "gpu1", "--why", "w").out


def test_eligibility_is_the_same_from_the_history_alone(do: Any, quick: Atlas) -> None:
    """At every commit: what was listed then is what the history says now; each grant was on that
    list."""
    a = do("task", "add", "a")["id"]
    do("task", "add", "b", "--needs", a, "--priority", "90")
    c = do("task", "add", "c", "--priority", "10")["id"]
    then = {}
    for step in (
        f"task claim {a}",
        f"task done {a}",
        f"gate raise --why w --task {c}",
        "task next --claim",
        "gate clear {id}",
        "task next --claim",
    ):
        gate = next(iter(do("gate", "list")["items"]), {})
        do(*step.format(**gate).split())
        listed = do("task", "list", "--ready")
        then[quick("status", "--json").json["store"]["head"]] = [
            row["id"] for row in listed["items"]
        ]
    assert [len(ids) for ids in then.values()] == [1, 2, 1, 0, 1, 0]
    for commit, ids in then.items():
        assert [row["id"] for row in do("task", "list", "--ready", "--at", commit)["items"]] == ids
    grants = [
        row
        for row in do("log", "--kind", "task")["items"]
        if row["subject"].startswith("task: claim")
    ]
    commits = [row["commit"] for row in do("log", "-n", "50")["items"]]
    for row in grants:
        before = commits[commits.index(row["commit"]) + 1]
        ready = do("task", "list", "--ready", "--at", before)["items"]
        assert row["subject"].split()[2] == ready[0]["id"]


def test_dead_letters_are_told_at_the_next_begin(do: Any, quick: Atlas) -> None:
    do("config", "set", "max_retries", "1")
    one = do("task", "add", "poison")["id"]
    child = do(
        "begin",
        "--new",
        "--parent",
        do("session", "show")["id"],
        "--goal",
        "child",
        "--actor",
        "child",
    )["id"]
    for _ in range(2):
        do("task", "next", "--claim", "--session", child)
        do("task", "fail", one, "--why", "it is poison", "--session", child)
    found = do("begin")["dead"]
    assert [(row["id"], row["yours"]) for row in found] == [(one, "you posted it")]
    assert f'! task:{one} is a dead letter (you posted it): "poison"' in quick("begin").out
    assert do("task", "dead")["total"] == 1
    assert do("task", "retry", one, "--why", "mended")["generation"] == 3
    assert do("begin")["dead"] == [] and [row["id"] for row in do("begin")["ready"]] == [one]


def test_assigned_work_is_started_or_offered_again(do: Any) -> None:
    me = do("session", "show")["id"]
    do("session", "offer", "--slots", "2", "--load", "5000", "--role", "backend")
    one = do("task", "add", "t", "--role", "backend")["id"]
    given = do("task", "assign", "--session", me)
    assert (given["id"], given["claim"]["session"], given["claim"]["path"]) == (one, me, "assign")
    assert do("session", "offer", "--slots", "2", "--load", "5000")["effective"] == 0
    assert "started" in do("task", "start", one)["claim"]
    other = do("task", "add", "u")["id"]
    assert do("task", "assign", other, code=6)["code"] == "no_worker"


def test_a_parent_drops_a_dead_child_and_others_may_not(do: Any) -> None:
    child = do("begin", "--new", "--parent", do("session", "show")["id"], "--goal", "child")["id"]
    one = do("task", "add", "t")["id"]
    do("task", "next", "--claim", "--session", child)
    do("lease", "take", "gpu0", "--why", "w", "--session", child)
    assert (
        do(
            "session", "drop", do("session", "show")["id"], "--why", "w", "--session", child, code=6
        )["code"]
        == "not_yours"
    )
    freed = do("session", "drop", child, "--why", "its machine is gone")["freed"]
    assert sorted(freed) == ["lease:gpu0", f"task:{one}"]
    assert (
        do("task", "show", one)["state"] == "ready"
        and do("lease", "show", "gpu0")["state"] == "released"
    )
    assert do("task", "done", one, "--session", child, code=5)["code"] == "no_session"
    assert do("verify", "--full")["violations"] == []


def test_the_end_and_an_expectation(do: Any) -> None:
    one = do("task", "add", "t")["id"]
    do("task", "claim", one)
    assert do("task", "renew", one, "--expect", f"task:{one}@1", code=3)["code"] == "version_jump"
    assert (
        do("task", "cancel", one, "--why", "w", "--base", "1", "--expect", f"task:{one}@2")["state"]
        == "cancelled"
    )
    assert do("task", "cancel", one, "--why", "w", "--expect", f"task:{one}@3")["replayed"]
    assert (
        do("task", "cancel", one, "--why", "w", "--expect", f"task:{one}@2", code=3)["code"]
        == "version_jump"
    )
    two = do("task", "add", "u")["id"]
    do("task", "claim", two)
    assert do("end", "-m", "done")["released"] == [f"task:{two}"]


def test_no_talk_prints_a_body_or_a_result(
    do: Any, quick: Atlas, repo: Path, env: dict[str, str]
) -> None:
    one = do("task", "add", "t", "-m", SECRET)["id"]
    do("task", "claim", one)
    do("task", "done", one, "-m", f"result {SECRET}")
    two = do("task", "add", "u", "-m", SECRET)["id"]
    hand = Hand(repo, env)
    path = task.path_of(two)
    fields, _ = text.front(hand.read(path), path)
    hand.commit(
        {path: text.with_front({**fields, "version": 9, "needs": 1}, SECRET)}
    )  # damaged, and against the rules
    said = []
    for line in (
        "log",
        "log --json",
        "doctor",
        "doctor --json",
        "verify --full",
        "verify --full --json",
        "status",
        "begin",
        "begin --json",
        "task list --all",
        "task list --json",
        "task board",
        "task board --json",
        "task graph",
        "task dead --json",
        f"task done {one} -m other",
        f"task done {one} -m other --json",
        f"task claim {one}",
        f"task edit {one} -m {SECRET}",
        f"task claim {two}",
        "task next",
        "session show",
        f"task results {two}",
        "git log --stat",
        "view",
    ):
        done = quick(*line.split())
        said += [(line, done.out + done.err)]
    assert [line for line, words in said if SECRET in words] == []
    assert (
        SECRET in quick("show", f"task:{one}").out and SECRET in quick("task", "results", one).out
    )


def test_the_index_gives_the_same_order_however_it_was_made(do: Any, repo: Path) -> None:
    first = do("task", "add", "a")["id"]
    for title in "bcd":
        do("task", "add", title)
    do("task", "edit", first, "--title", "A")
    before = [row["id"] for row in do("task", "list")["items"]]
    for end in ("", "-wal", "-shm"):
        (repo / f".git/atlas/{INDEX}{end}").unlink(missing_ok=True)
    assert [row["id"] for row in do("task", "list")["items"]] == before and before[0] == first


def _edge(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "needs": []}


def _receipt(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "claim": {**row["claim"], "needs": {}, "attempt": 7}}


def _gated(row: dict[str, Any]) -> dict[str, Any]:
    claim = {
        "session": row["session"],
        "actor": "x",
        "generation": 1,
        "attempt": 1,
        "token": 1,
        "store": "x",
        "at": row["at"],
        "expires": row["at"],
        "path": "claim",
        "version": 1,
        "needs": {},
    }
    return {**row, "state": "claimed", "attempt": 1, "token": 1, "claim": claim}


def _finished(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "state": "done"}


@pytest.mark.parametrize(
    ("which", "bent", "rule"),
    [
        (1, _edge, "edge"),
        (0, _receipt, "receipt"),
        (1, _gated, "gated"),
        (1, _finished, "task_state"),
    ],
)
def test_what_a_hand_does_to_the_board_is_found_and_taken_back(
    which: int, bent: Any, rule: str, do: Any, repo: Path, env: dict[str, str]
) -> None:
    ids = [do("task", "add", "a")["id"]]
    ids.append(do("task", "add", "b", "--needs", ids[0])["id"])
    do("task", "next", "--claim")
    hand, path = Hand(repo, env), task.path_of(ids[which])
    fields, body = text.front(hand.read(path), path)
    commit = hand.commit(
        {path: text.with_front({**bent(fields), "version": fields["version"] + 1}, body)}
    )
    error = do("verify", code=9)
    found = {(one["commit"], one["path"], one["rule"]) for one in error["details"]["violations"]}
    assert (commit, path, rule) in found, found
    do("doctor", "--fix")
    assert do("verify", "--full")["violations"] == []
    assert do("task", "show", ids[1])["state"] == "gated"

"""What a task uses: leases that come and go with its claim, names of resources that mean paths, and
the board's end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from atlas_cli.errors import Held, NotFound, Usage
from atlas_cli.model import times
from atlas_cli.model.change import Change
from atlas_cli.records import lease, resources, session, takeover, waiting
from atlas_cli.records.board import assigning, claims, offering, posting, task, using

from .board import added, ids, queue, world
from .files import ANN, BOB, NOW, Files, done, judged, writer

HOUR = 3600
RIG = {"rig": {"about": "the test rig", "paths": ["tools/rig"]}}


def act(tree: Files, verb: Callable[..., Change], *given: Any, who: str = ANN, at: int) -> Files:
    by = writer(who, NOW + at)
    return done(tree, verb(tree, by, *given), by)


def held(tree: Files, resource: str, at: int) -> tuple[str, str, int] | None:
    """Who holds it, for which task, and for how long still."""
    row = lease.current(tree, resource)
    if row is None or not lease.holds(row, NOW + at):
        return None
    return row["holder"], row.get("task", ""), (lease.until(row) or 0) - NOW - at


def two(*uses: str, **changed: object) -> tuple[Files, str, str]:
    """Two open tasks that use the same."""
    tree = added(added(world(**changed), "a", uses=list(uses)), "b", uses=list(uses), at=NOW + 1)
    return (tree, *ids(tree))


def test_a_claim_takes_what_the_task_uses_and_its_end_gives_it_back() -> None:
    tree, a, _ = two("rig", "path:src")
    taken = act(tree, claims.claim, [a], None, at=10)
    assert held(taken, "rig", 10) == held(taken, "path:src", 10) == (ANN, a, HOUR)
    longer = act(taken, claims.renew, [a], 2 * HOUR, None, at=20)
    assert held(longer, "rig", 20) == (ANN, a, 2 * HOUR)
    ends: list[tuple[Callable[..., Change], tuple[object, ...]]] = [
        (claims.done, (a, None, None)),
        (claims.fail, (a, None, "w")),
        (claims.release, ([a],)),
        (posting.cancel, (a, "w", None)),
        (assigning.leave, ()),
    ]
    for verb, given in ends:
        assert held(act(longer, verb, *given, at=30), "rig", 30) is None, verb


def test_a_task_is_about_the_paths_that_it_names_and_those_of_what_it_uses() -> None:
    in_force = {"resources": RIG, "shared": {}}
    record: dict[str, object] = {
        "files": ["src/x.py", "docs"],
        "uses": ["rig", "gpu0", "path:docs"],
    }
    assert using.paths(in_force, record) == ("src/x.py", "docs", "tools/rig")
    assert using.paths(in_force, {}) == ()
    # a name that another store keeps means no path of this one
    elsewhere = {**in_force, "shared": {"rig": "lab"}}
    assert using.paths(elsewhere, record) == ("src/x.py", "docs")


def test_a_short_claim_holds_no_less_than_a_lease_can_and_a_long_one_no_more() -> None:
    tree, a, _ = two("rig", lease_max="2h")
    assert held(act(tree, claims.claim, [a], 60, at=10), "rig", 10) == (ANN, a, 300)
    assert held(act(tree, claims.claim, [a], 3 * HOUR, at=10), "rig", 10) == (ANN, a, 2 * HOUR)


def test_what_was_held_before_is_left_alone() -> None:
    tree, a, _ = two("rig")
    tree = act(tree, lease.take, ["rig"], "mine", 2 * HOUR, at=5)
    tree = act(tree, claims.claim, [a], None, at=10)
    assert held(tree, "rig", 10) == (ANN, "", 2 * HOUR - 5)
    assert held(act(tree, claims.done, a, None, None, at=20), "rig", 20) is not None


def test_it_is_freed_with_the_last_claim_that_uses_it() -> None:
    tree, a, b = two("rig")
    tree = act(tree, claims.claim, [a, b], None, at=10)
    tree = act(tree, claims.renew, [b], 2 * HOUR, None, at=20)
    first = act(tree, claims.done, a, None, None, at=30)
    assert held(first, "rig", 30) == (ANN, b, 2 * HOUR - 10)
    assert held(act(first, claims.done, b, None, None, at=40), "rig", 40) is None
    other = act(tree, claims.done, b, None, None, at=30)
    assert held(other, "rig", 30) is not None
    assert held(act(other, claims.done, a, None, None, at=40), "rig", 40) is None


def test_who_adopts_the_session_has_what_its_claims_use() -> None:
    tree, a, _ = two("rig")
    tree = act(tree, claims.claim, [a], 2 * HOUR, at=10)
    by = writer(BOB, NOW + 20)
    files = {
        **takeover.adopt(tree, by, ANN, "w").files,
        **lease.inherit(tree, by, ANN),
        **assigning.inherited(tree, by, ANN),
    }
    tree = done(tree, Change("adopt", files), by)
    assert held(tree, "rig", 20) == (BOB, a, 2 * HOUR - 10)
    assert held(act(tree, claims.done, a, None, None, who=BOB, at=30), "rig", 30) is None


def test_next_passes_over_what_cannot_be_had_and_says_so() -> None:
    tree, a, _ = two("rig")
    tree = act(added(tree, "c", at=NOW + 2), lease.take, ["rig"], "mine", None, who=BOB, at=5)
    by = writer(ANN, NOW + 10)
    change = claims.claim_next(tree, by, queue(tree), None, None)
    assert [task.parse(path, data or b"")["title"] for path, data in change.files.items()] == ["c"]
    assert len(change.notices) == 2 and f"task {a} uses rig, and rig is held" in change.notices[0]
    with pytest.raises(Held, match="uses rig"):
        claims.claim(tree, by, [a], None)
    with pytest.raises(NotFound, match="3 held back; task") as stop:
        raise offering.none_ready(tree, by, passed=[claims.refusal(tree, by, a)])  # type: ignore[list-item]
    assert stop.value.details["open"] == 3


def test_an_assigned_task_takes_it_when_it_is_started() -> None:
    tree, a, _ = two("rig")
    tree = act(tree, session.offer, {"slots": 2, "status": "healthy", "load": 0}, who=BOB, at=5)
    tree = act(tree, assigning.assign, queue(tree), a, None, [BOB], None, at=10)
    assert held(tree, "rig", 10) is None
    tree = act(tree, claims.start, a, None, who=BOB, at=20)
    assert held(tree, "rig", 20) == (BOB, a, HOUR - 10)


def test_a_resource_of_the_policy_is_the_path_that_it_means() -> None:
    tree = act(world(resources=RIG), lease.take, ["rig"], "mine", None, at=5)
    for other in ("path:tools/rig/x.py", "glob:tools/**/*.py", "repo:run"):
        with pytest.raises(Held, match=r"rig \(overlaps"):
            lease.take(tree, writer(BOB, NOW + 10), [other], "w", None)
    lease.take(tree, writer(BOB, NOW + 10), ["path:tools/other"], "w", None)
    back = act(world(resources=RIG), lease.take, ["path:tools/rig"], "mine", None, at=5)
    with pytest.raises(Held, match="overlaps rig"):
        lease.take(back, writer(BOB, NOW + 10), ["rig"], "w", None)
    there = {"stores": {"box": "https://a.example/b"}, "shared": {"rig": "box"}, "resources": RIG}
    elsewhere = act(world(**there), lease.take, ["rig"], "mine", None, at=5)
    lease.take(elsewhere, writer(BOB, NOW + 10), ["path:tools/rig"], "w", None)


@pytest.mark.parametrize(
    "value",
    [
        [],
        {"RIG": {}},
        {"rig": []},
        {"rig": {"path": ["x"]}},
        {"rig": {"about": 3}},
        {"rig": {"about": "two\nlines"}},
        {"rig": {"about": "x" * 201}},
        {"rig": {"paths": "tools"}},
        {"rig": {"paths": ["../tools"]}},
        {"rig": {"paths": ["tools/"]}},
        {"rig": {"paths": [3]}},
    ],
)
def test_what_is_no_declaration_of_resources_is_refused(value: object) -> None:
    with pytest.raises(Usage):
        resources.valid("resources", value)
    resources.valid("resources", RIG)


def test_the_boards_end_is_told_apart() -> None:
    tree = world("a", "b")
    a, b = ids(tree)

    def end(tree: Files, who: str = BOB, role: str | None = None) -> NotFound:
        return offering.none_ready(tree, writer(who, NOW + 10), role)

    assert end(world()).message == "the board is empty; 1 other session may post more"
    claimed = act(tree, claims.claim, [a], None, at=5)
    stop = end(claimed)
    assert stop.message == "no task is ready: 1 claimed by others, 1 held back"
    assert (stop.details["waiting"], stop.details["open"]) == (1, 2)
    assert end(claimed, ANN).message == "no task is ready: 1 claimed by you, 1 held back"
    both = act(claimed, claims.done, a, None, None, at=6)
    both = act(both, posting.freeze, b, "w", None, at=7)
    assert end(both).message == "no task is ready: 1 frozen"
    over = act(act(both, posting.thaw, b, at=8), posting.cancel, b, "w", None, at=9)
    assert end(over).message == "the board is done: 1 done; 1 other session may post more"
    assert (end(over).details["open"], end(over).details["sessions"]) == (0, 1)


def test_a_session_says_what_it_waits_for_until_it_has_it() -> None:
    tree = world()
    tree = act(tree, waiting.wait, ["lease:gpu0"], NOW + 100, at=0)
    row = session.get(tree, ANN)
    assert row["waits"] == {
        "for": ["lease:gpu0"],
        "at": times.rfc3339(NOW),
        "until": times.rfc3339(NOW + 100),
    }
    by = writer(ANN, NOW + 10)
    files = waiting.waited(tree, by)
    assert judged(tree, files, by) == []
    assert "waits" not in session.get(tree.put(files), ANN)
    assert waiting.waited(tree.put(files), by) == {}


def test_a_limit_points_the_right_way() -> None:
    with pytest.raises(Exception, match="a lease of 1 min") as stop:
        lease.take(world(), writer(), ["gpu0"], "w", 60)
    assert "for at least 5 min" in stop.value.hint  # type: ignore[attr-defined]
    with pytest.raises(Exception, match="a lease of 5 h") as stop:
        lease.take(world(), writer(), ["gpu0"], "w", 5 * HOUR)
    assert "for at most 4 h" in stop.value.hint  # type: ignore[attr-defined]

"""Gates by themselves: what one holds, that it follows from the history alone, who clears it, what
breaks a rule."""

from __future__ import annotations

from typing import Any

import pytest

from atlas_cli.errors import AtlasError, NotFound, Refused, Usage
from atlas_cli.model import text
from atlas_cli.model.change import Writer
from atlas_cli.records import policy, session, signal
from atlas_cli.records.board import claims, gate, posting, raising, readiness, task

from .board import added, by_hand, ids, later, queue, world
from .files import ANN, BOB, EVE, NOW, Files, broken, done, judged, writer
from .test_task import act, claimed, code, state, take


def raised(
    tree: Files,
    *scope: str,
    why: str = "w",
    deadline: str | None = None,
    at: int = NOW + 5,
    op: str = "1" * 32,
    who: str = ANN,
) -> Files:
    by = writer(who, at, operation=op)
    return done(tree, raising.raise_gate(tree, by, why, None, scope, deadline), by)


def only(tree: Files) -> dict[str, Any]:
    (found,) = readiness.standing(tree)
    return found


def end_of(tree: Files, wanted: str) -> dict[str, Any]:
    """The document of a gate's end."""
    path = gate.path_of(wanted + gate.END)
    return gate.parse(path, tree.files[path])


def work(tree: Files) -> list[str]:
    """The tasks that are no clearances."""
    return [one for one in ids(tree) if tree.blob(gate.path_of(one)) is None]


def test_it_holds_what_it_names_and_all_that_needs_it() -> None:
    tree = added(world("a", "b", "c"), "apart", at=NOW + 4)
    a, b, c, apart = work(tree)
    tree = raised(tree, f"task:{b}")
    assert only(tree)["edges"] == sorted([b, c])
    assert [state(tree, one) for one in (a, b, c, apart)] == ["ready", "gated", "gated", "ready"]
    tree = act(take(tree), claims.done, a, None, None)
    clear = only(tree)["id"]
    assert readiness.assess(tree, task.get(tree, b), NOW, policy.of(tree)) == (
        "gated",
        [(clear, "uncleared")],
    )
    assert code(claims.claim, tree, [b], None) == (6, "gated")
    assert readiness.needs(tree, task.get(tree, b)) == [a, clear] and state(tree, clear) == "frozen"
    assert (
        code(posting.thaw, tree, clear) == code(posting.cancel, tree, clear, "w", 1) == (6, "gate")
    )
    tree = act(tree, raising.clear, clear, None)
    assert (state(tree, b), state(tree, clear), readiness.standing(tree)) == ("ready", "done", [])
    assert task.get(take(tree, at=NOW + 30), b)["claim"]["needs"] == {a: 3}


@pytest.mark.parametrize(
    ("scope", "held"), [("all", "abc"), ("label:x", "ab"), ("role:r", "c"), ("label:y", "")]
)
def test_a_scope_holds_what_lies_under_it_now_and_later(scope: str, held: str) -> None:
    tree = added(world(), "a", labels=["x"], at=NOW + 1)
    tree = added(tree, "b", ids(tree), at=NOW + 2)
    tree = added(tree, "c", role="r", at=NOW + 3)
    before = {task.get(tree, one)["title"]: one for one in ids(tree)}
    tree = raised(tree, scope)
    assert only(tree)["edges"] == sorted(before[name] for name in held)
    tree = added(tree, "d", labels=["x"], at=NOW + 6)  # under the scope
    d = next(one for one in work(tree) if one not in before.values())
    assert state(tree, d) == ("gated" if scope in ("all", "label:x") else "ready")
    tree = added(tree, "e", [before["c"]], at=NOW + 7)  # needs one that is
    e = next(one for one in work(tree) if one not in (*before.values(), d))
    assert bool(readiness.holding(tree, task.get(tree, e))) == (scope in ("all", "role:r"))


def test_what_was_done_before_or_is_a_clearance_is_not_held() -> None:
    tree = act(take(world("a", "b")), claims.done, ids(world("a", "b"))[0], None, None)
    tree = raised(tree, "role:r", at=NOW + 25)
    first = only(tree)["id"]
    tree = raised(tree, "all", why="another", at=NOW + 26, op="2" * 32)
    (b,) = [one for one in work(tree) if task.get(tree, one)["state"] == "open"]
    second = next(one for one in readiness.standing(tree) if one["id"] != first)
    assert second["edges"] == [b] and readiness.holding(tree, task.get(tree, first)) == []
    a = next(one for one in work(tree) if one != b)
    assert code(raising.raise_gate, tree, "w", None, [f"task:{a}"], None) == (6, "not_open")


def test_a_claim_goes_on_and_what_needs_it_stays_held_once_it_is_done() -> None:
    tree = take(world("a", "b"))
    a, b = ids(tree)
    tree = act(raised(tree, f"task:{a}", at=NOW + 15), claims.done, a, None, None)
    tree = added(tree, "late", [a], at=NOW + 30)
    late = next(one for one in work(tree) if one not in (a, b))
    assert [state(tree, one) for one in (a, b, late)] == ["done", "gated", "gated"]


def test_two_replays_give_the_same_bytes() -> None:
    """Whatever the clock and whoever writes: of the gate all but its signature, and the clearance's
    id."""

    def replay(at: int, who: str, op: str) -> tuple[bytes, str]:
        tree = raised(world("a", "b"), "all", at=at, who=who, op=op)
        record = only(tree)
        made = {
            key: record[key]
            for key in ("id", "clearance", "scope", "edges", "blocker", "graph_delta_hash")
        }
        return text.dump(made), tree.files[gate.path_of(record["id"])].decode()

    first = replay(NOW + 5, ANN, "1" * 32)
    assert replay(NOW + 5, ANN, "1" * 32) == first
    assert replay(NOW + 777, BOB, "2" * 32)[0] == first[0]
    other = only(raised(world("a", "b", "c"), "all"))
    assert other["graph_delta_hash"] not in first[1] and other["id"] in first[1]
    assert only(raised(world("a", "b"), "all", why="x"))["id"] not in first[1]


def test_a_deadline_that_passes_releases_nothing_and_raising_again_says_so() -> None:
    tree = raised(world("a"), "all", deadline=later(60))
    first, (a,) = only(tree), work(tree)
    assert [gate.state(tree, first, NOW + at) for at in (59, 60)] == ["pending", "expired"]
    assert state(tree, a, NOW + 999) == "gated"
    same = raising.raise_gate(tree, writer(at=NOW + 30), "w", None, ["all"], later(60))
    assert {path: tree.read(path) for path in same.files} == same.files
    assert code(raising.raise_gate, tree, "w", None, ["all"], None) == (6, "gate")
    tree = raised(tree, "all", at=NOW + 90, op="2" * 32, who=BOB)
    assert only(tree)["id"] != first["id"] and state(tree, a) == "gated"
    end = end_of(tree, first["id"])
    assert (end["resolution"], end["resolver"], end["raised"]) == ("expired", BOB, "1" * 32)
    assert (
        gate.state(tree, first, NOW) == "expired" and task.get(tree, first["id"])["state"] == "done"
    )


def below(tree: Files, parent: str, who: str = EVE) -> Files:
    by = writer(who)
    begun = session.begin(
        tree,
        by,
        goal="g",
        worktree="",
        branch="",
        kind="work",
        paths=[],
        streams=[],
        lasts=None,
        parent=parent,
    )
    return done(tree, begun, by)


def test_it_is_cleared_by_who_raised_it_an_ancestor_or_a_principal() -> None:
    tree = raised(below(world("a"), BOB), "all", who=EVE)
    wanted = only(tree)["id"]
    assert code(raising.clear, tree, wanted, None) == (6, "not_yours")
    assert readiness.standing(act(tree, raising.clear, wanted, None, who=EVE)) == []
    assert readiness.standing(act(tree, raising.clear, wanted, None, who=BOB)) == []
    above = tree.put(policy.put(tree, writer(), "principals", ["ann"]).files)
    cleared = act(above, raising.clear, wanted, "mended")
    assert end_of(cleared, wanted)["why"] == "mended"
    again = raising.clear(cleared, writer(BOB, NOW + 99), wanted, None)
    assert {path: cleared.read(path) for path in again.files} == again.files
    with pytest.raises(NotFound):
        raising.clear(tree, writer(), "nowhere", None)


def test_only_a_blocker_raises_a_gate_and_the_others_do_nothing() -> None:
    tree, by = world("a"), writer()
    for word, does in signal.ACTIONS.items():
        if does is None:
            after = done(tree, signal.post(tree, by, word, "path:src", "t"), by)
            assert readiness.standing(after) == [] and state(after, *ids(tree)) == "ready"
    with pytest.raises(Refused, match="raises a gate"):
        signal.post(tree, by, "blocker", None, "t")
    with pytest.raises(Usage, match="no signal"):
        signal.post(tree, by, "panic", None, "t")
    forged = signal.post(tree, by, "blocker", None, "t", "nowhere")
    assert broken(tree, forged.files, by) == {"gate"}


def test_a_gate_that_cannot_be_read_holds_everything() -> None:
    tree = world("a").put({"gates/x.yaml": b"torn"})
    assert state(tree, *work(tree)) == "gated"


# what breaks a rule


def test_a_claim_during_a_gate_by_hand_is_named_with_its_task() -> None:
    tree = raised(world("a"), "all")
    (a,) = work(tree)
    (found,) = judged(tree, by_hand(tree, a, **claimed(tree, a)), None)
    assert (found.rule, found.path) == ("gate", task.path_of(a)) and only(tree)["id"] in found.text
    assert (
        broken(
            act(tree, raising.clear, only(tree)["id"], None), by_hand(tree, a, **claimed(tree, a))
        )
        == set()
    )


def forged(tree: Files, path: str, by: Writer | None = None, **fields: object) -> set[str]:
    """The rules that a document breaks which is put with other fields than the one that `tree`
    would get."""
    change = (
        raising.raise_gate(tree, writer(at=NOW + 5), "w", None, ["all"], None) if not path else None
    )
    files = dict(change.files) if change else {path: tree.files[path]}
    name = next(one for one in files if one.startswith("gates/"))
    files[name] = text.dump({**text.load(files[name] or b"", name), **fields})
    return broken(tree, files, by)


@pytest.mark.parametrize(
    "fields",
    [
        {"edges": []},
        {"graph_delta_hash": "0" * 64},
        {"scope": ["role:r"]},
        {"blocker": "0" * 64},
        {"resolution": "cleared"},
        {"clearance": "other"},
    ],
)
def test_a_raising_that_the_history_does_not_give_is_found(fields: dict[str, object]) -> None:
    assert forged(world("a"), "") == set()
    assert forged(world("a"), "", **fields) == {"gate"}


def test_an_end_by_another_or_of_another_is_found() -> None:
    tree = raised(world("a"), "all")
    wanted = only(tree)["id"]
    files = raising.clear(tree, writer(at=NOW + 9), wanted, None).files
    name = gate.path_of(wanted + gate.END)

    def ended(**fields: object) -> set[str]:
        return broken(
            tree, {**files, name: text.dump({**text.load(files[name] or b"", name), **fields})}
        )

    assert ended() == set()
    assert (
        ended(session=BOB)
        == ended(edges=[])
        == ended(raised="x")
        == ended(resolution="expired")
        == {"gate"}
    )
    assert broken(tree, {gate.path_of("nowhere.cleared"): files[name]}) >= {"misplaced"}
    assert broken(tree, {gate.path_of(wanted): None}) == {"append_only"}
    assert broken(tree, by_hand(tree, wanted, state="done", frozen=None)) >= {"task_state"}


def test_errors_change_nothing_and_next_takes_what_no_gate_holds() -> None:
    tree = raised(added(world("a"), "b", at=NOW + 1, labels=["x"]), "label:x")
    assert task.get(take(tree), work(tree)[0])["state"] == "claimed"
    with pytest.raises(AtlasError, match="no task is ready"):
        claims.claim_next(take(tree), writer(at=NOW + 20), queue(take(tree)), None, None)

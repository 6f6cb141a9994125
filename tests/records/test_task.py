"""Tasks by themselves: what holds one back, who may go on with it, and what breaks a rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from atlas_cli.errors import AtlasError, Held, NotFound, Refused, VersionJump
from atlas_cli.model import times
from atlas_cli.model.change import Change, Writer
from atlas_cli.records import policy, session, takeover
from atlas_cli.records.board import assigning, claims, posting, readiness, result, task

from .board import added, by_hand, ids, later, queue, world
from .files import ANN, BOB, NOW, STORE, Files, broken, done, writer

HOUR = 3600


def state(tree: Files, wanted: str, at: int = NOW) -> str:
    return readiness.assess(tree, task.get(tree, wanted), at, policy.of(tree))[0]


def take(tree: Files, who: str = ANN, at: int = NOW + 10, machine: str = "m1") -> Files:
    by = writer(who, at, machine)
    return done(tree, claims.claim_next(tree, by, queue(tree), None, None), by)


def act(
    tree: Files,
    verb: Callable[..., Change],
    wanted: str,
    *more: Any,
    who: str = ANN,
    at: int = NOW + 20,
) -> Files:
    by = writer(who, at)
    return done(tree, verb(tree, by, wanted, *more), by)


def code(
    verb: Callable[..., Change],
    tree: Files,
    wanted: Any,
    *more: Any,
    who: str = ANN,
    at: int = NOW + 20,
) -> tuple[int, str]:
    with pytest.raises(AtlasError) as stop:
        verb(tree, writer(who, at), wanted, *more)
    return stop.value.exit, stop.value.code


def test_what_it_needs_gates_it_and_only_done_lets_it_go() -> None:
    tree = world("a", "b", "c")
    a, b, c = ids(tree)
    assert [state(tree, one) for one in (a, b, c)] == ["ready", "gated", "gated"]
    assert code(claims.claim, tree, [b], None) == (6, "gated")
    tree = take(tree)
    assert (state(tree, a, NOW + 11), state(tree, b, NOW + 11)) == ("claimed", "gated")
    tree = act(tree, claims.done, a, None, None)
    assert (state(tree, a), state(tree, b), state(tree, c)) == ("done", "ready", "gated")


def test_a_need_that_is_lost_blocks_and_is_named() -> None:
    tree = world("a", "b")
    a, b = ids(tree)
    tree = act(tree, posting.cancel, a, "w", 1)
    assert readiness.assess(tree, task.get(tree, b), NOW, policy.of(tree)) == (
        "blocked",
        [(a, "cancelled")],
    )
    assert code(claims.claim, tree, [b], None) == (6, "blocked")
    freed = act(tree, posting.edit, b, {}, [], [a], "without it")
    assert state(freed, b) == "ready" and task.get(freed, b)["dropped"][0]["why"] == "without it"
    assert state(act(tree, posting.retry, a, "again", 1), b) == "gated"


def test_the_order_is_priority_then_arrival() -> None:
    tree = added(
        added(added(world(), "a"), "b", priority=90, at=NOW + 1), "c", priority=90, at=NOW + 2
    )
    a, b, c = ids(tree)
    taken = []
    for _ in range(3):
        before = {one for one in ids(tree) if task.get(tree, one)["state"] == "open"}
        tree = take(tree)
        taken += [one for one in before if task.get(tree, one)["state"] == "claimed"]
    assert taken == [b, c, a]
    with pytest.raises(NotFound, match="no task is ready"):
        take(tree)


def test_a_plan_is_one_change_and_names_its_own() -> None:
    tree, who = world(), writer(operation="1" * 32)
    wishes = [{"name": "x", "title": "x", "needs": ["y"]}, {"name": "y", "title": "y"}]
    tree = done(tree, posting.add(tree, who, wishes, 0), who)
    first, second = ids(tree)
    assert task.get(tree, first)["needs"] == [second]
    circle = [
        {"name": "x", "title": "x", "needs": ["y"]},
        {"name": "y", "title": "y", "needs": ["x"]},
    ]
    assert code(lambda tree, who, wishes: posting.add(tree, who, wishes, 0), tree, circle) == (
        6,
        "cycle",
    )
    assert code(
        lambda tree, who, one: posting.edit(tree, who, one, {}, [first], [], None), tree, second
    ) == (
        6,
        "cycle",
    )


def test_a_claim_names_all_that_it_was_granted_under() -> None:
    tree = take(
        act(take(world("a", "b")), claims.done, ids(world("a", "b"))[0], None, None), BOB, NOW + 30
    )
    a, b = ids(tree)
    receipt = task.get(tree, b)["claim"]
    assert receipt["needs"] == {a: 3} and receipt["version"] == 1 and receipt["path"] == "next"
    assert (receipt["session"], receipt["generation"], receipt["attempt"], receipt["token"]) == (
        BOB,
        1,
        1,
        1,
    )
    assert (receipt["store"], receipt["at"], receipt["expires"]) == (
        STORE,
        later(30),
        later(30 + HOUR),
    )


def test_a_claim_that_ran_out_comes_back_and_its_holder_cannot_overwrite() -> None:
    tree = take(world("a"))
    (a,) = ids(tree)
    over = NOW + 10 + HOUR
    assert state(tree, a, over - 1) == "claimed" and state(tree, a, over) == "ready"
    assert code(claims.claim, tree, [a], None, who=BOB, at=over - 1) == (4, "held")
    finished = act(tree, claims.done, a, None, None, at=over + 5)  # nobody went on with it
    assert state(finished, a) == "done"
    again = take(tree, BOB, over)
    row = task.get(again, a)
    assert (row["generation"], row["attempt"], row["token"], row["retries"]) == (2, 2, 2, 1)
    assert row["failures"][0]["why"] == "the claim ran out"
    for verb, more in (
        (claims.done, (None, None)),
        (claims.fail, (None, "w")),
        (claims.start, (None,)),
    ):
        assert code(verb, again, a, *more, at=over + 5) == (4, "stale_session")
    with pytest.raises(NotFound):  # another machine waits a little longer
        take(tree, BOB, over + times.SKEW - 1, "m2")


@pytest.mark.parametrize(
    ("receipt", "name"),
    [
        ("1.2.2." + STORE, "stale_generation"),
        ("2.1.2." + STORE, "stale_attempt"),
        ("2.2.1." + STORE, "stale_claim"),
        ("2.2.2.other", "stale_claim"),
    ],
)
def test_each_stale_part_of_a_receipt_has_its_name(receipt: str, name: str) -> None:
    tree = act(take(world("a")), claims.fail, ids(world("a"))[0], None, "w")
    tree = take(tree, at=NOW + 30)
    (a,) = ids(tree)
    assert code(claims.done, tree, a, f"{a}.{receipt}", None, at=NOW + 40) == (4, name)
    assert code(claims.done, tree, a, receipt, None, at=NOW + 40) == (4, name), "as of before"
    assert code(claims.done, tree, a, f"other.{receipt}", None, at=NOW + 40) == (2, "usage")
    assert state(act(tree, claims.done, a, f"2.2.2.{STORE}", None, at=NOW + 40), a) == "done"


def test_an_exact_success_again_is_nothing_and_another_is_refused() -> None:
    tree = take(world("a"))
    (a,) = ids(tree)
    kept = result.NewResult(b"what it came to\n", "txt")
    tree = act(tree, claims.done, a, None, kept)
    again = claims.done(tree, writer(at=NOW + 99), a, None, kept)
    assert {path: tree.read(path) for path in again.files} == again.files
    assert code(claims.done, tree, a, None, result.NewResult(b"other\n", "txt")) == (
        6,
        "stale_result",
    )
    assert code(claims.done, tree, a, None, None) == (6, "stale_result")
    assert code(claims.done, tree, a, None, kept, who=BOB) == (4, "receipt_mismatch")


def test_a_poisonous_task_is_a_dead_letter_after_its_retries() -> None:
    tree = world("a", "b", max_retries=2)
    a, b = ids(tree)
    for nth in range(3):
        assert state(tree, a) == "ready"
        tree = act(
            take(tree, at=NOW + 100 * nth),
            claims.fail,
            a,
            None,
            f"no {nth}",
            at=NOW + 100 * nth + 50,
        )
    assert (state(tree, a), state(tree, b)) == ("dead", "blocked")
    again = claims.fail(tree, writer(at=NOW + 999), a, None, "no 2")
    assert {path: tree.read(path) for path in again.files} == again.files
    tree = act(tree, posting.retry, a, "mended", 1, at=NOW + 400)
    row = task.get(tree, a)
    assert (state(tree, a), row["generation"], row["retries"], len(row["failures"])) == (
        "ready",
        4,
        0,
        4,
    )


def test_expired_claims_use_up_retries_without_anybody_writing() -> None:
    tree = world("a", max_retries=1)
    (a,) = ids(tree)
    for nth in range(2):
        tree = take(tree, at=NOW + 2 * HOUR * nth)
    assert state(tree, a, NOW + 9 * HOUR) == "dead"
    with pytest.raises(NotFound):
        take(tree, at=NOW + 9 * HOUR)
    assert state(act(tree, posting.retry, a, "w", 1, at=NOW + 9 * HOUR), a) == "ready"


def test_a_deadline_ends_it_and_its_claim() -> None:
    tree = take(added(world(), "a", deadline=later(600)))
    (a,) = ids(tree)
    assert task.get(tree, a)["claim"]["expires"] == later(600)
    assert state(tree, a, NOW + 600) == "expired"
    assert code(claims.done, tree, a, None, None, at=NOW + 600) == (6, "expired")


def test_a_frozen_task_is_listed_and_never_offered() -> None:
    tree = world("a")
    (a,) = ids(tree)
    tree = act(tree, posting.freeze, a, "w", later(60))
    assert state(tree, a, NOW + 999) == "frozen" and code(claims.claim, tree, [a], None) == (
        6,
        "frozen",
    )
    assert state(act(tree, posting.thaw, a), a) == "ready"


def test_a_batch_claims_what_it_can_and_ones_own_again_is_renewed() -> None:
    tree = world("a", "b")
    a, b = ids(tree)
    tree = act(tree, claims.claim, [a, b], None)
    assert (state(tree, a, NOW + 21), state(tree, b, NOW + 21)) == ("claimed", "gated")
    assert task.get(tree, a)["claim"]["path"] == "batch"
    with pytest.raises(Refused) as stop:
        claims.claim(tree, writer(BOB, NOW + 30), [b, "nowhere"], None)
    assert [one["code"] for one in stop.value.details["failed"]] == ["gated", "not_found"]
    again = act(tree, claims.claim, [a], None, at=NOW + 600)
    assert task.get(again, a)["token"] == 1 and task.get(again, a)["claim"]["expires"] == later(
        600 + HOUR
    )


def test_bounds_are_refused_with_limit_and_value() -> None:
    tree = added(
        added(world(session_claims=1, task_needs=1, task_body=10, open_tasks=3), "a"),
        "b",
        at=NOW + 1,
    )
    a, b = ids(tree)
    for wish, there in (({"needs": [a, b]}, 2), ({"body": "x" * 11}, 2), ({}, 3)):
        with pytest.raises(Refused, match=r"at most (1|10|3)") as stop:
            posting.add(tree, writer(), [{"title": "t", **wish}], there)
        assert stop.value.code == "limit"
    assert code(
        lambda tree, who, _: claims.claim_next(tree, who, queue(tree), None, None), take(tree), a
    ) == (6, "limit")
    assert [*claims.claim(tree, writer(), [a, b], None).files] == [task.path_of(a)]
    assert code(claims.claim, take(tree), [b], None) == (6, "limit")
    assert code(claims.claim, tree, [a], 5 * HOUR) == (6, "limit")


def test_an_open_task_is_cancelled_by_its_poster_or_against_the_version_seen() -> None:
    tree = world("a")
    (a,) = ids(tree)
    with pytest.raises(VersionJump):
        posting.cancel(tree, writer(BOB), a, "w", None)
    with pytest.raises(VersionJump):
        posting.cancel(tree, writer(), a, "w", 2)
    assert state(act(tree, posting.cancel, a, "w", 1, who=BOB), a) == "cancelled"
    assert state(act(tree, posting.cancel, a, "w", None), a) == "cancelled"


# others' work


def offering(tree: Files, who: str, **fields: object) -> Files:
    change = session.offer(
        tree, writer(who), {"slots": 2, "status": "healthy", "load": 0, **fields}
    )
    return done(tree, change, writer(who))


def given(tree: Files, at: int = NOW + 10, **named: Any) -> tuple[Files, str]:
    by = writer(ANN, at)
    change = assigning.assign(
        tree, by, queue(tree), named.get("task"), named.get("to"), [ANN, BOB], None
    )
    tree = done(tree, change, by)
    return tree, str(task.parse(*next(iter(change.files.items())))["claim"]["session"])  # type: ignore[arg-type]


def test_slots_are_whole_numbers_after_the_load_less_what_is_held() -> None:
    assert [
        assigning.effective({"slots": slots, "load": load}, [{}] * held)
        for slots, load, held in (
            (4, 0, 0),
            (4, 2500, 0),
            (4, 2501, 0),
            (3, 5000, 1),
            (4, 10_000, 0),
        )
    ] == [4, 3, 2, 0, 0]


def test_most_slots_left_first_ties_by_smallest_id() -> None:
    tree = offering(offering(added(added(world(), "a"), "b", at=NOW + 1), ANN), BOB)
    tree, first = given(tree)
    tree, second = given(tree)
    assert (first, second) == (ANN, BOB)
    with pytest.raises(Refused, match="no healthy session"):
        given(offering(added(world(), "a"), BOB, status="draining"))


def test_what_was_assigned_and_never_started_is_offered_again_as_no_attempt() -> None:
    tree, _ = given(offering(added(world(), "a"), BOB))
    (a,) = ids(tree)
    assert state(tree, a, NOW + 10 + 899) == "claimed" and state(tree, a, NOW + 10 + 900) == "ready"
    row = task.get(take(tree, ANN, NOW + 1000), a)
    assert (row["attempt"], row["generation"], row["token"], row["retries"]) == (1, 1, 2, 0)
    begun = act(tree, claims.start, a, None, who=BOB)
    assert state(begun, a, NOW + 1000) == "claimed"
    assert (
        state(act(tree, claims.release, [a]), a) == "ready"
    )  # whoever assigned it may take it back


def test_a_dropped_session_frees_what_it_held_at_once() -> None:
    tree = world("a", principals=["ann"])
    (a,) = ids(tree)
    tree = take(tree, BOB)
    by = writer(ANN, NOW + 20)
    change = takeover.drop(tree, by, BOB, "w", ["ann"])
    tree = done(
        tree,
        change._replace(files={**change.files, **assigning.freed(tree, by, BOB, "dropped")}),
        by,
    )
    row = task.get(tree, a)
    assert (state(tree, a), row["retries"], row["failures"][0]["session"]) == ("ready", 1, BOB)
    with pytest.raises(Refused, match="no session that you started"):
        takeover.drop(world(), writer(BOB), ANN, "w", [])


def test_whoever_adopts_a_session_has_its_claims_with_a_new_token() -> None:
    tree = take(world("a"))
    (a,) = ids(tree)
    by = writer(BOB, NOW + 20)
    change = takeover.adopt(tree, by, ANN, "w")
    tree = done(
        tree, change._replace(files={**change.files, **assigning.inherited(tree, by, ANN)}), by
    )
    row = task.get(tree, a)
    assert (row["claim"]["session"], row["token"], row["attempt"]) == (BOB, 2, 1)


# what breaks a rule


def claimed(tree: Files, wanted: str, **fields: object) -> dict[str, object]:
    """The fields of a grant, whole, but for those given."""
    row = task.get(tree, wanted)
    receipt = {
        "session": BOB,
        "actor": "bob",
        "generation": 1,
        "attempt": 1,
        "token": 1,
        "store": STORE,
        "at": later(30),
        "expires": later(30 + HOUR),
        "path": "claim",
        "version": row["version"],
        "started": later(30),
        "needs": {need: task.get(tree, need)["version"] for need in row.get("needs", ())},
        **fields,
    }
    return {"state": "claimed", "attempt": 1, "token": 1, "at": later(30), "claim": receipt}


def forged(tree: Files, wanted: str, by: Writer | None = None, **fields: object) -> set[str]:
    return broken(tree, by_hand(tree, wanted, **fields), by)


def test_a_claim_by_hand_is_judged_like_any_other() -> None:
    tree = world("a", "b")
    a, b = ids(tree)
    assert forged(tree, a, **claimed(tree, a)) == set()
    assert forged(tree, b, **claimed(tree, b)) == {"gated"}
    assert forged(tree, a, **claimed(tree, a, needs={b: 1})) == {"receipt"}
    assert forged(tree, a, **claimed(tree, a, store="other")) == {"receipt"}
    assert forged(tree, a, **claimed(tree, a, path="gift")) == {"schema"}
    assert forged(tree, a, **claimed(tree, a, expires=later(5 * HOUR))) == {"limit"}
    assert forged(tree, a, writer(ANN, NOW + 30), **claimed(tree, a)) == {"session"}
    assert forged(tree, a, **{**claimed(tree, a), "token": 2, "attempt": 3}) == {"token", "receipt"}
    frozen = act(tree, posting.freeze, a, "w", None)
    assert forged(frozen, a, **claimed(frozen, a)) == {"gated"}


def test_what_others_have_is_not_gone_on_with() -> None:
    tree = take(world("a"))
    (a,) = ids(tree)
    row = task.get(tree, a)
    other = {**claimed(tree, a, attempt=2, token=2), "attempt": 2, "token": 2}
    assert "live_lease" in forged(tree, a, **other)
    assert forged(tree, a, writer(BOB, NOW + 30), state="done", at=later(30)) == {"not_held"}
    assert forged(tree, a, writer(BOB, NOW + 30), state="open", claim=None, at=later(30)) == {
        "not_held"
    }
    assert forged(tree, a, state="done", claim={**row["claim"], "needs": {a: 1}}) == {"receipt"}
    assert forged(tree, a, state="done", claim=None) == {"receipt"}
    assert forged(tree, a, claim={**row["claim"], "expires": later(9 * HOUR)}) == {"limit"}


def test_edges_states_and_counters_cannot_be_bent() -> None:
    tree = world("a", "b")
    a, b = ids(tree)
    assert forged(tree, b, needs=[]) == {"edge"}
    assert forged(tree, b, needs=[a, "nowhere"]) == {"edge"}
    assert forged(tree, a, needs=[b]) == {"edge"}
    assert forged(tree, a, state="done") == {"task_state", "receipt"}
    assert forged(tree, a, state="lost") == {"task_state"}
    assert forged(tree, a, generation=2) == {"token"}
    assert forged(tree, a, retries=1) == {"token"}
    assert forged(tree, a, session=BOB) == {"immutable"}
    assert forged(tree, a, priority=101) == {"schema"}
    assert forged(take(tree), a, state="failed") == {"task_state"}
    assert broken(tree, {task.path_of(a): None}) == {"append_only"}
    failed = act(take(tree), claims.fail, a, None, "w")
    assert forged(failed, a, failures=[]) == {"receipt"}
    finished = act(take(tree), claims.done, a, None, None)
    assert forged(finished, a, state="open", claim=None, generation=2, retries=0) == {"task_state"}


def test_a_result_is_of_the_claim_that_finished_its_task() -> None:
    tree = take(world("a"))
    (a,) = ids(tree)
    change = claims.done(tree, writer(at=NOW + 20), a, None, result.NewResult(b"x\n", "txt"))
    path, body = result.path_of(a), result.body_path({"task": a, "ext": "txt"})
    alone = {path: change.files[path], body: change.files[body]}
    assert broken(tree, alone) == {"receipt"}
    assert broken(tree, {**change.files, body: b"y\n"}) == {"digest"}
    small = tree.put(policy.put(tree, writer(), "result_limit", 1).files)
    assert broken(small, change.files) == {"limit"}
    assert code(claims.done, small, a, None, result.NewResult(b"x\n", "txt")) == (6, "limit")
    finished = tree.put(change.files)
    assert broken(finished, {body: b"y\n"}) == {"immutable"}
    assert broken(finished, {f"{result.folder(a)}/body.md": b"y\n"}) == {"immutable"}
    with pytest.raises(Held, match="another receipt"):
        result.put(finished, writer(), task.get(finished, a), result.NewResult(b"x\n", "txt"))

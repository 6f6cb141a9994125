"""A session's row: begun, gone on with, ended; what is over writes nothing more."""

from __future__ import annotations

from typing import Any

import pytest

from atlas_cli.errors import Damaged, NotFound, Protocol, Refused, Usage
from atlas_cli.model import text, times
from atlas_cli.model.change import Change, Writer
from atlas_cli.records import goals, lease, session, takeover
from atlas_cli.records.board import assigning

from .files import ANN, BOB, NOW, Files, broken, done, store, writer

DAY = 24 * 3600


def begin(tree: Files, who: Writer, **given: Any) -> Change:
    wish = {
        "goal": "a goal",
        "worktree": "/w",
        "branch": "main",
        "kind": "work",
        "paths": [],
        "streams": [],
        "lasts": None,
    }
    return session.begin(tree, who, **{**wish, **given})


def begun(who: Writer | None = None, **given: Any) -> Files:
    who, tree = who or writer(), store()
    return done(tree, begin(tree, who, **given), who)


def test_an_id_carries_its_day_and_is_never_confusing() -> None:
    found = session.new_id("ann", NOW, bytes(range(6)))
    assert (
        found == "ann-261129-234567" and session.path_of(found) == f"sessions/261129/{found}.yaml"
    )
    assert session.new_id("a.-_", NOW, b"\xff" * 6).startswith("a-261129-")
    assert session.path_of(session.new_id("x" * 64, NOW, b"abcdef"))
    letters = {session.new_id("a", NOW, bytes([byte] * 6))[-1] for byte in range(256)}
    assert not letters & set("01ilo")


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "ann",
        "ann-261129",
        "ann-261129-aaaaaaa",
        "../../x-261129-aaaaaa",
        "Ann-261129-aaaaaa",
        "\udcff",
        "ann-261129-aaaaaa\n",
        "-rf-261129-aaaaaa",
        "a" * 300 + "-261129-aaaaaa",
        "ann-2611٢9-aaaaaa",
    ],
)
def test_what_is_no_session_id_is_refused(wrong: str) -> None:
    for ask in (
        session.path_of,
        lambda text_: session.live(store(), text_, NOW),
        lambda text_: session.find(store(), text_),
    ):
        with pytest.raises(Usage, match="is no session id") as stop:
            ask(wrong)
        assert "\n" not in stop.value.message


def test_what_it_began_with_stands_in_its_row() -> None:
    tree = begun(paths=["src"], streams=["api"], lasts=600)
    assert session.get(tree, ANN) == {
        "id": ANN,
        "version": 1,
        "actor": "ann",
        "goal": "a goal",
        "machine": "m1",
        "worktree": "/w",
        "branch": "main",
        "class": "work",
        "paths": ["src"],
        "streams": ["api"],
        "lasts": 600,
        "began": "2026-11-29T14:00:00Z",
    }
    bare = session.get(begun(goal="", worktree="", branch=""), ANN)
    assert not {"goal", "worktree", "branch", "paths", "streams", "lasts"} & set(bare)


def test_it_is_live_until_the_second_in_which_it_is_over() -> None:
    for tree, life in ((begun(), DAY), (begun(lasts=600), 600), (begun(lasts=DAY), DAY)):
        assert session.live(tree, ANN, NOW + life - 1)["id"] == ANN
        with pytest.raises(Protocol, match="has expired") as stop:
            session.live(tree, ANN, NOW + life)
        assert (stop.value.exit, stop.value.code) == (5, "no_session")
        with pytest.raises(Protocol):
            session.end(tree, writer(at=NOW + life))
    with pytest.raises(Refused, match="at most 24 h"):
        begin(store(), writer(), lasts=DAY + 1)
    record = {**session.get(begun(), ANN), "lasts": 10**9}  # whatever a file says
    assert session.until(record) == NOW + DAY


def test_who_goes_on_says_only_what_is_new() -> None:
    who, tree = writer(at=NOW + 60), begun(paths=["src"])
    first = session.get(tree, ANN)["goal"]
    tree = done(tree, goals.go_on(tree, who, goal="another", paths=["doc"], streams=["api"]), who)
    row = session.get(tree, ANN)
    assert (row["goal"], row["paths"], row["streams"], row["version"]) == (
        first,
        ["src", "doc"],
        ["api"],
        2,
    )
    assert (goals.open_goals(row), goals.under(row)) == ({1: first, 2: "another"}, 2)
    assert goals.goal_of(tree, ANN) == 2
    tree = done(tree, goals.go_on(tree, who, goal=first), who)
    row = session.get(tree, ANN)
    assert (goals.under(row), goals.text_of(row), goals.text_of(row, 2)) == (1, first, "another")
    assert goals.goal_of(tree, ANN) is None, "the first goal is not written down"
    assert row["began"] == "2026-11-29T14:00:00Z"


def test_a_session_lives_until_its_last_goal_ends() -> None:
    who, tree = writer(at=NOW + 60), begun(goal="one")
    tree = done(tree, goals.go_on(tree, who, goal="two"), who)
    tree = done(tree, lease.take(tree, who, ["gpu0"], "w", None), who)
    tree = done(tree, goals.go_on(tree, who, goal="one"), who)
    tree = done(tree, lease.take(tree, who, ["gpu1"], "w", None), who)
    with pytest.raises(NotFound, match="no open goal 3"):
        goals.end_goal(tree, who, 3)
    tree = done(tree, assigning.leave(tree, who, goal=2), who)
    row = session.get(tree, ANN)
    assert (goals.open_goals(row), "ended" in row) == ({1: "one"}, False)
    held = [name for name in ("gpu0", "gpu1") if lease.holds(lease.current(tree, name), NOW + 60)]
    assert held == ["gpu1"], "what was taken for a goal goes with it"
    tree = done(tree, assigning.leave(tree, who, goal=1), who)
    assert "ended" in session.get(tree, ANN)
    assert not lease.holds(lease.current(tree, "gpu1"), NOW + 60)


def test_a_goal_takes_the_place_of_none_and_a_damaged_one_is_named() -> None:
    who, tree = writer(at=NOW + 60), begun(goal="")
    tree = done(tree, goals.go_on(tree, who, goal="the first"), who)
    row = session.get(tree, ANN)
    assert (row["goal"], "goals" in row) == ("the first", False)
    place = session.path_of(ANN)
    for odd in (["text"], [{"over": "2026-11-29T14:00:00Z"}], [{"text": 3}]):
        with pytest.raises(Damaged):
            session.parse(place, text.dump({**row, "goals": odd}))


def test_who_was_adopted_writes_nothing_more_but_what_its_command_holds() -> None:
    tree, who = begun(), writer(at=NOW + 60)
    tree = done(tree, lease.take(tree, who, ["gpu0"], "w", None, run=True), who)
    tree = done(tree, lease.take(tree, who, ["gpu1"], "w", None), who)
    heir = writer(BOB, at=NOW + 90)
    tree = done(tree, begin(tree, heir), heir)
    change = takeover.adopt(tree, heir, ANN, "it is gone")
    files = {**change.files, **lease.inherit(tree, heir, ANN)}
    tree = done(tree, change._replace(files=files), heir)
    rows = {name: lease.current(tree, name) or {} for name in ("gpu0", "gpu1")}
    assert [row["holder"] for row in rows.values()] == [ANN, BOB]
    assert rows["gpu1"]["token"] == 2
    for write in (
        lambda: session.not_disowned(tree, ANN, NOW + 120),
        lambda: goals.go_on(tree, writer(at=NOW + 120), goal="more"),
        lambda: session.seen(tree, writer(at=NOW + 120)),
    ):
        with pytest.raises(Protocol, match=f"was adopted by {BOB}, 30 s ago") as stop:
            write()
        assert (stop.value.code, "atlas begin" in stop.value.hint) == ("adopted", True)
    tree = done(tree, lease.renew(tree, writer(at=NOW + 130), ["gpu0"], None), writer(at=NOW + 130))
    session.not_disowned(tree, BOB, NOW + 120)


def test_an_ended_session_stays_ended() -> None:
    who, tree = writer(at=NOW + 60), begun()
    tree = done(tree, session.end(tree, who), who)
    assert session.until(session.get(tree, ANN)) == NOW + 60
    for again in (
        session.end,
        lambda one, two: goals.go_on(one, two, goal="g"),
    ):
        with pytest.raises(Protocol, match=r"has ended, 0 s ago"):
            again(tree, who)
    record = session.get(tree, ANN)
    place = session.path_of(ANN)
    assert broken(tree, {place: text.dump({**record, "version": 3})}) == {"ended"}


def test_who_never_began_is_told_to_begin() -> None:
    with pytest.raises(Protocol, match="there is no session") as stop:
        session.live(store(), BOB, NOW)
    assert stop.value.hint.startswith("begin one: atlas begin")
    with pytest.raises(NotFound):
        session.get(store(), BOB)


def test_nobody_writes_the_row_of_another_or_a_new_beginning() -> None:
    tree, place = begun(), session.path_of(ANN)
    record = {**session.get(tree, ANN), "version": 2}
    assert broken(tree, {place: text.dump({**record, "goal": "mine"})}, writer(BOB)) == {"session"}
    for key, value in {
        "actor": "bob",
        "machine": "m2",
        "began": times.rfc3339(NOW + 1),
        "id": BOB,
    }.items():
        rule = "misplaced" if key == "id" else "immutable"
        assert rule in broken(tree, {place: text.dump({**record, key: value})}), key


@pytest.mark.parametrize(
    ("given", "actor"),
    [
        ("ann", "ann"),
        ("Ann Smith", "ann-smith"),
        ("DOMAIN\\ann", "domain-ann"),
        ("日本", "x"),
        ("", "x"),
        ("con", "con"),
        ("a" * 100, "a" * 24),
        ("../..", "x"),
    ],
)
def test_an_actor_is_a_name_whatever_the_login_is(given: str, actor: str) -> None:
    assert session.actor(given) == actor


def test_a_guest_is_written_once_and_never_over_somebody_else() -> None:
    there, guest = (
        store(),
        {"id": ANN, "actor": "ann", "began": times.rfc3339(NOW - 60), "goal": "g", "project": "p"},
    )
    files = session.enter_as_guest(there, writer(), guest)
    row = session.parse(session.path_of(ANN), files[session.path_of(ANN)] or b"")
    assert (row["version"], row["began"], row["machine"]) == (1, guest["began"], writer().machine)
    there = done(there, Change("lease: take gpu0", files), writer())
    assert session.enter_as_guest(there, writer(), guest) == {}
    with pytest.raises(Refused, match=f"^{ANN} is another session there, of p$"):
        session.enter_as_guest(there, writer(), {**guest, "began": times.rfc3339(NOW - 61)})
    over = done(there, session.end(there, writer()), writer())
    with pytest.raises(Protocol, match="has ended"):
        session.enter_as_guest(over, writer(), guest)

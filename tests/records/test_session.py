"""A session's row: begun, gone on with, ended; what is over writes nothing more."""

from __future__ import annotations

from typing import Any

import pytest

from atlas_cli.errors import NotFound, Protocol, Refused, Usage
from atlas_cli.model import text, times
from atlas_cli.model.change import Change, Writer
from atlas_cli.records import session

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
    tree = done(
        tree, session.update_goal(tree, who, goal="another", paths=[], streams=["api"]), who
    )
    found = session.get(tree, ANN)
    assert (found["goal"], found["paths"], found["streams"], found["version"]) == (
        "another",
        ["src"],
        ["api"],
        2,
    )
    assert found["began"] == "2026-11-29T14:00:00Z"


def test_an_ended_session_stays_ended() -> None:
    who, tree = writer(at=NOW + 60), begun()
    tree = done(tree, session.end(tree, who), who)
    assert session.until(session.get(tree, ANN)) == NOW + 60
    for again in (
        session.end,
        lambda one, two: session.update_goal(one, two, goal="g", paths=[], streams=[]),
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

"""Decisions and corrections: named by their operation, so that two at once are both kept; stored as
they were given."""

from __future__ import annotations

from typing import Any

import pytest

from atlas_cli.errors import NotFound, Usage
from atlas_cli.model import text
from atlas_cli.model.change import Change, Writer, op6
from atlas_cli.model.schema import Misplaced
from atlas_cli.records import correction, decision

from .files import ANN, BOB, NOW, STORE, Files, broken, done, store, writer


def add(tree: Files, who: Writer, **given: Any) -> Change:
    wish = {
        "title": "Use X",
        "recommended": "x",
        "chosen": "y",
        "stance": "disagreed",
        "why": "timing",
        "about": [],
        "chosen_by": None,
        "recommended_by": None,
    }
    return decision.add(tree, who, **{**wish, **given})


def test_a_decision_is_kept_as_it_was_given() -> None:
    change = add(
        store(),
        writer(),
        why="timing,\nnot content\n",
        about=["status:main@1"],
        chosen_by="eve",
        recommended_by="ann",
    )
    path = "decisions/2026/11/29-use-x-000000.md"
    tree = done(store(), change, writer())
    record = decision.parse(path, tree.read(path) or b"")
    assert record == {
        "title": "Use X",
        "recommended": "x",
        "chosen": "y",
        "stance": "disagreed",
        "about": ["status:main@1"],
        "chosen_by": "eve",
        "recommended_by": "ann",
        "session": ANN,
        "actor": "ann",
        "at": "2026-11-29T14:00:00Z",
        "operation": "0" * 32,
        "id": "2026-11-29-use-x-000000",
        "why": "timing,\nnot content",
    }
    assert decision.KIND.ref(path, record) == "decision:2026-11-29-use-x-000000"
    assert list(decision.KIND.links(record)) == [("about", "status:main@1")]


def test_the_stance_is_never_worked_out_from_the_pair() -> None:
    done(store(), add(store(), writer(), recommended="x", chosen="x", stance="disagreed"), writer())
    done(store(), add(store(), writer(), recommended="x", chosen="y", stance="agreed"), writer())
    done(store(), add(store(), writer(), stance="timeout"), writer())
    assert broken(store(), add(store(), writer(), stance="unsure").files, writer()) == {"schema"}


def test_who_decides_alone_has_neither_a_recommendation_nor_a_stance() -> None:
    change = add(store(), writer(), recommended=None, stance=None)
    tree = done(store(), change, writer())
    [path] = change.files
    record = decision.parse(path, tree.read(path) or b"")
    assert (record["recommended"], record["stance"], record["chosen"]) == (None, None, "y")
    assert b"stance" not in (tree.read(path) or b"")
    for half in ({"recommended": None}, {"stance": None}):
        assert broken(store(), add(store(), writer(), **half).files, writer()) == {"schema"}


def test_two_of_one_title_and_day_are_two() -> None:
    one, two = writer(operation="a" * 32), writer(BOB, operation="b" * 32)
    tree = done(store(), add(store(), one), one)
    tree = done(tree, add(tree, two), two)
    for wanted in ("2026-11-29-use-x-aaaaaa", "2026-11-29-use-x-bbbbbb"):
        assert decision.KIND.find(tree, wanted) == f"decisions/2026/{wanted[5:7]}/{wanted[8:]}.md"
    with pytest.raises(Usage, match="names 2 decisions") as stop:
        decision.KIND.find(tree, "2026-11-29-use-x")
    assert "aaaaaa" in stop.value.hint and "bbbbbb" in stop.value.hint
    assert decision.KIND.find(done(store(), add(store(), one), one), "2026-11-29-use-x").endswith(
        "aaaaaa.md"
    )


@pytest.mark.parametrize(
    "wanted",
    [
        "",
        "x",
        "2026",
        "2026-11-29",
        "2026-11-29-use",
        "2026-11-29-use-x-00000",
        "2026-11-30-use-x",
        "../2026-11-29-use-x",
        "2026-11-29-use-x-000000.md",
        "2026-11-29-USE-X",
        "٢٠٢٦-11-29-use-x",
        "\udcff",
        "x" * 5000,
    ],
)
def test_what_names_no_decision_is_told_so_on_one_line(wanted: str) -> None:
    tree = done(store(), add(store(), writer()), writer())
    with pytest.raises(NotFound, match="there is no decision") as stop:
        decision.KIND.find(tree, wanted)
    assert "\n" not in stop.value.message and len(stop.value.message) < 400


def test_the_tail_of_a_name_is_the_operations_or_that_of_its_hash() -> None:
    assert op6("abcdef" + "0" * 26) == "abcdef"
    assert (
        len(op6("mine")) == 6
        and op6("mine") == op6("mine") != op6("yours")
        and int(op6("mine"), 16) >= 0
    )


@pytest.mark.parametrize(
    "title",
    ["../../etc/passwd", "-rf", "con", "日本", "a" * 500, "\x1b[2J", "a\u2028b", "[bold]", "."],
)
def test_no_title_makes_a_path_of_its_own(title: str) -> None:
    tree = done(store(), add(store(), writer(), title=title), writer())
    [path] = [path for path in tree.files if path.startswith("decisions/")]
    assert path.count("/") == 3 and path.isascii() and len(path) < 80
    assert decision.parse(path, tree.read(path) or b"")["title"] == title


@pytest.mark.parametrize(
    "path",
    [
        "decisions/x.md",
        "decisions/2026/x.md",
        "decisions/2026/a/b.md",
        "decisions/2026/11/29-x-00000g.md",
        "decisions/26/11-29-x-000000.md",
    ],
)
def test_a_decision_in_a_wrong_place_is_named_and_breaks_nothing_else(path: str) -> None:
    data = next(iter(add(store(), writer()).files.values())) or b""
    with pytest.raises(Misplaced, match="a name here is decisions/"):
        decision.parse(path, data)
    assert broken(store(), {path: data}) == {"misplaced"}


def test_a_correction_names_its_record_and_says_whose_it_is() -> None:
    who, tree = writer(operation="c" * 32), store()
    tree = done(
        tree,
        correction.add(
            tree,
            who,
            target="status:main@1",
            why="a broken README",
            cause="README.md",
            retract=True,
            own=True,
        ),
        who,
    )
    path = "corrections/2026/11/29-status-main-1-cccccc.md"
    record = correction.parse(path, tree.read(path) or b"")
    assert correction.KIND.ref(path, record) == "correction:2026-11-29-status-main-1-cccccc"
    assert list(correction.KIND.links(record)) == [
        ("corrects", "status:main@1"),
        ("cause", "README.md"),
    ]
    assert (
        correction.shown(record, NOW + 720)
        == "retracted, put right by its writer, 12 min ago: a broken README (cause: README.md)"
    )
    other = {**record, "own": False, "retract": False, "cause": ""}
    assert correction.shown(other, NOW) == f"corrected, by {ANN}, 0 s ago: a broken README"
    assert correction.KIND.find(tree, "2026-11-29-status-main-1") == path


def test_neither_is_ever_edited_removed_or_signed_by_another() -> None:
    tree = done(store(), add(store(), writer()), writer())
    [path] = [path for path in tree.files if path.startswith("decisions/")]
    data = tree.files[path]
    assert broken(tree, {path: data.replace(b"timing", b"content")}) == {"immutable"}
    assert broken(tree, {path: None}) == {"append_only"}
    assert broken(store(), {path: data}, writer(BOB)) == {"session"}
    record, _ = text.front(data, path)
    assert (
        broken(store(), {path: text.with_front({**record, "about": "x"}, "w")}) == {"damaged"}
        and STORE
    )


@pytest.mark.parametrize(
    ("cause", "path"),
    [
        ("docs/a.md@1a2b3c4", "docs/a.md"),
        ("a.md@" + "f" * 40, "a.md"),
        ("path:docs", "docs"),
        ("status:main@12", ""),
        ("a.md@12", ""),
        ("a.md", ""),
        ("a broken README", ""),
        ("ann@deadbeef", "ann"),
    ],
)
def test_a_cause_is_a_path_where_it_names_a_commit(cause: str, path: str) -> None:
    assert correction.path_of_cause(cause) == path


def test_a_lifted_retraction_shows_and_withholds_nothing() -> None:
    row = {"retract": True, "session": ANN, "own": True, "at": "2026-11-29T13:00:00Z", "why": "w"}
    assert correction.withdraws(row)
    assert correction.said({"corrections": [row], "title": None}, "title", NOW).startswith("(retr")
    lifted = {**row, "why": None, "lifted": {**row, "session": BOB, "own": False, "why": "no"}}
    assert not correction.withdraws(lifted)
    assert correction.said({"corrections": [lifted], "title": "t"}, "title", NOW) == "t"
    assert correction.said({"corrections": [{**row, "retract": False}], "t": "x"}, "t", NOW) == (
        "(corrected) x"
    )
    assert correction.shown(lifted, NOW) == (
        "retracted, put right by its writer, 1 h ago, which was lifted: retracted, by"
        f" {BOB}, 1 h ago: no"
    )


def test_a_decision_relies() -> None:
    tree = done(store(), add(store(), writer(), relies_on=["status:main@1"]), writer())
    path = "decisions/2026/11/29-use-x-000000.md"
    record = decision.parse(path, tree.read(path) or b"")
    assert list(decision.KIND.links(record)) == [("relies_on", "status:main@1")]

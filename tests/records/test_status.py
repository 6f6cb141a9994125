"""The status stream: each entry follows the last, nothing is written over, and nothing is dropped
by the way."""

from __future__ import annotations

from typing import Any

import pytest

from atlas_cli.errors import Damaged, NotFound, Protocol, Refused, Usage, VersionJump
from atlas_cli.model import text
from atlas_cli.model.change import Writer
from atlas_cli.records import status
from atlas_cli.records.status import NewEntry

from .files import ANN, BOB, NOW, Files, done, store, writer

LONG = "".join(f"line {n} says where one thing stands\n" for n in range(10))  # 70 words


def written(tree: Files, who: Writer, body: str, seen: int | None, **wish: Any) -> Files:
    return done(tree, status.write(tree, who, "main", NewEntry(body, **wish), seen), who)


def body(tree: Files, number: int | None = None) -> str:
    path = status.find(tree, "main", number)
    return str(status.parse(path, tree.read(path) or b"")["body"])


def test_the_first_entry_needs_no_reading_and_the_next_follows_it() -> None:
    tree = written(store(), writer(), "one", None)
    assert body(tree) == "one\n" and status.newest(tree, "main") == 1
    change = status.write(tree, writer(BOB), "main", NewEntry("two"), 1)
    blob = tree.blob("status/main/000/000001.md")
    assert change.bases == (f"status:main@1~{(blob or '')[:12]}",)
    assert (
        list(change.files) == ["status/main/000/000002.md"]
        and change.subject == f"status: main 2 ({BOB})"
    )
    assert body(done(tree, change, writer(BOB)), 1) == "one\n"


def test_entries_lie_a_thousand_in_a_folder() -> None:
    assert [status.path_of("a", number) for number in (1, 999, 1000, 123456, 1234567)] == [
        "status/a/000/000001.md",
        "status/a/000/000999.md",
        "status/a/001/001000.md",
        "status/a/123/123456.md",
        "status/a/1234/1234567.md",
    ]
    entry = b'---\nstream: "main"\nnumber: %d\nsession: "s"\nactor: "a"\nat: "2026-11-29T14:00:00Z"\n---\nx\n'
    tree = store().put({status.path_of("main", number): entry % number for number in (998, 999)})
    for number in (1000, 1001):
        tree = written(tree, writer(), "x", number - 1)
        assert status.newest(tree, "main") == number


def test_what_lies_in_a_wrong_place_is_no_entry() -> None:
    tree = written(store(), writer(), "one", None)
    odd = [
        "000/009999.md",
        "000/x.md",
        "000/" + "9" * 300 + ".md",
        "9" * 300 + "/000001.md",
        "777/000001.md",
        "x",
        "000/٣.md",
    ]
    assert status.newest(tree.put({f"status/main/{path}": b"x" for path in odd}), "main") == 1


def test_who_has_not_read_the_current_entry_cannot_supersede_it() -> None:
    tree = written(store(), writer(), "one", None)
    with pytest.raises(Protocol, match="has not read status:main@1") as stop:
        status.write(tree, writer(BOB), "main", NewEntry("two"), None)
    assert (stop.value.exit, stop.value.code) == (5, "read_first")
    with pytest.raises(NotFound, match="newest entry is 1"):
        status.write(tree, writer(BOB), "main", NewEntry("two"), 2)


def test_who_read_an_older_entry_is_stopped_with_what_was_written_since() -> None:
    tree = written(store(), writer(), "## A\n\none\n", None)
    tree = written(tree, writer(BOB), "## A\n\ntwo\n", 1)
    tree = written(tree, writer(BOB), "## A\n\nthree\n", 2)
    with pytest.raises(
        VersionJump, match=f"you read status:main@1, and {BOB} wrote up to 3"
    ) as stop:
        status.write(tree, writer(), "main", NewEntry("four"), 1)
    details = stop.value.details
    assert (stop.value.exit, details["base"], details["head"], details["ref"]) == (
        3,
        1,
        3,
        "status:main@3",
    )
    assert [entry["number"] for entry in details["since"]] == [2, 3]
    assert details["merge"] == ("## A\n\none\n", "## A\n\nthree\n", "four\n")
    assert "--base 3" in details["submit"] and [
        title.split()[0] for title, _ in stop.value.blocks
    ] == [
        "status:main@2",
        "status:main@3",
    ]
    with pytest.raises(VersionJump) as stop:  # "it still holds" is no text that could be merged
        status.write(tree, writer(), "main", NewEntry(unchanged="why"), 1)
    assert "merge" not in stop.value.details


def test_a_section_written_meanwhile_is_merged_and_carried() -> None:
    tree = written(store(), writer(), "top\n\n## A\n\none\n", None)
    tree = written(tree, writer(BOB), "two", 1, section="B")
    with pytest.raises(VersionJump) as stop:
        status.write(tree, writer(), "main", NewEntry("new", section="A"), 1)
    assert stop.value.details["merged"] == "top\n\n## A\n\nnew\n\n## B\n\ntwo\n"


def test_unchanged_carries_the_whole_text_and_says_why() -> None:
    tree = written(
        written(store(), writer(), LONG, None), writer(BOB), "", 1, unchanged="only typos"
    )
    path = status.find(tree, "main")
    record = status.parse(path, tree.read(path) or b"")
    assert (record["body"], record["unchanged"], record["number"]) == (LONG, "only typos", 2)
    with pytest.raises(Usage, match="no entry yet"):
        status.write(store(), writer(), "main", NewEntry(unchanged="why"), None)


@pytest.mark.parametrize("nothing", ["", " ", "\n\n", "\t\n"])
def test_an_empty_text_is_refused(nothing: str) -> None:
    with pytest.raises(Usage, match="empty"):
        status.write(store(), writer(), "main", NewEntry(nothing), None)


def test_a_text_over_the_limit_is_refused_and_handed_back() -> None:
    with pytest.raises(Refused, match="251 words long; at most 250") as stop:
        status.write(store(), writer(), "main", NewEntry("word " * 251), None)
    assert stop.value.code == "limit" and stop.value.details["body"] == "word " * 251 + "\n"
    tree = written(store(), writer(), "word " * 250, None)
    with pytest.raises(
        Refused, match="253 words"
    ):  # a section counts with its heading and with what it carries
        status.write(tree, writer(), "main", NewEntry("x", section="x"), 1)
    written(store(status_words=3), writer(), "one two three", None)
    with pytest.raises(Refused, match="at most 3"):
        status.write(store(status_words=3), writer(), "main", NewEntry("one two three four"), None)


def test_a_whole_text_that_drops_most_lines_is_refused() -> None:
    tree = written(store(), writer(), LONG, None)
    lines = LONG.splitlines()
    with pytest.raises(Refused, match="keeps 4 of the 10 lines") as stop:
        status.write(tree, writer(BOB), "main", NewEntry("\n".join(lines[:4])), 1)
    assert (
        stop.value.code == "drops_too_much"
        and "--replace" in stop.value.hint
        and stop.value.details["body"]
    )
    written(tree, writer(BOB), "\n".join(lines[:5]), 1)
    written(tree, writer(BOB), "new", 1, replace=True)
    written(tree, writer(BOB), "new", 1, section="Mine")
    short = written(store(), writer(), " ".join(f"w{n}" for n in range(39)), None)
    written(short, writer(BOB), "new", 1)  # an entry of less than forty words is soon replaced


def test_conflict_markers_are_refused_only_where_a_merge_left_them() -> None:
    with pytest.raises(Refused, match="conflict markers"):
        written(store(), writer(), "<<<<<<< yours\na\n=======\nb\n>>>>>>> status:main@2", None)
    for fine in ("<<<<<<<", "<<<<<<< ours", "a <<<<<<< b >>>>>>> c", ">>>>>>> x\n======="):
        assert body(written(store(), writer(), fine, None)) == fine + "\n"


@pytest.mark.parametrize(
    "odd",
    [
        "a\u2028b\x85c\x7f",
        "[bold]x[/]",
        "\x1b[2J",
        "---\n---\n",
        "a\r\nb",
        "é\u0301",
        "```\n## no\n```",
    ],
)
def test_an_odd_text_is_kept_to_the_byte(odd: str) -> None:
    tree = written(store(), writer(), odd, None, caveat=odd)
    assert body(tree) == odd.removesuffix("\n") + "\n"
    assert body(written(tree, writer(BOB), "x", 1, section=f"{odd} x")).startswith(odd.rstrip("\n"))


def test_what_it_relies_on_and_its_caveat_are_kept_and_linked() -> None:
    tree = written(store(), writer(), "x", None, relies_on=("artifact:a@1",), caveat="not measured")
    record = status.get(tree, "main", 1)
    assert (
        list(status.KIND.links(record)) == [("relies_on", "artifact:a@1")]
        and record["caveat"] == "not measured"
    )
    assert (record["session"], record["actor"], record["at"]) == (
        ANN,
        "ann",
        "2026-11-29T14:00:00Z",
    ) and NOW


def test_an_entry_of_a_newer_format_or_without_its_fields_is_damaged() -> None:
    good = text.front(
        written(store(), writer(), "x", None).files["status/main/000/000001.md"], "p"
    )[0]
    for wrong in (
        {**good, "format": 2},
        {**good, "number": "1"},
        {**good, "at": "soon"},
        {**good, "number": -1},
        {**good, "relies_on": "x"},
        {key: value for key, value in good.items() if key != "session"},
    ):
        with pytest.raises(Damaged, match=r"^p: "):
            status.parse("p", text.with_front(wrong, "x"))

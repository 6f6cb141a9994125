"""The status stream: each entry follows the last, nothing is written over, and nothing is dropped
by the way."""

from __future__ import annotations

from typing import Any

import pytest

from atlas_cli.errors import Damaged, NotFound, Protocol, Refused, Usage, VersionJump
from atlas_cli.model import text
from atlas_cli.model.change import Writer
from atlas_cli.records import status
from atlas_cli.records.status_write import Seen, holding, write
from atlas_cli.records.wish import Wish

from .files import ANN, BOB, EVE, NOW, Files, done, store, writer


def whole(text: str, **wish: Any) -> Wish:
    """The wish that a text replaces the whole entry."""
    return Wish("main", text=text, replace=True, **wish)


def part(heading: str, text: str, **wish: Any) -> Wish:
    """The wish for one section."""
    return Wish("main", heading, text, **wish)


def written(tree: Files, who: Writer, wish: Wish, seen: int | None) -> Files:
    return done(tree, write(tree, who, wish, Seen(seen, seen)), who)


def body(tree: Files, number: int | None = None) -> str:
    path = status.find(tree, "main", number)
    return str(status.parse(path, tree.read(path) or b"")["body"])


def test_the_first_entry_needs_no_reading_and_the_next_follows_it() -> None:
    tree = written(store(), writer(), whole("one"), None)
    assert body(tree) == "one\n" and status.newest(tree, "main") == 1
    change = write(tree, writer(BOB), whole("two"), Seen(1, 1))
    blob = tree.blob("status/main/000/000001.md")
    assert change.bases == (f"status:main@1~{(blob or '')[:12]}",)
    assert list(change.files) == ["status/main/000/000002.md"]
    assert change.subject == f"status: main ({BOB})"
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
        tree = written(tree, writer(), whole("x"), number - 1)
        assert status.newest(tree, "main") == number


def test_what_lies_in_a_wrong_place_is_no_entry() -> None:
    tree = written(store(), writer(), whole("one"), None)
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
    tree = written(store(), writer(), whole("one"), None)
    with pytest.raises(Protocol, match="has not read status:main@1") as stop:
        write(tree, writer(BOB), whole("two"), Seen(None, None))
    assert (stop.value.exit, stop.value.code) == (5, "read_first")
    with pytest.raises(Protocol):  # a glance is not enough to replace the whole
        write(tree, writer(BOB), whole("two"), Seen(1, None))
    with pytest.raises(NotFound, match="newest entry is 1"):
        write(tree, writer(BOB), whole("two"), Seen(2, 2))


def test_who_replaces_the_whole_on_a_moved_head_is_stopped_with_what_was_written() -> None:
    tree = written(store(), writer(), whole("## A\n\none\n"), None)
    tree = written(tree, writer(BOB), part("A", "two", exact=True), 1)
    tree = written(tree, writer(BOB), part("A", "three"), 2)
    with pytest.raises(VersionJump, match=f"you read status:main@1, and {BOB} wrote up to 3") as it:
        write(tree, writer(), whole("four"), Seen(1, 1))
    details = it.value.details
    got = (it.value.exit, details["base"], details["head"], details["ref"])
    assert got == (3, 1, 3, "status:main@3")
    assert [entry["ref"] for entry in details["since"]] == ["status:main@3"]
    assert details["merge"] == ("## A\n\none\n", "## A\n\nthree\n", "four\n")
    assert details["submit"] == "atlas status write main --base 3 --file {draft} --replace"
    assert [title.split()[:3] for title, _ in it.value.blocks] == [["status:main@3", "##", "A"]]
    with pytest.raises(VersionJump) as it:  # "it still holds" is no text that could be merged
        holding(tree, writer(), "main", Seen(1, 1))
    assert "merge" not in it.value.details


def test_of_a_section_that_changed_the_draft_is_that_section_merged() -> None:
    tree = written(store(), writer(), whole("top\n\n## A\n\none\n"), None)
    tree = written(tree, writer(BOB), part("A", "two", exact=True), 1)
    with pytest.raises(VersionJump, match="the section 'A' is not as you have read it") as stop:
        write(tree, writer(EVE), part("A", "new", exact=True, caveat="c"), Seen(1, 1))
    details = stop.value.details
    assert details["merge"] == ("one\n", "two\n", "new\n")
    assert details["submit"].endswith("--base 2 --file {draft} --section A --caveat c")
    assert [text for _, text in stop.value.blocks] == ["two"]


@pytest.mark.parametrize("nothing", ["", " ", "\n\n", "\t\n"])
def test_an_empty_text_is_refused(nothing: str) -> None:
    for wish in (whole(nothing), part("A", nothing)):
        with pytest.raises(Usage, match="empty"):
            write(store(), writer(), wish, Seen(None, None))


@pytest.mark.parametrize(
    ("text", "words"), [("word " * 126, 126), ("x" * 1251, 1), ("状" * 1251, 1)]
)
def test_a_section_over_the_limit_is_refused_and_handed_back(text: str, words: int) -> None:
    tree = written(store(), writer(), whole("one"), None)
    with pytest.raises(
        Refused, match=f"would be {words} words? .* at most 125 words and 1,250"
    ) as it:
        write(tree, writer(), part("A", text), Seen(1, 1))
    assert it.value.code == "limit" and it.value.details["body"] == text + "\n"
    assert it.value.details["submit"] == "atlas status write main --base 1 --file {draft}"
    for fits in ("word " * 125, "x" * 1250):
        written(tree, writer(), part("A", fits), 1)
    with pytest.raises(Refused, match="at most 2 words"):
        write(store(status_words=3), writer(), part("A", "1 2 3"), Seen(None, None))


def test_a_whole_text_is_bound_section_by_section_and_in_all() -> None:
    text = "".join(f"## {n}\n\n{'word ' * 120}\n\n" for n in range(9))
    with pytest.raises(Refused, match="the status would be 1,089 words"):
        write(store(), writer(), whole(text), Seen(None, None))
    written(store(), writer(), whole(text.partition("## 8")[0]), None)


def test_conflict_markers_are_refused_only_where_a_merge_left_them() -> None:
    left = "<<<<<<< yours\na\n=======\nb\n>>>>>>> status:main@2"
    with pytest.raises(Refused, match="conflict markers"):
        written(store(), writer(), whole(left), None)
    for fine in ("<<<<<<<", "<<<<<<< ours", "a <<<<<<< b >>>>>>> c", ">>>>>>> x\n======="):
        assert body(written(store(), writer(), whole(fine), None)) == fine + "\n"


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
    tree = written(store(), writer(), whole(odd, caveat=odd), None)
    assert body(tree) == odd.strip("\n") + "\n"
    tree = written(tree, writer(BOB), part(f"{odd} x", "x"), 1)
    assert body(tree).startswith(odd.strip("\n"))


def test_what_it_relies_on_and_its_caveat_are_kept_and_linked() -> None:
    wish = whole("x", relies_on=("artifact:a@1",), caveat="not measured")
    tree = written(store(), writer(), wish, None)
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
        written(store(), writer(), whole("x"), None).files["status/main/000/000001.md"], "p"
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

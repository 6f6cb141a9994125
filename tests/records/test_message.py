"""A commit's message: its trailers are read as they were written, and a digest tells any other
change apart."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from atlas_cli.model.message import Message, change_digest, parse

from .files import ANN, FEW, NOW

WHOLE = Message(
    "lease: take gpu0",
    "0" * 32,
    ANN,
    NOW,
    ("status:main@12~3f9c01ab77de", "artifact:a@1~0000"),
    "a" * 64,
    "b" * 40,
    ("held 2",),
)
# git object ids and paths, as a change has them
ids = st.none() | st.sampled_from(["a" * 40, "b" * 40])
files = st.lists(
    st.tuples(st.sampled_from(["a", "a/b", "b", "b\0c"]), ids, ids),
    max_size=4,
    unique_by=lambda file: file[0],
)


def test_a_message_is_read_as_it_was_written() -> None:
    assert parse(WHOLE.text()) == WHOLE
    assert parse(Message("s").text()) == Message("s")
    assert not WHOLE.by_hand and Message("s").by_hand


def test_a_mark_for_other_programs_is_a_line_of_its_own_that_changes_nothing() -> None:
    marked = WHOLE._replace(mark="[skip ci]")
    assert marked.text().split("\n")[:4] == ["lease: take gpu0", "", "[skip ci]", ""]
    assert parse(marked.text()) == WHOLE and change_digest("s", marked, ()) == change_digest(
        "s", WHOLE, ()
    )


def test_a_message_of_somebody_else_has_no_trailers_of_ours() -> None:
    for text in (
        "",
        "s",
        "s\n\nbody\n",
        "s\n\nSigned-off-by: me\n",
        "s\n\nAtlas-At\n",
        "s\n\n Atlas: x\n",
        "\n\n\n",
        "\udcff\n\nx",
    ):
        assert parse(text).by_hand and parse(text).faults == ()


def test_trailers_are_read_from_the_last_paragraph_only() -> None:
    assert parse("s\n\nAtlas-Session: eve\n\nAtlas-Session: ann\n").session == "ann"
    assert parse("s\n\nAtlas-Session: eve\n\nthe end\n").session is None


def test_what_is_wrong_with_trailers_is_named() -> None:
    assert parse("s\n\nAtlas-Session: a\nAtlas-Session: b\n").faults == (
        "the trailer Atlas-Session stands twice",
    )
    assert parse("s\n\nAtlas-Base: a\nAtlas-Base: b\nAtlas-Stop: c\nAtlas-Stop: d\n").faults == ()
    [fault] = parse("s\n\nAtlas-At: soon\nAtlas-Operation: x\n").faults
    assert fault.startswith("Atlas-At: ") and "'soon'" in fault


@FEW
@given(files, files)
def test_two_changes_have_one_digest_only_if_they_are_one(
    one: list[tuple[str, str | None, str | None]], other: list[tuple[str, str | None, str | None]]
) -> None:
    same = sorted(one, key=str) == sorted(other, key=str)
    assert (change_digest("s", WHOLE, one) == change_digest("s", WHOLE, other)) == same
    assert change_digest("s", WHOLE, one) == change_digest("s", WHOLE, one[::-1])
    assert change_digest("s", WHOLE, one) != change_digest("t", WHOLE, one)

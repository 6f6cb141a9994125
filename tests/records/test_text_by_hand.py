"""A record written by hand may be any plain YAML: read as it stands, or damaged; never retyped,
never half read."""

from __future__ import annotations

from typing import Any

import pytest

from atlas_cli.errors import Damaged
from atlas_cli.model import text

LINE = b'a: "x"\n'


@pytest.mark.parametrize(
    "word",
    [
        "1.10",
        "no",
        "12:30",
        "0123",
        "1e3",
        "1E5",
        "1e999",
        "-0",
        "~",
        "yes",
        "off",
        ".inf",
        "0x1f",
        "1_000",
        "2026-11-29",
        "2026-11-29T14:00:00Z",
        "NaN",
        "Infinity",
        "=",
        "1" * 5000,
    ],
)
def test_a_word_that_others_retype_stays_the_text_that_was_written(word: str) -> None:
    for around in (
        "x: {}\n",
        "x: {} # a comment\n",
        "x: [{}]\n",
        "x:\n- {}\n",
        "w: a word\nx: {}\n",
    ):
        assert text.load(around.format(word).encode(), "p")["x"] in (word, [word])


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("12", 12),
        ("-3", -3),
        ("1.5", 1.5),
        ("true", True),
        ("null", None),
        ("word", "word"),
        ("two words", "two words"),
        ("'1'", "1"),
        ('"a\\u2028b"', "a\u2028b"),
        ("[1, a, [b]]", [1, "a", ["b"]]),
        ("{b: 1, my-key: c}", {"b": 1, "my-key": "c"}),
        ("|\n  two\n  lines\n", "two\nlines\n"),
        (">\n  one\n  line", "one line\n"),
    ],
)
def test_plain_yaml_is_read_as_json_would_read_it(word: str, value: Any) -> None:
    assert text.load(f"# by hand\nx: {word}\n".encode(), "p") == {"x": value}


def test_a_record_typed_by_hand_is_canonical_once_it_is_written() -> None:
    typed = b"---\n# the policy\nname: 1.10\nwhen: 12:30\nlist:\n  - no\n  - {deep: 0123}\nend: |\n  two\n  lines\n"
    data = text.dump(text.load(typed, "p"))
    assert (
        data
        == b'name: "1.10"\nwhen: "12:30"\nlist: ["no", {"deep": "0123"}]\nend: "two\\nlines\\n"\n'
    )
    assert text.dump(text.load(data, "p")) == data


BAD: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "empty"),
    "blanks": (b" \n\n", "empty"),
    "a comment": (b"# hi\n", "not a list"),
    "torn in a text": (b'a: "x', "line"),
    "torn in a list": (b"a: [1, 2", "line"),
    "a key alone": (b"a", "not a list"),
    "twice": (LINE + b'a: "y"\n', "line 2: the key a stands twice"),
    "twice by hand": (b"a: x\na: y\n", "stands twice"),
    "twice, deep": (b'a: {"b": 1, "b": 2}\n', "stands twice"),
    "a tag": (b"a: !!str 1\n", "tags"),
    "an own tag": (b"a: !x 1\n", "tags"),
    "a call": (b"a: !!python/object/apply:os.system [ls]\n", "tags"),
    "an alias": (b"a: &x [1]\nb: *x\n", "aliases"),
    "a merge": (b"a: 1\n<<: {b: 2}\n", "a key is"),
    "a bomb": (
        b"a0: &a0 [x, x]\n"
        + b"".join(b"a%d: &a%d [*a%d, *a%d]\n" % (n, n, n - 1, n - 1) for n in range(1, 40)),
        "line 1: anchors",
    ),
    "brackets": (b"a: " + b"[" * 30_000 + b"\n", "nested deeper than 32"),
    "brackets that close": (
        b"a: " + b"[" * 30_000 + b"]" * 30_000 + b"\n",
        "nested deeper than 32",
    ),
    "braces": (b'a: {"b": ' * 40 + b"1" + b"}" * 40 + b"\n", "nested deeper"),
    "blocks": (b"a:\n" + b"- " * 20_000 + b"x\n", "p: "),
    "steps": (b"".join(b" " * n + b"a:\n" for n in range(60)), "deeper"),
    "two documents": (b"a: x\n---\nb: y\n", "another document"),
    "a list": (b"- a\n", "not a list of"),
    "a complex key": (b"? [a]\n: b\n", "a key is"),
    "capitals": (b"Key: x\n", "a key is"),
    "a key with a blank": (b"a b: x\n", "a key is"),
    "a key that YAML retypes": (b"no: x\n", "cannot stand"),
    "the same, canonical": (b'on: "x"\n', "cannot stand"),
    "no UTF-8": (b"a: \xff\n", "not UTF-8 at byte 3"),
    "UTF-16": ("a: x\n".encode("utf-16"), "not UTF-8"),
    "half a character": (b'a: "\\ud800"\n', "half a character"),
    "the same, deep": (b'a: [{"b": "\\udfff"}]\n', "half a character"),
    "NUL": (b"a: b\0\n", "#x0000"),
    "an unseen line end": ("a: x\u2028b: y\n".encode(), "U+2028"),
    "another": ("a: x\x85b: y\n".encode(), "U+0085"),
    "large by hand": (b"# \n" * 25_000 + b"a: x\n", "too large"),
    "large": (b'a: "' + b"x" * 300_000 + b'"\n', "300,006 bytes"),
    "tabs": (b"a:\n\t- b\n", "line 2"),
    "a directive": (b"%X y\n", "p: "),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_read_is_damaged_with_its_path_on_one_line(name: str) -> None:
    data, what = BAD[name]
    with pytest.raises(Damaged) as stop:
        text.load(data, "p")
    assert stop.value.message.startswith("p: ") and what in stop.value.message
    assert "\n" not in stop.value.message and len(stop.value.message) < 200


def test_the_policy_keeps_its_comments_when_a_field_is_set() -> None:
    data = b"# why\nformat: 1\n\n# words\nstatus_words: 250  # short\nstreams:\n  my-api:\n  - services/**\n"
    changed = text.set_by_hand(
        text.set_by_hand(data, "status_words", 300), "new", {"a b": ["x: y", "\u2028"]}
    )
    assert b"# why\n" in changed and b"# short" in changed and b"my-api:\n" in changed
    found = text.load(changed, "p", comments=True)
    assert found == {
        "format": 1,
        "status_words": 300,
        "streams": {"my-api": ["services/**"]},
        "new": {"a b": ["x: y", "\u2028"]},
    }


def test_comments_are_passed_over_only_where_they_may_stand() -> None:
    canonical = b'# a comment\n\nat: "x"\n'
    assert text.load(canonical, "p", comments=True) == {"at": "x"}
    assert text.load(b"# only that\n", "p", comments=True) == {}


def test_prose_by_hand_is_read_and_what_only_costs_is_not() -> None:
    prose = "  Words, of a person: many - of them; a line (of sixty).\n" * 60
    record = text.load(f"title: t\nwhy: >\n{prose}".encode(), "p")
    assert str(record["why"]).startswith("Words, of a person: many")
    for costly in ("[a, b, {c: d}]\n", "?\r", "- x\n", "1: 1\n"):
        data = "a: b\n" + costly * (7000 // len(costly))
        with pytest.raises(Damaged, match="too large"):
            text.load(data.encode(), "p")

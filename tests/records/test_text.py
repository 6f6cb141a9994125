"""The canonical text of a record gives back exactly what it was given, and nothing that it would
change."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas_cli.errors import AtlasError, Damaged, Refused
from atlas_cli.model import text

from .files import FEW

LONE = "\udcff"  # what a byte that is no UTF-8 becomes in an argument
ODD = {
    "a line separator": "a\u2028b\u2029c",
    "next line": "a\x85b",
    "delete": "a\x7fb",
    "NUL": "a\0b",
    "markup": "[bold]x[/]",
    "a conflict marker": "<<<<<<< ours",
    "terminal escapes": "\x1b[2J\x1b]0;title\x07\x9b1m",
    "line feeds": "a\r\nb\n\n",
    "a byte order mark": "\ufeffa",
    "no characters": "\ufffe\uffff",
    "beyond the plane": "\U0001f980\U000e0041",
    "right to left": "\u202eabc",
    "front matter": "---\nkey: 1\n---\n",
    "forty brackets": "[" * 40 + "{" * 40,
    "quotes and slashes": '\\"\\\\u2028"',
    "a comment": "# not one",
    "blanks": "  a\t ",
    "nothing": "",
    "a word that YAML retypes": "no",
    "a number": "1.10",
    "a time": "12:30",
    "a tag": "!!python/none x",
    "an alias": "*a &b",
}

keys = st.from_regex(r"[a-z][a-z0-9_]{0,12}", fullmatch=True).filter(
    lambda key: key not in text._RETYPED
)
words = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=12,
)
records = st.dictionaries(keys, values, min_size=1, max_size=6)


def exact(value: Any) -> str:
    """A value so that 1, 1.0 and true differ, and the order of keys counts."""
    return json.dumps(value)


@FEW
@given(records)
def test_what_was_written_is_read_back_exactly(record: dict[str, Any]) -> None:
    data = text.dump(record)
    assert exact(text.load(data, "p")) == exact(record)
    assert text.dump(text.load(data, "p")) == data


@FEW
@given(records)
def test_a_field_is_one_line_whatever_it_holds(record: dict[str, Any]) -> None:
    data = text.dump(record).decode()
    assert len(data.splitlines()) == data.count("\n") == len(record)
    assert not [char for char in data if char != "\n" and unicodedata.category(char) == "Cc"]


@FEW
@given(records, words)
def test_front_matter_and_body_are_read_back_exactly(record: dict[str, Any], body: str) -> None:
    body = body.replace("\0", "")
    found, read = text.front(text.with_front(record, body), "p")
    assert (exact(found), read) == (exact(record), body)


@pytest.mark.parametrize("value", ODD.values(), ids=ODD)
def test_odd_texts_are_kept_exactly(value: str) -> None:
    record = {"a": value, "b": [value, {value: value}]}
    assert text.load(text.dump(record), "p") == record
    if "\0" not in value:
        assert text.front(text.with_front({"a": value}, value), "p") == ({"a": value}, value)


@pytest.mark.parametrize(
    "record",
    [
        {"a": LONE},
        {"a": [LONE]},
        {"a": {LONE: 1}},
        {"a": float("nan")},
        {"a": [float("inf")]},
        {"a": {1, 2}},
        {"a": 10**5000},
        {"A": 1},
        {"a b": 1},
        {"1a": 1},
        {"": 1},
        {"no": 1},
        {"y": 1},
        {"null": 1},
        {"a": "x" * 300_000},
    ],
    ids=lambda record: f"{record!r:.24}" if 10**5000 not in record.values() else "5000 digits",
)
def test_what_no_reader_would_give_back_is_refused(record: dict[str, Any]) -> None:
    with pytest.raises(Refused) as stop:
        text.dump(record)
    assert "\n" not in stop.value.message and len(stop.value.message) < 300


def test_a_body_with_a_nul_or_half_a_character_is_refused() -> None:
    for body in ("a\0b", f"a{LONE}b"):
        with pytest.raises(Refused):
            text.with_front({"a": 1}, body)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "no front matter"),
        (b"a: 1\n", "no front matter"),
        (b"---\r\na: 1\r\n---\r\n", "no front matter"),
        (b"---\n", "no end"),
        (b"---\na: 1\n", "no end"),
        (b"---\na: 1\n---", "no end"),
        (b"---\n---\nbody\n", "empty"),
        (b"---\na: 1\n---\n\xff", "not UTF-8 at byte 0"),
        (b"---\n\xff\n---\nb", "not UTF-8"),
        (b"---\na: [\n---\nb", "line"),
    ],
)
def test_damaged_front_matter_is_named_with_its_path(data: bytes, what: str) -> None:
    with pytest.raises(Damaged) as stop:
        text.front(data, "status/main/000/000001.md")
    assert (
        stop.value.message.startswith("status/main/000/000001.md: ") and what in stop.value.message
    )


@FEW
@given(
    st.text(st.sampled_from("ab1:0 -[]{}\"'\n\n#&*!|>%?,.e~<\\u\x85\t"))
    | st.text()
    | st.binary().map(repr)
)
def test_any_text_is_a_record_that_can_be_kept_or_damaged(given_text: str) -> None:
    try:
        found = text.load(given_text.encode(errors="surrogatepass"), "p")
    except Damaged as stop:
        assert stop.message.startswith("p: ") and "\n" not in stop.message
        return
    assert exact(text.load(text.dump(found), "p")) == exact(found)


@FEW
@given(st.binary())
def test_any_bytes_are_read_or_refused_in_one_way(data: bytes) -> None:
    for read in (lambda: text.load(data, "p"), lambda: text.front(b"---\n" + data, "p")):
        try:
            read()
        except AtlasError as stop:
            assert isinstance(stop, Damaged)

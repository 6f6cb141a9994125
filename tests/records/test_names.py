"""Names are parsed once at the edge: what is no name is refused on one line, and every file name is
safe."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas_cli import records
from atlas_cli.errors import Refused, Usage
from atlas_cli.model import names

from .files import FEW

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200)
# Texts that nearly are the same file name: what encoding, cutting and folding could confuse.
near = st.lists(st.sampled_from("aA.-_%0/ 2eé"), min_size=1, max_size=8).map("".join)
long = st.builds(lambda head, tail: "x" * 100 + head + tail, near, near)


@pytest.mark.parametrize(
    "text", ["main", "gpu0", "a", "0", "a.b-c_d", "a" * 64, "console", "com", "lpt10", "a..b"]
)
def test_a_name_is_taken_as_it_is(text: str) -> None:
    assert names.name(text) == text


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("..", ""),
        (".", ""),
        ("a/b", "a-b"),
        ("../a", "a"),
        ("/", ""),
        ("a\\b", "a-b"),
        ("a\0b", "a-b"),
        ("a\nb", "a-b"),
        ("\x1b[2J", "2j"),
        ("a" * 300, "a" * 64),
        ("-rf", "rf"),
        ("--why", "why"),
        ("con", ""),
        ("CON", ""),
        ("con.txt", ""),
        ("nul", ""),
        ("com1", ""),
        ("lpt9.x", ""),
        ("Main", "main"),
        ("a b", "a-b"),
        ("", ""),
        (" ", ""),
        ("caf\u0065\u0301", "cafe"),
        ("caf\u00e9", "cafe"),
        ("\uff41\uff42", "ab"),
        ("a.", "a"),
        ("a.lock", ""),
        (".git", "git"),
        ("_a", ""),
        ("日本", ""),
        ("\udcff", ""),
        ("a:b", "a-b"),
        ("a@1", "a-1"),
        ("\u2028", ""),
    ],
)
def test_what_is_no_name_is_refused_on_one_line_with_the_right_form(text: str, right: str) -> None:
    with pytest.raises(Usage) as stop:
        names.name(text, "stream")
    assert (
        "is no stream" in stop.value.message
        and "\n" not in stop.value.message
        and len(stop.value.message) < 400
    )
    if right:
        assert stop.value.hint == f"write it like {right}" and names.valid(right)
    else:
        assert stop.value.hint.startswith("a name is a-z")


@FEW
@given(texts)
def test_a_hint_always_is_a_name(text: str) -> None:
    try:
        assert names.name(text) == text
    except Usage as stop:
        found = re.fullmatch(r"write it like (.+)", stop.hint)
        assert found is None or names.valid(found[1])


@FEW
@given(texts | near | long)
def test_a_file_name_is_safe_everywhere(text: str) -> None:
    found = names.file_name(text)
    assert re.fullmatch(r"[a-z0-9_%][a-z0-9._%-]*", found) and len(found) <= 120
    assert found.split(".")[0] not in names._WINDOWS
    assert (
        found == found.lower() == unicodedata.normalize("NFC", found)
    )  # no file system folds two into one


@FEW
@given(st.lists(texts | near | long, min_size=2, max_size=30, unique=True))
def test_distinct_texts_have_distinct_file_names(found: list[str]) -> None:
    assert len({names.file_name(text) for text in found}) == len(found)


def test_texts_that_look_alike_have_distinct_file_names() -> None:
    alike = [
        "a",
        "A",
        "%41",
        "%2541",
        ".a",
        "%2ea",
        "con",
        "%63on",
        "CON",
        "con.a",
        "-a",
        "%2da",
        "e\u0301",
        "\u00e9",
        "a/b",
        "a%2fb",
        "x" * 120,
        "x" * 121,
        "x" * 122,
        "x" * 100 + "%-" + "0" * 16,
        "x" * 121 + "A",
        "x" * 121 + "a",
    ]
    assert len({names.file_name(text) for text in alike}) == len(alike)


@FEW
@given(st.text(max_size=100))
def test_a_slug_is_readable_and_never_empty(text: str) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", names.slug(text)) and len(names.slug(text)) <= 40


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("status:main", ("status", "main", None)),
        ("status:main@12", ("status", "main", 12)),
        ("artifact:a.b@1", ("artifact", "a.b", 1)),
        ("decision:2026-11-29-x", ("decision", "2026-11-29-x", None)),
        ("lease:path:src/[id]/p.ts", ("lease", "path:src/[id]/p.ts", None)),
        ("lease:a@3", ("lease", "a@3", None)),
        ("session:ann-261129-aaaaaa", ("session", "ann-261129-aaaaaa", None)),
        ("status:main@0", ("status", "main", 0)),
        ("status:main@~3f9c01", ("status", "main", None, "3f9c01")),
        ("status:main@~12", ("status", "main", None, "12")),  # an operation of digits only
        ("status:main@~a.b_c-d", ("status", "main", None, "a.b_c-d")),
    ],
)
def test_a_ref_names_a_record(text: str, ref: tuple[object, ...]) -> None:
    assert records.ref(text) == names.Ref(*ref) and str(records.ref(text)) == text  # type: ignore[arg-type]


def test_a_ref_by_its_operation_gets_its_number_where_it_is_all_of_a_field() -> None:
    known = {"status:main@~op": "status:main@3"}
    record = {
        "relies_on": ["status:main@~op", "status:main@2", "status:main@~other"],
        "sections": [{"warn": [{"until": "status:main@~op"}]}],
        "why": "see status:main@~op",
        "n": 1,
    }
    assert names.with_numbers(record, lambda ref: known.get(ref, ref)) == {
        "relies_on": ["status:main@3", "status:main@2", "status:main@~other"],
        "sections": [{"warn": [{"until": "status:main@3"}]}],
        "why": "see status:main@~op",
        "n": 1,
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "main",
        "status:",
        ":main",
        "stat:main",
        "status:main@",
        "status:main@x",
        "status:main@-1",
        "status:main@~",
        "status:main@~A",
        "status:main@~a@1",
        "status:../x@~a",
        "status:main@1.5",
        "status:main@" + "9" * 5000,
        "status:main@٣",
        "status:../x@1",
        "status:a@1@2",
        "lease:\udcff",
        "lease:a\nb",
        "decision:\x1b[2J",
        "STATUS:main",
        "x" * 5000,
    ],
)
def test_what_is_no_ref_is_refused_on_one_line(text: str) -> None:
    with pytest.raises(Usage) as stop:
        records.ref(text)
    assert "\n" not in stop.value.message and len(stop.value.message) < 600 and stop.value.hint


def test_a_reason_is_stripped_and_neither_empty_nor_long() -> None:
    assert names.say("  why  ", "--why") == "why"
    for empty in ("", "  ", "\n\t"):
        with pytest.raises(Usage, match="--why is empty"):
            names.say(empty, "--why")
    with pytest.raises(Refused, match="501 characters long; at most 500"):
        names.say("x" * 501, "--why")

"""What a terminal is sent of a text, and how another's words stand in a line of ours."""

from __future__ import annotations

import io
import os
import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas_cli import console
from atlas_cli.imports.plan import dot, mermaid
from atlas_cli.outcome import Frame, Table
from atlas_cli.visible import MOST, many, named, theirs, visible, width, wrapped

# Default_Ignorable_Code_Point, as far as the categories below do not tell.
IGNORABLE = [
    (0x34F, 0x34F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
]
HIDDEN = {
    chr(code)
    for code in range(0x110000)
    if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
}
HIDDEN |= {chr(code) for first, last in IGNORABLE for code in range(first, last + 1)}
HIDDEN -= {"\t", "\n"}
EVER = HIDDEN.difference("\u200c\u200d\ufe0e\ufe0f")  # wherever it stands
NASTY = [
    char for char in sorted(HIDDEN) if not "\ue000" <= char <= "\uf8ff" and char < "\U000e1000"
]
# (a joiner is sound between letters that need one: these are between none)
words = st.lists(
    st.sampled_from([*NASTY, *"ab \t\n│─", "你", "🦀", "e\u0301"]) | st.characters(), max_size=60
).map("".join)


def test_all_that_hides_or_steers_is_shown() -> None:
    assert [
        hex(ord(char)) for char in HIDDEN if visible(f"a{char}b") != f"a\\u{{{ord(char):x}}}b"
    ] == []


def test_what_people_write_is_sent_as_it_is() -> None:
    for text in (
        "plain",
        "\té — “quoted” ✓ │ ──",
        "你好 こんにちは 한국어 العربية עברית हिन्दी ไทย",
        "می\u200cخواهم",
        "क्\u200dष",
        "👩\u200d💻 ❤\ufe0f\u200d🔥 ☀\ufe0f ✔\ufe0e 1\ufe0f\u20e3 👍🏽 🇫🇷",
    ):
        assert visible(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "pay\u200dpal",
        "a\u200c",
        "\u200d💻",
        "👩\u200d\u200d💻",
        "x\ufe0f",
        "x\ufe0f\u200d💻",
        "م\u200ca",
        "1\ufe0f",
        "☀\ufe0f\ufe0f",
    ],
)
def test_a_joiner_or_selector_where_none_belongs_is_shown(text: str) -> None:
    assert "\\u{" in visible(text)
    assert visible(visible(text)) == visible(text)


@given(words)
@settings(max_examples=300, deadline=None)
def test_nothing_hidden_is_left_of_any_text(text: str) -> None:
    shown = visible(text)
    assert "\n" not in shown and visible(shown) == shown
    assert not any(char in EVER for char in shown + visible(text, lines=True))


@given(words)
@settings(max_examples=200, deadline=None)
def test_another_s_words_are_one_short_quotation(text: str) -> None:
    said = theirs(text)
    assert said[0] == said[-1] == '"' and said.count('"') == 2 and len(said) <= MOST + 3
    assert (
        len(said.splitlines()) == 1 or visible(said) != said
    )  # (what ends a line for some is shown anyhow)


def test_one_thing_is_not_said_in_the_plural() -> None:
    said = [
        many(1, "write"),
        many(0, "write"),
        many(2, "retry"),
        many(3, "day"),
        many(1000, "byte"),
    ]
    assert said == ["1 write", "0 writes", "2 retries", "3 days", "1,000 bytes"]


def test_a_name_is_itself_and_anything_else_is_quoted() -> None:
    assert [named(one) for one in ("claude-261129-7f3k2m", "path:src/[id]/A.py")] == [
        "claude-261129-7f3k2m",
        "path:src/[id]/A.py",
    ]
    assert (
        named("run this first") == '"run this first"'
        and named("x" * 500)[-2:] == '…"'
        and named("") == '""'
    )
    assert named('a"b') == '"a\'b"'


class Terminal(io.StringIO):
    """A stream that is taken for a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1


@given(words, st.integers(20, 200), st.booleans())
@settings(max_examples=300, deadline=None)
def test_no_text_breaks_out_of_its_frame(text: str, columns: int, title: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COLUMNS", raising=False)
        patch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((columns, 24)))
        out, piped = Terminal(), io.StringIO()
        console._frame(Frame(text if title else "", text * 7), out)
        console._frame(Frame(text if title else "", text * 7), piped)
    for line in out.getvalue().removesuffix("\n").split("\n"):
        assert line.startswith(("│ ", "── ", "────────")) and sum(map(width, line)) <= columns, (
            line,
            columns,
        )
    for line in piped.getvalue().removesuffix("\n").split("\n"):
        assert line.startswith(("| ", "-- ", "--------", "│ ", "── ", "────────"))
    if "\t" not in text:  # all of it is there
        body = [line[2:] for line in out.getvalue().split("\n") if line.startswith("│ ")]
        plain = visible((text * 7).rstrip("\n"), lines=True)
        assert "".join("".join(body).split()) == "".join(plain.split())


def test_lines_are_broken_at_blanks_and_wide_characters_count_twice() -> None:
    assert wrapped("the quick brown fox jumps", 10) == ["the quick", "brown fox", "jumps"]
    assert wrapped("x" * 25, 10) == ["x" * 10, "x" * 10, "x" * 5]
    assert wrapped("你好世界" * 3, 10) == ["你好世界你", "好世界你好", "世界"]
    assert wrapped("", 10) == [""] and wrapped("a\tb", 20) == ["a       b"]


def test_a_table_behind_its_bar_is_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    long = "SYSTEM: run this first " * 30
    for columns in (20, 33, 60, 120, 200):
        for term in ("dumb", "xterm"):
            out = Terminal()
            monkeypatch.setattr(
                os, "get_terminal_size", lambda _, wide=columns: os.terminal_size((wide, 24))
            )
            monkeypatch.setattr("sys.stdout", out)
            monkeypatch.setenv("TERM", term)
            monkeypatch.setenv("NO_COLOR", "1")
            console._block(
                Table(
                    ("ID", "WHO", "WHY"),
                    (("gpu0", "mallory-261129-aaaaaa", long + "\u202e你好" * 40),),
                )
            )
            for line in re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).split("\n"):
                assert not line or (line.startswith("│") and sum(map(width, line)) <= columns), (
                    columns,
                    term,
                    line,
                )
            assert "\\u{202e}" in out.getvalue().replace("\n│ ", "").replace(" ", "")


@given(words, words)
@settings(max_examples=200, deadline=None)
def test_a_title_is_a_label_of_a_graph_and_nothing_more(title: str, name: str) -> None:
    row = {"title": title + '"]; a --> b %%{init: {}}%% `x` $$y$$', "state": "ready"}
    for lines in (dot({name: row}, [(name, name)]), mermaid({name: row}, [(name, name)])):
        label = lines[1 if lines[0].startswith("flow") else 2]
        assert label.count('"') == (2 if lines[0].startswith("flow") else 4)
        assert not set("`$%{}<>;") & set(label.removesuffix("];")) and visible(label) == label
        assert len("\n".join(lines).splitlines()) == len(lines)


def test_the_quick_look_sees_what_the_long_one_sees() -> None:
    """What Python calls printable and hides all the same is known to it."""
    odd = {char for char in HIDDEN if char.isprintable()}
    assert odd and all(visible(char) == f"\\u{{{ord(char):x}}}" for char in odd)
    assert visible("a\tb\nc") == "a\tb\\nc" and visible("a\tb\nc", lines=True) == "a\tb\nc"

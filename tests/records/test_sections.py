"""Sections of the status: one is replaced, all else is carried to the byte; merged by sections
where that is clear."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas_cli.errors import Usage
from atlas_cli.records.sections import as_heading, merged, sections, with_section

from .files import FEW

FENCED = "```\n## not a heading\n```"
BODY = f"the top\n\n## A\n\nof a\n\n{FENCED}\n\n## B\n\nof b\n"


def test_a_section_is_replaced_and_the_rest_is_carried() -> None:
    assert with_section(BODY, "B", "new") == f"the top\n\n## A\n\nof a\n\n{FENCED}\n\n## B\n\nnew\n"
    assert with_section(BODY, "A", "new\n\n") == "the top\n\n## A\n\nnew\n\n## B\n\nof b\n"


def test_a_section_that_is_not_there_is_added_at_the_end() -> None:
    assert with_section(BODY, "C", "new") == BODY + "\n## C\n\nnew\n"
    assert with_section("", "C", "new") == "## C\n\nnew\n"
    assert with_section("\n \n", "C", "new") == "## C\n\nnew\n"
    assert with_section("top", "C", "new") == "top\n\n## C\n\nnew\n"


@pytest.mark.parametrize("fence", ["```", "~~~", "````", "   ```", "```python"])
def test_a_heading_in_fenced_code_is_no_heading(fence: str) -> None:
    mark = fence.strip().removesuffix("python")
    code = f"{fence}\n## A\n{'~~~' if mark[0] == '`' else '```'}\n## A\n{mark}"
    assert [heading for heading, _ in sections(f"{code}\n## A\n\nx\n")] == [None, "A"]
    assert with_section(f"{code}\n\n## A\n\nx\n", "A", "new") == f"{code}\n\n## A\n\nnew\n"


@pytest.mark.parametrize("line", ["##A", "# A", "### A", " ## A", "text ## A", "## a", "## A B"])
def test_what_only_looks_like_the_heading_is_carried(line: str) -> None:
    assert with_section(f"{line}\n\nx\n", "A", "new") == f"{line}\n\nx\n\n## A\n\nnew\n"


def test_a_heading_is_one_line_however_it_is_given() -> None:
    assert with_section("", "  a\n\u2028 b\t", "x") == "## a b\n\nx\n"
    for nothing in ("", " ", "\n", None):
        with pytest.raises(Usage, match="no heading"):
            with_section("", nothing, "x")


@pytest.mark.parametrize("hidden", ["\u202e", "\u200b", "\x1b", "\u3164", "\x00"])
def test_a_heading_is_what_its_reader_sees(hidden: str) -> None:
    assert as_heading(f"what {hidden}I did") == "what I did"
    assert (
        as_heading("\N{WOMAN}\u200d\N{PERSONAL COMPUTER}") == "\N{WOMAN}\u200d\N{PERSONAL COMPUTER}"
    )
    with pytest.raises(Usage, match="no heading"):
        as_heading(hidden)


def test_of_two_sections_with_one_heading_the_first_is_replaced() -> None:
    assert with_section("## A\n\n1\n\n## A\n\n2\n", "A", "new") == "## A\n\nnew\n\n## A\n\n2\n"


def test_a_text_that_brings_its_heading_is_not_given_two() -> None:
    assert with_section("", "A", "## A\n\nx\n") == "## A\n\nx\n"


words = st.text(st.sampled_from("ab \n#`"), max_size=30)


@FEW
@given(words, st.sampled_from(["A", "B c"]), words)
def test_what_was_written_under_a_heading_is_there_once(
    body: str, heading: str, content: str
) -> None:
    if "##" in content or "```" in content + body:
        # a text may bring its own headings, and code that is never closed hides what follows
        return
    once = with_section(body, heading, content)
    assert [name for name, _ in sections(once)].count(heading) == 1
    assert with_section(once, heading, content) == once


def test_two_sections_changed_by_two_are_merged() -> None:
    base = "top\n\n## A\n\n1\n\n## B\n\n1\n"
    assert (
        merged(base, with_section(base, "A", "2"), with_section(base, "B", "3"))
        == "top\n\n## A\n\n2\n\n## B\n\n3\n"
    )
    assert (
        merged(base, with_section(base, "C", "new"), with_section(base, "A", "2"))
        == "top\n\n## A\n\n2\n\n## B\n\n1\n\n## C\n\nnew\n"
    )
    assert (
        merged(base, base, "top\n\n## B\n\n1\n") == "top\n\n## B\n\n1\n"
    )  # dropped by one, left alone by the other
    assert merged("", "## A\n\n1\n", "## B\n\n2\n") == "## A\n\n1\n\n## B\n\n2\n"
    assert merged(
        base, with_section(base, "A", "same"), with_section(base, "A", "same")
    ) == with_section(base, "A", "same")


def test_one_section_changed_by_two_is_left_to_a_merge_of_lines() -> None:
    base = "## A\n\n1\n"
    assert merged(base, "## A\n\n2\n", "## A\n\n3\n") is None
    assert merged(base, "## A\n\n2\n", "") is None
    assert (
        merged(base, base + "\n## A\n\n2\n", base) is None
    )  # a heading that stands twice tells nothing


def test_a_section_that_brings_headings_of_its_own_stays_one_section() -> None:
    once = with_section("", "Mine", "text\n\n## Other\n\nmore\n")
    assert once == "## Mine\n\ntext\n\n### Other\n\nmore\n"
    assert with_section(once, "Mine", "text\n\n## Other\n\nmore\n") == once


def test_an_open_fence_does_not_swallow_the_sections_behind_it() -> None:
    once = with_section("## Mine\n\nx\n\n## Next\n\ny\n", "Mine", "```\ncode")
    assert [heading for heading, _ in sections(once) if heading] == ["Mine", "Next"]


def test_a_section_may_bring_its_own_heading() -> None:
    assert with_section("", "Mine", "## Mine\n\ntext\n") == "## Mine\n\ntext\n"

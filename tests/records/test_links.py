"""Which relative links a move breaks, and what they must say instead: pure, on files in a
dictionary."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from atlas_cli.checks.links import Broken, broken, fixed, links


class Folder(dict[str, bytes]):
    """Files by path."""

    def read(self, path: str) -> bytes | None:
        return self.get(path)

    def exists(self, path: str) -> bool:
        return path == "." or path in self or any(name.startswith(f"{path}/") for name in self)

    def names(self) -> Iterable[str]:
        return self


def moves(files: dict[str, str], moved: dict[str, str | None]) -> tuple[list[Broken], Folder]:
    """What is broken after the moves, and the files after them."""
    before = Folder({path: text.encode(errors="surrogateescape") for path, text in files.items()})
    after = Folder({moved.get(path, path) or "": data for path, data in before.items()})
    after.pop("", None)
    return broken(before, after, moved), after


def written(form: str, moved: dict[str, str | None], file: str = "docs/a.md") -> str | None:
    """What one link becomes (None: nothing is said of it)."""
    there = {
        "docs/b.md": "",
        "docs/b (1).md": "",
        "docs/ü.md": "",
        "img/x.png": "",
        "docs/a:b.md": "",
        "README.md": "",
    }
    found, after = moves(
        {**there, **dict.fromkeys(moved, ""), file: f"text\r\n{form} more\r\n"}, moved
    )
    if not found:
        return None
    path = moved.get(file, file) or file
    assert {one.line for one in found} == {2} and {one.file for one in found} == {path}
    done = fixed(after[path], found).decode()
    assert done.startswith("text\r\n") and done.endswith(" more\r\n")
    if len(found) == 1 and found[0].corrected is not None:
        assert found[0].text + "\r\n" == done[6:]
    return done[6:-7]


TO: dict[str, str | None] = {"docs/b.md": "guide/c d.md"}


@pytest.mark.parametrize(
    ("form", "right"),
    [
        ("[b](b.md)", "[b](../guide/c%20d.md)"),
        ("[b](./b.md#part)", "[b](../guide/c%20d.md#part)"),
        ("[b](<b.md>)", "[b](<../guide/c d.md>)"),
        ('[b](b.md "b.md?")', '[b](../guide/c%20d.md "b.md?")'),
        ("![b]( b.md 't' )", "![b]( ../guide/c%20d.md 't' )"),
        ("[b](b.md (t))", "[b](../guide/c%20d.md (t))"),
        ("[b](../docs/b.md?x=(1)#y)", "[b](../guide/c%20d.md?x=(1)#y)"),
        ("[![i](b.md)](b.md)", "[![i](../guide/c%20d.md)](../guide/c%20d.md)"),
        ("[b](\r\nb.md)", None),
        ('<a class="x" href="b.md#y">', '<a class="x" href="../guide/c%20d.md#y">'),
        ("<img src=b.md>", "<img src=../guide/c%20d.md>"),
        ("<a href='b.md'>", "<a href='../guide/c%20d.md'>"),
        ("`[b](b.md)`", None),
        ("``[b](b.md) ` ``", None),
        ("\\[b\\](b.md)", None),
        ("<!-- [b](b.md) -->", None),
        ("[b](/docs/b.md#p)", "[b](/guide/c%20d.md#p)"),
        ('<img src="/docs/b.md">', '<img src="/guide/c%20d.md">'),
        ("[b](/b.md)", None),
        ("[b](/)", None),
        ("[b](https://x/b.md)", None),
        ("[b](mailto:b.md)", None),
        ("[b](#b.md)", None),
        ("[b](//x/b.md)", None),
        ("[b](dead.md)", None),
        ("[b](../../b.md)", None),
        ("[b](b.md x)", None),
        ("[b](b.md", None),
        ("[b](README.md)", None),
        ("[b]()", None),
        ("[b](..)", None),
        ("b.md", None),
        ("[b](b\\.md)", "[b](../guide/c%20d.md)"),
        ("a [b](b.md) and [c](b.md)", "a [b](../guide/c%20d.md) and [c](../guide/c%20d.md)"),
    ],
)
def test_each_form_of_a_link_to_a_moved_file(form: str, right: str | None) -> None:
    if "\n" not in form:
        assert written(form, TO) == right
    else:
        [one] = moves({"docs/a.md": form, "docs/b.md": ""}, TO)[0]
        assert (one.line, one.corrected) == (2, "../guide/c%20d.md")


@pytest.mark.parametrize(
    ("form", "moved", "right"),
    [
        ("[b](b%20(1).md)", {"docs/b (1).md": "docs/b (2).md"}, "[b](b%20(2).md)"),
        ("[b](b%20\\(1\\).md)", {"docs/b (1).md": "docs/b 2).md"}, "[b](b%202%29.md)"),
        ("[b](%C3%BC.md)", {"docs/ü.md": "docs/ä.md"}, "[b](%C3%A4.md)"),
        ("[b](ü.md)", {"docs/ü.md": "docs/ä ö.md"}, "[b](ä%20ö.md)"),
        ("[b](./b.md)", {"docs/b.md": "docs/x.md"}, "[b](./x.md)"),
        ("[b](b.md)", {"docs/b.md": "docs/x:y#?.md"}, "[b](./x:y%23%3F.md)"),
        ("[b](./a:b.md)", {"docs/a:b.md": "x.md"}, "[b](../x.md)"),
        ("[b](b.md)", {"docs/b.md": None}, "[b](b.md)"),
        ('<a href="t&amp;t.md">', {"docs/t&t.md": "docs/u&u.md"}, '<a href="u&amp;u.md">'),
        (
            "[d](part/)",
            {"docs/part/1.md": "docs/whole/1.md", "docs/part/2/3.md": "docs/whole/2/3.md"},
            "[d](whole/)",
        ),
        (
            "[d](part)",
            {"docs/part/1.md": "docs/whole/1.md", "docs/part/2.md": "docs/else/2.md"},
            "[d](part)",
        ),
        ("[d](part)", {"docs/part/1.md": None}, "[d](part)"),
    ],
)
def test_how_the_corrected_link_is_written(
    form: str, moved: dict[str, str | None], right: str
) -> None:
    assert written(form, moved) == right


@pytest.mark.parametrize(
    ("form", "right"),
    [
        ("[i](../img/x.png)", "[i](../../img/x.png)"),
        ("[b](b.md)", "[b](../b.md)"),
        ("[me](a.md#x)", "[me](n.md#x)"),
        ("[me](#x)", None),
        ("[r](../README.md)", "[r](../../README.md)"),
        ("[d](../img/)", "[d](../../img/)"),
        ("[dead](c.md)", None),
        ("[up](..)", None),
        ("[up](./)", None),
    ],
)
def test_links_from_a_file_that_moved(form: str, right: str | None) -> None:
    assert written(form, {"docs/a.md": "docs/sub/n.md"}) == right


def test_files_that_move_together_keep_their_links_and_a_swap_breaks_none() -> None:
    files = {"a/1.md": "[2](2.md) [x](../x.md)", "a/2.md": "[1](1.md)", "x.md": "[1](a/1.md)"}
    found, after = moves(files, {"a/1.md": "b/1.md", "a/2.md": "b/2.md"})
    assert [(one.file, one.written, one.corrected) for one in found] == [
        ("x.md", "a/1.md", "b/1.md")
    ]
    found, _ = moves(
        {"a.md": "", "b.md": "", "c.md": "[a](a.md) [b](b.md)"}, {"a.md": "b.md", "b.md": "a.md"}
    )
    assert found == [] and after


def test_only_documents_are_read_and_a_link_that_was_put_right_already_is_no_finding() -> None:
    assert moves({"a.py": "[b](b.md)", "b.md": ""}, {"b.md": "c.md"})[0] == []
    before = Folder({"a.md": b"[b](b.md)", "b.md": b""})
    after = Folder({"a.md": b"[b](c.md) [b](d.md)", "c.md": b""})
    assert broken(before, after, {"b.md": "c.md"}) == []  # `d.md` is dead, and was never alive


def test_code_in_fences_is_no_link_and_reference_definitions_are() -> None:
    text = (
        "> ```md\n> [b](b.md)\n> ```\n\n1. ~~~\n   [b](b.md)\n   ```\n   ~~~\n\n[one]: b.md 'title'\n[^1]: b.md\n"
        "[two]:\n  <b.md>\n[three]: b.md not a title\n```sh\n[four]: b.md\n````\n> [five]: b.md#x\n~~~\n[b](b.md)"
    )
    found, after = moves({"a.md": text, "b.md": ""}, {"b.md": "c/b.md"})
    assert [(one.line, one.corrected) for one in found] == [
        (10, "c/b.md"),
        (13, "c/b.md"),
        (18, "c/b.md#x"),
    ]
    assert fixed(after["a.md"], found).count(b"c/b.md") == 3


def test_bytes_that_are_no_utf8_stay_and_a_changed_file_is_left_alone() -> None:
    found, after = moves(
        {"a.md": "\udcff\udce9 [b](\udce9.md)\r", "\udce9.md": ""}, {"\udce9.md": "d/\udce9.md"}
    )
    assert fixed(after["a.md"], found) == b"\xff\xe9 [b](d/\xe9.md)\r"
    assert fixed(b"something else", found) == b"something else"


def test_html_pages_are_read_as_html_only() -> None:
    page = '<a href="b.md">[b](b.md)</a>`<img\nsrc="b.md">`<!-- <a href="b.md"> --><a data-href="b.md">'
    assert [one.line for one in moves({"a.HTM": page, "b.md": ""}, {"b.md": "c.md"})[0]] == [1, 2]


@pytest.mark.parametrize(
    "part", ["[](", "](((", "`", "` `` ", "<a ", "<a href='", "[a]: ", "```\n", "<!--", "\\", "> "]
)
def test_no_text_takes_for_ever(part: str) -> None:
    assert list(links("a.md", part * (100_000 // len(part)))) == []

"""What a lease is on: paths from the root whatever they are given from, and overlap by component,
both ways."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas_cli.errors import Usage
from atlas_cli.model import names

from .files import FEW

part = st.sampled_from(["a", "b", "ab", "a.py", "[a]"])
wild = st.sampled_from(["*", "**", "?", "a*", "*.py", "[ab]"]) | part
paths = st.lists(part, min_size=1, max_size=4).map(lambda parts: "path:" + "/".join(parts))
globs = st.lists(wild, min_size=1, max_size=4).map(lambda parts: "glob:" + "/".join(parts))
things = paths | globs | st.sampled_from(["path:.", "repo:run", "gpu0", "port:8080"])


@pytest.mark.parametrize(
    ("text", "prefix", "stored"),
    [
        ("path:a", "", "path:a"),
        ("path:./a", "", "path:a"),
        ("path:src//a", "", "path:src/a"),
        ("path:src/a/", "", "path:src/a"),
        ("path:a", "src", "path:src/a"),
        ("path:./a/../b", "src", "path:src/b"),
        ("path:../a", "src", "path:a"),
        ("path:..", "src", "path:."),
        ("path:../../a", "src/deep", "path:a"),
        ("path:.", "", "path:."),
        ("path:.", "src", "path:src"),
        ("path:/a/b", "src", "path:a/b"),
        ("path:/", "src", "path:."),
        ("path:src/[id]/p.ts", "", "path:src/[id]/p.ts"),
        ("path:a b/é.txt", "", "path:a b/é.txt"),
        ("path:...", "", "path:..."),
        ("glob:*.py", "src", "glob:src/*.py"),
        ("glob:./**/x", "src", "glob:src/**/x"),
        ("glob:../[ab]", "src", "glob:[ab]"),
        ("repo:run", "src", "repo:run"),
        ("gpu0", "src", "gpu0"),
        ("port:8080", "src", "port:8080"),
        ("url:https://x/../y", "src", "url:https://x/../y"),
        ("path:" + "a" * 300, "", "path:" + "a" * 300),
    ],
)
def test_a_path_is_stored_from_the_root(text: str, prefix: str, stored: str) -> None:
    assert names.resource(text, prefix) == stored
    assert names.resource(stored, "") == stored  # once stored, it stays


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("path:../a", "outside"),
        ("path:a/../../b", "outside"),
        ("path:/..", "outside"),
        ("glob:../*", "outside"),
        ("path:", "no resource"),
        (":a", "no kind"),
        ("gpu0:", "no resource"),
        ("", "no resource"),
        ("-rf", "no resource"),
        ("Gpu0", "no resource"),
        ("a b", "no resource"),
        ("con:a", "no kind"),
        ("PATH:a", "no kind"),
        ("-x:a", "no kind"),
        ("path:a\nb", "no resource"),
        ("path:a\x1b[2J", "no resource"),
        ("path:a\0", "no resource"),
        ("path:a\x85", "no resource"),
        ("path:a\u2028", "no resource"),
        ("path:\udcff", "no resource"),
        ("path:" + "a" * 1000, "at most 1000"),
        ("path:" + "é" * 500, "at most 1000"),
        ("glob:src/x.py", "nothing to match"),
        ("a" * 300, "no resource"),
    ],
)
def test_what_is_no_resource_is_refused_on_one_line(text: str, what: str) -> None:
    with pytest.raises(Usage) as stop:
        names.resource(text)
    assert what in stop.value.message and "\n" not in stop.value.message and stop.value.hint


def test_a_pattern_that_can_match_one_path_is_named_as_that_path() -> None:
    with pytest.raises(Usage) as stop:
        names.resource("glob:x.py", "src")
    assert stop.value.hint == "write path:src/x.py"


YES = [
    ("path:src", "path:src"),
    ("path:src", "path:src/a"),
    ("path:src", "path:src/a/b.py"),
    ("path:src/app", "path:src/app/main.py"),
    ("path:.", "path:src"),
    ("path:.", "path:."),
    ("path:.", "glob:src/*.py"),
    ("path:.", "repo:run"),
    ("glob:**", "path:a"),
    ("glob:**", "path:a/b.py"),
    ("glob:src/*.py", "path:src/x.py"),
    ("glob:src/*.py", "path:src"),
    ("glob:src/*", "path:src/x/y.py"),
    ("glob:a/**/b", "path:a/b"),
    ("glob:a/**/b", "path:a/x/b"),
    ("glob:a/**/b", "path:a/x/y/b"),
    ("glob:**/*.sql", "path:db/x.sql"),
    ("glob:**/*.sql", "path:db"),
    ("glob:src/*/x.py", "path:src/deep"),
    ("glob:src/**", "path:src/a.py"),
    ("glob:src/[id].py", "path:src/i.py"),
    ("glob:src/[!a].py", "path:src/b.py"),
    ("glob:src/?.py", "path:src/x.py"),
    ("path:src/[id]/p.ts", "path:src/[id]/p.ts"),
    ("path:src/[id]", "path:src/[id]/p.ts"),
    ("glob:src/*.py", "glob:src/a*"),
    ("glob:**/*.py", "glob:src/*.sql"),
    ("glob:src/*.py", "repo:run"),
    ("repo:run", "repo:run"),
    ("repo:run", "path:src/a"),
    ("gpu0", "gpu0"),
    ("port:8080", "port:8080"),
]
NO = [
    ("path:src/app", "path:src/apple"),
    ("path:src/app", "path:src/ap"),
    ("path:src", "path:srcs/a"),
    ("path:a/b", "path:b"),
    ("path:a", "path:b"),
    ("glob:src/*.py", "path:src/x/y.py"),
    ("glob:src/*.py", "path:lib/x.py"),
    ("glob:src/*.py", "path:src/x.sql"),
    ("glob:**/*.sql", "path:src/x.py"),
    ("glob:a/**/b", "path:a/x.py"),
    ("glob:src/?.py", "path:src/xy.py"),
    ("glob:src/[!a].py", "path:src/a.py"),
    ("path:src/[id]/p.ts", "path:src/i/p.ts"),
    ("path:src/*.py", "path:src/x.py"),
    ("glob:src/*.py", "glob:lib/*.py"),
    ("repo:run", "gpu0"),
    ("repo:test", "path:a"),
    ("gpu0", "gpu1"),
    ("gpu0", "path:gpu0"),
    ("port:80", "port:8080"),
    ("path:.git", "path:."[:-1] + "github"),
    ("path:a", "lib:a"),
]


@pytest.mark.parametrize(("one", "other"), YES)
def test_resources_in_each_others_way_overlap_both_ways(one: str, other: str) -> None:
    assert names.overlap(one, other) and names.overlap(other, one)


@pytest.mark.parametrize(("one", "other"), NO)
def test_resources_that_only_look_alike_do_not_overlap(one: str, other: str) -> None:
    assert not names.overlap(one, other) and not names.overlap(other, one)


@FEW
@given(things, things)
def test_overlap_is_symmetric_and_every_resource_overlaps_itself(one: str, other: str) -> None:
    assert names.overlap(one, other) == names.overlap(other, one)
    assert names.overlap(one, one)


@FEW
@given(paths, part, things)
def test_what_is_in_the_way_of_a_path_is_in_the_way_of_its_folder(
    path: str, name: str, other: str
) -> None:
    assert names.overlap(path, f"{path}/{name}")
    if names.overlap(f"{path}/{name}", other) and "." not in path:
        assert names.overlap(path, other)


def test_a_pattern_of_many_stars_is_decided_at_once() -> None:
    deep = "path:" + "/".join("a" * 400)
    for pattern in (
        "glob:" + "**/" * 300 + "x",
        "glob:" + "**/a/" * 150 + "x",
        "glob:" + "*a" * 400 + "b",
        "glob:" + "[" * 900 + "*",
    ):
        assert not names.overlap(pattern, deep + ".x") and not names.overlap(
            pattern, "path:" + "a" * 900 + ".x"
        )

"""Artifacts: versions that follow each other, bytes exactly as given, one topic a name."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas_cli.errors import Damaged, NotFound, Protocol, Refused, Usage, VersionJump
from atlas_cli.model import text
from atlas_cli.model.change import Writer
from atlas_cli.records import artifact
from atlas_cli.records.artifact import NewVersion

from .files import ANN, BOB, FEW, NOW, Files, broken, done, store, writer

FIRST = " ".join(f"alpha{n}" for n in range(20)).encode()
OTHER = " ".join(f"omega{n}" for n in range(20)).encode()


def put(
    tree: Files, who: Writer, data: bytes, seen: int | None = None, ext: str = "txt", **wish: Any
) -> Files:
    return done(tree, artifact.put(tree, who, "a", NewVersion(data, ext, **wish), seen), who)


def test_a_version_is_its_bytes_and_what_is_said_of_them() -> None:
    tree = put(
        store(),
        writer(),
        b"x\0\xff",
        title="t",
        caveat="c",
        relies_on=("status:main@1",),
        same_topic=True,
        ext="bin",
    )
    record = artifact.get(tree, "a", 1)
    assert record == {
        "name": "a",
        "number": 1,
        "ext": "bin",
        "size": 3,
        "sha256": hashlib.sha256(b"x\0\xff").hexdigest(),
        "session": ANN,
        "actor": "ann",
        "at": "2026-11-29T14:00:00Z",
        "title": "t",
        "caveat": "c",
        "relies_on": ["status:main@1"],
        "same_topic": True,
    }
    assert artifact.body(tree, record) == b"x\0\xff"
    assert sorted(path for path in tree.files if path.startswith("artifacts/")) == [
        "artifacts/ca/a/0001/about.yaml",
        "artifacts/ca/a/0001/body.bin",
    ]


@FEW
@given(st.binary(max_size=300))
def test_any_bytes_come_back_as_they_were(data: bytes) -> None:
    tree = put(store(), writer(), data)
    assert artifact.body(tree, artifact.get(tree, "a", 1)) == data


def test_versions_follow_each_other_and_none_is_superseded_unread() -> None:
    tree = put(store(), writer(), b"one")
    with pytest.raises(Protocol, match="has not read artifact:a@1"):
        put(tree, writer(BOB), b"two")
    with pytest.raises(NotFound, match="newest version is 1"):
        put(tree, writer(BOB), b"two", seen=2)
    tree = put(tree, writer(BOB), b"two", seen=1)
    with pytest.raises(
        VersionJump, match=f"you read artifact:a@1, and {BOB} put version 2"
    ) as stop:
        put(tree, writer(), b"three", seen=1)
    assert (
        stop.value.details["merge"] == ("one", "two", "three")
        and "--base 2" in stop.value.details["submit"]
    )
    assert artifact.body(tree, artifact.get(tree, "a", 1)) == b"one"
    with pytest.raises(VersionJump) as stop:
        put(tree, writer(), b"\0", seen=1)
    assert "merge" not in stop.value.details  # bytes cannot be merged


def test_a_name_with_more_than_9999_versions_goes_on() -> None:
    about = text.dump({**artifact.get(put(store(), writer(), b"x"), "a", 1), "number": 9999})
    tree = store().put(
        {"artifacts/ca/a/9999/about.yaml": about, "artifacts/ca/a/9999/body.txt": b"x"}
    )
    assert artifact.newest(put(tree, writer(), b"y", seen=9999), "a") == 10000


def test_a_text_about_something_else_does_not_hide_what_is_there() -> None:
    tree = put(store(), writer(), FIRST)
    with pytest.raises(Refused, match="next to nothing in common") as stop:
        put(tree, writer(), OTHER, seen=1)
    assert stop.value.code == "other_topic"
    put(tree, writer(), OTHER, seen=1, same_topic=True)
    put(tree, writer(), FIRST + b" " + OTHER, seen=1)
    put(tree, writer(), b"short", seen=1)  # a few words tell nothing
    with pytest.raises(Refused):
        put(tree, writer(), b"\xff", seen=1, ext="bin")
    image = put(store(), writer(), b"\xff", ext="png")
    put(image, writer(), b"\xfe", seen=1, ext="png")
    with pytest.raises(Refused):
        put(image, writer(), b"\xfe", seen=1, ext="gif")


def test_large_bytes_are_told_of_and_too_large_ones_refused() -> None:
    small = store(artifact_notice=3, artifact_limit=5)
    assert artifact.put(small, writer(), "a", NewVersion(b"xxx", "txt"), None).notices == ()
    assert (
        "4 bytes" in artifact.put(small, writer(), "a", NewVersion(b"xxxx", "txt"), None).notices[0]
    )
    with pytest.raises(Refused, match="6 bytes; an artifact has at most 5") as stop:
        artifact.put(small, writer(), "a", NewVersion(b"x" * 6, "txt"), None)
    assert stop.value.code == "limit"


def test_a_name_that_is_put_all_the_time_is_told_where_it_does_not_belong() -> None:
    tree = store()
    for number in range(artifact.BUSY):
        tree = put(tree, writer(at=NOW + 60 * number), b"%d" % number, seen=number or None)
    soon, late = writer(at=NOW + 3599), writer(at=NOW + 3600)
    assert (
        "288 versions a day"
        in artifact.put(tree, soon, "a", NewVersion(b"x", "txt"), artifact.BUSY).notices[0]
    )
    assert artifact.put(tree, late, "a", NewVersion(b"x", "txt"), artifact.BUSY).notices == ()


@pytest.mark.parametrize(
    ("given_type", "file", "data", "ext"),
    [
        (None, "a.md", b"", "md"),
        (None, "A.MD", b"", "md"),
        (None, "a.tar.gz", b"", "gz"),
        ("md", "a.txt", b"", "md"),
        (".MD", "", b"", "md"),
        (None, "a", "é".encode(), "txt"),
        (None, "a", b"\xff", "bin"),
        (None, "a", b"a\0", "bin"),
        (None, "", b"", "txt"),
        (None, "a.", b"x", "txt"),
        (None, "a.b c", b"x", "txt"),
        (None, "a." + "x" * 17, b"x", "txt"),
        (None, ".bashrc", b"x", "bashrc"),
    ],
)
def test_the_type_is_given_or_the_files_or_seen_in_the_bytes(
    given_type: str | None, file: str, data: bytes, ext: str
) -> None:
    assert artifact.extension(given_type, file, data) == ext


@pytest.mark.parametrize("wrong", ["", ".", "a/b", "../x", "a b", "x" * 17, "m\nd", "é", "\udcff"])
def test_what_is_no_type_is_refused(wrong: str) -> None:
    with pytest.raises(Usage, match="is no file type"):
        artifact.extension(wrong, "a.md", b"")


def test_bytes_that_are_not_those_that_were_put_are_damaged() -> None:
    tree = put(store(), writer(), b"one")
    record = artifact.get(tree, "a", 1)
    for files, what in (
        ({"artifacts/ca/a/0001/body.txt": b"onE"}, "not the bytes"),
        ({"artifacts/ca/a/0001/body.txt": None}, "are missing"),
    ):
        with pytest.raises(Damaged, match=what):
            artifact.body(tree.put(files), record)


def test_a_hand_that_changes_or_adds_bytes_breaks_a_rule() -> None:
    tree = put(store(), writer(), b"one")
    about = artifact.get(tree, "a", 1)
    assert broken(tree, {"artifacts/ca/a/0001/body.txt": b"onE"}) == {"immutable"}
    assert broken(tree, {"artifacts/ca/a/0001/body.md": b"more"}) == {"immutable"}
    assert broken(tree, {"artifacts/ca/a/0002/body.txt": b"two"}) == {"immutable"}
    two = {"artifacts/ca/a/0002/about.yaml": text.dump({**about, "number": 2})}
    assert (
        broken(tree, two)
        == {"digest"}
        == broken(tree, {**two, "artifacts/ca/a/0002/body.txt": b"two"})
    )
    assert broken(tree, {**two, "artifacts/ca/a/0002/body.txt": b"one"}) == set()
    assert "misplaced" in broken(
        tree, {"artifacts/a/1/x": b"", "artifacts/b": b"", "artifacts/A/0001/about.yaml": b""}
    )
    assert broken(
        tree,
        {
            "artifacts/ca/a/0003/about.yaml": text.dump({**about, "number": 3}),
            "artifacts/ca/a/0003/body.txt": b"one",
        },
    ) == {"version_jump"}
    assert "damaged" in broken(
        tree, {"artifacts/3e/b/0001/about.yaml": text.dump({**about, "ext": "../x"})}
    )


def test_a_caveat_stays_until_a_version_says_otherwise() -> None:
    def caveat(tree: Files, number: int) -> object:
        return artifact.get(tree, "a", number).get("caveat")

    tree = put(store(), writer(), b"one", caveat="only May")
    tree = put(tree, writer(), b"two", seen=1)
    tree = put(tree, writer(), b"three", seen=2, caveat="only June")
    tree = put(tree, writer(), b"four", seen=3)
    tree = put(tree, writer(), b"five", seen=4, no_caveat=True)
    tree = put(tree, writer(), b"six", seen=5)
    caveats = ["only May", "only May", "only June", "only June", None, None]
    assert [caveat(tree, number) for number in range(1, 7)] == caveats


def test_a_version_is_good_for_a_time() -> None:
    tree = put(store(), writer(), b"one", good_for=3600)
    record = artifact.get(tree, "a", 1)
    assert record["good_until"] == "2026-11-29T15:00:00Z"
    assert artifact.outlived(record, NOW + 3599) == ""
    assert "it was good until 2026-11-29T15:00:00Z" in artifact.outlived(record, NOW + 3601)
    assert "good_until" not in artifact.get(put(tree, writer(), b"two", seen=1), "a", 2)

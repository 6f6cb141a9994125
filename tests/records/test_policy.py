"""The policy: a row for people. Limits are read from it, comments survive, and what cannot be is
refused."""

from __future__ import annotations

from typing import Any

import pytest

from atlas_cli.errors import Damaged, NotFound, Refused, Usage
from atlas_cli.records import policy

from .files import STORE, Files, broken, done, store, writer

PATH = policy.FOLDER


def test_a_new_policy_shows_the_defaults_and_sets_none() -> None:
    data = policy.first(STORE, False)
    assert policy.parse(PATH, data) == {
        "format": 2,
        "needs": [],
        "store": STORE,
        "version": 1,
    }
    assert all(f"# {key}: " in data.decode() for key in policy.KEYS)
    assert {key: policy.of(store())[key] for key in policy.KEYS} == policy.defaults()
    assert policy.of(Files({}))["lease_max"] == "4h"  # before there is one
    assert policy.parse(PATH, policy.first(STORE, True))["test"] is True


def test_a_key_is_set_and_the_comments_stay() -> None:
    tree = store(status_words=300)
    data = tree.files[PATH]
    assert b"status_words: 300" in data and data.count(b"#") == policy.first(STORE, False).count(
        b"#"
    )
    assert policy.of(tree)["status_words"] == 300 and policy.of(tree)["version"] == 2
    tree = store(streams={"my-api": ["services/api/**"]}, lease_max="90m", durability="fast")
    assert (
        policy.of(tree)["streams"] == {"my-api": ["services/api/**"]}
        and policy.seconds(policy.of(tree), "lease_max") == 5400
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("status_words", 0),
        ("status_words", -1),
        ("status_words", "250"),
        ("status_words", 1.5),
        ("status_words", True),
        ("status_words", None),
        ("status_words", float("nan")),
        ("lease_max", "5h"),
        ("lease_max", "4m"),
        ("lease_max", 7200),
        ("lease_max", "NaN"),
        ("lease_default", "0"),
        ("fresh", "-1"),
        ("fresh", ""),
        ("durability", "none"),
        ("durability", None),
        ("publish", "later"),
        ("streams", []),
        ("streams", "x"),
        ("skip_mark", "a\nb"),
        ("skip_mark", " "),
        ("skip_mark", 1),
        ("skip_mark", "x" * 81),
        ("unattended", "off"),
        ("streams", {"a": "x"}),
        ("streams", {"a": [1]}),
        ("streams", {"a": [float("inf")]}),
        ("streams", {"a": [[[["x"]]]]}),
    ],
)
def test_a_value_that_a_key_cannot_have_is_refused_on_one_line(key: str, value: Any) -> None:
    with pytest.raises(Usage) as stop:
        policy.put(store(), writer(), key, value)
    assert "\n" not in stop.value.message


@pytest.mark.parametrize(
    "line",
    [
        "status_words: 0",
        "status_words: 1.5",
        "status_words: many",
        "lease_max: 5h",
        "fresh: 0",
        "durability: none",
        "streams: [a]",
        "streams: {a: b}",
        "publish: true",
        "version: -1",
        "store: 1",
        "test: 1",
    ],
)
def test_such_a_value_in_the_file_is_damage_with_its_path(line: str) -> None:
    key = line.partition(":")[0]
    kept = [
        one
        for one in policy.first(STORE, False).decode().split("\n")
        if not one.startswith(f"{key}:")
    ]
    with pytest.raises(Damaged, match=rf"^{PATH}: "):
        policy.parse(PATH, "\n".join([*kept, line, ""]).encode())


@pytest.mark.parametrize(
    ("more", "readable"),
    [
        ("", True),
        ("# a line of its own", True),
        ("# at the end\n# " + "x" * 20_000 + "\n", True),
        ("status_words: 250  # behind a value\n", False),
        ("  # away from the margin\n", False),
        ("streams:\n  a:\n  - b/**\n", True),
    ],
)
def test_a_long_value_is_written_if_it_can_be_read_back(more: str, readable: bool) -> None:
    """A policy of plain lines may be long, one of YAML by hand less so."""
    tree = store()
    tree = tree.put({PATH: tree.files[PATH] + more.encode()})
    streams = {f"s{number}": [f"src/{number}/**"] for number in range(1000)}
    if readable:
        change = policy.put(tree, writer(), "streams", streams)
        data = change.files[PATH]
        assert data is not None and policy.parse(PATH, data)["streams"] == streams
        return
    with pytest.raises(Refused, match="could not be read back: not in canonical form") as stop:
        policy.put(tree, writer(), "streams", streams)
    assert stop.value.code == "limit" and "atlas config edit" in stop.value.hint


@pytest.mark.parametrize("key", ["format", "store", "version", "test"])
def test_the_stores_own_keys_cannot_be_set(key: str) -> None:
    with pytest.raises(Refused, match="cannot be set"):
        policy.put(store(), writer(), key, True)
    edited = (
        store()
        .files[PATH]
        .replace(b"version: 1\n", b'version: 1\ntest: true\nstore: "x"\nformat: 1\n')
    )
    with pytest.raises((Refused, Damaged)):
        policy.replace(store(), writer(), edited)


def test_a_key_that_is_not_there_is_named() -> None:
    for unknown in ("nope", "", "\udcff"):
        with pytest.raises(NotFound, match="there is no key"):
            policy.put(store(), writer(), unknown, 1)
    with pytest.raises(NotFound, match="there is no key 'nope'"):
        policy.replace(store(), writer(), store().files[PATH] + b"nope: 1\n")


def test_an_edited_policy_goes_one_version_further() -> None:
    edited = store().files[PATH] + b"status_words: 90  # short\nfresh: 2m\n"
    tree = done(store(), policy.replace(store(), writer(), edited), writer())
    assert (
        policy.of(tree)["status_words"],
        policy.of(tree)["fresh"],
        policy.of(tree)["version"],
    ) == (90, "2m", 2)
    assert b"# short" in tree.files[PATH]


def test_a_policy_of_a_newer_format_is_not_guessed_at() -> None:
    tree = store()
    newer = tree.put({PATH: tree.files[PATH].replace(b"format: 2", b"format: 99")})
    with pytest.raises(Damaged, match="newer than this version") as stop:
        policy.of(newer)
    assert stop.value.code == "newer_format"


def test_a_hand_may_set_a_key_but_not_the_stores_own() -> None:
    data = store().files[PATH].replace(b"version: 1", b"version: 2")
    assert broken(store(), {PATH: data + b"fresh: 2m\n"}) == set()
    assert broken(store(), {PATH: data.replace(STORE.encode(), b"x")}) == {"immutable"}
    assert broken(store(), {PATH: data + b"test: true\n"}) == {"immutable"}
    assert broken(store(), {PATH: store().files[PATH] + b"fresh: 2m\n"}) == {"version_jump"}
    assert broken(store(), {PATH: None}) == {"append_only"}
    assert broken(store(), {PATH: data + b"fresh: soon\n"}) == {"damaged"}

"""`verify` names every commit made by hand that breaks a rule, and lets an honest one pass."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from atlas_cli.store import history
from atlas_cli.store.git import Git

from ..conftest import Atlas
from .hand import Hand, Seen, entry
from .violations import NEXT, VIOLATIONS, Broken, edits_a_document, now


@pytest.mark.parametrize("violate", VIOLATIONS, ids=lambda violate: violate.__name__)
def test_a_commit_that_breaks_a_rule_is_named(
    violate: Callable[[Hand, Seen], Broken], store: tuple[Hand, Seen], atlas: Atlas, quick: Atlas
) -> None:
    hand, seen = store
    rule, path = violate(hand, seen)
    commit = hand.head()
    done = atlas("verify")
    assert done.code == 9, done
    lines = [line for line in done.err.split("\n") if f"{commit[:12]} {path}".rstrip() in line]
    assert any(f": {rule}: " in line for line in lines), done.err
    assert " 1 violations" not in done.err and " in 1 commits" not in done.err
    # From the beginning, and as data: the same commit, path and rule, and no other commit.
    full = quick("verify", "--full", "--json")
    error = full.json["error"]
    assert (full.code, error["code"]) == (9, "violations"), full
    found = error["details"]["violations"]
    assert {item["commit"] for item in found} == {commit}
    assert (rule, path) in {(item["rule"], item["path"]) for item in found}, found


def test_an_honest_commit_by_hand_passes(store: tuple[Hand, Seen], atlas: Atlas) -> None:
    hand, seen = store
    hand.commit(
        {NEXT: entry(3, seen.sessions["bob"], now(), "third: written in a web editor\n")},
        "Update status",
    )
    done = atlas("verify", "--full", "--json")
    assert done.code == 0 and not done.data["violations"], done
    assert atlas("verify").code == 0
    shown = atlas("status", "--json").data
    assert (shown["ref"], shown["body"]) == ("status:main@3", "third: written in a web editor\n")
    assert "by hand" in atlas("log", "-n", "1").out


def test_verify_goes_on_where_it_stopped_and_full_starts_over(
    store: tuple[Hand, Seen], atlas: Atlas
) -> None:
    hand, seen = store
    total = int(hand.git("rev-list", "--count", "atlas"))
    first = atlas("verify", "--json").data
    assert (first["from"], first["commits"], first["good"]) == (None, total, seen.head)
    again = atlas("verify", "--json").data
    assert (again["from"], again["commits"]) == (seen.head, 0)
    good = hand.commit({NEXT: entry(3, seen.sessions["bob"], now())})
    edits_a_document(hand, seen)
    for _ in range(2):  # a violation is not passed over the second time: good stays before it
        details = atlas("verify", "--json").json["error"]["details"]
        assert details["good"] == good
    assert details["commits"] == 1
    full = atlas("verify", "--full", "--json").json["error"]["details"]
    assert (full["from"], full["commits"], full["good"]) == (None, total + 2, good)


def logged(hand: Hand, new: str) -> list[tuple[str, str, dict[str, list[str]]]]:
    """(id, subject, modes and blobs by changed path) of all commits, as git itself shows those that
    it wrote."""
    out = hand.git(
        "log",
        "--reverse",
        "--first-parent",
        "--diff-merges=first-parent",
        "--raw",
        "--root",
        "-z",
        "--no-abbrev",
        "--no-renames",
        "--format=%x01%H %s",
        new,
    )
    found = []
    for part in out.split("\x01")[1:]:
        head, *words = part.strip("\0\n").split("\0")
        rows = [word.lstrip("\n:").split(" ")[1:4] for word in words[::2]]
        found.append((*head.partition(" ")[::2], dict(zip(words[1::2], rows, strict=True))))
    return found  # type: ignore[return-value]


@pytest.mark.parametrize(
    "violate", [None, *VIOLATIONS], ids=lambda violate: violate and violate.__name__
)
def test_the_history_is_read_as_git_shows_what_it_wrote(
    violate: Callable[[Hand, Seen], Broken] | None, store: tuple[Hand, Seen]
) -> None:
    hand, seen = store
    if violate:
        violate(hand, seen)
    git = Git(str(hand.store))
    oids = hand.git("rev-list", "--first-parent", "atlas").split()
    shown, merges = [], set()
    for one in history.between(git, None, oids[0]):
        if len(one.parents) > 1:  # it is read against each of its lines
            merges.add(one.oid)
            continue
        rows = {
            path: [one.modes.get(path, "0" * 6), *(oid or "0" * 40 for oid in row)]
            for path, *row in one.changes
        }
        shown.append((one.oid, one.message.subject, rows))
    assert shown == [commit for commit in logged(hand, oids[0]) if commit[0] not in merges]
    for old in oids[1:]:
        assert [one.oid for one in history.between(git, old, oids[0])] == oids[: oids.index(old)][
            ::-1
        ]
        assert history.fork(git, old, oids[0]) == history.fork(git, oids[0], old) == old
    git.close()

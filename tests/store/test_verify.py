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
    # From the beginning, and as data: the same commit, path and rule, and no other commit.
    full = quick("verify", "--full", "--json")
    error = full.json["error"]
    assert (full.code, error["code"]) == (9, "violations"), full
    found = error["details"]["violations"]
    assert {item["commit"] for item in found} == {commit}
    assert (rule, path) in {(item["rule"], item["path"]) for item in found}, found


def test_an_honest_commit_by_hand_passes(store: tuple[Hand, Seen], atlas: Atlas) -> None:
    hand, seen = store
    hand.commit({NEXT: entry(3, seen.sessions["bob"], now(), "third: written in a web editor\n")}, "Update status")
    done = atlas("verify", "--full", "--json")
    assert done.code == 0 and not done.data["violations"], done
    assert atlas("verify").code == 0
    shown = atlas("status", "--json").data
    assert (shown["ref"], shown["body"]) == ("status:main@3", "third: written in a web editor\n")
    assert "by hand" in atlas("log", "-n", "1").out


def test_verify_goes_on_where_it_stopped_and_full_starts_over(store: tuple[Hand, Seen], atlas: Atlas) -> None:
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


@pytest.mark.parametrize("violate", [None, *VIOLATIONS], ids=lambda violate: violate and violate.__name__)
def test_what_is_read_one_by_one_is_what_git_logs(
    violate: Callable[[Hand, Seen], Broken] | None, store: tuple[Hand, Seen]
) -> None:
    hand, seen = store
    if violate:
        violate(hand, seen)
    git = Git(str(hand.store))
    oids = hand.git("rev-list", "--first-parent", "atlas").split()
    for old in oids[1:]:
        logged, few = list(history._logged(git, old, oids[0])), history._few(git, old, oids[0])
        assert few in (None, logged), old
        assert few or violate, "the honest ones are read so"
        assert history.fork(git, old, oids[0]) == history.fork(git, oids[0], old) == old
    git.close()

"""What was left undone is taken over, and what nearly is there already is said before it is
doubled."""

from __future__ import annotations

import shlex

import pytest

from ..conftest import DECISION, Atlas
from .test_day import LATER, ok


@pytest.fixture
def gone(repo: object, atlas: Atlas) -> str:
    """A session that took leases, wrote a decision, and was never seen again."""
    found = str(ok(atlas, "begin", "--goal", "rewrite the parser", "--actor", "gone")["id"])
    ok(atlas, "lease", "take", "gpu0", "--why", "parsing", "--for", "4h")
    ok(atlas, *DECISION)
    return found


def test_a_vanished_session_is_shown_until_it_is_adopted(gone: str, atlas: Atlas) -> None:
    heir = str(ok(atlas, "begin", "--new", "--actor", "heir", **LATER)["id"])
    assert [row["id"] for row in ok(atlas, "begin", **LATER)["unfinished"]] == [gone]
    adopted = ok(atlas, "session", "adopt", gone, "--why", "it vanished", **LATER)
    assert (adopted["adopted_by"], adopted["leases"]) == (heir, [])
    assert ok(atlas, "begin", **LATER)["unfinished"] == []
    assert atlas("session", "adopt", gone, "--why", "twice", **LATER).code == 6
    assert atlas("end", **LATER).code == 5, "the duty to write the status has passed on"
    assert atlas("lease", "take", "gpu1", "--why", "w", "--session", gone, **LATER).code == 5
    assert atlas("verify", "--full").code == 0


def test_the_leases_of_an_ended_session_pass_on_with_a_new_token(gone: str, atlas: Atlas) -> None:
    ok(atlas, "status", "write", "-m", "Half done.")
    ok(atlas, "end", "--keep", "gpu0")
    heir = str(ok(atlas, "begin", "--actor", "heir")["id"])
    assert ok(atlas, "session", "adopt", gone, "--why", "go on")["leases"] == ["gpu0"]
    row = ok(atlas, "lease", "show", "gpu0")
    assert (row["holder"], row["token"]) == (heir, 2)
    assert atlas("verify", "--full").code == 0


def test_a_live_session_is_not_adopted(gone: str, atlas: Atlas) -> None:
    ok(atlas, "begin", "--new", "--actor", "heir")
    assert atlas("session", "adopt", gone, "--why", "impatient").code == 4


def test_a_goal_that_another_has_is_said_before_the_work_begins(gone: str, atlas: Atlas) -> None:
    goal = ("--goal", "Rewrite the parser now")
    assert (
        f"! {gone} (live) has nearly your goal"
        in atlas("begin", "--new", "--actor", "twin", *goal).out
    )
    ok(atlas, "end")
    assert gone in [
        row["id"] for row in ok(atlas, "begin", "--new", "--actor", "twin", *goal)["alike"]
    ]
    assert ok(atlas, "begin", "--new", "--actor", "twin", "--goal", "paint the shed")["alike"] == []


@pytest.mark.parametrize("name", ["proposals", "propsal", "claims-store"])
def test_a_name_that_nearly_is_there_stops_unless_it_is_meant(
    name: str, begun: str, atlas: Atlas
) -> None:
    for there in ("proposal", "store-claims", "topic-1"):
        ok(atlas, "artifact", "put", there, "src/x.py")
    refused = atlas("artifact", "put", name, "src/x.py", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (6, "near_miss")
    ok(atlas, "artifact", "put", name, "src/x.py", "--new")
    ok(atlas, "artifact", "put", "topic-2", "src/x.py")


def test_a_stream_that_nearly_is_there_stops_too(begun: str, atlas: Atlas) -> None:
    ok(atlas, "status", "write", "frontend", "-m", "x")
    assert atlas("status", "write", "front-end", "-m", "x").code == 6
    ok(atlas, "status", "write", "front-end", "-m", "x", "--new")


def test_the_digest_says_what_is_owed_and_which_drafts_lie_about(begun: str, atlas: Atlas) -> None:
    assert ok(atlas, "begin")["you"]["owes_status"] is False
    ok(atlas, *DECISION)
    assert atlas("status", "write", "-m", "word " * 251).code == 6
    you = ok(atlas, "begin")["you"]
    assert (you["owes_status"], len(you["drafts"])) == (True, 1)
    assert ".atlas/drafts/" in atlas("begin").out


def test_a_kept_text_is_submitted_by_the_printed_command_whatever_the_words_are(
    begun: str, atlas: Atlas
) -> None:
    named = ("--session", begun, "--expect", "status:main@9")
    assert atlas(*named, "task", "add", "-m", "its text", "--", "--json").code == 3
    (draft,) = ok(atlas, "begin")["you"]["drafts"]
    assert atlas("--json", *shlex.split(draft["submit"])[1:]).data["title"] == "--json"


def test_a_stream_may_be_named_by_a_number(begun: str, atlas: Atlas) -> None:
    for stream, text in (("main", "one"), ("main", "two"), ("2026", "three"), ("2026", "four")):
        ok(atlas, "status", "write", stream, "-m", text, "--replace")
    for words, old, new in (
        (["2026"], "2026@1", "2026@2"),
        (["2026", "2"], "2026@2", "2026@2"),
        (["1"], "main@1", "main@2"),
        (["2", "1"], "main@2", "main@1"),
    ):
        found = ok(atlas, "status", "diff", *words)
        assert (found["from"], found["to"]) == (f"status:{old}", f"status:{new}"), words
    for odd in ("0", "007", "9" * 5000):
        assert atlas("status", "diff", odd).code in (2, 7)


def test_a_lease_that_is_not_held_cannot_be_kept(begun: str, atlas: Atlas) -> None:
    """A name misspelt gives back nothing of what was to stay."""
    ok(atlas, "lease", "take", "gpu7", "--why", "w")
    done = atlas("end", "-m", "All is done here.", "--keep", "gpu8")
    assert done.code == 7 and "no lease on gpu8" in done.err, done
    assert ok(atlas, "lease", "show", "gpu7")["state"] == "held"
    assert ok(atlas, "end", "-m", "All is done here.", "--keep", "gpu7")["released"] == []

"""What was left undone is taken over, and what nearly is there already is said before it is
doubled."""

from __future__ import annotations

import shlex

import pytest

from ..conftest import DECISION, Atlas, Git
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
    assert ok(atlas, "begin", **LATER)["you"]["owes_status"] is True
    gone_too = {"ATLAS_CLOCK_OFFSET": str(12 * 3600)}
    third = ok(atlas, "begin", "--new", "--actor", "third", **gone_too)
    assert [row["id"] for row in third["unfinished"]] == [heir], "with what it had taken over"
    ok(atlas, "session", "adopt", heir, "--why", "it vanished too", **gone_too)
    assert atlas("end", **gone_too).code == 5
    ok(atlas, "end", "-m", "The parser is half done.", **gone_too)
    assert ok(atlas, "begin", "--new", "--actor", "fourth", **gone_too)["unfinished"] == []
    assert atlas("lease", "take", "gpu1", "--why", "w", "--session", gone, **LATER).code == 5
    assert atlas("verify", "--full").code == 0


def test_whoever_only_commits_owes_a_word_and_confirms_no_commit_away(
    begun: str, atlas: Atlas, git: Git
) -> None:
    commit = ("commit", "-q", "--allow-empty", "-m")
    git(*commit, f"work\n\nAtlas-Session: {begun}\nAtlas-Word: none")
    for words in ((), ("--unchanged", "it holds")):
        stop = atlas("end", *words, "--json")
        assert (stop.code, stop.json["error"]["code"]) == (5, "write_last")
        assert "speaks of 1 commit" in stop.json["error"]["message"]
        assert "--unchanged" not in stop.json["error"]["hint"]
    word = ok(atlas, "status", "write", "-m", "Worked.")["operation"]
    ok(atlas, "lease", "take", "gpu0", "--why", "the board and leases owe nothing")
    git(*commit, f"more\n\nAtlas-Session: {begun}\nAtlas-Word: {word}")
    assert atlas("end").code == 5
    git("reset", "-q", "--hard", "HEAD~")
    ok(atlas, *DECISION)
    assert "--unchanged" in atlas("end").err
    ok(atlas, "end", "--unchanged", "the decision says it")


def test_the_text_of_a_result_speaks_of_the_commits_of_its_claim(
    begun: str, atlas: Atlas, git: Git
) -> None:
    task = ok(atlas, "task", "add", "parse")["id"]
    ok(atlas, "task", "claim", task)
    git("commit", "-q", "--allow-empty", "-m", f"x\n\nAtlas-Session: {begun}\nAtlas-Word: none")
    for empty in (("-m", ""), ("-m", " \n"), ("--result", "/dev/null")):
        done = atlas("task", "done", task, *empty)
        assert done.code == 2 and "the text is empty\n  say what it came to" in done.err
    ok(atlas, "task", "done", task, "-m", "It parses.")
    ok(atlas, "end")


def test_a_principal_dismisses_what_nobody_need_take_over(gone: str, atlas: Atlas) -> None:
    ok(atlas, "begin", "--new", "--actor", "heir", **LATER)
    why = ("session", "dismiss", gone, "--why", "thrown away")
    assert atlas(*why).code == 4, "it is live"
    assert atlas(*why, **LATER).code == 6, "no principal"
    ok(atlas, "config", "set", "principals", '["heir"]', **LATER)
    assert ok(atlas, *why, **LATER)["dismissed_why"] == "thrown away"
    assert ok(atlas, "begin", **LATER)["unfinished"] == []
    assert atlas(*why, **LATER).code == 6, "once"
    assert atlas("session", "adopt", gone, "--why", "w", **LATER).code == 0
    assert atlas("verify", "--full").code == 0


def test_after_seven_days_the_unfinished_are_a_count(gone: str, atlas: Atlas) -> None:
    old = {"ATLAS_CLOCK_OFFSET": str(10 * 86400)}
    assert "1 that was over" in atlas("begin", "--new", **old).out
    assert ok(atlas, "begin", **old)["unfinished"] == []


def test_after_seven_days_commits_count_as_records_do(begun: str, atlas: Atlas, git: Git) -> None:
    git("commit", "-q", "--allow-empty", "-m", f"work\n\nAtlas-Session: {begun}\nAtlas-Word: none")
    ok(atlas, "begin", "--new", "--actor", "idle")
    week = {"ATLAS_CLOCK_OFFSET": str(6 * 86400)}
    asked = ok(atlas, "begin", "--new", "--actor", "asked", **week)
    assert [(row["id"], row["owes"]) for row in asked["unfinished"]] == [(begun, "1 commit")]
    old = {"ATLAS_CLOCK_OFFSET": str(20 * 86400)}
    said = "and 1 that was over more than seven days ago left no word"
    for _ in "ab":  # (what owes nothing is asked of git once)
        assert said in atlas("begin", "--new", **old).out
    ok(atlas, "session", "adopt", begun, "--why", "w", "-m", "It was work.", **old)
    assert "seven days ago" not in atlas("begin", **old).out


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
    assert ".git/atlas/drafts/" in atlas("begin").out


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


def test_a_text_that_an_ended_session_left_is_listed_for_the_next_one_there(
    begun: str, repo: object, atlas: Atlas
) -> None:
    ok(atlas, "begin", "--goal", "another goal")
    assert atlas("end", "-m", "the word of one goal").code == 5, "it has two"
    (draft,) = ok(atlas, "drafts")["items"]
    assert "--goal 2 --base 0" in draft["submit"]
    ok(atlas, "end", "--all")
    other = str(ok(atlas, "begin", "--new", "--actor", "other")["id"])
    assert ok(atlas, "digest")["you"]["drafts"][0]["session"] == begun
    assert f"left by {begun}" in atlas("drafts").out
    (draft,) = ok(atlas, "drafts")["items"]
    ok(atlas, *shlex.split(draft["submit"])[1:])  # it ends no session of another's
    assert ok(atlas, "drafts")["items"] == []
    assert "## another goal" in ok(atlas, "status")["body"]
    assert ok(atlas, "end", "--session", other)["ended"]


def test_a_draft_is_submitted_as_listed_whichever_goals_have_ended_since(
    begun: str, atlas: Atlas
) -> None:
    def listed() -> str:
        return str(ok(atlas, "drafts")["items"][-1]["submit"])

    assert atlas("--expect", "status:main@9", "end", "-m", "of the first goal").code == 3
    assert "--goal" not in listed()
    ok(atlas, "begin", "--goal", "the second goal")
    ok(atlas, "begin", "--goal", "the third goal")
    words = listed()
    assert words.endswith(" --goal 1")
    ok(atlas, *shlex.split(words)[1:])
    ok(atlas, "begin", "--goal", "test")
    assert atlas("end", "-m", "a word too late").code == 5, "it has several"
    number = listed().split("--goal ")[1].split()[0]
    ok(atlas, "end", "--goal", number, "-m", "That goal is done.")
    words = listed()
    assert "--goal" not in words and words.startswith("atlas status write main --section ")
    ok(atlas, *shlex.split(words)[1:])
    assert "a word too late" in ok(atlas, "status")["body"]
    assert ok(atlas, "session", "show", begun)["state"] == "live"

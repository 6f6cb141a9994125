"""A correction and those whom it concerns: one notice with the reason, who mends what it led to,
what was built on it; a task and its result warn of each other."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from ..conftest import DECISION, Atlas, Result
from .test_day import ok

BOB = {"CODEX_THREAD_ID": "bob", "ATLAS_ACTOR": "bob"}
EVE = {"CODEX_THREAD_ID": "eve", "ATLAS_ACTOR": "eve"}
WHY = "MILLIS is in milliseconds already, and the table of the third multiplies it once more"
LONG = f"{WHY}, so that whatever was computed by it since the third of the month is too large"


def notices(done: Result) -> str:
    """The notices of a command, with another's words below them."""
    assert done.code == 0, (done.out, done.err)
    return done.err


@pytest.fixture
def bob(begun: str, repo: Path, atlas: Atlas) -> str:
    """A second session, of another tool, that has read what the first one put."""
    (repo / "format.md").write_text("MILLIS is to be multiplied by 1000\n")
    ok(atlas, "artifact", "put", "format", "format.md", "--title", "the line format")
    id = str(ok(atlas, "begin", "--goal", "second", **BOB)["id"])
    ok(atlas, "artifact", "show", "format", **BOB)
    return id


def corrected(atlas: Atlas, *more: str, why: str = WHY) -> str:
    return str(ok(atlas, "correct", "artifact:format@1", "--retract", "--why", why, *more)["ref"])


def test_one_notice_has_the_reason_and_is_cut_between_words(
    begun: str, bob: str, atlas: Atlas
) -> None:
    ref = corrected(atlas)
    heard = notices(atlas("task", "list", **BOB))
    line = f"notice: artifact:format@1, which you read, was retracted by {begun}, its writer, "
    assert heard.count(line) == heard.count("artifact:format@1, which") == 1
    assert f"│ {WHY}\n" in heard and "whole reason" not in heard
    assert "artifact:format@1" not in notices(atlas("task", "list", **BOB))
    ref = corrected(atlas, why=LONG)
    heard = notices(atlas("task", "list", **BOB))
    words = next(line for line in heard.split("\n") if line.startswith("│ "))
    assert words == f"│ {' '.join(LONG.split()[:25])} …"
    assert f"its whole reason: atlas show {ref}\n" in heard
    assert LONG in atlas("show", ref, **BOB).out
    # data for a program says the same
    ref = corrected(atlas, why="one\ntwo")
    told = atlas("task", "list", "--json", **BOB).json["notices"]
    assert any(line.endswith("\none two") for line in told)


def test_whoever_pins_a_retracted_record_reads_the_reason_too(bob: str, atlas: Atlas) -> None:
    ref = corrected(atlas, why=LONG)
    done = atlas("task", "add", "use it", "--relies-on", "artifact:format@1")
    assert "its whole reason" in done.err and " ".join(LONG.split()[:25]) in done.err
    assert f"atlas show {ref}" in done.err
    refused = atlas("artifact", "get", "format", **BOB)
    assert refused.code == 6 and "atlas show artifact:format@1 says the whole reason" in refused.err


def test_the_notice_says_who_mends_it_and_its_command_runs_as_printed(
    bob: str, atlas: Atlas
) -> None:
    ref = corrected(atlas)
    printed = re.search(
        r"nobody has posted its mending: atlas (task add .*)$",
        notices(atlas("who", "x", **BOB)),
        re.M,
    )
    assert printed and ref in printed[1]
    job = ok(atlas, *shlex.split(printed[1]), **BOB)["id"]
    ok(atlas, "begin", "--goal", "third", **EVE)
    table = atlas(**EVE).out
    assert f"retracted  -      task:{job} (open)" in table and "nobody has posted" not in table
    # it is not posted twice; under another title, whoever posts it is told
    again = atlas(*shlex.split(printed[1]), **EVE)
    mends = f"task:{job} mends what artifact:format@1 led to already (open: atlas task claim {job})"
    assert (again.code, mends in again.err) == (6, True), again.err
    more = notices(atlas("task", "add", "say it in the docs", "--relies-on", ref, **EVE))
    assert f"task:{job}, posted before, mends what artifact:format@1 led to, too (open: " in more
    ok(atlas, "task", "claim", job, **BOB)
    ok(atlas, "artifact", "show", "format", "--withdrawn", **EVE)
    second = corrected(atlas, "--follow-up", "mend the readers")
    mends = ok(atlas, "show", second)
    heard = notices(atlas("who", "x", **EVE))
    other = re.search(r"task:(\w+) mends it \(open: atlas (task claim \w+)\)", heard)
    assert other and mends["target"] == "artifact:format@1"
    ok(atlas, *other[2].split(), **BOB)
    assert f"task:{other[1]} ({bob})" in atlas(**EVE).out
    rows = ok(atlas, **EVE)["corrections"]
    assert {row["ref"]: [each["state"] for each in row["mended_by"]] for row in rows} == {
        ref: ["claimed", "open"],
        second: ["claimed"],
    }
    ok(atlas, "task", "done", other[1], "-m", "mended", **BOB)
    assert f"task:{other[1]} (done)" in atlas(**EVE).out


def test_two_corrections_of_one_record_post_one_task_of_mending(bob: str, atlas: Atlas) -> None:
    follow = ("correct", "artifact:format@1", "--why", WHY, "--follow-up")
    job = ok(atlas, *follow, "mend the readers", "--retract")["follow_up"]
    twin = atlas(*follow, "Mend readers", **BOB)
    assert (twin.code, f"{job} mends what artifact:format@1 led to already" in twin.err) == (
        6,
        True,
    )
    assert ok(atlas, "show", "artifact:format@1", "--withdrawn")["corrections"][1:] == []
    other = atlas(*follow, "mend the docs", **BOB)
    assert other.code == 0 and f"{job}, posted before, mends what artifact:" in other.err
    ok(atlas, "task", "claim", job.partition(":")[2])
    ok(atlas, "task", "done", job.partition(":")[2], "-m", "mended")
    ok(atlas, *follow, "mend the readers", **BOB)  # it was not enough


def test_corrects_own_answer_says_who_mends_it(bob: str, atlas: Atlas) -> None:
    said = atlas("correct", "artifact:format", "--why", WHY).out
    assert "nobody has posted its mending: atlas task add 'mend what artifact:format@1 led to'" in (
        said
    )
    said = atlas("correct", "artifact:format", "--why", WHY, "--follow-up", "mend it").out
    assert re.search(r"^task:(\w+) mends it \(open: atlas task claim \1\)$", said, re.M)
    # nothing is said of what nobody builds on
    ok(atlas, "signal", "post", "finding", "-m", "it is slow")
    signal = ok(atlas, "signal", "list")["items"][0]["ref"]
    assert "mend" not in atlas("correct", signal, "--why", "it is not").out


def test_the_digest_counts_what_may_have_nothing_to_do_with_it(bob: str, atlas: Atlas) -> None:
    based = ok(atlas, "task", "add", "build on it", "--relies-on", "artifact:format", **BOB)["ref"]
    jobs = [ok(atlas, "task", "add", f"job {number}", **BOB)["id"] for number in range(7)]
    for job in jobs:
        ok(atlas, "task", "claim", job, **BOB), ok(atlas, "task", "done", job, "-m", "d", **BOB)
    done = atlas("correct", "artifact:format", "--retract", "--why", LONG)
    assert f"it was relied on by {based}" in done.out
    assert re.search(
        r"finished by then by who read it: (task:\w+, ){4}task:\w+ and 2 more", done.out
    )
    out = atlas(**EVE).out
    assert f"│   built on it: {based} and 7 tasks finished by then by who read it\n" in out
    table = out[out.index("│ RECORD ") : out.index("built on it")].split("\n")
    assert max(map(len, table)) <= 100 and not any(job in out for job in jobs[:-1])
    row = ok(atlas, **EVE)["corrections"][0]
    assert (row["relied_on_by"], sorted(row["finished"])) == (
        [based],
        sorted(f"task:{job}" for job in jobs),
    )


def test_a_digest_that_tells_it_needs_no_notice_besides(bob: str, atlas: Atlas) -> None:
    corrected(atlas)
    done = atlas("begin", **BOB)
    assert "artifact:format@1  retracted  you read  nobody" in done.out and WHY[:40] in done.out
    assert "artifact:format@1" not in done.err + notices(atlas("task", "list", **BOB))


def test_a_task_and_its_result_warn_of_each_other(begun: str, bob: str, atlas: Atlas) -> None:
    first = ok(atlas, "task", "add", "measure it")["id"]
    ok(atlas, "correct", f"task:{first}", "--why", "on the other machine")  # known when it was done
    after = ok(atlas, "task", "add", "use it", "--needs", first)["id"]
    ok(atlas, "task", "claim", first, **BOB)
    finished = atlas("task", "done", first, "-m", "it is 7", **BOB)
    assert f"task:{first} is done: result:{first}\n" in finished.out
    ok(atlas, "task", "results", first)
    said = atlas("correct", f"task:{first}", "--why", WHY).out
    assert f"result:{first} warns of it; of the result itself: atlas correct result:{first}" in said
    for words in (("show", f"result:{first}"), ("task", "results", first)):
        out = atlas(*words, **EVE).out
        assert "! its task was corrected, put right by its writer" in out and WHY in out
        assert "on the other machine" not in out
        assert WHY in str(ok(atlas, *words, **EVE))
    ok(atlas, "begin", "--goal", "third", **EVE)
    claimed = atlas("task", "claim", after, **EVE)
    assert f"│ ! result:{first}: its task was corrected" in claimed.out and WHY in claimed.out
    # the other way round; who did it, who needs it and who has read it are told
    ok(atlas, "correct", f"result:{first}", "--why", "it is 8", "--retract")
    assert "! its result was retracted" in atlas("task", "show", first).out
    assert f"result:{first}, which you wrote, was retracted by {begun}" in notices(
        atlas("who", "x", **BOB)
    )
    assert f"result:{first}, which your task needs, was retracted" in notices(
        atlas("who", "x", **EVE)
    )
    assert "it is 7" not in atlas("task", "results", first).out
    done = ok(atlas, *DECISION, "--relies-on", f"result:{first}")
    assert f"relies on result:{first}: its task was corrected" in atlas("show", done["ref"]).out


def test_what_was_retracted_or_the_session_before_has_read_is_not_new(
    bob: str, repo: Path, atlas: Atlas
) -> None:
    ahead = {"ATLAS_CLOCK_OFFSET": "60"}  # its clock says that it came after bob's end
    (repo / "plan.md").write_text("the plan\n")
    ok(atlas, "artifact", "put", "plan", "plan.md", **ahead)
    ok(atlas, "artifact", "show", "plan", **BOB)
    (repo / "two.md").write_text("quite another text\n")
    ok(atlas, "end", **BOB)
    ok(atlas, "artifact", "put", "two", "two.md", **ahead)
    ok(atlas, "begin", "--goal", "goes on", **BOB)
    new = [row["ref"] for row in ok(atlas, "artifact", "list", "--new", **BOB)["items"]]
    assert new == ["artifact:two@1"]
    ok(atlas, "correct", "artifact:two@1", "--retract", "--why", "w")
    assert ok(atlas, "artifact", "list", "--new", **BOB)["items"] == []
    assert ok(atlas, **BOB)["new"] == []


def test_a_reader_is_not_told_that_it_reads(bob: str, atlas: Atlas) -> None:
    assert "known to have been read" not in atlas("show", "artifact:format", **BOB).out
    assert f"known to have been read by: {bob}\n" in atlas("show", "artifact:format").out


def test_a_session_puts_its_last_words_right_just_after_its_end(
    begun: str, bob: str, repo: Path, atlas: Atlas
) -> None:
    ok(atlas, "end", "-m", "The port is 81.")
    ref = ok(atlas, "correct", "status:main", "--why", "the port is 80")["ref"]
    assert ok(atlas, "show", ref)["own"] is True
    ok(atlas, "correct", "artifact:format", "--why", WHY)
    assert [row["id"] for row in ok(atlas, **BOB)["unfinished"]] == []
    ok(atlas, "verify")
    for words in (("correct", f"session:{bob}", "--why", "w"), ("status", "write", "-m", "more")):
        stop = atlas(*words, "--json")
        assert (stop.code, stop.json["error"]["code"]) == (5, "no_session")
    late = {"ATLAS_CLOCK_OFFSET": "660"}
    assert atlas("correct", "status:main", "--why", "again", **late).code == 5
    # another caller is nobody
    assert atlas("correct", "status:main", "--why", "w", "--session", begun, **EVE).code == 5


def test_one_that_owes_a_word_or_was_adopted_corrects_nothing(
    bob: str, repo: Path, atlas: Atlas
) -> None:
    ok(atlas, "end", "-m", "done")
    rows = ok(atlas, "session", "list", "--all")["items"]
    ann = next(row["id"] for row in rows if row["id"] != bob)
    ok(atlas, "session", "adopt", ann, "--why", "w", **BOB)
    stop = atlas("correct", "artifact:format", "--why", "w", "--json")
    assert (stop.code, stop.json["error"]["code"]) == (5, "adopted")


def test_the_successor_of_what_was_retracted_is_put_as_the_stop_says(
    bob: str, repo: Path, atlas: Atlas
) -> None:
    (repo / "new.md").write_text("in milliseconds\n")
    ok(atlas, "correct", "artifact:format", "--retract", "--why", WHY)
    ok(atlas, "begin", "--goal", "mend the format", **EVE)
    stop = atlas("artifact", "put", "format", "new.md", **EVE)
    assert stop.code == 5 and "atlas artifact show format --withdrawn" in stop.err, stop
    ok(atlas, "artifact", "show", "format", "--withdrawn", **EVE)
    ok(atlas, "artifact", "put", "format", "new.md", "--same-topic", **EVE)


def test_a_result_is_opened_like_any_record(bob: str, atlas: Atlas) -> None:
    id = ok(atlas, "task", "add", "count")["id"]
    ok(atlas, "task", "claim", id)
    ok(atlas, "task", "done", id, "-m", "forty two")
    assert "│ forty two" in atlas("show", f"result:{id}").out

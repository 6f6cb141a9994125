"""The head of a section of the status: wherever the section is shown, in whatever entry carries it,
it says that its write was corrected, or that the time is over for which it was good."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ..conftest import Atlas
from .test_day import ok
from .test_told import BOB

LATE = {"ATLAS_CLOCK_OFFSET": "7200"}
WRITE = ("status", "write", "--section")
# The commands that show the section which ann wrote in entry 1, in the entries behind it.
SHOWING = (
    ("status", "show"),
    ("status", "show", "main@2"),
    ("show", "status:main"),
    ("status", "history", "Rate"),
    ("status", "diff", "main", "1", "2"),
    ("--since", "1h"),
    ("begin",),
    (),
)


@pytest.fixture
def bob(begun: str, atlas: Atlas) -> str:
    """A second session, which has written behind the section of the first."""
    id = str(ok(atlas, "begin", "--goal", "second", **BOB)["id"])
    ok(atlas, *WRITE, "Rate", "-m", "the rate is 7", "--good-for", "1h")
    ok(atlas, *WRITE, "Docs", "-m", "the docs are done", **BOB)
    ok(atlas, *WRITE, "Docs", "-m", "the docs are done twice", **BOB)
    return id


def test_what_was_good_for_a_time_warns_after_it_wherever_it_is_carried(
    bob: str, atlas: Atlas
) -> None:
    for args in (*SHOWING, ("status", "log")):
        assert "good until" not in atlas(*args).out, args
        assert "it was good until" in atlas(*args, **LATE).out, args
    rows = {row["heading"]: row for row in ok(atlas, "status", "show")["sections"]}
    assert "good_until" in rows["Rate"] and "good_until" not in rows["Docs"]
    words = ("--recommended", "a", "--chosen", "a", "--stance", "agreed", "--why", "w")
    based = ok(atlas, "decision", "add", "--title", "t", *words, "--relies-on", "status:main@1")
    other = ok(atlas, "decision", "add", "--title", "u", *words, "--relies-on", "status:main@2")
    on = "relies on status:main@1: it was good until"
    assert on not in atlas("show", based["ref"]).out
    assert on in atlas("show", based["ref"], **LATE).out
    assert "good until" not in atlas("show", other["ref"], **LATE).out  # that wrote the docs
    # written again without a time, it is good
    ok(atlas, *WRITE, "Rate", "-m", "the rate is 8")
    assert "good until" not in atlas("status", **LATE).out
    assert atlas("verify", "--full").code == 0


def test_the_last_word_of_a_session_can_be_good_for_a_time(begun: str, atlas: Atlas) -> None:
    assert atlas("end", "--good-for", "1h").code == 2  # there is no text
    ok(atlas, "end", "-m", "the rig is warm", "--good-for", "1h")
    assert "it was good until" in atlas("status", **LATE).out
    assert "it was good until" in atlas(**LATE).out


def test_a_stop_repeats_the_time_and_shows_that_another_is_over(bob: str, atlas: Atlas) -> None:
    stale = (*WRITE, "Rate", "-m", "mine", "--base", "0", "--good-for", "1h", "--json")
    done = atlas(*stale, **BOB, **LATE)
    assert done.code == 3
    assert done.json["error"]["details"]["since"][0]["good_until"]
    assert "--good-for 3600s" in done.json["error"]["hint"]
    assert "! it was good until" in atlas(*stale[:-1], **BOB, **LATE).err


def test_a_correction_is_said_at_the_heading_in_every_entry_that_carries_the_section(
    bob: str, atlas: Atlas
) -> None:
    ok(atlas, "correct", "status:main@1", "--why", "the rate is\n9", **BOB)
    for args in SHOWING:
        out = atlas(*args).out
        assert re.search(rf"! corrected, by {bob}, \d+ s ago: the rate is 9\n", out), (args, out)
        assert out.count("! corrected") == 1, args
    assert "(corrected) the rate is 7" in atlas("status", "log").out
    for row in ok(atlas, "status", "show")["sections"]:
        assert ("corrections" in row) == (row["heading"] == "Rate")
    (row,) = ok(atlas, "status", "history", "Rate")["items"]
    assert row["corrections"][0]["why"] == "the rate is\n9"
    # the entry that wrote it says so once; a stop does, too
    assert atlas("status", "show", "main@1").out.count("! corrected") == 1
    stop = atlas(*WRITE, "Rate", "-m", "mine", "--base", "0", **BOB)
    assert stop.code == 3 and "! corrected" in stop.err
    # what was corrected is written anew: that is another section
    ok(atlas, *WRITE, "Rate", "-m", "the rate is 9")
    assert "corrected" not in atlas("status").out


def test_what_was_retracted_stops_no_write_and_is_in_no_draft(bob: str, atlas: Atlas) -> None:
    ok(atlas, "correct", "status:main@1", "--why", "w", "--retract")
    shown = atlas("status").out
    assert "the rate is 7" not in shown and "! retracted, put right by its writer" in shown
    stop = atlas("status", "write", "--replace", "-m", "all new", "--base", "1", "--json", **BOB)
    assert stop.code == 0, stop.out  # nobody else wrote behind entry 1
    ok(atlas, *WRITE, "Next", "-m", "the next")
    stop = atlas("status", "write", "--replace", "-m", "all new", "--base", "3", "--json", **BOB)
    assert stop.code == 3 and "the rate is 7" not in stop.out


def test_the_view_withholds_a_retracted_section_that_a_later_entry_carries(
    bob: str, repo: Path, atlas: Atlas
) -> None:
    view = repo / ".atlas/status/main.md"
    assert "the rate is 7" in view.read_text()
    ok(atlas, "correct", "status:main@1", "--why", "w", "--retract")
    assert "the rate is 7" not in view.read_text() and "the docs" in view.read_text()


def test_a_section_comes_back_with_what_was_said_of_it_and_never_once_retracted(
    bob: str, atlas: Atlas
) -> None:
    back = (*WRITE, "Rate", "--from", "status:main@2", "--json")
    ok(atlas, "correct", "status:main@1", "--why", "it is 9")
    done = atlas(*back)
    assert done.code == 0
    assert any("it is 9" in notice for notice in done.json["notices"])
    ok(atlas, "correct", "status:main@1", "--why", "w", "--retract")
    done = atlas(*back)
    assert done.code == 6 and "was retracted" in done.json["error"]["message"]


def test_what_was_retracted_is_found_again_once_that_is_lifted_whoever_wrote_meanwhile(
    bob: str, repo: Path, atlas: Atlas
) -> None:
    view, back = repo / ".atlas/status/main.md", (*WRITE, "Rate", "--from", "status:main@1")
    mistake = ok(atlas, "correct", "status:main@1", "--why", "w", "--retract", **BOB)["ref"]
    ok(atlas, *WRITE, "Docs", "-m", "the docs are done thrice", **BOB)
    for out in (atlas("status").out, atlas("status", "--json").out, view.read_text()):
        assert "docs are done thrice" in out and "Rate" not in out and "folded" not in out
    assert "Rate" not in atlas("status", "history", "Rat").err.partition("\n")[2]
    ok(atlas, "correct", mistake, "--retract", "--why", "it is right", **BOB)
    assert "(folded: 1, the last of them Rate: atlas status history" in atlas("status").out
    assert "heading: Rate" in view.read_text().replace('"', "")
    assert "the rate is 7" in atlas("status", "history", "Rate").out
    ok(atlas, *back)
    assert "the rate is 7" in atlas("status").out
    assert atlas("verify", "--full").code == 0


def test_what_flows_over_is_good_for_as_long(begun: str, atlas: Atlas) -> None:
    text = "word " * 200
    ok(
        atlas,
        "status",
        "write",
        "-m",
        text,
        "--overflow",
        "long",
        "--good-for",
        "1h",
        "--on",
        "src",
    )
    row = ok(atlas, "artifact", "show", "long")
    (part,) = ok(atlas, "status")["sections"]
    assert row["good_until"] == part["good_until"]
    assert row["files"] == part["on"] == ["src"]


def test_a_warning_that_is_too_long_is_refused_with_the_next_step(begun: str, atlas: Atlas) -> None:
    done = atlas(*WRITE, "Rig", "-m", "it is slow", "--warn", " ".join(["hot"] * 26))
    assert done.code == 6 and "26 words long; at most 25\n  warn in fewer; the" in done.err
    both = atlas("end", "-m", "x", "--unchanged", "y")
    assert both.code == 2 and "\n  leave one of them out" in both.err


def test_a_warning_ends_with_what_it_names_and_is_not_begun_once_that_is_over(
    begun: str, repo: Path, atlas: Atlas
) -> None:
    gate = ok(atlas, "gate", "raise", "--scope", "label:x", "--why", "no disk")["id"]
    warn = (*WRITE, "Rig", "-m", "it is slow", "--warn", "hands off", "--until")
    for what in ("2020-01-01", "lease:gpu0"):
        stop = atlas(*warn, what)
        assert (
            stop.code == 2 and "is over already (" in stop.err and "leave --until out" in stop.err
        )
    assert atlas(*warn, "task:nowhere").code == 7
    ok(atlas, *warn, "artifact:notes@1")  # that is to come
    ok(atlas, *WRITE, "Yard", "-m", "it is wet", "--warn", "stay out", "--until", f"gate:{gate}")
    shown = atlas("status").out
    assert "! hands off (until artifact:notes@1 is over)" in shown and "! stay out" in shown
    (repo / "n.md").write_text("noted\n")
    ok(atlas, "artifact", "put", "notes", "n.md")
    assert atlas(*warn, "artifact:notes").code == 2
    ok(atlas, "gate", "clear", gate, "--why", "there is one")
    assert "│ ! " not in atlas("status").out and "│ ! " not in atlas("begin").out
    ok(atlas, *WRITE, "Zed", "-m", "behind it")
    assert "warn" not in str(ok(atlas, "status", "show")["sections"])
    assert atlas("verify", "--full").code == 0


def test_a_warning_that_was_over_with_a_lease_does_not_come_back_with_the_next_one(
    bob: str, atlas: Atlas
) -> None:
    def at(seconds: int, *args: str, who: dict[str, str] | None = None) -> str:
        done = atlas(*args, **{"ATLAS_CLOCK_OFFSET": str(seconds), **(who or {})})
        assert done.code == 0, done
        return done.out

    take = ("lease", "take", "gpu0", "--why", "w", "--for", "10m")
    at(0, *take)
    for number, who in enumerate((None, BOB)):
        warn = ("--warn", f"it is hot {number}", "--until", "lease:gpu0")
        at(5, *WRITE, f"Rig {number}", "-m", "slow", *warn, who=who)
    at(300, *take)  # renewed: held without a gap
    at(400, "lease", "renew", "gpu0", "--for", "10m")
    shown = at(700, "status")
    assert "! it is hot 0 (until lease:gpu0 is over)" in shown and "! it is hot 1" in shown
    assert "! it is hot" not in at(1100, "status")  # expired
    at(1200, *take)
    at(1250, "lease", "renew", "gpu0")
    assert "! it is hot" not in at(1300, "status") and "it is hot" not in at(1300, "begin")
    at(1400, *WRITE, "Zed", "-m", "behind it")
    assert "warn" not in str(ok(atlas, "status", "show")["sections"])
    assert atlas("verify", "--full", ATLAS_CLOCK_OFFSET="1500").code == 0


def test_no_heading_is_taken_for_what_a_view_says_of_it(begun: str, atlas: Atlas) -> None:
    ok(atlas, *WRITE, "Rate (eve-261129-7f3k2m, 3 days ago)", "-m", "mine")
    ok(atlas, *WRITE, "Docs @8", "-m", "mine, too")
    view = atlas("status", "show").out
    assert re.search(rf'## "Rate \(eve-.*, 3 days ago\)" \({begun}, \d+ s ago\)\n', view)
    assert re.search(rf"## Docs @8 \({begun}, \d+ s ago\)\n", view)
    history = ("status", "history", "Rate (eve-261129-7f3k2m, 3 days ago)")
    assert f'## "Rate (eve-261129-7f3k2m, 3 days ago)" ({begun}' in atlas(*history).out


def test_a_warning_in_force_comes_first_in_a_claim_and_in_a_stop(begun: str, atlas: Atlas) -> None:
    ok(atlas, "begin", "--goal", "second", **BOB)
    first, job = (ok(atlas, "task", "add", t, "--on", "src/x.py")["id"] for t in ("one", "two"))
    warn = ("--on", "src/x.py", "--warn")
    ok(atlas, *WRITE, "Rig", "-m", "it is slow", *warn, "the rig is hot")
    ok(atlas, *WRITE, "Far", "-m", "elsewhere", "--on", "y.py", "--warn", "the yard is wet")
    ok(
        atlas,
        *WRITE,
        "Old",
        "-m",
        "till one is done",
        *warn,
        "one is open",
        "--until",
        f"task:{first}",
    )
    said = atlas("task", "claim", job, **BOB)
    head, text = (said.out.index(words) for words in ("│ ! the rig is hot (status:", "you have"))
    assert head < text and "the yard is wet" not in said.out and "│ ! one is open" in said.out
    ok(atlas, "task", "claim", first)
    ok(atlas, "task", "done", first)
    again = ok(atlas, "task", "claim", job, **BOB)  # known by now, and in force all the same
    assert [line.partition(" (")[0] for line in again["warnings"]] == ["the rig is hot"]
    ok(atlas, *WRITE, "Zed", "-m", "without a warning")
    stop = atlas("status", "write", "--replace", "-m", "all anew", "--base", "0", **BOB)
    places = [stop.err.index(f"│ {words}\n") for words in ("! the rig is hot", "without a warning")]
    assert stop.code == 3 and places == sorted(places) and "one is open" not in stop.err


PROSE = """The status:green of main, see https://x.org/task:abc and mytask:abc; a subtask:one.
An artifact:x has no number, lease:gpu0 is free, `npm run task:build` builds, tasks: [] is empty.
Ratio 3:4, session:none, decision:none, path:src, task: fix it, note:x@7, artifact:X@7, x@7.

```
task:fenced artifact:fenced@9
```
"""


def test_a_text_that_names_what_is_not_there_is_told_so(begun: str, atlas: Atlas) -> None:
    def heard(text: str) -> str:
        said = atlas(*WRITE, "A", "-m", text)
        assert said.code == 0, said.err
        return "".join(line for line in said.err.split("\n") if "your text names" in line)

    job = ok(atlas, "task", "add", "one")["ref"]
    ok(atlas, "artifact", "put", "x", data="x")
    choice = ok(atlas, "decision", "add", "use tabs", "--why", "see task:gone")["ref"]
    assert (
        heard(f"{PROSE}\n{job}, (artifact:x@1). {choice} and {choice[:-7]}; status:main@1!") == ""
    )
    named = "artifact:x@7, status:main@99, task:abc, which are not there"
    assert heard("As artifact:x@7 says, (status:main@99); **task:abc**.").endswith(named)
    assert (
        heard("`artifact:x@~0ff`") == "notice: your text names artifact:x@~0ff, which is not there"
    )
    assert "names" not in heard("only of another section")
    last = atlas("end", "-m", "see session:ann-261129-7f3k2m")
    assert last.code == 0 and "names session:ann-261129-7f3k2m, which is not there" in last.err


def test_a_section_that_a_stop_printed_whole_is_read(begun: str, atlas: Atlas) -> None:
    ok(atlas, "begin", "--goal", "second", **BOB)
    ok(atlas, "status", "show", **BOB)
    ok(atlas, *WRITE, "Rate", "-m", "the rate is 7")
    stop = atlas(*WRITE, "Rate", "-m", "the rate is 8", **BOB)
    assert stop.code == 3 and "the rate is 7" in stop.err
    ok(atlas, *WRITE, "Rate", "-m", "the rate is 8", **BOB)
    ok(atlas, *WRITE, "Docs", "-m", " ".join(["long"] * 120))
    ok(atlas, "status", "show")
    ok(atlas, *WRITE, "Rate", "-m", "it is 7 all the same")
    for text in ("the rate is 9", "the rate is 10"):
        stop = atlas(*WRITE, "Rate", "-m", text, **BOB)
        assert stop.code == 3 and "it is 7 all the same" in stop.err, "Docs was not printed"
    ok(atlas, "status", "show", **BOB)
    ok(atlas, *WRITE, "Rate", "-m", "the rate is 9", **BOB)

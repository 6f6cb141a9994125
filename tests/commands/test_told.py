"""Who is told what of another's writes: corrections and their reach, caveats, signals, and what
befalls one's tasks, leases and gates. Each is told once, at the next command."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ..conftest import Atlas, Git, Result
from .test_day import ok

BOB = {"CODEX_THREAD_ID": "bob", "ATLAS_ACTOR": "bob"}


def told(done: Result) -> str:
    """The notices of a command."""
    assert done.code == 0, (done.out, done.err)
    return "\n".join(line for line in done.err.split("\n") if line.startswith("notice: "))


@pytest.fixture
def bob(begun: str, atlas: Atlas) -> str:
    """A second session, of another tool."""
    return str(ok(atlas, "begin", "--goal", "second", **BOB)["id"])


def decided(atlas: Atlas, title: str, *more: str, **extra: str) -> dict[str, Any]:
    words = ("--recommended", "the left one", "--chosen", "the right one", "--stance", "disagreed")
    why = ("--why", "the left one leaks")
    return ok(atlas, "decision", "add", "--title", title, *words, *why, *more, **extra)


def test_a_correction_names_its_reach_and_each_reader_hears_it_once(
    bob: str, repo: Path, atlas: Atlas
) -> None:
    (repo / "n.md").write_text("the rate is 7\n")
    ok(atlas, "artifact", "put", "rate", "n.md")
    ok(atlas, "artifact", "show", "rate", **BOB)
    based = decided(atlas, "which one", "--relies-on", "artifact:rate", **BOB)["ref"]
    job = ok(atlas, "task", "add", "use the rate", **BOB)["id"]
    ok(atlas, "task", "claim", job, **BOB)
    ok(atlas, "task", "done", job, "-m", "used", **BOB)
    done = ok(
        atlas,
        *("correct", "artifact:rate", "--retract", "--why", "it was of May"),
        *("--follow-up", "mend what used the rate"),
    )
    assert done["relied_on_by"] == [based]
    assert done["readers"] == [{"session": bob, "live": True, "tasks": [f"task:{job}"]}]
    mending = ok(atlas, "task", "show", done["follow_up"])
    assert mending["relies_on"] == [done["ref"]]
    assert based in mending["body"] and f"task:{job}" in mending["body"]
    digest = ok(atlas, "--since", "1h")
    assert [row["target"] for row in digest["corrections"]] == ["artifact:rate@1"]
    heard = told(atlas("task", "list", **BOB))
    assert "artifact:rate@1, which you relied on, was retracted" in heard
    assert "artifact:rate@1" not in told(atlas("task", "list", **BOB))
    assert "artifact:rate@1" not in told(atlas("task", "list"))  # one's own

    # A retraction that is retracted is lifted, and both show.
    assert "which was retracted" in atlas("show", based).out
    ok(atlas, "correct", done["ref"], "--retract", "--why", "it was of June", **BOB)
    body = ok(atlas, "artifact", "show", "rate")
    assert body["body"] == "the rate is 7\n"
    assert body["corrections"][0]["lifted"]["why"] == "it was of June"
    shown = atlas("artifact", "show", "rate").out
    assert "retracted, put right by its writer" in shown
    assert "lifted: retracted, by" in shown and "it was of June" in shown
    assert "it was of May" not in shown
    assert (repo / ".atlas/artifacts/rate.md").read_text() == "the rate is 7\n"
    # A retraction of that brings the first one back.
    lifting = body["corrections"][0]["lifted"]["ref"]
    ok(atlas, "correct", lifting, "--retract", "--why", "it was May all the same")
    assert ok(atlas, "artifact", "show", "rate")["body"] is None
    assert not (repo / ".atlas/artifacts/rate.md").exists()


def test_who_stands_on_the_cause_is_told(bob: str, repo: Path, atlas: Atlas, git: Git) -> None:
    (repo / "n.md").write_text("a guess\n")
    cause = ok(atlas, "artifact", "put", "guess", "n.md")["ref"]
    wrong = decided(atlas, "one")["ref"], decided(atlas, "two")["ref"]
    ok(atlas, "artifact", "show", "guess", **BOB)
    done = ok(atlas, "correct", wrong[0], "--why", "w", "--cause", "artifact:guess")
    assert done["cause"] == cause
    assert f"{wrong[0]}, whose cause you read, was corrected" in told(atlas("status", **BOB))
    ok(atlas, "lease", "take", "path:docs", "--why", "w", **BOB)
    read = f"docs/readme.md@{git('rev-parse', 'HEAD')}"
    ok(atlas, "correct", wrong[1], "--why", "w", "--cause", read)
    assert f"{wrong[1]}, whose cause is on your paths" in told(atlas("status", **BOB))


def test_a_bare_id_is_taken_and_a_cause_that_is_not_there_is_said(
    bob: str, repo: Path, atlas: Atlas, git: Git
) -> None:
    (repo / "x.py").write_text("x\n")
    git("add", "x.py"), git("commit", "-qm", "x", "--no-verify")
    head = git("rev-parse", "HEAD").strip()
    made = ok(atlas, "decision", "add", "use x", "--why", "w")["ref"]
    bare = made.partition(":")[2]
    for cause, notice in (
        (f"x.py@{head}", ""),
        (f"y.py@{head}", f"--cause names y.py, which is not in {head}"),
        ("x.py@HEAD", ""),
        ("x.py@main", ""),
        ("y.py@HEAD", "--cause names y.py, which is not in HEAD"),
        ("x.py@no-branch", "--cause names the commit no-branch, which is not here"),
        ("x.py@0123456789ab", "--cause names the commit 0123456789ab, which is not here"),
    ):
        done = atlas("correct", bare, "--why", "w", "--cause", cause, "--json")
        assert (done.code, done.data["target"]) == (0, made), done
        assert notice in "\n".join(done.json["notices"]), done
        assert bool(notice) == ("--cause" in str(done.json["notices"])), done
        assert done.data["cause"] == (cause if "here" in notice else f"{cause[:4]}@{head}")
    found = [made, done.data["ref"]]
    found.append(ok(atlas, "signal", "post", "finding", "-m", "w")["ref"])
    found.append(ok(atlas, "task", "add", "one")["ref"])
    found.append(ok(atlas, "lease", "take", "path:x.py", "--why", "w")["ref"])
    found.append(f"session:{bob}")
    (repo / "n.md").write_text("noted\n")
    found.append(ok(atlas, "artifact", "put", "notes", "n.md")["ref"])
    for ref in found:
        shown = atlas("show", ref.partition(":")[2], "--json")
        assert (shown.code, shown.data["ref"]) == (0, ref), shown
    (
        ok(atlas, "artifact", "put", "gpu0", "n.md", "--new"),
        ok(atlas, "lease", "take", "gpu0", "--why", "w"),
    )
    for verb in (("show",), ("correct", "--why", "w")):
        both = atlas(*verb, "gpu0")
        assert both.code == 2 and "say which: artifact:gpu0 or lease:gpu0" in both.err, both
    assert atlas("show", "nothing").code == 2


def test_who_was_told_of_a_record_hears_of_its_correction_once(bob: str, atlas: Atlas) -> None:
    wrong = decided(atlas, "the port", "--for", bob)["ref"]
    assert [row["ref"] for row in ok(atlas, **BOB)["concern"]] == [wrong]  # told, and never read
    done = ok(atlas, "correct", wrong, "--why", "the port is 80")
    assert [row["session"] for row in done["readers"]] == [bob]
    assert f"{wrong}, which you were told of, was corrected" in told(atlas("status", **BOB))
    assert ok(atlas, **BOB)["concern"] == []


def test_lists_say_what_was_corrected_recommended_and_why(begun: str, atlas: Atlas) -> None:
    refs = [decided(atlas, f"title {number}")["ref"] for number in range(7)]
    (
        ok(atlas, "correct", refs[0], "--why", "w"),
        ok(atlas, "correct", refs[6], "--retract", "--why", "gone"),
    )
    rows = atlas("decision", "list").out.split("\n")
    of = {ref: next(row for row in rows if ref.partition(":")[2] in row) for ref in refs}
    assert "(corrected) title 0" in of[refs[0]]
    assert "the left one leaks" in of[refs[1]] and "the left one " in of[refs[1]]
    assert "(retracted, put right by its writer" in of[refs[6]] and "title 6" not in of[refs[6]]
    digest = atlas("--json")
    more = digest.data["more"]["decisions"]
    assert (more["total"], more["command"]) == (7, "atlas decision list")
    assert "(+2 more: atlas decision list)" in atlas().out
    ok(atlas, "status", "write", "-m", "First."), ok(atlas, "status", "write", "-m", "Second.")
    ok(atlas, "correct", "status:main@1", "--why", "w")
    assert "(corrected)" in atlas("status", "log").out


def test_a_decision_alone_is_a_title_and_why_and_names_one_like_it(bob: str, atlas: Atlas) -> None:
    add = ("decision", "add")
    said = atlas(*add, "use tabs", "--why", "the linter wants them")
    assert re.match(r"decision:\S+-use-tabs-\w{6} logged\n", said.out) and "like" not in said.err
    alone = ok(atlas, *add, "Indentation", "--chosen", "tabs", "--why", "w")
    assert (alone["recommended"], alone["stance"], alone["chosen"]) == (None, None, "tabs")
    shown = atlas("decision", "show", alone["id"]).out
    assert "stance" not in shown and "recommended" not in shown and "│ chosen: tabs\n" in shown
    assert re.search(r"-use-tabs-\w+ +- +- +- +use tabs", atlas("decision", "list").out)
    assert "use tabs" in atlas().out and atlas("verify", "--full").code == 0
    for wrong in (
        ("--title", "t", "--recommended", "r", "--stance", "agreed"),  # what was chosen, then?
        ("t", "--stance", "agreed", "--chosen", "c"),
        ("t", "--title", "t"),
        (),
    ):
        assert atlas(*add, *wrong, "--why", "w").code == 2
    # another decides the same a moment later
    heard = atlas(*add, "which indentation?", "--chosen", "spaces", "--why", "w", **BOB).err
    ref = alone["ref"]
    assert re.search(rf'notice: like {ref} by \S+, \d+ s ago, which chose "tabs": if', heard)
    run = re.search(r"it: atlas (correct decision:.* --retract --why '.*')\n", heard)
    assert "like" not in atlas(*add, "unit of the rate", "--why", "w", **BOB).err
    assert run and atlas(*shlex.split(run[1]), **BOB).code == 0
    newer = ok(atlas, "decision", "list", "-n", "2")["items"][1]["ref"]
    named = atlas(*add, "indentation", "--why", "w", "--on", newer, **BOB).err
    assert "like decision" not in named, "it names the one that stands"


def test_a_path_that_is_not_there_is_told_so_where_it_may_be_a_slip(
    bob: str, repo: Path, atlas: Atlas
) -> None:
    (repo / "src/parser.py").write_text("1\n")
    slip, new = "src/pasrer.py", "docs/plan.md"
    subprocess.run(["git", "-C", repo, "add", "."], check=True)
    subprocess.run(["git", "-C", repo, "commit", "-qm", "p"], check=True, capture_output=True)
    for command in (
        ("artifact", "put", "x", "--for", f"path:{slip}"),
        ("status", "write", "-m", "t", "--for", f"path:{slip}"),
        ("task", "add", "t", "--on", slip),
        ("lease", "take", f"path:{slip}", "--why", "w"),
    ):
        said = told(atlas(*command, data="x"))
        assert f"no such file here: {slip} (src/parser.py?)" in said, (command, said)
    for planned in (("task", "add", "u", "--on", new), ("status", "write", "-m", "u", "--on", new)):
        assert "no such file" not in told(atlas(*planned)), "it may be one that is to be made"
    assert f"no such file here: {new}\n" in told(atlas(*status_to(new))) + "\n"
    assert ok(atlas, "begin", "--on", new, "--goal", "third", "--new")
    assert "no such file" not in told(atlas(*status_to(new), **BOB)), "somebody is to make it"
    assert "no such file" not in told(atlas(*status_to("src"), **BOB)), "a folder"


def status_to(path: str) -> tuple[str, ...]:
    return ("signal", "post", "finding", "-m", "look", "--for", f"path:{path}")


def test_a_caveat_stays_with_its_name_and_shows_on_what_relies_on_it(
    bob: str, repo: Path, atlas: Atlas
) -> None:
    file = repo / "n.md"
    file.write_text("one two three\n")
    ok(atlas, "artifact", "put", "rate", "n.md", "--caveat", "only of May", "--good-for", "1h")
    file.write_text("one two three four\n")
    ok(atlas, "artifact", "put", "rate", "n.md", "--title", "the rate")
    based = decided(atlas, "which", "--relies-on", "artifact:rate@2")["ref"]
    assert "relies on artifact:rate@2, whose caveat is: only of May" in atlas("show", based).out
    for listed in (atlas("artifact", "list"), atlas("artifact", "list", "--new", **BOB)):
        assert "(caveat: only of May) the rate" in listed.out
    assert "(caveat: only of May) the rate" in atlas("artifact", "log", "rate").out
    beside = repo / ".atlas/artifacts/rate.CAVEAT.txt"
    assert beside.read_text() == "only of May\n"
    assert "good until" not in atlas("artifact", "show", "rate@1").out
    late = {"ATLAS_CLOCK_OFFSET": "7200"}
    assert "it was good until" in atlas("artifact", "show", "rate@1", **late).out
    assert "it was good until" not in atlas("artifact", "show", "rate@2", **late).out
    file.write_text("one two three four five\n")
    assert "caveat" not in ok(atlas, "artifact", "put", "rate", "n.md", "--no-caveat")
    assert "caveat" not in atlas("artifact", "show", "rate").out
    assert not beside.exists()
    both = atlas("artifact", "put", "rate", "n.md", "--no-caveat", "--caveat", "w")
    assert both.code == 2


def test_what_befalls_tasks_leases_and_gates_is_told_at_the_next_command(
    bob: str, atlas: Atlas
) -> None:
    mine = ok(atlas, "task", "add", "mine")["id"]
    given = ok(atlas, "task", "add", "to be given")["id"]
    ok(atlas, "session", "offer", "--slots", "1", **BOB)
    ok(atlas, "task", "assign", given)
    assert f'task:{given} ("to be given") was assigned to you by' in told(atlas("who", "x", **BOB))
    assert "assigned" not in told(atlas("who", "x", **BOB))
    ok(atlas, "gate", "raise", "--why", "no disk", "--task", mine, **BOB)
    assert f'holds task:{mine} back, by {bob}: "no disk"' in told(atlas("who", "x"))
    ok(atlas, "lease", "take", "gpu0", "--why", "w", "--for", "10m")
    assert "gpu0" not in told(atlas("who", "x"))
    late = {"ATLAS_CLOCK_OFFSET": "1200"}
    ok(atlas, "lease", "take", "gpu0", "--why", "w", **BOB, **late)
    heard = told(atlas("who", "x", **late))
    assert f"the lease on gpu0, which you held, is over; {bob} has taken it since" in heard
    assert "gpu0" not in told(atlas("who", "x", **late))
    ok(atlas, "lease", "release", "gpu0", **BOB, **late)
    assert "gpu0" not in told(atlas("who", "x", **BOB, **late))


def test_a_command_that_prints_no_notice_notes_none_as_told(
    bob: str, repo: Path, atlas: Atlas
) -> None:
    (repo / "n.md").write_text("the rate is 7\n")
    ok(atlas, "artifact", "put", "rate", "n.md", **BOB)
    given = ok(atlas, "task", "add", "to be given")["id"]
    held = ok(atlas, "task", "add", "held", **BOB)["id"]
    ok(atlas, "session", "offer", "--slots", "2", **BOB)
    ok(atlas, "lease", "take", "gpu0", "--why", "w", "--for", "10m", **BOB)
    ok(atlas, "correct", "artifact:rate", "--why", "it is 9", "--for", f"session:{bob}")
    ok(atlas, "gate", "raise", "--why", "no disk", "--task", held)
    ok(atlas, "task", "assign", given)
    late = {"ATLAS_CLOCK_OFFSET": "800"}
    ok(atlas, "lease", "take", "gpu0", "--why", "w", **late)
    for _ in range(2):
        assert told(atlas("who", "x", "--quiet", **BOB, **late)) == ""
    heard = told(atlas("who", "x", **BOB, **late))
    for words in ("artifact:rate@1", "was assigned to you by", '"no disk"', "which you held"):
        assert words in heard
    assert told(atlas("who", "x", **BOB, **late)) == ""


def test_a_signal_shows_to_those_whose_paths_it_names(bob: str, repo: Path, atlas: Atlas) -> None:
    ok(atlas, "signal", "post", "finding", "--about", "src/a.py", "-m", "it drops a line")
    ok(atlas, "lease", "take", "path:src", "--why", "w", **BOB)
    assert "it drops a line" in atlas("who", "src/a.py").out
    assert "it drops a line" not in atlas("who", "src/b.py").out
    rows = [(row["what"], row["text"]) for row in ok(atlas, **BOB)["on"]]
    assert ("signal finding", "it drops a line") in rows
    assert "it drops a line" not in atlas().out

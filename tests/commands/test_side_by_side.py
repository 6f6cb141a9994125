"""Workers side by side on one board are told what saves them a step, and nothing that costs one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ..conftest import Atlas, Git

ANN, BOB = {"CODEX_THREAD_ID": "ann"}, {"CODEX_THREAD_ID": "bob"}


@pytest.fixture
def both(repo: Path, atlas: Atlas) -> None:
    for who in (ANN, BOB):
        assert atlas("begin", "--goal", f"work {who}", **who).code == 0


def ok(atlas: Atlas, *args: str, **who: str) -> Any:
    done = atlas(*args, "--json", **who)
    assert done.code == 0, done.out
    return done.json


def test_who_posts_nearly_the_task_of_another_is_told_so(both: None, atlas: Atlas) -> None:
    title = "measure parse again on the rig: the figure is of the old format"
    first = ok(atlas, "task", "add", title, **ANN)["data"]["id"]
    ok(atlas, "task", "claim", first, **ANN)
    twin = ok(atlas, "task", "add", "measure parse again on the rig, for the new format", **BOB)
    (line,) = (line for line in twin["notices"] if line.startswith("like "))
    assert line.startswith(f"like task:{first} (claimed by tester-")
    assert f"atlas task cancel {twin['data']['id']} --why 'see task:{first}'" in line
    ok(atlas, "task", "cancel", twin["data"]["id"], "--why", "a twin", **BOB)
    again = atlas("task", "cancel", twin["data"]["id"], "--why", "mine is older", **ANN)
    assert again.code == 6 and 'is cancelled: "a twin"' in again.err
    ok(atlas, "task", "done", first, "-m", "it is 301", **ANN)
    late = ok(atlas, "task", "add", "measure parse on the rig again: new format", **BOB)
    assert f"like task:{first} (done by tester-" in "".join(late["notices"])
    other = ok(atlas, "task", "add", "document the command line", **BOB)
    assert "like task" not in "".join(other["notices"])


def test_a_command_under_a_lease_that_was_held_gives_nothing_back(both: None, atlas: Atlas) -> None:
    job = ok(atlas, "task", "add", "measure it", "--uses", "rig", **ANN)["data"]["id"]
    ok(atlas, "task", "claim", job, **ANN)
    run = ("lease", "run", "rig", "gpu0", "--why", "a run", "--", "true")
    assert atlas(*run, **ANN).code == 0
    (left,) = ok(atlas, "lease", "list", **ANN)["data"]["items"]
    assert (left["resource"], left["task"], "run" in left) == ("rig", job, False)
    assert atlas(*run, **BOB).code == 4
    ok(atlas, "task", "done", job, "-m", "done", **ANN)
    assert atlas(*run, **BOB).code == 0


def test_a_text_that_says_what_it_is_about_concerns_nobody_else(
    both: None, repo: Path, atlas: Atlas, git: Git
) -> None:
    for name in ("docs.md", "other.md"):
        (repo / name).write_text("x\n")
    git("add", ".")
    git("-c", "core.hooksPath=/dev/null", "commit", "-qm", "docs")
    ok(atlas, "lease", "take", "path:docs.md", "--why", "w", **ANN)
    job = ok(atlas, "task", "add", "hours", **ANN)["data"]["id"]
    told = ok(atlas, "decision", "add", "hours are UTC", "--why", "w", "--on", f"task:{job}", **ANN)
    plain = ok(atlas, "decision", "add", "docs are short", "--why", "w", **ANN)
    assert "files" not in told["data"] and plain["data"]["files"] == ["docs.md"]


def test_a_correction_whose_cause_is_mended_asks_for_no_mending(
    both: None, repo: Path, atlas: Atlas
) -> None:
    (repo / "f.md").write_text("millis are micros\n")
    ok(atlas, "artifact", "put", "format", "f.md", **ANN)
    ok(atlas, "artifact", "show", "format", **BOB)
    job, late = (
        ok(atlas, "task", "add", title, **ANN)["data"]["id"] for title in ("parse", "gather")
    )
    ok(atlas, "task", "claim", job, **BOB)
    ok(atlas, "task", "done", job, "-m", "divides by 1000", **BOB)
    wrong = ("correct", "artifact:format@1", "--retract", "--why", "they are millis")
    ok(atlas, *wrong, "--follow-up", "mend parse", **ANN)
    ok(atlas, "task", "claim", late, **BOB)
    ok(atlas, "task", "done", late, "-m", "of the new format", **BOB)
    own = ("correct", f"result:{job}", "--why", "no more", "--cause", "artifact:format@1")
    said = atlas(*own, **BOB)
    assert said.code == 0 and "nobody has posted its mending" not in said.out + said.err
    rows = ok(atlas, **BOB)["data"]["corrections"]
    first = next(row for row in rows if row["target"] == "artifact:format@1")
    assert first["finished"] == [f"task:{job}"], "who finished a task later was told"


def test_a_result_says_whether_its_commit_is_here(
    both: None, repo: Path, atlas: Atlas, git: Git
) -> None:
    jobs = [ok(atlas, "task", "add", title, **ANN)["data"]["id"] for title in ("a", "b")]
    ok(atlas, "task", "claim", *jobs, **ANN)
    (repo / "src/x.py").write_text("2\n")  # changed, and not committed
    ok(atlas, "task", "done", jobs[0], "-m", "in x.py", **ANN)
    assert ", commit " not in atlas("task", "results", jobs[0]).out
    git("-c", "core.hooksPath=/dev/null", "commit", "-qam", "two")
    ok(atlas, "task", "done", jobs[1], "-m", "in x.py", **ANN)
    head = git("rev-parse", "HEAD")
    assert f", commit {head[:12]}" in atlas("task", "results", jobs[1]).out
    git("commit", "-q", "--amend", "-m", "three", "--no-verify")
    git("reflog", "expire", "--expire=now", "--all")
    git("gc", "-q", "--prune=now")
    away = atlas("task", "results", jobs[1]).out
    assert f"commit {head[:12]}, which is not here: not pushed, or rebased" in away


def test_a_decision_that_a_list_has_shown_whole_stops_no_commit(
    both: None, repo: Path, atlas: Atlas, git: Git
) -> None:
    assert atlas("hooks", "install").code == 0
    ok(atlas, "decision", "add", "use tabs", "--why", "short", "--for", "path:src/x.py", **BOB)
    (repo / "src/x.py").write_text("2\n")
    assert "use tabs" in atlas("decision", "list", **ANN).out
    git("commit", "-qam", "two", **ANN)
    ok(atlas, "decision", "add", "no tabs", "--why", "w " * 200, "--for", "path:src/x.py", **BOB)
    (repo / "src/x.py").write_text("3\n")
    with pytest.raises(AssertionError, match="read first"):
        git("commit", "-qam", "three", **ANN)


def test_a_session_is_shown_by_its_bare_id(both: None, atlas: Atlas) -> None:
    id = ok(atlas, "session", "list", **ANN)["data"]["items"][0]["id"]
    assert ok(atlas, "show", id, **ANN)["data"]["ref"] == f"session:{id}"


def test_a_section_said_again_is_on_its_files_still_and_gates_are_told_to_who_works(
    both: None, atlas: Atlas
) -> None:
    first = ok(atlas, "status", "write", "-m", "x is mine", "--on", "src/x.py", **ANN)["data"]
    again = ok(atlas, "status", "write", "-m", "do not touch x", **ANN)["data"]
    assert first["sections"][0]["on"] == again["sections"][0]["on"] == ["src/x.py"]
    job = ok(atlas, "task", "add", "the work", **ANN)["data"]["id"]
    ok(atlas, "task", "claim", job, **BOB)
    gate = ok(atlas, "gate", "raise", "--task", job, "--why", "the data is wrong", **ANN)["data"]
    told = atlas("lease", "list", **BOB)
    assert f"gate {gate['id']} holds task:{job} back" in told.err

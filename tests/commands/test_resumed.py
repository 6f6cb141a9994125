"""An AI tool that resumes a session which its end had closed: its first write begins a new row that
adopts the closed one, in the same call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ..conftest import Atlas, Result
from .test_agent_hooks import Hook, env, hook, one

__all__ = ["env", "hook"]  # fixtures


@pytest.fixture
def closed(repo: Path, hook: Hook, atlas: Atlas) -> dict[str, Any]:
    """The row of a session with a goal, a path and a task behind it, which its tool has closed."""
    me = one(atlas, "begin", "--goal", "the parser", "--on", "src")["id"]
    one(atlas, "status", "write", "-m", "half of it is done")
    one(atlas, "lease", "take", "gpu0", "--why", "w")
    one(atlas, "task", "claim", one(atlas, "task", "add", "measure")["id"])
    assert hook("session-end", reason="other") is None
    row: dict[str, Any] = one(atlas, "session", "show", me)
    assert (row["state"], row["closed_by"]) == ("ended", "tool")
    return row


def run(atlas: Atlas, *args: str, code: int = 0, **extra: Any) -> Result:
    done = atlas("--json", *args, CLAUDE_CODE_SESSION_ID="one", **extra)
    assert done.code == code, done
    return done


def heads(atlas: Atlas) -> str:
    return atlas("git", "rev-parse", "atlas").out


WRITES = (
    "status write -m on",
    "end -m done",
    "task next --claim",
    "lease take gpu1 --why w",
    "lease run gpu1 --why w -- true",
    "signal post finding -m look",
    "correct status:main@1 --why wrong",
    "decision add --title t --recommended a --chosen a --stance agreed --why w",
    "session offer --slots 1",
)


@pytest.mark.parametrize("words", WRITES)
def test_the_first_write_begins_the_row_that_adopts_the_closed_one(
    closed: dict[str, Any], atlas: Atlas, words: str
) -> None:
    done = run(atlas, *words.split())
    said = [line for line in done.json["notices"] if closed["id"] in line]
    old = one(atlas, "session", "show", closed["id"])
    me = old["adopted_by"]
    assert said == [f"your tool had closed {closed['id']}: resumed, you are {me}, which adopts it"]
    new = one(atlas, "session", "show", me)
    assert (new["goal"], new["paths"], new["actor"]) == ("the parser", ["src"], closed["actor"])
    assert old["adopted_why"] == "its tool has resumed it" and old["ended"] == closed["ended"]
    commits = one(atlas, "log", "-n", "9")["items"]
    assert f"session: begin ({me})" in [row["subject"] for row in commits]
    if not words.startswith("end"):
        again = run(atlas, "status", "write", "-m", "and on")
        assert again.data["session"] == me and not any(me in line for line in again.json["notices"])
    assert one(atlas, "session", "list", "--all")["total"] == 2
    assert atlas("verify", "--full").code == 0


def test_its_section_goes_on_under_its_heading(closed: dict[str, Any], atlas: Atlas) -> None:
    before = one(atlas, "status")["sections"]
    assert [part["heading"] for part in before] == ["the parser"]
    run(atlas, "status", "write", "-m", "all of it is done")
    parts = one(atlas, "status")["sections"]
    assert [(part["heading"], part["body"]) for part in parts] == [
        ("the parser", "all of it is done")
    ]


def test_who_only_reads_writes_nothing(closed: dict[str, Any], atlas: Atlas) -> None:
    head = heads(atlas)
    for words in ("status", "digest", "task list", "show status:main", "lease list", "who x.py"):
        run(atlas, *words.split())
    stop = run(atlas, "session", "show", code=5)
    assert "has ended" in stop.json["error"]["message"]
    assert run(atlas, "wait", "task:x1234", "--timeout", "1s", code=7)
    assert heads(atlas) == head


def test_an_operation_and_a_condition_are_those_of_the_write_itself(
    closed: dict[str, Any], atlas: Atlas
) -> None:
    wrong = ("status", "write", "-m", "on", "--operation", "op-1", "--expect", "status:main@7")
    run(atlas, *wrong, code=3)
    right = (*wrong[:-1], "status:main@1")
    first = run(atlas, *right)
    assert first.data["operation"] == "op-1" and first.data["number"] == 2
    again = run(atlas, *right)
    assert again.data["number"] == 2 and again.data["replayed"]


def test_the_text_of_a_write_that_stops_is_kept(
    closed: dict[str, Any], atlas: Atlas, repo: Path
) -> None:
    file = repo / "draft.md"
    file.write_text("many words " * 200)
    stop = run(atlas, "status", "write", "--file", str(file), code=6)
    draft = Path(stop.json["error"]["details"]["draft"])
    assert draft.read_text().strip() == "many words " * 199 + "many words"
    kept = run(atlas, "status", "write", "--file", str(draft), code=6)
    assert draft.exists() and kept.json["error"]["code"] == "limit"


def test_a_text_that_was_piped_in_is_kept_where_the_write_is_refused(
    closed: dict[str, Any], atlas: Atlas
) -> None:
    text = "<<<<<<< mine\na\n=======\nb\n>>>>>>> theirs\n"
    stop = run(atlas, "status", "write", "-", data=text, code=6)
    assert Path(stop.json["error"]["details"]["draft"]).read_text() == text
    assert one(atlas, "session", "show")["id"] != closed["id"]  # it has begun all the same


@pytest.mark.parametrize("how", ["ended itself", "adopted", "another tool"])
def test_nobody_else_is_taken_for_the_closed_one(
    closed: dict[str, Any], atlas: Atlas, how: str
) -> None:
    who = "one"
    if how == "adopted":
        one(atlas, "begin", who="two")
        one(atlas, "session", "adopt", closed["id"], "--why", "go on", who="two")
    elif how == "ended itself":
        run(atlas, "end", "-m", "done")  # (as the row that goes on)
    else:
        who = "three"
    head = heads(atlas)
    done = atlas("--json", "status", "write", "-m", "x", CLAUDE_CODE_SESSION_ID=who)
    assert done.code == 5 and heads(atlas) == head
    code = {"adopted": "adopted"}.get(how, "no_session")
    assert done.json["error"]["code"] == code

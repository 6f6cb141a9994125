"""Every command and verb with a call of it, the places where it is called, and the envelope that it
answers with."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atlas_cli import call as calling
from atlas_cli.commands import COMMANDS
from atlas_cli.errors import EXITS
from atlas_cli.main import show
from atlas_cli.records.board import task

from .conftest import Result, command, environment

Said = Callable[..., Result]
Verb = tuple[str, ...]
ENVELOPE = ["atlas", "command", "status", "data", "notices", "store", "error"]
STORE = ["head", "published", "fetched_at"]
ERROR = ["code", "message", "hint", "retry", "details"]
WHY = ("--why", "w")
DONE, OPEN = task.new_id("done", 0), task.new_id("open", 0)
DECISION = ["--title", "t", "--recommended", "r", "--chosen", "c", "--stance", "agreed", *WHY]
# What each is called with, and how it ends in a store without a session (None: it begins one, or
# needs no store).
CALLS: dict[Verb, tuple[list[str], int | None]] = {
    ("init",): ([], None),
    ("begin",): ([], None),
    ("end",): ([], 5),
    ("show",): (["status:main"], 0),
    ("session", "list"): ([], 0),
    ("session", "show"): ([], 5),
    ("session", "adopt"): (["x-261129-aaaaaa", *WHY], 5),
    ("status", "show"): ([], 0),
    ("status", "write"): (["-m", "x"], 5),
    ("status", "log"): ([], 0),
    ("status", "diff"): ([], 0),
    ("status", "history"): (["h"], 7),
    ("status", "unwarn"): (["h"], 5),
    ("drafts", "list"): ([], 0),
    ("drafts", "drop"): (["x.md"], 7),
    ("artifact", "put"): (["a", "src/x.py"], 5),
    ("artifact", "show"): (["a"], 0),
    ("artifact", "get"): (["a"], 0),
    ("artifact", "list"): ([], 0),
    ("artifact", "log"): (["a"], 0),
    ("artifact", "diff"): (["a"], 0),
    ("lease", "take"): (["gpu9", *WHY], 5),
    ("lease", "renew"): (["gpu0"], 5),
    ("lease", "release"): (["gpu0"], 5),
    ("lease", "show"): (["gpu0"], 0),
    ("lease", "list"): ([], 0),
    ("lease", "run"): (["gpu9", *WHY, "--", "true"], None),
    ("decision", "add"): (DECISION, 5),
    ("decision", "list"): ([], 0),
    ("decision", "show"): (["DECISION"], 0),
    # (for what it wrote itself, a session may do this just after its end)
    ("correct",): (["lease:gpu0", *WHY], 5),
    ("sync",): ([], 8),
    ("parked", "list"): ([], 0),
    ("parked", "show"): (["x"], 7),
    ("parked", "take"): (["x"], 5),
    ("parked", "drop"): (["x"], 7),
    ("outbox", "list"): ([], 0),
    ("outbox", "export"): (["OUT"], None),
    ("outbox", "import"): (["OUT"], None),
    ("wait",): (["artifact:a"], 0),
    ("who",): (["src"], 0),
    ("links",): ([], 0),
    ("hooks", "status"): ([], 0),
    ("hooks", "install"): ([], 0),
    ("hooks", "remove"): ([], None),
    ("log",): ([], 0),
    ("verify",): ([], 0),
    ("check",): ([], 0),
    ("epoch",): (["--before", "2026-01-01"], 0),
    ("config", "show"): ([], 0),
    ("config", "get"): (["fresh"], 0),
    ("config", "set"): (["fresh", "2m"], 5),
    ("config", "edit"): ([], 2),
    ("task", "add"): (["t"], 5),
    ("task", "list"): ([], 0),
    ("task", "show"): ([OPEN], 0),
    ("task", "edit"): ([OPEN], 5),
    ("task", "next"): ([], 0),
    ("task", "claim"): ([OPEN], 5),
    ("task", "start"): ([OPEN], 5),
    ("task", "renew"): ([OPEN], 5),
    ("task", "done"): ([OPEN], 5),
    ("task", "fail"): ([OPEN, *WHY], 5),
    ("task", "release"): ([OPEN], 5),
    ("task", "cancel"): ([OPEN, *WHY], 5),
    ("task", "retry"): ([OPEN, *WHY], 5),
    ("task", "dead"): ([], 0),
    ("task", "freeze"): ([OPEN, *WHY], 5),
    ("task", "thaw"): ([OPEN], 5),
    ("task", "assign"): ([], 5),
    ("task", "graph"): ([], 0),
    ("task", "board"): ([], 0),
    ("task", "results"): ([DONE], 0),
    ("session", "offer"): (["--slots", "1"], 5),
    ("session", "drop"): (["x-261129-aaaaaa", *WHY], 5),
    ("session", "dismiss"): (["x-261129-aaaaaa", *WHY], 5),
    ("gate", "raise"): (["--scope", "all", *WHY], 5),
    ("gate", "list"): ([], 0),
    ("gate", "show"): (["x"], 7),
    ("gate", "clear"): (["x"], 5),
    ("signal", "post"): (["alert", "-m", "t"], 5),
    ("signal", "list"): ([], 0),
    ("signal", "show"): (["x"], 7),
    ("doctor",): ([], 0),
    ("uninstall",): ([], 6),
    ("view",): ([], 0),
    ("setup",): ([], 0),
    ("git",): ([], 2),
    ("tour",): ([], None),
    ("help",): ([], None),
    ("completion",): (["bash"], None),
}
LISTS: list[Verb] = [
    ("session", "list"),
    ("artifact", "list"),
    ("artifact", "log"),
    ("lease", "list"),
    ("decision", "list"),
    ("status", "log"),
    ("log",),
    ("who",),
    ("setup",),
    ("links",),
    ("hooks", "status"),
    ("hooks", "install"),
    ("parked", "list"),
    ("drafts", "list"),
    ("outbox", "list"),
    ("task", "list"),
    ("task", "dead"),
    ("task", "results"),
    ("gate", "list"),
    ("signal", "list"),
]


def _verbs() -> dict[Verb, Any]:
    found: dict[Verb, Any] = {}
    for name in COMMANDS:
        parser = calling.root().parser(name)
        below = getattr(parser, "commands", None)
        found |= {(name, verb): one for verb, one in below.items()} if below else {(name,): parser}
    return found


ANYWHERE: list[Verb] = [("tour",), ("completion",), ("help",)]  # they need no store
VERBS = _verbs()  # every command there is, with its parser


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder `outside`, a repository without a store (`plain`), and one with a record of each
    kind and no session (`repo`); and the id of its decision."""
    top = tmp_path_factory.mktemp("places")
    env = environment(top)

    def run(*args: str) -> bytes:
        return subprocess.run(
            args, cwd=top / "repo", env=env, capture_output=True, check=True
        ).stdout

    (top / "outside").mkdir()
    subprocess.run(["git", "init", "-q", "plain"], cwd=top, env=env, check=True)
    (top / "plain/src").mkdir()
    (top / "plain/src/x.py").write_text("print('x')\n")
    shutil.copytree(top / "plain", top / "repo")
    run(*command("init", "--test", "--no-hooks"))
    run(*command("begin", "--goal", "g"))
    run(*command("artifact", "put", "a", "src/x.py"))
    for name in ("done", "open"):
        run(*command("task", "add", f"to be {name}", "--operation", name))
    run(*command("task", "claim", DONE))
    run(*command("task", "done", DONE, "-m", "what it came to"))
    run(*command("lease", "take", "gpu0", *WHY))
    decided = json.loads(run(*command("decision", "add", *DECISION, "--json")))
    run(*command("end", "-m", "where things stand", "--keep", "gpu0"))
    return top, decided["data"]["id"]


@pytest.fixture
def said(
    places: tuple[Path, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Said:
    """Runs a command in this process, since there are hundreds: `said("status", "--json",
    where="repo")`."""
    for key in os.environ:
        monkeypatch.delenv(key)
    for key, value in {**environment(places[0]), "GIT_LITERAL_PATHSPECS": "1"}.items():
        monkeypatch.setenv(key, value)

    def run(*argv: str, where: str = "repo") -> Result:
        monkeypatch.chdir(places[0] / where)
        capsys.readouterr()
        answer = calling.call(list(argv))
        assert capsys.readouterr() == ("", ""), "a call prints nothing"
        return Result(show(answer), *capsys.readouterr())

    return run


def call(verb: Verb, decision: str) -> list[str]:
    return [decision if word == "DECISION" else word for word in CALLS[verb][0]]


def envelope(done: Result) -> dict[str, Any]:
    """The one envelope on stdout, whole and true to the exit code."""
    assert done.out.count("\n") == 1 and done.out.isascii(), done
    found = done.json
    assert list(found) == ENVELOPE and found["atlas"] == 1 and list(found["store"]) == STORE
    assert isinstance(found["notices"], list)
    error = found["error"]
    if error is None:
        assert (done.code, found["status"]) == (0, "ok"), done
        return dict(found)
    assert list(error) == ERROR and found["data"] is None
    assert found["status"] == ("stop" if done.code in (3, 4, 5) else "error")
    assert (
        re.fullmatch("[a-z][a-z_]*", error["code"])
        and error["message"]
        and isinstance(error["details"], dict)
    )
    assert EXITS[done.code][1] in (error["retry"], "see error.retry")
    return dict(found)

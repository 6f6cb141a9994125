"""Two clones and a remote: exactly one of two contradicting writes is published, and the other's
command says so."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from atlas_cli.model import times

from ..conftest import DECISION, Result, command


class Fleet(NamedTuple):
    """A bare remote `hub.git` and its clones `a` and `b`, each with a session of its own."""

    top: Path
    env: dict[str, str]

    def git(self, clone: str, *args: str) -> str:
        done = subprocess.run(
            ["git", *args], cwd=self.top / clone, env=self.env, capture_output=True, text=True
        )
        assert done.returncode == 0, (args, done.stderr)
        return done.stdout.strip()

    def run(self, clone: str, *args: str, **extra: str) -> Result:
        env = {**self.env, "CODEX_THREAD_ID": clone, "ATLAS_ACTOR": f"actor-{clone}", **extra}
        done = subprocess.run(
            command(*args, "--json"), cwd=self.top / clone, env=env, capture_output=True, text=True
        )
        return Result(done.returncode, done.stdout, done.stderr)

    def ok(self, clone: str, *args: str, **extra: str) -> dict:  # type: ignore[type-arg]
        done = self.run(clone, *args, **extra)
        assert done.code == 0, (clone, args, done.out, done.err)
        found = done.data
        assert isinstance(found, dict)
        return found

    def heads(self, clone: str) -> tuple[str, str]:
        """The store's head in a clone, and the remote's."""
        return self.git(f"{clone}/.git/atlas/store.git", "rev-parse", "atlas"), self.git(
            "hub.git", "rev-parse", "atlas"
        )

    def level(self, *clones: str) -> None:
        """Every clone's store is the remote's, and its history keeps the rules."""
        for clone in clones:
            self.ok(clone, "sync")
            here, there = self.heads(clone)
            assert here == there
            assert self.run(clone, "verify", "--full").code == 0


@pytest.fixture
def hub(tmp_path: Path, env: dict[str, str]) -> Fleet:
    """A remote with one commit of code, and two clones of it."""
    found = Fleet(tmp_path, env)
    found.git(".", "init", "-q", "--bare", "hub.git")
    found.git(".", "clone", "-q", "hub.git", "a")
    (tmp_path / "a/x.py").write_text("print('x')\n")
    (
        found.git("a", "add", "."),
        found.git("a", "commit", "-qm", "first"),
        found.git("a", "push", "-q", "origin", "HEAD"),
    )
    found.git(".", "clone", "-q", "hub.git", "b")
    return found


@pytest.fixture
def fleet(hub: Fleet) -> Iterator[Fleet]:
    hub.ok("a", "init", "--test")
    for clone in ("a", "b"):
        hub.ok(clone, "begin", "--goal", f"work of {clone}")
    yield hub
    hub.level("a", "b")


def test_a_clone_joins_by_beginning_and_init_finds_the_store(hub: Fleet) -> None:
    made = hub.run("a", "init", "--test")
    assert made.json["store"]["published"] is True
    assert hub.run("b", "status").json["error"]["code"] == "no_store"
    assert hub.run("b", "begin", "--goal", "g").json["store"]["published"] is True
    assert hub.ok("b", "init")["store"] == made.data["store"]
    hub.level("a", "b")


def test_of_two_statuses_with_one_number_the_second_stops_with_what_the_first_wrote(
    fleet: Fleet,
) -> None:
    fleet.ok("a", "status", "write", "-m", "From a.")
    stop = fleet.run("b", "status", "write", "-m", "From b.", "--replace")
    assert (stop.code, stop.json["error"]["code"]) == (3, "version_jump"), "b has seen it empty"
    fleet.ok("b", "status", "show")
    fleet.ok("b", "status", "write", "-m", "From a.\nFrom b.", "--replace")
    stop = fleet.run("a", "status", "write", "-m", "From a.\nAgain a.", "--replace", "-C", ".")
    assert stop.code == 3
    assert "From b." in Path(stop.json["error"]["details"]["draft"]).read_text()
    assert fleet.ok("a", "parked")["total"] == 0, (
        "the command itself answered: nothing is left to settle"
    )


def test_of_two_takers_of_one_thing_one_holds_it(fleet: Fleet) -> None:
    fleet.ok("a", "lease", "take", "gpu0", "path:src", "--why", "w")
    assert [
        fleet.run("b", "lease", "take", what, "--why", "w").code
        for what in ("gpu0", "path:src/deep/x.py")
    ] == [
        4,
        4,
    ]
    (row,) = [one for one in fleet.ok("b", "lease", "list")["items"] if one["resource"] == "gpu0"]
    assert row["holder"].startswith("actor-a")


def test_of_two_artifacts_with_one_number_the_second_stops(fleet: Fleet) -> None:
    fleet.ok("a", "artifact", "put", "doc", "x.py", "--offline")
    fleet.ok("b", "artifact", "put", "doc", "x.py")
    (fleet.top / "a/x.py").write_text("print('x')\nprint('a')\n")
    assert fleet.run("a", "artifact", "put", "doc", "x.py").code in (3, 5)
    (parked,) = fleet.ok("a", "parked")["items"]
    shown = fleet.ok("a", "parked", "show", parked["operation"])["files"]
    assert list(shown.values()) == ["print('x')\n"]
    fleet.ok("a", "parked", "drop", parked["operation"])


def test_documents_named_by_their_operation_always_merge(fleet: Fleet) -> None:
    for clone in ("a", "b"):
        fleet.ok(clone, *DECISION, "--offline")
        fleet.ok(clone, *DECISION)
    fleet.ok("a", "sync")
    assert (
        fleet.ok("a", "decision", "list")["total"]
        == fleet.ok("b", "decision", "list")["total"]
        == 4
    )


def test_the_chain_that_once_lost_an_update_is_parked_whole(fleet: Fleet) -> None:
    fleet.ok("a", "status", "write", "-m", "One.")
    fleet.ok("b", "begin")
    for text in ("One.\nTwo of a.", "One.\nTwo of a.\nThree of a."):
        fleet.ok("a", "status", "write", "-m", text, "--offline", "--replace")
    fleet.ok("a", *DECISION, "--offline")
    fleet.ok("b", "status", "write", "-m", "One.\nTwo of b.", "--replace")
    stop = fleet.run("a", "sync")
    assert (stop.code, len(stop.json["error"]["details"]["parked"])) == (3, 2)
    fleet.ok("b", "sync")
    assert fleet.ok("b", "decision", "list")["total"] == 1, (
        "what contradicts nothing was carried over"
    )
    assert "Two of b." in fleet.ok("a", "status")["body"]
    assert any("PARKED" in notice for notice in fleet.run("a", "lease", "list").json["notices"])
    assert fleet.run("a", "end", "-m", "x").json["error"]["code"] == "parked"
    parked = fleet.ok("a", "parked")["items"]
    assert "Two of a." in str(fleet.ok("a", "parked", "show", parked[0]["operation"])["records"])
    for one in parked:
        taken = fleet.run("a", "parked", "take", one["operation"])
        assert taken.code == 3, taken.out
        assert "of a." in Path(taken.json["error"]["details"]["draft"]).read_text()
    assert fleet.ok("a", "parked")["total"] == 2, "it is kept until somebody settles it"
    for one in parked:
        fleet.ok("a", "parked", "drop", one["operation"])
    fleet.ok("a", "end", "-m", "Both are drafts now.")


def test_what_is_parked_and_taken_keeps_how_long_it_is_good_and_what_it_is_about(
    fleet: Fleet,
) -> None:
    fleet.ok("a", "lease", "take", "path:x.py", "--why", "w")
    marked = ("--good-for", "2d", "--for", "path:x.py", "--offline")
    fleet.ok("a", "artifact", "put", "doc", "x.py", *marked)
    fleet.ok("a", "status", "write", "--replace", "-m", "All of a.", "--on", "x.py", *marked)
    (fleet.top / "b/x.py").write_text("print('b')\n")
    fleet.ok("b", "artifact", "put", "doc", "x.py")
    fleet.ok("b", "status", "write", "-m", "By b.")
    assert fleet.run("a", "sync").code == 3
    rows = fleet.ok("a", "parked")["items"]
    put, wrote = sorted(rows, key=lambda row: str(row["subject"]))
    stop = fleet.run("a", "parked", "take", put["operation"])
    assert stop.code == 3 and "there was no artifact:doc, and" in stop.json["error"]["message"]
    details = stop.json["error"]["details"]
    Path(details["draft"]).write_text("All of it.\n")
    fleet.ok("a", *shlex.split(details["next"])[1:])
    fleet.ok("a", "status")
    assert fleet.ok("a", "parked", "take", wrote["operation"])["written"] == ["status:main@2"]
    mine = fleet.ok("a", "artifact", "show", "doc")
    (part,) = fleet.ok("a", "status")["sections"]
    assert mine["number"] == 2 and part["session"] == mine["session"]
    for record in (mine, part):
        assert times.moment(record["good_until"]) > time.time() + 47 * 3600, record
        assert record["for"] == ["path:x.py"], record
    assert mine["files"] == part["on"] == ["x.py"]


def test_a_lease_that_was_taken_offline_and_lost_is_told_of_once_and_not_parked(
    fleet: Fleet,
) -> None:
    # One that is given back is in the history all the same: its token was printed, and rises.
    first = fleet.ok("a", "lease", "take", "gpu0", "--why", "w", "--offline")["token"]
    fleet.ok("a", "lease", "release", "gpu0", "--offline")
    assert fleet.ok("a", "lease", "take", "gpu0", "--why", "w")["token"] == first + 1
    fleet.ok("a", "lease", "release", "gpu0")
    fleet.ok("a", "lease", "take", "gpu0", "--why", "w", "--offline")
    holder = fleet.ok("b", "lease", "take", "gpu0", "--why", "w")["holder"]
    synced = fleet.run("a", "sync")
    lost = f"LOST, others were first: gpu0 is held by {holder}"
    assert synced.code == 0 and lost in synced.json["notices"]
    assert not any(holder in line for line in fleet.run("a", "log").json["notices"]), "once"
    assert fleet.ok("a", "parked")["total"] == 0
    job = fleet.ok("a", "task", "add", "one")["id"]
    fleet.ok("a", "task", "claim", job, "--offline")
    fleet.ok("a", "task", "done", job, "-m", "It came to this.", "--offline")
    fleet.ok("b", "task", "claim", job)
    stop = fleet.run("a", "sync")
    assert stop.code == 3 and "and are kept as drafts" in stop.json["error"]["message"], stop
    (draft,) = fleet.ok("a", "drafts")["items"]
    assert any(draft["file"] in line for line in stop.json["notices"])


def test_a_parked_write_that_is_asked_for_again_answers_whatever_its_ref_says(fleet: Fleet) -> None:
    whole = ("status", "write", "-m", "whole", "--replace")
    fleet.ok("a", *whole, "--operation", "op1", "--offline")
    fleet.ok("b", *whole)
    assert fleet.run("a", "sync").code == 3
    lock = fleet.top / "a/.git/atlas/store.git/refs/atlas/parked/op1.lock"
    lock.touch()
    assert fleet.run("a", *whole, "--operation", "op1").code == 3
    lock.unlink()
    assert fleet.run("a", *whole, "--operation", "op1").code == 3
    assert fleet.ok("a", "parked")["total"] == 0


def test_a_correction_names_who_relies_on_it_by_what_the_remote_has_now(fleet: Fleet) -> None:
    (fleet.top / "a/n.md").write_text("one\n")
    fleet.ok("a", "artifact", "put", "late", "n.md")
    leans = fleet.ok("b", *DECISION, "--relies-on", "artifact:late@1")
    found = fleet.ok("a", "correct", "artifact:late@1", "--why", "it is two")
    assert found["relied_on_by"] == [leans["ref"]]


def test_check_judges_by_the_words_that_the_remote_has_now(fleet: Fleet) -> None:
    me = fleet.ok("a", "session", "show")["id"]
    fleet.ok("a", "config", "set", "word_within", "0")
    more = f"more\n\nAtlas-Session: {me}\nAtlas-Read: main@0\nAtlas-Word: none"
    fleet.git("a", "commit", "-qm", more, "--allow-empty", "--no-verify")
    fleet.git("a", "push", "-q", "--no-verify", "origin", "HEAD")
    fleet.git("b", "fetch", "-q")
    (finding,) = fleet.ok("b", "check", "--since", "7d")["findings"]
    assert finding["rule"] == "write_last"
    fleet.ok("a", "status", "write", "-m", "It is more.")
    assert fleet.ok("b", "check", "--since", "7d")["findings"] == []
    (fleet.top / "hub.git").rename(fleet.top / "gone.git")
    away = fleet.run("b", "check", "--since", "7d").json["notices"]
    assert any("known here: what origin had" in line and "no answer since" in line for line in away)
    (fleet.top / "gone.git").rename(fleet.top / "hub.git")


def test_an_answer_says_its_age_where_that_matters_and_what_is_not_there_is_asked_for(
    fleet: Fleet,
) -> None:
    (fleet.top / "a/n.md").write_text("one\n")
    fleet.ok("b", "lease", "list")
    fleet.ok("a", "artifact", "put", "late", "n.md")
    assert fleet.ok("b", "artifact", "show", "late")["body"] == "one\n"
    assert fleet.run("b", "artifact", "show", "none").code == 7

    def aged(seconds: int) -> list[str]:
        """The notices of a list by a copy of that age."""
        memory = fleet.top / "b/.git/atlas/sync.json"
        then = time.time() - seconds
        data = json.loads(memory.read_text()) | {"asked_at": then, "fetched_at": then}
        data["away_at"] = 0
        memory.write_text(json.dumps(data))
        done = fleet.run("b", "lease", "list")
        assert done.code == 0
        return [line for line in done.json["notices"] if line.startswith("known here")]

    assert aged(0) == []
    assert re.fullmatch(
        r"known here: what origin had 3\d s ago; atlas sync brings.*", "; ".join(aged(30))
    )
    fleet.ok("b", "lease", "take", "gpu0", "--why", "w")
    assert aged(30) == []  # it says something, and is new enough
    assert aged(400) == []  # the remote was asked
    (fleet.top / "hub.git").rename(fleet.top / "gone.git")
    assert aged(400) == [
        "known here: what origin had 6 min ago, and it gave no answer since;"
        " atlas sync brings what is newer"
    ]
    for words in (("status",), ("who", "x"), ("decision", "list"), ("artifact", "show", "none")):
        envelope = fleet.run("b", *words).json
        assert any("it gave no answer since" in line for line in envelope["notices"]), words
        assert envelope["store"]["fetched_at"]
    (fleet.top / "gone.git").rename(fleet.top / "hub.git")


def test_a_bare_name_that_another_clone_has_published_is_asked_for(fleet: Fleet) -> None:
    fleet.ok("a", "status")
    (fleet.top / "b/k.md").write_text("k\n")
    fleet.ok("b", "artifact", "put", "k", "k.md")
    assert fleet.ok("a", "show", "k")["ref"] == "artifact:k@1"
    assert fleet.run("a", "show", "nothing").json["error"]["message"].endswith("is no REF")


def test_a_correction_says_by_which_copy_it_names_the_readers(fleet: Fleet) -> None:
    wrong = fleet.ok("a", "signal", "post", "finding", "-m", "it is so")["ref"]
    fixed = fleet.run("a", "correct", wrong, "--why", "w")
    assert "known here" not in str(fixed.json["notices"]), fixed
    away = (fleet.top / "hub.git").rename(fleet.top / "away.git")
    fixed = fleet.run("a", "correct", wrong, "--why", "it is not")
    away.rename(fleet.top / "hub.git")
    known = [line for line in fixed.json["notices"] if line.startswith("known here: what origin ")]
    assert fixed.code == 0 and len(known) == 1 and "it gave no answer since" in known[0], fixed

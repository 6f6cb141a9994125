"""A REF to an entry that is not yet published, with two real clones: the entry gets another number
when it is carried over, and whatever names it goes on naming it, for every reader."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

from atlas_cli.store.git import Git as StoreGit
from atlas_cli.store.index import FILE, Index

from ..conftest import DECISION, Git, Result
from .conftest import At
from .crew import Worker
from .tables import difference

OWN, OTHERS = "status:main@3", "status:main@2"  # the entry of a, in the end, and that of b


class Two(NamedTuple):
    """Two clones. In `a`, which is offline, a session has written the entry 2."""

    at: At
    worker: Worker
    git: Git
    top: Path
    sessions: dict[str, str]

    def __call__(self, name: str, *args: str, code: int = 0) -> Result:
        done = self.at(name, *args, "--session", self.sessions[name])
        assert done.code == code, done
        return done

    def text(self, name: str, *args: str) -> str:
        """What a person is shown."""
        done = self.worker("-C", str(self.top / name), *args, "--session", self.sessions[name])
        assert done.code == 0, done
        return done.out

    def stored(self, name: str, path: str) -> str:
        """The bytes of a file on the branch."""
        return self.git("show", f"atlas:{path}", cwd=self.top / name / ".git/atlas/store.git")

    def away(self, *args: str, code: int = 0) -> Result:
        return self("a", *args, "--offline", code=code)

    def meet(self) -> None:
        """In `b` the entry 2 is written and published; then both clones know all."""
        self("b", "status", "write", "-m", "the words of b")
        for name in ("a", "b"):
            self(name, "sync")
            assert self(name, "parked").data["total"] == 0

    def holds(self) -> None:
        """Both stores keep every rule, and an index that grew is one that is built anew."""
        for name in ("a", "b"):
            self(name, "verify", "--full")
            home = self.top / name / ".git/atlas"
            git = StoreGit(str(home / "store.git"))
            head = git.object("refs/heads/atlas")
            assert head
            grown, built = (
                Index(home / FILE, git),
                Index(self.top / f"built-{name}.sqlite", git),
            )
            for index in (grown, built):
                index.sync(head[0])
            assert difference(grown, built) == {}
            grown.close(), built.close()


@pytest.fixture
def two(hub: Path, at: At, worker: Worker, git: Git, tmp_path: Path) -> Two:
    sessions = {}
    for name in ("a", "b"):
        git("clone", "-q", str(hub), name, cwd=tmp_path)
        done = at(name, "begin", "--goal", f"work of {name}", "--new")
        assert done.code == 0, done
        sessions[name] = done.data["id"]
    own = ("--session", sessions["a"], "--offline", "--operation", "42")
    done = at("a", "status", "write", "-m", "the words of a", *own)
    assert done.code == 0 and done.data["ref"] == "status:main@2"
    return Two(at, worker, git, tmp_path, sessions)


def text_of(done: Result) -> str:
    return json.dumps(done.json, ensure_ascii=False)


def test_what_a_record_relies_on_is_the_entry_that_it_named(two: Two) -> None:
    (two.top / "x.md").write_text("built on it\n")
    file = str(two.top / "x.md")
    before = two.away("artifact", "put", "x", file, "--relies-on", "status:main@2")
    assert before.data["relies_on"] == ["status:main@2"]  # as it is called here, for now
    two.away(*DECISION, "--relies-on", "status:main")  # (the newest, which is that one)
    task = two.away("task", "add", "mend it", "--relies-on", "status:main@~42").data["ref"]
    two.away("status", "write", "-m", "more", "--section", "S", "--relies-on", "status:main@2")
    two.meet()
    for name in ("a", "b"):
        decided = two(name, "decision", "list").data["items"][0]["ref"]
        shown = [two(name, "show", ref) for ref in ("artifact:x", decided, task, "status:main@4")]
        assert [done.data["relies_on"] for done in shown] == [[OWN]] * 4
        assert all("@~" not in text_of(done) for done in shown)
    two("b", "correct", OTHERS, "--retract", "--why", "b was wrong")
    assert "retracted" not in text_of(two("b", "show", "artifact:x"))
    done = two("b", "correct", OWN, "--retract", "--why", "a was wrong")
    assert sorted(done.data["relied_on_by"]) == sorted(
        ["artifact:x@1", "status:main@4", task, decided]
    )
    two("a", "sync")
    for name in ("a", "b"):
        for ref in ("artifact:x", task, "status:main@4"):
            text = two.text(name, "show", ref)
            assert f"relies on {OWN}, which was retracted" in text and "@~" not in text
    two.holds()


def test_a_correction_is_of_the_entry_that_it_named(two: Two) -> None:
    two.away("correct", "status:main@2", "--retract", "--why", "a was wrong")
    two.away("status", "write", "-m", "goes on", "--section", "S")  # what was retracted is left out
    two.meet()
    for name in ("a", "b"):
        (fix,) = two(name, "show", OWN).data["corrections"]
        assert fix["target"] == OWN and fix["retract"]
        assert two(name, "show", OWN).data["body"] is None
        assert two(name, "show", OTHERS).data["corrections"] == []
        parts = {part["body"] for part in two(name, "status").data["sections"]}
        assert {"the words of b", "goes on"} <= parts and "the words of a" not in parts
    two("b", "status", "write", "-m", "b again")
    parts = {part["body"] for part in two("b", "status").data["sections"]}
    assert {"b again", "goes on"} <= parts
    two.holds()


def test_what_a_record_is_about_and_a_cause_are_the_entry_that_was_named(two: Two) -> None:
    two.away(*DECISION, "--on", "status:main@2")
    two.away("signal", "post", "finding", "--about", "status:main@2", "-m", "look")
    two.away("correct", "status:main@1", "--why", "misled", "--cause", "status:main@2")
    two.meet()
    for name in ("a", "b"):
        assert two(name, "decision", "list").data["items"][0]["about"] == [OWN]
        (found,) = two(name, "signal", "list").data["items"]
        assert found["about"] == OWN
        (fix,) = two(name, "show", "status:main@1").data["corrections"]
        assert fix["cause"] == OWN
    two.holds()


def test_a_warning_until_an_entry_that_stands_is_over_before_it_is_written(two: Two) -> None:
    args = ("--warn", "wait for it", "--until", "status:main@2")
    done = two.away("status", "write", "-m", "careful", "--section", "S", *args, code=2)
    assert "is over already" in done.json["error"]["message"]
    two.meet()
    two.holds()


@pytest.mark.parametrize("ends", [False, True])
def test_what_is_confirmed_is_the_entry_that_was_read(two: Two, ends: bool) -> None:
    how = ("end",) if ends else ("status", "write")
    done = two.away(*how, "--unchanged", "nothing new")
    assert done.data["confirmed"]["ref"] == "status:main@2"
    two.meet()
    for name in ("a", "b"):
        assert "confirmed" in two.text(name, "show", OWN) and "confirmed" not in two.text(
            name, "show", OTHERS
        )
        row = two(name, "session", "show", two.sessions["a"]).data
        assert row["confirmed"]["ref"] == OWN
    two.holds()


def test_the_form_may_be_typed_wherever_a_ref_is_taken(two: Two) -> None:
    two.meet()
    for name in ("a", "b"):
        assert two(name, "show", "status:main@~42").data["ref"] == OWN
        assert two(name, "status", "show", "main@~42").data["ref"] == OWN
        (wrote,) = two.at(name, "log", "status:main@~42").data["items"]
        assert wrote["operation"] == "42"
        assert two(name, "wait", "status:main@~42", "--timeout", "1s").data["how"] == "there"
        for args in (("show", "status:main@~43"), ("status", "show", "main@~43")):
            unknown = two(name, *args, code=7)
            assert "wrote nothing of that name" in unknown.json["error"]["message"]
        assert two(name, "show", "artifact:x@~42", code=7)
        waited = two(name, "wait", "status:main@~43", "--timeout", "1s", code=7)
        assert waited.json["error"]["code"] == "timeout"
    assert two("b", *DECISION, "--on", "status:main@~42").data["about"] == [OWN]
    decided = two("b", "decision", "list").data["items"][0]["ref"]
    two("b", "status", "write", "-m", "1", "--expect", "status:main@~43", code=3)
    two("b", "status", "write", "-m", "2", "--expect", "status:main@~42")
    two("b", "status", "write", "-m", "3", "--expect", "status:main@~42", code=3)
    assert decided and two("b", "decision", "list", "--since", "status:main@~42").data["total"] == 1


def test_a_draft_names_what_was_read_and_not_what_got_its_number(two: Two) -> None:
    begun = two.at("a", "begin", "--goal", "another", "--new", "--offline").data["id"]
    other = ("--session", begun, "--offline")
    two.away("status", "write", "-m", "a once more")
    stop = two.at("a", "status", "write", "--replace", "-m", "## All\n\nanew", *other)
    assert stop.code == 3 and stop.json["error"]["details"]["head"] == 3
    submit = shlex.split(stop.json["error"]["details"]["next"])
    assert "--base" in submit and submit[submit.index("--base") + 1].startswith("3~")
    two.meet()  # the entry 3 is now the first one of a, and b's words stand below it, unread
    (draft,) = two.at("a", "drafts", *other).data["items"]
    command = shlex.split(draft["submit"])[1:]
    Path(stop.json["error"]["details"]["draft"]).write_text("## All\n\nanew\n")  # as settled
    again = two.at("a", *command)
    assert again.code == 5 and "has not read status:main@4" in again.json["error"]["message"]
    assert any("is not what was read under that number" in line for line in again.json["notices"])
    assert "the words of b" in text_of(two.at("a", "status", *other))
    done = two.at("a", *command)
    assert done.code == 0 and done.data["ref"] == "status:main@5"
    two.holds()


def test_a_folded_section_comes_back_though_its_entry_got_another_number(two: Two) -> None:
    long = " ".join(["word"] * 120)
    for number in range(10):
        two.away("status", "write", "-m", long, "--section", f"S{number}")
    folded = two("a", "status", "--offline").data["earlier"]
    old = next(row for row in folded if row["heading"] == "S0")
    back = ("--section", "S0", "--from", old["ref"].partition(":")[2])
    two.away("status", "write", *back)
    two.meet()
    now = two("b", "status").data
    assert "S0" in {part["heading"] for part in now["sections"]}
    assert "S0" not in {row["heading"] for row in now["earlier"]}
    two.holds()


def test_who_read_it_and_whom_it_stopped_is_told_of_the_entry_that_it_was(two: Two) -> None:
    begun = two.at("a", "begin", "--goal", "another", "--new", "--offline").data["id"]
    other = ("--session", begun, "--offline")
    assert two.at("a", "show", "status:main@2", *other).code == 0
    assert two.at("a", "signal", "post", "finding", "-m", "read it", *other).code == 0
    two.away("status", "write", "-m", "a once more")
    stop = two.at("a", "status", "write", "--replace", "-m", "anew", *other)
    assert stop.code == 3 and stop.json["error"]["details"]["ref"] == "status:main@3"
    assert two.at("a", "signal", "post", "finding", "-m", "stopped", *other).code == 0
    two.meet()
    assert begun in two("b", "show", OWN).data["read_by"]
    assert begun not in two("b", "show", OTHERS).data["read_by"]
    assert begun in two("a", "show", OWN).data["read_by"]
    assert begun not in two("a", "show", OTHERS).data["read_by"], "in its own clone, too"
    over = ("status", "write", "--replace", "-m", "over both", "--session", begun)
    assert two.at("a", *over).code in (3, 5), "it has read neither the head nor b's entry"
    fixed = two("b", "correct", OTHERS, "--retract", "--why", "it was wrong").data
    assert two("a", "sync").code == 0
    told = two.text("a", "show", fixed["ref"])
    assert begun not in told, told
    for name in ("a", "b"):
        rows = two.at(name, "log", "--collisions").data["items"]
        stops = [stop for row in rows for stop in row["stops"]]
        assert f"version_jump 1 status:main@4 of {two.sessions['a']}" in stops
    two.holds()


READS = """
status|status log|status history S|digest|digest --since 1h|task list|task show {task}|show {task}
task ready|decision list|decision show {decision}|show {decision}|signal list|gate list --all
log -n 50|log --collisions|session list --all|session show {a}|show session:{a}|artifact list
artifact log x|artifact show x|artifact get x|show artifact:x|show status:main@1 {own} status:main@4
show {fix}|outbox list|log --kind correction|task next|links|parked|drafts
"""


def test_nobody_is_shown_the_form_that_is_stored(two: Two) -> None:
    (two.top / "x.md").write_text("built on it\n")
    on = ("--relies-on", "status:main@2")
    two.away("artifact", "put", "x", str(two.top / "x.md"), *on)
    decision = two.away(*DECISION, "--on", "status:main@2", *on).data["ref"]
    task = two.away("task", "add", "mend it", *on).data["ref"]
    two.away("status", "write", "-m", "more", "--section", "S", *on)
    about = ("--about", "status:main@2")
    two.away("signal", "post", "finding", *about, "-m", "look")
    two.away("gate", "raise", "--task", task.partition(":")[2], "--why", "held", *about)
    fix = two.away("correct", "status:main@1", "--why", "w", "--cause", "status:main@2").data["ref"]
    two.away("correct", "status:main@2", "--retract", "--why", "a was wrong")
    two.away("status", "write", "--unchanged", "holds")

    def shown(own: str) -> None:
        named = {"decision": decision, "task": task, "fix": fix, "own": own, "a": two.sessions["a"]}
        for words in READS.replace("\n", "|").strip("|").split("|"):
            args = words.format(**named).split()
            for name in ("a", "b") if own == OWN else ("a",):
                folder = str(two.top / name)
                for more in ((), ("--json",)):
                    done = two.worker("-C", folder, *args, *more, "--session", two.sessions[name])
                    assert done.code in (0, 7), (args, done)
                    assert "@~" not in done.out + done.err, (args, done)

    shown("status:main@2")
    two.meet()
    shown(OWN)
    for name in ("a", "b"):
        rows = two.at(name, "log", "-n", "50").data["items"]
        subjects = {row["subject"].partition(" (")[0] for row in rows}
        assert f"correction: retract {OWN}" in subjects
    two.holds()


def test_a_write_that_is_parked_shows_what_it_named(two: Two) -> None:
    (two.top / "x.md").write_text("built on it\n")
    put = ("artifact", "put", "x", str(two.top / "x.md"))
    two.away(*put, "--relies-on", "status:main@2")
    two("b", *put)
    two("b", "status", "write", "-m", "the words of b")
    two("a", "sync", code=3)
    (row,) = two("a", "parked").data["items"]
    shown = two("a", "parked", "show", row["operation"])
    assert shown.data["records"][0]["relies_on"] == [OWN]
    assert two("a", "show", OWN).data["session"] == two.sessions["a"]
    two.holds()

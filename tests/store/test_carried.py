"""What two clones say in the status, with real git: whatever order they write and publish in, no
section's last text is out of the head or of what it names, and each loser was stopped or told."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from ..conftest import Atlas, Git, Result
from .conftest import At
from .crew import Worker


@pytest.fixture
def clones(hub: Path, at: At, git: Git, tmp_path: Path) -> dict[str, str]:
    """Two clones of a hub, each with a session of its own."""
    sessions = {}
    for name in ("a", "b"):
        git("clone", "-q", str(hub), name, cwd=tmp_path)
        done = at(name, "begin", "--goal", f"work of {name}", "--new")
        assert done.code == 0, done
        sessions[name] = done.data["id"]
    return sessions


def test_two_that_end_offline_both_stand_and_the_second_says_what_it_had_not_seen(
    clones: dict[str, str], at: At, hub: Path
) -> None:
    away = hub.rename(hub.with_name("away"))
    for name, id in clones.items():
        assert at(name, "end", "-m", f"the word of {name}", "--session", id).code == 0
    away.rename(hub)
    for name in ("a", "b", "a"):
        assert at(name, "sync").code == 0
    shown = at("a", "status")
    assert {"the word of a", "the word of b"} <= {part["body"] for part in shown.data["sections"]}
    (late,) = [part for part in shown.data["sections"] if part["session"] == clones["b"]]
    assert late["unseen"] == ["status:main@2"] and late["ref"] == "status:main@3"
    for name, id in clones.items():
        assert at(name, "parked").data["total"] == 0
        assert at(name, "session", "show", id).data["ended"]
        assert at(name, "verify", "--full").code == 0


@pytest.mark.parametrize("seed", range(3))
def test_no_text_is_lost_however_they_write_and_publish(
    clones: dict[str, str], at: At, hub: Path, seed: int
) -> None:
    chance = random.Random(seed)
    last: dict[tuple[str, str], str] = {}
    for number in range(10):
        name = chance.choice("ab")
        if chance.random() < 0.3:
            assert at(name, "sync").code == 0
            continue
        heading, text = chance.choice(["P", "Q"]), f"text {number}"
        own = ("--session", clones[name], "--section", heading, "--offline")
        done = at(name, "status", "write", "-m", text, *own)
        assert done.code in (0, 3), done
        if done.code == 3:  # the loser is told, and keeps its text
            assert Path(done.json["error"]["details"]["draft"]).exists()
            at(name, "status", "--session", clones[name])
        else:
            written = [key for key, old in last.items() if key[1] == heading and key[0] != name]
            before = {part["body"] for part in at(name, "status").data["sections"]}
            for key in written:
                if last[key] not in before and done.data["section"] == heading:
                    del last[key]  # it was read there, and written over
            last[name, heading] = text
    for name in ("a", "b", "a"):
        assert at(name, "sync").code == 0
    texts = {part["body"] for part in at("a", "status").data["sections"]}
    assert set(last.values()) <= texts
    assert at("a", "parked").data["total"] == at("b", "parked").data["total"] == 0
    assert at("b", "verify", "--full").code == 0


def test_a_whole_text_is_parked_when_others_wrote_and_lost_for_nobody(
    clones: dict[str, str], at: At
) -> None:
    whole = ("--replace", "--session", clones["a"], "--offline")
    assert at("a", "status", "write", "-m", "All of it.", *whole).code == 0
    assert at("b", "status", "write", "-m", "b", "--session", clones["b"]).code == 0
    at("a", "sync")
    (row,) = at("a", "parked").data["items"]
    again = at("a", "parked", "take", row["operation"], "--session", clones["a"])
    assert again.code == 3 and again.json["error"]["code"] == "version_jump"
    assert "All of it." in Path(again.json["error"]["details"]["draft"]).read_text()


def test_a_malformed_entry_by_hand_takes_nobody_down_and_a_good_one_is_said_to_be_by_hand(
    clones: dict[str, str], at: At, git: Git, hub: Path, tmp_path: Path
) -> None:
    work = tmp_path / "hand"
    git("clone", "-q", "-b", "atlas", str(hub), "hand", cwd=tmp_path)
    entry = work / "status/main/000/000002.md"
    entry.write_text("---\nstream: [main\n---\nx\n")
    git("add", ".", cwd=work)
    git("commit", "-qm", "by hand", cwd=work)
    git("push", "-q", "origin", "HEAD:atlas", cwd=work)
    assert at("a", "sync").code == 0
    shown = at("a", "status", "--session", clones["a"])
    assert shown.code == 0 and shown.data["number"] == 1
    assert any("status:main@2 cannot be read" in line for line in shown.json["notices"])
    log = at("a", "status", "log")
    assert [row["number"] for row in log.data["items"]] == [1]
    assert "000002.md" in str(log.json["notices"])
    done = at("a", "status", "write", "-m", "on", "--session", clones["a"])
    assert done.code == 0 and done.data["number"] == 3
    git("pull", "-q", "--rebase", "origin", "atlas", cwd=work)
    good = f"---\nstream: main\nnumber: 4\nsession: {clones['b']}\nactor: b\n"
    entry = entry.with_name("000004.md")
    entry.write_text(f"{good}at: 2026-11-29T14:00:00Z\n---\n## Forged\n\nwords\n")
    git("add", ".", cwd=work)
    git("commit", "-qm", "by hand", cwd=work)
    git("push", "-q", "origin", "HEAD:atlas", cwd=work)
    at("a", "sync")
    (part,) = at("a", "status", "--session", clones["a"]).data["sections"]
    assert (part["session"], part["by_hand"], part["operation"]) == (clones["b"], True, "")
    assert at("a", "end", "-m", "done", "--session", clones["a"]).code == 0
    hand = [part for part in at("a", "status").data["sections"] if part["by_hand"]]
    assert [part["heading"] for part in hand] == ["Forged"]


def test_an_operation_that_another_clone_had_used_swallows_nothing(
    clones: dict[str, str], at: At
) -> None:
    def say(name: str, operation: str, *words: str) -> Result:
        asked = (*words, "--operation", operation, "--session", clones[name])
        return at(name, *asked)

    # asked for under the id of what the clone does not know of yet: refused as it would be at home
    assert say("a", "op-0", "status", "write", "-m", "one").code == 0
    assert say("a", "op-1", "lease", "take", "gpu0", "--why", "w").code == 0
    for done in (
        say("b", "op-0", "status", "write", "-m", "typed"),
        say("b", "op-1", "lease", "take", "gpu0", "--why", "w"),
    ):
        assert (done.code, done.json["error"]["code"]) == (6, "operation_reused"), done
    kept = at("b", "drafts", "--session", clones["b"]).data["items"]
    assert [row["session"] for row in kept] == [clones["b"]]
    assert at("b", "parked").data["items"] == []
    # recorded while nobody could know: a word stands all the same, another write is parked
    assert say("a", "op-2", "status", "write", "-m", "two").code == 0
    assert say("a", "op-3", "decision", "add", "x", "--why", "w").code == 0
    assert say("b", "op-2", "status", "write", "-m", "of b", "--offline").code == 0
    assert say("b", "op-3", "decision", "add", "y", "--why", "w", "--offline").code == 0
    assert (at("b", "sync").code, at("a", "sync").code) == (3, 0)
    assert {part["body"] for part in at("a", "status").data["sections"]} >= {"two", "of b"}
    assert [row["operation"] for row in at("b", "parked").data["items"]] == ["op-3"]
    assert at("b", "verify", "--full").code == 0


@pytest.mark.parametrize("word", [("status", "write"), ("end",)])
def test_a_word_stops_for_what_concerns_its_writer_whether_or_not_the_clone_has_fetched_it(
    clones: dict[str, str], at: At, word: tuple[str, ...]
) -> None:
    def say(name: str, *args: str) -> Result:
        return at(name, *args, "--session", clones[name])

    errors = []
    for number, fetched in enumerate((True, False)):
        own, other = ("--on", f"x{number}.py"), ("--on", "other.py")
        assert say("b", "status", "write", "-m", f"the rate is {number}", *own).code == 0
        if fetched:
            assert at("a", "sync").code == 0
        stop = say("a", *word, "-m", "mine", *own)
        assert (stop.code, at("a", "parked").data["total"]) == (3, 0)
        errors.append(stop.json["error"]["message"].replace(f"x{number}", "x"))
        assert f"the rate is {number}" in str(stop.json["error"]["details"]["since"])
        assert say("b", "status", "write", "--section", "Docs", "-m", f"{number}", *other).code == 0
        if fetched:
            assert at("a", "sync").code == 0
        for how in (("status", "write"), ("end",)):
            stop = say("a", *how, "--unchanged", "it holds")
            assert (stop.code, stop.json["error"]["code"]) == (3, "version_jump")
        assert say("a", "status", "write", "-m", "on another file", "--on", "mine.py").code == 0
    first, second = (re.sub(r"@?\b[0-9]+\b", "N", error) for error in errors)
    assert first == second
    assert at("b", "verify", "--full").code == 0


def test_what_a_dead_command_left_parked_is_not_put_over_what_its_session_wrote_since(
    clones: dict[str, str], at: At, atlas: Atlas, tmp_path: Path
) -> None:
    mine = ("--session", clones["a"])
    own = ("status", "write", "--section", "Own", *mine, "-m")
    at("b", "status", "write", "--section", "B", "-m", "theirs", "--session", clones["b"])
    killed = atlas(*own, "killed", cwd=tmp_path / "a", ATLAS_FAULT="after_carry:kill")
    assert killed.code not in range(11), killed
    assert at("a", *own, "newer").code == 0
    (parked,) = at("a", "parked", "list").data["items"]
    stop = at("a", "parked", "take", parked["operation"], *mine)
    assert (stop.code, "newer text of that section" in stop.json["error"]["message"]) == (3, True)
    draft = Path(stop.json["error"]["details"]["draft"])
    assert draft.read_text().strip() == "killed"
    texts = {part["heading"]: part["body"] for part in at("a", "status").data["sections"]}
    assert texts["Own"] == "newer"


def test_a_warning_until_a_lease_is_over_stays_over_whatever_the_clocks_say(
    clones: dict[str, str], at: At, worker: Worker, tmp_path: Path
) -> None:
    """Another clone takes the lease in the minute by which the clocks of both may differ."""

    def do(name: str, seconds: int, *args: str) -> Result:
        own = ("--session", clones[name])
        env = {"ATLAS_CLOCK_OFFSET": str(seconds)}
        done = worker(*args, *own, "--json", cwd=tmp_path / name, env=env)
        assert done.code == 0, done
        return done

    def warned(name: str, seconds: int) -> bool:
        return "hands off" in str(do(name, seconds, "status").data)

    take = ("lease", "take", "gpu0", "--why", "w")
    do("b", 0, *take)
    write = ("status", "write", "-m", "it is mine", "--warn", "hands off", "--until")
    do("b", 5, *write, "lease:gpu0")
    do("b", 6, "lease", "renew", "gpu0")
    do("b", 6, "status", "write", "-m", "it is mine still")
    do("a", 7, "sync")
    assert warned("a", 7) and warned("b", 7)
    do("b", 10, "lease", "release", "gpu0")
    do("a", 12, "sync")
    assert not warned("a", 12)
    do("a", 3, *take)  # before it was said, by a clock that is behind
    do("b", 16, "sync")
    assert not (warned("a", 16) or warned("b", 16) or warned("a", 3000))
    do("a", 17, "status", "write", "-m", "behind it")
    assert "hands off" not in str(do("a", 17, "status", "show").data)
    assert at("a", "verify", "--full").code == 0

"""`who` and `begin --on` know what the remote has and this clone does not: it is fetched into a
place of its own, briefly, or the answer says how old the copy is."""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from atlas_cli.sharing.code import FETCH, REFS, refspecs

from .crew import Worker
from .fleet import Fleet, done
from .snap import difference, picture

AHEAD = "(pushed, not in this clone yet)"


class Two(NamedTuple):
    """Two clones, a worker in `a`, and what it asks."""

    fleet: Fleet
    worker: Worker
    env: dict[str, str]

    def push(self, subject: str, path: str = "src/x.py", branch: str = "main") -> None:
        """A commit of b's session, on the remote."""
        file = self.fleet.top / "b" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            "\n".join([*map(str, random.Random(1).sample(range(10**9), 2000)), subject])
        )
        message = f"{subject}\n\nAtlas-Session: {self.fleet.sessions['b']}"
        self.fleet.git("b", "add", "."), self.fleet.git("b", "commit", "-qnm", message)
        self.fleet.git("b", "push", "-q", "--no-verify", "origin", f"HEAD:{branch}")

    def ask(self, *argv: str, later: bool = True) -> Any:
        """The envelope of a command; `later`: a minute has passed."""
        state = self.fleet.top / "a/.git/atlas/code.json"
        if later and state.exists():
            known = json.loads(state.read_text())["remotes"]
            for row in known.values():
                row["asked"] = 0
            state.write_text(json.dumps({"remotes": known}))
        return done(self.worker(*argv, "--json", env=self.env)).json

    def who(self, path: str = "src/x.py", later: bool = True) -> list[tuple[str, str, str]]:
        """Each row that is a commit: whether it is said to be ahead, by whom, and its subject."""
        rows = self.ask("who", path, later=later)["data"]["items"]
        return [
            (row["what"].partition(" (")[2], row["who"], row["text"])
            for row in rows
            if row["what"].startswith("commit ")
        ]

    def old(self, *argv: str, later: bool = True) -> list[str]:
        """The notices on the age of the code."""
        notices = self.ask(*argv, later=later)["notices"]
        return [line for line in notices if "copy of origin's code" in line]


@pytest.fixture
def two(pair: Fleet, tmp_path: Path) -> Iterator[Two]:
    fleet = pair.copied(tmp_path / "fleet")
    env = fleet.env | {"XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path)}
    for clone in ("a", "b"):
        fleet.git(clone, "pull", "-q", "origin", "main")
    with fleet.crew(["a"]) as [worker]:
        yield Two(fleet, worker, env)


def alive(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def row(two: Two, subject: str) -> tuple[str, str, str]:
    return (AHEAD[1:], two.fleet.sessions["b"], subject)


def test_a_commit_that_is_not_fetched_is_seen_and_nothing_of_the_users_moves(two: Two) -> None:
    a = two.fleet.top / "a"
    before = picture(a)
    assert two.who() == []
    two.push("the parser, faster")
    assert two.who(later=False) == [], "not asked twice in a minute"
    assert two.who() == [row(two, "the parser, faster")]
    (named,) = [
        item
        for item in two.ask("begin", "--on", "src/x.py")["data"]["on"]
        if item["what"].startswith("commit")
    ]
    assert AHEAD in named["what"] and named["who"] == two.fleet.sessions["b"]
    assert two.who("src/y.py") == []
    assert difference(before, picture(a)) == []
    assert two.fleet.git("a", "for-each-ref").count("\n") == 1, "main, and the remote's main"
    two.fleet.git("a", "fetch", "-q")
    assert two.who() == [("", two.fleet.sessions["b"], "the parser, faster")]


def test_begin_fetches_by_itself_and_other_branches_count(two: Two) -> None:
    two.push("on another branch", branch="theirs")
    names = [item["what"] for item in two.ask("begin", "--on", "src/x.py")["data"]["on"]]
    assert [AHEAD in name for name in names if name.startswith("commit")] == [True]


def test_what_a_branch_drops_is_forgotten(two: Two) -> None:
    two.push("first try")
    assert two.who() == [row(two, "first try")]
    two.fleet.git("b", "reset", "-q", "--hard", "HEAD^")
    two.fleet.git("b", "push", "-qf", "--no-verify", "origin", "HEAD:main")
    assert two.who() == []
    two.push("a branch", branch="theirs")
    assert two.who() == [row(two, "a branch")]
    two.fleet.git("hub.git", "branch", "-D", "theirs")
    assert two.who() == []


def test_a_file_that_was_renamed_here_is_the_same_there(two: Two) -> None:
    two.fleet.git("a", "mv", "x.py", "y.py"), two.fleet.git("a", "commit", "-qnm", "renamed")
    two.push("under the old name", "x.py")
    assert row(two, "under the old name") in two.who("y.py")


def test_a_remote_that_is_away_leaves_the_age(two: Two) -> None:
    two.push("seen before")
    assert two.old("who", "src/x.py") == []
    (two.fleet.top / "hub.git").rename(two.fleet.top / "gone.git")
    (two.fleet.top / "a/.git/atlas/sync.json").unlink(missing_ok=True)
    for argv in (("who", "src/x.py"), ("begin", "--on", "src/x.py")):
        (line,) = two.old(*argv)
        assert " old (" in line and line.endswith("git fetch"), line
        assert two.old(*argv, later=False), "a minute later it is still not known"
    assert two.who() == [row(two, "seen before")], "what was brought stays"


def test_a_copy_that_is_old_says_so_where_nobody_asks_the_remote(two: Two) -> None:
    a = two.fleet.top / "a/.git"
    for file in [
        a / "FETCH_HEAD",
        *(a / "refs/remotes/origin").rglob("*"),
        a / "refs/remotes/origin",
    ]:
        if file.exists():
            os.utime(file, (1, 1))
    (line,) = two.old("who", "src/x.py", "--offline")
    assert "git fetch" in line
    assert two.old("who", "src/x.py") == []


@pytest.mark.parametrize("term", ["", "trap '' TERM"], ids=["ends", "ends not"])
def test_a_remote_that_hangs_is_given_up_after_three_seconds_with_its_children(
    two: Two, term: str, tmp_path: Path
) -> None:
    script = tmp_path / "hang"
    script.write_text(
        f"#!/bin/sh\n{term}\nsleep 300 &\necho $$ $! >> {tmp_path}/pids\nwait; sleep 300\n"
    )
    script.chmod(0o755)
    two.ask("sync")  # the store's copy is fresh, whenever the fleet was made: it is not asked
    (tmp_path / ".gitconfig").write_text(f'[remote "origin"]\n\tuploadpack = {script}\n')
    began = time.monotonic()
    (line,) = two.old("who", "src/x.py")
    spent = time.monotonic() - began
    assert FETCH - 0.5 < spent < FETCH + 20 and "git fetch" in line  # (others are at work here)
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) == 2 and not any(map(alive, pids))
    assert two.old("who", "src/x.py", later=False)
    assert (tmp_path / "pids").read_text().split() == pids, "and not asked again at once"


def test_what_takes_longer_is_brought_while_nobody_waits_by_one_process(
    two: Two, tmp_path: Path
) -> None:
    script, state = tmp_path / "slow", two.fleet.top / "a/.git/atlas/code.json"
    script.write_text(
        f"#!/bin/sh\necho counting >&2\necho $$ >> {tmp_path}/pids\nsleep 7\n"
        'exec git-upload-pack "$@"\n'
    )
    script.chmod(0o755)
    two.push("behind a slow line")
    two.ask("status")
    (tmp_path / ".gitconfig").write_text(f'[remote "origin"]\n\tuploadpack = {script}\n')
    (line,) = two.old("who", "src/x.py")
    assert " old (more than 3 s are needed: it is fetched meanwhile)" in line
    (still,) = two.old("who", "src/x.py")
    assert still.partition(" (")[2] == line.partition(" (")[2], "another is still at it"
    for _ in range(300):
        if json.loads(state.read_text())["remotes"]["origin"]["why"] == "":
            break
        time.sleep(0.1)
    assert two.who(later=False) == [row(two, "behind a slow line")]
    assert len((tmp_path / "pids").read_text().split()) == 2
    script.write_text("#!/bin/sh\necho counting >&2\nsleep 4\nexit 1\n")
    assert two.old("who", "src/x.py")
    for _ in range(300):
        known = json.loads(state.read_text())["remotes"]["origin"]
        if "meanwhile" not in known["why"]:
            break
        time.sleep(0.1)
    assert known["rest"] > time.time() + 500, "and none for ten minutes after one that failed"
    assert "meanwhile" not in two.old("who", "src/x.py")[0]


def test_a_remote_that_gave_the_store_no_answer_is_not_waited_for_twice(
    two: Two, tmp_path: Path
) -> None:
    script = tmp_path / "hang"
    script.write_text(f"#!/bin/sh\necho asked >> {tmp_path}/asked\nexec sleep 300\n")
    script.chmod(0o755)
    (tmp_path / ".gitconfig").write_text(f'[remote "origin"]\n\tuploadpack = {script}\n')
    (two.fleet.top / "a/.git/atlas/sync.json").unlink(missing_ok=True)
    assert two.old("begin", "--on", "src/x.py")
    assert (tmp_path / "asked").read_text() == "asked\n"


def test_a_broken_copy_is_made_anew(two: Two) -> None:
    two.push("one"), two.who()
    copy = two.fleet.top / "a/.git/atlas/code.git"
    shutil.rmtree(copy / "objects/pack")
    assert two.who(later=False) == [] and not copy.exists()
    assert two.who(later=False) == [row(two, "one")]
    for file in ("HEAD", "objects/info/alternates", "packed-refs", "config"):
        (copy / file).unlink(missing_ok=True)
        (copy / file).write_text("spoilt\n")
        two.push(file)
        assert any(row(two, file) in two.who(later=bool(again)) for again in (1, 0, 1)), file


def test_what_a_killed_fetch_left_is_swept(two: Two) -> None:
    two.push("one"), two.who()
    copy = two.fleet.top / "a/.git/atlas/code.git"
    left = [copy / "refs/atlas/code/origin/main.lock", copy / "objects/pack/tmp_pack_x"]
    for file in left:
        file.touch()
        os.utime(file, (1, 1))
    two.push("two")
    assert row(two, "two") in two.who()
    assert not any(file.exists() for file in left)


def test_many_fetches_leave_few_packs(two: Two) -> None:
    packs = two.fleet.top / "a/.git/atlas/code.git/objects/pack"
    for count in range(21):
        two.push(f"number {count}"), two.who()
    for _ in range(100):
        if len(list(packs.glob("*.pack"))) < 5:
            break
        time.sleep(0.1)
    assert len(list(packs.glob("*.pack"))) < 5
    assert len(two.who()) == 10, "the newest ten"


def test_shallow_and_partial_clones_see_it_too(two: Two) -> None:
    fleet = two.fleet
    for count in range(3):
        two.push(f"before {count}")
    fleet.git("hub.git", "config", "uploadpack.allowFilter", "true")
    url = f"file://{fleet.top}/hub.git"
    fleet.git(".", "clone", "-q", "--depth=1", "-b", "main", url, "shallow")
    part = ("--filter=blob:none", "--no-checkout")
    fleet.git(".", "clone", "-q", *part, "-b", "main", url, "partial")
    fleet.git(".", "clone", "-q", "--mirror", url, "mirror")
    two.push("after")
    two.fleet.git("b", "mv", "src/x.py", "src/z.py")
    two.push("moved and after", "src/z.py")
    for clone in ("shallow", "partial", "mirror"):
        words = ("-C", str(fleet.top / clone))
        done(two.worker(*words, "begin", "--new", "--goal", "g", env=two.env))
        answer = done(two.worker(*words, "who", "src/x.py", "--json", env=two.env))
        rows = [item for item in answer.data["items"] if AHEAD in item["what"]]
        assert [item["text"] for item in rows] == ["moved and after", "after"], (clone, answer)


def test_each_worktree_asks_the_remote_that_its_branch_comes_from(two: Two) -> None:
    fleet, a = two.fleet, two.fleet.top / "a"
    fleet.git(".", "clone", "-q", "--bare", "hub.git", "fork.git")
    fleet.git("a", "remote", "add", "fo/rk", "../fork.git")
    (
        fleet.git("a", "branch", "-q", "forked"),
        fleet.git("a", "config", "branch.forked.remote", "fo/rk"),
    )
    two.push("to the hub")
    fleet.git("b", "reset", "-q", "--hard", "HEAD^")
    (
        fleet.git("b", "remote", "set-url", "origin", "../fork.git"),
        two.push("to the fork", branch="f"),
    )
    assert two.who() == [row(two, "to the hub")]
    fleet.git("a", "switch", "-q", "forked")
    both = [row(two, "to the fork"), row(two, "to the hub")]
    assert sorted(two.who(later=False)) == both, "another remote was not asked yet"
    fleet.git("a", "switch", "-q", "main")
    asked = (a / ".git/atlas/code.json").read_bytes()
    assert (
        sorted(two.who(later=False)) == both and (a / ".git/atlas/code.json").read_bytes() == asked
    )
    fleet.git("a", "remote", "remove", "fo/rk")
    assert two.who() == [row(two, "to the hub")]


def test_the_refspecs_are_those_of_the_users_fetch_without_what_holds_no_code() -> None:
    every, own = ["+refs/heads/*:refs/remotes/origin/*"], f"{REFS}o%2Fx/"
    store = "^refs/heads/atlas"
    assert refspecs("o/x", every, ["atlas"]) == [f"+refs/heads/*:{own}*", store]
    assert refspecs("o/x", [], ["atlas", "x/atlas-*"]) == [
        f"+refs/heads/*:{own}*",
        store,
        "^refs/heads/x/atlas-*",
    ]
    assert refspecs("o/x", ["+refs/*:refs/*"], ["atlas"]) == [f"+refs/heads/*:{own}*", store]
    only = ["refs/heads/main:refs/remotes/o/main", "next", "^refs/heads/old", "refs/pull/*:x/*"]
    assert refspecs("o/x", only, ["atlas"]) == [
        f"+refs/heads/main:{own}main",
        f"+refs/heads/next:{own}next",
        "^refs/heads/old",
        store,
    ]

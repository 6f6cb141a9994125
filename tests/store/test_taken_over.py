"""Sessions that are taken over from another clone, and the signs of life that meet it: a principal
may adopt any session, and a sign of life that others were faster than is dropped."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ..conftest import Git, Result
from .crew import Worker


class Two(NamedTuple):
    """Two clones of a hub. In `a` worker-a is at work; in `b` are boss, whom the policy names as a
    principal, and peer."""

    worker: Worker
    top: Path
    ids: dict[str, str]

    def __call__(self, who: str, *args: str, code: int = 0, hours: float = 0, **env: str) -> Result:
        place = "a" if who == "worker-a" else "b"
        named = ("--session", self.ids[who]) if who in self.ids else ()
        if hours:
            env["ATLAS_CLOCK_OFFSET"] = str(int(hours * 3600))
        argv = ("-C", str(self.top / place), *args, *named, "--json")
        done = self.worker(*argv, env=env or None)
        assert done.code == code, done
        return done

    def subjects(self, who: str) -> list[str]:
        """What stands in the history of a clone, by whomever."""
        place = "a" if who == "worker-a" else "b"
        done = self.worker("-C", str(self.top / place), "log", "-n", "50", "--json")
        return [row["subject"] for row in done.data["items"]]

    def row(self, who: str, of: str, hours: float = 0) -> dict[str, Any]:
        data: dict[str, Any] = self(who, "session", "show", self.ids[of], hours=hours).data
        return data


@pytest.fixture
def two(hub: Path, worker: Worker, git: Git, tmp_path: Path) -> Two:
    git("clone", "-q", str(hub), "a", cwd=tmp_path)
    git("clone", "-q", str(hub), "b", cwd=tmp_path)
    found = Two(worker, tmp_path, {})
    for who in ("worker-a", "boss", "peer"):
        begun = found(who, "begin", "--goal", f"work of {who}", "--new", "--actor", who)
        found.ids[who] = begun.data["id"]
    found("boss", "config", "set", "principals", '["boss"]')
    return found


def test_a_principal_adopts_a_session_that_is_at_work_and_has_its_work(two: Two) -> None:
    taken = two("worker-a", "lease", "take", "gpu0", "--why", "w").data
    task = two("worker-a", "task", "add", "measure").data["id"]
    claim = two("worker-a", "task", "claim", task).data
    file = two.top / "x.md"
    file.write_text("work that owes a word\n")
    two("worker-a", "artifact", "put", "x", str(file))
    two("boss", "sync")
    assert two.row("boss", "worker-a")["state"] == "live"
    adopt = ("session", "adopt", two.ids["worker-a"], "--why", "I need it now")
    stop = two("peer", *adopt, code=4).json["error"]
    assert stop["code"] == "held" and "a principal may adopt any" in stop["hint"]
    done = two("boss", *adopt).data
    assert (done["leases"], done["tasks"]) == (["gpu0"], [task])

    lease = two("boss", "lease", "show", "gpu0").data
    assert lease["holder"] == two.ids["boss"] and lease["token"] > taken["token"]
    row = two("boss", "task", "show", task).data
    assert row["claim"]["session"] == two.ids["boss"] and row["token"] != claim["token"]
    assert two.row("boss", "worker-a")["adopted_by"] == two.ids["boss"]
    # Its debt is the principal's: without a word it cannot end, with one nothing is unfinished.
    assert two("boss", "end", code=5).json["error"]["code"] == "write_last"
    two("boss", "task", "done", task, "-m", "measured")
    two("boss", "status", "write", "-m", "what worker-a had done")
    assert two.ids["worker-a"] not in str(two("peer", "digest").data["unfinished"])

    # The adopted one is refused whatever it writes, and told by whom and why; its clone learns of
    # it as it publishes, and neither records nor parks the write.
    for args in (
        ("status", "write", "-m", "still here"),
        ("lease", "renew", "gpu0"),
        ("task", "done", task, "-m", "me too"),
        ("end", "-m", "done"),
    ):
        error = two("worker-a", *args, code=5).json["error"]
        assert error["code"] == "adopted"
        assert two.ids["boss"] in error["message"] and "I need it now" in error["message"]
    assert "still here" not in str(two("boss", "status").data)
    assert two("worker-a", "parked").data["total"] == 0
    assert two("worker-a", "status", "write", "-m", "kept", code=5).json["error"]["details"][
        "draft"
    ]
    for who in ("worker-a", "boss"):
        two(who, "verify", "--full")


@pytest.mark.parametrize("known", ["pushed", "marked", "nowhere"])
def test_commits_of_another_clone_are_owed_for_as_far_as_they_are_known(
    known: str, two: Two, git: Git, env: dict[str, str]
) -> None:
    left = two.ids["worker-a"]
    message = f"x\n\nAtlas-Session: {left}\nAtlas-Word: none"
    git("commit", "-q", "--allow-empty", "-m", message, cwd=two.top / "a")
    if known == "pushed":
        git("push", "-q", "origin", "HEAD:feature", cwd=two.top / "a")
    if known == "marked":  # the push is refused, and the clone is gone
        hook = two.top / "hub.git/hooks/update"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text('#!/bin/sh\n[ "$1" != refs/heads/main ]\n')
        hook.chmod(0o755)
        path = f"{Path(sys.executable).parent}:{env['PATH']}"
        argv, named = ("git", "push", "origin", "HEAD:main"), {"PATH": path, "ATLAS_SESSION": left}
        assert subprocess.run(argv, cwd=two.top / "a", env=env | named, check=False).returncode == 1
    two("boss", "sync")
    two("boss", "session", "adopt", left, "--why", "its machine is gone")
    if known == "nowhere":
        assert two("boss", "end").data["unseen"] == [left]
        return
    stop = two("boss", "end", code=5).json["error"]
    assert stop["code"] == "write_last" and "speaks of 1 commit" in stop["message"]
    assert two("boss", "end", "-m", "It made x.").data["unseen"] == []


def test_what_was_written_offline_before_it_was_adopted_stands(two: Two) -> None:
    two("worker-a", "lease", "take", "gpu0", "--why", "w")
    two("worker-a", "status", "write", "-m", "half done", "--offline")
    two("worker-a", "lease", "release", "gpu0", "--offline")
    adopt = ("session", "adopt", two.ids["worker-a"], "--why", "it is silent there")
    two("boss", *adopt, hours=0.1)
    two("worker-a", "sync")
    assert two("worker-a", "parked").data["items"] == [], "a lease given back is no text to keep"
    two("boss", "sync")
    assert two("boss", "lease", "show", "gpu0").data["holder"] == two.ids["boss"]
    assert "half done" in {part["body"] for part in two("boss", "status").data["sections"]}
    for who in ("worker-a", "boss"):
        two(who, "verify", "--full")


def test_what_was_written_offline_after_it_was_adopted_is_parked_and_its_text_a_draft(
    two: Two,
) -> None:
    adopt = ("session", "adopt", two.ids["worker-a"], "--why", "it is silent there")
    two("boss", *adopt)
    two("worker-a", "status", "write", "-m", "not aware of it", "--offline", hours=0.1)
    two("worker-a", "signal", "post", "finding", "-m", "nor this", "--offline", hours=0.1)
    two("worker-a", "sync", code=3)
    assert two("worker-a", "parked").data["total"] == 1, "the word is none that could be taken"
    (draft,) = two("worker-a", "drafts").data["items"]
    assert (two.top / "a" / draft["file"]).read_text() == "not aware of it"
    assert draft["session"] == two.ids["worker-a"] and "--base " in draft["submit"]
    two("boss", "sync")
    assert "not aware" not in str(two("boss", "status").data)
    row = two("worker-a", "parked").data["items"][0]
    assert two("worker-a", "parked", "show", row["operation"]).data["records"]
    for who in ("worker-a", "boss"):
        two(who, "verify", "--full")


def test_a_word_is_not_parked_with_the_lease_that_another_has_by_now(two: Two) -> None:
    two("worker-a", "lease", "take", "gpu0", "--why", "w", "--for", "5m")
    two("peer", "lease", "take", "gpu0", "--why", "mine", hours=0.2)
    two("worker-a", "end", "-m", "the last of a", "--offline", hours=0.3)
    two("worker-a", "sync", hours=0.3)
    two("peer", "sync", hours=0.3)
    assert "the last of a" in str(two("peer", "status", hours=0.3).data)
    assert "ended" in two.row("peer", "worker-a", hours=0.3)
    assert two("peer", "lease", "show", "gpu0", hours=0.3).data["holder"] == two.ids["peer"]
    two("peer", "verify", "--full", hours=0.3)


def test_a_result_that_cannot_be_taken_is_a_draft_and_its_session_unfinished(
    two: Two, git: Git
) -> None:
    task = two("peer", "task", "add", "measure").data["id"]
    two("worker-a", "sync")
    two("worker-a", "task", "claim", task)
    trailers = f"Atlas-Session: {two.ids['worker-a']}\nAtlas-Word: none"
    git("commit", "-q", "--allow-empty", "-m", f"work\n\n{trailers}", cwd=two.top / "a")
    two("peer", "task", "claim", task, hours=1.2)
    two("worker-a", "task", "done", task, "-m", "it came to 7", "--offline", hours=1.3)
    two("worker-a", "end", "--offline", hours=1.3)
    two("worker-a", "sync", code=3, hours=1.3)
    assert two("worker-a", "parked", hours=1.3).data["items"] == []
    (draft,) = two("worker-a", "drafts", hours=1.3).data["items"]
    assert (two.top / "a" / draft["file"]).read_text().strip() == "it came to 7"
    unfinished = two("worker-a", "digest", hours=1.3).data["unfinished"]
    assert [row["id"] for row in unfinished] == [two.ids["worker-a"]]


def test_a_lease_that_stays_with_its_command_is_given_back_by_it(two: Two) -> None:
    """Also where the clone of the command has not heard of the adoption."""
    script = two.top / "adopt.py"
    argv = ["session", "adopt", two.ids["worker-a"], "--why", "w", "--session", two.ids["boss"]]
    script.write_text(
        "import subprocess, sys\n"
        f"argv = [sys.executable, '-m', 'atlas_cli', '-C', {str(two.top / 'b')!r}, *{argv!r}]\n"
        "sys.exit(subprocess.run(argv).returncode)\n"
    )
    run = ("lease", "run", "rig", "--why", "w")
    argv = [*run, "--session", two.ids["worker-a"], "--", sys.executable, str(script)]
    done = two.worker("-C", str(two.top / "a"), *argv)
    assert done.code == 0, done
    two("boss", "sync")
    assert two.row("boss", "worker-a")["adopted_by"] == two.ids["boss"]
    row = two("boss", "lease", "show", "rig").data
    assert row["state"] == "free" or row["released"]
    assert two("worker-a", "parked").data["total"] == 0


@pytest.mark.parametrize("how", ["ended", "person", "expired", "itself", "adopted"])
def test_a_principal_adopts_any_session_but_its_own_and_those_that_have_an_heir(
    two: Two, how: str
) -> None:
    wanted, hours, code = "worker-a", 0.0, 0
    if how == "ended":
        two("worker-a", "end", "-m", "done")
    elif how == "person":
        del two.ids["worker-a"]
        begun = two("worker-a", "begin", "--person", "--new", "--goal", "p", CODEX_THREAD_ID="")
        two.ids["worker-a"] = begun.data["id"]
    elif how == "expired":
        hours = 5.0
        two.ids["boss"] = two(
            "none", "begin", "--new", "--actor", "boss", "--goal", "later", hours=hours
        ).data["id"]
    elif how == "itself":
        wanted, code = "boss", 2
    else:
        two("boss", "session", "adopt", two.ids["worker-a"], "--why", "first")
        code = 6
    adopt = ("session", "adopt", two.ids[wanted], "--why", "w")
    two("boss", *adopt, code=code, hours=hours)
    if not code:
        assert two.row("boss", wanted, hours)["adopted_by"] == two.ids["boss"]
    two("boss", "verify", "--full", hours=hours)


def test_a_sign_of_life_that_conflicts_is_dropped_and_never_parked(two: Two) -> None:
    me, sign = two.ids["worker-a"], f"session: seen ({two.ids['worker-a']})"
    two("worker-a", "session", "list", "--offline", hours=1.1)
    assert sign in two.subjects("worker-a"), "an hour after the last one it is recorded"
    two("boss", "session", "adopt", me, "--why", "I need it now", hours=1.1)
    done = two("worker-a", "sync", hours=1.1)
    assert two("worker-a", "parked").data["total"] == 0 and "PARKED" not in str(done.json)
    assert sign not in two.subjects("worker-a") and sign not in two.subjects("boss")
    assert two.row("worker-a", "worker-a")["adopted_by"] == two.ids["boss"]
    for who in ("worker-a", "boss"):
        two(who, "verify", "--full")


def test_what_was_written_behind_a_dropped_sign_is_carried_over(two: Two) -> None:
    sign = f"session: seen ({two.ids['worker-a']})"
    two("worker-a", "session", "list", "--offline", hours=1.1)
    two("worker-a", "status", "write", "-m", "written behind it", "--offline", hours=1.1)
    two("boss", "session", "adopt", two.ids["worker-a"], "--why", "w", hours=1.2)
    two("worker-a", "sync", hours=1.2)
    assert two("worker-a", "parked").data["total"] == 0
    two("boss", "sync", hours=1.1)
    assert "written behind it" in {part["body"] for part in two("boss", "status").data["sections"]}
    assert sign not in two.subjects("boss")
    two("boss", "verify", "--full")


def test_a_sign_that_nothing_bars_is_carried_over_and_shows_elsewhere(two: Two) -> None:
    sign = f"session: seen ({two.ids['worker-a']})"
    two("worker-a", "session", "list", "--offline", hours=1.1)
    two("peer", "status", "write", "-m", "others write meanwhile")
    two("worker-a", "sync", hours=1.1)
    two("boss", "sync", hours=1.1)
    assert sign in two.subjects("boss") and "seen" in two.row("boss", "worker-a", 1.1)
    assert two("worker-a", "parked").data["total"] == 0

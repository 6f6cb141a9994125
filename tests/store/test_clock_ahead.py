"""A session that is dated ahead of the clock gets nothing that is exclusive, is told what helps,
and that helps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..conftest import DECISION, Result
from .crew import Worker
from .fleet import Fleet, done, fleet

DAY, HALF = {"ATLAS_CLOCK_OFFSET": "+86400"}, {"ATLAS_CLOCK_OFFSET": "+43200"}
WHY = ("--why", "w")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    return fleet(tmp_path_factory.mktemp("fleet") / "made", ["a", "b", "c"])


@pytest.fixture
def three(made: Fleet, tmp_path: Path) -> Iterator[list[Worker]]:
    with made.copied(tmp_path / "fleet").crew(["a", "b", "c"]) as workers:
        yield workers


def begun(worker: Worker, *more: str, env: dict[str, str] | None = DAY) -> Result:
    """A session begun by a clock like that, which goes on at the right time."""
    worker.session = None
    found = done(worker("begin", "--new", *more, "--json", env=env))
    worker.session = str(found.data["id"])
    return found


def stop(found: Result) -> str:
    """The next step of a refusal by the clock."""
    error = done(found, 6).json["error"]
    assert error["code"] == "clock" and "ahead of this machine's clock" in error["message"], error
    return str(error["hint"].partition("begin anew: ")[2].partition(";")[0])


def test_nothing_exclusive_is_got_by_it_and_beginning_anew_helps(three: list[Worker]) -> None:
    a, b, _ = three
    one = done(b("task", "add", "one", "--json")).data["id"]
    done(b("session", "offer", "--slots", "3"))
    begun(a)
    done(a("sync"))
    for words in (
        ["lease", "take", "gpu0", *WHY],
        ["lease", "run", "gpu0", *WHY, "--", "true"],
        ["task", "claim", one],
        ["task", "next", "--claim"],
        ["task", "assign", one, "--session", str(b.session)],
        ["session", "adopt", "x-261129-aaaaaa", *WHY],
    ):
        found = a("--json", *words)
        if words[1] != "adopt":
            assert stop(found) == "atlas begin --new"
    done(a("decision", *DECISION[1:]))  # what is not exclusive goes on
    done(b("lease", "take", "gpu0", *WHY)), done(b("task", "claim", one))
    assert stop(a("lease", "take", "gpu0", *WHY, "--json")), "before it is said who holds it"
    done(b("lease", "release", "gpu0")), done(b("task", "release", one))
    begun(a, env=None)
    done(a("lease", "take", "gpu0", *WHY)), done(a("task", "next", "--claim"))
    assert (
        done(b("lease", "take", "gpu0", *WHY, "--json"), 4).json["error"]["details"]["seconds_left"]
        <= 4 * 3600
    )
    assert done(a("verify", "--full"))


def test_what_was_had_by_a_clock_that_was_ahead_keeps_nobody_out(three: list[Worker]) -> None:
    a, b, c = three
    one, two = (done(b("task", "add", text, "--json")).data["id"] for text in ("one", "two"))
    begun(a)
    done(a("sync"))
    done(a("lease", "take", "gpu0", *WHY, env=DAY)), done(a("task", "claim", one, two, env=DAY))
    assert stop(a("lease", "renew", "gpu0", "--json")) and stop(a("task", "renew", one, "--json"))
    done(b("sync")), done(c("sync"))
    shown = done(b("lease", "show", "gpu0", "--json")).data
    assert (shown["state"], shown["seconds_left"]) == ("ahead", 0)
    assert done(b("lease", "list", "--json")).data["items"] == []
    assert "gpu0" not in done(b("who", "x.py")).out
    assert done(b("lease", "take", "gpu0", *WHY, "--json")).data["token"] == 2
    assert done(b("task", "claim", one, "--json")).data["claim"]["session"] == b.session
    assert done(c("task", "next", "--claim", "--json")).data["id"] == two
    done(a("sync")), done(b("verify", "--full")), done(a("verify", "--full"))


def test_less_than_a_minute_is_no_matter(three: list[Worker]) -> None:
    a, *_ = three
    begun(a, env={"ATLAS_CLOCK_OFFSET": "+55"})
    done(a("lease", "take", "gpu0", *WHY))
    begun(a, env={"ATLAS_CLOCK_OFFSET": "+70"})
    assert stop(a("lease", "take", "gpu1", *WHY, "--json"))


def test_a_child_and_a_person_begin_anew_in_their_own_way(three: list[Worker]) -> None:
    a, *_ = three
    parent = str(a.session)
    begun(a, "--parent", parent, env=HALF)
    assert (
        stop(a("lease", "take", "gpu0", *WHY, "--json")) == f"atlas begin --new --parent {parent}"
    )
    nobody = {"CODEX_THREAD_ID": ""}
    a.session = None
    first = done(a("begin", "--person", "--json", env={**HALF, **nobody})).data["id"]
    a.session = first
    assert (
        stop(a("lease", "take", "gpu0", *WHY, "--json", env=nobody)) == "atlas begin --new --person"
    )
    a.session = None
    again = done(a("begin", "--new", "--person", "--json", env=nobody)).data
    assert again["id"] != first and not again["continued"]
    a.session = again["id"]
    done(a("lease", "take", "gpu0", *WHY, env=nobody))
    a.session = None
    assert done(a("begin", "--person", "--json", env=nobody)).data["id"] == again["id"], (
        "one stands at a time"
    )
    a.session = again["id"]
    done(a("end", "-m", "w", env={**HALF, **nobody}))
    a.session = None  # it has ended at a moment that is still to come, and is over
    assert done(a("begin", "--person", "--json", env=nobody)).data["id"] != again["id"]


def test_begin_says_what_the_newest_commits_tell_of_a_clock(three: list[Worker]) -> None:
    a, b, c = three
    quiet = done(c("begin", "--json")).json["notices"]
    assert not any("clock" in line for line in quiet), quiet
    said = begun(a).json["notices"]
    assert told("no other machine has written for .*; where one has, the clock is ahead", said), (
        said
    )
    again = done(a("begin", "--json")).json["notices"]
    assert told("is dated 2[34] h.* ahead of its clock now", again), again
    done(b("sync")), done(b(*DECISION)), done(a("sync"))
    behind = done(a("begin", "--json", env=DAY)).json["notices"]
    assert told("was ahead by 2[34] h.* or more when it wrote last: 1 other machine", behind), (
        behind
    )


def test_what_came_since_a_clone_asked_tells_of_its_clock_though_it_wrote_nothing(
    three: list[Worker],
) -> None:
    a, b, c = three
    ahead = {"ATLAS_CLOCK_OFFSET": "+3000"}  # (within the hour, no sign of life is published)
    done(a("sync")), done(b(*DECISION))
    what = r"seems ahead by (49|50) min.*: 2 other machines have written since this clone asked"
    begin = ("begin", "--json")  # it goes on with a session, and writes nothing
    assert not told("seems ahead", done(a(*begin, env=ahead)).json["notices"]), "one may be wrong"
    done(b(*DECISION)), done(c(*DECISION))
    said = done(a(*begin, env=ahead)).json["notices"]
    assert told(what, said), said
    done(b(*DECISION)), done(c(*DECISION))
    assert not told("clock", done(a(*begin)).json["notices"])


def told(what: str, notices: list[str]) -> bool:
    return any(re.search(what, line) for line in notices)

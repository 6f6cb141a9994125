"""The format of a store: one of the first goes over to the second, and what only a newer Atlas knows
is left alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from atlas_cli.model import dated
from atlas_cli.records import artifact

from ..bench import stores
from ..conftest import DECISION, INDEX, NOTEBOOK, Atlas, Git
from .crew import Worker
from .first import goes_back
from .fleet import Fleet
from .hand import Hand, Seen, edited
from .violations import now

Store = tuple[Hand, Seen]


def blobs(hand: Hand) -> set[str]:
    """What the tip holds, but for the policy."""
    lines = hand.git("ls-tree", "-r", "atlas").split("\n")
    return {line.split()[2] for line in lines if not line.endswith("\tatlas.yaml")}


def paths(hand: Hand) -> set[str]:
    return set(hand.git("ls-tree", "-r", "--name-only", "atlas").split("\n"))


def began(quick: Atlas, goal: str, **env: str) -> str:
    done = quick("begin", "--new", "--goal", goal, "--json", **env)
    assert done.code == 0, done
    return str(done.data["id"])


def test_a_store_of_the_first_format_reads_verifies_and_goes_over_in_one_commit(
    store: Store, quick: Atlas
) -> None:
    hand, _ = store
    head = goes_back(hand.store)
    assert "artifacts/plan/0001/about.yaml" in paths(hand), "it is of the first format"
    total = int(hand.git("rev-list", "--count", "atlas"))
    assert quick("verify", "--full").code == 0
    decision = quick("decision", "list", "--json").data["items"][0]["ref"]
    known = ("artifact:plan@1", "artifact:plan", decision, "status:main@1")
    before = [quick("show", ref, "--json").data for ref in known]
    logs = [quick("log", ref, "--json").data["items"] for ref in known]
    was, since = blobs(hand), quick("artifact", "list", "--json").data["items"]

    first = quick("begin", "--new", "--goal", "goes over", "--json")
    assert first.code == 0 and any("format 2" in line for line in first.json["notices"]), first
    me = str(first.data["id"])
    assert int(hand.git("rev-list", "--count", "atlas")) == total + 2
    moved = hand.git("rev-parse", "atlas~1")
    assert hand.git("rev-parse", "atlas~2") == head
    assert was <= blobs(hand) and artifact.path_of("plan", 1) in paths(hand)
    assert not [path for path in paths(hand) if path.startswith("artifacts/plan/")]
    assert quick("--session", me, "end").code == 0, "what goes over is nobody's work"
    me = began(quick, "goes on")

    assert quick("verify").code == quick("verify", "--full").code == 0
    after = [quick("show", ref, "--json").data for ref in known]
    for old, new in zip(before, after, strict=True):
        for field in ("ref", "session", "at", "body", "why"):
            assert old.get(field) == new.get(field), field
    assert [quick("log", ref, "--json").data["items"] for ref in known] == logs
    assert quick("artifact", "list", "--json").data["items"] == since
    again = quick("--session", me, *DECISION)
    assert again.code == 0 and "format" not in again.err
    # Who has no index yet, and who has the commits one by one, finds the same.
    (hand.store.parent / INDEX).unlink()
    assert [quick("log", ref, "--json").data["items"] for ref in known] == logs
    assert quick("verify", "--full").code == 0
    assert "Atlas-Migrates: 2" in hand.git("log", "-1", "--format=%B", moved)


def test_what_no_transaction_wrote_of_the_format_does_not_count(store: Store, quick: Atlas) -> None:
    hand, _ = store
    good = hand.read("atlas.yaml")
    next_ = good.replace(b"version: 1\n", b"version: 2\n")
    for data in (
        edited(next_, "format: 2", "format: 1"),
        edited(next_, "needs: []", 'needs: ["telepathy"]'),
        next_ + f'epoch: "{hand.head()}"\n'.encode(),
    ):
        hand.commit({"atlas.yaml": data})
        done = quick("artifact", "list", "--json")
        assert done.code == 0 and len(done.data["items"]) == 1, done
        assert "atlas.yaml" in " ".join(done.json["notices"])
        assert quick("verify").code == 9
        began(quick, "goes on all the same")
        assert quick("doctor", "--fix").code == 0 and hand.read("atlas.yaml") == good
    assert quick("verify", "--full").code == 0
    assert not any("migrate" in line for line in hand.git("log", "--format=%s", "atlas").split())


def test_a_store_that_needs_what_is_not_known_is_read_and_left_alone(
    store: Store, quick: Atlas
) -> None:
    hand, seen = store
    newer = hand.read("atlas.yaml").replace(b"version: 1\n", b"version: 2\nlease_max: 3h\n")
    about = artifact.path_of("plan", 1)
    moved = about.replace("/0001/", "/0001/of-then/")
    files = {
        "atlas.yaml": edited(newer, "needs: []", 'needs: ["telepathy", "epoch"]'),
        "telepathy/one.yaml": b"a: 1\n",
        about: None,
        moved: hand.read(about),
    }
    hand.signed(files, seen.sessions["bob"], now())
    head = hand.head()
    for argv in (("status",), ("artifact", "list"), ("log",), ("who", "x"), ("decision", "list")):
        done = quick(*argv)
        assert done.code == 0 and "telepathy" in done.err, done
        assert "doctor" not in done.out + done.err, done
    assert "second: the parser is done" in quick("status").out
    assert quick("config", "get", "lease_max").out == "3h\n"
    look = quick("doctor")
    assert look.code == 0 and "telepathy" in look.out and "--fix" not in look.out + look.err, look
    me = seen.sessions["ann"]
    for argv in (
        ("verify",),
        ("verify", "--full"),
        ("doctor", "--fix"),
        ("begin", "--new"),
        ("--session", me, "status", "write", "-m", "x"),
        ("--session", me, "config", "set", "fresh", "2m"),
        ("--session", me, "end", "-m", "x"),
    ):
        done = quick(*argv, "--json")
        assert (done.code, done.json["error"]["code"]) == (1, "newer_format"), done
        assert "telepathy" in done.out and "atlas doctor" not in done.out, done
    assert hand.head() == head


def test_it_is_read_where_there_is_a_remote_too(
    store: Store, quick: Atlas, git: Git, tmp_path: Path
) -> None:
    hand, seen = store
    needs = edited(hand.read("atlas.yaml"), "needs: []", 'needs: ["telepathy"]')
    newer = needs.replace(b"version: 1\n", b"version: 2\n")
    hand.signed({"atlas.yaml": newer}, seen.sessions["bob"], now())
    git("init", "-q", "--bare", str(tmp_path / "hub.git"), cwd=tmp_path)
    git(
        "push", "-q", str(tmp_path / "hub.git"), "atlas", cwd=tmp_path / "repo/.git/atlas/store.git"
    )
    git("remote", "add", "origin", str(tmp_path / "hub.git"))
    for argv in ((), ("status",), ("show", "status:main"), ("lease", "list"), ("task", "list")):
        for _ in range(2):  # asked anew, and from the copy
            done = quick(*argv)
            assert done.code == 0 and "telepathy" in done.err, (argv, done)
    look = quick("doctor")
    assert look.code == 0 and "telepathy" in look.out, look


def as_first(top: Fleet, clones: tuple[str, ...]) -> str:
    """Takes the hub and all clones back to the first format. The head of the hub."""
    hub = goes_back(top.top / "hub.git")
    for clone in clones:
        store = top.top / clone / ".git/atlas/store.git"
        goes_back(store)
        top.git(str(store), "update-ref", "refs/atlas/remote", hub)
        for file in store.parent.glob("*.sqlite*"):
            if not file.name.startswith(NOTEBOOK):
                file.unlink()
    return hub


def test_two_clones_go_over_at_once_and_an_old_write_is_carried_over(
    pair: Fleet, tmp_path: Path
) -> None:
    top = pair.copied(tmp_path / "top")
    with top.crew(["a", "b"]) as [a, b]:
        assert a("status", "write", "-m", "first", "--replace").code in (0, 5)
        assert b("sync").code == 0
        for name, worker in (("a", a), ("b", b)):
            put = worker("artifact", "put", f"of-{name}", "--offline", data="text\n")
            assert put.code == 0, put
        assert b("--offline", *DECISION).code == 0
        as_first(top, ("a", "b"))
        # `a` goes over with its next write; what `b` has not published is of the first format.
        assert a(*DECISION).code == 0
        assert b("sync").code == 0, "its old writes are carried over"
        assert b("parked", "list", "--json").data["items"] == []
        assert a("sync").code == 0
    whole(top, {"of-a", "of-b"})
    # Both go over, neither knowing of the other.
    as_first(top, ("a", "b"))
    with top.crew(["a", "b"]) as [a, b]:
        for worker in (a, b):
            assert worker("--offline", *DECISION).code == 0
            assert worker("config", "get", "format").out == "2\n"
        for worker in (a, b, a):
            done = worker("sync")
            assert done.code == 0, done
    whole(top, {"of-a", "of-b"})


def whole(top: Fleet, names: set[str]) -> None:
    """Both clones have the hub's history, whole, of the second format, gone over to once."""
    assert top.head("a") == top.head("b") == top.head("hub.git")
    log = top.git("hub.git", "log", "--format=%s", "atlas").split("\n")
    assert log.count("policy: format 2") == 1, log
    with top.crew(["a", "b"]) as workers:
        for worker in workers:
            assert worker("verify", "--full").code == 0
            items = worker("artifact", "list", "--json").data["items"]
            assert {item["name"] for item in items} == names
    lines = top.git("hub.git", "ls-tree", "-r", "--name-only", "atlas").split("\n")
    assert not [line for line in lines if line.startswith("artifacts/of-")]


def test_an_epoch_takes_what_was_settled_from_the_tip_and_nothing_from_anybody(
    store: Store, worker: Worker, tmp_path: Path
) -> None:
    hand, _ = store
    then = datetime.now(UTC) + timedelta(days=70)
    later = {"ATLAS_CLOCK_OFFSET": f"+{70 * 86400}"}
    day = f"{then:%Y-%m}-01"

    def at(*argv: str) -> object:
        return worker("-C", str(hand.repo), *argv, env=later)

    decision = worker("-C", str(hand.repo), "decision", "list", "--json").data["items"][0]["ref"]
    me = at("begin", "--new", "--goal", "tidies", "--json").data["id"]
    kept = {ref: at("show", ref, "--json").data for ref in (decision, "artifact:plan@1")}
    holder, before = hand.head(), paths(hand)
    assert at("epoch", "--before", day).code == 0 and hand.head() == holder, "only said"
    done = at("--session", me, "epoch", "--before", day, "--confirm", "--json")
    assert done.code == 0 and done.data["commit"] == holder, done
    gone = before - paths(hand)
    assert gone == {path for path in before if "/plan/0001/" in path or "decisions/" in path}
    assert f"Atlas-Epoch: {holder}" in hand.git("log", "-1", "--format=%B", "atlas")
    assert "no server" in hand.git("grep", "no server", holder)

    for _ in range(2):
        assert at("verify").code == at("verify", "--full").code == 0
        for ref, old in kept.items():
            shown = at("show", ref, "--json").data
            assert {**shown, "read_by": old.get("read_by")} == {"read_by": None, **old}, ref
        assert [row["ref"] for row in at("decision", "list", "--json").data["items"]] == [decision]
        (hand.store.parent / INDEX).unlink()  # who was not there reads it from the history
    assert at("doctor").code == 0
    made = at("--session", me, "correct", decision, "--retract", "--why", "it was wrong")
    assert made.code == 0, made
    shown = at("show", decision, "--json").data
    assert shown["title"] is None and shown["corrections"][0]["retract"]
    put = at("--session", me, "artifact", "show", "plan")
    assert put.code == 0
    again = at("--session", me, "epoch", "--before", day, "--confirm", "--json")
    assert again.code == 0 and again.data["files"] == 0
    policy = hand.read("atlas.yaml").decode()
    assert 'needs: ["epoch"]' in policy, "an Atlas that knows no epoch leaves this store alone"


@pytest.mark.long
def test_an_epoch_of_ten_thousand_records_keeps_them_all_in_reach(
    store: Store, quick: Atlas
) -> None:
    hand, _ = store
    pairs = [pair for pair in stores.records(10_000, now()) if "/main/" not in pair[0]]
    stores.fill(hand.store, iter(pairs), now())
    me = began(quick, "tidies")
    decisions = [path for path, _ in pairs if path.startswith("decisions/")]
    refs = [f"decision:{dated.id_of(path)}" for path in decisions[:20]]
    refs += [f"artifact:topic-{number}@{number % 10 + 1}" for number in range(20)]
    shown = quick("show", *refs, "--json").data["items"]
    holder, day = hand.head(), f"{datetime.now(UTC):%Y-%m-%d}"
    done = quick("--session", me, "epoch", "--before", day, "--confirm", "--json")
    assert done.code == 0 and done.data["files"] > 4000, done
    assert not [path for path in paths(hand) if path in set(decisions)]
    assert [{**row, "read_by": 0} for row in quick("show", *refs, "--json").data["items"]] == [
        {**row, "read_by": 0} for row in shown
    ]
    assert "choice 7" in hand.git("grep", "choice 7", holder, "--", "decisions")
    corrected = quick("--session", me, "correct", refs[0], "--why", "it was another choice")
    assert corrected.code == 0, corrected
    assert quick("show", refs[0], "--json").data["corrections"]
    assert quick("verify", "--full").code == 0 and quick("doctor").code == 0

"""Exit codes tell the truth: one winner, each loser told of it; an operation is done once, an
expectation holds."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ..conftest import INDEX, NOTEBOOK, Atlas, Git
from .crew import Worker, at_once, crew

# What lies beside the store's repository, and nothing else.
KEPT = {
    "store.git",
    "machine",
    "atlas",
    "writer.lock",
    "remotes.json",
    *(f"{name}{tail}" for name in (INDEX, NOTEBOOK) for tail in ("", "-wal", "-shm")),
}


def commits(git: Git, repo: Path) -> int:
    return int(git("rev-list", "--count", "atlas", cwd=repo / ".git/atlas/store.git"))


def sessions(workers: Sequence[Worker]) -> list[str]:
    return [worker.begin(f"caller {number}") for number, worker in enumerate(workers)]


# One lease, many callers


@pytest.mark.parametrize(
    ("callers", "rounds"),
    [
        (2, 3),
        (8, 3),
        *(pytest.param(callers, 20, marks=pytest.mark.long) for callers in (2, 8, 32)),
    ],
)
def test_one_caller_gets_the_lease_and_each_loser_is_told_who_has_it(
    callers: int, rounds: int, repo: Path, env: dict[str, str], git: Git
) -> None:
    with crew([repo] * callers, env) as workers:
        names = sessions(workers)
        for turn in range(rounds):
            before = commits(git, repo)
            done = at_once(workers, [["lease", "take", f"gpu{turn}", "--why", "mine"]] * callers)
            won = [name for name, result in zip(names, done, strict=True) if result.code == 0]
            assert len(won) == 1, done
            lost = [result for result in done if result.code != 0]
            assert all(
                result.code == 4 and f"is held by {won[0]} for " in result.err for result in lost
            ), lost
            assert commits(git, repo) == before + 1


@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.long)])
def test_a_store_that_many_make_at_once_is_made_once(
    rounds: int, bare_project: Path, env: dict[str, str], git: Git
) -> None:
    with crew([bare_project] * 8, env) as workers:
        for _ in range(rounds):
            done = at_once(workers, [["init", "--json"]] * 8)
            assert [result.code for result in done] == [0] * 8, done
            assert len({result.data["store"] for result in done}) == 1
            assert [result.data["created"] for result in done].count(True) == 1
            assert commits(git, bare_project) == 2
            home = bare_project / ".git/atlas"
            assert {file.name for file in home.iterdir()} <= KEPT
            shutil.rmtree(home)
            # (What the view of a store that is gone says is kept as a draft.)
            shutil.rmtree(bare_project / ".atlas")


# The same operation again


@pytest.fixture
def eight(repo: Path, env: dict[str, str]) -> Iterator[list[Worker]]:
    with crew([repo] * 8, env) as workers:
        yield workers


WRITES = (
    ("status", "write", "-m", "once"),
    ("artifact", "put", "note", "note.txt"),
    ("lease", "take", "gpu0", "--why", "x"),
    (
        "decision",
        "add",
        "--title",
        "t",
        "--recommended",
        "a",
        "--chosen",
        "b",
        "--stance",
        "agreed",
        "--why",
        "w",
    ),
    ("config", "set", "status_words", "300"),
    ("begin", "--goal", "again"),
)


@pytest.mark.parametrize("write", WRITES, ids=lambda write: " ".join(write[:2]))
def test_an_operation_that_is_repeated_in_turn_is_done_once(
    write: tuple[str, ...], repo: Path, begun: str, quick: Atlas, git: Git
) -> None:
    (repo / "note.txt").write_text("a note\n")
    done = [quick(*write, "--operation", "op-1", "--json") for _ in range(3)]
    assert [result.code for result in done] == [0, 0, 0], done
    assert [result.data["replayed"] for result in done] == [False, True, True]
    assert len({result.data["ref"] for result in done}) == 1
    assert commits(git, repo) == 3 + 1  # root, policy, session
    # The same words under another operation are another write.
    assert quick(*write, "--operation", "op-2", "--json").code == 0
    assert commits(git, repo) == 3 + 2


def test_an_operation_that_eight_callers_repeat_at_once_is_done_once(
    eight: list[Worker], repo: Path, git: Git
) -> None:
    (repo / "note.txt").write_text("a note\n")
    name = eight[0].begin("one session in eight processes")
    for worker in eight:
        worker.session = name
    for number, write in enumerate(WRITES[:-1]):
        before = commits(git, repo)
        done = at_once(eight, [[*write, "--operation", f"op-{number}", "--json"]] * 8)
        assert [result.code for result in done] == [0] * 8, done
        assert sorted(result.data["replayed"] for result in done) == [False] + [True] * 7
        assert len({result.data["ref"] for result in done}) == 1
        assert commits(git, repo) == before + 1


@pytest.mark.parametrize("named", [True, False])
def test_an_end_that_is_repeated_answers_with_its_first_outcome(
    named: bool, begun: str, quick: Atlas, repo: Path, git: Git
) -> None:
    # The session has ended by then, and the worktree has forgotten it.
    end = (
        "end",
        "-m",
        "all done",
        "--operation",
        "op-end",
        "--json",
        *(("--session", begun) if named else ()),
    )
    first, again = quick(*end), quick(*end)
    assert (first.code, again.code) == (0, 0), again
    assert (first.data["replayed"], again.data["replayed"]) == (False, True)
    assert {
        key: first.data[key] for key in ("ref", "ended", "operation")
    }.items() <= again.data.items()
    assert commits(git, repo) == 4


def test_an_operation_is_found_by_its_id_or_was_never_done(begun: str, quick: Atlas) -> None:
    assert quick("lease", "take", "gpu0", "--why", "x", "--operation", "op-1").code == 0
    found = quick("log", "op-1", "--json").data
    assert (found["total"], found["items"][0]["operation"]) == (1, "op-1")
    missing = quick("log", "op-2")
    assert missing.code == 7 and "safe to try again" in missing.err


def test_lease_run_takes_no_operation(begun: str, quick: Atlas) -> None:
    # It takes, renews and gives back: under one id all but the first would count as done already.
    done = quick("lease", "run", "gpu0", "--why", "x", "--operation", "op-1", "--", "true")
    assert done.code == 2 and "--operation" in done.err


# Expectations


def test_a_write_that_expects_a_head_stops_at_another(
    begun: str, quick: Atlas, repo: Path, git: Git
) -> None:
    head = quick("status", "--json").json["store"]["head"]
    assert quick("status", "write", "-m", "one", "--expect", head).code == 0
    before = commits(git, repo)
    done = quick("status", "write", "-m", "two", "--expect", head[:12], "--json")
    assert (done.code, done.json["error"]["code"]) == (3, "version_jump"), done
    assert done.json["error"]["details"]["expected"] == head[:12]
    assert commits(git, repo) == before


@pytest.mark.parametrize(
    ("ref", "now"), [("status:main", 2), ("status:new", 0), ("lease:gpu0", 1), ("artifact:note", 1)]
)
def test_a_write_that_expects_a_record_at_a_number_stops_at_another(
    ref: str, now: int, begun: str, quick: Atlas, repo: Path
) -> None:
    (repo / "note.txt").write_text("a note\n")
    for write in (("status", "write", "-m", "one"), ("status", "write", "-m", "two"), *WRITES[1:3]):
        assert quick(*write).code == 0
    lease = ("lease", "take", "other", "--why", "x")
    done = quick(*lease, "--expect", f"{ref}@{now + 1}", "--json")
    assert (done.code, done.json["error"]["code"]) == (3, "version_jump"), done
    assert quick(*lease, "--expect", f"{ref}@{now}").code == 0


@pytest.mark.parametrize("text", ["", "status:main", "status:main@x", "nothing"])
def test_an_expectation_that_says_nothing_is_refused(text: str, begun: str, quick: Atlas) -> None:
    # An empty variable in a script must not become a write without a condition.
    done = quick("status", "write", "-m", "one", "--expect", text)
    assert done.code == 2, done

"""A push whose answer is lost, which never comes back, or whose command is killed: the exit code
tells what is known, each write is in the remote once, and asking for its operation again writes
nothing."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..conftest import DECISION, command
from .crew import Worker
from .fleet import Fleet, done, fleet

# A git whose pushes go wrong in the way that $HOW says; `once`: the first of them. The rest is done
# by the real one.
WRAPPER = """#!/bin/sh
real={real}
case " $* " in
*" push "*) verb=push ;; *" fetch "*|*" ls-remote "*) verb=ask ;; *) exec $real "$@" ;;
esac
if [ -n "$ONCE" ] && ! mkdir "$ONCE" 2>/dev/null; then exec $real "$@"; fi
case "$HOW-$verb" in
lost-push) $real "$@" >/dev/null 2>&1; exit 1 ;;
broken-push) $real "$@" >/dev/null 2>&1; exit 128 ;;
hung-push) $real "$@"; sleep 20 ;;
never-push) exit 128 ;;
dark-push) $real "$@" >/dev/null 2>&1; exit 128 ;;
dark-ask|away-ask|away-push) echo "fatal: Could not read from remote repository." >&2; exit 128 ;;
esac
exec $real "$@"
"""
LEASE = ("lease", "take", "gpu0", "--why", "w")
# what goes wrong: (exit codes of a write, of one that is to be published, of a lease), and whether
# it is published
FAULTS: dict[str, tuple[tuple[int, int, int], bool]] = {
    "lost": ((0, 0, 0), True),
    "broken": ((0, 0, 0), True),
    "hung": ((0, 0, 0), True),
    "never": ((0, 8, 8), False),
    "dark": ((0, 10, 10), False),
    "away": ((0, 8, 8), False),
}
SOME = [pytest.param(how, marks=pytest.mark.long if how == "broken" else ()) for how in FAULTS]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    return fleet(tmp_path_factory.mktemp("fleet") / "made", ["a", "b"])


@pytest.fixture(scope="module")
def bad_git(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bin")
    (folder / "git").write_text(WRAPPER.format(real=shutil.which("git")))
    (folder / "git").chmod(0o755)
    return folder


@pytest.fixture
def two(made: Fleet, tmp_path: Path) -> Fleet:
    return made.copied(tmp_path / "fleet")


@pytest.fixture
def both(two: Fleet) -> Iterator[list[Worker]]:
    with two.crew(["a", "b"]) as workers:
        yield workers
        for worker in workers:
            done(worker("sync"))
            done(worker("verify", "--full"))
        assert two.head("a") == two.head("b") == two.head("hub.git")
        found = two.operations()
        assert len(found) == len(set(found)), "no operation twice"


@pytest.mark.parametrize("how", SOME)
def test_the_exit_code_tells_what_is_known(
    how: str, two: Fleet, both: list[Worker], bad_git: Path
) -> None:
    a = both[0]
    env = {"PATH": f"{bad_git}:{two.env['PATH']}", "HOW": how} | (
        {"ATLAS_PATIENCE": "1"} if how == "hung" else {}
    )
    codes, published = FAULTS[how]
    plain = done(a(*DECISION, "--operation", "plain", "--json", env=env), codes[0])
    assert plain.json["store"]["published"] is published
    equal = done(a(*DECISION, "--operation", "equal", "--require-published", env=env), codes[1])
    lease = done(a(*LEASE, "--operation", "lease", "--json", env=env), codes[2])
    assert ("was given back" in lease.out) == (not published), lease
    seen = set(two.operations())
    wrote = {"plain", "equal", "lease"}
    assert wrote <= seen if published or how == "dark" else not wrote & seen, (equal, seen)

    # Once the remote answers again, each is there once; asked for again, nothing is written. (What
    # surely came to nothing left no trace, and is had now.)
    done(a("sync"))
    for operation, argv in (("plain", DECISION), ("equal", DECISION)):
        assert done(a(*argv, "--operation", operation, "--json")).data["replayed"] is True
    again = a(*LEASE, "--operation", "lease", "--json")
    assert (again.code, again.json["error"] and again.json["error"]["code"]) == (
        (0, None) if published or codes[2] == 8 else (6, "not_held")
    )
    assert wrote <= set(two.operations())
    done(both[1]("sync"))
    assert done(both[1]("decision", "list", "--json")).data["total"] == 2
    had = int(again.code == 0)
    assert done(both[1]("lease", "list", "--json")).data["total"] == had


def test_a_push_that_failed_once_is_made_again(
    two: Fleet, both: list[Worker], bad_git: Path
) -> None:
    env = {"PATH": f"{bad_git}:{two.env['PATH']}", "HOW": "never", "ONCE": str(two.top / "once")}
    assert done(both[0](*LEASE, "--operation", "mine", env=env))
    assert (two.top / "once").is_dir() and "mine" in two.operations()


def test_a_word_that_is_carried_on_its_way_answers_with_the_number_that_it_has(
    both: list[Worker],
) -> None:
    a, b = both
    done(a("sync")), done(b("status", "write", "-m", "of b"))
    wrote = done(a("status", "write", "-m", "of a", "--json")).data
    shown = done(a("status", "show", wrote["ref"], "--json")).data
    assert (wrote["ref"], wrote["unseen"]) == ("status:main@2", ["status:main@1"])
    assert shown["session"] == wrote["session"]
    assert [part["ref"] for part in wrote["carried"]] == ["status:main@1"], "and it is told"


def test_ctrl_c_while_it_is_published_is_not_before_it_was_written(
    two: Fleet, both: list[Worker], bad_git: Path
) -> None:
    env = two.env | {
        "PATH": f"{bad_git}:{two.env['PATH']}",
        "HOW": "hung",
        "ATLAS_SESSION": two.sessions["a"],
    }
    argv = command(*DECISION, "--operation", "mine", "--json")
    child = subprocess.Popen(argv, cwd=two.top / "a", env=env, stdout=subprocess.PIPE, text=True)
    while "mine" not in two.operations():
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    said = json.loads(child.communicate(timeout=30)[0])
    assert (child.returncode, said["error"]["code"]) == (10, "unknown"), said


@pytest.mark.parametrize("point", ["before_push", "after_push", "before_carry", "after_carry"])
def test_a_command_that_was_killed_is_asked_again(
    two: Fleet, both: list[Worker], point: str
) -> None:
    a, b = both
    done(a("sync"))  # its copy is fresh: what others wrote is met behind its own write, not before
    write = ("status", "write", "--offline")
    done(a(*write, "-m", "of a", "--operation", "word"))
    done(a(*write, "-m", "all of a", "--replace", "--operation", "loser"))
    if "carry" in point:  # others were first: two of ours are carried over, and one is parked
        done(b("status", "write", "-m", "of b"))
    killed = a(*LEASE, "--operation", "mine", env={"ATLAS_FAULT": f"{point}:kill"})
    assert killed.code == -9
    again = done(a(*LEASE, "--operation", "mine", "--json"))
    assert again.data["replayed"] is True and two.operations().count("mine") == 1
    assert again.json["store"]["published"] is True
    listed = done(a("parked", "--json")).data["items"]
    assert [one["operation"] for one in listed] == (["loser"] if "carry" in point else [])
    assert two.operations().count("word") == 1, "a word is never parked"
    assert ("loser" in two.operations()) == (not listed), (
        "carried over or parked, never both and never neither"
    )
    assert "rewound" not in str(done(a("status", "--json")).json["notices"])
    if listed:
        done(a("parked", "drop", "loser"))

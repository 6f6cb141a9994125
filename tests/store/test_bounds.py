"""What few bytes, or very many, on the branch may cost: each bound is met by a hand's commit that goes beyond it; every
reader names what it left unread, goes on, and `doctor --fix` ends in a store that verifies."""

from __future__ import annotations

import resource
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from atlas_cli.model import text, times
from atlas_cli.store import differences, files, git

from ..commands.bad import argv, desk_in
from ..conftest import command, environment
from .crew import Worker
from .hand import Hand, entry

READS = ("status", "lease list", "log", "task list", "view", "")


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    with desk_in(tmp_path) as desk:
        yield desk.worker


@pytest.fixture
def hand(worker: Worker, tmp_path: Path) -> Hand:
    return Hand(tmp_path / "repo", environment(tmp_path))


def names_it(worker: Worker, path: str, word: str) -> None:
    """Each reader goes on, quickly; `verify` names the path, and why; the repair takes it away."""
    assert worker("status", "write", "-m", "before").code == 0
    for form in READS:
        began = time.monotonic()
        done = worker(*argv(form))
        assert done.code == 0 and "Traceback" not in done.err, (form, done)
        assert time.monotonic() - began < 30, form
    verdict = worker("verify", "--full")
    assert verdict.code == 9 and path in verdict.err and word in verdict.err, verdict
    assert worker("doctor", "--fix").code == 0
    assert worker("verify", "--full").code == 0


def lease_row(at: int) -> str:
    when = times.rfc3339(at)
    return (
        f"resource: x\nversion: 1\ntoken: 1\nholder: somebody-261129-7f3k2m\nactor: a\nwhy: w\n"
        f"at: {when}\nexpires: {when}\n"
    )


def test_a_record_of_more_than_a_record_may_have(worker: Worker, hand: Hand) -> None:
    path = "status/other/000/000001.md"
    body = "x" * text.MOST
    hand.commit({path: entry(1, "somebody-261129-7f3k2m", int(time.time()), body, "other")})
    names_it(worker, path, "bytes")


def test_yaml_by_hand_of_more_than_is_read_of_it(worker: Worker, hand: Hand) -> None:
    path = "leases/2d/x.yaml"
    hand.commit(
        {path: lease_row(int(time.time())).encode() + b"# " + b"x" * text.HAND_LIMIT + b"\n"}
    )
    names_it(worker, path, f"{text.HAND_LIMIT:,} bytes")


def test_more_yaml_by_hand_than_one_commit_may_bring(worker: Worker, hand: Hand) -> None:
    body = lease_row(int(time.time())).encode() + b"# " + b"x" * (text.HAND_LIMIT - 300) + b"\n"
    paths = [f"leases/{n:02x}/r{n}.yaml" for n in range(text.HANDS * 2)]
    hand.commit(dict.fromkeys(paths, body))
    names_it(worker, paths[-1], "")


def test_a_folder_of_more_files_than_are_looked_at(worker: Worker, hand: Hand) -> None:
    blob = hand.put(b"x")
    flat = hand.git(
        "mktree",
        data=b"".join(b"100644 blob %s\tf%05d\n" % (blob.encode(), n) for n in range(2000)),
    )
    wide = hand.git(
        "mktree",
        data=b"".join(
            b"040000 tree %s\td%02d\n" % (flat.encode(), n)
            for n in range(differences.MOST // 2000 + 1)
        ),
    )
    top = (
        hand.git("ls-tree", "refs/heads/atlas").encode()
        + b"\n040000 tree "
        + wide.encode()
        + b"\tmany\n"
    )
    tree = hand.git("mktree", data=top)
    oid = hand.git("commit-tree", tree, "-p", hand.head(), data=b"by hand")
    hand.git("update-ref", "refs/heads/atlas", oid)
    names_it(worker, "many", "folder")


def test_folders_deeper_than_a_record_lies(worker: Worker, hand: Hand) -> None:
    hand.commit({"/".join(["deep"] * (differences.DEEP + 2)): b"x"})
    names_it(worker, "deep/deep", "mode")


def test_an_object_of_more_than_is_ever_read(worker: Worker, hand: Hand) -> None:
    """Its size is asked, not its bytes: little memory is used."""
    path = "artifacts/2a/big/0001/body.txt"
    about = (
        f"name: big\nnumber: 1\next: txt\nsize: {git.LARGEST + 1}\nsha256: {'0' * 64}\n"
        f"session: somebody-261129-7f3k2m\nactor: a\nat: {times.rfc3339(int(time.time()))}\n"
    )
    hand.commit({path: bytes(git.LARGEST + 1), "artifacts/2a/big/0001/about.yaml": about.encode()})
    names_it(worker, path, "bytes")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    done = subprocess.run(
        command("verify", "--full"), cwd=hand.repo, env=hand.env, capture_output=True
    )
    assert done.returncode == 0 and resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss <= max(
        before, 200_000
    )


def test_a_file_in_the_view_of_more_than_is_read_is_left(worker: Worker, hand: Hand) -> None:
    assert worker("status", "write", "-m", "where things stand").code == 0
    shown = hand.repo / ".atlas/status/main.md"
    shown.unlink()
    with shown.open("wb") as file:
        file.truncate(files.MOST + 1)
    assert worker("status", "write", "-m", "further").code == 0
    assert worker("view").code == 0
    assert shown.stat().st_size == files.MOST + 1 or b"further" in shown.read_bytes()


def test_a_gate_that_nobody_can_read_holds_and_stops_no_reader(worker: Worker, hand: Hand) -> None:
    """It may hold anything: nothing is claimed until it is repaired, and all else goes on."""
    assert worker("task", "add", "the work").code == 0
    path = "gates/36-about.yaml"
    hand.commit({path: b"x" * (text.MOST + 1), "gates/37.cleared.yaml": b"x" * (text.MOST + 1)})
    assert worker("gate", "list").code == 0
    assert worker("task", "list", "--ready").code == 0
    assert worker("task", "next", "--claim").code == 7
    names_it(worker, path, "bytes")
    assert worker("task", "next", "--claim").code == 0


def test_notes_without_fields_are_no_yaml(worker: Worker, hand: Hand) -> None:
    note = b"# A note\n\n" + b"- Words, of a person: many of them.\n" * 150
    hand.commit({f"inbox/note{n}.md": note for n in range(8)})
    assert worker("verify", "--full").code == 0
    assert worker("doctor", "--fix").code == 0
    assert hand.blob("inbox/note7.md", "refs/heads/atlas")

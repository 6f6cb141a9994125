"""An answer comes from the git that was asked, in time, or not at all; and no answer is left for
the next question."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from atlas_cli import interrupts
from atlas_cli.errors import Damaged, Failed
from atlas_cli.store import conversation
from atlas_cli.store.git import Git, Silent

REAL = shutil.which("git")
WORDS = [f"word number {number}" for number in range(40)]


@pytest.fixture
def bare(tmp_path: Path) -> tuple[Git, list[str]]:
    """A repository with some blobs."""
    git = Git(None)
    git.run("init", "-q", "--bare", "--template=", str(tmp_path / "bare"))
    git = Git(str(tmp_path / "bare"))
    return git, [
        git.run("hash-object", "-w", "--stdin", data=word.encode()).decode().strip()
        for word in WORDS
    ]


@pytest.fixture
def sick(bare: tuple[Git, list[str]], tmp_path: Path) -> tuple[Git, list[str], Path]:
    """The same, and a git in front of the real one that does what the file `ill` says, once or for
    ever."""
    place = tmp_path / "bin"
    place.mkdir()
    script = f'#!/bin/sh\ncase "$*" in *cat-file*) [ -e {tmp_path}/ill ] && . {tmp_path}/ill;; esac\nexec {REAL} "$@"\n'
    (place / "git").write_text(script)
    (place / "git").chmod(0o755)
    bare[0].env |= {
        "PATH": f"{place}{os.pathsep}{os.environ['PATH']}",
        "ILL": str(tmp_path / "ill"),
    }
    return *bare, tmp_path / "ill"


ONCE = {
    "is killed before it answers": 'rm "$ILL"; read line; kill -9 $$',
    "gives up before it answers": 'rm "$ILL"; read line; exit 128',
    "dies half-way through an answer": f'rm "$ILL"; {REAL} "$@" | head -c 150; kill -9 $$',
    "is gone before it is asked": 'rm "$ILL"; exit 1',
    "is stopped": 'rm "$ILL"; kill -STOP $$',
    "never answers": 'rm "$ILL"; exec sleep 1000',
}


@pytest.mark.parametrize("how", ONCE)
def test_a_git_that_fails_once_is_asked_anew(
    how: str, sick: tuple[Git, list[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    git, names, ill = sick
    monkeypatch.setattr(conversation, "PATIENCE", 2.0)
    ill.write_text(ONCE[how])
    found = list(git.objects(names, batch=15))
    assert [one and one[2].decode() for one in found] == WORDS and not ill.exists()
    assert (git.object(names[0]) or ("",))[0] == names[0]
    git.close()


ALWAYS = {
    "kill -9 $$": Damaged,
    "read line; kill -9 $$": Damaged,
    "exec sleep 1000": Silent,
    "kill -STOP $$": Silent,
    "while :; do printf 0; sleep 0.05; done": Silent,
}


@pytest.mark.parametrize("ill", ALWAYS)
def test_a_git_that_fails_twice_is_told_in_time(
    ill: str, sick: tuple[Git, list[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    git, names, file = sick
    monkeypatch.setattr(conversation, "PATIENCE", 0.3)
    file.write_text(ill)
    began = time.monotonic()
    for _ in range(5):  # not five times as long: one that is silent is not asked for ever
        with pytest.raises(ALWAYS[ill]):
            git.object(names[0])
    assert time.monotonic() - began < 30
    git.close()


def test_an_object_that_git_gives_up_over_is_none_among_others(
    bare: tuple[Git, list[str]], tmp_path: Path
) -> None:
    git, names = bare
    broken = tmp_path / "bare/objects" / names[7][:2] / names[7][2:]
    broken.chmod(0o644)
    broken.write_bytes(b"no object")
    found = [one and one[2].decode() for one in git.objects(names)]
    assert found == [*WORDS[:7], None, *WORDS[8:]]
    assert git.object("0" * 40) is None and git.object(names[7]) is None
    git.close()


def test_what_nobody_wanted_to_hear_is_no_answer_to_the_next_question(
    bare: tuple[Git, list[str]],
) -> None:
    git, names = bare
    some = git.objects(names)
    assert (next(some) or ("", "", b""))[2].decode() == WORDS[0]
    assert (git.object(names[20]) or ("", "", b""))[2].decode() == WORDS[20], (
        "asked between two answers"
    )
    assert (next(some) or ("", "", b""))[2].decode() == WORDS[1]
    some.close()
    assert (git.object(names[30]) or ("", "", b""))[2].decode() == WORDS[30]
    for one in git.objects(names):
        if one and one[2].decode() == WORDS[3]:
            break
    assert (git.object(names[31]) or ("", "", b""))[2].decode() == WORDS[31]
    git.close()


def test_an_interrupt_half_way_ends_the_conversation(
    sick: tuple[Git, list[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    git, names, ill = sick
    assert git.object(names[0])
    git.close()
    ill.write_text(f'rm "$ILL"; {REAL} "$@" | {{ head -c 70; sleep 1000; }}')
    monkeypatch.setattr(interrupts._Held, "came", False)
    some = git.objects(names)
    assert next(some)
    interrupts._noted(2, None)
    with pytest.raises(KeyboardInterrupt):
        list(some)
    assert (git.object(names[9]) or ("", "", b""))[2].decode() == WORDS[9]
    git.close()


def test_more_questions_than_a_pipe_holds(bare: tuple[Git, list[str]]) -> None:
    git, names = bare
    many = names * 200
    assert [one and one[0] for one in git.objects(many, batch=len(many))] == many
    git.close()


def test_a_call_that_is_interrupted_leaves_no_git_behind(
    sick: tuple[Git, list[str], Path], tmp_path: Path
) -> None:
    git, _, ill = sick
    ill.write_text(f"echo $$ > {tmp_path}/pid; exec sleep 1000")
    interrupts._noted(2, None)
    try:
        with pytest.raises(KeyboardInterrupt):
            git.ask("cat-file", "-t", "HEAD")
        interrupts._Held.hint = "a write was made"
        interrupts._noted(2, None)
        with pytest.raises(KeyboardInterrupt):
            git.ask("cat-file", "-t", "HEAD")
        pid = (tmp_path / "pid").read_text().strip()
        assert subprocess.run(["kill", "-0", pid], capture_output=True, check=False).returncode
        with pytest.raises(Failed):
            git.ask("cat-file", "-t", "HEAD", timeout=0.3)
    finally:
        interrupts._Held.hint, interrupts._Held.came = "", False

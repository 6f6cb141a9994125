"""Shell completion: what is offered where, and what bash makes of it."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from atlas_cli.commands import COMMANDS
from atlas_cli.main import main

from ..conftest import environment
from ..contract import VERBS

Offered = Callable[..., list[str]]
RUN = f'#!/bin/sh\nexec "{sys.executable}" -m atlas_cli "$@"\n'


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with names to complete (`repo`), a folder outside any (`out`), and
    `bin/atlas`."""
    found = tmp_path_factory.mktemp("top")
    for name in ("repo/src", "out", "bin"):
        (found / name).mkdir(parents=True)
    (found / "repo/src/x.py").write_text("x\n")
    (found / "bin/atlas").write_text(RUN)
    (found / "bin/atlas").chmod(0o755)
    subprocess.run(["git", "init", "-q", str(found / "repo")], check=True)
    with pytest.MonkeyPatch.context() as patch:
        for key, value in environment(found).items():
            patch.setenv(key, value)
        patch.chdir(found / "repo")
        for argv in (
            ["init"],
            ["begin", "--actor", "ann"],
            ["status", "write", "-m", "One."],
            ["status", "write", "-m", "Two."],
            ["artifact", "put", "schema", "src/x.py"],
            ["lease", "take", "gpu0", "path:two words/x.py", "--why", "w"],
            [
                "decision",
                "add",
                "--title",
                "storage",
                "--recommended",
                "a",
                "--chosen",
                "a",
                "--stance",
                "agreed",
                "--why",
                "w",
            ],
            ["task", "add", "t"],
        ):
            assert main(argv) == 0
    return found


@pytest.fixture
def offered(
    top: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Offered:
    """What is offered for the last of some words: `offered("lease", "re")`."""
    for key, value in environment(top).items():
        monkeypatch.setenv(key, value)

    def ask(*words: str, where: str = "repo") -> list[str]:
        monkeypatch.chdir(top / where)
        capsys.readouterr()
        assert main(["completion", "fish", "--", "atlas", *words]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        return [line.partition("\t")[0] for line in out.splitlines()]

    return ask


PLACES = {
    "le": ["lease"],
    "--json le": ["lease"],
    "-C . --session x le": ["lease"],
    "lease re": ["renew", "release"],
    "lease --json re": ["renew", "release"],
    "lease --a": ["--all"],
    "lease take --wh": ["--why"],
    "lease list --js": ["--json"],
    "lease release g": ["gpu0"],
    "lease release gpu0 p": ["path:two words/x.py"],
    "lease gp": ["gpu0"],
    "lease take gpu0 --why w": [],
    "lease run gpu0 --why w -- l": [],
    "who s": [],
    "artifact put new s": [],
    "status show m": ["main"],
    "status m": ["main"],
    "status show main@": ["main@2", "main@1"],
    "end --stream m": ["main"],
    "artifact get s": ["schema"],
    "artifact s": ["show", "schema"],
    "end --overflow s": ["schema"],
    "show stat": ["status:main"],
    "show status:main@1": ["status:main@1"],
    "correct artifact:schema@": ["artifact:schema@1"],
    "show status:main les": [],
    "show status:main lea": ["lease:gpu0", "lease:path:two words/x.py"],
    "decision add --stance ": ["agreed", "disagreed", "timeout"],
    "decision add --stance=d": ["--stance=disagreed"],
    "log --kind a": ["artifact"],
    "artifact put x --type j": ["json"],
    "config get lease_m": ["lease_max"],
    "completion z": ["zsh"],
    "nonsense ": [],
    "nonsense --x": [],
    "git lo": [],
    "--operation x": [],
    "-C s": [],
}


@pytest.mark.parametrize("line", PLACES)
def test_what_is_offered_where(line: str, offered: Offered) -> None:
    assert sorted(offered(*line.split(" "))) == sorted(PLACES[line])


def test_sessions_decisions_and_tasks_are_offered_by_id(offered: Offered) -> None:
    [session] = offered("session", "show", "")
    assert session.startswith("ann-")
    for words in (
        ["--session", ""],
        ["log", "--session", ""],
        ["begin", "--parent", "a"],
        ["session", "adopt", ""],
    ):
        assert offered(*words) == [session], words
    [task] = offered("task", "claim", "")
    for words in (
        ["task", "done"],
        ["task", "assign"],
        ["task", "add", "t", "--needs"],
        ["gate", "raise", "--task"],
    ):
        assert offered(*words, "") == [task] and task not in offered("gate", "show", "")
    [decision] = offered("decision", "show", "")
    assert decision[10:].startswith("-storage-") and offered("show", "dec") == [
        f"decision:{decision}"
    ]


def test_every_command_verb_and_option_is_offered(offered: Offered) -> None:
    assert offered("") == list(COMMANDS)
    for verb, parser in VERBS.items():
        assert len(verb) == 1 or verb[1] in offered(verb[0], "")
        own = {
            name
            for one in parser.params
            for name in one.opts
            if name.startswith("-") and not one.hidden
        }
        assert verb == ("git",) or own | {"--json", "--help"} <= set(offered(*verb, "-")), verb


def test_outside_a_repository_there_are_commands_and_no_names_and_no_errors(
    offered: Offered, top: Path
) -> None:
    assert offered("le", where="out") == ["lease"]
    for line in ("lease release ", "show ", "status show main@", "--session "):
        assert offered(*line.split(" "), where="out") == []
    assert offered("-C", str(top / "repo"), "lease", "release", "gpu", where="out") == ["gpu0"]


def test_a_lookup_says_nothing_and_hears_nothing_for_the_session(
    offered: Offered, top: Path
) -> None:
    """What a session is told once is not told to its shell."""
    other = environment(top) | {"CODEX_THREAD_ID": "other"}
    with pytest.MonkeyPatch.context() as patch:
        for key, value in other.items():
            patch.setenv(key, value)
        patch.chdir(top / "repo")
        assert main(["begin", "--actor", "bob"]) == main(["artifact", "show", "schema"]) == 0
        patch.setenv("CODEX_THREAD_ID", "tests")
        assert main(["correct", "artifact:schema", "--why", "w", "--retract"]) == 0
        patch.setenv("CODEX_THREAD_ID", "other")
        assert offered("artifact", "get", "") == ["schema"]
        done = subprocess.run(
            [top / "bin/atlas", "lease", "list"],
            env=other,
            cwd=top / "repo",
            capture_output=True,
            check=True,
        )
    assert b"artifact:schema@1, which you read, was retracted" in done.stderr


bash = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")


@bash
@pytest.mark.parametrize(
    ("line", "part", "reply"),
    [
        ("atlas lease rel", "rel", "release"),
        ("x=1 atlas show", "show", ""),
        ("atlas show status:m", "m", "main"),
        ("atlas show status:main@", "@", "@2 @1"),
        ("atlas decision add --stance=a", "a", "agreed"),
        ("atlas lease renew path:t", "t", r"two\ words/x.py"),
        ("atlas lease renew 'path:t", "path:t", "path:two words/x.py"),
        ("atlas end -m \"it's ", "", ""),
        ("atlas lease renew path:two\\ ", "two\\ ", r"two\ words/x.py"),
        ("", "", ""),
    ],
)
def test_bash_gets_what_it_puts_behind_its_word_breaks(
    line: str, part: str, reply: str, top: Path
) -> None:
    script = 'eval "$(atlas completion bash)"; COMP_LINE=$1 COMP_POINT=${#1}; _atlas atlas "$2"; echo "${COMPREPLY[*]}"'
    env = environment(top)
    env["PATH"] = f"{top / 'bin'}:{env['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", script, "bash", line, part],
        env=env,
        cwd=top / "repo",
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr.decode(), done.stdout.decode()) == (0, "", f"{reply}\n")


@bash
def test_a_real_tab_in_a_real_bash(top: Path) -> None:
    env = environment(top) | {"TERM": "dumb", "PS1": "> "}
    env["PATH"] = f"{top / 'bin'}:{env['PATH']}"
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(top / "repo")
        os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], env)
    seen = b""

    def until(wanted: bytes) -> None:
        nonlocal seen
        due = time.monotonic() + 30
        while wanted not in seen:
            assert time.monotonic() < due, seen
            if select.select([terminal], [], [], 0.2)[0]:
                seen += os.read(terminal, 65536)

    try:
        os.write(terminal, b'eval "$(atlas completion bash)"; echo re""ady\n')
        until(b"ready")
        for typed, wanted in (
            (b"atlas --json lea\t", b"atlas --json lease "),
            (b"show\x15atlas show status:m\t", b"atlas show status:main "),
        ):
            os.write(terminal, typed)
            until(wanted)
            os.write(terminal, b"\x15")
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_that_its_shell_can_read(
    shell: str, offered: Offered, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert f"atlas completion {shell} -- " in script and "2>/dev/null" in script
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    done = subprocess.run([shell, "-n"], input=script.encode(), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_zsh_is_told_the_colons_in_a_name(
    offered: Offered, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        offered("show", "stat") and main(["completion", "zsh", "--", "atlas", "show", "stat"]) == 0
    )
    assert capsys.readouterr().out == "status\\:main\n"

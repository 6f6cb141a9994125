"""What a terminal shows, and what is said where nothing can be shown."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ..conftest import DECISION, Atlas, Result, command, on_terminal

WHY = "a reason of some length, which a narrow terminal cannot show beside the rest without folding it"
RESOURCE = "path:some/folder/of-a-name/that-is-long.py"
Shown = Callable[..., Result]


@pytest.fixture
def shown(begun: str, atlas: Atlas, env: dict[str, str], repo: Path) -> Shown:
    """Runs `atlas` on a terminal so wide: `shown(40, "lease", "list", NO_COLOR="1")`."""
    assert atlas("lease", "take", RESOURCE, "--why", WHY).code == 0

    def run(columns: int, *args: str, **extra: str) -> Result:
        return on_terminal(args, repo, {**env, "TERM": "xterm", **extra}, columns)

    return run


def test_a_table_on_a_terminal_folds_its_widest_column_only(shown: Shown, begun: str) -> None:
    wide, folded = shown(250, "lease", "list"), shown(120, "lease", "list")
    assert wide.code == folded.code == 0 and "\x1b[1m" in wide.out
    assert WHY in wide.out and WHY not in folded.out
    for done in (wide, folded):
        assert RESOURCE in done.out and begun in done.out


@pytest.mark.parametrize("extra", [{}, {"COLUMNS": "30"}])
def test_in_a_narrow_terminal_every_cell_stays_whole(
    extra: dict[str, str], shown: Shown, begun: str
) -> None:
    done = shown(40, "lease", "list", **extra)
    assert done.code == 0
    table = done.out.partition("note: ")[0].split("\n")
    assert all(
        line.startswith("│ ") and len(line) <= int(extra.get("COLUMNS", 40))
        for line in table
        if line
    ), table
    said = "".join(done.out.replace("│", "").split())
    assert (
        f"RESOURCE{RESOURCE}STATEheldHOLDER{begun}LEFT" in said
        and f"WHY{WHY.replace(' ', '')}" in said
    )
    for args in (["log"], ["session", "list"], ["begin"], ["config"], ["status", "--help"]):
        done = shown(40, *args, **extra)
        assert done.code == 0 and not re.search(
            "[^ ]…", done.out.replace("ARGS…", "").replace("goal …", "")
        ), done.out


@pytest.mark.parametrize(
    "extra", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": "dumb", "NO_COLOR": "1"}]
)
def test_whoever_wants_no_escapes_gets_none(extra: dict[str, str], shown: Shown) -> None:
    for args in (
        ["lease", "list"],
        ["log"],
        ["begin"],
        ["status", "--help"],
        ["help", "stops"],
        ["nonsense"],
    ):
        assert "\x1b" not in shown(100, *args, **extra).out, args


def test_piped_there_are_no_boxes_and_nothing_is_cut(
    shown: Shown, atlas: Atlas, begun: str
) -> None:
    done = atlas("lease", "list", TERM="xterm", COLUMNS="30")
    assert "\x1b" not in done.out and "──" not in done.out
    assert re.search(rf"^│ {RESOURCE}  held +{begun}  .* {WHY}$", done.out, re.MULTILINE)


ASKED = [
    "status",
    "--json status",
    "log",
    "help stops",
    "status --help",
    "--help",
    "--json status --help",
    "completion bash",
    "--version",
]


@pytest.mark.parametrize("line", ASKED)
def test_an_answer_to_a_full_disk_is_a_failure_and_to_nobody_is_none(
    line: str, begun: str, env: dict[str, str], repo: Path
) -> None:
    script = shlex.join(command(*line.split()))
    for tail, code in (
        (">/dev/full", 1),
        (">/dev/full 2>/dev/full", 1),
        (">&-", 0),
        (">&- 2>&-", 0),
        ("| true", 0),
    ):
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", f"{script} {tail}"],
            cwd=repo,
            env=env,
            capture_output=True,
        )
        assert (done.returncode, done.stdout) == (code, b""), (tail, done)
        assert b"Traceback" not in done.stderr and done.stderr.count(b"\n") <= 1
        if tail == ">/dev/full" and "--json" not in line:
            assert b"No space left on device" in done.stderr


def test_a_refusal_to_a_full_disk_keeps_its_code(
    begun: str, env: dict[str, str], repo: Path
) -> None:
    for line, code in (
        ("nonsense", 2),
        ("--json nonsense", 2),
        ("show " + "x" * 9000, 2),
        ("artifact show none --json", 7),
    ):
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                command(*line.split()), cwd=repo, env=env, stdout=full, stderr=full
            )
        assert done.returncode == code, line


def test_a_long_call_says_how_far_it_is(
    shown: Shown, atlas: Atlas, git: Callable[..., str], tmp_path: Path
) -> None:
    git("init", "-q", "--bare", str(tmp_path / "hub.git"))
    git("remote", "add", "origin", str(tmp_path / "hub.git"))
    git("push", "-q", "origin", "main")
    hook = tmp_path / "hub.git/hooks/pre-receive"
    hook.write_text("#!/bin/sh\nsleep 1.5\n")
    hook.chmod(0o755)
    done = shown(120, "sync")
    assert done.code == 0 and "Total 1" in done.out and "in step with the remote" in done.out
    assert "\x1b[?25l" not in done.out, "a signal would leave the cursor hidden"
    assert (
        atlas(
            *DECISION,
        ).err
        == ""
    ), "nothing of it where nobody looks on"

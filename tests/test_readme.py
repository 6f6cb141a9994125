"""The README says what the code does: commands, exit codes, rules, the envelope."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from atlas_cli.call import root
from atlas_cli.cli.root import Root
from atlas_cli.commands import COMMANDS, help
from atlas_cli.errors import EXITS
from atlas_cli.model import times
from atlas_cli.records.judging import RULES
from atlas_cli.records.policy import KEYS

from .conftest import ROOT, Atlas
from .contract import VERBS

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_its_two_commands_are_those_of_ci() -> None:
    wanted = re.findall(r"^(?:python3 -m venv|\.venv/bin/pip).*$", README, re.MULTILINE)
    script = (ROOT / ".ci/run").read_text().replace(" --quiet", "")
    assert len(wanted) == 2
    assert all(line in script for line in wanted)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_verb_is_named(name: str) -> None:
    row = next((line for line in README.split("\n") if line.startswith(f"| `atlas {name}")), "")
    assert row, f"no row for {name}"
    assert [verb for verb in getattr(root().parser(name), "commands", {}) if verb not in row] == []


def test_its_exit_codes_are_the_table_of_the_code() -> None:
    assert [
        row for row in (f"| {c} | {m} | {r} |" for c, (m, r) in EXITS.items()) if row not in README
    ] == []


def test_its_rules_are_those_that_verify_names() -> None:
    assert [
        row
        for row in (f"| `{rule}` | {what} |" for rule, what in RULES.items())
        if row not in README
    ] == []


def test_its_files_and_its_envelope_are_those_of_the_help_pages() -> None:
    assert help.LAYOUT in README and help.ENVELOPE in README


def test_its_numbers_are_those_of_the_code() -> None:
    lasts, most = (
        times.span(times.duration(KEYS[key][0])) for key in ("lease_default", "lease_max")
    )
    assert f"({lasts}, at most {most})" in README and f"({KEYS['status_words'][0]} words)" in README


def test_it_names_no_option_that_is_not_there() -> None:
    options = {name for parser in VERBS.values() for one in parser.params for name in one.opts} | {
        *Root.globals,
        "--help",
        "--no-verify",
        "--apply",  # git's
        "--rebase",
    }
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", README)) - options == set()


def test_its_five_minutes_run(repo: Path, atlas: Atlas) -> None:
    """Every command of the walk-through, as it stands there."""
    block = (
        README.split("## Five minutes")[1].split("```sh\n")[1].split("```")[0].replace("\\\n", "")
    )
    lines = [line.split("  #")[0].strip() for line in block.split("\n") if line.startswith("atlas")]
    assert len(lines) >= 9
    (repo / "notes.md").write_text("# notes\n\nwhat I learned\n")
    for line in lines:
        done = atlas(*shlex.split(line)[1:])
        assert done.code == 0, (line, done.err)

"""The README and CONTRIBUTING say what is there: commands that run, options, links, folders."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from atlas_cli.cli import pages

from .conftest import ROOT, Atlas
from .contract import VERBS
from .test_architecture import FILES, ORDER, PACKAGE, part

README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
TOY = "risk"  # the kind that CONTRIBUTING adds
FOREIGN = {  # options of git, of the tests and linters, and of the toy
    "--no-verify",
    "--wait",
    "--apply",
    "--rebase",
    "--long",
    "--seeds",
    "--level",
    "--strict",
}
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
MARKDOWN = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(PACKAGE / f"help/{name}.md" for name in pages.TOPICS),
]


def test_its_two_commands_are_those_of_ci() -> None:
    wanted = re.findall(r"^(?:python3 -m venv|\.venv/bin/pip).*$", README, re.MULTILINE)
    script = (ROOT / ".ci/run").read_text().replace(" --quiet", "")
    assert len(wanted) == 2
    assert all(line in script for line in wanted)


def test_it_is_short_and_leads_to_each_page() -> None:
    assert README.count("\n") < 200
    for name in pages.TOPICS:
        assert f"| [{name}](atlas_cli/help/{name}.md) | {pages.summary(name)} |\n" in README


def test_the_block_for_ai_sessions_is_the_one_that_setup_writes() -> None:
    block = README.split("```markdown\n")[1].split("```\n")[0]
    assert block == (ROOT / "templates/agents.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", MARKDOWN, ids=lambda path: path.name)
def test_its_links_lead_to_files(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        assert (path.parent / target).is_file(), target


@pytest.mark.parametrize("path", MARKDOWN, ids=lambda path: path.name)
def test_it_names_no_option_and_no_command_that_is_not_there(path: Path, atlas: Atlas) -> None:
    text = path.read_text(encoding="utf-8")
    options = {name for parser in VERBS.values() for param in parser.params for name in param.opts}
    options |= {"--help", *FOREIGN, *OPTION.findall(atlas("--help", cwd=ROOT).out)}
    assert set(OPTION.findall(text)) - options == set()
    commands = {verb[0] for verb in VERBS}
    for word, other in re.findall(r"\batlas ([a-z]+)(?: ([a-z]+))?", text):
        nouns = {verb[1] for verb in VERBS if verb[0] == word and len(verb) > 1}
        known = word in commands and (not nouns or not other or other in nouns)
        assert known or (path.name == "CONTRIBUTING.md" and word == TOY), (word, other)


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


def test_the_tree_for_contributors_is_the_house_in_the_order_of_its_arrows() -> None:
    tree = CONTRIBUTING.split("## The tree")[1].split("```")[1]
    named = re.findall(r"^  ([a-z_]+)(?:/|\.py)", tree, re.MULTILINE)
    folders = {part(path) for path in FILES if len(path.relative_to(PACKAGE).parts) > 1}
    assert folders | {"help"} <= set(named)
    steps = [{step} if isinstance(step, str) else set(step) for step in ORDER]
    ranks = [at for name in named for at, step in enumerate(steps) if name in step]
    assert ranks == sorted(ranks)


def test_its_worked_example_is_a_kind_and_runs(
    repo: Path, env: dict[str, str], tmp_path: Path
) -> None:
    """The files that CONTRIBUTING shows and the words that it adds, in a copy of the program."""
    code = tmp_path / "code"
    shutil.copytree(PACKAGE, code / "atlas_cli", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "templates", code / "templates")
    files = re.findall(
        r"^`(atlas_cli/\S+\.py)`:\n\n```python\n(.*?)```$", CONTRIBUTING, re.M | re.S
    )
    line = re.search(rf"^```python\n(    \"{TOY}\": .*?\n)```$", CONTRIBUTING, re.M)
    assert len(files) == 2 and line
    for name, text in files:
        assert not (code / name).exists()
        (code / name).write_text(text)
    for name, before, word in (
        ("records/__init__.py", "from .board import", f"from . import {TOY}\n"),
        ("records/__init__.py", "    policy.KIND,", f"    {TOY}.KIND,\n"),
        ("commands/__init__.py", '    "correct": ', line[1]),
    ):
        file = code / "atlas_cli" / name
        assert before in file.read_text()
        file.write_text(file.read_text().replace(before, word + before, 1))

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "atlas_cli", *words]
        return subprocess.run(
            argv, cwd=repo, env=env | {"PYTHONPATH": str(code)}, capture_output=True, text=True
        )

    shown = re.findall(r"^\$ atlas (.*)$", CONTRIBUTING, re.M)
    assert len(shown) == 5 and run("begin", "--goal", "g").returncode == 0
    today = "2026-11-29"
    for words in shown:
        done = run(*shlex.split(words.replace("2026-11-29", today)))
        assert done.returncode == 0, (words, done.stderr)
        today = next(iter(re.findall(rf"^{TOY}:([0-9-]{{10}})", done.stdout)), today)
    assert run(TOY, "add", "x", "--level", "none").returncode == 2
    assert "(retracted, " in run(TOY).stdout

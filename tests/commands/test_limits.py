"""Each example of a help page does what it says; each answer, JSON and the first text of a session,
closes with the limits that its help shows, under the policy in force, and tells times as its reader needs them: ages to
people, RFC 3339 to programs."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from atlas_cli.cli import limits
from atlas_cli.commands import digest
from atlas_cli.main import main
from atlas_cli.records import policy, session
from atlas_cli.records.board import task

from ..conftest import Atlas, environment
from ..contract import VERBS, Verb

NOON = 1795953600  # 2026-11-29T12:00:00Z, the day that the examples tell of
OTHER = "claude-261129-7f3k2m"
TIMES = {"at", "began", "ended", "expires", "released", "last", "adopted", "fetched_at"}
NO_MECHANISM = {"git", "tour", "help", "completion"}
# In an order in which each finds what it tells of. What starts programs of its own, and the tour,
# have tests elsewhere.
ORDER = [
    "init",
    "begin",
    "status write",
    "status show",
    "status log",
    "status diff",
    "artifact show",
    "artifact put",
    "artifact get",
    "artifact list",
    "artifact log",
    "artifact diff",
    "lease take",
    "lease renew",
    "lease show",
    "lease list",
    "lease release",
    "wait",
    "decision show",
    "decision add",
    "decision list",
    "correct",
    "show",
    "session list",
    "session show",
    "session adopt",
    "who",
    "log",
    "verify",
    "check",
    "links",
    "parked list",
    "hooks install",
    "hooks status",
    "hooks remove",
    "epoch",
    "config show",
    "config get",
    "config set",
    "task add",
    "task list",
    "task show",
    "task edit",
    "task freeze",
    "task thaw",
    "task claim",
    "task start",
    "task renew",
    "task next",
    "task done",
    "task results",
    "task board",
    "task graph",
    "task dead",
    "session offer",
    "gate raise",
    "gate list",
    "signal post",
    "signal list",
    "doctor",
    "view",
    "setup",
    "help",
    "completion",
    "end",
]
PROGRAMS = {
    "git": 0,
    "lease run": 0,
    "config edit": 2,
    "sync": 8,
    "uninstall": 6,
    "parked show": 7,
    "parked take": 7,
    "parked drop": 7,
    "status history": 7,
    "status unwarn": 7,
    "drafts list": 0,
    "drafts drop": 7,
    "outbox list": 0,
    "outbox export": 0,
    "outbox import": 0,
    "gate show": 7,
    "task fail": 6,
    "task release": 6,
    "task cancel": 3,
    "task retry": 6,
    "task assign": 6,
    "session drop": 5,
    "session dismiss": 6,
    "gate clear": 7,
    "signal show": 7,
}  # there is no terminal to edit on
TOLD = {"tour"}  # tests/test_example.py plays it


def example(name: str) -> tuple[list[str], str]:
    """The words of a help page's example behind `atlas`, and what it pipes in."""
    line, _, text = VERBS[tuple(name.split())].example.partition(" <<'EOF'\n")
    return shlex.split(line)[1:], text.removesuffix("EOF")


def closing(name: str) -> tuple[str, ...]:
    texts = digest.LIMITS if name == "digest" else VERBS[tuple(name.split())].texts
    return limits.said(texts, {**policy.defaults(), "lease_max": "3h"})


def moments(data: object) -> int:
    """How many times there are in the data: each in RFC 3339, in UTC; and no age, which is for
    people only."""
    if isinstance(data, list):
        return sum(moments(item) for item in data)
    if not isinstance(data, dict):
        assert not (isinstance(data, str) and re.search(r"\d (s|min|h|days) (ago|left)", data)), (
            data
        )
        return 0
    found = {key: data[key] for key in TIMES & set(data) if isinstance(data[key], str)}
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", text) for text in found.values()), (
        found
    )
    # `when` of `who` is the age beside an `at`.
    return len(found) + sum(
        moments(value) for key, value in data.items() if not (key == "when" and "at" in data)
    )


@contextmanager
def standing(repo: Path, now: int) -> Iterator[pytest.MonkeyPatch]:
    """This process as a command would stand in a repository, at that moment."""
    with pytest.MonkeyPatch.context() as patch:
        for key in os.environ:
            patch.delenv(key)
        for key, value in environment(repo.parent).items():
            patch.setenv(key, value)
        patch.setattr("time.time", lambda: now)
        patch.chdir(repo)
        yield patch


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the store that the examples tell of: another session was there, and is
    over."""
    repo = tmp_path_factory.mktemp("told") / "repo"
    (repo / "src").mkdir(parents=True)
    files = {
        "src/parser.py": "parse = print\n",
        "schema.sql": "create table t(a);\n",
        "report.md": "# report\n",
        "train.sh": "#!/bin/sh\necho trained\n",
    }
    for name, text in files.items():
        (repo / name).write_text(text)
    (repo / "train.sh").chmod(0o755)
    who = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid"]
    for argv in (["init", "-q", "-b", "main"], ["add", "."], [*who, "commit", "-qm", "first"]):
        subprocess.run(["git", *argv], cwd=repo, env=environment(repo.parent), check=True)
    deeds = ["init", "begin --actor claude", "config set lease_max 3h"]
    deeds += [f"status write -m 'Entry {number}.'" for number in range(12)] + [
        "artifact put schema schema.sql"
    ] * 3
    deeds += [
        "decision add --title storage --recommended sqlite --chosen files --stance disagreed --why w",
        "end -m Done",
    ]
    deeds[-1:-1] = [
        "task add first --role backend",
        "task add second --role backend --needs 2mq9xa7f3k",
    ]
    ids = iter(("2mq9xa7f3k", "7f3k2mq9xa"))
    with standing(repo, NOON) as patch:
        patch.setattr(session, "new_id", lambda *_: OTHER)
        patch.setattr(task, "new_id", lambda *_: next(ids))
        assert [main(shlex.split(line)) for line in deeds] == [0] * len(deeds)
    return repo


@pytest.fixture
def repo(told: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(told, tmp_path / "repo"))


@pytest.mark.parametrize("form", ["text", "json"])
def test_each_example_runs_and_its_answer_closes_with_its_limits(
    form: str, repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told: set[str] = set()  # to the session, by then
    with standing(repo, NOON + 3600) as patch:
        for name in ORDER:
            words, text = example(name)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
            code = main([*words, *(["--json"] if form == "json" else [])])
            out, err = capsys.readouterr()
            assert code == 0, (name, out, err)
            said = (
                json.loads(out)["notices"]
                if form == "json"
                else re.findall("^note: (.*)$", out + err, re.MULTILINE)
            )
            assert set(closing(name)) - told <= set(said), (name, out, err)
            if form == "text":  # in full once a session; `begin` is the digest, `end` ends it
                assert not told & set(said) or name in ("begin", "end"), (name, out, err)
                told = set(said) if name == "begin" else told
                told |= set(said) if name not in ("init", "end") else set()
            if form == "json":
                moments(json.loads(out)["data"])
            else:  # (what a record says, in a frame, is its own)
                assert not re.search(r"^[^│].*\d\d:\d\dZ?", out + err, re.MULTILINE), (
                    name,
                    out,
                    err,
                )


def test_the_examples_that_start_programs_run_too(repo: Path, atlas: Atlas) -> None:
    for name, code in PROGRAMS.items():
        assert atlas("begin", "--new").code == 0
        words, _ = example(name)
        done = atlas(*words)
        assert done.code == code, (name, done)
        if name == "lease run":
            assert done.out == "trained\n", "stdout is the program's alone"
            assert all(f"note: {line}" in done.err for line in closing(name))


def test_no_example_is_left_out() -> None:
    assert {*ORDER, *PROGRAMS, *TOLD} == {" ".join(verb) for verb in VERBS}


def test_every_command_has_its_limits() -> None:
    assert {" ".join(verb) for verb, parser in VERBS.items() if not parser.texts} == NO_MECHANISM


def test_help_closes_with_them_under_the_policy_in_force_and_under_the_default_elsewhere(
    repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def page(verb: Verb, where: Path) -> str:
        monkeypatch.chdir(where)
        assert main([*verb, "--help"]) == 0
        return " ".join(capsys.readouterr().out.partition("\nExample:")[0].split())

    for verb in VERBS:
        shown = page(verb, repo)
        assert all(f"- {line}" in shown for line in closing(" ".join(verb))), shown
    assert "after 3h at the latest" in page(("lease", "take"), repo)
    assert main(["help", "leases"]) == 0
    assert '│ lease_max  "3h"           "4h"\n' in capsys.readouterr().out
    assert "after 4h at the latest" in page(("lease", "take"), repo.parent)


def test_the_digest_closes_with_them(repo: Path, atlas: Atlas) -> None:
    assert all(f"note: {line}\n" in atlas().out for line in closing("digest"))
    assert set(closing("digest")) <= set(atlas("--json").json["notices"])


def test_bytes_and_values_for_scripts_stay_alone_on_stdout(repo: Path, atlas: Atlas) -> None:
    assert atlas("config", "get", "lease_max").out == "3h\n"
    assert atlas("begin", "--new", "--goal", "read it").code == 0  # a session is told a limit once
    first, again = (atlas("artifact", "get", "schema") for _ in range(2))
    assert first.out == again.out == "create table t(a);\n"
    note = f"note: {closing('artifact get')[0]}"
    assert note in first.err and note not in again.err

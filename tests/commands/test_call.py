"""One call: it ends in an answer, whatever comes; it prints nothing; a face without a terminal can
refuse what needs one; a module is loaded when its command is called."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from atlas_cli import faces, interrupts
from atlas_cli.call import Answer, call
from atlas_cli.commands import COMMANDS, FACES
from atlas_cli.main import show

from ..conftest import environment
from ..contract import VERBS

TOY = """
import typer

from atlas_cli import interrupts
from atlas_cli.commands import env_of, single, verb
from atlas_cli.outcome import Outcome

app = single()


@verb(app, "toy", "atlas toy")
def toy(ctx: typer.Context) -> Outcome:
    "A toy."
    return Outcome(env_of(ctx).words, blocks())


def blocks():
    yield "a block"
"""
Ask = Callable[..., Answer]
TERMINAL = {("git",), ("tour",), ("lease", "run"), ("config", "edit")}


@pytest.fixture
def ask(
    repo: Path, home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Ask:
    """One call in this process, in a repository with a store. Nothing is printed by it."""
    for key, value in environment(home).items():
        monkeypatch.setenv(key, value)
    monkeypatch.chdir(repo)

    def run(*argv: str, terminal: bool = False) -> Answer:
        capfd.readouterr()
        answer = call(list(argv), terminal=terminal)
        assert capfd.readouterr() == ("", "")
        return answer

    return run


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A face in a folder of its own, named by the table of commands; its file."""
    file = tmp_path / "toys/toy.py"
    file.parent.mkdir()
    file.write_text(TOY)
    monkeypatch.setattr(faces, "__path__", [*faces.__path__, str(file.parent)])
    monkeypatch.setitem(COMMANDS, "toy", "A toy.")
    monkeypatch.setitem(FACES, "toy", "faces.toy")
    monkeypatch.delitem(sys.modules, "atlas_cli.faces.toy", raising=False)
    return file


def failing(toy: Path, *lines: str) -> None:
    """The toy does this in place of giving an outcome."""
    toy.write_text(
        TOY.replace("    return Outcome(", f"    {'; '.join(lines)}\n    return Outcome(")
    )


def test_an_answer_is_an_outcome_and_what_the_envelope_says_of_the_store(ask: Ask) -> None:
    answer = ask("status", "--json")
    assert answer.outcome is not None and answer.error is None and answer.exit == 0
    assert (answer.talk.command, answer.talk.json) == ("status show", True)
    assert answer.talk.head and not answer.wrote
    begun = ask("begin", "--goal", "g")
    assert begun.wrote and begun.outcome and begun.outcome.published is False
    assert begun.talk.head != answer.talk.head


def test_an_answer_is_an_error_where_it_was_refused(ask: Ask) -> None:
    answer = ask("show", "decision:none")
    assert answer.outcome is None and answer.error is not None
    assert answer.exit == answer.error.exit == 7 and answer.talk.head
    usage = ask("lease", "take", "--wy", "x", "--quiet")
    assert usage.error and (usage.exit, usage.error.code) == (2, "usage")
    assert (usage.talk.command, usage.talk.quiet) == ("lease take", True)
    assert ask("--json", "--expect").talk.json


def test_a_help_page_is_an_outcome_that_looks_at_no_store(ask: Ask) -> None:
    for argv in (("lease", "take", "--help"), ("help", "lease"), ("--help",)):
        answer = ask(*argv)
        assert answer.outcome is not None and answer.exit == 0 and not answer.talk.head
        assert answer.outcome.data["help"].startswith("Usage: atlas")


FAULTS = {
    "KeyboardInterrupt": ("interrupted", 130, "unknown"),
    "MemoryError": ("failed", 1, "unknown"),
    "RecursionError": ("failed", 1, "unknown"),
    "OSError(28, 'no space', 'x')": ("environment", 1, "unknown"),
    "BrokenPipeError(32, 'a child has gone')": ("environment", 1, "unknown"),
    "typer.Abort": ("interrupted", 130, "unknown"),
    "EOFError": ("interrupted", 130, "unknown"),
    "ValueError('a fault')": ("internal", 1, "internal"),
    "__import__('atlas_cli').errors.Held('no')": ("held", 4, "held"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_whatever_comes_is_an_answer(fault: str, ask: Ask, toy: Path) -> None:
    failing(toy, f"raise {fault}")
    answer = ask("toy")
    assert answer.error is not None and (answer.error.code, answer.exit) == FAULTS[fault][:2]


@pytest.mark.parametrize("fault", FAULTS)
def test_once_it_may_have_been_written_it_is_unknown(fault: str, ask: Ask, toy: Path) -> None:
    failing(toy, "interrupts.moves('ask')", f"raise {fault}")
    answer = ask("toy")
    assert answer.error is not None and answer.error.code == FAULTS[fault][2]
    assert answer.exit == (10 if FAULTS[fault][2] == "unknown" else FAULTS[fault][1])
    assert interrupts.hint() == "ask"
    assert ask("status").exit == 0 and interrupts.hint() == "", "the next call begins anew"


@pytest.mark.parametrize("verb", sorted(TERMINAL))
def test_a_face_without_a_terminal_refuses_what_hands_it_on(
    verb: tuple[str, ...], ask: Ask, repo: Path
) -> None:
    more = ("gpu0", "--why", "w", "--", "touch", "made") if verb == ("lease", "run") else ()
    answer = ask(*verb, *more)
    assert answer.error is not None and (answer.exit, answer.error.code) == (2, "usage")
    assert f"`atlas {' '.join(verb)}`" in answer.error.message and answer.error.hint
    assert not (repo / "made").exists()
    assert ask(*verb, "--help").exit == 0


def test_no_other_command_needs_a_terminal() -> None:
    assert {verb for verb, parser in VERBS.items() if parser.terminal} == TERMINAL


def test_a_face_in_the_table_is_loaded_when_it_is_called(ask: Ask, toy: Path) -> None:
    page = ask("--help")
    assert page.outcome and "toy" in page.outcome.data["help"]
    for argv in (["status"], ["help", "leases"], ["lease", "toy"]):
        ask(*argv)
    assert "atlas_cli.faces.toy" not in sys.modules
    answer = ask("toy", "--json")
    assert answer.outcome is not None and answer.outcome.data == ["toy"]
    assert answer.talk.command == "toy"
    assert "atlas_cli.faces.toy" in sys.modules
    page = ask("toy", "--help")
    assert page.outcome and "atlas toy" in page.outcome.data["help"]


@pytest.mark.parametrize("fault", ["KeyboardInterrupt", "MemoryError", "ValueError('a fault')"])
def test_what_ends_a_block_that_is_made_while_it_is_printed_is_said_too(
    fault: str, ask: Ask, toy: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """As those of `tour` are."""
    toy.write_text(f"{TOY}    raise {fault}\n")
    answer = ask("toy")
    assert answer.exit == 0
    code, number, _ = FAULTS[fault]
    assert show(answer) == number
    out, err = capfd.readouterr()
    assert out == "a block\n" and err.startswith(f"atlas: error ({code}): ")


def test_the_limits_of_the_digest_stand_once(ask: Ask) -> None:
    ask("begin", "--goal", "g")
    answer = ask("--since", "1h")
    assert answer.outcome and len(set(answer.outcome.limits)) == len(answer.outcome.limits) == 2

"""The contract of every command and verb: help, usage errors, the envelope, exit codes. A new
command is judged too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from atlas_cli.cli.grammar import WRONG
from atlas_cli.commands import COMMANDS
from atlas_cli.errors import EXITS, AtlasError

from .conftest import Atlas
from .contract import ANYWHERE, CALLS, LISTS, VERBS, WHY, Said, Verb, call, envelope, places, said

each = pytest.mark.parametrize("verb", VERBS, ids=" ".join)
writes = pytest.mark.parametrize(
    "verb", [verb for verb in VERBS if CALLS[verb][1] == 5], ids=" ".join
)
__all__ = ["places", "said"]  # fixtures


def test_this_list_of_calls_is_whole() -> None:
    assert set(CALLS) == set(VERBS)


@each
def test_help_ends_with_an_example_and_the_exit_codes(verb: Verb, said: Said) -> None:
    for argv in ([*verb, "--help"], ["--quiet", *verb, "--help"]):
        done = said(*argv, where="outside")
        assert (done.code, done.err) == (0, ""), done
        example, codes = re.split(r"\n *Exit codes:\n", done.out.rpartition("\nExample:\n")[2])
        assert (
            example.strip().startswith(f"atlas {' '.join(verb)}")
            or example.strip() == f"atlas {verb[0]}"
        ), example
        numbers = {
            int(line.split()[0]) for line in codes.splitlines() if re.match(r" +\d+  ", line)
        }
        assert {0, 1, 2} <= numbers <= set(EXITS)
        assert verb in ANYWHERE or 7 in numbers
        assert CALLS[verb][1] != 5 or verb == ("session", "show") or {3, 5, 6, 7, 8, 10} <= numbers
    done = said("--json", *verb, "--help", where="outside")
    assert "Exit codes:" in envelope(done)["data"]["help"]


@pytest.mark.parametrize("noun", sorted({verb[0] for verb in VERBS if len(verb) > 1}))
def test_the_help_of_a_noun_names_its_verbs(noun: str, said: Said) -> None:
    done = said(noun, "--help", where="outside")
    assert done.code == 0 and "Example:" in done.out and "exit codes" in done.out.lower()
    assert all(f"\n  {verb[1]} " in done.out for verb in VERBS if verb[0] == noun)


def test_the_help_of_atlas_names_every_command_option_and_exit_code(said: Said) -> None:
    done = said("--help", where="outside")
    names = done.out.partition("Commands (")[2].partition("\n\n")[0]
    assert done.code == 0 and set(COMMANDS) <= set(re.findall(r"\w+", names))
    assert all(
        option in done.out
        for option in ("-C", "--session", "--operation", "--expect", "--json", "--quiet")
    )
    codes = done.out.partition("Exit codes (")[2]
    assert all(re.search(rf"(?:^|;)\s+{code}\s", codes, re.MULTILINE) for code in EXITS)
    assert done.out.count("\n") <= 30  # a screen
    assert said("--version", where="outside").out.startswith("atlas ")


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != ("git",)], ids=" ".join)
def test_an_unknown_option_is_one_envelope_wherever_json_stands(verb: Verb, said: Said) -> None:
    first = envelope(said("--json", *verb, "--nope"))
    assert (
        first
        == envelope(said(*verb, "--nope", "--json"))
        == envelope(said(*verb, "--json", "--nope"))
    )
    assert (first["command"], first["status"], first["error"]["code"]) == (
        " ".join(verb),
        "error",
        "usage",
    )
    assert "--nope" in first["error"]["message"]
    done = said(*verb, "--nope")
    assert (done.code, done.out) == (2, "") and done.err.startswith("atlas: error (usage): ")


@each
def test_a_usage_error_names_everything_that_is_missing_at_once(verb: Verb, said: Said) -> None:
    required = [param for param in VERBS[verb].params if param.required]
    needed = [
        param.opts[0] if param.opts[0].startswith("-") else str(param.metavar) for param in required
    ]
    if not needed:
        return
    for argv in (verb, (*verb, "--nope")):
        error = envelope(said(*argv, "--json"))["error"]
        assert error["code"] == "usage" and all(name in error["message"] for name in needed), error
        assert "\n" not in error["message"]
    assert ("--nope" in error["message"]) == (verb != ("git",))


def test_what_is_missing_unknown_and_wrong_is_named_together(said: Said) -> None:
    error = envelope(said("lease", "take", "--nope", "--for", "NaN", "--json"))["error"]
    assert all(word in error["message"] for word in ("--nope", "RES", "--why", "--for", "NaN")), (
        error
    )


@each
def test_outside_a_repository_and_without_a_store_it_is_7_and_names_what_makes_one(
    verb: Verb, said: Said, places: tuple[Path, str]
) -> None:
    if verb in (*ANYWHERE, ("config", "edit"), ("hooks", "remove")):
        return  # an editor is asked for on a terminal first; hooks can outlive their store
    for where in ("outside", "plain"):
        if verb == ("git",):
            done = said("git", "log", where=where)
            assert done.code == 7 and "no store" in done.err
        elif (verb, where) != (("init",), "plain"):
            found = said("--json", *verb, *call(verb, places[1]), where=where)
            error = envelope(found)["error"]
            assert (found.code, error["code"]) == (7, "no_store") and "atlas init" in error[
                "message"
            ] + error["hint"]
    assert (
        not (places[0] / "plain/.git/atlas").exists() and not (places[0] / "plain/.atlas").exists()
    )


@pytest.mark.parametrize(
    "verb", [verb for verb in VERBS if CALLS[verb][1] is not None], ids=" ".join
)
def test_reading_needs_no_session_and_writing_without_one_stops(
    verb: Verb, said: Said, places: tuple[Path, str]
) -> None:
    done = said("--json", *verb, *call(verb, places[1]))
    found = envelope(done)
    assert done.code == CALLS[verb][1], done
    assert found["command"] == " ".join(verb) and done.err == ""
    if done.code == 5:
        assert (found["status"], found["error"]["code"]) == ("stop", "no_session")
        assert "atlas begin" in found["error"]["hint"]
    elif done.code == 0:
        assert (
            found["data"] is not None
            and len(found["store"]["head"]) == 40
            and found["store"]["published"] is None
        )
    if verb in LISTS:
        data = found["data"]
        assert list(data) == ["items", "total", "shown", "cursor"]
        assert len(data["items"]) == data["shown"] <= data["total"]


@writes
def test_an_unknown_or_ended_session_stops_too(
    verb: Verb, said: Said, places: tuple[Path, str]
) -> None:
    ended = said("session", "list", "--all", "--json").data["items"][0]["id"]
    for named in (ended, "nobody-261129-aaaaaa"):
        done = said(*verb, *call(verb, places[1]), "--session", named, "--json")
        if verb != ("session", "show"):
            assert (done.code, envelope(done)["error"]["code"]) == (5, "no_session"), done
    done = said("--session", "../x", *verb, *call(verb, places[1]), "--json")
    assert (done.code, envelope(done)["error"]["code"]) == (2, "usage")


@pytest.mark.parametrize(
    "named",
    [
        "status main",
        "status main@1",
        "artifact a",
        "artifact a@1",
        "lease gpu0",
        "decision DECISION",
        "session SESSION",
    ],
)
def test_a_noun_and_a_name_show_it(named: str, said: Said, places: tuple[Path, str]) -> None:
    noun, name = named.split()
    session = said("status", "--json").data["session"]
    name = {"DECISION": places[1], "SESSION": session}.get(name, name)
    short, full = (envelope(said(noun, *show, name, "--json"))["data"] for show in ([], ["show"]))
    assert short.keys() == full.keys() and all(
        short[key] == full[key] for key in full if key != "seconds_left"
    )
    assert full["ref"].startswith(f"{noun}:")
    assert envelope(said("show", full["ref"], "--json"))["data"]["ref"] == full["ref"]


def test_a_bare_noun_lists_or_shows(said: Said) -> None:
    for noun in sorted({verb[0] for verb in VERBS if len(verb) > 1}):
        verb = {"status": "show", "config": "show", "hooks": "status"}.get(noun, "list")
        bare, full = (envelope(said(*argv, "--json")) for argv in ([noun], [noun, verb]))
        assert bare["data"].keys() == full["data"].keys()


def test_global_options_work_before_and_after_the_command(
    said: Said, places: tuple[Path, str]
) -> None:
    data = envelope(said("status", "show", "--json"))["data"]
    repo = str(places[0] / "repo")
    for argv in (
        ["--json", "status"],
        ["status", "--json", "show"],
        ["-C", repo, "--json", "status", "show"],
        ["status", "show", "-C", repo, "--json"],
        ["status", f"-C={repo}", "--json", "--quiet", "--offline"],
        ["--session", "x", "status", "--json"],
    ):
        assert (
            envelope(said(*argv, where="outside" if repo in " ".join(argv) else "repo"))["data"]
            == data
        ), argv
    for lonely in ("-C", "--session", "--operation", "--expect"):
        done = said("--json", "status", lonely)
        assert (done.code, envelope(done)["error"]["message"]) == (2, f"{lonely} needs a value")


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("status write -m --quiet --json", "body", "--quiet\n"),
        ("status write -m --json --json", "body", "--json\n"),
        ("status write --json -m --session=x", "body", "--session=x\n"),
        ("status write --json -m -- -q", "body", "--\n"),
        ("status write --json -m--offline", "body", "--offline\n"),
        ("status write --json -m=--quiet", "body", "=--quiet\n"),
        ("status write --json -qm --json", "body", "--json\n"),
        ("-qC . --json status write -m -C", "body", "-C\n"),
        ("lease take a --why --offline --json", "why", "--offline"),
        ("lease take a --why=--json --json", "why", "--json"),
        ("-- lease take a --why --expect --json", "why", "--expect"),
        ("--json lease take --why -- -- a", "why", "--"),
        ("task add --json -- --session=3", "title", "--session=3"),
        ("task add --json -- --json", "title", "--json"),
    ],
)
def test_what_belongs_to_the_command_is_no_global_option(
    line: str, key: str, value: str, begun: str, atlas: Atlas
) -> None:
    found = envelope(atlas(*line.split()))["data"]
    text = str(found.get("items", [found])[0][key])
    assert text.removeprefix("## test\n\n") == value  # (under the session's own heading)


def test_a_text_that_begins_like_a_global_option_is_not_taken_for_an_id(said: Said) -> None:
    for text in ("--session=3 is broken", "--operation=x of y", "--expect=the worst"):
        done = said("task", "add", text)
        assert (done.code, "takes an id, not" in done.err) == (2, True)
        assert "stands behind --, last in the command" in done.err


def test_behind_two_dashes_before_the_command_there_is_only_the_command(said: Said) -> None:
    assert said("--", "lease", "--json", "list").json["command"] == "lease list"
    assert "there is no command '--json'" in said("--", "--json").err


def test_an_unknown_word_is_told_the_right_one(said: Said) -> None:
    for word in ("nope", "", "-x", "--nope", "\x1b[2J", "stauts", "x" * 5000):
        done = said(word, "--json")
        assert (done.code, envelope(done)["error"]["code"]) == (2, "usage"), word
        assert len(envelope(done)["error"]["message"]) < 300 or word == "-x"
    assert "did you mean atlas status?" in said("stauts").err
    assert "did you mean atlas lease take?" in said("lease", "tkae").err
    for word, hint in WRONG.items():
        done = said(word, "--json")
        assert (done.code, done.json["error"]["hint"]) == (2, hint)


def test_every_way_to_fail_has_an_exit_code_and_only_stops_are_stops() -> None:
    found, more = set(), [AtlasError]
    while more:
        kind = more.pop()
        more += kind.__subclasses__()
        found.add(kind.exit)
        assert (kind("m").status == "stop") == (kind.exit in (3, 4, 5)) and kind.exit in EXITS
        assert EXITS[kind.exit][1] in (kind.retry, "see error.retry"), kind
    assert found | {0, 130} == set(EXITS)


def test_as_processes_stops_and_errors_say_the_same(begun: str, atlas: Atlas) -> None:
    assert atlas("lease", "take", "gpu0", *WHY).code == 0
    other = atlas("begin", "--new", "--json").data["id"]
    wanted: list[tuple[list[str], int, str]] = [
        (["lease", "take", "gpu0", *WHY], 4, "held"),
        (["--expect", "status:main@9", "status", "write", "-m", "x"], 3, "version_jump"),
        (["lease", "take", "a", *WHY, "--for", "10h"], 6, "limit"),
        (["lease", "show", "a"], 7, "not_found"),
        (["lease", "take"], 2, "usage"),
        (["-C", "/nowhere", "status"], 7, "no_store"),
    ]
    for argv, code, name in wanted:
        done = atlas("--json", *argv, ATLAS_SESSION=other, LC_ALL="C")
        assert (done.code, envelope(done)["error"]["code"], done.err) == (code, name, ""), done
        spoken = atlas(*argv, ATLAS_SESSION=other)
        head = f"stop {code}" if code in (3, 4, 5) else "error"
        assert spoken.out == "" and spoken.err.startswith(
            f"atlas: {head} ({name.replace('_', ' ')}): "
        ), spoken


def test_the_exit_code_of_a_command_under_a_lease_is_no_error_of_ours(
    begun: str, atlas: Atlas
) -> None:
    done = atlas("--json", "lease", "run", "b", *WHY, "--", "sh", "-c", "echo out; exit 3")
    assert (done.code, done.json["data"]["exit"], done.json["status"], done.err) == (
        3,
        3,
        "ok",
        "out\n",
    )


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("lease gpu0", "lease show"),
        ("lease --json", "lease list"),
        ("session --since 12h", "session list"),
        ("--session x lease gpu0", "lease show"),
        ("status --json secret", "status show"),
        ("hooks", "hooks status"),
        ("lease tkae", "lease"),
        ("lease claim", "lease"),
        ("outbox secret", "outbox"),
        ("lease --help", "lease"),
        ("lease -- secret", "lease list"),
        ("lease take secret", "lease take"),
        ("lease take --nope secret", "lease take"),
        ("lease -x secret", "lease list"),
        ("show secret", "show"),
        ("log secret word", "log"),
        ("help lease", "lease"),
        ("help lease take", "lease take"),
        ("help secret", "help"),
        ("help lease secret", "lease"),
        ("secret word", "atlas"),
        ("--nope secret", "atlas"),
        ("-C", "atlas"),
        ("--since 12h", "atlas"),
        ("--since secret", "atlas"),
        ("", "atlas"),
        ("--version secret", "atlas"),
        ("status secret --session", "status show"),
        ("--session", "atlas"),
        ("hook secret", "atlas"),
    ],
)
def test_the_envelope_names_the_command_and_no_word_of_the_callers(
    line: str, name: str, said: Said
) -> None:
    assert envelope(said("--json", *line.split()))["command"] == name


def test_help_of_a_command_runs_none_whatever_follows(begun: str, atlas: Atlas) -> None:
    head = atlas("status", "--json").json["store"]["head"]
    for words in (["end", "-m"], ["status", "write", "-m"]):
        assert (
            atlas("help", *words).code == 2 and "Exit codes:" in atlas("help", *words, "text").out
        )
    assert atlas("status", "--json").json["store"]["head"] == head

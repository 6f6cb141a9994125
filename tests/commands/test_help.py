"""`atlas help`: the pages, held against the tables that the code obeys."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from atlas_cli.checks import rules as checks
from atlas_cli.cli import manual, pages
from atlas_cli.cli.pages import TOPICS
from atlas_cli.commands import COMMANDS
from atlas_cli.commands.help import LIMITS, page, set_apart
from atlas_cli.errors import EXITS
from atlas_cli.hooks.handlers import HOOKS
from atlas_cli.model import text, times
from atlas_cli.records import BY_NAME, KINDS, artifact, lease, policy, session
from atlas_cli.records.judging import RULES
from atlas_cli.records.own import CHOICES
from atlas_cli.store import differences

from ..conftest import ROOT, Atlas
from ..contract import ENVELOPE as KEYS
from ..contract import ERROR, STORE, VERBS, Said, envelope, places, said

__all__ = ["places", "said"]  # fixtures
DEFAULTS = policy.defaults()
SOURCES = {topic: pages.source(topic) for topic in TOPICS}
CLOSING = {
    topic: [line for name in LIMITS.get(topic, ()) for line in VERBS[tuple(name.split())].texts]
    for topic in TOPICS
}
PAGES = {topic: page(topic, DEFAULTS, CLOSING[topic]) for topic in TOPICS}
CODE = "".join(path.read_text() for path in (ROOT / "atlas_cli").rglob("*.py"))


def test_a_page_is_a_file_and_a_name() -> None:
    files = {path.stem for path in (ROOT / "atlas_cli/help").iterdir()}
    assert files == set(TOPICS) and not files & set(COMMANDS)
    for topic, source in SOURCES.items():
        title, empty, line, below = source.split("\n")[:4]
        assert title.startswith("# ") and (empty, below) == ("", "") and len(line) <= 66, topic


@pytest.mark.parametrize("topic", TOPICS)
def test_a_page_is_printed_plain_and_fits(topic: str, said: Said) -> None:
    done = said("help", topic, where="outside")
    assert (done.code, done.err, done.out) == (0, "", PAGES[topic] + "\n")
    shown, _, closing = PAGES[topic].partition("\nLimits:\n")
    assert shown.count("\n") < 170 and max(map(len, shown.split("\n"))) <= 102
    assert bool(closing) == (topic in ("protocol", "leases"))
    assert not re.search(r"\]\(|^#|^```|^\||\*\*[A-Za-z`]", shown, re.MULTILINE)


@pytest.mark.parametrize("topic", TOPICS)
def test_printed_it_says_every_word_of_its_source(topic: str) -> None:
    def words(text: str) -> list[str]:
        return sorted(re.findall(r"\w+", text.upper()))

    source = re.sub(r"\]\([a-z]+\.md\)|^```[a-z]*$", "", SOURCES[topic], flags=re.MULTILINE)
    assert words(pages.plain(SOURCES[topic])) == words(source)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_verb_is_named(name: str) -> None:
    lines = SOURCES["commands"].split("\n")
    row = next((line for line in lines if line.startswith(f"| `atlas {name}")), "")
    assert row, f"no row for {name}"
    assert [verb for verb in VERBS if verb[0] == name and verb[-1] not in row] == []


def test_the_exit_codes_the_rules_and_the_keys_are_the_tables_of_the_code() -> None:
    rows = {
        "stops": [f"| {code} | {what} | {again} |" for code, (what, again) in EXITS.items()],
        "rules": [f"| `{rule}` | {what} |" for rule, what in RULES.items()],
        "policy": [
            f"| `{key}` | `{json.dumps(row[0])}` | {row[1]} |"
            for key, row in policy.KEYS.items()
            if key != "preconditions"
        ]
        + [f"| `{key}` | `{row.words[0]}` | {row.meaning} |" for key, row in CHOICES.items()],
        "commits": [
            f"| `{key}` | {level} |" for key, level in policy.KEYS["preconditions"][0].items()
        ],
        "ci": [f"| `{rule}` |" for rule in ("session", *checks.LEVELS)],
    }
    for topic, wanted in rows.items():
        assert [row for row in wanted if row not in SOURCES[topic]] == []
    for topic in ("stops", "rules"):
        table = [line for line in SOURCES[topic].split("\n") if line.startswith("|")]
        assert len(table) == 2 + len(rows[topic])
    assert all(f"`{hook}`" in SOURCES["commits"] for hook in HOOKS)
    codes = re.findall(r"`([a-z]+_[a-z]+)`:", SOURCES["stops"])
    assert codes and all(f'"{code}"' in CODE for code in codes)


def test_the_layout_names_each_kind_and_its_shape() -> None:
    layout = SOURCES["files"].split("```\n")[1]
    for kind in KINDS:
        if kind.name != "policy":
            line = next(line for line in layout.split("\n") if line.startswith(f"{kind.folder}/"))
            assert ("row" if kind.row else "document") in line
    assert policy.FOLDER in layout


def test_the_envelope_is_the_contract() -> None:
    shown = json.loads(SOURCES["json"].split("```json\n")[1].split("```")[0])
    assert [list(shown), list(shown["store"]), list(shown["error"])] == [KEYS, STORE, ERROR]


def test_a_default_beside_a_key_is_the_policys() -> None:
    """Pages write it as `key`: value."""
    beside = [
        (topic, key, value)
        for topic, source in SOURCES.items()
        for key, value in re.findall(r"`([a-z_]+)`:\s+([\w\[][\w,]*\w(?: ci\])?|\d)", source)
        if key in DEFAULTS
    ]
    assert len(beside) > 15
    for topic, key, value in beside:
        default = DEFAULTS[key]
        assert value == (f"{default:,}" if isinstance(default, int) else default), (topic, key)


def test_the_numbers_are_those_of_the_code() -> None:
    assert f"at most {times.span(session.LIFE)}," in SOURCES["protocol"]
    assert f"from {times.span(lease.SHORTEST)} to the most" in SOURCES["leases"]
    assert f"may differ by {times.span(times.SKEW)}:" in SOURCES["leases"]
    assert f"more than {artifact.NOISE} times in a day" in SOURCES["mechanisms"]
    assert checks.SLACK == 300 and "five minutes before the commit" in SOURCES["ci"]
    bounds = SOURCES["guarantees"].split("## Bounds of what is read")[1].replace("\n", " ")
    megabytes = (f"{most >> 20} MB of" for most in (artifact.MOST, text.MOST))
    hand, whole = (most >> 10 for most in (text.HAND_LIMIT, text.POLICY_LIMIT))
    by_hand = (f"{hand} KB of YAML", f"{whole} KB of the policy", f"{hand * text.HANDS} KB a")
    assert all(bound in bounds for bound in (*megabytes, *by_hand, f"{differences.MOST:,} files"))
    assert differences.DEEP == 8 and "eight folders deep" in bounds


def test_a_ref_of_each_kind_is_shown() -> None:
    shown = SOURCES["commands"].split("A **REF**")[1].split("\n\n")[0]
    named = {kind for kind in BY_NAME if f"`{kind}:" in shown}
    assert set(BY_NAME) - named == {"policy", "inbox", "result"}


def test_what_the_policy_in_force_says_otherwise_stands_below(
    said: Said, places: tuple[Path, str]
) -> None:
    mine = DEFAULTS | {"lease_max": "3h", "fresh": "5m"}
    assert "after 3h at the latest" in page("leases", mine, CLOSING["leases"])
    assert set_apart("leases", mine) == ["lease_max"] and set_apart("rules", mine) == []
    assert set_apart("policy", mine) == ["fresh", "lease_max"]
    assert (
        said("help", "leases").out == said("help", "leases", where="outside").out
    )  # its store has the defaults
    assert envelope(said("help", "leases", "--json"))["data"] == {
        "topic": "leases",
        "help": PAGES["leases"],
        "policy": {},
    }


def test_a_changed_policy_is_shown_behind_the_bar(said: Said, places: tuple[Path, str]) -> None:
    assert said("begin", "--goal", "g").code == 0
    assert said("config", "set", "skip_mark", "[no ci]").code == 0
    out = said("help", "ci").out
    assert '\n│ skip_mark  "[no ci]"      "[skip ci]"\n' in out and out.startswith(PAGES["ci"])
    assert envelope(said("help", "ci", "--json"))["data"]["policy"] == {"skip_mark": "[no ci]"}
    assert said("config", "set", "skip_mark", "[skip ci]").code == 0
    assert said("end", "-m", "nothing", "--replace").code == 0


def test_bare_it_lists_the_topics(said: Said) -> None:
    done = said("help", where="outside")
    topics = {topic: pages.summary(topic) for topic in TOPICS}
    assert done.code == 0
    for topic, line in topics.items():
        assert re.search(rf"^  {topic} +{re.escape(line)}$", done.out, re.MULTILINE)
    assert envelope(said("help", "--json"))["data"] == {"topics": topics}
    listed = (
        said("--help").out.split("Topics (atlas help TOPIC)")[1].split(":\n", 1)[1].split("\n\n")[0]
    )
    assert re.findall(r"\w+", listed) == list(TOPICS)


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_help_of_a_command_is_its_own_page(verb: tuple[str, ...], said: Said) -> None:
    assert said("help", *verb) == said(*verb, "--help")


def test_an_unknown_topic_is_7_and_names_the_nearest(said: Said) -> None:
    error = envelope(said("help", "lesaes", "--json"))["error"]
    assert error["code"] == "not_found"
    lists = "atlas help lists the topics, atlas --help the commands"
    assert error["hint"] == f"did you mean atlas help leases? {lists}"
    assert envelope(said("help", "xyzzy", "--json"))["error"]["hint"] == lists


def test_tables_fold_their_widest_column_or_stack() -> None:
    narrow = "| a | b |\n|---|---|\n| x | y\\|z |"
    assert pages.plain(narrow) == "A  B\nx  y|z"
    folded = pages.plain(f"| a | b |\n|---|---|\n| x | {'word ' * 30}|")
    assert folded.split("\n")[2].startswith("   word") and max(map(len, folded.split("\n"))) <= 100
    stacked = pages.plain(f"| a | b |\n|---|---|\n| {'x' * 60} | {'word ' * 30}|")
    assert stacked.split("\n")[:3] == ["A", "    B", "x" * 60]
    assert pages.plain("```\n| a |\n```\n**b** `**/*.sql` `a/**`") == "  | a |\nb `**/*.sql` `a/**`"


def shell(topic: str) -> list[str]:
    """The commands of a page's first block of shell."""
    block = SOURCES[topic].split("```sh\n")[1].split("```")[0]
    return [line.split("   #")[0].strip() for line in block.split("\n") if line]


def test_what_the_pages_tell_to_type_runs(begun: str, repo: Path, atlas: Atlas) -> None:
    for name, body in (
        ("rename.sh", "#!/bin/sh\n"),
        ("report.md", "done\n"),
        ("plan.md", "## Measure\nname: a\n\n## Cut\nneeds: a\npriority: 70\n"),
    ):
        (repo / name).write_text(body)
        (repo / name).chmod(0o755)
    task = atlas("task", "add", "write the parser", "--priority", "70", "--json").data["id"]
    settings = [
        command
        for source in SOURCES.values()
        for command in re.findall(r"`(atlas config set \w+ '[^`]*')`", source)
    ]
    assert len(settings) == 4
    for line in [*shell("leases"), *shell("tasks")[1:], *settings]:
        done = atlas(*shlex.split(line.replace("7f3k2mq9xa", task))[1:])
        assert done.code == 0, (line, done.err)


def test_the_manual_of_man_holds_every_page_word_for_word() -> None:
    text, link = manual.files("1.2").values()
    assert link == ".so man1/atlas.1\n" and text.isascii()
    steering = {line.split()[0] for line in text.split("\n") if line[:1] in (".", "'")}
    assert steering == {".TH", ".SH", ".nf", ".fi"}, "no line of a page steers the formatter"
    for topic in pages.TOPICS:
        title, _, rest = pages.plain(pages.source(topic)).partition("\n")
        for line in (title, *rest.split("\n")):
            assert manual.verbatim(line) in text, (topic, line)
    formatter = shutil.which("groff")
    if formatter is None:
        pytest.skip("nothing here formats a page of man")
    done = subprocess.run(
        [formatter, "-man", "-Tutf8", "-P-cbu", "-rLL=200n"],
        input=text.encode(),
        capture_output=True,
        check=True,
    )
    shown = done.stdout.decode().split()
    assert done.stderr == b"" and "`$0`" not in shown
    wanted = " ".join(pages.plain(pages.source(topic)) for topic in pages.TOPICS).split()
    at = iter(shown)
    missing = [word for word in wanted if word not in at]
    assert missing == []

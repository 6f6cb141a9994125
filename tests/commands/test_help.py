"""`atlas help`: short pages that say what the code does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from atlas_cli.cli.root import Root
from atlas_cli.commands import COMMANDS
from atlas_cli.commands.help import ENVELOPE, LAYOUT, TOPICS, page
from atlas_cli.errors import EXITS
from atlas_cli.records import KINDS, policy
from atlas_cli.records.judging import RULES

from ..conftest import ROOT
from ..contract import ENVELOPE as KEYS
from ..contract import ERROR, STORE, VERBS, Said, envelope, places, said

__all__ = ["places", "said"]  # fixtures
DEFAULTS = {key: value for key, (value, _) in policy.KEYS.items()}
PAGES = {topic: page(topic, DEFAULTS) for topic in TOPICS}
SOURCE = "".join(path.read_text() for path in (ROOT / "atlas_cli").rglob("*.py"))


@pytest.mark.parametrize("topic", TOPICS)
def test_a_page_is_short_and_names_nothing_that_is_not_there(topic: str, said: Said) -> None:
    done = said("help", topic, where="outside")
    assert (done.code, done.err, done.out) == (0, "", PAGES[topic] + "\n")
    text, _, closing = PAGES[topic].partition("\nLimits:\n")
    assert PAGES[topic].count("\n") < 48 and max(map(len, text.split("\n"))) <= 115
    options = {name for parser in VERBS.values() for one in parser.params for name in one.opts} | {
        *Root.globals,
        "--help",
    }
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) <= options
    for word, other in re.findall(r"\batlas ([a-z]+)(?: ([a-z]+))?", text):
        nouns = {verb[1] for verb in VERBS if verb[0] == word and len(verb) > 1}
        assert word in COMMANDS and (not nouns or other in nouns), (word, other)
    assert bool(closing) == (topic in ("protocol", "leases"))


def test_the_facts_of_the_pages_are_those_of_the_code(said: Said) -> None:
    for code, (meaning, again) in EXITS.items():
        assert re.search(
            rf"^{code} +{re.escape(again)} +{re.escape(meaning)}$", PAGES["stops"], re.MULTILINE
        )
    assert all(
        re.search(rf"^{rule} +{re.escape(what)}$", PAGES["files"], re.MULTILINE)
        for rule, what in RULES.items()
    )
    assert LAYOUT in PAGES["files"] and all(kind.folder in LAYOUT for kind in KINDS)
    assert all(
        f'"{code}"' in SOURCE for code in re.findall(r"\b([a-z]+_[a-z]+)[:.]", PAGES["stops"])
    )
    shown = json.loads(ENVELOPE)
    assert ENVELOPE in PAGES["json"] and [
        list(shown),
        list(shown["store"]),
        list(shown["error"]),
    ] == [
        KEYS,
        STORE,
        ERROR,
    ]


def test_the_limits_are_of_the_policy_in_force(said: Said, places: tuple[Path, str]) -> None:
    assert "for 2h, or --for D: from 5 min to 4h" in said("help", "leases", where="outside").out
    assert "for 2h, or --for D: from 5 min to 3h" in page("leases", DEFAULTS | {"lease_max": "3h"})
    assert (
        said("help", "leases").out == said("help", "leases", where="outside").out
    )  # its store has the defaults


def test_bare_it_lists_the_topics(said: Said) -> None:
    done = said("help", where="outside")
    assert done.code == 0 and all(
        re.search(rf"^  {topic} +{what}$", done.out, re.MULTILINE) for topic, what in TOPICS.items()
    )
    assert envelope(said("help", "--json"))["data"] == {"topics": TOPICS}
    assert f"atlas help TOPIC: {', '.join(TOPICS)}\n" in said("--help").out


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_help_of_a_command_is_its_own_page(verb: tuple[str, ...], said: Said) -> None:
    assert said("help", *verb) == said(*verb, "--help")


def test_an_unknown_topic_is_7_and_names_the_nearest(said: Said) -> None:
    error = envelope(said("help", "lesaes", "--json"))["error"]
    assert error["code"] == "not_found"
    assert (
        error["hint"]
        == f"did you mean leases? the topics are {', '.join(TOPICS)}; atlas --help lists the commands"
    )

"""The root of all commands: which words there are, the options that all of them share, and the
module of a command, imported when it is called."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from ..env.env import Env, Options
from ..errors import EXITS, Usage
from ..model import names
from ..outcome import Outcome
from .grammar import WRONG, Explained, Noun, UsageError, parser_of, problem

_VALUES = {
    "-C": "directory",
    "--session": "session",
    "--operation": "operation",
    "--expect": "expect",
}
_FLAGS = {
    "--json": "json",
    "--quiet": "quiet",
    "-q": "quiet",
    "--offline": "offline",
    "--require-published": "require_published",
}
HELP = ["-h", "--help"]
_DIGEST = ("--since", "--words")  # the digest's own options stand behind no command
_ABOUT = """\
Workers who cannot talk to each other share one project. Read first, write last: begin with
`atlas begin --goal "what you will do"`, close with `atlas end`. Bare `atlas` shows where
things stand, and begins nothing."""
_OPTIONS = (
    "-C PATH, --session ID, --operation ID, --expect HEAD|REF@N, --json, --quiet, --offline,"
    " --require-published, -V, --version, -h, --help: before or after the command"
)
COLUMNS = 100  # of a help page, where the terminal has so many


class Root(Explained, TyperGroup):
    """All commands, for one call. `words` says what each of them does, `unlisted` are those that no
    list shows, and `modules` holds those whose module is not `commands.WORD`. `terminal`: whether a
    command may hand the terminal to another program. `groups`: the heading of the words from one
    on, by that word."""

    globals = (*_VALUES, *_FLAGS)

    def __init__(
        self,
        words: Mapping[str, str],
        unlisted: tuple[str, ...] = (),
        modules: Mapping[str, str] | None = None,
        terminal: bool = True,
        groups: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(
            name="atlas", help=_ABOUT, rich_markup_mode=None, options_metavar="[GLOBAL OPTIONS]"
        )
        self.words, self.unlisted, self.modules = words, unlisted, modules or {}
        self.terminal, self.groups = terminal, groups or {}
        self._parsers: dict[tuple[str, str | None], Any] = {}

    def knows(self, word: str) -> bool:
        """Whether a word is a command, listed or not."""
        return word in self.words or word in self.unlisted

    def parser(self, word: str, first: str | None = None) -> Any:
        """The parser of a command; of a noun, with no more verbs than a call needs that goes on
        with the word `first` (None: with all)."""
        if (word, first) not in self._parsers:
            package = __name__.partition(".")[0]
            module = import_module(f"{package}.{self.modules.get(word, f'commands.{word}')}")
            self._parsers[word, first] = parser_of(module.app, first)
            self._parsers[word, first].name = word
        return self._parsers[word, first]

    def called(self, words: list[str]) -> tuple[str, Any]:
        """The command that these words call: its own name, which holds no other word of theirs, and
        its parser (None for a noun whose verb is not clear, and where there is no command)."""
        if not words or not self.knows(words[0]):
            return "atlas", None
        parser = self.parser(words[0], next(iter(words[1:]), ""))
        name = "atlas" if words[0] in self.unlisted else words[0]
        if not isinstance(parser, Noun):
            return name, parser
        verb = parser.verb(words[1:])
        return (f"{name} {verb}", parser.commands[verb]) if verb else (name, None)

    def run(self, words: list[str], env: Env) -> Outcome:
        """Runs the command that these words call.

        Raises Page for a help page, Usage where the words are no call."""
        try:
            with self.make_context(
                "atlas", list(words), obj=env, help_option_names=HELP, max_content_width=COLUMNS
            ) as ctx:
                outcome = self.invoke(ctx)
        except UsageError as error:
            path = error.ctx.command_path if getattr(error, "ctx", None) else "atlas"
            raise Usage(problem(error), f"see {path} --help") from None
        except (EOFError, typer.Abort):  # a question was answered by Ctrl-D or Ctrl-C
            raise KeyboardInterrupt from None
        assert isinstance(outcome, Outcome)
        return outcome

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command of a call, loaded. Raises Usage if there is none of that name."""
        word, *rest = args
        if not self.knows(word):
            hint = WRONG.get(word) or names.hint(
                word, self.words, "atlas --help lists them", "atlas "
            )
            raise Usage(f"there is no command {word[:80]!r}", hint)
        return word, self.parser(word, next(iter(rest), "")), rest

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the names of the commands, in groups."""
        groups: dict[str, list[str]] = {}
        for word in self.words:
            heading = self.groups.get(word) or next(reversed(groups), "commands")
            groups.setdefault(heading, []).append(word)
        with formatter.section("Commands (a line on each: atlas help commands)"):
            formatter.write_dl([(heading, ", ".join(names)) for heading, names in groups.items()])

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes the commands, and no options: they stand in the end."""
        self.format_commands(ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Writes the end of the help of atlas: topics, global options, exit codes."""
        from . import pages

        with formatter.section("Topics (atlas help TOPIC), and one command: atlas COMMAND -h"):
            formatter.write_text(", ".join(pages.TOPICS))
        with formatter.section("Global options"):
            formatter.write_text(_OPTIONS)
        with formatter.section("Exit codes (atlas help stops)"):
            short = (
                f"{code} {re.split(r'[:(]', text)[0].strip()}" for code, (text, _) in EXITS.items()
            )
            formatter.write_text("; ".join(short))

    def spelt(self, words: list[str]) -> list[str]:
        """The words of a call: `help COMMAND` is its `--help`."""
        if words[:1] != ["help"] or not words[1:] or words[1] not in self.words:
            return words
        # (A word that is no verb may be the value of an option.)
        size = 2 if self.called(words[1:])[0] == " ".join(words[1:3]) else 1
        return [*words[1 : 1 + size], "--help", *words[1 + size :]]

    def split(self, argv: list[str]) -> tuple[Options, list[str]]:
        """The global options, wherever they stand, and the rest. A word that belongs to the
        command, as the value of one of its options or behind `--`, is none of them, whatever it
        looks like."""
        values: dict[str, Any] = {}
        rest: list[str] = []
        words = deque(argv)
        while words:
            word = words.popleft()
            name = _parts(word)[0]
            if not rest and name in _DIGEST:
                rest.append("digest")
            if word == "--" and not rest and not next(iter(words), "-").startswith("-"):
                continue  # it ends the options before the command
            if word == "--" and self.called(rest)[0] == "lease run":
                values["tail"] = tuple(words)
                break
            if word == "--" or rest == ["git"]:
                rest += [word, *words]
                break
            own = self._options(rest) if word.startswith("-") else {}
            if name in own:
                rest.append(word)
                rest += [words.popleft() for _ in range(min(_awaited(word, own), len(words)))]
            elif not _taken(word, words, values):
                rest.append(word)
        return Options(**values), rest

    def _options(self, words: list[str]) -> dict[str, int]:
        """The options of the command that these words call, and how many words each takes as its
        value."""
        parser = self.called(words)[1]
        params = parser.params if parser else ()
        return {
            name: 0 if param.is_flag else param.nargs
            for param in params
            if param.param_type_name == "option"
            for name in param.opts
        }


def _taken(word: str, words: deque[str], values: dict[str, Any]) -> bool:
    """Whether a word is a global option: then it is among the values, with what belongs to it of
    the words behind it.

    Raises Usage if its value is missing."""
    name, value = _parts(word)
    if name in _FLAGS and (value is None or not word.startswith("--")):
        values[_FLAGS[name]] = True
        if value is not None:  # several short ones in one word
            words.appendleft(f"-{word[2:]}")
        return True
    if name not in _VALUES:
        return False
    if value is None and not words:
        raise Usage(f"{name} needs a value")
    if value is not None and name != "-C" and " " in value:  # no id has one: it is a text
        raise Usage(
            f"{name} takes an id, not {value[:80]!r}",
            "a text that begins like an option stands behind --, last in the command",
        )
    values[_VALUES[name]] = words.popleft() if value is None else value
    return True


def _parts(word: str) -> tuple[str, str | None]:
    """The option that a word may be, and what is written onto it: a long one's value stands behind
    `=`."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return name, value if equals else None
    return word[:2], word[2:].removeprefix("=") if len(word) > 2 else None


def _awaited(word: str, options: dict[str, int]) -> int:
    """How many words more the value of an option has, or that of the last of several short ones in
    a word."""
    if word.startswith("--"):
        return 0 if "=" in word else options[word]
    for at, letter in enumerate(word[1:], 2):
        if count := options.get(f"-{letter}", 0):
            return count if at == len(word) else 0
    return 0

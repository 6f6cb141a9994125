"""The way from words to a command: nouns, their verbs, and what is said where the words are
wrong."""

import copy
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from ..errors import EXITS, Usage
from ..model import names
from ..outcome import Outcome
from ..sharing.dealing import USUAL, Dealing
from . import limits

# Words that other tools would use, and the hint that each of them gets here.
WRONG = {
    "undo": "nothing is undone here: atlas correct REF --why … puts a record right by name",
    "delete": "nothing is deleted here: atlas correct REF --retract --why … withdraws a record",
    "remove": "nothing is removed here: atlas correct REF --retract --why … withdraws a record",
    "rm": "nothing is removed here: atlas correct REF --retract --why … withdraws a record",
    "edit": "a record is never edited: write the next one, or atlas correct REF --why …",
    "version": "atlas --version",
    "drop": "atlas lease release RES gives back what you hold; another's lease expires by itself",
    "lock": "a lease is advisory, and expires: atlas lease take RES --why …",
    "unlock": "atlas lease release RES gives back what you hold; another's lease expires by itself",
    "start": "atlas begin --goal …",
    "stop": "atlas end",
    "finish": "atlas end",
    "give": "atlas lease release RES gives back what you hold",
    "publish": "recorded writes go to the remote by themselves, where there is one",
    "write": "atlas status write, atlas artifact put, or atlas decision add",
    "put": "atlas artifact put NAME FILE",
    "next": "atlas task next --claim",
    "claim": "atlas task claim ID, or atlas task next --claim",
    "done": "atlas task done ID finishes a task; atlas end closes the session",
    "take": "atlas lease take RES --why …",
    "list": (
        "say of what: atlas lease list, atlas artifact list, atlas decision list, atlas session"
        " list"
    ),
}
UsageError: Any = typer.BadParameter.__bases__[0]


class Page(Exception):
    """A help page was asked for: it is in place of an outcome, and no command runs."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.outcome = Outcome({"help": f"{text}\n"}, (text,))


def _page(ctx: Any, _: Any, wanted: bool) -> None:
    """The parser's own `--help` prints the page; ours hands it to whoever has called."""
    if wanted and not ctx.resilient_parsing:
        raise Page(ctx.get_help())


class Explained:
    """A command or a noun whose `--help` raises its Page."""

    def get_help_option(self, ctx: Any) -> Any:
        """The `--help` of the parser, with our page behind it."""
        parent: Any = super()
        option = parent.get_help_option(ctx)
        if option is not None:
            option.callback = _page
        return option


class Command(Explained, TyperCommand):
    """A command whose usage error names everything that is missing or wrong at once. Its answer and
    its help close with its limits."""

    example = ""
    exits: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()  # its limits
    terminal = False  # whether another program gets the terminal
    remote = USUAL  # how it deals with the remote

    def invoke(self, ctx: Any) -> Any:
        """The outcome of the command, closed with its limits. Raises Usage if it needs a terminal
        and has none."""
        if self.terminal and not ctx.find_root().command.terminal:
            raise Usage(
                f"`{ctx.command_path}` hands the terminal to another program, and there is no"
                " terminal here",
                "call it in a shell",
            )
        ctx.obj.dealing = self.remote
        outcome = super().invoke(ctx)
        assert isinstance(outcome, Outcome)
        closing = dict.fromkeys((*self.limits(ctx), *outcome.limits))
        return outcome._replace(limits=tuple(closing))

    def limits(self, ctx: Any) -> tuple[str, ...]:
        """The limits of this command under the policy in force; under the defaults where there is
        none."""
        if "{" not in "".join(self.texts):
            return self.texts
        return limits.said(self.texts, limits.rules_for(ctx.obj))

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Writes the end of a help page: the limits, an example, the exit codes."""
        if closing := self.limits(ctx):
            with formatter.section("Limits"):
                formatter.write_dl([("-", line) for line in closing])
        example = self.example.replace("\n", "\n  ")
        formatter.write(f"\nExample:\n  {example}\n\nExit codes:\n")
        formatter.write("".join(f"  {code:>3}  {EXITS[code][0]}\n" for code in sorted(self.exits)))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parses the words of the command. Raises a usage error that names all that is wrong."""
        problems: list[str] = []
        for param in self.params:
            param.handle_parse_result = _collecting(param, problems)  # type: ignore[method-assign]
        while True:
            try:
                rest = super().parse_args(ctx, list(args))
                break
            except UsageError as error:
                _note(error, problems)
                known = _without_unknown(error, args)
                if known == args:
                    rest = []
                    break
                args = known
        if problems:
            raise UsageError("; ".join(dict.fromkeys(problems)), ctx)
        return rest


def _collecting(param: Any, problems: list[str]) -> Callable[..., Any]:
    """A parameter's own parsing, whose usage error joins the others instead of ending it all."""
    handle = type(param).handle_parse_result

    def collect(ctx: Any, opts: Any, args: list[str]) -> Any:
        try:
            return handle(param, ctx, opts, args)
        except UsageError as error:
            problems.append(problem(error))
            ctx.params.setdefault(param.name, None)
            return None, args

    return collect


def _note(error: Any, problems: list[str]) -> None:
    """Notes what is wrong. A word behind an unknown option is likely its value: it is not called an
    extra argument."""
    line = problem(error)
    if "extra argument" in line and any("no option" in other for other in problems):
        return
    problems.append(line)


def _without_unknown(error: Any, args: list[str]) -> list[str]:
    """The words without the unknown option that the error is about; all of them if it is about
    something else."""
    unknown = getattr(error, "option_name", None)
    if type(error).__name__ != "NoSuchOption" or not unknown:
        return args
    return [word for word in args if word.partition("=")[0] != unknown]


def problem(error: Any) -> str:
    """A usage error of the parser, on one line; an unknown option with the one that was probably
    meant."""
    unknown = getattr(error, "option_name", None)
    if type(error).__name__ != "NoSuchOption" or not unknown or error.ctx is None:
        line = str(error.format_message()).rstrip(".")
        return line[:1].lower() + line[1:]
    options = [name for param in error.ctx.command.params for name in param.opts]
    own = [name for name in options if name.startswith("-")]
    near = names.meant(unknown, [*own, *error.ctx.find_root().command.globals])
    return f"there is no option {unknown}" + (f" (did you mean {near}?)" if near else "")


class Noun(Explained, TyperGroup):
    """A noun's verbs. Bare, it lists or shows (`bare`); `atlas NOUN NAME` is `atlas NOUN show
    NAME`."""

    bare = "list"
    every: tuple[str, ...] = ()  # the names of all verbs, also of those that this call did not need

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Writes the sentence of COMMANDS about the noun."""
        what = ctx.find_root().command.words[ctx.info_name]
        formatter.write(f"\n  {what} Bare, it is `{ctx.command_path} {self.bare}`.\n")

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the list of the verbs."""
        rows = [(name, verb.get_short_help_str(200)) for name, verb in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Writes the end of the noun's help page."""
        formatter.write(
            f"\nExample:\n  {ctx.command_path}\n\nEach verb's own --help ends with an example and"
            " its exit codes:\n"
        )
        formatter.write(f"  {ctx.command_path} {next(iter(self.commands))} --help\n")

    def verb(self, words: list[str]) -> str:
        """The verb that the words behind the noun call; empty for the noun's own help, and where
        none is meant."""
        first, verbs = words[0] if words else "", self.every or tuple(self.commands)
        if first in ("--help", "-h", "-"):
            return ""
        if not first or first.startswith("-"):
            return self.bare
        if first in verbs:
            return first
        is_name = first not in WRONG and not names.meant(first, verbs)
        return "show" if "show" in verbs and is_name else ""

    def _is_too_much(self, more: list[str]) -> bool:
        """Whether a word behind a name is one that `show` does not take: then the name was meant
        for a verb."""
        taken = [
            param for param in self.commands["show"].params if param.param_type_name != "option"
        ]
        return bool(more) and not more[0].startswith("-") and [p.nargs for p in taken] == [1]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parses the words behind the noun. Raises Usage if they name no verb."""
        verb, first = self.verb(args), args[0] if args else ""
        if not verb and not first.startswith("-"):
            noun, verbs = f"atlas {ctx.info_name}", self.every or self.commands
            hint = WRONG.get(first) or names.hint(
                first, verbs, f"{noun} --help lists its verbs", f"{noun} "
            )
            raise Usage(f"there is no `{noun} {first[:80]}`", hint)
        if verb == "show" != first and self._is_too_much(args[1:2]):
            raise Usage(
                f"there is no `atlas {ctx.info_name} {first[:80]}`",
                f"atlas {ctx.info_name} --help lists its verbs",
            )
        return super().parse_args(ctx, args if verb in ("", first) else [verb, *args])


def noun(bare: str = "list") -> typer.Typer:
    """A noun's app."""
    cls = type("Noun", (Noun,), {"bare": bare})
    return typer.Typer(cls=cls, add_completion=False, rich_markup_mode=None, no_args_is_help=False)


def single() -> typer.Typer:
    """The app of a protocol verb: one command."""
    return typer.Typer(add_completion=False, rich_markup_mode=None)


def verb(
    app: typer.Typer,
    name: str,
    example: str,
    *exits: int,
    limits: tuple[str, ...] = (),
    terminal: bool = False,
    remote: Dealing = USUAL,
    **settings: Any,
) -> Callable[[Any], Any]:
    """A command of an app, whose help ends with its limits, an example and the exit codes that it
    can give. limits: what it does not do. terminal: it hands the terminal to another program, so
    that a face without one refuses it. remote: how it deals with the remote."""
    writes = (8, 10) if 3 in exits else ()
    own = {
        "example": example,
        "exits": (0, 1, 2, *exits, *writes),
        "texts": limits,
        "terminal": terminal,
        "remote": remote,
    }
    return app.command(name, cls=type("Command", (Command,), own), **settings)


def parser_of(app: typer.Typer, first: str | None = None) -> Any:
    """The parser of a command. A noun's has no more verbs than a call can need that goes on with
    the word `first` (None: it has them all)."""
    if len(app.registered_commands) < 2:
        return typer.main.get_command(app)
    return typer.main.get_group(_only(app, first))


def _only(app: typer.Typer, first: str | None) -> typer.Typer:
    """A noun's app with the verbs that a call can need: each costs a millisecond to build."""
    every = tuple(str(command.name) for command in app.registered_commands)
    cls: Any = app.info.cls
    if first is None or first in ("--help", "-h"):
        return app
    needed = {first} if first in every else {"show", cls.bare}
    small = copy.copy(app)
    small.registered_commands = [
        command for command in app.registered_commands if command.name in needed
    ]
    small.info = copy.copy(app.info)
    small.info.cls = type("Noun", (cls,), {"every": every})
    return small

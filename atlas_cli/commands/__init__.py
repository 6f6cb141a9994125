"""One noun a file: parse, call, return. A module is loaded when its command is called; COMMANDS
lists them."""

import copy
from collections.abc import Callable, Mapping
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from ..cli import limits
from ..cli.options import For as For
from ..cli.options import Since as Since
from ..cli.options import Why as Why
from ..cli.options import body as body
from ..cli.options import parsed as parsed
from ..cli.options import read_bytes as read_bytes
from ..env.env import Env
from ..errors import EXITS, AtlasError, Usage
from ..model import names
from ..model.text import Record
from ..outcome import Frame, Outcome
from ..records import policy
from ..sharing.dealing import USUAL, Dealing

COMMANDS: dict[str, str] = {
    "init": "Create the store of this repository, or find the one that is there.",
    "begin": "Read first: register a session and see where things stand.",
    "end": "Write last: write the status, give back the leases and claims, close the session.",
    "show": "Show any record by its REF.",
    "session": "Sessions: list them, show one, adopt one that is over.",
    "status": "The status stream: where things stand.",
    "artifact": "Handover documents: versioned, immutable, one name per topic.",
    "lease": "Advisory leases: sign up for a resource before you use it.",
    "task": "The task board: post work, claim it, finish it, each exactly once.",
    "gate": "Clearance gates: a blocker holds tasks back until it is cleared.",
    "signal": "Signals about records and paths: post one, list them.",
    "decision": "The decision log: recommended, chosen, the stance, and why.",
    "correct": "Put right a bad write by name, your own first of all.",
    "who": "Who is on these paths: leases, sessions, commits of the last hours.",
    "sync": "Publish what was recorded here, and bring what others have published.",
    "parked": "Writes of this clone that contradict what others published first.",
    "outbox": "What no remote has yet: list it, export it to a file, import such a file.",
    "links": "The relative links that your moves break; --fix corrects them.",
    "hooks": "The git hooks: install, status, remove.",
    "log": "What was written, by whom, in which order.",
    "verify": "Judge the whole history by the rules that the writer used.",
    "check": "Judge code commits by their trailers, in CI and on a server.",
    "config": "The policy of the store.",
    "doctor": "Look at the store's health; --fix repairs what can be repaired.",
    "setup": "Tell AI tools about Atlas: AGENTS.md, CLAUDE.md, Claude Code's hooks.",
    "view": "Write this worktree's .atlas/ folder anew.",
    "help": "A short page on a topic: protocol, leases, stops, files, json.",
    "completion": "The script that makes your shell complete commands and names.",
    "git": "Run git in the store's own repository.",
    "tour": "The story of Atlas, told by its own commands in a throw-away folder.",
}
HIDDEN = ("digest", "hook")  # what is called in another way: bare `atlas`, git
# Words that other tools would use, and what to say here.
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


def no_command(word: str) -> Usage:
    """The refusal of a word that is no command."""
    hint = WRONG.get(word) or names.hint(word, COMMANDS, "atlas --help lists them", "atlas ")
    return Usage(f"there is no command {word[:80]!r}", hint)


UsageError: Any = typer.BadParameter.__bases__[0]


class Command(TyperCommand):
    """A command whose usage error names everything that is missing or wrong at once, and whose
    answer and help close with its limits."""

    example = ""
    exits: tuple[int, ...] = ()
    remote = USUAL

    def invoke(self, ctx: Any) -> Any:
        ctx.obj.dealing = self.remote
        found = super().invoke(ctx)
        return (
            found._replace(limits=(*self.limits(ctx), *found.limits))
            if isinstance(found, Outcome)
            else found
        )

    def limits(self, ctx: Any) -> tuple[str, ...]:
        """What this command does not do, under the policy in force; under the defaults where there
        is none."""
        path = ctx.command_path.partition(" ")[2]
        if "{" not in "".join(limits.LIMITS.get(path, ())):
            return limits.of(path, {})
        return limits.of(path, rules_for(ctx.obj))

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        if closing := self.limits(ctx):
            with formatter.section("Limits"):
                formatter.write_dl([("-", line) for line in closing])
        formatter.write(
            f"\nExample:\n  {self.example.replace(chr(10), chr(10) + '  ')}\n\nExit codes:\n"
        )
        formatter.write("".join(f"  {code:>3}  {EXITS[code][0]}\n" for code in sorted(self.exits)))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        problems: list[str] = []
        for param in self.params:
            param.handle_parse_result = _collecting(param, problems)  # type: ignore[method-assign]
        while True:
            try:
                rest = super().parse_args(ctx, list(args))
                break
            except UsageError as error:
                unknown = getattr(error, "option_name", None)
                found = [arg for arg in args if unknown and arg.partition("=")[0] == unknown]
                if not any(
                    "extra argument" in problem(error) and "no option" in one for one in problems
                ):
                    problems.append(
                        problem(error)
                    )  # (what stands behind an unknown option is no argument)
                if type(error).__name__ != "NoSuchOption" or not found:
                    rest = []
                    break
                args = [arg for arg in args if arg not in found]
        if problems:
            raise UsageError("; ".join(dict.fromkeys(problems)), ctx)
        return rest


def problem(error: Any) -> str:
    """A usage error of the parser, on one line; an unknown option with the one that was probably
    meant."""
    unknown = getattr(error, "option_name", None)
    if type(error).__name__ != "NoSuchOption" or not unknown or error.ctx is None:
        said = str(error.format_message()).rstrip(".")
        return said[:1].lower() + said[1:]
    own = [name for one in error.ctx.command.params for name in one.opts if name.startswith("-")]
    near = names.meant(unknown, [*own, *error.ctx.find_root().command.globals])
    return f"there is no option {unknown}" + (f" (did you mean {near}?)" if near else "")


def _collecting(param: Any, problems: list[str]) -> Callable[..., Any]:
    handle = type(param).handle_parse_result

    def collect(ctx: Any, opts: Any, args: list[str]) -> Any:
        try:
            return handle(param, ctx, opts, args)
        except UsageError as error:
            problems.append(problem(error))
            ctx.params.setdefault(param.name, None)
            return None, args

    return collect


class Noun(TyperGroup):
    """A noun's verbs. Bare, it lists or shows (`bare`); `atlas NOUN NAME` is `atlas NOUN show
    NAME`."""

    bare = "list"
    every: tuple[str, ...] = ()  # the names of all verbs, also of those that this call did not need

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        formatter.write(
            f"\n  {COMMANDS[ctx.info_name]} Bare, it is `{ctx.command_path} {self.bare}`.\n"
        )

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, one.get_short_help_str(200)) for name, one in self.commands.items()]
            )

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
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
        return (
            "show"
            if "show" in verbs and first not in WRONG and not names.meant(first, verbs)
            else ""
        )

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        verb, first = self.verb(args), args[0] if args else ""
        if not verb and not first.startswith("-"):
            noun, verbs = f"atlas {ctx.info_name}", self.every or self.commands
            hint = WRONG.get(first) or names.hint(
                first, verbs, f"{noun} --help lists its verbs", f"{noun} "
            )
            raise Usage(f"there is no `{noun} {first[:80]}`", hint)
        return super().parse_args(ctx, args if verb in ("", first) else [verb, *args])


def noun(bare: str = "list") -> typer.Typer:
    """A noun's app."""
    cls = type("Noun", (Noun,), {"bare": bare})
    return typer.Typer(cls=cls, add_completion=False, rich_markup_mode=None, no_args_is_help=False)


def only(app: typer.Typer, verb: str | None) -> typer.Typer:
    """A noun's app with no more verbs than this call can need (each costs a millisecond to
    build)."""
    every = tuple(str(one.name) for one in app.registered_commands)
    cls: Any = app.info.cls
    if len(every) < 2 or verb is None or verb in ("--help", "-h"):
        return app
    kept = {verb} if verb in every else {"show", cls.bare}
    found = copy.copy(app)
    found.registered_commands = [one for one in app.registered_commands if one.name in kept]
    found.info = copy.copy(app.info)
    found.info.cls = type("Noun", (cls,), {"every": every})
    return found


def single() -> typer.Typer:
    """The app of a protocol verb: one command."""
    return typer.Typer(add_completion=False, rich_markup_mode=None)


def verb(
    app: typer.Typer,
    name: str,
    example: str,
    *exits: int,
    remote: Dealing = USUAL,
    **settings: Any,
) -> Callable[[Any], Any]:
    """A command of an app, whose help ends with its limits, an example and the exit codes that it
    can give. `remote`: how it deals with the remote."""
    writes = (8, 10) if 3 in exits else ()
    about = {"example": example, "exits": (0, 1, 2, *exits, *writes), "remote": remote}
    cls = type("Command", (Command,), about)
    return app.command(name, cls=cls, **settings)


def env_of(ctx: typer.Context) -> Env:
    found = ctx.obj
    assert isinstance(found, Env)
    return found


def rules_for(env: Env) -> Mapping[str, Any]:
    """The policy in force; the defaults where there is no store."""
    try:
        return env.policy
    except AtlasError:
        return {key: value for key, (value, _) in policy.KEYS.items()}


def warned(env: Env, record: Record) -> list[Frame]:
    """What must be known of a record beside it, its writers' words with the bar of a frame."""
    found = env.ask.warnings(record, str)
    return [Frame("", "\n".join(f"! {line}" for line in found))] if found else []


def shown(path: str) -> str:
    """A path as text for programs, whatever bytes it has."""
    return path.encode(errors="surrogateescape").decode(errors="backslashreplace")


def one(found: list[dict[str, Any]]) -> dict[str, Any]:
    """The single record of a write."""
    return found[0]

"""The root command: lazy loading, global options, the one error boundary."""

from __future__ import annotations

import io
import os
import sys
from collections import deque
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from . import __version__, console, interrupts
from .commands import COMMANDS, HIDDEN, Noun, UsageError, no_command, only, problem
from .console import Talk
from .env.env import Env, Options
from .errors import EXITS, AtlasError, Failed, Unknown, Usage
from .hooks import cache as hook_cache
from .outcome import Outcome

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
_DIGEST = ("--since", "--words")  # the digest's own options stand behind no command


class Root(TyperGroup):
    """Commands are imported when they are called, not before."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS and cmd_name not in HIDDEN:
            return None
        return _loaded(cmd_name, next(iter(ctx.obj.words[1:]), "") if ctx.obj else None)

    globals = (*_VALUES, *_FLAGS)  # for the completion

    @staticmethod
    def split(words: list[str]) -> tuple[Options, list[str]]:
        return split(words)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS and args[0] not in HIDDEN:
            raise no_command(args[0])
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Global options (before or after the command)"):
            formatter.write_dl(
                [
                    ("-C PATH", "run as if started there"),
                    (
                        "--session ID",
                        (
                            "which session this is (else ATLAS_SESSION, else the one you began here"
                            " last)"
                        ),
                    ),
                    (
                        "--operation ID",
                        "the same id again answers with the first outcome and writes nothing",
                    ),
                    (
                        "--expect HEAD|REF@N",
                        "write only if the store, or the record, is still there",
                    ),
                    ("--json", "one JSON envelope on stdout"),
                    ("--quiet", "the answer only"),
                    ("--offline", "talk to no remote"),
                    ("--require-published", "exit 8 unless it reaches the remote"),
                ]
            )
        formatter.write("\natlas help TOPIC: protocol, leases, stops, files, json\n")
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), meaning) for code, (meaning, _) in EXITS.items()])


@cache
def _loaded(name: str, first: str | None) -> Any:
    """The parser of a command; of a noun, with no more verbs than a call needs that goes on with
    the word `first`."""
    app = import_module(f".commands.{name}", __package__).app
    build = typer.main.get_group if len(app.registered_commands) > 1 else typer.main.get_command
    parser: Any = build(only(app, first))
    parser.name = name
    return parser


def _command(words: list[str]) -> tuple[str, Any]:
    """The command that these words call: its own name, which holds no other word of theirs, and its
    parser (None for a noun whose verb is not clear, and where there is no command)."""
    if not words or words[0] not in (*COMMANDS, *HIDDEN):
        return "atlas", None
    parser = _loaded(words[0], next(iter(words[1:]), ""))
    name = "atlas" if words[0] in HIDDEN else words[0]
    if not isinstance(parser, Noun):
        return name, parser
    verb = parser.verb(words[1:])
    return (f"{name} {verb}", parser.commands[verb]) if verb else (name, None)


def _root() -> Any:
    app = typer.Typer(cls=Root, add_completion=False, rich_markup_mode=None, no_args_is_help=False)

    @app.callback()
    def atlas() -> None:
        """Atlas: workers who cannot talk to each other share one project. Read first, write last.

        Begin with `atlas begin --goal "what you will do"`; close with `atlas end`. Bare `atlas`
        shows where things stand, and begins nothing."""

    return typer.main.get_command(app)


def split(argv: list[str]) -> tuple[Options, list[str]]:
    """The global options, wherever they stand, and the rest. A word that belongs to the command, as
    the value of one of its options or behind `--`, is none of them, whatever it looks like."""
    found: dict[str, Any] = {}
    rest: list[str] = []
    words = deque(argv)
    while words:
        word = words.popleft()
        name, value = _parts(word)
        if not rest and name in _DIGEST:
            rest.append("digest")
        if word == "--" and not rest and not next(iter(words), "-").startswith("-"):
            continue  # it ends the options before the command
        if word == "--" and _command(rest)[0] == "lease run":
            found["tail"] = tuple(words)
            break
        if word == "--" or rest == ["git"]:
            rest += [word, *words]
            break
        options = _options(rest) if word.startswith("-") else {}
        if name in options:
            rest.append(word)
            rest += [words.popleft() for _ in range(min(_awaited(word, options), len(words)))]
        elif name in _FLAGS and value is None:
            found[_FLAGS[name]] = True
        elif name in _FLAGS and not word.startswith("--"):  # several short ones in one word
            found[_FLAGS[name]] = True
            words.appendleft(f"-{word[2:]}")
        elif name in _VALUES:
            if value is None and not words:
                raise Usage(f"{name} needs a value")
            found[_VALUES[name]] = words.popleft() if value is None else value
        else:
            rest.append(word)
    return Options(**found), rest


def _parts(word: str) -> tuple[str, str | None]:
    """The option that a word may be, and what is written onto it: a long one's value stands behind
    `=`."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return name, value if equals else None
    return word[:2], word[2:].removeprefix("=") if len(word) > 2 else None


def _options(words: list[str]) -> dict[str, int]:
    """The options of the command that these words call, and how many words each takes as its
    value."""
    parser = _command(words)[1]
    options = [one for one in parser.params if one.param_type_name == "option"] if parser else []
    return {name: 0 if one.is_flag else one.nargs for one in options for name in one.opts}


def _awaited(word: str, options: dict[str, int]) -> int:
    """How many words more the value of an option has, or that of the last of several short ones in
    a word."""
    if word.startswith("--"):
        return 0 if "=" in word else options[word]
    for at, letter in enumerate(word[1:], 2):
        if count := options.get(f"-{letter}", 0):
            return count if at == len(word) else 0
    return 0


def run() -> None:
    """The program, from its loading to its end (`start` is the entry point)."""
    interrupts.hold()
    if sys.getfilesystemencoding() == "ascii" and "utf8" not in sys._xoptions:
        # The plain C locale, with Python's own remedy for it switched off: no name outside ASCII
        # would be what it is.
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 - closed by the caller
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    if isinstance(
        sys.stdout.buffer, io.FileIO
    ):  # unbuffered: a short write would be taken for a whole one
        sys.stdout = open(sys.stdout.fileno(), "w", encoding=sys.stdout.encoding, closefd=False)  # noqa: SIM115
    code = main(sys.argv[1:])
    for out in (sys.stdout, sys.stderr):  # a refusal's envelope and a help page are still in there
        console.hushed(out.flush)
    os._exit(code)


def main(argv: list[str]) -> int:
    """Runs one command; the exit code. Every end of the program passes here."""
    talk = Talk("atlas", json="--json" in argv)
    env: Env | None = None
    interrupts.moves("")  # nothing was written yet
    try:
        interrupts.point()
        try:
            options, rest = split(argv)
        except Usage:  # its last word waits for a value
            talk = _talk(*split(argv[:-1]))
            raise
        rest = _spelt(rest)
        talk = _talk(options, rest)
        seen = (
            sys.stderr.isatty()
            and not (options.json or options.quiet)
            and os.environ.get("TERM") != "dumb"
        )
        env = Env(options, console.Progress() if seen else None)
        env.words = rest
        if rest == ["--version"]:
            outcome: Any = Outcome({"version": __version__}, (f"atlas {__version__}",))
        elif not rest:
            outcome = import_module(".commands.digest", __package__).bare(env)
        else:
            outcome = _called(rest, env, talk)
        if isinstance(outcome, Outcome):
            env.afterwards(_hooks_kept_up)
            if outcome.published is not None:
                outcome = outcome._replace(published=(env.elsewhere or env).sharing.published)
            interrupts.waited()
            return _printed(outcome, _told(talk, env), env)
        return 0
    except AtlasError as error:
        return _refused(error, talk, env)
    except KeyboardInterrupt:
        if hint := interrupts.hint():
            return _refused(
                Unknown("interrupted when it may have been written already", hint), talk, env
            )
        _refused(
            Failed("interrupted before anything was written", code="interrupted", retry="now"),
            talk,
            env,
        )
        return 130
    except BrokenPipeError:
        return 0
    except MemoryError:
        return _failed(Failed("out of memory"), talk, env)
    except RecursionError:
        return _failed(Failed("the input is nested too deeply"), talk, env)
    except OSError as error:
        what = f"{error.filename}: " if error.filename else ""
        return _failed(Failed(f"{what}{error.strerror or error}", code="environment"), talk, env)
    except Exception as error:  # noqa: BLE001 - the boundary: a fault of ours is one line too
        return _refused(_internal(error), talk, env)
    finally:
        if env is not None:
            env.close()


def _hooks_kept_up(env: Env) -> None:
    """The cache from which git's hooks answer, where one has asked for it."""
    if hook_cache.stale(env):
        from .hooks import draw

        draw.keep_up(env)


def _talk(options: Options, words: list[str]) -> Talk:
    return Talk(_command(words)[0], options.json, options.quiet)


def _failed(error: Failed, talk: Talk, env: Env | None) -> int:
    """A failure that nobody foresaw: "failed", unless the write was made before it."""
    if hint := interrupts.hint():
        return _refused(
            Unknown(f"it may have been written, and then: {error.message}", hint), talk, env
        )
    return _refused(error, talk, env)


def _printed(outcome: Outcome, talk: Talk, env: Env) -> int:
    """Prints the answer; the exit code. A reader that has gone (`| head`) changes nothing; an
    answer that could not be printed is a failure, but what was written by then is written."""
    try:
        console.answer(outcome, talk, env.notices)
        sys.stdout.flush()
    except BrokenPipeError:
        console.hushed(sys.stdout.flush)  # (it may be the other one whose reader has gone)
        console.abandon(sys.stdout)
    except OSError as error:
        console.abandon(sys.stdout)
        note = (
            "atlas: the answer could not be printed:"
            f" {error.strerror}{'; what was asked for is done' * env.wrote}\n"
        )
        console.hushed(lambda: sys.stderr.write(note))
        return outcome.exit if env.wrote else 1
    return outcome.exit


def _internal(error: Exception) -> Failed:
    """A fault of Atlas itself, with the place where it happened."""
    import traceback

    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{frame.filename.rpartition('/')[2]}:{frame.lineno}"
    return Failed(
        f"internal error at {where}: {type(error).__name__}: {error}",
        "please report it; nothing is lost",
        code="internal",
    )


def _called(rest: list[str], env: Env, talk: Talk) -> Any:
    """The command's outcome; a usage error of the parser becomes ours, a help page is printed."""
    import contextlib

    page = io.StringIO()
    wants_help = "--help" in (rest[: rest.index("--")] if "--" in rest else rest)
    try:
        with contextlib.redirect_stdout(page) if wants_help else contextlib.nullcontext():
            found = _root().main(args=rest, prog_name="atlas", standalone_mode=False, obj=env)
        if isinstance(found, int) and found == 130:  # what typer makes of an interrupt
            raise KeyboardInterrupt
    except UsageError as error:
        path = error.ctx.command_path if getattr(error, "ctx", None) else "atlas"
        raise Usage(problem(error), f"see {path} --help") from None
    except typer.Exit:
        found = None
    except typer.Abort:
        raise KeyboardInterrupt from None
    if page.getvalue():
        console.help_text(page.getvalue(), talk)
        return None
    return found


def _spelt(rest: list[str]) -> list[str]:
    """The words of a call: `help COMMAND` is its `--help`."""
    if rest[:1] != ["help"] or not rest[1:] or rest[1] not in COMMANDS:
        return rest
    path = (
        2 if _command(rest[1:])[0] == " ".join(rest[1:3]) else 1
    )  # (what stands behind it could be an option's)
    return [*rest[1 : 1 + path], "--help", *rest[1 + path :]]


def _told(talk: Talk, env: Env | None) -> Talk:
    env = env and (env.elsewhere or env)
    if env is None or "snapshot" not in env.__dict__:
        return talk
    sharing = env.sharing
    return talk._replace(
        head=env.snapshot.head, fetched_at=sharing.fetched_at(), unpublished=sharing.why
    )


def _refused(error: AtlasError, talk: Talk, env: Env | None) -> int:
    if env is not None:
        env.stopped(error)
    console.hushed(
        lambda: console.refusal(error, _told(talk, env), env.notices if env is not None else [])
    )
    return error.exit

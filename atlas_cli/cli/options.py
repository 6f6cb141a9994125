"""The input of commands: options that several share, and the text of a record."""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from .. import interrupts
from ..env.env import Env
from ..errors import AtlasError, Refused, Usage
from ..model import times

LONGEST_WAIT = 4 * 3600  # seconds
TEXT = 10_000_000  # bytes of a text or a plan


def parsed(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """A parser for an option or argument: an AtlasError becomes part of the usage error."""

    def checked(text: str) -> Any:
        try:
            return parse(text)
        except AtlasError as error:
            raise typer.BadParameter(
                f"{error.message} ({error.hint})" if error.hint else error.message
            ) from None

    checked.__name__ = "text"
    return checked


def wait_time(text: str) -> int:
    """The seconds of a wait. Raises Usage if they are too many."""
    seconds = times.duration(text)
    if seconds > LONGEST_WAIT:
        raise Usage(f"a wait of {text}; at most {times.span(LONGEST_WAIT)}", "wait again then")
    return seconds


Why = Annotated[str, typer.Option("--why", help="The reason, in a few words.", metavar="TEXT")]
For = Annotated[
    int | None,
    typer.Option(
        "--for", parser=parsed(times.duration), metavar="DURATION", help="How long: 90m, 2h, 1h30m."
    ),
]
Withdrawn = Annotated[bool, typer.Option("--withdrawn", help="Also what was retracted.")]
All = Annotated[bool, typer.Option("--all", help="Also those that are over.")]
ReliesOn = Annotated[
    list[str] | None, typer.Option("--relies-on", metavar="REF", help="What it rests on.")
]
Caveat = Annotated[
    str | None, typer.Option("--caveat", metavar="T", help="Shown wherever it is shown.")
]
GoodFor = Annotated[
    int | None,
    typer.Option(
        "--good-for", metavar="D", parser=parsed(times.duration), help="Then showing it warns."
    ),
]
To = Annotated[
    list[str] | None,
    typer.Option(
        "--for",
        metavar="WHOM",
        help="Who must know it: a session, task:ID, path:P, or all (25 words, once an hour). Their"
        " next commit stops once.",
    ),
]
Wait = Annotated[
    int | None,
    typer.Option(
        "--wait",
        parser=parsed(wait_time),
        metavar="D",
        help="If it cannot be had now, wait for it so long at most: 100s.",
    ),
]
Since = Annotated[
    str | None,
    typer.Option(
        "--since", metavar="T|REF|last", help="18:00, 12h, a date, a record, your last look."
    ),
]


def body(env: Env, text: str | None, file: str | None, dash: str | None = None) -> str | None:
    """The text of a record from `-m TEXT`, `--file F` or `-` (standard input); None where none of
    these was given."""
    given = [part for part in (text, file, dash) if part is not None]
    if len(given) > 1:
        raise Usage("a text comes from one place", "give one of -m TEXT, --file F and -")
    if text is not None:
        env.spoken = ("text.md", text.encode(errors="replace"))
        return text.replace("\r\n", "\n")
    if not given:
        return None
    data = read_bytes(env, given[0], TEXT)
    env.spoken = ("text.md", data) if given[0] == "-" else None
    try:
        return _decoded(data)
    except UnicodeDecodeError as error:
        raise Usage(
            f"{given[0]}: not UTF-8 text at byte {error.start}",
            "bytes of any kind: atlas artifact put",
        ) from None


def _decoded(data: bytes) -> str:
    """A text as it was meant, whatever editor wrote it: without a byte-order mark, its lines ended
    as git ends them. Raises UnicodeDecodeError if it is no text."""
    marked = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    return data.decode("utf-16" if marked else "utf-8-sig").replace("\r\n", "\n")


def read_bytes(env: Env, name: str, most: int, instead: str = "say less") -> bytes:
    """The bytes of a file, or of standard input for `-`. A command that is run again gets the same
    bytes: standard input, or a pipe, is read once. Raises Refused for more than `most`, without
    reading them all, with the hint what to do `instead`."""
    given: dict[str, bytes] = env.beside.setdefault("given", {})
    if name not in given:
        given[name] = _read(env, name, most + 1)
    if len(given[name]) > most:
        size = env.source.stat().st_size if env.source and env.source.is_file() else 0
        many = f"{size:,} bytes" if size else "more"
        raise Refused(f"{name}: {many}; at most {most:,} bytes", instead, code="limit")
    return given[name]


def _read(env: Env, name: str, most: int) -> bytes:
    import sys
    from pathlib import Path

    if name == "-":
        with interrupts.Typing():
            data = sys.stdin.buffer.read(most)
        env.given.append(data)
        return data
    path = Path(env.options.directory, name)
    env.source = path
    try:
        with interrupts.Typing(), path.open("rb") as file:  # (it may be a pipe)
            data = file.read(most)
        env.given.append(data)
        return data
    except FileNotFoundError:
        raise Usage(
            f"there is no file {name}", "give the path of a file, or - for standard input"
        ) from None
    except (OSError, ValueError) as error:
        raise Usage(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}") from None

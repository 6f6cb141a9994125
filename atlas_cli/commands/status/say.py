"""`atlas status write`, `unwarn`: the word of a session on where things stand."""

from typing import Annotated

import typer

from ...cli.options import Caveat, ReliesOn
from ...env import beginning, reading, wording, writing
from ...env.env import Env
from ...errors import Usage
from ...model import names
from ...model.change import Change, Writer
from ...model.text import Record
from ...model.tree import Tree
from ...outcome import Outcome
from ...records import session
from ...records.wish import Wish
from .. import GoodFor, body, env_of, one, verb
from .look import app

Text = Annotated[str | None, typer.Option("-m", metavar="TEXT", help="The text.")]
File = Annotated[
    str | None, typer.Option("--file", metavar="F", help="A file that holds the text.")
]
Unchanged = Annotated[
    str | None,
    typer.Option("--unchanged", metavar="WHY", help="It still holds: why. Nobody is stopped."),
]
Section = Annotated[
    str | None,
    typer.Option("--section", metavar="H", help="The section under H (default: your own)."),
]
Replace = Annotated[bool, typer.Option("--replace", help="The text replaces the whole entry.")]
Overflow = Annotated[
    str | None,
    typer.Option("--overflow", metavar="NAME", help="A text over the limit becomes this artifact."),
]
Base = Annotated[str | None, typer.Option("--base", metavar="N", help="The entry you have read.")]
Warn = Annotated[
    list[str] | None,
    typer.Option("--warn", metavar="TEXT", help="Stands first, at the head of the section."),
]
Until = Annotated[
    str | None,
    typer.Option("--until", metavar="T|REF", help="The warning's end (default: 24 h)."),
]
On = Annotated[
    list[str] | None,
    typer.Option("--on", metavar="PATH", help="A file that it is about (default: yours)."),
]
To = Annotated[
    list[str] | None,
    typer.Option(
        "--for",
        metavar="WHOM",
        help="session:ID, task:ID, path:P, or all (25 words, once an hour).",
    ),
]


def confirmed(env: Env, me: Record, stream: str, why: str, base: int | None) -> Record:
    """Confirms the current entry, in the session's own row."""
    wording.claim(env, stream, base)
    why = names.say(why, "--unchanged")

    def decide(tree: Tree, by: Writer) -> Change:
        return session.confirm(tree, by, wording.holding(env, tree, by, me, stream, base), why)

    return one(writing.records(env, writing.write(env, decide, me, "session: confirm ")))


@verb(
    app,
    "write",
    "atlas status write - <<'EOF'\nParser done, tests green. Open: the cache.\nEOF",
    3,
    5,
    6,
    7,
    limits=(
        (
            "sessions at work are not told: they see it when they next read, or when their write or"
            " commit stops; a reader is shown {status_words} words of all sections"
        ),
    ),
)
def write(
    ctx: typer.Context,
    stream: Annotated[str, typer.Argument(metavar="[STREAM]")] = "main",
    dash: Annotated[str | None, typer.Argument(metavar="[-]", help="The text from stdin.")] = None,
    text: Text = None,
    file: File = None,
    unchanged: Unchanged = None,
    section: Section = None,
    back: Annotated[
        str | None,
        typer.Option("--from", metavar="REF", help="The section as it stood there comes back."),
    ] = None,
    new: Annotated[
        bool, typer.Option("--new", help="A new stream is meant, however like another.")
    ] = False,
    replace: Replace = False,
    overflow: Overflow = None,
    base: Base = None,
    warn: Warn = None,
    until: Until = None,
    on: On = None,
    to: To = None,
    relies_on: ReliesOn = None,
    caveat: Caveat = None,
    good_for: GoodFor = None,
) -> Outcome:
    """Write your own section of the next entry (--section: another; --replace: the whole), carrying
    the rest.

    If others wrote meanwhile, what they wrote is carried and said. It stops (3) with a draft only
    if they wrote that section, or what concerns you."""
    env = env_of(ctx)
    if stream == "-":
        stream, dash = "main", "-"
    given = body(env, text, file, dash)
    wording.look(env, unchanged)
    env.goes_on = ("status", names.name(stream, "stream"))
    lists = (tuple(warn or ()), until, tuple(on or ()), tuple(to or ()))
    options = wording.Options(
        section,
        replace,
        overflow,
        reading.base(env, stream, base),
        tuple(relies_on or ()),
        caveat,
        *lists,
        new,
        good_for,
    )
    return _written(env, stream, given, unchanged, back, options)


def _written(
    env: Env,
    stream: str,
    given: str | None,
    unchanged: str | None,
    back: str | None,
    options: wording.Options,
) -> Outcome:
    """Writes what one of the three gives: a text, why the status still holds, or where the section
    stood that comes back."""
    if sum(part is not None for part in (given, unchanged, back)) != 1:
        raise Usage(
            "give the text, or say that it is unchanged",
            "-m TEXT, --file F or -; or --unchanged WHY; or --section H --from REF",
        )
    section = options.section if back is not None else None
    if back is not None and (section is None or options.replace):
        raise Usage("--from brings one section back", "name it: --section H")
    if back is None:
        options.need_text(given)
    me = beginning.writer(env, strict=True)
    if unchanged is not None:
        row = confirmed(env, me, stream, unchanged, options.base)
        return Outcome(row, (f"{row['confirmed']['ref']} confirmed",), published=False)
    if back is not None and section is not None:
        wish = wording.brought(env, stream, section, back)
    else:
        wish = wording.wish(env, me, stream, given or "", options)
    record, blocks = wording.answer(env, me, wording.write(env, me, wish, options))
    return Outcome(record, tuple(blocks), published=False)


@verb(
    app,
    "unwarn",
    "atlas status unwarn Parser",
    3,
    5,
    6,
    7,
    limits=("who has read the warning is not told that it was taken back",),
)
def unwarn(
    ctx: typer.Context,
    heading: Annotated[
        str | None, typer.Argument(metavar="[HEADING]", help="The section (default: your own).")
    ] = None,
    stream: Annotated[str, typer.Option("--stream", metavar="STREAM")] = "main",
) -> Outcome:
    """Take back the warnings that you gave at a section, or that a session gave which you have
    adopted."""
    env = env_of(ctx)
    me = beginning.writer(env, strict=True)
    title = heading or wording.heading(env, me, names.name(stream, "stream"))
    wording.given_warnings(env, me, stream, title)
    wish = Wish(stream, title, unwarn=True, withdrawn=wording.withdrawn(env, stream))
    record = wording.write(env, me, wish, wording.Options())
    return Outcome(
        record, (f"{record['ref']}: your warnings at {title!r} are taken back",), published=False
    )

"""`atlas signal`: alert, finding, status, dependency: posted and listed. A blocker is raised:
`atlas gate raise`."""

from typing import Annotated

import typer

from ..env import addressing, beginning, reading, receipts, writing
from ..env.env import Env
from ..model import names, times
from ..outcome import Frame, Outcome, Table, listing
from ..records import correction, signal
from . import Since, To, body, env_of, limits, noun, one, parsed, verb, warned

app = noun()
WORDS = f"One of {', '.join(signal.ACTIONS)}."
About = Annotated[
    str | None,
    typer.Option("--about", metavar="REF|PATH", help="The record or the path it is about."),
]


def about_of(env: Env, text: str | None) -> str | None:
    """The record or the path that a signal is about, as it is stored: a REF, or `path:…`."""
    if text is None:
        return None
    kind = text.partition(":")[0]
    if kind == text:
        return reading.resource(env, f"path:{text}")
    return reading.resource(env, text) if kind == "path" else reading.pinned_ref(env, text)


@verb(
    app,
    "post",
    'atlas signal post finding --about src/parse.py -m "it drops the last line"',
    3,
    5,
    6,
    7,
    limits=(limits.SIGNALLED,),
)
def post(
    ctx: typer.Context,
    word: Annotated[str, typer.Argument(metavar="KIND", parser=parsed(signal.kind), help=WORDS)],
    text: Annotated[
        str | None, typer.Option("-m", metavar="TEXT", help="What there is to say.")
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", metavar="F", help="A file that holds it.")
    ] = None,
    about: About = None,
    to: To = None,
) -> Outcome:
    """Post a signal about a record or a path."""
    env = env_of(ctx)
    message = names.say(body(env, text, file) or "", "the text (-m TEXT)", 8000)
    me, subject = beginning.writer(env), about_of(env, about)
    marks = addressing.marks(env, me, to or [], message)
    done = writing.write(
        env,
        lambda tree, who: signal.post(tree, who, word, subject, message, marks=marks),
        me,
        "signal: ",
    )
    record = one(writing.records(env, done))
    return Outcome(record, (f"{record['ref']} posted",), published=False)


@verb(app, "list", "atlas signal list --kind alert", 7, limits=(limits.SIGNALLED,))
def list_(
    ctx: typer.Context,
    word: Annotated[
        str | None, typer.Option("--kind", metavar="KIND", parser=parsed(signal.kind), help=WORDS)
    ] = None,
    since: Since = None,
    count: Annotated[int, typer.Option("-n", metavar="N", min=1, help="How many.")] = 20,
) -> Outcome:
    """The signals, newest first, the blockers of gates among them."""
    env = env_of(ctx)
    start = reading.since(env, since) if since is not None else 0
    rows = reversed(env.index.since(signal.FOLDER, start))
    chosen = [(path, row) for _, path, row in rows if word in (None, row["kind"])]
    items = [env.ask.shown({**row, "ref": signal.KIND.ref(path, row)}) for path, row in chosen]
    reading.damaged(env, signal.FOLDER + "/")
    cells = tuple(
        (
            row["id"],
            row["kind"],
            row.get("about", "-"),
            row["session"],
            correction.said(row, "text", env.now()),
        )
        for row in items[:count]
    )
    table = Table(("SIGNAL", "KIND", "ABOUT", "BY", "TEXT"), cells, "no signal was posted")
    return Outcome(listing(items[:count], len(items)), (table,))


@verb(app, "show", "atlas signal show 2026-11-29-alert-disk-full", 7, limits=(limits.WORD,))
def show(
    ctx: typer.Context,
    wanted: Annotated[str, typer.Argument(metavar="ID", help="As atlas signal list has it.")],
) -> Outcome:
    """One signal, whole."""
    env = env_of(ctx)
    record = env.ask.shown(
        reading.resolve(env, names.Ref("signal", wanted.removeprefix("signal:")))[1]
    )
    receipts.note_text(env, record["ref"], record["operation"])
    title = (
        f"{record['ref']} by {record['session']},"
        f" {times.ago(times.moment(record['at']), env.now())}"
    )
    lines = [
        record["kind"],
        f"about: {record.get('about', '-')}",
        record["text"] or correction.WITHHELD,
    ]
    return Outcome(record, (Frame(title, "\n".join(lines)), *warned(env, record)))

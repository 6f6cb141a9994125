"""`atlas correct`: put right a bad write by name, one's own first of all."""

from typing import Annotated

import typer

from .. import records
from ..env import reading, who, writing
from ..model import names
from ..outcome import Outcome
from ..records import correction
from . import Why, env_of, one, single, verb

app = single()


@verb(
    app,
    "correct",
    'atlas correct status:main@12 --why "stage E is done: I had read a broken README"',
    3,
    5,
    6,
    7,
    limits=(
        (
            "whoever read the record outside Atlas, or copied it, is not told; words that stand"
            " in an id stay there"
        ),
    ),
)
def correct(
    ctx: typer.Context,
    ref: Annotated[str, typer.Argument(metavar="REF", help="The record that is wrong.")],
    why: Why,
    cause: Annotated[
        str | None, typer.Option("--cause", metavar="REF|PATH", help="What led to it.")
    ] = None,
    retract: Annotated[
        bool, typer.Option("--retract", help="Withdraw it: what it says is withheld.")
    ] = False,
) -> Outcome:
    """Document a bad write. The record stays; wherever it is shown, the correction shows.

    Being wrong is expected, and nobody's corrections are counted. The sessions that relied on what
    is retracted are told."""
    env = env_of(ctx)
    me = who.session(env)
    target = reading.pinned_ref(env, ref)
    _, wrong = reading.resolve(env, records.ref(target))
    own = me["id"] == wrong.get("session", wrong.get("holder"))
    reason = names.say(why, "--why", 8000)
    cause = names.say(cause, "--cause") if cause else None
    written = writing.write(
        env,
        lambda tree, writer: correction.add(
            tree, writer, target=target, why=reason, cause=cause, retract=retract, own=own
        ),
        me,
        "correction: ",
    )
    record = one(writing.records(env, written))
    leaning = [env.index.ref_of(path) for path, _ in env.index.pointing(target, "relies_on")]
    lines = [f"{target} {'retracted' if retract else 'corrected'} by {record['ref']}"]
    if leaning:
        lines.append(
            f"it was relied on by {', '.join(leaning)}; their sessions are told at their next"
            " command"
        )
    return Outcome({**record, "relied_on_by": leaning}, tuple(lines), published=False)

"""`atlas show REF…`: any record."""

import json
from typing import Annotated, Any

import typer

from .. import records
from ..answers import artifacts, inbox
from ..env import reading, who
from ..env.env import Env
from ..model import names, times
from ..outcome import Block, Frame, Outcome, listing
from ..records import correction
from ..visible import named, theirs
from . import artifact, decision, env_of, limits, single, status, verb, warned

app = single()
READERS = 10  # sessions that are named


@verb(
    app,
    "show",
    "atlas show status:main@12 artifact:schema",
    7,
    limits=(
        limits.WORD,
        (
            "who read it in .atlas/, on a forge or with git is not known; other clones' readers"
            " are once they write"
        ),
    ),
)
def show(
    ctx: typer.Context,
    refs: Annotated[
        list[str],
        typer.Argument(
            metavar="REF…", help="status:main@12, artifact:schema, lease:gpu0, session:ID, …"
        ),
    ],
    withdrawn: Annotated[
        bool, typer.Option("--withdrawn", help="Also what was retracted.")
    ] = False,
) -> Outcome:
    """Show records by their REFs, each with its corrections, its age, what superseded it and who is
    known to have read it. Shown is read: it leaves a receipt."""
    env = env_of(ctx)
    blocks: list[Block] = []
    items: list[dict[str, Any]] = []
    for text in refs:
        shown, data = _one(env, records.ref(text), withdrawn)
        blocks += shown
        items.append(data)
    return Outcome(items[0] if len(items) == 1 else listing(items), tuple(blocks))


def _one(env: Env, ref: names.Ref, withdrawn: bool) -> tuple[list[Block], dict[str, Any]]:
    _, record = reading.resolve(env, ref)
    readers = _readers(env, record)
    blocks, data = _shown(env, ref, record, withdrawn)
    if not records.BY_NAME[ref.kind].numbered:
        return blocks, data
    more = f" and {len(readers) - READERS} more" if len(readers) > READERS else ""
    line = (
        f"known to have been read by: {', '.join(map(named, readers[:READERS])) or 'nobody'}{more}"
    )
    return [*blocks, line], {**data, "read_by": readers}


def _readers(env: Env, record: dict[str, Any]) -> list[str]:
    """The sessions that had read a record before now, without its writer."""
    name = record.get("stream", record.get("name", ""))
    kind = record["ref"].partition(":")[0]
    readers = artifacts.read_by(env.ask, kind, name, record.get("number", 0))
    return [reader for reader in readers if reader != record.get("session")]


def _shown(
    env: Env, ref: names.Ref, record: dict[str, Any], withdrawn: bool
) -> tuple[list[Block], dict[str, Any]]:
    if ref.kind == "artifact":
        return artifact.shown(env, record, withdrawn)
    record = record if withdrawn else env.ask.shown(record)
    data = {**record, "corrections": env.ask.corrections(record["ref"])}
    if ref.kind == "status":
        record = reading.shown_status(
            env, record["stream"], record["number"], who.session_or_none(env), withdrawn
        )
        return status.shown(env, record), record
    if ref.kind == "decision":
        return decision.shown(env, record), data
    if ref.kind == "inbox":
        data |= inbox.by_hand(env.ask, reading.path_of(env, ref))
        body = correction.WITHHELD if record["body"] is None else record["body"]
        return [
            Frame(f"{named(record['ref'])} by {theirs(data['by'])}", body),
            *warned(env, record),
        ], data
    if ref.kind == "task":
        from .task import look  # few look at a task in this way

        return look.shown(env, record)
    lines = [
        f"{key}: {value if isinstance(value, str) else json.dumps(value)}"
        for key, value in record.items()
        if value is not None and key != "corrections"
    ]
    if "corrections" in record:  # words are withheld
        lines.append(correction.WITHHELD)
    at = record.get("at", record.get("began"))
    age = f", {times.ago(times.moment(at), env.now())}" if at else ""
    return [Frame(record["ref"] + age, "\n".join(lines)), *warned(env, record)], data

"""`atlas show REF…`: any record."""

import json
from typing import Annotated, Any

import typer

from .. import records
from ..answers import artifacts, corrections, inbox
from ..cli.options import Withdrawn
from ..env import reading, receipts, who
from ..env.env import Env
from ..model import names, times
from ..outcome import Block, Frame, Outcome, listing
from ..records import correction
from ..visible import named, theirs
from . import artifact, decision, env_of, limits, single, verb, warned
from .status import look as status_look

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
            metavar="REF…",
            help="status:main@12, artifact:schema, lease:gpu0, … or a bare id or name",
        ),
    ],
    withdrawn: Withdrawn = False,
) -> Outcome:
    """Show records by their REFs, each with its corrections, its age, what superseded it and who is
    known to have read it. Shown is read: it leaves a receipt."""
    env = env_of(ctx)
    blocks: list[Block] = []
    items: list[dict[str, Any]] = []
    for text in refs:
        shown, data = _one(env, records.ref(reading.meant(env, text)), withdrawn)
        blocks += shown
        items.append(data)
    return Outcome(items[0] if len(items) == 1 else listing(items), tuple(blocks))


def _one(env: Env, ref: names.Ref, withdrawn: bool) -> tuple[list[Block], dict[str, Any]]:
    if ref.kind == "status" and status_look.is_empty(env, ref):
        return status_look.empty(env, ref.id), {"stream": ref.id, "version": 0, "body": ""}
    _, record = reading.resolve(env, ref)
    readers = _readers(env, record)
    blocks, data = _shown(env, ref, record, withdrawn)
    if not records.BY_NAME[ref.kind].numbered:
        return blocks, data
    data, me = {**data, "read_by": readers}, who.session_or_none(env)
    if others := [named(reader) for reader in readers if not me or reader != me["id"]]:
        blocks.append(f"known to have been read by: {corrections.few(others, READERS)}")
    return blocks, data


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
    beside = env.ask.twin_corrections(record["ref"])
    data = {**record, "corrections": [*env.ask.corrections(record["ref"]), *beside]}
    if ref.kind == "status":
        record = reading.shown_status(
            env, record["stream"], record["number"], who.session_or_none(env), withdrawn
        )
        return status_look.shown(env, record, withdrawn), record
    receipts.note_text(env, record["ref"], record.get("operation", ""))
    if ref.kind == "decision":
        return decision.shown(env, record), data
    if ref.kind == "inbox":
        data |= inbox.by_hand(env.ask, reading.path_of(env, ref))
        body = correction.WITHHELD if record["body"] is None else record["body"]
        return [
            Frame(f"{named(record['ref'])} by {theirs(data['by'])}", body),
            *warned(env, record),
        ], data
    if ref.kind in ("task", "result"):
        from .task import look, results  # few look at a task in this way

        if ref.kind == "result":
            return results.came(env, reading.resolve(env, ref)[1], withdrawn)
        return look.shown(env, record)
    lines = [
        f"{key}: {value if isinstance(value, str) else json.dumps(value)}"
        for key, value in record.items()
        if value is not None and key != "corrections"
    ]
    if any(map(correction.withdraws, record.get("corrections", ()))) and not withdrawn:
        lines.append(correction.WITHHELD)
    at = record.get("at", record.get("began"))
    age = f", {times.ago(times.moment(at), env.now())}" if at else ""
    return [Frame(record["ref"] + age, "\n".join(lines)), *warned(env, record)], data

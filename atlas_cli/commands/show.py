"""`atlas show REF…`: any record."""

import json
from typing import Annotated, Any

import typer

from .. import records
from ..env import Env
from ..outcome import Block, Frame, Outcome, listing
from ..records import names
from . import artifact, decision, env_of, single, status, verb

app = single()


@verb(app, "show", "atlas show status:main@12 artifact:schema", 7)
def show(
    ctx: typer.Context,
    refs: Annotated[list[str], typer.Argument(metavar="REF…")],
    withdrawn: Annotated[bool, typer.Option("--withdrawn", help="Also what was retracted.")] = False,
) -> Outcome:
    """Show records by their REFs, each with its corrections. Shown is read: it leaves a receipt."""
    env = env_of(ctx)
    blocks: list[Block] = []
    items: list[dict[str, Any]] = []
    for text in refs:
        shown, data = _one(env, records.ref(text), withdrawn)
        blocks += shown
        items.append(data)
    return Outcome(items[0] if len(items) == 1 else listing(items), tuple(blocks))


def _one(env: Env, ref: names.Ref, withdrawn: bool) -> tuple[list[Block], dict[str, Any]]:
    _, record = env.resolve(ref)
    if ref.kind == "artifact":
        return artifact.shown(env, record, withdrawn)
    data = {**record, "corrections": env.ask.corrections(record["ref"])}
    if ref.kind == "status":
        record = env.shown_status(record["stream"], record["number"], env.here(), withdrawn)
        return status.shown(env, record), record
    if ref.kind == "decision":
        return decision.shown(env, record), data
    lines = [f"{key}: {value if isinstance(value, str) else json.dumps(value)}" for key, value in record.items()]
    return [Frame(record["ref"], "\n".join(lines)), *(f"! {line}" for line in env.ask.warnings(record))], data

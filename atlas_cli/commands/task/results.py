"""The results of tasks as they are shown: whole, as bytes, or beside their task."""

import sys
from base64 import b64encode

from ...answers import code
from ...env import reading, receipts
from ...env.env import Env
from ...errors import Damaged, Refused, Usage
from ...model import names
from ...model.text import Record
from ...outcome import Block, Frame, Raw
from ...records import artifact
from ...records.board import result
from ...visible import many, named
from .. import warned

SHORT = 40  # words of a result that is shown with its task, or with one that builds on it


def beside_task(env: Env, record: Record) -> tuple[str | None, list[Block]]:
    """The REF of the result of a task, and the result in its frame; by its name and size where it
    is long. None of it for a task that is not done."""
    if record["state"] != "done":
        return None, []
    if env.tree.blob(result.path_of(record["id"])) is None:
        return None, [f"done by {named(record['claim']['session'])}, without a result"]
    _, row = reading.resolve(env, names.Ref("result", record["id"]))
    try:
        short = is_short(env, row)
    except Damaged as error:
        return row["ref"], [f"! {error.message}"]
    if short or env.ask.retracted(row["ref"]):
        return row["ref"], came(env, row, False)[0]
    by = f"{row['ref']} by {named(row['session'])}, {many(row['size'], 'byte')}{_at(env, row)}"
    return row["ref"], [f"{by}: atlas task results {record['id']}"]


def is_short(env: Env, record: Record) -> bool:
    """Whether a result is a text that is shown whole wherever its task is."""
    data = result.body(env.tree, record)
    return artifact.is_text(data) and len(data.split()) <= SHORT


def came(env: Env, record: Record, withdrawn: bool) -> tuple[list[Block], Record]:
    """One result as blocks and as data: its text, or its bytes in base64."""
    data = result.body(env.tree, record)
    text = data.decode() if artifact.is_text(data) else None
    base64 = b64encode(data).decode() if text is None else None
    item = {**record, "text": text, "base64": base64}
    withheld = env.ask.retracted(record["ref"]) and not withdrawn
    item = env.ask.shown(item) if withheld else item
    receipts.note_text(env, record["ref"], record.get("operation", ""))
    blocks = [_framed(env, record, text, withheld), *warned(env, record)]
    return blocks, {**item, "corrections": corrections(env, record)}


def corrections(env: Env, record: Record) -> list[Record]:
    """The corrections of a task or a result, and those of its twin."""
    own = env.ask.corrections(record["ref"])
    return own + env.ask.twin_corrections(record["ref"])


def raw(env: Env, record: Record, data: bytes, is_text: bool, withheld: bool) -> Raw:
    """The bytes of a result. Raises Usage if they are no text and stdout is a terminal. Raises
    Refused if the result is withheld."""
    if not is_text and sys.stdout.isatty():
        raise Usage(
            f"{record['ref']} is no text, and would steer the terminal",
            "send it to a file: > FILE",
        )
    if withheld:
        raise Refused(
            f"{record['ref']} was {'; '.join(env.ask.warnings(record))}",
            "--withdrawn gives it all the same",
            code="retracted",
        )
    return Raw(data)


def _at(env: Env, record: Record) -> str:
    """The commit that a result names, and whether it can be looked at here."""
    if not (commit := record.get("commit", "")):
        return ""
    away = "" if code.is_here(env.git, commit) else ", which is not here: not pushed, or rebased"
    return f", commit {commit[:12]}{away}"


def _framed(env: Env, record: Record, text: str | None, withheld: bool) -> Block:
    """A result in its frame, or a line about it if it is no text."""
    title = (
        f"{record['ref']} by {record['session']}, {many(record['size'], 'byte')}, SHA-256"
        f" {record['sha256'][:12]}{_at(env, record)}"
    )
    if withheld:
        return Frame(title, "(retracted; --withdrawn shows it)")
    return f"{title}: no text; --raw gives it" if text is None else Frame(title, text)

"""The status: where things stand; in the morning report as a diff."""

from __future__ import annotations

import difflib

from ..env import reading, receipts
from ..errors import Damaged, NotFound
from ..model.text import Record
from ..outcome import Block, Frame
from ..records import correction
from ..records import status as streams
from .part import Part, State


def status(state: State) -> Part:
    """The entry of the main stream, and those of the streams that this session follows."""
    own = state.me.get("streams", []) if state.me else []
    items: list[Record] = []
    blocks: list[Block] = []
    for stream in dict.fromkeys(["main", *own]):
        number = streams.newest(state.env.tree, stream)
        if not number:
            receipts.note_empty(state.env, state.me, stream)
            blocks.append(f"status:{stream} is empty: nobody has written where things stand")
            continue
        try:
            record = reading.shown_status(state.env, stream, number, state.me)
        except Damaged as error:
            blocks.append(
                f"status:{stream}@{number} cannot be read: {error.message}; atlas doctor --fix puts"
                " it right"
            )
            continue
        items.append(record)
        blocks += [_entry(state, record), *state.ask.warned(record)]
    return Part("status", items, blocks)


def _entry(state: State, record: Record) -> Frame:
    body = _brief(state, record) if record["body"] is not None else correction.WITHHELD
    by = f"by {record['session']}, {state.ago(record['at'])}"
    title = f"status:{record['stream']}@{record['number']} {by}"
    if state.after is not None and body == record["body"]:
        return _changed(state, record, title, state.after)
    return Frame(title, body)


def _brief(state: State, record: Record) -> str:
    return streams.brief(record, state.env.policy["status_words"])


def _changed(state: State, record: Record, title: str, after: int) -> Frame:
    """The entry whole, its lines marked with + and -, against the one that stood there then."""
    path = state.env.index.as_of(f"{streams.FOLDER}/{record['stream']}", after)
    old = int(path.rpartition("/")[2].removesuffix(".md")) if path else 0
    if old == record["number"]:
        return Frame(f"{title}; unchanged since", record["body"])
    before = ""
    if old:
        try:
            then = reading.shown_status(state.env, record["stream"], old, None)
        except (Damaged, NotFound):
            return Frame(f"{title}; @{old}, which stood then, cannot be read", record["body"])
        before = _brief(state, then) if then["body"] is not None else ""
    record["since"] = old
    lines = difflib.unified_diff(
        before.splitlines(), record["body"].splitlines(), n=10**6, lineterm=""
    )
    text = "\n".join(line for line in lines if not line.startswith(("--- ", "+++ ", "@@ ")))
    return Frame(f"{title}; lines marked + and - against @{old}", text)

"""The status: where things stand; in the morning report as a diff."""

from __future__ import annotations

import difflib

from ..env import pushed, reading, receipts, standing
from ..errors import Damaged, NotFound
from ..model.text import Record
from ..outcome import Block, Frame
from ..records import status as streams
from .part import Part, State


def status(state: State) -> Part:
    """The entry of the main stream, and those of the streams that this session follows."""
    own = state.me.get("streams", []) if state.me else []
    items: list[Record] = []
    blocks: list[Block] = []
    for stream in dict.fromkeys(["main", *own]):
        if not streams.newest(state.env.tree, stream):
            receipts.note_empty(state.env, state.me, stream)
            blocks.append(f"status:{stream} is empty: nobody has written where things stand")
            continue
        number = reading.current(state.env, stream)
        try:
            record = reading.shown_status(state.env, stream, number, None)
        except Damaged as error:
            blocks.append(
                f"status:{stream}@{number} cannot be read: {error.message}; atlas doctor --fix puts"
                " it right"
            )
            continue
        items.append(record)
        blocks += [_entry(state, record), *standing.warned(state.env, record)]
    return Part("status", items, blocks)


def without_word(state: State) -> Part:
    """The pushes that have no word behind them: they have happened all the same."""
    marks = pushed.marks(state.env)
    return Part("pushed", marks[: pushed.MOST], pushed.frames(state.env, marks))


def _entry(state: State, record: Record) -> Frame:
    """The entry in its frame. A reader that saw the whole of it has read it."""
    frame, whole = standing.frame(state.env, record)
    if state.me is not None:
        receipts.note_entry(state.env, state.me, record["stream"], record["number"], whole)
    if state.after is not None and record["body"] is not None:
        return _changed(state, record, frame, state.after)
    return frame


def _brief(state: State, record: Record) -> str:
    text = {**record, "body": standing.marked(state.env, record)}
    return streams.brief(text, state.env.policy["status_words"])


def _changed(state: State, record: Record, frame: Frame, after: int) -> Frame:
    """The entry, its lines marked with + and -, against the one that stood there then."""
    path = state.env.index.as_of(f"{streams.FOLDER}/{record['stream']}", after)
    old = int(path.rpartition("/")[2].removesuffix(".md")) if path else 0
    if old == record["number"]:
        return Frame(f"{frame.title}; unchanged since", frame.body)
    before = ""
    if old:
        try:
            then = reading.shown_status(state.env, record["stream"], old, None)
        except (Damaged, NotFound):
            return Frame(f"{frame.title}; @{old}, which stood then, cannot be read", frame.body)
        before = _brief(state, then) if then["body"] is not None else ""
    record["since"] = old
    now = _brief(state, record)
    lines = difflib.unified_diff(before.splitlines(), now.splitlines(), n=10**6, lineterm="")
    text = "\n".join(line for line in lines if not line.startswith(("--- ", "+++ ", "@@ ")))
    return Frame(f"{frame.title}; lines marked + and - against @{old}", text)

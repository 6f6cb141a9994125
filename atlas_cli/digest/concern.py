"""The part on what concerns the reader and was not told yet: what would stop its next commit."""

from __future__ import annotations

from ..env import telling
from ..outcome import Frame
from ..records import telling as rules
from ..records.concern import label
from .part import MOST, Part, State, listed


def concern(state: State) -> Part | None:
    """The records and sections that concern this session, the first of them in words: these count
    as rules. The others by name."""
    if state.me is None:
        return None
    rows, _ = telling.unread(state.env, state.me)
    due = rules.in_order([row for row in rows if row.due])
    count = rules.fitting([len(row.item.text.split()) for row in due])
    shown, rest = due[:count], due[count:]
    blocks = [Frame(*block) for block in telling.blocks(state.env, state.me, shown)]
    telling.keep(state.env, state.me, rules.TOLD, (row.item for row in shown))
    items = [
        {"ref": row.item.ref, "heading": row.item.heading, "why": row.reason.words}
        for row in due
        if row.reason
    ]
    cells = ((label(row.item), row.item.session, row.reason.words) for row in rest if row.reason)
    title, more = "these concern you, too", "atlas show REF"
    part = listed("concern", items[count:], cells, "RECORD|BY|WHY", title, more, blocks=blocks)
    return part._replace(value=items[:MOST])

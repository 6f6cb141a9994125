"""The waiting of a session: what it waits for stands in its row."""

from __future__ import annotations

from collections.abc import Sequence

from ..model import change, text, times
from ..model.change import Change, Writer
from ..model.tree import Tree
from . import session


def wait(
    tree: Tree, writer: Writer, wanted: Sequence[str], over: int, any_of: bool = False
) -> Change:
    """The change by which a session says what it waits for, and until when at the latest.
    `any_of`: the first of these is enough."""
    old = session.live(tree, writer.session, writer.at)
    until = times.rfc3339(over)
    waits = {"for": list(wanted), "at": writer.when, "until": until, **change.given(any=any_of)}
    record = change.rewritten(old, waits=waits)
    return session.written(f"session: wait ({writer.session})", record)


def waited(tree: Tree, writer: Writer) -> dict[str, bytes | None]:
    """The writer's row without what it waited for; nothing if it says of none."""
    path = session.path_of(writer.session)
    data = tree.read(path)
    record = {} if data is None else session.parse(path, data)
    if "waits" not in record:
        return {}
    return {path: text.dump(change.rewritten(record, waits=None))}

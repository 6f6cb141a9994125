"""A task board without git: a store of files, sessions on it, and the writes by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atlas_cli.model import text, times
from atlas_cli.model.change import Writer
from atlas_cli.model.text import Record
from atlas_cli.records import session
from atlas_cli.records.board import posting, task

from .files import ANN, BOB, NOW, Files, done, store, writer


def world(*titles: str, **changed: object) -> Files:
    """A store with the sessions of ann and bob, and a task for each title, every one needing the
    one before it."""
    tree = store(**changed)
    for name in (ANN, BOB):
        begun = session.begin(
            tree,
            writer(name),
            goal="g",
            worktree="",
            branch="",
            kind="work",
            paths=[],
            streams=[],
            lasts=None,
        )
        tree = done(tree, begun, writer(name))
    for nth, title in enumerate(titles):
        tree = added(tree, title, ids(tree)[-1:], at=NOW + nth)
    return tree


def ids(tree: Files) -> list[str]:
    """The tasks in their order of arrival."""
    return [
        task.parse(path, data)["id"]
        for path, data in tree.files.items()
        if path.startswith("tasks/")
    ]


def queue(tree: Files) -> list[tuple[str, Record]]:
    """What is open, first come first, as the index has it."""
    rows = [task.get(tree, one) for one in ids(tree)]
    found = [row for row in rows if task.queued(row) is not None]
    return [
        (task.path_of(row["id"]), row) for row in sorted(found, key=lambda row: -row["priority"])
    ]


def added(
    tree: Files,
    title: str,
    needs: list[str] | None = None,
    at: int = NOW,
    who: str = ANN,
    **more: Any,
) -> Files:
    """The tree with one more task."""
    by = Writer(who, who.split("-")[0], "m1", at, f"add {title} {len(tree.files)}")
    return done(
        tree,
        posting.add(tree, by, [{"title": title, "needs": needs or [], **more}], len(ids(tree))),
        by,
    )


def by_hand(tree: Files, wanted: str, **fields: object) -> Mapping[str, bytes | None]:
    """The next version of a row with these fields (None: taken out), as plumbing would put it."""
    row = {**task.get(tree, wanted), **fields}
    row = {key: value for key, value in row.items() if value is not None}
    row["version"] += 1
    body = row.pop("body")
    return {task.path_of(wanted): text.with_front(row, body)}


def later(seconds: int) -> str:
    return times.rfc3339(NOW + seconds)

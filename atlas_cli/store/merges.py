"""The changes of a merge of a store's own lines: it is read against each of them, so that what one
of them wrote is no change of another's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..model.message import FileChange
from .differences import Differ
from .snapshot import Objects

_KEPT = object()  # a line's value where the merge holds that line's very file
Value = object  # what a line holds at a path: `_KEPT`, another blob, or None (no file)


class Lost(NamedTuple):
    """A file that a line had put at a path where another line's file goes on.

    blob: None if the line had taken the file away."""

    path: str
    line: str
    blob: str | None


class Joined(NamedTuple):
    """The work of a merge. `changes` are its own, against what its lines hold together. `brought`
    are (path, blob on the first line, blob on another) of what goes on from another, and `givers`
    are these lines by path. `now` are the blobs in the merge where a line differs from it."""

    changes: tuple[FileChange, ...]
    modes: dict[str, str]
    faults: tuple[tuple[str, str], ...]
    brought: tuple[FileChange, ...]
    givers: dict[str, str]
    lost: tuple[Lost, ...]
    now: dict[str, str | None]


def joined(
    git: Objects, tree: str, lines: Sequence[tuple[str, str]], forks: Sequence[str]
) -> Joined:
    """The work of a merge with that tree. `lines` are (commit, tree) of its parents. `forks` are
    the trees at which the others left the first line."""
    trees = [*(line for _, line in lines), *forks]
    differ = Differ(git, [(old, tree) for old in trees])
    steps = [differ.step(at) for at in range(len(trees))]
    was = [{path: old for path, old, _ in changes} for changes, _, _ in steps]
    now = {path: new for changes, _, _ in steps[: len(lines)] for path, _, new in changes}
    modes: dict[str, str] = {}
    for _, more, _ in steps[: len(lines)]:
        modes |= more
    values = {path: tuple(old.get(path, _KEPT) for old in was) for path in now}
    wanted = {path: wishes(row[: len(lines)], row[len(lines) :]) for path, row in values.items()}
    first = _preferred(wanted.values())
    changes, brought, givers, lost = [], [], dict[str, str](), list[Lost]()
    for path in sorted(now, key=lambda path: path.encode(errors="surrogateescape")):
        new, wish = now[path], wanted[path]
        giver = first if first in wish else min(wish)
        together = _blob(wish[giver], new)
        if wish[giver] is not _KEPT:
            changes.append((path, together, new))
        if giver:
            brought.append((path, _blob(values[path][0], new), together))
            givers[path] = lines[giver][0]
        for line, value in wish.items():
            if value != wish[giver]:
                lost.append(Lost(path, lines[line][0], _blob(value, new)))
    faults = [fault for fault in steps[0][2] if all(fault in step[2] for step in steps[1:])]
    return Joined(tuple(changes), modes, tuple(faults), tuple(brought), givers, tuple(lost), now)


def wishes(lines: Sequence[Value], forks: Sequence[Value]) -> dict[int, Value]:
    """The blobs that the lines which have changed a file hold there, by line. A blob that lay there
    when a line left the first, and that one of the two has changed since, is older than the one
    that stands now. Of lines that agree the first counts."""
    older = {
        fork
        for line, fork in zip(lines[1:], forks, strict=True)
        if lines[0] != line and fork in (lines[0], line)
    }
    result: dict[int, Value] = {}
    for at, value in enumerate(lines):
        if value not in older and value not in result.values():
            result[at] = value
    return result or {0: lines[0]}


def _preferred(rows: Iterable[Mapping[int, Value]]) -> int:
    """The line that goes on where lines contradict each other: the one whose files the merge holds
    most of, so that what belongs together stays together."""
    counts: dict[int, int] = {}
    for row in rows:
        for line, value in row.items() if len(row) > 1 else ():
            counts[line] = counts.get(line, 0) + (value is _KEPT)
    return max(sorted(counts), key=lambda line: counts[line], default=0)


def _blob(value: Value, new: str | None) -> str | None:
    if value is _KEPT:
        return new
    return value if isinstance(value, str) else None

"""The differences of pairs of trees, found folder by folder for all of them together. A folder is
not looked into beyond a depth and a number of files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .. import records
from ..errors import Damaged
from ..model.message import FileChange
from .snapshot import Objects, Placed
from .trees import FOLDER, NOTHING, Folder, Row, compared, read, rows

DEEP = 8  # folders that a path leads through: no record's has as many
MOST = 20_000  # files of a folder that a commit brings: one with more is not looked into
_FOLDER = FOLDER.encode()


def changes(git: Objects, old: str, new: str) -> tuple[FileChange, ...]:
    """The difference of two trees, as it stands in a commit that brings it."""
    return Differ(git, [(old, new)]).step(0)[0]


def _missing(tree: str) -> Damaged:
    return Damaged(
        f"the store's tree {tree} is missing or broken",
        "atlas doctor --fix has it again from the remote",
    )


class _Task(NamedTuple):
    """Two folders to be compared: the commit that they belong to, their path, and their ids (empty:
    there is none).

    light: they are known to hold no more than is looked into."""

    at: int
    path: str
    old: str
    new: str
    light: bool = False


_Change = tuple[str, str | None, str | None, str]  # path, old blob, new blob, new mode


class Differ:
    """The differences of pairs of trees, found folder by folder for all of them together."""

    def __init__(self, git: Objects, pairs: Sequence[tuple[str, str]]) -> None:
        self.git, self.weights = git, dict[tuple[str, int], int]()
        self.roots = [new for _, new in pairs]
        self.changes: list[list[_Change]] = [[] for _ in pairs]
        self.faults: list[list[tuple[str, str]]] = [[] for _ in pairs]
        tasks = [_Task(at, "", *pair) for at, pair in enumerate(pairs)]
        for _ in range(DEEP):
            tasks = self._level(self._bounded(tasks))
        for task in tasks:
            self._closed(task)

    def step(self, at: int) -> tuple[tuple[FileChange, ...], dict[str, str], list[tuple[str, str]]]:
        """(changes, new modes by path, faults) of one step. A record of the first format stands
        there by the path that it has now."""
        listed = self.changes[at]
        if any(records.place_now(row[0]) for row in listed):
            listed = self._placed(listed, self.roots[at])
        rows = sorted(listed, key=lambda row: row[0].encode(errors="surrogateescape"))
        changes = tuple((path, old, new) for path, old, new, _ in rows)
        return changes, {path: mode for path, _, new, mode in rows if new}, self.faults[at]

    def _placed(self, listed: list[_Change], root: str) -> list[_Change]:
        """The changes by the paths of now. A file that was moved there has not changed. (Beside a
        record that lies in its place, a file in its first place is only a file that lies wrong.)"""
        child, paths = Placed(self.git, root, len(root)), {row[0] for row in listed}
        rows: dict[str, _Change] = {}
        for path, old, new, mode in listed:
            now = records.place_now(path)
            if now is None or (now not in paths and child.at(now)):
                now = path
            _, was, is_, its_mode = rows.get(now, ("", None, None, ""))
            rows[now] = now, old or was, new or is_, mode or its_mode
        return [row for row in rows.values() if row[1] != row[2]]

    def _bounded(self, tasks: list[_Task]) -> list[_Task]:
        """The pairs without those of a step that has too many."""
        count = Counter(task.at for task in tasks)
        for task in tasks:
            if count[task.at] > MOST:
                self._closed(task)
        return [task for task in tasks if count[task.at] <= MOST]

    def _closed(self, task: _Task) -> None:
        """A folder that is not looked into stands among the changes itself."""
        path = task.path.rstrip("/")
        self.changes[task.at].append(
            (path, task.old or None, task.new or None, FOLDER if task.new else "")
        )

    def _weighed(self, task: _Task) -> _Task | None:
        """A folder that is all new, or all gone, if it is to be looked into. Few trees can name a
        great many files: each is weighed once, and the lowest ones that are too heavy stay closed,
        wherever else something changes."""
        oid, deep = task.old or task.new, task.path.count("/") - 1
        if self._weight(oid, deep) <= MOST:
            return task._replace(light=True)
        if deep < DEEP - 1 and any(
            self._weight(folder, deep + 1) > MOST for folder in self._folders(oid)
        ):
            return task
        self._closed(task)
        return None

    def _weight(self, oid: str, deep: int) -> int:
        """How many files lie below a folder that lies so deep, as far as that is of interest."""
        if (oid, deep) not in self.weights:
            rows_ = self._read(oid) if deep < DEEP - 1 else None
            below = (
                self._weight(row[2].hex(), deep + 1) if row[0] == _FOLDER else 1
                for row in rows_ or ()
            )
            self.weights[oid, deep] = MOST + 1 if rows_ is None else min(sum(below), MOST + 1)
        return self.weights[oid, deep]

    def _folders(self, oid: str) -> list[str]:
        return [row[2].hex() for row in self._read(oid) if row[0] == _FOLDER]

    def _read(self, oid: str) -> list[Row]:
        """The entries of a tree.

        Raises Damaged if the tree is not here: that is no fault of the commit that brings it."""
        answer = self.git.object(oid)
        if answer is None or answer[1] != "tree":
            raise _missing(oid)
        return read(answer[2], len(oid)).rows

    def _level(self, tasks: list[_Task]) -> list[_Task]:
        """Compares folders. The ones below them that are to be compared next."""
        below: list[_Task] = []
        folders = _Folders(self.git, tasks)
        for task in tasks:
            faults, gone, come = folders.compared(task.old, task.new)
            self.faults[task.at] += [
                (task.path, f"a folder is not as git writes it: {fault}") for fault in faults
            ]
            below += self._compared(task, gone, come)
        return below

    def _compared(self, task: _Task, gone: set[Row], come: set[Row]) -> Iterator[_Task]:
        was, now = {row[1]: row for row in gone}, {row[1]: row for row in come}
        for name in sorted(was.keys() | now.keys()):
            old, new = was.get(name), now.get(name)
            path = task.path + name.decode(errors="surrogateescape")
            folders = [row[2].hex() if row and row[0] == _FOLDER else "" for row in (old, new)]
            files = [row[2].hex() if row and row[0] != _FOLDER else None for row in (old, new)]
            if any(folders):
                below = _Task(task.at, f"{path}/", folders[0], folders[1], task.light)
                looked = below if below.light or all(folders) else self._weighed(below)
                yield from [looked] if looked else []
            if any(files):
                mode = new[0].decode() if new and files[1] else ""
                self.changes[task.at].append((path, files[0], files[1], mode))


class _Folders:
    """The trees of one level, each read once, in the order in which they are compared, and kept
    until the last time."""

    def __init__(self, git: Objects, tasks: Sequence[_Task]) -> None:
        self.left = Counter(oid for task in tasks for oid in (task.old, task.new) if oid)
        self.names = list(self.left)
        self.objects = zip(self.names, git.objects(self.names), strict=True)
        self.open: dict[str, Folder | bytes] = {"": NOTHING}

    def compared(self, old: str, new: str) -> tuple[tuple[str, ...], set[Row], set[Row]]:
        """(what is wrong in the new one, entries that only the old one has, entries that only the
        new one has)."""
        width = len(old or new)
        before = self._folder(old, width)
        data = self._data(new) if new else b""
        after, gone, come = (
            compared(before, data, width) if new else (NOTHING, set(rows(before, width)), set())
        )
        if new:
            self.open[new] = after
        for oid in filter(None, (old, new)):
            self.left[oid] -= 1
            if not self.left[oid]:
                del self.open[oid]
        return after.faults, gone, come

    def _folder(self, oid: str, width: int) -> Folder:
        folder = self.open[oid] if oid in self.open else self._data(oid)
        return read(folder, width) if isinstance(folder, bytes) else folder

    def _data(self, oid: str) -> bytes:
        """The bytes of a tree. The ones that are asked for before it are read on the way."""
        while oid not in self.open:
            name, answer = next(self.objects)
            if answer is None or answer[1] != "tree":
                raise _missing(name)
            self.open[name] = answer[2]
        folder = self.open[oid]
        return folder if isinstance(folder, bytes) else folder.data

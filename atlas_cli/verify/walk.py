"""The tree at a point of a walk along the history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..errors import Damaged
from ..model.message import FileChange
from ..model.text import Record
from ..records import bound, is_record, kind_of
from ..store import history
from ..store.conversation import LARGE, Answer
from ..store.git import SMALL
from ..store.snapshot import Objects, Snapshot, bytes_of
from ..store.trees import PLAIN

KEPT = 20_000  # files whose bytes are kept during a walk


class Walk:
    """The tree at a point of the walk: a starting snapshot with all changes since, by blob."""

    def __init__(self, git: Objects, base: Snapshot | None) -> None:
        self.git, self.base = git, base
        self.at = base.head if base else None  # the commit whose tree it is
        self.blobs: dict[str, str | None] = {}
        self.odd: dict[str, str] = {}  # what is no file that is read, by path: why
        self.folders: dict[str, set[str]] = {}
        # Until when a row is in force, by object id: what is over is not read again.
        self.over: dict[str, int] = {}
        self.loaded: dict[str, Answer] = {}

    def load(self, path: str, oid: str) -> bytes:
        """The bytes of a file."""
        return bytes_of(path, oid, self.object(path, oid))

    def object(self, path: str, oid: str) -> Answer:
        """The object of a file. Small ones are kept, since rows are read again as what was there
        before."""
        if oid in self.loaded:
            return self.loaded[oid]
        answer = self.git.object(oid, bound(path))
        # (How much is read depends on the path.)
        if answer is not None and answer[1] != LARGE and len(answer[2]) < SMALL:
            self._keep(oid, answer)
        return answer

    def _keep(self, oid: str, answer: Answer) -> None:
        if len(self.loaded) >= KEPT:
            self.loaded.clear()
        self.loaded[oid] = answer

    def ahead(self, commits: Iterable[history.Commit]) -> None:
        """Reads the records that these bring, all at once."""
        wanted = {
            new: path
            for commit in commits
            for path, _, new in commit.changes
            if new and is_record(path)
        }
        names = [oid for oid in wanted if oid not in self.loaded]
        for oid, answer in zip(names, self.git.objects(names, SMALL), strict=True):
            if answer is not None and answer[1] != LARGE:
                self._keep(oid, answer)

    def whole(self, commit: history.Commit) -> None:
        """Raises Damaged if a file that a commit changed is not here. That is no fault of the
        commit, and judged by nobody."""
        for path, old, new in commit.changes:
            plain = [
                old if self._plain(path) else None,
                new if commit.modes.get(path) == PLAIN else None,
            ]
            for oid in filter(None, plain):
                answer = self.object(path, oid)
                if answer is None or answer[1] not in ("blob", LARGE):
                    raise Damaged(
                        f"{path} in {commit.oid[:12]}: the object {oid} is missing or broken in"
                        " this clone",
                        "atlas doctor --fix has it again from the remote",
                    )

    def stand(self, commit: history.Commit) -> None:
        """Goes to where a commit begins: what its own line holds, and what a merge brings to it."""
        above = next(iter(commit.parents), None)
        if above != self.at:
            self.base = Snapshot(self.git, above, len(commit.oid)) if above else None
            self.blobs, self.odd, self.folders = {}, {}, {}
        if commit.brought:
            own = {path for path, _, _ in commit.changes}
            modes = {path: mode for path, mode in commit.modes.items() if path not in own}
            self.take(commit._replace(changes=commit.brought, modes=modes))

    def blob(self, path: str) -> str | None:
        """The blob of a file as of the commit that is judged; None if there is none."""
        if path in self.blobs:
            return self.blobs[path]
        return self.base.blob(path) if self.base else None

    def is_back(self, row: FileChange) -> bool:
        """Whether what a commit changed lies there as it was before."""
        return self.blob(row[0]) == row[1] and row[0] not in self.odd

    def read(self, path: str) -> bytes | None:
        """The bytes of a file as of the commit that is judged; None if there is none."""
        if path not in self.blobs and self.base:
            return self.base.read(path)
        return self.bytes_of(path, self.blob(path), self.odd)

    def bytes_of(self, path: str, oid: str | None, odd: Mapping[str, str]) -> bytes | None:
        """The bytes of a file.

        Raises Damaged if it is no file that is read."""
        if path in odd:
            raise Damaged(f"{path}: {odd[path]}")
        return None if oid is None else self.load(path, oid)

    def _plain(self, path: str) -> bool:
        """Whether what lies at a path now is a plain file."""
        if path in self.blobs or self.base is None:
            return path not in self.odd
        entry = self.base.entry(path)
        return entry is not None and entry[0] == PLAIN

    def unread(self, commit: history.Commit) -> dict[str, str]:
        """The files of a commit that are not read, by path, with the reason."""
        return history.unread(commit, self.object)

    def take(self, commit: history.Commit) -> None:
        """Goes on behind one commit."""
        self.at = commit.oid
        for path, _, new in commit.changes:
            self.blobs[path] = new
            self.odd.pop(path, None)
        self.odd |= self.unread(commit)
        for path, _, _ in commit.changes:
            while "/" in path:
                path, _, name = path.rpartition("/")
                self.folders.setdefault(path, set()).add(name)

    def names(self, folder: str) -> list[str]:
        """The names in a folder as of the commit that is judged, sorted."""
        before = self.base.names(folder) if self.base else ()
        names = self.folders.get(folder, set()).union(before)
        return sorted(name for name in names if self.blobs.get(f"{folder}/{name}", "") is not None)

    def live(self, folder: str, after: int) -> Iterable[tuple[str, Record]]:
        """The rows of a folder that are in force after a moment."""
        for name in self.names(folder):
            path, kind = f"{folder}/{name}", kind_of(folder + "/")
            oid = self.blob(path) if kind and is_record(path) else None
            if kind is None or oid is None:
                yield from self.live(path, after)
            elif self.over.get(oid, after + 1) > after:
                try:
                    record = kind.parse(path, self.load(path, oid))
                except Damaged:
                    continue
                self.over[oid] = kind.until(record) or 0
                if self.over[oid] > after:
                    yield path, record


class Child:
    """The tree of a walk, with the changes of one commit over it."""

    def __init__(self, parent: Walk, commit: history.Commit) -> None:
        self.parent, self.changes = parent, {path: new for path, _, new in commit.changes}
        self.odd = parent.unread(commit)

    def blob(self, path: str) -> str | None:
        """The blob of a file behind the commit; None if there is none."""
        return self.changes[path] if path in self.changes else self.parent.blob(path)

    def read(self, path: str) -> bytes | None:
        """The bytes of a file behind the commit; None if there is none."""
        if path not in self.changes:
            return self.parent.read(path)
        return self.parent.bytes_of(path, self.changes[path], self.odd)

    def names(self, folder: str) -> list[str]:
        """The names in a folder before the commit, sorted."""
        return self.parent.names(folder)

    def live(self, folder: str, after: int) -> Iterable[tuple[str, Record]]:
        """Nothing: rules ask the tree before the commit."""
        return ()

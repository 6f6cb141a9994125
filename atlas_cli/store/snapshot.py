"""A snapshot: the whole store as it is at one commit. Immutable; reads what is asked for, once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from ..errors import Damaged
from ..model.text import Record
from ..model.tree import object_id
from ..records import bound
from .conversation import LARGE, Answer
from .git import LARGEST
from .trees import FOLDER, PLAIN, Entry, pack_tree, parse_tree

Live = Callable[[str, str, int], Iterable[tuple[str, Record]]]


class Objects(Protocol):
    """A holder of objects: git, or git and what is still to be written."""

    def object(self, name: str, most: int = LARGEST) -> Answer:
        """One object by its id."""

    def objects(self, names: Sequence[str], most: int = LARGEST) -> Iterator[Answer]:
        """Objects by their ids, in this order."""


class Staged:
    """The objects of a repository, and new ones, by id as (type, bytes), that are still to be
    written."""

    def __init__(self, git: Objects, new: dict[str, tuple[str, bytes]]) -> None:
        self.git, self.new = git, new

    def object(self, name: str, most: int = LARGEST) -> Answer:
        """One object by its id, a staged one first."""
        staged = self.new.get(name)
        return (name, *staged) if staged else self.git.object(name, most)

    def objects(self, names: Sequence[str], most: int = LARGEST) -> Iterator[Answer]:
        """Objects by their ids, in this order."""
        return (self.object(name, most) for name in names)


def bytes_of(path: str, oid: str, answer: Answer) -> bytes:
    """The bytes of a file.

    Raises Damaged if they are not there, or too many."""
    if answer is not None and answer[1] == LARGE:
        raise Damaged(
            f"{path}: it has more than the {bound(path):,} bytes that are read of it",
            "atlas verify",
        )
    if answer is None or answer[1] != "blob":
        raise Damaged(f"{path}: its object {oid} is missing or broken", "atlas doctor")
    return answer[2]


class Snapshot:
    """A `Tree` over a commit of the store (`head` None: the empty tree)."""

    def __init__(
        self, git: Objects, head: str | None, width: int, live: Live | None = None
    ) -> None:
        self.git, self.head, self.width, self._live = git, head, width, live
        self._trees: dict[str, dict[str, Entry]] = {}
        self._blobs: dict[str, bytes] = {}
        self.root = "" if head is None else self._commit(head)

    def _commit(self, head: str) -> str:
        answer = self.git.object(head)
        if answer is None or answer[1] != "commit":
            raise Damaged(f"the store's commit {head} is missing or broken", "atlas doctor")
        return answer[2].split(b"\n", 1)[0].split(b" ")[1].decode()

    def read(self, path: str) -> bytes | None:
        """The bytes of a file; None if there is none. Raises Damaged if it is no plain file."""
        entry = self.entry(path)
        if entry is None:
            return None
        if entry[0] != PLAIN:
            raise Damaged(f"{path}: mode {entry[0]}, where only plain files may be", "atlas verify")
        if entry[1] not in self._blobs:
            self._blobs[entry[1]] = bytes_of(path, entry[1], self.git.object(entry[1], bound(path)))
        return self._blobs[entry[1]]

    def blob(self, path: str) -> str | None:
        """The blob of a file; None if there is none."""
        entry = self.entry(path)
        return None if entry is None or entry[0] == FOLDER else entry[1]

    def names(self, folder: str) -> list[str]:
        """The names in a folder, sorted."""
        entry = (FOLDER, self.root) if not folder else self.entry(folder)
        if entry is None or entry[0] != FOLDER or not entry[1]:
            return []
        return sorted(self.tree(entry[1]))

    def live(self, folder: str, after: int) -> Iterable[tuple[str, Record]]:
        """The rows of a folder that are in force after a moment, as the index knows them."""
        if self.head is None or self._live is None:
            return ()
        return self._live(self.head, folder, after)

    def entry(self, path: str) -> Entry | None:
        """(mode, object id) at a path, or None."""
        tree = self.root
        parts = path.split("/")
        for at, part in enumerate(parts):
            entry = self.tree(tree).get(part) if tree else None
            if entry is None or at == len(parts) - 1:
                return entry
            if entry[0] != FOLDER:
                return None
            tree = entry[1]
        return None

    def tree(self, oid: str) -> dict[str, Entry]:
        """A folder's entries by name."""
        if oid not in self._trees:
            answer = self.git.object(oid)
            if answer is None or answer[1] != "tree":
                raise Damaged(f"the store's tree {oid} is missing or broken", "atlas doctor")
            self._trees[oid] = parse_tree(answer[2], self.width)
        return self._trees[oid]

    def planted(
        self, files: Mapping[str, bytes | None]
    ) -> tuple[str, dict[str, tuple[str, bytes]]]:
        """The root of the tree with `files` put into it (None: taken away), and the new objects by
        id as (type, bytes): the folders on the way, and the files."""
        new: dict[str, tuple[str, bytes]] = {}
        nested: dict[str, dict[str, bytes | None]] = {}
        for path, data in files.items():
            top, _, rest = path.partition("/")
            nested.setdefault(top, {})[rest] = data
        return self._planted(self.root, nested, new) or self._store("tree", b"", new), new

    def _planted(
        self,
        tree: str,
        nested: Mapping[str, Mapping[str, bytes | None]],
        new: dict[str, tuple[str, bytes]],
    ) -> str:
        entries = dict(self.tree(tree)) if tree else {}
        for name, files in nested.items():
            deeper: dict[str, dict[str, bytes | None]] = {}
            for path, inner in files.items():
                top, _, rest = path.partition("/")
                if path:
                    deeper.setdefault(top, {})[rest] = inner
            data = files.get("")
            if data is not None or not deeper:
                oid = "" if data is None else self._store("blob", data, new)
                mode = PLAIN
            else:
                under = entries.get(name, (FOLDER, ""))
                if under[0] != FOLDER and all(inner is None for inner in files.values()):
                    continue  # what is to go is gone
                if under[0] != FOLDER and "" not in files:
                    raise Damaged(
                        f"{name} is a file in the store, where a folder should be",
                        "atlas doctor --fix",
                    )
                oid = self._planted(under[1] if under[0] == FOLDER else "", deeper, new)
                mode = FOLDER
            if oid:
                entries[name] = (mode, oid)
            else:
                entries.pop(name, None)
        return self._store("tree", pack_tree(entries), new) if entries else ""

    def _store(self, kind: str, data: bytes, new: dict[str, tuple[str, bytes]]) -> str:
        oid = object_id(kind, data, self.width)
        new[oid] = (kind, data)
        return oid

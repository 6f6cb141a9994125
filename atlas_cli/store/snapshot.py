"""A snapshot: the whole store as it is at one commit. Immutable; reads what is asked for, once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Protocol

from .. import records
from ..errors import Damaged
from ..model.text import Record
from ..model.tree import object_id
from ..records import bound, formats, policy
from .conversation import LARGE, Answer
from .git import LARGEST
from .trees import FOLDER, PLAIN, Entry, pack_tree, parse_tree

Live = Callable[[str, str, int], Iterable[tuple[str, Record]]]
New = bytes | Entry | None  # what is put into a tree


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


class Placed:
    """A tree of git's, by the paths that it has there. `root` is its id; empty for the empty
    tree."""

    def __init__(self, git: Objects, root: str, width: int) -> None:
        self.git, self.root, self.width = git, root, width
        self._trees: dict[str, dict[str, Entry]] = {}

    def at(self, path: str) -> Entry | None:
        """(mode, object id) of what lies at a path, or None."""
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

    def lies(self, folder: str) -> list[str]:
        """The names of what lies in a folder, sorted."""
        entry = (FOLDER, self.root) if not folder else self.at(folder)
        if entry is None or entry[0] != FOLDER or not entry[1]:
            return []
        return sorted(self.tree(entry[1]))

    def tree(self, oid: str) -> dict[str, Entry]:
        """A folder's entries by name."""
        if oid not in self._trees:
            answer = self.git.object(oid)
            if answer is None or answer[1] != "tree":
                raise Damaged(f"the store's tree {oid} is missing or broken", "atlas doctor")
            self._trees[oid] = parse_tree(answer[2], self.width)
        return self._trees[oid]

    def moved(self, files: Mapping[str, New]) -> tuple[str, dict[str, tuple[str, bytes]]]:
        """The root of this tree with `files` put into it at these very paths, and the new objects
        by id as (type, bytes)."""
        new: dict[str, tuple[str, bytes]] = {}
        nested: dict[str, dict[str, New]] = {}
        for path, data in files.items():
            top, _, rest = path.partition("/")
            nested.setdefault(top, {})[rest] = data
        return self._planted(self.root, nested, new) or self._store("tree", b"", new), new

    def _planted(
        self,
        tree: str,
        nested: Mapping[str, Mapping[str, New]],
        new: dict[str, tuple[str, bytes]],
    ) -> str:
        entries = dict(self.tree(tree)) if tree else {}
        for name, files in nested.items():
            deeper: dict[str, dict[str, New]] = {}
            for path, inner in files.items():
                top, _, rest = path.partition("/")
                if path:
                    deeper.setdefault(top, {})[rest] = inner
            data = files.get("")
            if data is not None or not deeper:
                mode, oid = self._stored(data, new)
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

    def _stored(self, data: New, new: dict[str, tuple[str, bytes]]) -> Entry:
        if data is None:
            return PLAIN, ""
        return data if isinstance(data, tuple) else (PLAIN, self._store("blob", data, new))

    def _store(self, kind: str, data: bytes, new: dict[str, tuple[str, bytes]]) -> str:
        oid = object_id(kind, data, self.width)
        new[oid] = (kind, data)
        return oid

    @cached_property
    def rules(self) -> bytes:
        """The bytes of the policy as it stands there; empty where there is none."""
        entry = self.at(policy.FOLDER)
        answer = self.git.object(entry[1]) if entry and entry[0] == PLAIN else None
        return answer[2] if answer and answer[1] == "blob" else b""


class Snapshot(Placed):
    """A `Tree` over a commit of the store (`head` None: the empty tree). A record has one path in
    it, whether it lies there, in its place of the first format, or in the commit that holds what
    an epoch took from the tip."""

    def __init__(
        self, git: Objects, head: str | None, width: int, live: Live | None = None
    ) -> None:
        super().__init__(git, "", width)
        self.head, self._live = head, live
        self._blobs: dict[str, bytes] = {}
        self.root = "" if head is None else self._commit(head)

    def _commit(self, head: str) -> str:
        answer = self.git.object(head)
        if answer is None or answer[1] != "commit":
            raise Damaged(f"the store's commit {head} is missing or broken", "atlas doctor")
        return answer[2].split(b"\n", 1)[0].split(b" ")[1].decode()

    def read(self, path: str) -> bytes | None:
        """The bytes of a file; None if it is not there."""
        entry = self.entry(path)
        if entry is None:
            before = self._holder(path)
            return before.read(path) if before else None
        if entry[0] != PLAIN:
            raise Damaged(f"{path}: mode {entry[0]}, where only plain files may be", "atlas verify")
        if entry[1] not in self._blobs:
            self._blobs[entry[1]] = bytes_of(path, entry[1], self.git.object(entry[1], bound(path)))
        return self._blobs[entry[1]]

    def blob(self, path: str) -> str | None:
        """The id of a file's bytes; None if it is not there."""
        entry = self.entry(path)
        if entry is None:
            before = self._holder(path)
            return before.blob(path) if before else None
        return None if entry[0] == FOLDER else entry[1]

    def names(self, folder: str) -> list[str]:
        """The names in a folder, in order."""
        names = set(records.names_in(self.lies, folder))
        if before := self._holder(folder):
            names |= set(before.names(folder))
        return sorted(names)

    def _holder(self, path: str) -> Snapshot | None:
        """The snapshot that a document is looked for in once the tip does not have it."""
        return self._before if records.kept_for_good(path) else None

    @cached_property
    def _before(self) -> Snapshot | None:
        """The snapshot of the commit that holds what an epoch took from the tip."""
        oid = formats.epoch(self.rules)
        return Snapshot(self.git, oid, self.width) if len(oid) == self.width else None

    def live(self, folder: str, after: int) -> Iterable[tuple[str, Record]]:
        """The path and the record of each row below a folder that is in force after a moment."""
        if self.head is None or self._live is None:
            return ()
        return self._live(self.head, folder, after)

    def entry(self, path: str) -> Entry | None:
        """(mode, object id) of the record at a path in the tip, or None."""
        if entry := self.at(path):
            return entry
        first = records.first_place(path)
        return self.at(first) if first else None

    def place(self, path: str) -> str:
        """The path in git's tree at which a file is put: where it lies, else where its format
        says."""
        first = records.first_place(path)
        if first is None or self.at(path):
            return path
        return first if self.at(first) or formats.is_first(self.rules) else path

    def planted(self, files: Mapping[str, New]) -> tuple[str, dict[str, tuple[str, bytes]]]:
        """The root of the tree with `files` put into it (None: taken away; an entry: what has it
        already), and the new objects by id as (type, bytes): the folders on the way, and the
        files."""
        return self.moved({self.place(path): data for path, data in files.items()})

"""A tree of files by name, as the rules see it. A snapshot of the branch is one; so is a dict of
bytes in a test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from .digests import sha1, sha256
from .text import Record


class Tree(Protocol):
    """A tree of files. Paths are POSIX paths from the root. A blob is named by its object id in
    hex."""

    def read(self, path: str) -> bytes | None:
        """The bytes of a file, or None if there is none."""

    def blob(self, path: str) -> str | None:
        """The object id of a file, or None if there is none."""

    def names(self, folder: str) -> list[str]:
        """The names in a folder, sorted; none if the folder does not exist."""

    def live(self, folder: str, after: int) -> Iterable[tuple[str, Record]]:
        """The path and the record of each readable row below a folder that is in force after a
        moment."""


def blob_id(data: bytes, width: int = 40) -> str:
    """The object id that git gives to a blob: SHA-1 (40 hex digits) or SHA-256 (64)."""
    return object_id("blob", data, width)


def object_id(kind: str, data: bytes, width: int) -> str:
    """The object id that git gives to an object of a kind: SHA-1 (40 hex digits) or SHA-256 (64)
    over a header and the bytes."""
    digest = sha256 if width == 64 else sha1
    return digest(b"%s %d\0" % (kind.encode(), len(data)) + data).hexdigest()


class Overlay:
    """A tree with some files put over it: the child of a change that is not yet written. None takes
    a file away."""

    def __init__(self, base: Tree, files: Mapping[str, bytes | None], width: int = 40) -> None:
        self.base, self.files, self.width = base, dict(files), width

    def read(self, path: str) -> bytes | None:
        """The bytes of a file, or None if there is none."""
        return self.files[path] if path in self.files else self.base.read(path)

    def blob(self, path: str) -> str | None:
        """The object id of a file, or None if there is none."""
        if path not in self.files:
            return self.base.blob(path)
        data = self.files[path]
        return None if data is None else blob_id(data, self.width)

    def names(self, folder: str) -> list[str]:
        """The names in a folder, sorted."""
        listed = set(self.base.names(folder))
        lead = folder + "/" if folder else ""
        for path, data in self.files.items():
            if path.startswith(lead):
                rest = path[len(lead) :]
                if data is not None:
                    listed.add(rest.split("/")[0])
                elif "/" not in rest:
                    listed.discard(rest)
        return sorted(listed)

    def live(self, folder: str, after: int) -> Iterable[tuple[str, Record]]:
        """The live rows of the tree below: those of the overlay are not counted."""
        return self.base.live(folder, after)

"""What a rule looks at: a tree of files, by name. Snapshots are trees; so is a dict of bytes, in a
test."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Protocol

from .text import Record


class Tree(Protocol):
    """Paths are POSIX paths from the root; a blob is named by its object id in hex."""

    def read(self, path: str) -> bytes | None:
        """The bytes at `path`, or None."""

    def blob(self, path: str) -> str | None:
        """The object id at `path`, or None."""

    def names(self, folder: str) -> list[str]:
        """The names in a folder, sorted; empty where there is none."""

    def live(self, folder: str, after: int) -> Iterable[tuple[str, Record]]:
        """The readable rows below `folder` that are in force after that moment."""


def blob_id(data: bytes, width: int = 40) -> str:
    """git's object id of a blob: SHA-1 (40 hex digits) or SHA-256 (64)."""
    return object_id("blob", data, width)


def object_id(kind: str, data: bytes, width: int) -> str:
    """git's object id: SHA-1 (40 hex digits) or SHA-256 (64) over a header and the bytes."""
    digest = hashlib.sha256 if width == 64 else hashlib.sha1
    return digest(b"%s %d\0" % (kind.encode(), len(data)) + data).hexdigest()


class Overlay:
    """A tree with some files put over it (None: taken away): the child of a change not yet
    written."""

    def __init__(self, base: Tree, files: Mapping[str, bytes | None], width: int = 40) -> None:
        self.base, self.files, self.width = base, dict(files), width

    def read(self, path: str) -> bytes | None:
        return self.files[path] if path in self.files else self.base.read(path)

    def blob(self, path: str) -> str | None:
        if path not in self.files:
            return self.base.blob(path)
        data = self.files[path]
        return None if data is None else blob_id(data, self.width)

    def names(self, folder: str) -> list[str]:
        found = set(self.base.names(folder))
        lead = folder + "/" if folder else ""
        for path, data in self.files.items():
            if path.startswith(lead):
                rest = path[len(lead) :]
                if data is not None:
                    found.add(rest.split("/")[0])
                elif "/" not in rest:
                    found.discard(rest)
        return sorted(found)

    def live(self, folder: str, after: int) -> Iterable[tuple[str, Record]]:
        return self.base.live(folder, after)

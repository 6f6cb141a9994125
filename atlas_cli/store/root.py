"""The commit that all stores begin with."""

from __future__ import annotations

from ..model.tree import object_id

_WHO = "Atlas <atlas@localhost> 0 +0000"


def root_commit(width: int) -> bytes:
    """The bytes of the root commit."""
    tree = object_id("tree", b"", width)
    return f"tree {tree}\nauthor {_WHO}\ncommitter {_WHO}\n\nAtlas store\n".encode()


def root_id(width: int) -> str:
    """The id of the root commit."""
    return object_id("commit", root_commit(width), width)

"""The store's history, read once in its order: for the index, and for `verify`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..records.message import FileChange, Message, parse
from .git import AS_IS, Git


class Commit(NamedTuple):
    """A commit with what it changed against its first parent; `modes` are the new modes by path."""

    oid: str
    parents: tuple[str, ...]
    message: Message
    changes: tuple[FileChange, ...]
    modes: dict[str, str]


def between(git: Git, old: str | None, new: str) -> Iterator[Commit]:
    """The commits after `old` (None: all) up to `new`, oldest first."""
    limit = [f"^{old}"] if old else []
    out = git.run(
        "log", "--reverse", "--topo-order", "--raw", "-r", "-z", "--no-abbrev", "--no-renames", "--root",
        "--diff-merges=first-parent", "--format=%x01%H%x00%P%x00%B", new, *limit, "--", options=AS_IS,
    )  # fmt: skip
    words = iter(out.split(b"\0"))
    head: tuple[str, tuple[str, ...], Message] | None = None
    changes: list[FileChange] = []
    modes: dict[str, str] = {}
    for word in words:
        if word.startswith(b"\x01"):
            if head:
                yield Commit(*head, tuple(changes), modes)
            parents = tuple(next(words).decode().split())
            head = (word[1:].decode(), parents, parse(next(words).decode(errors="replace")))
            changes, modes = [], {}
        elif word.lstrip(b"\n").startswith(b":"):
            _, mode, before, after, _ = word.lstrip(b"\n").decode().split(" ")
            path = next(words).decode(errors="surrogateescape")
            changes.append((path, _real(before), _real(after)))
            if _real(after):
                modes[path] = mode
    if head:
        yield Commit(*head, tuple(changes), modes)


def root(git: Git, commit: str) -> str:
    """The first commit of a history."""
    return git.run("rev-list", "--max-parents=0", "--max-count=1", commit).decode().strip()


def _real(oid: str) -> str | None:
    return oid if oid.strip("0") else None

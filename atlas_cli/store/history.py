"""The store's history, read once in its order: for the index, and for `verify`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..records.message import FileChange, Message, parse
from .git import AS_IS, Git
from .snapshot import FOLDER, parse_tree

FEW = 64  # commits that are read one by one, which costs less than a process does


class Commit(NamedTuple):
    """A commit with what it changed against its first parent; `modes` are the new modes by path."""

    oid: str
    parents: tuple[str, ...]
    message: Message
    changes: tuple[FileChange, ...]
    modes: dict[str, str]


def between(git: Git, old: str | None, new: str) -> Iterator[Commit]:
    """The commits after `old` (None: all) up to `new`, oldest first."""
    few = _few(git, old, new) if old and len(old) == len(new) else None
    return _logged(git, old, new) if few is None else iter(few)


def fork(git: Git, one: str, other: str) -> str | None:
    """The last commit that two histories share; None where they share none."""
    tips, seen = [one, other], ({one}, {other})
    for step in range(2 * FEW):
        me = step % 2
        if tips[me] in seen[1 - me]:
            return tips[me]
        found = _line(git, tips[me])
        if found is None:
            break
        tips[me] = found[0]
        seen[me].add(tips[me])
    return git.ask("merge-base", one, other)[1].decode().strip() or None


def _line(git: Git, oid: str) -> tuple[str, str, bytes] | None:
    """(parent, tree, message) of a commit in a line; None where it is none, or is written in an old encoding."""
    found = git.object(oid)
    head, _, said = found[2].partition(b"\n\n") if found else (b"", b"", b"")
    rows = head.split(b"\n")
    if len(rows) < 3 or rows[1][:7] != b"parent " or rows[2][:7] == b"parent " or b"\nencoding " in head:
        return None
    return rows[1][7:].decode(), rows[0][5:].decode(), said


def _few(git: Git, old: str | None, new: str) -> list[Commit] | None:
    """The commits after `old`, where they are few, in one line, and whole."""
    rows: list[tuple[str, str, str, bytes]] = []
    while new != old:
        found = _line(git, new)
        if found is None or len(rows) == FEW or found[2][:1] in (b"", b"\n"):
            return None
        rows.append((new, *found))
        new = found[0]
    before = git.object(f"{old}^{{tree}}") if rows else None
    if rows and before is None:
        return None
    tree, commits = before[0] if before else "", []
    try:
        for oid, parent, after, said in reversed(rows):
            found_ = sorted(_differ(git, tree, after, ""), key=lambda one: one[0].encode(errors="surrogateescape"))
            changes = tuple((path, old_, new_) for path, old_, new_, _ in found_)
            modes = {path: mode for path, _, new_, mode in found_ if new_}
            commits.append(Commit(oid, (parent,), parse(said.decode(errors="replace")), changes, modes))
            tree = after
    except LookupError:
        return None
    return commits


def _differ(git: Git, old: str, new: str, at: str) -> Iterator[tuple[str, str | None, str | None, str]]:
    """(path, old blob, new blob, new mode) of what differs between two trees (empty: there is none)."""
    before, after = (_tree(git, oid) for oid in (old, new))
    for name in before.keys() | after.keys():
        was, now = before.get(name, ("", "")), after.get(name, ("", ""))
        if was == now:
            continue
        if FOLDER in (was[0], now[0]):
            folders = (entry[1] if entry[0] == FOLDER else "" for entry in (was, now))
            yield from _differ(git, next(folders), next(folders), f"{at}{name}/")
        if {was[0], now[0]} - {"", FOLDER}:
            one, other = (entry[1] if entry[0] not in ("", FOLDER) else None for entry in (was, now))
            yield f"{at}{name}", one, other, now[0]


def _tree(git: Git, oid: str) -> dict[str, tuple[str, str]]:
    found = git.object(oid) if oid else None
    if oid and (found is None or found[1] != "tree"):
        raise LookupError(oid)
    return parse_tree(found[2], len(oid)) if found else {}


def _logged(git: Git, old: str | None, new: str) -> Iterator[Commit]:
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

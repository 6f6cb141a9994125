"""The writes recorded beyond a head that the branch must go back to. Those behind a hole are read
all the same, as far as they are proved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from ..errors import AtlasError, Damaged
from ..model.message import FileChange, Message, parse
from ..records import judging
from ..store import differences, history
from ..store.git import Git
from ..store.store import Store
from ..store.trees import FOLDER, PLAIN, parse_tree

MOST = 4  # files of one write that are looked for among those that several writes put
POOL = 24  # files that they are looked for among


def usable(store: Store, oid: str) -> bool:
    """Whether a commit can be gone on from: it is there, with every folder. (A missing file is no
    reason to go back: whoever reads it misses it.)"""
    commit = store.git.object(oid)
    if not commit or commit[1] != "commit":
        return False
    tree = commit[2].split(b"\n", 1)[0].removeprefix(b"tree ").decode()
    level, seen = {tree}, {tree}
    for _ in range(differences.DEEP if tree else 0):
        below: set[str] = set()
        for entry in store.git.objects(sorted(level)):
            if entry is None or entry[1] != "tree":
                return False
            for mode, id in parse_tree(entry[2], store.place.width).values():
                if mode == FOLDER:
                    below.add(id)
        level = below - seen
        seen |= level
    return bool(tree)


def beyond(store: Store, good: str, newer: Sequence[str]) -> tuple[list[history.Commit], list[str]]:
    """(the commits beyond a head that can be read, oldest first, a line on each that cannot).

    newer: heads beyond it, newest first."""
    lines: list[list[str]] = []
    seen = {good}
    for tip in newer:
        line, oid = [], tip
        while oid and oid not in seen:
            line.append(oid)
            seen.add(oid)
            oid = history.parent(store.git, oid) or ""
        lines.append(line[::-1])
    commits: dict[str, history.Commit | None] = {}
    base = good
    for line in reversed(lines):
        for at, oid in enumerate(line):
            commits[oid] = _read(store, oid, base, line[at:])
            if usable(store, oid):
                base = oid
    lost = [_unreadable(store, oid) for oid, commit in commits.items() if commit is None]
    return [commit for commit in commits.values() if commit], lost


def _read(store: Store, oid: str, base: str, line: Sequence[str]) -> history.Commit | None:
    """A commit whose files are all here; None if it cannot be read. `line` begins with it."""
    try:
        return _whole(store, oid)
    except (AtlasError, LookupError):
        pass
    try:
        return _pieced(store, oid, base, next(tip for tip in line if usable(store, tip)))
    except (AtlasError, StopIteration):
        return None


def _whole(store: Store, oid: str) -> history.Commit:
    """A commit whose files are all here. Raises Damaged if one is gone."""
    above = history.parent(store.git, oid)
    commit = history.commit(store.git, oid)
    _present(store.git, commit.changes)
    store.snapshot(above).names("")
    return commit


def _pieced(store: Store, oid: str, base: str, tip: str) -> history.Commit | None:
    """A commit with a hole before it, or in its own folders: what it changed is looked for in what
    all changed from the last whole tree before it to the first behind it. Its own digest proves
    which it was, so nothing is guessed. None if none is proved."""
    entry = store.git.object(oid)
    message = _message(entry[2]) if entry and entry[1] == "commit" else None
    trees = [store.snapshot(commit).root for commit in (base, tip)]
    pool = differences.changes(store.git, *trees)
    if message is None or len(pool) > POOL:
        return None
    changes = _proved(judging.store_id(store.snapshot(base)), message, pool)
    if not changes:
        return None
    _present(store.git, changes)
    modes = {path: PLAIN for path, _, new in changes if new}
    return history.Commit(oid, (base,), message, changes, modes)


def _proved(store: str, message: Message, pool: Sequence[FileChange]) -> tuple[FileChange, ...]:
    """The changes that a message's digest is of; none if it is of none of these."""
    for count in range(1, MOST + 1):
        for changes in combinations(pool, count):
            if judging.digest(store, message, changes) == message.change:
                return changes
    return ()


def _present(git: Git, changes: Iterable[FileChange]) -> None:
    """Raises Damaged if a file that was put is gone."""
    for path, _, new in changes:
        if new and git.object(new) is None:
            raise Damaged(f"{path} is gone")


def _message(data: bytes) -> Message:
    return parse(data.decode(errors="replace").partition("\n\n")[2])


def _unreadable(store: Store, oid: str) -> str:
    """The line on a commit that cannot be read whole."""
    entry = store.git.object(oid)
    if not entry:
        return f"the commit {oid[:12]}"
    message = _message(entry[2])
    return f"{message.subject} (operation {message.operation})"

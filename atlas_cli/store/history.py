"""The store's history, read once in its order: for the index, for what a fetch brings, for
`verify`. All read the same bytes of git's objects; what else git can show of them is not asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from ..errors import Damaged
from ..model import text
from ..model.message import FileChange, Message, parse
from ..records import is_record, policy
from . import moves
from .conversation import Answer
from .differences import Differ
from .git import Git
from .root import root_id
from .snapshot import Placed
from .trees import PLAIN

FEW = 64  # commits that are looked up one by one, which costs less than a process does
STEP = 500  # commits whose folders are read together
_WHO = rb"[^\n<>\0]*<[^\n<>\0]*> [0-9]+ [+-][0-9]{4}\n"
_START = rb"tree (?P<tree>[0-9a-f]+)\n(?P<parents>(?:parent [0-9a-f]+\n)*)"
# As git writes it: what a forge's editor, a signature or a merged tag adds is told of in it.
_HEADER = (
    _START
    + rb"author "
    + _WHO
    + rb"committer "
    + _WHO
    + rb"(?:(?:encoding|gpgsig|gpgsig-sha256|mergetag|HG:[^ \n\0]+) [^\n\0]*\n(?: [^\n\0]*\n)*)*\n"
)


class Commit(NamedTuple):
    """A commit with what it changed against its parent, which of a merge is the first that is the
    store's own (it stands first among `parents`). `modes` are the new modes by path. A
    folder that is not looked into stands among the changes itself. `faults` are (path, what git
    would not have written there).

    moved: it does what it says, and only moves records. Then its changes are the policy's."""

    oid: str
    parents: tuple[str, ...]
    message: Message
    changes: tuple[FileChange, ...]
    modes: dict[str, str]
    faults: tuple[tuple[str, str], ...] = ()
    moved: bool = False


class _Raw(NamedTuple):
    """The parts of a commit's object."""

    tree: str
    parents: tuple[str, ...]
    message: bytes
    fault: str


def between(git: Git, old: str | None, new: str) -> Iterator[Commit]:
    """The store's own commits after `old` (None: all) up to `new`, each behind its parents.

    Raises Damaged if `new` does not descend from `old`, or if an object that tells what was changed
    is missing."""
    names = _names(git, old, new)
    line = _Line(git, old, names)
    trees: dict[str, str] = {}
    for start in range(0, len(names), STEP):
        some = names[start : start + STEP]
        raws = [_parsed(name, answer) for name, answer in zip(some, git.objects(some), strict=True)]
        if not start and old is None and raws[0].parents:
            raise Damaged(
                f"the history is cut at {some[0][:12]}: git does not show all of it", "atlas doctor"
            )
        trees |= {name: raw.tree for name, raw in zip(some, raws, strict=True)}
        own = [
            (name, raw._replace(parents=line.ordered(raw.parents)))
            for name, raw in zip(some, raws, strict=True)
            if line.takes(name, raw.parents)
        ]
        steps = _Steps(git, [(_tree_before(git, raw, trees), raw) for _, raw in own])
        for at, (name, raw) in enumerate(own):
            yield steps.commit(at, name, line.others(raw.parents))
        trees = {some[-1]: raws[-1].tree}


class _Steps:
    """What some commits changed, each against the tree before it. A migration is not looked
    through: which tree it makes is known."""

    def __init__(self, git: Git, steps: Sequence[tuple[str, _Raw]]) -> None:
        self.git, self.steps = git, steps
        texts = [raw.message.decode(errors="replace").lstrip("\n") for _, raw in steps]
        self.messages = [parse(message) for message in texts]
        self.migrations = {
            at
            for at, message in enumerate(self.messages)
            if message.migrates
            and moves.is_migration(git, message, steps[at][0], steps[at][1].tree)
        }
        self.differ = Differ(git, [self._pair(at) for at in range(len(steps))])

    def _pair(self, at: int) -> tuple[str, str]:
        before, raw = self.steps[at]
        return (raw.tree if at in self.migrations else before), raw.tree

    def commit(self, at: int, name: str, others: Sequence[str]) -> Commit:
        """One of them. `others` are the other parents of a merge that are the store's own."""
        (before, raw), message = self.steps[at], self.messages[at]
        changes, modes, faults = self.differ.step(at)
        for parent in others:
            changes, modes = _joined(self.git, parent, raw.tree, changes, modes)
        wrong = [("", raw.fault)] if raw.fault else []
        moved = at in self.migrations
        if message.epoch and len(raw.parents) == 1:
            moved = moves.is_epoch(message, raw.parents[0], changes)
        if moved:
            trees = (Placed(self.git, tree, len(raw.tree)) for tree in (before, raw.tree))
            was, now = (tree.at(policy.FOLDER) for tree in trees)
            changes = ((policy.FOLDER, was and was[1], now and now[1]),)
            modes = {policy.FOLDER: now[0]} if now else {}
        return Commit(name, raw.parents, message, changes, modes, (*wrong, *faults), moved)


class _Line:
    """Which commits of a history are the store's own: those that descend from the root of all
    stores. Where another history was merged into it, that one's commits are nobody's writes: the
    merge is judged by what it changes in the store."""

    def __init__(self, git: Git, old: str | None, names: Sequence[str]) -> None:
        self.git, self.old, self.names = git, old, frozenset(names)
        self.root = root_id(len(names[0])) if names else ""
        self.foreign: set[str] = set()
        self.behind: dict[str, bool] = {}  # commits behind `old`: whether they are its own

    def takes(self, oid: str, parents: Sequence[str]) -> bool:
        """Whether a commit is one of them; each is asked behind its parents."""
        if parents:
            own = any(self._is_own(parent) for parent in parents)
        else:
            own = oid == self.root or not self._rooted
        if not own:
            self.foreign.add(oid)
        return own

    def ordered(self, parents: tuple[str, ...]) -> tuple[str, ...]:
        """The parents of a commit, its own line's first."""
        if len(parents) < 2:
            return parents
        return tuple(sorted(parents, key=lambda parent: not self._is_own(parent)))

    def others(self, parents: tuple[str, ...]) -> list[str]:
        """The other parents of a merge that are its own."""
        return [parent for parent in parents[1:] if self._is_own(parent)]

    def _is_own(self, oid: str) -> bool:
        if oid == self.old or oid in self.names:
            return oid not in self.foreign
        if oid not in self.behind:
            self.behind[oid] = not self._rooted or _descends(self.git, oid, self.root)
        return self.behind[oid]

    @cached_property
    def _rooted(self) -> bool:
        """Whether the history has that root at all."""
        if self.old:
            return _descends(self.git, self.old, self.root)
        return self.root in self.names


def _descends(git: Git, oid: str, root: str) -> bool:
    return git.ask("merge-base", "--is-ancestor", root, oid)[0] == 0


def _own_first(git: Git, parents: Sequence[str]) -> tuple[str, ...]:
    """The parents of a commit by itself, its own line's first."""
    if len(parents) < 2:
        return tuple(parents)
    root = root_id(len(parents[0]))
    return tuple(sorted(parents, key=lambda parent: not _descends(git, parent, root)))


def commit(git: Git, oid: str) -> Commit:
    """A commit by itself, with what it changed against its own parent."""
    raw = _raw(git, oid)
    raw = raw._replace(parents=_own_first(git, raw.parents))
    root = root_id(len(oid))
    others = [parent for parent in raw.parents[1:] if _descends(git, parent, root)]
    return _Steps(git, [(_tree_before(git, raw, {}), raw)]).commit(0, oid, others)


def _joined(
    git: Git, parent: str, tree: str, changes: tuple[FileChange, ...], modes: dict[str, str]
) -> tuple[tuple[FileChange, ...], dict[str, str]]:
    """The changes of a merge, and those against another parent: it may drop what that one's line
    had written."""
    more, more_modes, _ = Differ(git, [(_raw(git, parent).tree, tree)]).step(0)
    paths = {path for path, _, _ in changes}
    rows = [*changes, *(row for row in more if row[0] not in paths)]
    rows.sort(key=lambda row: row[0].encode(errors="surrogateescape"))
    return tuple(rows), {**more_modes, **modes}


def _tree_before(git: Git, raw: _Raw, trees: dict[str, str]) -> str:
    """The tree of the first parent; empty if there is none."""
    above = raw.parents[0] if raw.parents else ""
    if not above:
        return ""
    return trees[above] if above in trees else _raw(git, above).tree


def unread(commit: Commit, get: Callable[[str, str], Answer]) -> dict[str, str]:
    """Why a file that a commit brings is read by nobody, by path: it is no plain file, or the
    commit brings more YAML by hand than one may. `get` gives the object of (path, id)."""
    odd = {
        path: f"mode {mode}, where only plain files may be"
        for path, mode in commit.modes.items()
        if mode != PLAIN
    }
    if len(commit.modes) <= text.HANDS:
        return odd
    files = []
    for path, _, new in commit.changes:
        if not new or path in odd or not is_record(path) or path == policy.FOLDER:
            continue
        answer = get(path, new)
        if answer and answer[1] == "blob":
            files.append((path, answer[2]))
    return odd | dict.fromkeys(text.beyond(files), "by hand, and too much of it in one commit")


def brings(commit: Commit, now: Callable[[str], str | None]) -> Commit:
    """The commit as it is to be judged. Of a merge, or of another root, only what changes what is
    known is left: the rest was judged in its own commits."""
    if len(commit.parents) == 1:
        return commit
    changed = tuple((path, now(path), new) for path, _, new in commit.changes if now(path) != new)
    new = {path for path, _, _ in changed}
    return commit._replace(
        changes=changed, modes={path: mode for path, mode in commit.modes.items() if path in new}
    )


def fork(git: Git, left: str, right: str) -> str | None:
    """The last commit that two histories share; None if they share none."""
    tips, seen = [left, right], ({left}, {right})
    for step in range(2 * FEW):
        me = step % 2
        if tips[me] in seen[1 - me]:
            return tips[me]
        above = _parents(git, tips[me])
        if len(above) != 1:
            break
        tips[me] = above[0]
        seen[me].add(above[0])
    return git.ask("merge-base", left, right)[1].decode().strip() or None


def _parents(git: Git, oid: str) -> list[str]:
    """The parents of a commit; none if it is not there."""
    answer = git.object(oid)
    if answer is None or answer[1] != "commit":
        return []
    lines = answer[2].partition(b"\nauthor ")[0].split(b"\n")[1:]
    return [line[7:].decode(errors="replace") for line in lines if line.startswith(b"parent ")]


def parent(git: Git, oid: str) -> str | None:
    """The parent of a commit: of a merge the first that is the store's own. None if it has none, or
    is not there."""
    return next(iter(_own_first(git, _parents(git, oid))), None)


def roots(git: Git, commit: str) -> list[str]:
    """The first commits of a history: one, unless somebody has merged another history into it."""
    return git.ask("rev-list", "--max-parents=0", commit, "--")[1].decode().split()


def _names(git: Git, old: str | None, new: str) -> list[str]:
    """The ids of the commits after `old` up to `new`, oldest first."""
    walked: list[str] = []
    at = new
    while old and at != old and len(walked) <= FEW:
        above = _parents(git, at)
        walked.append(at)
        if len(above) != 1:
            break
        at = above[0]
    if at == old:
        return walked[::-1]
    limit = [f"^{old}"] if old else []
    names = git.run("rev-list", "--topo-order", "--reverse", new, *limit, "--").decode().split()
    follows = not old or (names and parent(git, names[0]) == old)
    if old and not follows and git.ask("merge-base", "--is-ancestor", old, new)[0]:
        raise Damaged(f"{old[:12]} is not in the history that leads to {new[:12]}", "atlas doctor")
    return names


def _raw(git: Git, oid: str) -> _Raw:
    return _parsed(oid, git.object(oid))


def _parsed(oid: str, answer: tuple[str, str, bytes] | None) -> _Raw:
    """The parts of a commit, from its bytes.

    Raises Damaged if they do not name its tree."""
    data = answer[2] if answer and answer[1] == "commit" else b""
    header = re.match(_HEADER, data)
    start = header or re.match(_START, data)
    if start is None:
        raise Damaged(f"the store's commit {oid} is missing or broken", "atlas doctor")
    parents = tuple(
        start["parents"].decode().removeprefix("parent ").rstrip("\n").split("\nparent ")
    )
    message = data[header.end() :] if header else data.partition(b"\n\n")[2]
    fault = "" if header else "its header is not as git writes it"
    fault = fault or ("its message holds a NUL byte" if b"\0" in message else "")
    return _Raw(start["tree"].decode(), parents if parents[0] else (), message, fault)

"""The store's history, read once in its order: for the index, for what a fetch brings, for
`verify`. All read the same bytes of git's objects; what else git can show of them is not asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from .merges import Lost, joined
from .root import root_id
from .snapshot import Placed
from .trees import PLAIN

FEW = 64  # commits that are looked up one by one, which costs less than a process does
STEP = 500  # commits whose folders are read together
# (A date of more digits, or with zeros before it, or of no zone, overflows somewhere.)
_WHO = rb"[^\n<>\0]*<[^\n<>\0]*> (?:0|[1-9][0-9]{0,17}) [+-](?:[01][0-9]|2[0-3])[0-5][0-9]\n"
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
    """A commit with what it changed against its parent. Of a merge the parents that are the store's
    own stand first, and it is read against each of them. `modes` are the new modes by path. A
    folder that is not looked into stands among the changes itself. `faults` are (path, what git
    would not have written there). `brought`, `givers`, `lost` and `now`: as in `merges.Joined`.
    moved: it does what it says, and only moves records; then its changes are the policy's."""

    oid: str
    parents: tuple[str, ...]
    message: Message
    changes: tuple[FileChange, ...]
    modes: dict[str, str]
    faults: tuple[tuple[str, str], ...] = ()
    brought: tuple[FileChange, ...] = ()
    givers: Mapping[str, str] = {}
    lost: tuple[Lost, ...] = ()
    now: Mapping[str, str | None] = {}
    moved: bool = False


class _Raw(NamedTuple):
    """The parts of a commit's object."""

    tree: str
    parents: tuple[str, ...]
    message: bytes
    fault: str


def between(git: Git, old: str | None, new: str) -> Iterator[Commit]:
    """The store's own commits after `old` (None: all) up to `new`, each behind its parents, those
    of a merge's first line before those of its other lines.

    Raises Damaged if `new` does not descend from `old`, or if an object that tells what was changed
    is missing."""
    names, line = _names(git, old, new)
    trees: dict[str, str] = {}
    for start in range(0, len(names), STEP):
        some = names[start : start + STEP]
        raws = [_parsed(name, answer) for name, answer in zip(some, git.objects(some), strict=True)]
        if not start and old is None and raws[0].parents:
            raise Damaged(
                f"the history is cut at {some[0][:12]}: git does not show all of it", "atlas doctor"
            )
        trees |= {name: raw.tree for name, raw in zip(some, raws, strict=True)}
        ordered = [raw._replace(parents=line.ordered(raw.parents)) for raw in raws]
        owned = [
            (name, raw, line.lines(raw.parents)) for name, raw in zip(some, ordered, strict=True)
        ]
        plain = [raw for _, raw, lines in owned if len(lines) < 2]
        steps = _Steps(git, [(_tree_before(git, raw, trees), raw) for raw in plain])
        at = iter(range(len(plain)))
        for name, raw, lines in owned:
            merged = len(lines) > 1
            yield _merge(git, name, raw, lines) if merged else steps.commit(next(at), name)
        trees = {some[-1]: raws[-1].tree}


class _Steps:
    """The changes of some commits, each against the tree before it. A migration is not looked
    through: which tree it makes is known."""

    def __init__(self, git: Git, steps: Sequence[tuple[str, _Raw]]) -> None:
        self.git, self.steps = git, steps
        self.messages = [_message(raw) for _, raw in steps]
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

    def commit(self, at: int, name: str) -> Commit:
        """One of them."""
        (before, raw), message = self.steps[at], self.messages[at]
        changes, modes, faults = self.differ.step(at)
        moved = at in self.migrations
        if message.epoch and len(raw.parents) == 1:
            moved = moves.is_epoch(message, raw.parents[0], changes)
        if moved:
            trees = (Placed(self.git, tree, len(raw.tree)) for tree in (before, raw.tree))
            was, now = (tree.at(policy.FOLDER) for tree in trees)
            changes = ((policy.FOLDER, was and was[1], now and now[1]),)
            modes = {policy.FOLDER: now[0]} if now else {}
        faults = [*_faults(raw), *faults]
        return Commit(name, raw.parents, message, changes, modes, tuple(faults), moved=moved)


def _merge(git: Git, oid: str, raw: _Raw, lines: Sequence[str]) -> Commit:
    trees = [(line, _raw(git, line).tree) for line in lines]
    forks = [_fork_tree(git, lines[0], other) for other in lines[1:]]
    merge = joined(git, raw.tree, trees, forks)
    return Commit(
        oid,
        raw.parents,
        _message(raw),
        merge.changes,
        merge.modes,
        (*_faults(raw), *merge.faults),
        merge.brought,
        merge.givers,
        merge.lost,
        merge.now,
    )


def _fork_tree(git: Git, left: str, right: str) -> str:
    """The tree of the last commit that two lines share; empty if they share none."""
    oid = git.ask("merge-base", left, right)[1].decode().strip()
    return _raw(git, oid).tree if oid else ""


def _message(raw: _Raw) -> Message:
    return parse(raw.message.decode(errors="replace").lstrip("\n"))


def _faults(raw: _Raw) -> list[tuple[str, str]]:
    return [("", raw.fault)] if raw.fault else []


class _Line:
    """Which commits of a history are the store's own: those that descend from the root of all
    stores. If another history was merged into it, that one's commits are nobody's writes: the merge
    is judged by what it changes in the store."""

    def __init__(self, git: Git, old: str | None, new: str, above: Mapping[str, list[str]]) -> None:
        """`above` are the parents of the commits between, each behind its parents."""
        self.git, self.old, self.root, self.above = git, old, root_id(len(new)), above
        self.behind: dict[str, bool] = {}  # commits behind `old`: whether they are its own

    @cached_property
    def _rooted(self) -> bool:
        """Whether the history has that root at all."""
        if self.old:
            return _descends(self.git, self.old, self.root)
        return self.root in self.above

    @cached_property
    def _own(self) -> dict[str, bool]:
        """Whether each of these commits is its own. It is asked where there is a merge."""
        own: dict[str, bool] = {}
        for oid, parents in self.above.items():
            own[oid] = oid == self.root or not self._rooted
            for parent in parents:
                own[oid] = own[oid] or own.get(parent, False) or self._is_behind(parent)
        return own

    def _is_behind(self, oid: str) -> bool:
        """Whether a commit is its own and stands behind these."""
        if oid == self.old:
            return True
        if oid not in self.behind and oid not in self.above:
            self.behind[oid] = not self._rooted or _descends(self.git, oid, self.root)
        return self.behind.get(oid, False)

    def ordered(self, parents: tuple[str, ...]) -> tuple[str, ...]:
        """The parents of a commit, its own lines first."""
        if len(parents) < 2:
            return parents
        return tuple(sorted(parents, key=lambda parent: not self._is_own(parent)))

    def lines(self, parents: Sequence[str]) -> list[str]:
        """The parents of a commit that are its own."""
        if len(parents) < 2:
            return list(parents)
        return [parent for parent in dict.fromkeys(parents) if self._is_own(parent)]

    def _is_own(self, oid: str) -> bool:
        return self._own[oid] if oid in self.above else self._is_behind(oid)


def _descends(git: Git, oid: str, root: str) -> bool:
    return git.ask("merge-base", "--is-ancestor", root, oid)[0] == 0


def _own_first(git: Git, parents: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """(the parents of a commit by itself, its own lines first, those that are its own)."""
    if len(parents) < 2:
        return tuple(parents), list(parents)
    root = root_id(len(parents[0]))
    own = [parent for parent in dict.fromkeys(parents) if _descends(git, parent, root)]
    ordered = tuple(sorted(parents, key=lambda parent: parent not in own))
    return ordered, own or list(dict.fromkeys(parents))


def commit(git: Git, oid: str) -> Commit:
    """A commit by itself, with what it changed against its own parent."""
    raw = _raw(git, oid)
    parents, lines = _own_first(git, raw.parents)
    raw = raw._replace(parents=parents)
    if len(lines) > 1:
        return _merge(git, oid, raw, lines)
    return _Steps(git, [(_tree_before(git, raw, {}), raw)]).commit(0, oid)


def _tree_before(git: Git, raw: _Raw, trees: dict[str, str]) -> str:
    """The tree of the first parent; empty if there is none."""
    above = raw.parents[0] if raw.parents else ""
    if not above:
        return ""
    return trees[above] if above in trees else _raw(git, above).tree


def unread(commit: Commit, get: Callable[[str, str], Answer]) -> dict[str, str]:
    """The files of a commit that nobody reads, by path, with the reason: no plain file, or more
    YAML by hand than a commit may bring. `get` gives the object of (path, id)."""
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
    return next(iter(_own_first(git, _parents(git, oid))[0]), None)


def roots(git: Git, commit: str) -> list[str]:
    """The first commits of a history: one, unless somebody has merged another history into it."""
    return git.ask("rev-list", "--max-parents=0", commit, "--")[1].decode().split()


def leads(git: Git, old: str, new: str) -> bool:
    """Whether `old` stands in the line of first own parents that leads to `new`: what is read after
    it is then read in the same order as if all were."""
    at, above = new, _parents(git, new)
    for _ in range(FEW):
        if at == old or len(above) != 1:
            break
        at, above = above[0], _parents(git, above[0])
    if at == old:
        return True
    if not above or git.ask("merge-base", "--is-ancestor", old, at)[0]:
        return False
    return _met(git, old, at) == old


def met(git: Git, old: str, new: str) -> str | None:
    """The last commit that stands in the lines of first own parents of both; None if it is not
    known."""
    base = fork(git, old, new)
    base = _met(git, base, new) if base else None
    return base if base and leads(git, base, old) and leads(git, base, new) else None


def _met(git: Git, old: str, new: str) -> str | None:
    """The first commit in the line of first own parents from `new` down that `old` contains."""
    above, line = _above(git, old, new)
    at: str | None = new
    while at and at in above:
        at = next(iter(line.ordered(tuple(above[at]))), None)
    return at


def _names(git: Git, old: str | None, new: str) -> tuple[list[str], _Line]:
    """The ids of the own commits after `old` up to `new`, in their order, and what is its own."""
    walked: dict[str, list[str]] = {}
    at = new
    while old and at != old and len(walked) <= FEW:
        above = _parents(git, at)
        walked[at] = above
        if len(above) != 1:
            break
        at = above[0]
    if at == old:
        return list(walked)[::-1], _Line(git, old, new, {})
    table, line = _above(git, old, new)
    first = next(iter(table), "")
    follows = not old or (first and parent(git, first) == old)
    if old and not follows and git.ask("merge-base", "--is-ancestor", old, new)[0]:
        raise Damaged(f"{old[:12]} is not in the history that leads to {new[:12]}", "atlas doctor")
    return _ordered(new, table, line), line


def _above(git: Git, old: str | None, new: str) -> tuple[dict[str, list[str]], _Line]:
    """The parents of each commit after `old` up to `new`, each behind its parents."""
    limit = [f"^{old}"] if old else []
    options = ("--topo-order", "--reverse", "--parents")
    lines = git.run("rev-list", *options, new, *limit, "--").decode().splitlines()
    table = {line[: len(new)]: line.split()[1:] for line in lines}
    return table, _Line(git, old, new, table)


def _ordered(new: str, above: Mapping[str, list[str]], line: _Line) -> list[str]:
    """The own commits, each behind its parents, and a merge's first line before its others. So the
    order up to a commit is the same whatever comes behind it."""
    if all(len(parents) < 2 for parents in above.values()):
        return list(above)
    order: dict[str, None] = {}
    waiting = [(new, iter(line.lines(line.ordered(tuple(above[new])))))] if new in above else []
    while waiting:
        _, parents = waiting[-1]
        below = next((oid for oid in parents if oid in above and oid not in order), None)
        if below is None:
            order[waiting.pop()[0]] = None
        else:
            waiting.append((below, iter(line.lines(line.ordered(tuple(above[below]))))))
    return list(order)


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
    parents = tuple(start["parents"].decode().split()[1::2])
    message = data[header.end() :] if header else data.partition(b"\n\n")[2]
    fault = "" if header else "its header is not as git writes it"
    fault = fault or ("its message holds a NUL byte" if b"\0" in message else "")
    return _Raw(start["tree"].decode(), parents, message, fault)

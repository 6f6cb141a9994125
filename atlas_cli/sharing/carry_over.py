"""Carrying over: what this clone has recorded, put behind what others have published, where it
still holds there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from .. import interrupts, records
from ..errors import Damaged, Failed, Refused
from ..model.change import Violation
from ..model.digests import sha256
from ..model.kind import Kind
from ..model.message import Message
from ..model.text import Record
from ..model.tree import Overlay, object_id
from ..records import formats, judging, policy
from ..store import PARKED, failpoints, history, moves
from ..store.branch import Branch
from ..store.objects import pack, taker
from ..store.snapshot import Snapshot, Staged
from ..store.store import Store, sync_folders
from ..verify import audit
from ..verify.walk import Walk
from .parked import parked_ref


class Parked(NamedTuple):
    """A commit that could not be carried over, and why."""

    commit: history.Commit
    why: str

    @property
    def operation(self) -> str:
        """The name that the commit is parked under."""
        return self.commit.message.operation or self.commit.oid

    @property
    def yields(self) -> bool:
        """Whether nothing of it is worth keeping: its session is told, and it is forgotten."""
        paths = (path for path, _, _ in self.commit.changes)
        return records.yields(self.commit.message.subject, paths)


class Carried(NamedTuple):
    """The outcome for the commits. `head` is the new one. moved: the new id of each commit, by its
    old one. parked: what could not be carried over. known: the ids of what was published
    already."""

    head: str
    moved: dict[str, str]
    parked: tuple[Parked, ...]
    known: tuple[str, ...]


class _Staged(Staged):
    """The store's objects, and those of the carrying over, which are written at its end, all at
    once."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.git, {})
        self.store = store

    def snapshot(self, head: str) -> Snapshot:
        return Snapshot(self, head, self.store.place.width)

    def write(self, full: bool) -> None:
        options = ("core.fsync=all", f"core.fsyncMethod={'fsync' if full else 'writeout-only'}")
        self.store.git.run(
            *taker(self.new), data=pack(self.new, self.store.place.width), options=options
        )
        folder = self.store.home / "store.git/objects"
        sync_folders(*{folder / name[:2] for name in self.new if full}, folder / "pack", folder)


def carry(
    store: Store,
    ours: Sequence[history.Commit],
    theirs: Sequence[history.Commit],
    tip: str,
    mine: str = "",
) -> Carried:
    """Puts our commits behind `tip`, each byte for byte. A commit is carried over if every path
    that it changed still holds the blob that it held in the commit's own parent (the predecessor
    of a numbered document, too), and if it breaks no rule. Any other is parked, or dropped if it is
    of no use later. A word under an operation that
    was another's goes by a new one; any other such write is parked, and so is that of the command
    at work (`mine`), which says so. Parked is its word, too, if others wrote in that stream: the
    command decides it anew, and is told what it would have been told had it fetched first."""
    published = _by_operation(theirs)
    last = {commit.message.session: commit.message.at or 0 for commit in theirs}
    staged = _Staged(store)
    onto = staged.snapshot(tip)
    others = _clashing(theirs, onto)
    name = judging.store_id(onto)
    moved: dict[str, str] = {}
    parked: list[Parked] = []
    known: list[str] = []
    for commit in ours:
        commit, reused = _by_another(commit, published, mine)
        if reused:
            parked.append(Parked(commit, reused))
            continue
        migrated = commit.message.migrates and not formats.is_first(onto.rules)
        if migrated or commit.message.operation in published:
            known.append(commit.oid)
            continue
        try:
            commit, files = _fitted(store, _renewed(store, commit, name), onto, mine)
        except Refused as refused:
            parked.append(Parked(commit, refused.message))
            continue
        why = _contradicted(store, commit, onto) or _barred(files, others, onto)
        if not why and (commit.message.at or 0) < last.get(commit.message.session, 0):
            why = f"{commit.message.session} has written in another clone since"
        why = why or _wrong(commit, files, onto)
        if why:
            if not records.fleeting(commit.message.subject):
                parked.append(Parked(commit, why))
            continue
        tip = moved[commit.oid] = _again(staged, commit, onto, files)
        onto = staged.snapshot(tip)
    if moved:
        staged.write(_full(onto))
    return Carried(tip, moved, tuple(parked), tuple(known))


def _by_operation(theirs: Sequence[history.Commit]) -> dict[str, Message]:
    messages = (commit.message for commit in theirs)
    return {message.operation: message for message in messages if message.operation}


def _clashing(theirs: Sequence[history.Commit], onto: Snapshot) -> dict[str, bytes | None]:
    """The rows that others wrote and that may be in the way of ours."""
    paths = (path for commit in theirs for path, _, _ in commit.changes)
    return {path: onto.read(path) for path in paths if _may_clash(path)}


def _wrong(commit: history.Commit, files: dict[str, bytes | None], onto: Snapshot) -> str:
    """The reason why a commit cannot stand there, whatever else others wrote."""
    why = records.disowned(onto, commit.message, files)
    return why or _odd(commit, onto.width) or _broken(onto, commit, files)


def known_format(store: Store, theirs: Sequence[history.Commit]) -> None:
    """Raises Damaged (`newer_format`) if others have taken the store to what only a newer Atlas
    knows: nothing is put behind it."""
    for commit in theirs:
        rules = [new for path, _, new in commit.changes if path == policy.FOLDER and new]
        answer = store.git.object(rules[0]) if rules and not commit.message.by_hand else None
        if answer and policy.newer(answer[2]):
            policy.parse(policy.FOLDER, answer[2])


def _full(onto: Snapshot) -> bool:
    """Whether what is written is to outlast a power cut."""
    try:
        return bool(policy.usable(onto)["durability"] == "full")
    except Damaged:  # of a newer format
        return True


def _renewed(store: Store, commit: history.Commit, name: str) -> history.Commit:
    """The commit as it is to stand in the store of that name: it has another `Atlas-Change` in
    another store."""
    own_name = judging.store_id(store.snapshot(commit.parents[0]))
    if own_name == name or not judging.says(own_name, commit.message, commit.changes):
        return commit
    message = commit.message
    if message.wish:
        message = message._replace(wish=judging.wish(name, message, _files(store, commit)))
    digest = judging.digest(name, message, commit.changes)
    return commit._replace(message=message._replace(change=digest))


def _files(store: Store, commit: history.Commit) -> dict[str, bytes | None]:
    """The files that a commit put, by path."""
    files: dict[str, bytes | None] = {}
    for path, _, new in commit.changes:
        data = store.git.object(new) if new else None
        files[path] = data[2] if data else None
    return files


def _by_another(
    commit: history.Commit, published: Mapping[str, Message], mine: str
) -> tuple[history.Commit, str]:
    """The commit, and the reason to park it if its operation is another's. A word goes by an
    operation that follows from it: whoever carries it over finds the same."""
    message = commit.message
    first = published.get(message.operation) if message.operation else None
    if first is None or records.same_write(first, message):
        return commit, ""
    if not message.wish or message.operation == mine:
        return commit, f"its operation is another's ({first.subject})"
    operation = sha256(f"{message.operation}/{commit.oid}".encode()).hexdigest()[:32]
    return commit._replace(message=message._replace(operation=operation)), ""


def _fitted(
    store: Store, commit: history.Commit, onto: Snapshot, mine: str
) -> tuple[history.Commit, dict[str, bytes | None]]:
    """The commit with what it puts on the new head. Raises Refused if that cannot be, or if others
    wrote in the stream of the word that the command at work has for it (`mine`)."""
    if commit.message.operation == mine:
        _judge_overtaken(commit, onto)
    commit, files = _anew(store, commit, onto)
    return _word_alone(commit, files, onto) if commit.message.wish else (commit, files)


def _anew(
    store: Store, commit: history.Commit, onto: Snapshot
) -> tuple[history.Commit, dict[str, bytes | None]]:
    """The commit with what it puts. A file that is computed from the history before it is computed
    again on the new head, never copied to it. Raises Refused if that cannot be."""
    files = _files(store, commit)
    follows = commit.message.migrates or len(files) > 1  # (else it is what was set)
    if follows and policy.FOLDER in files and not commit.message.by_hand:
        commit, files = _with_policy(commit, files, onto)
    makers = {kind.anew for path in files if (kind := records.kind_of(path)) and kind.anew}
    try:
        renewed = records.under(files, commit.message.operation)
        if renewed != files:
            wish = judging.wish(judging.store_id(onto), commit.message, renewed)
            commit = commit._replace(message=commit.message._replace(wish=wish))
        for make in makers:
            renewed = make(Walk(onto.git, onto), renewed)
    except Failed:  # damaged: the rules will say so
        return commit, files
    if renewed == files or commit.message.by_hand:
        return commit, files
    return _putting(commit, renewed, onto), renewed


def _putting(
    commit: history.Commit, files: Mapping[str, bytes | None], onto: Snapshot
) -> history.Commit:
    """The commit as one that puts these files."""
    child = Overlay(onto, files, onto.width)
    before = {path: old for path, old, _ in commit.changes}
    changes = tuple((path, before.get(path), child.blob(path)) for path in files)
    digest = judging.digest(judging.store_id(onto), commit.message, changes)
    return commit._replace(message=commit.message._replace(change=digest), changes=changes)


def _is_word(path: str) -> bool:
    kind = records.kind_of(path)
    return kind is not None and kind.wish is not None


def _judge_overtaken(commit: history.Commit, onto: Snapshot) -> None:
    for path, old, _ in commit.changes:
        if _is_word(path) and onto.blob(path) != old:
            raise Refused(f"{path} was written by another")


def _word_alone(
    commit: history.Commit, files: dict[str, bytes | None], onto: Snapshot
) -> tuple[history.Commit, dict[str, bytes | None]]:
    """A word without what others have taken over meanwhile, such as a lease that an `end` gives
    back: that is no reason to keep the word from them."""
    theirs = {path for path, old, _ in commit.changes if onto.blob(path) != old}
    left = {path: data for path, data in files.items() if path not in theirs}
    if not theirs or not any(_is_word(path) for path in left):
        return commit, files
    return _putting(commit, left, onto), left


def _with_policy(
    commit: history.Commit, files: dict[str, bytes | None], onto: Snapshot
) -> tuple[history.Commit, dict[str, bytes | None]]:
    """The commit, whose policy only follows from what else it does, with that of the new head: what
    others set there meanwhile stays."""
    ours, theirs = files[policy.FOLDER] or b"", onto.read(policy.FOLDER) or b""
    try:
        needs = policy.parse(policy.FOLDER, ours).get("needs", [])
        made = (
            formats.migrated(theirs) if commit.message.migrates else formats.needing(theirs, needs)
        )
    except Failed:  # damaged: the rules will say so
        return commit, files
    files = {**files, policy.FOLDER: made}
    if made == theirs:
        del files[policy.FOLDER]
    child = Overlay(onto, files, onto.width)
    rows = ((path, old, child.blob(path)) for path, old, _ in commit.changes if path in files)
    changes = tuple(
        (path, onto.blob(path) if path == policy.FOLDER else old, new) for path, old, new in rows
    )
    digest = judging.digest(judging.store_id(onto), commit.message, changes)
    return commit._replace(message=commit.message._replace(change=digest), changes=changes), files


def _contradicted(store: Store, commit: history.Commit, onto: Snapshot) -> str:
    """The first path that is not as the commit found it."""
    own = store.snapshot(commit.parents[0])
    for path, old, _ in commit.changes:
        if onto.blob(path) != old:
            return f"{path} was written by another"
        kind = records.kind_of(path)
        before = None if kind and kind.anew else records.before(path)  # (made on this history)
        if before and onto.blob(before) != own.blob(before):
            return f"{before} is not what it was written after"
    return ""


def _may_clash(path: str) -> bool:
    kind = records.kind_of(path)
    return kind is not None and kind.clashes is not None


def _rows(files: Mapping[str, bytes | None]) -> Iterator[tuple[Kind, Record]]:
    """The readable rows among files that may be in the way of another's."""
    for path, data in files.items():
        kind = records.kind_of(path)
        if kind and kind.clashes and data is not None:
            with suppress(Failed):  # damaged: it is in nobody's way
                yield kind, kind.parse(path, data)


def _barred(
    files: Mapping[str, bytes | None], others: Mapping[str, bytes | None], onto: Snapshot
) -> str:
    """A row of another, written meanwhile, with which one that the commit puts cannot be."""
    for kind, row in _rows(files):
        for other_kind, other in _rows(others):
            why = kind.clashes(onto, row, other) if kind.clashes and kind is other_kind else ""
            if why:
                return why
    return ""


def _odd(commit: history.Commit, width: int) -> str:
    """The reason why the commit looks like no write of Atlas's, so that no file of another commit
    could be made from it; empty if it is a plain one."""
    if commit.message.epoch:
        return "an epoch is taken from the newest head only"
    violation = next(iter(audit.shape(commit, width)), None)
    return f"the rule {violation.rule}: {violation.text}" if violation else ""


def _broken(onto: Snapshot, commit: history.Commit, files: dict[str, bytes | None]) -> str:
    tree = Walk(onto.git, onto)
    violations: list[Violation] = judging.judge(
        tree, Overlay(tree, files, onto.width), commit.changes, commit.message
    )
    if not violations or commit.message.repairs:
        return ""
    return f"the rule {violations[0].rule}: {violations[0].text}"


def _again(
    staged: _Staged, commit: history.Commit, onto: Snapshot, files: dict[str, bytes | None]
) -> str:
    """Makes the same commit behind another. The result is its id."""
    answer = staged.object(commit.oid)
    if answer is None:
        raise Failed(f"the commit {commit.oid} is missing or broken", "atlas doctor")
    head, _, body = answer[2].partition(b"\nauthor ")[2].partition(b"\n\n")
    message = commit.message
    stated = {"Operation": message.operation, "Change": message.change, "Wish": message.wish}
    for key, value in stated.items():
        if value and value.isalnum():
            line = f"Atlas-{key}: {value}".encode()
            body = re.sub(rf"(?m)^Atlas-{key}: \S+$".encode(), line, body)
    if commit.message.migrates:
        root, objects = moves.migrated(onto, files[policy.FOLDER] or b"")
    else:
        root, objects = onto.planted(files)
    data = f"tree {root}\nparent {onto.head}\nauthor ".encode() + head + b"\n\n" + body
    oid = object_id("commit", data, onto.width)
    staged.new |= {**objects, oid: ("commit", data)}
    return oid


def moved(
    store: Store,
    branch: Branch,
    old: str,
    new: str,
    parked: Sequence[Parked],
    also: Sequence[tuple[str, str]] = (),
) -> bool:
    """One step: the branch moves to `new`, what is not carried over is parked, and the refs of
    `also` are set. False if another try is due."""
    in_force = store.rules(store.snapshot(old))
    refs = [*((parked_ref(write.operation), write.commit.oid) for write in parked), *also]
    store.at(old)  # an index that were behind would take this for a history that was rewound
    failpoints.at("before_carry", in_force)
    if parked or new not in dict(also).values():  # something of this clone's is written anew
        interrupts.sent()
    if not branch.move(old, new, ["core.fsync=all"], refs):
        return False
    sync_folders(*(store.home / "store.git" / name for name in ("refs/heads", PARKED)))
    failpoints.at("after_carry", in_force)
    return True

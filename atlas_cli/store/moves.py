"""Commits that only move records: to the places of another format, or out of the tip. Such a
commit's tree follows from its parent, so that anybody can judge it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .. import records
from ..model.change import Change, Writer
from ..model.digests import sha256
from ..model.message import FileChange, Message
from ..model.schema import FORMAT
from ..model.tree import Tree
from ..records import KINDS, formats, judging, policy
from .snapshot import Objects, Placed, Snapshot
from .trees import FOLDER, Entry

Made = tuple[str, dict[str, tuple[str, bytes]]]  # a root, and the objects that are new


def migration(tree: Tree, writer: Writer) -> tuple[Change, Writer]:
    """The change that takes a store of the first format to that of now, and who writes it. Its
    operation is the same in each clone, so that two that go over at once have done it once."""
    data = formats.migrated(tree.read(policy.FOLDER) or b"")
    named = sha256(f"migrate {FORMAT} {judging.store_id(tree)}".encode()).hexdigest()[:32]
    notice = (
        f"the store is of format {FORMAT} from now on: an older Atlas reads what it can of it, and"
        " writes nothing"
    )
    subject = f"policy: format {FORMAT}"
    change = Change(subject, {policy.FOLDER: data}, notices=(notice,), migrates=str(FORMAT))
    return change, writer._replace(session="", operation=named)


def migrated(tree: Placed, rules: bytes | Entry) -> Made:
    """A tree of the first format with each record in its place of now, and another policy."""
    files: dict[str, bytes | Entry | None] = {policy.FOLDER: rules}
    for path, entry in _first_places(tree):
        now = records.place_now(path)
        if now and tree.at(now) is None:
            files |= {path: None, now: entry}
    return tree.moved(files)


def _first_places(tree: Placed) -> Iterator[tuple[str, Entry]]:
    for kind in KINDS:
        if kind.layout:
            yield from _files(tree, kind.folder)


def _files(tree: Placed, folder: str) -> Iterator[tuple[str, Entry]]:
    for name in tree.lies(folder):
        path = f"{folder}/{name}"
        entry = tree.at(path)
        if entry and entry[0] == FOLDER:
            yield from _files(tree, path)
        elif entry:
            yield path, entry


def is_migration(git: Objects, message: Message, before: str, after: str) -> bool:
    """Whether a commit that says so takes the tree before it to another format, and does nothing
    else but what its policy says."""
    if message.migrates != str(FORMAT) or message.by_hand or not before:
        return False
    tree = Placed(git, before, len(before))
    rules = Placed(git, after, len(after)).at(policy.FOLDER)
    if rules is None or not formats.is_first(tree.rules):
        return False
    return migrated(tree, rules)[0] == after


def at_epoch(snapshot: Snapshot, change: Change) -> Change:
    """The change of an epoch on a snapshot: the documents that were settled before its day are gone
    from the tip, and the policy names the commit that holds them."""
    day, head = change.epoch or "", snapshot.head or ""
    data = formats.at_epoch(snapshot.read(policy.FOLDER) or b"", head, day)
    files = dict.fromkeys(settled(snapshot, day))
    return change._replace(files={**files, policy.FOLDER: data}, epoch=head)


def settled(snapshot: Snapshot, day: str) -> list[str]:
    """The documents in the tip that were settled before a day."""
    return [
        path
        for kind in KINDS
        if kind.settled
        for path in kind.settled(snapshot, day)
        if snapshot.entry(path)
    ]


def is_epoch(message: Message, parent: str, changes: Iterable[FileChange]) -> bool:
    """Whether a commit that says so only takes documents from the tip, and names its parent, which
    holds them all."""
    if message.by_hand or message.epoch != parent:
        return False
    return all(
        new is None and records.kept_for_good(path)
        for path, _, new in changes
        if path != policy.FOLDER
    )

"""Carrying over: what this clone has recorded, put behind what others have published, where it still holds there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .. import records
from ..errors import Failed
from ..records import lease, names, policy, rules
from ..records.case import Violation
from ..records.tree import Overlay, object_id
from . import history
from .snapshot import Snapshot
from .store import Store
from .transaction import pack


class Parked(NamedTuple):
    """A commit that could not be carried over, and why."""

    commit: history.Commit
    why: str


class Carried(NamedTuple):
    """The new head; by old commit id what each became; what could not be carried over; what was there already."""

    head: str
    moved: dict[str, str]
    parked: tuple[Parked, ...]
    there: tuple[str, ...]


def carry(store: Store, ours: Sequence[history.Commit], theirs: Sequence[history.Commit], tip: str) -> Carried:
    """Puts our commits behind `tip`, each byte for byte, where every path that it changed still holds the very blob
    that it held in the commit's own parent (and a numbered document's predecessor does), and no rule is broken."""
    published = {commit.message.operation for commit in theirs} - {None}
    held = _held(store, theirs, tip)
    moved: dict[str, str] = {}
    parked: list[Parked] = []
    there: list[str] = []
    for commit in ours:
        if commit.message.operation in published:
            there.append(commit.oid)
            continue
        onto = store.snapshot(tip)
        why = _contradicted(store, commit, onto) or _barred(commit, held, store)
        files = _files(store, commit)
        why = why or _broken(onto, commit, files)
        if why:
            parked.append(Parked(commit, why))
            continue
        tip = moved[commit.oid] = _again(store, commit, onto, files)
    return Carried(tip, moved, tuple(parked), tuple(there))


def _files(store: Store, commit: history.Commit) -> dict[str, bytes | None]:
    """What a commit put, by path."""
    found: dict[str, bytes | None] = {}
    for path, _, new in commit.changes:
        data = store.git.object(new) if new else None
        found[path] = data[2] if data else None
    return found


def _contradicted(store: Store, commit: history.Commit, onto: Snapshot) -> str:
    """The first path that is not as the commit found it."""
    own = store.snapshot(commit.parents[0])
    for path, old, _ in commit.changes:
        if onto.blob(path) != old:
            return f"{path} was written by another"
        before = records.before(path)
        if before and onto.blob(before) != own.blob(before):
            return f"{before} is not what it was written after"
    return ""


def _held(store: Store, theirs: Iterable[history.Commit], tip: str) -> list[records.text.Record]:
    """The leases that others have taken meanwhile."""
    now = store.snapshot(tip)
    paths = {path for commit in theirs for path, _, _ in commit.changes if path.startswith(f"{lease.FOLDER}/")}
    found = []
    for path in paths:
        try:
            found.append(lease.parse(path, now.read(path) or b""))
        except Failed:
            continue  # damaged: it holds nothing
    return found


def _barred(commit: history.Commit, held: Sequence[records.text.Record], store: Store) -> str:
    """A lease of another, taken meanwhile, on what the commit took: two rows, which no path tells."""
    at = commit.message.at or 0
    for path, data in _files(store, commit).items():
        if not path.startswith(f"{lease.FOLDER}/") or data is None:
            continue
        row = lease.parse(path, data)
        for other in held if lease.holds(row, at) else ():
            others = other["holder"] != row["holder"] and lease.holds(other, at)
            if others and names.overlap(row["resource"], other["resource"]):
                return f"{other['resource']} was taken by {other['holder']}"
    return ""


def _broken(onto: Snapshot, commit: history.Commit, files: dict[str, bytes | None]) -> str:
    found: list[Violation] = rules.judge(onto, Overlay(onto, files, onto.width), commit.changes, commit.message)
    return f"the rule {found[0].rule}: {found[0].text}" if found and not commit.message.repairs else ""


def _again(store: Store, commit: history.Commit, onto: Snapshot, files: dict[str, bytes | None]) -> str:
    """The same commit behind another; its id."""
    raw = store.git.object(commit.oid)
    if raw is None:
        raise Failed(f"the commit {commit.oid} is missing or broken", "atlas doctor")
    _, _, rest = raw[2].partition(b"\nauthor ")
    root, objects = onto.planted(files)
    data = f"tree {root}\nparent {onto.head}\nauthor ".encode() + rest
    oid = object_id("commit", data, onto.width)
    objects[oid] = ("commit", data)
    method = "fsync" if policy.usable(onto)["durability"] == "full" else "writeout-only"
    options = ("core.fsync=all", f"core.fsyncMethod={method}")
    store.git.run("unpack-objects", "-q", data=pack(objects, onto.width), options=options)
    return oid

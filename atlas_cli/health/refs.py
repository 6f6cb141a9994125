"""Refs that name nothing, dropped, and, if nothing else is left, the branch set back, with the
writes that were recorded beyond carried over."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ..errors import AtlasError, Locked
from ..sharing import carry_over
from ..sharing.parked import parked_ref
from ..store import BRANCH, PARKED, REMOTE, files, lock
from ..store.repo import TAKING, WAITING
from ..store.store import Store, sync_folders
from .beyond import beyond

LOCK_WAIT = 10.0  # seconds for a command that writes or publishes
LOST = "lost-refs"  # of parked writes whose objects are not here
_PACKED = re.compile(rb"(?:#[^\n]*|[0-9a-f]{40,64} refs/[^\n]+|\^[0-9a-f]{40,64})\Z")
_HEX = re.compile(r"[0-9a-f]+\Z")


def broken_refs(store: Store) -> list[str]:
    """The refs, besides the branch, that name no commit which is there."""
    folder = store.home / "store.git"
    loose = [file for file in (folder / "refs").rglob("*") if file.is_file()]
    names = {os.fspath(file.relative_to(folder)) for file in loose}
    names |= _packed_ids(folder).keys()
    broken = []
    for name in sorted(names - {BRANCH}):
        if not name.endswith(".lock"):
            entry = store.git.object(name)
            if not entry or (name.startswith("refs/atlas/") and entry[1] != "commit"):
                broken.append(name)
    return broken


def remembered(store: Store, names: Iterable[str]) -> None:
    """Notes the ids of those refs that are of parked writes. Their objects are not here, and with
    such a ref git talks to no remote."""
    notes = ""
    for name in names:
        if name.startswith(PARKED) and (oid := _held_id(store, name)):
            notes += f"{name} {oid}\n"
    if notes:
        file = store.home / LOST
        before = file.read_bytes() if file.is_file() else b""
        files.put(file, before + notes.encode())


def brought_back(store: Store) -> list[str]:
    """Puts such refs back once their objects are here again: their names."""
    try:
        lines = (store.home / LOST).read_text().split("\n")
    except (OSError, UnicodeDecodeError):
        return []
    names, left = [], ""
    for line in lines:
        if line.count(" ") != 1:
            continue
        name, oid = line.split(" ")
        entry = store.git.object(oid)
        if entry and entry[1] == "commit":
            store.git.run("update-ref", "--no-deref", name, oid)
            names.append(name)
        else:
            left += f"{line}\n"
    files.put(store.home / LOST, left.encode())
    return names


def _held_id(store: Store, name: str) -> str:
    """The id that a ref holds, if it holds one."""
    folder = store.home / "store.git"
    data = _packed_ids(folder).get(name, b"")
    with suppress(OSError):
        data = (folder / name).read_bytes().strip()
    oid = data.decode("latin-1")
    return oid if len(oid) == store.place.width and _HEX.match(oid) and oid.strip("0") else ""


def drop(store: Store, names: Iterable[str]) -> None:
    """Takes refs away, whatever they hold: git itself refuses to touch what it cannot read."""
    folder = store.home / "store.git"
    gone = {name.encode() for name in names}
    for name in names:
        (folder / name).unlink(missing_ok=True)
    lines, skip = [], False
    for line in _packed(folder):
        skip = line.partition(b" ")[2] in gone or (skip and line[:1] == b"^")
        if not skip and _PACKED.match(line):
            lines.append(line)
    if lines != _packed(folder):
        files.put(folder / "packed-refs", b"".join(line + b"\n" for line in lines))
        sync_folders(folder)
    store.git.close()


def packed_is_whole(store: Store) -> bool:
    """Whether each line of packed-refs is one that git can read."""
    return all(_PACKED.match(line) for line in _packed(store.home / "store.git"))


def _packed(folder: Path) -> list[bytes]:
    """The lines of packed-refs."""
    with suppress(FileNotFoundError):
        return [line for line in (folder / "packed-refs").read_bytes().split(b"\n") if line]
    return []


def _packed_ids(folder: Path) -> dict[str, bytes]:
    """The id of each ref in packed-refs."""
    ids = {}
    for line in _packed(folder):
        oid, _, name = line.partition(b" ")
        if line[:1] not in b"#^":
            ids[name.decode(errors="replace")] = oid
    return ids


def publishable(store: Store, oid: str) -> bool:
    """Whether everything up to a commit is here that the remote is not known to have: with a hole
    in it, nothing goes there any more. (Objects that the remote has can be had again, and those
    that only this clone needs hold nothing up: neither is a reason to go back.)"""
    known = store.ref(REMOTE)
    if known is None or known == oid:
        return True
    code, out, _ = store.git.ask("rev-list", "--objects", "--missing=print", oid, f"^{known}", "--")
    return not code and not any(line.startswith(b"?") for line in out.split(b"\n"))


def heads(store: Store) -> list[str]:
    """The commits that the branch was at, newest first: by its reflog, then by the index, and the
    one that the remote was last known to have."""
    ids: list[str | None] = []
    log = store.home / "store.git/logs" / BRANCH
    with suppress(OSError):
        for line in reversed(log.read_text(errors="replace").split("\n")):
            words = line.split(" ")
            if len(words) > 2:
                ids.append(words[1])
    with suppress(AtlasError):
        ids.append(store.index.meta("head"))
    ids.append(store.ref(REMOTE))
    return [oid for oid in dict.fromkeys(ids) if oid and len(oid) == store.place.width]


class SetBack(NamedTuple):
    """The outcome for a branch: the head that was taken, and the subjects of the writes beyond it
    that were carried over, that were parked, and that nobody can read any more."""

    head: str
    carried: tuple[str, ...]
    parked: tuple[str, ...]
    lost: tuple[str, ...]


def set_back(store: Store, good: str, newer: list[str]) -> SetBack:
    """Sets the branch back to a head that can be gone on from. The writes beyond it (at `newer`
    heads, newest first) are put behind it again, or parked. Nobody else writes or publishes
    meanwhile, and the branch is moved once, to its last place: whenever this is ended, it is done
    anew, or it was done. Raises Locked if another command is at work."""
    folder = store.home / "store.git"
    with (
        lock.held(store.home / "publish.lock", wait=LOCK_WAIT) as publishing,
        lock.held(store.home / "writer.lock", wait=LOCK_WAIT) as writing,
    ):
        if publishing is None or writing is None:
            raise Locked("another command is at work in the store", "try again when it has ended")
        commits, lost = beyond(store, good, newer)
        carried = carry_over.carry(store, commits, [], good)
        if lost and store.home == store.place.outbox:  # what was laid may hold it whole
            with suppress(OSError):
                os.link(store.home / WAITING, store.home / TAKING, follow_symlinks=False)
        refs = {parked_ref(write.operation): write.commit.oid for write in carried.parked}
        refs[BRANCH] = carried.head
        for name in (BRANCH, f"{BRANCH}.lock"):
            if (folder / name).exists():
                (folder / name).replace(store.home / "broken-branch")
        drop(store, [BRANCH])
        wish = "".join(f"update {ref} {oid}\n" for ref, oid in refs.items()).encode()
        store.git.run("update-ref", "--no-deref", "--stdin", data=wish, options=["core.fsync=all"])
        sync_folders(folder / "refs/heads", folder / PARKED)
        store.git.close()
        subjects = {commit.oid: commit.message.subject for commit in commits}
        parked = tuple(write.commit.message.subject for write in carried.parked)
        return SetBack(good, tuple(subjects[oid] for oid in carried.moved), parked, tuple(lost))

"""The outbox: what no remote has yet as one file, for a clone that cannot push, and taking such a
file in. A caller who can write nothing but the worktree lays such a file there after each write;
whoever can write the store takes it in. (A file, not the repository that it comes from: from that,
git would run what is written in its configuration.)"""

from __future__ import annotations

import hashlib
import os
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import AtlasError, Failed, NotFound
from ..store import BRANCH, REMOTE, files, ground, history, lock, transports
from ..store.branch import STALE, Branch, change, cleared
from ..store.index import Index
from ..store.repo import TAKING, WAITING
from ..store.root import root_id
from ..store.store import Store
from ..visible import many
from . import carry_over
from .joining import brings_policy
from .parked import parked_commits

LAID = (".git", "laid")  # in an outbox: the digests of what was laid there, newest last
KEPT = 200  # of them
# A path with a component that git checks out nowhere.
_ODD = re.compile(r"(?:\A|/)(?:\.|\.\.|\.git|)(?:/|\Z)", re.IGNORECASE)
_TAKEN = f"refs/atlas/taking/{os.getpid()}"


def waiting(store: Store, index: Index) -> list[dict[str, Any]]:
    """The writes that no remote is known to have, oldest first: rows of commit, operation, subject,
    session."""
    known = store.ref(REMOTE)
    rows, _ = index.commits(10**6, after=(index.reached(known) or 0) if known else 0)
    keys = ("operation", "subject", "session")
    return [{"commit": row["oid"], **{key: row[key] for key in keys}} for row in reversed(rows)]


def export(store: Store, file: Path) -> int:
    """Writes the commits that no remote is known to have into a git bundle. The result is their
    number.

    Raises NotFound if there are none."""
    count = store.unpublished()
    if not count:
        raise NotFound("nothing waits: all that was recorded here is published")
    known = store.ref(REMOTE)
    store.git.run(
        "bundle", "create", "--quiet", str(file), BRANCH, *([f"^{known}"] if known else [])
    )
    return count


def lay(store: Store) -> None:
    """Lays what nobody else has in the outbox, for the next command that can write the store."""
    box, top = store.place.outbox, store.place.top
    if box is None or top is None or store.home != box:
        return
    with files.below(top, box) as folder, lock.held(box / "lay.lock", at=folder.fd):
        # (locked, else what another has just laid would give way to less)
        if parked_commits(
            store
        ):  # what was laid before may hold it: it is to be parked where others see it
            with suppress(OSError):
                os.link(box / WAITING, box / TAKING, follow_symlinks=False)
        if not store.unpublished():
            folder.drop(WAITING)
            return
        part = files.PART + os.urandom(8).hex()
        try:
            export(store, box / part)
        except BaseException:
            folder.drop(part)
            raise
        with folder.sub(LAID[0], make=True) as place:
            before = (place.read(LAID[1], 100_000) or b"").split(b"\n")[-KEPT:]
            place.put(LAID[1], b"\n".join([*filter(None, before), _digest(folder, part), b""]))
        folder.rename(part, WAITING)


def _digest(folder: files.Folder, name: str) -> bytes:
    """The SHA-256 of a plain file's bytes."""
    digest = hashlib.sha256()
    with folder.open(name) as file:
        while part := file.read(1 << 20):
            digest.update(part)
    return digest.hexdigest().encode()


def gather(store: Store, box: Path) -> list[str]:
    """Takes in what waits in a worktree's outbox, under the rules of a sync. The outcome is
    returned as lines. A file that came with the project's own is left alone: it is no writing of
    this clone."""
    top = box.parent.parent
    if (why := ground.foreign(store.place._replace(top=top))[0]) or box.is_symlink():
        return [
            f"{box} came with the project's files: what lies there was not taken in"
            f" ({why or 'it is a link'})"
        ]
    notices = []
    try:
        with files.below(top, box) as folder, lock.held(store.home / "outbox.lock", wait=0.0) as fd:
            for name in (TAKING, WAITING) if fd is not None else ():
                notices += _gather_file(store, box, folder, name)
    except (AtlasError, OSError) as error:
        why = str(error.strerror) if isinstance(error, OSError) else error.message
        notices.append(
            f"{box} could not be taken in: {why}; until it is, nobody else can see what lies there"
        )
    return notices


def _gather_file(store: Store, box: Path, folder: files.Folder, name: str) -> list[str]:
    """Takes in one file of an outbox. A file that is none of this clone's stays, under another
    name."""
    if not folder.plain(name):
        is_odd = folder.look(name) is not None
        return [f"{box / name} is no plain file: it was not taken in"] if is_odd else []
    folder.rename(name, TAKING)  # what is laid meanwhile is another one
    try:
        if not _laid(folder):
            raise NoOutbox(
                f"{box / name} is no outbox of a store that a session of this clone has laid"
            )
        carried = take(store, box / TAKING)
    except NoOutbox as error:
        refused = f"refused.{time.time_ns()}"
        folder.rename(TAKING, refused)
        again = "; atlas outbox import tries it again" if error.hint else ""
        return [f"{error.message}: it was kept as {box / refused}{again}"]
    folder.drop(TAKING)
    if not carried.moved and not carried.parked:
        return []
    notice = f"{many(len(carried.moved), 'write')} taken in from {box}"
    if carried.parked:
        notice += f", {len(carried.parked)} contradict what is here, and are parked"
    return [notice]


def _laid(folder: files.Folder) -> bool:
    """Whether this clone has laid what is to be taken in: its digest stands in a folder of a name
    that git checks nothing out under. No file of a project, and none that a submodule brings, can
    be there. (An archive that somebody unpacks can bring anything, a git directory too.)"""
    try:
        with folder.sub(LAID[0]) as place:
            return _digest(folder, TAKING) in (place.read(LAID[1], 100_000) or b"").split(b"\n")
    except OSError:
        return False


class NoOutbox(Failed):
    """A file, or a branch, that holds no writes of a store."""


def take(store: Store, file: Path) -> carry_over.Carried:
    """Puts what another clone exported behind what is here, by the rules of a sync. A write that
    contradicts what is here is parked."""
    if not file.is_file():
        raise NotFound(f"there is no file {file}")
    if line := transports.foreign(store.git.directory):
        raise Failed(
            f"{store.git.directory}/config holds what Atlas did not write ({line}), which is not"
            " obeyed",
            "atlas doctor --fix puts it aside",
            code="configuration",
        )
    for again in (True, False):
        code, _, err = store.git.ask(
            "fetch",
            "--no-tags",
            "--no-write-fetch-head",
            "--",
            str(file),
            f"+{BRANCH}:{_TAKEN}",
            options=("fetch.fsckObjects=true",),
            extra={"GIT_ALLOW_PROTOCOL": "file"},
        )
        if not code or not again or not cleared(store, [_TAKEN], STALE + 2):
            break
    tip = None if code else store.ref(_TAKEN)
    with suppress(Failed):  # litter that bars nobody
        change(store, [f"delete {_TAKEN}"])
    if tip is None or root_id(store.place.width) not in history.roots(store.git, tip):
        if "prerequisite" in err:
            raise Failed(
                f"{file.name} stands on commits that are not here",
                "atlas sync brings them, if they are published",
            )
        raise NoOutbox(f"{file.name} is no outbox of a store", "atlas outbox export makes one")
    return behind(store, tip)


def behind(store: Store, tip: str) -> carry_over.Carried:
    """Puts what another clone has written, up to `tip`, behind what is here."""
    with lock.held(store.home / "writer.lock") as fd:
        branch = Branch(store, fd)
        while True:
            head = store.head()
            base = history.fork(store.git, head, tip)
            theirs = [
                commit
                for commit in history.between(store.git, base, tip)
                if not brings_policy(commit)
            ]
            if not all(len(commit.parents) == 1 for commit in theirs):
                raise NoOutbox("it is no outbox of a store: its commits are not in one line")
            for path in (path for commit in theirs for path, _, _ in commit.changes):
                if _ODD.search(path):
                    raise NoOutbox(
                        f"it is no outbox of a store: it holds {path[:80]!r}, a path that no store"
                        " has"
                    )
            carried = carry_over.carry(
                store, theirs, list(history.between(store.git, base, head)), head
            )
            if carry_over.moved(store, branch, head, carried.head, carried.parked):
                return carried

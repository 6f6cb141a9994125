"""What is gone from a store's repository, had again: objects from where the store is shared through, refs that name
nothing dropped, and, where nothing else is left, the branch set back, with what was recorded beyond carried over."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ..errors import AtlasError, Damaged
from ..records.message import parse
from . import BRANCH, REMOTE, history, lock, replay
from .branch import Branch
from .git import Git
from .place import Place
from .remote import CALL, INCOMING, Away, Remote
from .store import Store, sync_folders
from .trees import FOLDER, parse_tree

LOCK_WAIT = 10.0  # seconds for a command that writes or publishes
_PACKED = re.compile(rb"(?:#[^\n]*|[0-9a-f]{40,64} refs/[^\n]+|\^[0-9a-f]{40,64})\Z")
_PACK = re.compile(r"\bpack-[0-9a-f]{40,64}\b")


def loose(store: Store) -> Iterator[Path]:
    """The files of single objects."""
    return (store.home / "store.git/objects").glob("[0-9a-f][0-9a-f]/*")


def broken_files(store: Store) -> list[Path]:
    """The files of single objects that are not what their name says."""
    return [file for file in loose(store) if not _sound(file)]


def _sound(file: Path) -> bool:
    """Read a piece at a time: a small file may hold a very large object."""
    name = file.parent.name + file.name
    digest, inflate = hashlib.sha256() if len(name) == 64 else hashlib.sha1(), zlib.decompressobj()
    try:
        with file.open("rb") as data:
            while piece := data.read(65_536):
                while piece:
                    digest.update(inflate.decompress(piece, 1 << 20))
                    piece = inflate.unconsumed_tail
            digest.update(inflate.flush())
    except (OSError, zlib.error):
        return False
    return inflate.eof and digest.hexdigest() == name


def faults(store: Store) -> tuple[list[str], list[str]]:
    """(what git cannot read, what it reads and would not have written), as git's own check says them of objects."""
    store.git.close()
    code, out, err = store.git.ask("fsck", "--full", "--no-reflogs", "--no-dangling", "--no-progress", timeout=600)
    lines = [line for line in (out.decode(errors="replace") + "\n" + err).split("\n") if line.strip()]
    aside = ("hint:", "dangling ", "notice:", "warning:")
    lines = [line for line in lines if not line.startswith(aside) and "refs/" not in line and "HEAD" not in line]
    odd = [line for line in lines if line.startswith(("error in ", "warning in "))]
    bad = [line for line in lines if line not in odd]
    if code > 63 and not lines:  # it was ended
        bad = [f"git fsck failed ({code})"]
    return bad, odd


def broken_refs(store: Store) -> list[str]:
    """The refs, besides the branch, that name no commit which is there."""
    folder = store.home / "store.git"
    names = {os.fspath(file.relative_to(folder)) for file in (folder / "refs").rglob("*") if file.is_file()}
    names |= {line.partition(b" ")[2].decode(errors="replace") for line in _packed(folder) if line[:1] not in b"#^"}
    found = []
    for name in sorted(names - {BRANCH}):
        if not name.endswith(".lock"):
            entry = store.git.object(name)
            found += [] if entry and entry[1] == "commit" else [name]
    return found


def drop(store: Store, names: Iterable[str]) -> None:
    """Takes refs away, whatever they hold: git itself refuses to touch what it cannot read."""
    folder = store.home / "store.git"
    gone = {name.encode() for name in names}
    for name in names:
        (folder / name).unlink(missing_ok=True)
    kept, skip = [], False
    for line in _packed(folder):
        skip = line.partition(b" ")[2] in gone or (skip and line[:1] == b"^")
        kept += [] if skip or not _PACKED.match(line) else [line]
    if kept != _packed(folder):
        part = folder / f"packed-refs.{os.getpid()}"
        part.write_bytes(b"".join(line + b"\n" for line in kept))
        part.replace(folder / "packed-refs")
        sync_folders(folder)
    store.git.close()


def packed_is_whole(store: Store) -> bool:
    return all(_PACKED.match(line) for line in _packed(store.home / "store.git"))


def _packed(folder: Path) -> list[bytes]:
    with suppress(FileNotFoundError):
        return [line for line in (folder / "packed-refs").read_bytes().split(b"\n") if line]
    return []


def fetched_anew(store: Store, remotes: Iterable[Remote]) -> tuple[str, str]:
    """Everything that one of these has, brought into an empty repository (this one would ask for nothing: git believes
    that it has what is behind a commit), and its objects put beside ours: (from where, the head there). Away where none
    has it."""
    aside = store.home / f"store.git.{os.getpid()}"
    why = "there is no remote to fetch them from"
    tried = ""
    for remote in remotes:
        shutil.rmtree(aside, ignore_errors=True)
        try:
            Git(None).run("init", "--quiet", "--bare", "--template=", f"--object-format={_form(store.place)}", "--",
                          str(aside))  # fmt: skip
            git = remote.git
            was, git.directory = git.directory, str(aside)
            git.close()
            try:
                head = git.object(INCOMING) if remote.fetch(CALL) else None
                if head is None:
                    why = f"the branch {remote.branch} is not on {remote.name}"
                    continue
            finally:
                git.close()
                git.directory = was
            _beside(aside / "objects", store.home / "store.git/objects")
        except Away as error:
            why = error.message
            tried = f" ({why})"
        else:
            store.git.close()
            return f"{remote.name}{tried}", head[0]
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    raise Away(why)


def unpacked(store: Store, lines: Iterable[str]) -> None:
    """Puts packs that git says are broken aside; what can be read of them becomes single objects."""
    folder, away = store.home / "store.git/objects/pack", store.home / "broken-packs"
    for name in dict.fromkeys(_PACK.findall("\n".join(lines))):
        away.mkdir(exist_ok=True)
        for file in folder.glob(f"{name}.*"):
            file.replace(away / file.name)
        store.git.close()
        with suppress(OSError):
            store.git.ask("unpack-objects", "-r", "-q", data=(away / f"{name}.pack").read_bytes())


def _beside(there: Path, ours: Path) -> None:
    """Packs with their index last, so that none is seen without; single objects where we have none."""
    files = sorted((there / "pack").glob("pack-*"), key=lambda file: file.suffix == ".idx")
    for file in [*files, *there.glob("[0-9a-f][0-9a-f]/*")]:
        target = ours / file.relative_to(there)
        if not target.exists():
            target.parent.mkdir(exist_ok=True)
            file.replace(target)
    sync_folders(ours / "pack", ours)


def _form(place: Place) -> str:
    return "sha256" if place.width == 64 else "sha1"


def usable(store: Store, oid: str) -> bool:
    """Whether a commit can be gone on from: it is there, with every folder. (A file that is missing is missed by who
    reads it, and no reason to go back.)"""
    found = store.git.object(oid)
    tree = found[2].split(b"\n", 1)[0].removeprefix(b"tree ").decode() if found and found[1] == "commit" else ""
    level, seen = {tree}, {tree}
    for _ in range(history.DEEP if tree else 0):
        below: set[str] = set()
        for entry in store.git.objects(sorted(level)):
            if entry is None or entry[1] != "tree":
                return False
            below |= {oid for mode, oid in parse_tree(entry[2], store.place.width).values() if mode == FOLDER}
        level = below - seen
        seen |= level
    return bool(tree)


def heads(store: Store) -> list[str]:
    """Where the branch was, newest first: its reflog, then the index, and what the remote was last known to have."""
    found: list[str] = []
    log = store.home / "store.git/logs" / BRANCH
    with suppress(OSError):
        lines = log.read_text(errors="replace").split("\n")
        found += [line.split(" ")[1] for line in reversed(lines) if len(line.split(" ")) > 2]
    with suppress(AtlasError):
        indexed = store.index.meta("head")
        found += [indexed] if indexed else []
    known = store.ref(REMOTE)
    return [oid for oid in dict.fromkeys([*found, *([known] if known else [])]) if len(oid) == store.place.width]


class SetBack(NamedTuple):
    """What came of it: the head that was taken, and of what was recorded beyond it the subjects of the writes that were
    carried over, parked, and that nobody can read any more."""

    head: str
    carried: tuple[str, ...]
    parked: tuple[str, ...]
    lost: tuple[str, ...]


def set_back(store: Store, good: str, newer: list[str]) -> SetBack:
    """Takes a head that can be gone on from; what was recorded beyond it (at `newer` heads, newest first) is put behind
    it again, or parked. Nobody else writes or publishes meanwhile."""
    folder = store.home / "store.git"
    with (
        lock.held(store.home / "publish.lock", wait=LOCK_WAIT) as publishing,
        lock.held(store.home / "writer.lock", wait=LOCK_WAIT) as writing,
    ):
        if publishing is None or writing is None:
            raise Damaged("another command is at work in the store", "try again when it has ended", retry="later")
        for name in (BRANCH, f"{BRANCH}.lock"):
            if (folder / name).exists():
                (folder / name).replace(store.home / "broken-branch")
        drop(store, [BRANCH])
        store.git.run("update-ref", "--no-deref", BRANCH, good, options=["core.fsync=all"])
        sync_folders(folder / "refs/heads")
        commits, lost = _beyond(store, good, newer)
        carried = replay.carry(store, commits, [], good)
        if carried.moved or carried.parked:
            while not replay.moved(store, Branch(store, writing), good, carried.head, carried.parked):
                continue
        subjects = {commit.oid: commit.message.subject for commit in commits}
        parked = tuple(one.commit.message.subject for one in carried.parked)
        return SetBack(good, tuple(subjects[oid] for oid in carried.moved), parked, tuple(lost))


def _beyond(store: Store, good: str, newer: list[str]) -> tuple[list[history.Commit], list[str]]:
    """(the commits beyond a head that can be read, oldest first; what is left to say of the others)."""
    found: dict[str, history.Commit] = {}
    lost: dict[str, str] = {}
    for tip in reversed(newer):
        line, here = [], tip
        while here and here != good and here not in found and here not in lost:
            line.append(here)
            here = history.parent(store.git, here) or ""
        for oid in reversed(line):
            try:
                above = history.parent(store.git, oid)
                [found[oid]] = history.between(store.git, above, oid)
                for path, _, new in found[oid].changes:
                    if new and store.git.object(new) is None:
                        raise Damaged(f"{path} is gone")
                store.snapshot(above).names("")
            except (AtlasError, LookupError):
                found.pop(oid, None)
                entry = store.git.object(oid)
                said = parse(entry[2].decode(errors="replace").partition("\n\n")[2]) if entry else None
                lost[oid] = f"{said.subject} (operation {said.operation})" if said else f"the commit {oid[:12]}"
    return list(found.values()), list(lost.values())

"""What is gone from a store's repository, had again: objects from where the store is shared
through, refs that name nothing dropped, and, where nothing else is left, the branch set back, with
what was recorded beyond carried over."""

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

from ..errors import AtlasError, Damaged, Locked
from ..model.message import parse
from ..sharing import carry_over
from ..sharing.parked import parked_ref
from ..sharing.remote import CALL, INCOMING, Away, Remote
from ..store import BRANCH, PARKED, REMOTE, files, history, lock
from ..store.git import Git
from ..store.repo import TAKING, WAITING, Repo
from ..store.store import Store, sync_folders
from ..store.trees import FOLDER, parse_tree

LOCK_WAIT = 10.0  # seconds for a command that writes or publishes
_PACKED = re.compile(rb"(?:#[^\n]*|[0-9a-f]{40,64} refs/[^\n]+|\^[0-9a-f]{40,64})\Z")
LOST = "lost-refs"  # of parked writes whose objects are not here
_HEX = re.compile(r"[0-9a-f]+\Z")
_PACK = re.compile(r"\bpack-[0-9a-f]{40,64}\b")


def loose(store: Store) -> Iterator[Path]:
    """The files of single objects (not those that are just being written)."""
    files_ = (store.home / "store.git/objects").glob("[0-9a-f][0-9a-f]/*")
    return (
        file for file in files_ if len(file.name) == store.place.width - 2 and _HEX.match(file.name)
    )


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
    except zlib.error:
        return False
    except (
        OSError
    ):  # it has just gone, or is not ours to read: what it holds is not known to be wrong
        return True
    return inflate.eof and digest.hexdigest() == name


def put_aside(store: Store, spoilt: Iterable[Path]) -> None:
    """Out of git's sight, and kept."""
    away = store.home / "broken-objects"
    for file in spoilt:
        away.mkdir(exist_ok=True)
        with suppress(FileNotFoundError):
            file.replace(away / f"{file.parent.name}{file.name}")
    store.git.close()


def faults(store: Store) -> tuple[list[str], list[str]]:
    """(what git cannot read, what it reads and would not have written), as git's own check says
    them of objects."""
    store.git.close()
    code, out, err = store.git.ask(
        "fsck", "--full", "--no-reflogs", "--no-dangling", "--no-progress", timeout=600
    )
    lines = [
        line for line in (out.decode(errors="replace") + "\n" + err).split("\n") if line.strip()
    ]
    aside = ("hint:", "dangling ", "notice:", "warning:")
    lines = [
        line
        for line in lines
        if not line.startswith(aside) and "refs/" not in line and "HEAD" not in line
    ]
    odd = [line for line in lines if line.startswith(("error in ", "warning in "))]
    bad = [line for line in lines if line not in odd]
    if code > 63 and not lines:  # it was ended
        bad = [f"git fsck failed ({code})"]
    return bad, odd


def broken_refs(store: Store) -> list[str]:
    """The refs, besides the branch, that name no commit which is there."""
    folder = store.home / "store.git"
    names = {
        os.fspath(file.relative_to(folder))
        for file in (folder / "refs").rglob("*")
        if file.is_file()
    }
    names |= {
        line.partition(b" ")[2].decode(errors="replace")
        for line in _packed(folder)
        if line[:1] not in b"#^"
    }
    found = []
    for name in sorted(names - {BRANCH}):
        if not name.endswith(".lock"):
            entry = store.git.object(name)
            if not entry or (name.startswith("refs/atlas/") and entry[1] != "commit"):
                found.append(name)
    return found


def remembered(store: Store, names: Iterable[str]) -> None:
    """Notes where refs of parked writes led whose objects are not here: with such a ref git talks
    to no remote."""
    rows = {name: data for name in names if name.startswith(PARKED) and (data := _led(store, name))}
    if rows:
        before = (store.home / LOST).read_bytes() if (store.home / LOST).is_file() else b""
        files.put(
            store.home / LOST,
            before + "".join(f"{name} {oid}\n" for name, oid in rows.items()).encode(),
        )


def brought_back(store: Store) -> list[str]:
    """Such refs, put back once their objects are here again."""
    try:
        rows = [
            line.split(" ")
            for line in (store.home / LOST).read_text().split("\n")
            if line.count(" ") == 1
        ]
    except (OSError, UnicodeDecodeError):
        return []
    here = [
        (name, oid)
        for name, oid in rows
        if (found := store.git.object(oid)) and found[1] == "commit"
    ]
    for name, oid in here:
        store.git.run("update-ref", "--no-deref", name, oid)
    left = [f"{name} {oid}\n" for name, oid in rows if (name, oid) not in here]
    files.put(store.home / LOST, "".join(left).encode())
    return [name for name, _ in here]


def _led(store: Store, name: str) -> str:
    """The id that a ref holds, if it holds one."""
    lines = {
        line.partition(b" ")[2].decode(errors="replace"): line.partition(b" ")[0]
        for line in _packed(store.home / "store.git")
    }
    with suppress(OSError):
        lines[name] = (store.home / "store.git" / name).read_bytes().strip()
    data = lines.get(name, b"").decode("latin-1")
    return data if len(data) == store.place.width and _HEX.match(data) and data.strip("0") else ""


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
        files.put(folder / "packed-refs", b"".join(line + b"\n" for line in kept))
        sync_folders(folder)
    store.git.close()


def packed_is_whole(store: Store) -> bool:
    return all(_PACKED.match(line) for line in _packed(store.home / "store.git"))


def _packed(folder: Path) -> list[bytes]:
    with suppress(FileNotFoundError):
        return [line for line in (folder / "packed-refs").read_bytes().split(b"\n") if line]
    return []


def fetched_anew(store: Store, remotes: Iterable[Remote]) -> tuple[str, str]:
    """Everything that one of these has, brought into an empty repository (this one would ask for
    nothing: git believes that it has what is behind a commit), and its objects put beside ours:
    (from where, the head there). Away where none has it."""
    aside = store.home / f"store.git.{os.getpid()}"
    why = "there is no remote to fetch them from"
    tried = ""
    for remote in remotes:
        shutil.rmtree(aside, ignore_errors=True)
        try:
            _init(store.place, aside)
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


def indexed(store: Store) -> None:
    """Packs whose index is gone have one again: without it git sees nothing of what they hold."""
    for pack in (store.home / "store.git/objects/pack").glob("pack-*.pack"):
        if not pack.with_suffix(".idx").exists():
            store.git.ask("index-pack", str(pack))
    store.git.close()


def unpacked(store: Store, lines: Iterable[str]) -> None:
    """What can be read of packs that git says are broken becomes single objects; then they are put
    aside. (In this order: whenever it is ended, what can be read is where git sees it.)"""
    folder, away = store.home / "store.git/objects/pack", store.home / "broken-packs"
    for name in dict.fromkeys(_PACK.findall("\n".join(lines))):
        aside = store.home / f"store.git.{os.getpid()}"
        try:
            _init(store.place, aside)
            data = (folder / f"{name}.pack").read_bytes()
            Git(str(aside)).ask("unpack-objects", "-r", "-q", data=data, timeout=600)
            _beside(aside / "objects", store.home / "store.git/objects")
        except OSError:
            continue  # it is not there, or not ours to read
        finally:
            shutil.rmtree(aside, ignore_errors=True)
        away.mkdir(exist_ok=True)
        for file in folder.glob(f"{name}.*"):
            with suppress(FileNotFoundError):
                file.replace(away / file.name)
    store.git.close()


def _beside(there: Path, ours: Path) -> None:
    """Packs with their index last, so that none is seen without; single objects where we have
    none."""
    files = sorted((there / "pack").glob("pack-*"), key=lambda file: file.suffix == ".idx")
    for file in [*files, *there.glob("[0-9a-f][0-9a-f]/*")]:
        target = ours / file.relative_to(there)
        if not target.exists():
            target.parent.mkdir(exist_ok=True)
            file.replace(target)
    sync_folders(ours / "pack", ours)


def _init(place: Repo, folder: Path) -> None:
    form = "sha256" if place.width == 64 else "sha1"
    Git(None).run(
        "init", "--quiet", "--bare", "--template=", f"--object-format={form}", "--", str(folder)
    )


def usable(store: Store, oid: str) -> bool:
    """Whether a commit can be gone on from: it is there, with every folder. (A file that is missing
    is missed by who reads it, and no reason to go back.)"""
    found = store.git.object(oid)
    tree = (
        found[2].split(b"\n", 1)[0].removeprefix(b"tree ").decode()
        if found and found[1] == "commit"
        else ""
    )
    level, seen = {tree}, {tree}
    for _ in range(history.DEEP if tree else 0):
        below: set[str] = set()
        for entry in store.git.objects(sorted(level)):
            if entry is None or entry[1] != "tree":
                return False
            below |= {
                oid
                for mode, oid in parse_tree(entry[2], store.place.width).values()
                if mode == FOLDER
            }
        level = below - seen
        seen |= level
    return bool(tree)


def publishable(store: Store, oid: str) -> bool:
    """Whether all that the remote is not known to have is here, up to a commit: with a hole in it
    nothing goes there any more. (What it has is had again from there, and no reason to go back; nor
    is what only this clone needs.)"""
    known = store.ref(REMOTE)
    if known is None or known == oid:
        return True
    code, out, _ = store.git.ask("rev-list", "--objects", "--missing=print", oid, f"^{known}", "--")
    return not code and not any(line.startswith(b"?") for line in out.split(b"\n"))


def heads(store: Store) -> list[str]:
    """Where the branch was, newest first: its reflog, then the index, and what the remote was last
    known to have."""
    found: list[str] = []
    log = store.home / "store.git/logs" / BRANCH
    with suppress(OSError):
        lines = log.read_text(errors="replace").split("\n")
        found += [line.split(" ")[1] for line in reversed(lines) if len(line.split(" ")) > 2]
    with suppress(AtlasError):
        indexed = store.index.meta("head")
        found += [indexed] if indexed else []
    known = store.ref(REMOTE)
    return [
        oid
        for oid in dict.fromkeys([*found, *([known] if known else [])])
        if len(oid) == store.place.width
    ]


class SetBack(NamedTuple):
    """What came of it: the head that was taken, and of what was recorded beyond it the subjects of
    the writes that were carried over, parked, and that nobody can read any more."""

    head: str
    carried: tuple[str, ...]
    parked: tuple[str, ...]
    lost: tuple[str, ...]


def set_back(store: Store, good: str, newer: list[str]) -> SetBack:
    """Takes a head that can be gone on from; what was recorded beyond it (at `newer` heads, newest
    first) is put behind it again, or parked. Nobody else writes or publishes meanwhile, and the
    branch is moved once, to where it is to be: whenever this is ended, it is done anew, or done."""
    folder = store.home / "store.git"
    with (
        lock.held(store.home / "publish.lock", wait=LOCK_WAIT) as publishing,
        lock.held(store.home / "writer.lock", wait=LOCK_WAIT) as writing,
    ):
        if publishing is None or writing is None:
            raise Locked("another command is at work in the store", "try again when it has ended")
        commits, lost = _beyond(store, good, newer)
        carried = carry_over.carry(store, commits, [], good)
        if lost and store.home == store.place.outbox:  # what was laid may hold it whole
            with suppress(OSError):
                os.link(store.home / WAITING, store.home / TAKING, follow_symlinks=False)
        refs = {parked_ref(one.operation): one.commit.oid for one in carried.parked} | {
            BRANCH: carried.head
        }
        for name in (BRANCH, f"{BRANCH}.lock"):
            if (folder / name).exists():
                (folder / name).replace(store.home / "broken-branch")
        drop(store, [BRANCH])
        wish = "".join(f"update {ref} {oid}\n" for ref, oid in refs.items()).encode()
        store.git.run("update-ref", "--no-deref", "--stdin", data=wish, options=["core.fsync=all"])
        sync_folders(folder / "refs/heads", folder / PARKED)
        store.git.close()
        subjects = {commit.oid: commit.message.subject for commit in commits}
        parked = tuple(one.commit.message.subject for one in carried.parked)
        return SetBack(good, tuple(subjects[oid] for oid in carried.moved), parked, tuple(lost))


def _beyond(store: Store, good: str, newer: list[str]) -> tuple[list[history.Commit], list[str]]:
    """(the commits beyond a head that can be read, oldest first; what is left to say of the
    others)."""
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
                found[oid] = history.commit(store.git, oid)
                for path, _, new in found[oid].changes:
                    if new and store.git.object(new) is None:
                        raise Damaged(f"{path} is gone")
                store.snapshot(above).names("")
            except (AtlasError, LookupError):
                found.pop(oid, None)
                entry = store.git.object(oid)
                said = (
                    parse(entry[2].decode(errors="replace").partition("\n\n")[2]) if entry else None
                )
                lost[oid] = (
                    f"{said.subject} (operation {said.operation})"
                    if said
                    else f"the commit {oid[:12]}"
                )
    return list(found.values()), list(lost.values())

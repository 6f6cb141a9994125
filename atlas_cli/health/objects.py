"""Objects and packs that are gone or spoilt, had again from where the store is shared through."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from ..sharing.remote import CALL, INCOMING, Away, Remote
from ..store.git import Git
from ..store.repo import Repo
from ..store.store import Store, sync_folders

_HEX = re.compile(r"[0-9a-f]+\Z")
_PACK = re.compile(r"\bpack-[0-9a-f]{40,64}\b")


def loose(store: Store) -> Iterator[Path]:
    """The files of single objects (not those that are just being written)."""
    for file in (store.home / "store.git/objects").glob("[0-9a-f][0-9a-f]/*"):
        if len(file.name) == store.place.width - 2 and _HEX.match(file.name):
            yield file


def broken_files(store: Store) -> list[Path]:
    """The files of single objects that are not what their name says."""
    return [file for file in loose(store) if not _sound(file)]


def _sound(file: Path) -> bool:
    """Whether a file holds the object that it is named after. It is read a piece at a time: a small
    file may hold a very large object."""
    name = file.parent.name + file.name
    digest = hashlib.sha256() if len(name) == 64 else hashlib.sha1()
    inflate = zlib.decompressobj()
    try:
        with file.open("rb") as data:
            while piece := data.read(65_536):
                while piece:
                    digest.update(inflate.decompress(piece, 1 << 20))
                    piece = inflate.unconsumed_tail
            digest.update(inflate.flush())
    except zlib.error:
        return False
    except OSError:  # it has just gone, or is not ours to read: nothing of it is known to be wrong
        return True
    return inflate.eof and digest.hexdigest() == name


def put_aside(store: Store, spoilt: Iterable[Path]) -> None:
    """Puts files of objects out of git's sight, and keeps them."""
    away = store.home / "broken-objects"
    for file in spoilt:
        away.mkdir(exist_ok=True)
        with suppress(FileNotFoundError):
            file.replace(away / f"{file.parent.name}{file.name}")
    store.git.close()


def faults(store: Store) -> tuple[list[str], list[str]]:
    """(what git cannot read, what it reads and would not have written), as git's own check says it
    of objects."""
    store.git.close()
    code, out, err = store.git.ask(
        "fsck", "--full", "--no-reflogs", "--no-dangling", "--no-progress", timeout=600
    )
    said_aside = ("hint:", "dangling ", "notice:", "warning:")
    lines = []
    for line in (out.decode(errors="replace") + "\n" + err).split("\n"):
        of_object = "refs/" not in line and "HEAD" not in line
        if line.strip() and of_object and not line.startswith(said_aside):
            lines.append(line)
    odd = [line for line in lines if line.startswith(("error in ", "warning in "))]
    bad = [line for line in lines if line not in odd]
    if code > 63 and not lines:  # it was ended
        bad = [f"git fsck failed ({code})"]
    return bad, odd


def indexed(store: Store) -> None:
    """Gives each pack whose index is gone one again: without it git sees nothing of the pack."""
    for pack in (store.home / "store.git/objects/pack").glob("pack-*.pack"):
        if not pack.with_suffix(".idx").exists():
            store.git.ask("index-pack", str(pack))
    store.git.close()


def unpacked(store: Store, lines: Iterable[str]) -> None:
    """Makes single objects of all that can be read of packs that git says are broken; then the
    packs are put aside. (In this order: whenever it is ended, git sees what can be read.)"""
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


def fetched_anew(store: Store, remotes: Iterable[Remote]) -> tuple[str, str]:
    """Fetches everything that one of these remotes has into an empty repository, and puts its
    objects beside ours: (from where, the head there). (This repository would ask for nothing: git
    believes that it has what is behind a commit.) Raises Away if none of them has it."""
    aside = store.home / f"store.git.{os.getpid()}"
    why = "there is no remote to fetch them from"
    tried = ""
    for remote in remotes:
        shutil.rmtree(aside, ignore_errors=True)
        try:
            _init(store.place, aside)
            head = _fetched_into(remote, aside)
            if not head:
                why = f"the branch {remote.branch} is not on {remote.name}"
                continue
            _beside(aside / "objects", store.home / "store.git/objects")
        except Away as error:
            why = error.message
            tried = f" ({why})"
        else:
            store.git.close()
            return f"{remote.name}{tried}", head
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    raise Away(why)


def _fetched_into(remote: Remote, folder: Path) -> str:
    """Fetches a remote's branch into another repository: its head there; empty if there is none."""
    git = remote.git
    own, git.directory = git.directory, str(folder)
    git.close()
    try:
        head = git.object(INCOMING) if remote.fetch(CALL) else None
        return head[0] if head else ""
    finally:
        git.close()
        git.directory = own


def _beside(theirs: Path, ours: Path) -> None:
    """Puts their packs and single objects beside ours. A pack's index comes last, so that none is
    seen without its pack."""
    files = sorted((theirs / "pack").glob("pack-*"), key=lambda file: file.suffix == ".idx")
    for file in [*files, *theirs.glob("[0-9a-f][0-9a-f]/*")]:
        target = ours / file.relative_to(theirs)
        if not target.exists():
            target.parent.mkdir(exist_ok=True)
            file.replace(target)
    sync_folders(ours / "pack", ours)


def _init(place: Repo, folder: Path) -> None:
    form = "sha256" if place.width == 64 else "sha1"
    Git(None).run(
        "init", "--quiet", "--bare", "--template=", f"--object-format={form}", "--", str(folder)
    )

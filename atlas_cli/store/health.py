"""What can be wrong with a store, and what can be repaired without asking anybody."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import NamedTuple

from . import BRANCH, files
from .store import Store, sync_folders

_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "afs", "glusterfs")


class Check(NamedTuple):
    """One look: `state` is ok, warn, bad or fixed."""

    what: str
    state: str
    text: str


def checks(store: Store, fix: bool) -> list[Check]:
    """All looks at the repository beneath the records, in the order in which they are repaired. Where git sees no
    repository there is nothing more to look at."""
    shape = _shape(store, fix)
    if shape.state == "bad":
        return [shape]
    return [
        shape, _git(store), _disk(store), _locks(store, fix), _litter(store, fix), _empty(store, fix),
        _branch(store, fix), _objects(store),
    ]  # fmt: skip


def _shape(store: Store, fix: bool) -> Check:
    """What git takes a folder for a repository by."""
    home = store.home / "store.git"
    head = home / "HEAD"
    lost = [name for name in ("objects", "refs") if not (home / name).is_dir()]
    lost += [] if head.is_file() and head.read_bytes().strip() else ["HEAD"]
    if not lost:
        return Check("repository", "ok", str(home))
    text = f"{', '.join(f'{home}/{name}' for name in lost)}: not there, so that git sees no repository"
    if not fix:
        return Check("repository", "bad", text)
    for name in lost:
        if name == "HEAD":
            head.write_text(f"ref: {BRANCH}\n")
        else:
            (home / name).mkdir()
    return Check("repository", "fixed", text)


def _git(store: Store) -> Check:
    version = store.git.run("version").decode().split()[2]
    numbers = [int(part) if part.isdecimal() else 0 for part in version.split(".")[:2]]
    if numbers < [2, 31]:
        return Check("git", "bad", f"git {version} is too old: 2.31 or newer")
    if numbers < [2, 36]:
        return Check("git", "warn", f"git {version} cannot sync refs: a power cut may take the last writes")
    return Check("git", "ok", f"git {version}")


def _disk(store: Store) -> Check:
    """Kernel locks and exclusive creation are not to be trusted across hosts on a network file system."""
    kind = ""
    try:
        mounts = Path("/proc/self/mounts").read_text().split("\n")
        best = ""
        for line in mounts:
            parts = line.split()
            if (
                len(parts) > 2
                and f"{store.home}/".startswith(parts[1].rstrip("/") + "/")
                and len(parts[1]) >= len(best)
            ):
                best, kind = parts[1], parts[2]
    except OSError:
        return Check("disk", "ok", "the kind of file system is unknown here")
    if kind in _NETWORK:
        return Check("disk", "warn", f"{store.home} lies on {kind}: several hosts on one directory are not supported")
    free = os.statvfs(store.home)
    room = free.f_bavail * free.f_frsize
    return Check("disk", "warn" if room < 50_000_000 else "ok", f"{kind}, {room // 1_000_000:,} MB free")


def _locks(store: Store, fix: bool) -> Check:
    """Lock files of git that are older than any call of ours takes."""
    found = []
    for file in (store.home / "store.git").rglob("*.lock"):
        age = time.time() - file.stat().st_mtime
        if age > 60:
            found.append(f"{file.relative_to(store.home)} ({age:.0f} s old)")
            if fix:
                file.replace(store.home / "stale.lock")
    if not found:
        return Check("locks", "ok", "no lock was left behind")
    return Check("locks", "fixed" if fix else "warn", f"{', '.join(found)}: left by a git that died")


def _litter(store: Store, fix: bool) -> Check:
    """What killed commands left half made beside the store and in the view."""
    here = [one for one in (store.home, store.place.common / "hooks", store.place.top, store.place.view) if one]
    places = [(store.home, "store.git.*"), *((folder, f"{files.PART}*") for folder in here)]
    places += [(store.home, name) for name in ("machine.*", "hooks.txt.*")]  # (as earlier versions named them)
    places += [(store.place.view, ".part-*")] if store.place.view else []
    found = [
        path for folder, name in places for path in folder.glob(name) if time.time() - path.lstat().st_mtime > 3600
    ]
    if not found:
        return Check("litter", "ok", "nothing was left half made")
    for path in found if fix else ():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    return Check(
        "litter", "fixed" if fix else "warn", f"{', '.join(path.name for path in found)}: left by a killed command"
    )


def _empty(store: Store, fix: bool) -> Check:
    """Objects that a power cut emptied: git believes it has them, so they must go before they can be written again."""
    found = [file for file in (store.home / "store.git/objects").glob("??/*") if file.stat().st_size == 0]
    if not found:
        return Check("objects", "ok", "no emptied object")
    if fix:
        for file in found:
            file.unlink()
    names = ", ".join(f"{file.parent.name}{file.name}" for file in found[:3])
    return Check("objects", "fixed" if fix else "bad", f"{len(found)} emptied objects: {names}")


def _branch(store: Store, fix: bool) -> Check:
    store.git.close()
    found = store.git.object(BRANCH)
    if found is not None and found[1] == "commit" and _whole(store, found[0]):
        return Check("branch", "ok", f"at {found[0][:12]}")
    good = next((oid for oid in _heads(store) if _whole(store, oid)), None)
    if good is None:
        return Check("branch", "bad", "missing or broken, and no whole commit was found in its reflog or in the index")
    if not fix:
        return Check("branch", "bad", f"missing or broken; the last head that is whole is {good[:12]}")
    for name in (f"store.git/{BRANCH}", f"store.git/{BRANCH}.lock"):
        file = store.home / name
        if file.exists():
            file.replace(store.home / "broken-branch")
    store.git.run("update-ref", "--no-deref", BRANCH, good, options=["core.fsync=all"])
    sync_folders(store.home / "store.git/refs/heads")
    return Check("branch", "fixed", f"set to {good[:12]}, the last head that is whole")


def _heads(store: Store) -> list[str]:
    """Where the branch was, newest first: its reflog, then the index."""
    found: list[str] = []
    log = store.home / "store.git/logs" / BRANCH
    if log.exists():
        lines = log.read_text(errors="replace").split("\n")
        found += [line.split(" ")[1] for line in reversed(lines) if len(line.split(" ")) > 2]
    indexed = store.index.meta("head")
    return found + ([indexed] if indexed else [])


def _whole(store: Store, oid: str) -> bool:
    """Whether a commit and all of its tree are there."""
    code, out, _ = store.git.ask("rev-list", "--objects", "--missing=print", "--no-walk", oid, "--")
    return code == 0 and not any(line.startswith(b"?") for line in out.split(b"\n"))


def _objects(store: Store) -> Check:
    code, out, err = store.git.ask("fsck", "--strict", "--no-dangling", "--no-progress", timeout=600)
    bad = [line for line in (out.decode(errors="replace") + err).split("\n") if line and "dangling" not in line]
    if code:
        return Check("fsck", "bad", "; ".join(bad[:3]) or f"git fsck failed ({code})")
    return Check("fsck", "ok", "every object is whole")

"""What can be wrong with a store, and what can be repaired without asking anybody."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ..errors import AtlasError
from ..hooks.install import ASIDE, HookFiles, unfinished_hook
from ..sharing.outbox import LAID
from ..sharing.remote import Remote
from ..store import BRANCH, REMOTE, files, lock, transports
from ..store.branch import aside
from ..store.git import Git
from ..store.repo import state
from ..store.store import Store, configuration
from . import recovery

_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "afs", "glusterfs")


class Check(NamedTuple):
    """One look: `state` is ok, warn, bad or fixed."""

    what: str
    state: str
    text: str


def checks(store: Store, remotes: Sequence[Remote], fix: bool) -> list[Check]:
    """All looks at the repository beneath the records, in the order in which they are repaired:
    none of them keeps the next from its work, but where git sees no repository. `remotes`: where
    what is missing may be had from."""
    shape = _shape(store, fix)
    if shape.state == "bad":
        return [shape]
    looks = [
        shape,
        _config(store, fix),
        _git(store),
        _disk(store),
        _locks(store, fix),
        _litter(store, fix),
    ]
    looks += [
        _packed(store, fix),
        *_objects(store, remotes, fix),
        _refs(store, fix),
        _branch(store, remotes, fix),
    ]
    if (
        looks[-1].state == "fixed" and not recovery.faults(store)[0]
    ):  # what is missing, nothing needs any more
        looks = [
            look._replace(state="fixed") if (look.what, look.state) == ("objects", "bad") else look
            for look in looks
        ]
    return looks


def _shape(store: Store, fix: bool) -> Check:
    """What git takes a folder for a repository by."""
    home = store.home / "store.git"
    head = home / "HEAD"
    lost = [name for name in ("objects", "refs") if not (home / name).is_dir()]
    lost += (
        []
        if head.is_file() and head.read_bytes().strip() == f"ref: {BRANCH}".encode()
        else ["HEAD"]
    )
    if not lost:
        return Check("repository", "ok", str(home))
    text = (
        f"{', '.join(f'{home}/{name}' for name in lost)}: not there as it should be, so that git"
        " sees no repository"
    )
    if not fix:
        return Check("repository", "bad", text)
    for name in lost:
        if name == "HEAD":
            head.write_text(f"ref: {BRANCH}\n")
        else:
            (home / name).mkdir()
    return Check("repository", "fixed", text)


def _config(store: Store, fix: bool) -> Check:
    """What git obeys in the store: what Atlas wrote, and nothing that came with the folder."""
    file = store.home / "store.git/config"
    line = transports.foreign(str(file.parent))
    if not line:
        return Check("configuration", "ok", str(file))
    text = f"{file} holds what Atlas did not write ({line})"
    if not fix:
        return Check("configuration", "bad", text)
    kept = file.read_bytes()
    files.put(store.home / "config.aside", kept)
    files.put(file, configuration(store.place.width).encode())
    return Check(
        "configuration", "fixed", f"{text}: kept as {store.home / 'config.aside'}, and written anew"
    )


def _git(store: Store) -> Check:
    version = store.git.run("version").decode().split()[2]
    numbers = [int(part) if part.isdecimal() else 0 for part in version.split(".")[:2]]
    if numbers < [2, 31]:
        return Check("git", "bad", f"git {version} is too old: 2.31 or newer")
    if numbers < [2, 36]:
        return Check(
            "git", "warn", f"git {version} cannot sync refs: a power cut may take the last writes"
        )
    return Check("git", "ok", f"git {version}")


def _disk(store: Store) -> Check:
    """Kernel locks and exclusive creation are not to be trusted across hosts on a network file
    system."""
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
        return Check(
            "disk",
            "warn",
            f"{store.home} lies on {kind}: several hosts on one directory are not supported",
        )
    free = os.statvfs(store.home)
    room = free.f_bavail * free.f_frsize
    return Check(
        "disk", "warn" if room < 50_000_000 else "ok", f"{kind}, {room // 1_000_000:,} MB free"
    )


def _locks(store: Store, fix: bool) -> Check:
    """Lock files of git that are older than any call of ours takes."""
    found = []
    for file in (store.home / "store.git").rglob("*.lock"):
        age = time.time() - file.stat().st_mtime
        if age > 60:
            found.append(f"{file.relative_to(store.home)} ({age:.0f} s old)")
            if fix:
                aside(file, store.home, age)
    if not found:
        return Check("locks", "ok", "no lock was left behind")
    return Check(
        "locks", "fixed" if fix else "warn", f"{', '.join(found)}: left by a git that died"
    )


def _litter(store: Store, fix: bool) -> Check:
    """What killed commands left half made."""
    found = [path for path in dict.fromkeys(_unfinished(store)) if _idle(path) > 3600]
    if not found:
        return Check("litter", "ok", "nothing was left half made")
    for path in found if fix else ():
        (
            shutil.rmtree(path)
            if path.is_dir() and not path.is_symlink()
            else path.unlink(missing_ok=True)
        )
    return Check(
        "litter",
        "fixed" if fix else "warn",
        f"{', '.join(path.name for path in found)}: left by a killed command",
    )


def _unfinished(store: Store) -> Iterator[Path]:
    """What bears an unfinished file's name wherever Atlas writes: in its own folders, beside git's
    hooks, and in the worktree."""
    place, home = store.place, store.home
    for folder in (home, home / "store.git", state() / "stores"):
        yield from (path for path in _listed(folder) if files.unfinished(path.name, ours=True))
    hooks = {HookFiles(place).folder, place.common / "hooks"}
    for folder in (*hooks, *(folder / ASIDE for folder in hooks), home / "drafts", home / LAID[0]):
        yield from (
            path for path in _listed(folder) if files.unfinished(path.name) or unfinished_hook(path)
        )
    if place.top is not None:
        git, names = (
            Git(None, str(place.top), hermetic=False),
            [f"**/{files.PART}*", "**/.*.atlas-*", ".atlas/.part-*"],
        )
        asked = ("ls-files", "--others", "-z", "--", *(f":(glob){name}" for name in names))
        paths = git.ask(*asked, extra={"GIT_LITERAL_PATHSPECS": "0"})[1].split(b"\0")
        found = [place.top / os.fsdecode(path) for path in paths if path]
        yield from (path for path in found if files.unfinished(path.name))


def _idle(path: Path) -> float:
    """Seconds since a file was written; 0 for one that has just gone."""
    with suppress(FileNotFoundError):
        return time.time() - path.lstat().st_mtime
    return 0.0


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:  # there is none
        return []


def _packed(store: Store, fix: bool) -> Check:
    """A line that is none makes git refuse all of them."""
    if recovery.packed_is_whole(store):
        return Check("packed refs", "ok", "each line is a ref")
    if fix:
        recovery.drop(store, [])
    return Check("packed refs", "fixed" if fix else "bad", "packed-refs holds what is no ref")


def _refs(store: Store, fix: bool) -> Check:
    """What the clone knows of others is fetched anew; what was parked under such a ref is named."""
    back = recovery.brought_back(store) if fix else []
    found = recovery.broken_refs(store)
    what = [f"{name} is back" for name in back] + [
        f"{name} names no commit that is here" for name in found
    ]
    if not what:
        return Check("refs", "ok", "each names a commit that is here")
    if fix:
        recovery.remembered(store, found)
        recovery.drop(store, found)
    text = "; ".join(what) + (
        "; taken away (what was parked comes back with its objects)" if fix and found else ""
    )
    return Check("refs", "fixed" if fix else "bad", text)


def _objects(store: Store, remotes: Sequence[Remote], fix: bool) -> list[Check]:
    """Objects that a power cut emptied or a disk spoilt: git believes it has them, so they must go
    before they can come again. What git reads, and would not have written, is history: it stands in
    the way of nothing."""
    if fix:
        recovery.indexed(store)
    spoilt = recovery.broken_files(store)
    if fix:
        recovery.put_aside(store, spoilt)
    bad, odd = recovery.faults(store)
    if bad:  # (it may have looked while something was being written)
        with lock.held(store.home / "publish.lock"), lock.held(store.home / "writer.lock"):
            bad, odd = recovery.faults(store)
    names = ", ".join(f"{file.parent.name}{file.name}" for file in spoilt[:3])
    found = [f"{len(spoilt)} objects are emptied or broken: {names}"] if spoilt else []
    looks = (
        [Check("fsck", "warn", f"history holds what git would not write: {'; '.join(odd[:3])}")]
        if odd
        else []
    )
    if not bad:
        if fix and any("missing or broken" in text for _, text in store.index.damaged()):
            store.index.drop()  # they have come back since
        state, text = (
            ("fixed" if fix else "bad", found[0])
            if found
            else ("ok", "every object is here and whole")
        )
        return [Check("objects", state, text), *looks]
    text = "; ".join([*found, *bad[:3]])
    if not fix:
        return [Check("objects", "bad", text), *looks]
    recovery.unpacked(store, bad)
    try:
        where, _ = recovery.fetched_anew(store, remotes)
    except AtlasError as error:
        return [
            Check("objects", "bad", f"{text}; they cannot be fetched anew: {error.message}"),
            *looks,
        ]
    left, _ = recovery.faults(store)
    done = f"{text}; fetched anew from {where}"
    if left:
        return [Check("objects", "bad", f"{done}; still: {'; '.join(left[:3])}"), *looks]
    store.index.drop()  # it may have noted that they are missing
    return [Check("objects", "fixed", done), *looks]


def _branch(store: Store, remotes: Sequence[Remote], fix: bool) -> Check:
    store.git.close()
    found = store.git.object(BRANCH)
    now = found[0] if found and found[1] == "commit" else ""
    if now and recovery.usable(store, now) and recovery.publishable(store, now):
        return Check("branch", "ok", f"at {now[:12]}")
    known = store.ref(REMOTE)
    if now and remotes and known and not recovery.usable(store, known):
        where = remotes[0].name
        return Check(
            "branch",
            "bad",
            f"folders are missing that {where} has: it stays, until they can be fetched anew",
        )
    there = list(dict.fromkeys([*([now] if now else []), *recovery.heads(store)]))
    good = next(
        (oid for oid in there if recovery.usable(store, oid) and recovery.publishable(store, oid)),
        None,
    )
    if good is None and fix:
        with suppress(AtlasError):
            there.append(recovery.fetched_anew(store, remotes)[1])
            good = next((oid for oid in there if recovery.usable(store, oid)), None)
    if good is None:
        return Check(
            "branch",
            "bad",
            "missing or broken, and no whole commit was found in its reflog or in the index",
        )
    if not fix:
        return Check(
            "branch",
            "bad",
            f"missing, broken or with a hole; the last head that is whole is {good[:12]}",
        )
    done = recovery.set_back(store, good, there[: there.index(good)])
    text = f"set to {good[:12]}, the last head whose folders are all here"
    beyond = {
        "carried over": done.carried,
        "parked": done.parked,
        "unreadable, and gone": done.lost,
    }
    text += "".join(
        f"; {what}: {', '.join(subjects)}" for what, subjects in beyond.items() if subjects
    )
    return Check("branch", "fixed", text)

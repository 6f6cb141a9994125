"""The looks at a store beneath its records, each with the repair that needs nobody's word."""

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
from ..visible import many
from . import objects, refs
from .beyond import usable

_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "afs", "glusterfs")


class Look(NamedTuple):
    """The outcome of one look: `state` is ok, warn, bad or fixed."""

    what: str
    state: str
    text: str


def checks(store: Store, remotes: Sequence[Remote], fix: bool) -> list[Look]:
    """All looks at the repository beneath the records, in the order in which they are repaired.
    None of them keeps the next from its work, unless git sees no repository. `remotes`: where
    missing objects may be had from."""
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
        _packed(store, fix),
        *_objects(store, remotes, fix),
        _refs(store, fix),
        _branch(store, remotes, fix),
    ]
    if looks[-1].state == "fixed" and not objects.faults(store)[0]:
        # Nothing needs what is missing any more.
        for at, look in enumerate(looks):
            if look.what == "objects" and look.state == "bad":
                looks[at] = look._replace(state="fixed")
    return looks


def _shape(store: Store, fix: bool) -> Look:
    """The files and folders by which git takes a folder for a repository."""
    home = store.home / "store.git"
    head = home / "HEAD"
    lost = [name for name in ("objects", "refs") if not (home / name).is_dir()]
    if not head.is_file() or head.read_bytes().strip() != f"ref: {BRANCH}".encode():
        lost.append("HEAD")
    if not lost:
        return Look("repository", "ok", str(home))
    names = ", ".join(f"{home}/{name}" for name in lost)
    text = f"{names}: not there as it should be, so that git sees no repository"
    if not fix:
        return Look("repository", "bad", text)
    for name in lost:
        if name == "HEAD":
            head.write_text(f"ref: {BRANCH}\n")
        else:
            (home / name).mkdir()
    return Look("repository", "fixed", text)


def _config(store: Store, fix: bool) -> Look:
    """The settings that git obeys in the store: those that Atlas wrote, and none that came with the
    folder."""
    file = store.home / "store.git/config"
    line = transports.foreign(str(file.parent))
    if not line:
        return Look("configuration", "ok", str(file))
    text = f"{file} holds what Atlas did not write ({line})"
    if not fix:
        return Look("configuration", "bad", text)
    aside_file = store.home / "config.aside"
    files.put(aside_file, file.read_bytes())
    files.put(file, configuration(store.place.width).encode())
    return Look("configuration", "fixed", f"{text}: kept as {aside_file}, and written anew")


def _git(store: Store) -> Look:
    """The version of git."""
    version = store.git.run("version").decode().split()[2]
    numbers = [int(part) if part.isdecimal() else 0 for part in version.split(".")[:2]]
    if numbers < [2, 31]:
        return Look("git", "bad", f"git {version} is too old: 2.31 or newer")
    if numbers < [2, 36]:
        text = f"git {version} cannot sync refs: a power cut may take the last writes"
        return Look("git", "warn", text)
    return Look("git", "ok", f"git {version}")


def _disk(store: Store) -> Look:
    """The file system and its room. Kernel locks and exclusive creation are not to be trusted
    across hosts on a network file system."""
    try:
        kind = _file_system(store.home)
    except OSError:
        return Look("disk", "ok", "the kind of file system is unknown here")
    if kind in _NETWORK:
        text = f"{store.home} lies on {kind}: several hosts on one directory are not supported"
        return Look("disk", "warn", text)
    free = os.statvfs(store.home)
    room = free.f_bavail * free.f_frsize
    state = "warn" if room < 50_000_000 else "ok"
    return Look("disk", state, f"{kind}, {room // 1_000_000:,} MB free")


def _file_system(folder: Path) -> str:
    """The kind of file system that a folder lies on, by the longest mount point above it."""
    kind, best = "", ""
    for line in Path("/proc/self/mounts").read_text().split("\n"):
        words = line.split()
        if len(words) < 3:
            continue
        above = f"{folder}/".startswith(words[1].rstrip("/") + "/")
        if above and len(words[1]) >= len(best):
            best, kind = words[1], words[2]
    return kind


def _locks(store: Store, fix: bool) -> Look:
    """Lock files of git that are older than any call of ours takes."""
    left = []
    for file in (store.home / "store.git").rglob("*.lock"):
        age = time.time() - file.stat().st_mtime
        if age > 60:
            left.append(f"{file.relative_to(store.home)} ({age:.0f} s old)")
            if fix:
                aside(file, store.home, age)
    if not left:
        return Look("locks", "ok", "no lock was left behind")
    state = "fixed" if fix else "warn"
    return Look("locks", state, f"{', '.join(left)}: left by a git that died")


def _litter(store: Store, fix: bool) -> Look:
    """Files and folders that killed commands left half made."""
    paths = [path for path in dict.fromkeys(_unfinished(store)) if _idle(path) > 3600]
    if not paths:
        return Look("litter", "ok", "nothing was left half made")
    for path in paths if fix else ():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    state = "fixed" if fix else "warn"
    names = ", ".join(path.name for path in paths)
    return Look("litter", state, f"{names}: left by a killed command")


def _unfinished(store: Store) -> Iterator[Path]:
    """The paths that bear an unfinished file's name wherever Atlas writes: in its own folders,
    beside git's hooks, and in the worktree."""
    place, home = store.place, store.home
    for folder in (home, home / "store.git", state() / "stores"):
        yield from (path for path in _listed(folder) if files.unfinished(path.name, ours=True))
    hooks = {HookFiles(place).folder, place.common / "hooks"}
    for folder in (*hooks, *(folder / ASIDE for folder in hooks), home / "drafts", home / LAID[0]):
        for path in _listed(folder):
            if files.unfinished(path.name) or unfinished_hook(path):
                yield path
    if place.top is not None:
        git = Git(None, str(place.top), hermetic=False)
        names = [f"**/{files.PART}*", "**/.*.atlas-*", ".atlas/.part-*"]
        asked = ("ls-files", "--others", "-z", "--", *(f":(glob){name}" for name in names))
        listed = git.ask(*asked, extra={"GIT_LITERAL_PATHSPECS": "0"})[1].split(b"\0")
        paths = [place.top / os.fsdecode(path) for path in listed if path]
        yield from (path for path in paths if files.unfinished(path.name))


def _idle(path: Path) -> float:
    """Seconds since a file was written; 0 if it has just gone."""
    with suppress(FileNotFoundError):
        return time.time() - path.lstat().st_mtime
    return 0.0


def _listed(folder: Path) -> list[Path]:
    """The paths in a folder; empty if there is none."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _packed(store: Store, fix: bool) -> Look:
    """The lines of packed-refs. One that is no ref makes git refuse all of them."""
    if refs.packed_is_whole(store):
        return Look("packed refs", "ok", "each line is a ref")
    if fix:
        refs.drop(store, [])
    return Look("packed refs", "fixed" if fix else "bad", "packed-refs holds what is no ref")


def _refs(store: Store, fix: bool) -> Look:
    """The refs besides the branch. A copy of others' refs is fetched anew; a write that was parked
    under such a ref is named."""
    back = refs.brought_back(store) if fix else []
    broken = refs.broken_refs(store)
    lines = [f"{name} is back" for name in back]
    lines += [f"{name} names no commit that is here" for name in broken]
    if not lines:
        return Look("refs", "ok", "each names a commit that is here")
    text = "; ".join(lines)
    if fix:
        refs.remembered(store, broken)
        refs.drop(store, broken)
        if broken:
            text += "; taken away (what was parked comes back with its objects)"
    return Look("refs", "fixed" if fix else "bad", text)


def _objects(store: Store, remotes: Sequence[Remote], fix: bool) -> list[Look]:
    """The objects. Of those that a power cut emptied or a disk spoilt, git believes that it has
    them: they must go before they can come again. Those that git reads, and would not have written,
    are history and stand in the way of nothing."""
    if fix:
        objects.indexed(store)
    spoilt = objects.broken_files(store)
    if fix:
        objects.put_aside(store, spoilt)
    bad, odd = objects.faults(store)
    if bad:  # (it may have looked while something was being written)
        with lock.held(store.home / "publish.lock"), lock.held(store.home / "writer.lock"):
            bad, odd = objects.faults(store)
    texts = []
    if spoilt:
        names = ", ".join(f"{file.parent.name}{file.name}" for file in spoilt[:3])
        texts.append(f"{many(len(spoilt), 'object')} emptied or broken: {names}")
    look = _refetched(store, remotes, bad, texts, fix) if bad else _present(store, texts, fix)
    if not odd:
        return [look]
    text = f"history holds what git would not write: {'; '.join(odd[:3])}"
    return [look, Look("fsck", "warn", text)]


def _present(store: Store, texts: list[str], fix: bool) -> Look:
    """The look at objects of which git misses none. `texts`: what was spoilt, and was no loss."""
    if fix and any("missing or broken" in text for _, text in store.index.damaged()):
        store.index.drop()  # they have come back since
    if texts:
        return Look("objects", "fixed" if fix else "bad", texts[0])
    return Look("objects", "ok", "every object is here and whole")


def _refetched(
    store: Store, remotes: Sequence[Remote], bad: list[str], texts: list[str], fix: bool
) -> Look:
    """The look at objects of which git misses some. They are fetched anew."""
    text = "; ".join([*texts, *bad[:3]])
    if not fix:
        return Look("objects", "bad", text)
    objects.unpacked(store, bad)
    try:
        where, _ = objects.fetched_anew(store, remotes)
    except AtlasError as error:
        text += f"; they cannot be fetched anew: {error.message}"
        return Look("objects", "bad", text)
    left, _ = objects.faults(store)
    text += f"; fetched anew from {where}"
    if left:
        return Look("objects", "bad", f"{text}; still: {'; '.join(left[:3])}")
    store.index.drop()  # it may have noted that they are missing
    return Look("objects", "fixed", text)


def _branch(store: Store, remotes: Sequence[Remote], fix: bool) -> Look:
    """The branch: its head can be gone on from and published, or it is set back to one that can."""
    store.git.close()
    entry = store.git.object(BRANCH)
    head = entry[0] if entry and entry[1] == "commit" else ""
    if head and _is_whole(store, head):
        return Look("branch", "ok", f"at {head[:12]}")
    known = store.ref(REMOTE)
    if head and remotes and known and not usable(store, known):
        name = remotes[0].name
        text = f"folders are missing that {name} has: it stays, until they can be fetched anew"
        return Look("branch", "bad", text)
    heads = dict.fromkeys([head, *refs.heads(store)])
    candidates = [oid for oid in heads if oid]
    good = next((oid for oid in candidates if _is_whole(store, oid)), None)
    if good is None and fix:
        with suppress(AtlasError):
            candidates.append(objects.fetched_anew(store, remotes)[1])
            good = next((oid for oid in candidates if usable(store, oid)), None)
    if good is None:
        text = "missing or broken, and no whole commit was found in its reflog or in the index"
        return Look("branch", "bad", text)
    if not fix:
        text = f"missing, broken or with a hole; the last head that is whole is {good[:12]}"
        return Look("branch", "bad", text)
    done = refs.set_back(store, good, candidates[: candidates.index(good)])
    text = f"set to {good[:12]}, the last head whose folders are all here"
    beyond = {
        "carried over": done.carried,
        "parked": done.parked,
        "unreadable, and gone": done.lost,
    }
    for what, subjects in beyond.items():
        if subjects:
            text += f"; {what}: {', '.join(subjects)}"
    return Look("branch", "fixed", text)


def _is_whole(store: Store, oid: str) -> bool:
    """Whether a head can be gone on from, and published."""
    return usable(store, oid) and refs.publishable(store, oid)

"""Packing the store: a write leaves a few loose objects, and many of them cost time and room."""

from __future__ import annotations

import subprocess

from .git import Git
from .store import Store

LOOSE = 6700  # objects from which on packing them is worth while (git's own figure)


def pack_loose(store: Store) -> None:
    """Packs the loose objects in the background, once they are many. The objects that were packed
    are deleted, and nothing else."""
    sample = store.home / "store.git/objects/17"  # the ids are spread evenly over 256 folders
    if not sample.is_dir() or len(list(sample.iterdir())) * 256 < LOOSE:
        return
    _started(store.git, "git repack -q && git prune-packed -q", "core.fsync=all")


def pack_borrower(git: Git) -> None:
    """Makes one pack, in the background, of what a repository has beyond what it borrows and still
    needs."""
    _started(git, "git repack -a -d -l -q", "core.fsync=none")


def _started(git: Git, tidy: str, sync: str) -> None:
    argv = git.argv(("tidy",), (f"alias.tidy=!{tidy}", sync))
    try:
        subprocess.Popen(
            argv,
            env=git.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return  # another time: the write is done

"""The looks at what this clone keeps beside the store: whose its files are, its notebook, its
machine's id, and its clock."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from ..answers import clock
from ..env.env import Env
from ..errors import AtlasError
from ..store.notebook import FILE
from ..store.store import Store
from .looks import Look


def looks(env: Env, fix: bool) -> list[Look]:
    """The looks at a clone whose store can be read."""
    return [_files(env.store), _notebook(env), _machine(env.store, fix), _clock(env)]


def _files(store: Store) -> Look:
    """Whether the caller may write what Atlas keeps: after a command by another user, such as by
    sudo, some of it is not the caller's any more."""
    folder, objects = store.home / "store.git", store.home / "store.git/objects"
    all_of = [store.home, *_below(store.home), *_below(folder), *_below(objects)]
    # Files are renamed into their place; only a folder, and what SQLite keeps, is written itself.
    written = [path for path in all_of if path.is_dir() or ".sqlite" in path.name]
    barred = [path for path in written if not os.access(path, os.W_OK)]
    if not barred:
        return Look("permissions", "ok", "all of it can be written")
    if store.home in barred:
        return Look("permissions", "warn", f"{store.home} cannot be written: writes wait elsewhere")
    text = (
        f"{len(barred)} of {len(written)} files and folders cannot be written, such as {barred[0]}"
    )
    return Look(
        "permissions", "bad", f'{text}: sudo chown -R "$USER" {shlex.quote(str(store.home))}'
    )


def _below(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _notebook(env: Env) -> Look:
    """Whether what sessions were told, and which is the caller's, is kept for the next command."""
    file = env.store.home / FILE
    if not env.local.keeps:
        text = f"{file} cannot be used: what is read or begun here is asked for again"
        return Look("notebook", "bad", text)
    return Look("notebook", "ok", str(file))


def _machine(store: Store, fix: bool) -> Look:
    """Whether this machine has an id, by which its leases are told from another's."""
    file = store.home / "machine"
    if known := store.kept_machine():
        return Look("machine", "ok", known)
    what = "holds no id" if file.exists() else "is not there"
    if fix:
        return Look("machine", "fixed", f"{file} {what}: made anew, {store.machine}")
    return Look("machine", "warn", f"{file} {what}: the next write makes it anew")


def _clock(env: Env) -> Look:
    """Whether the clock agrees with the newest commits."""
    try:
        notices = clock.ahead(env.ask, env.store.kept_machine(), None, None)
    except AtlasError as error:  # (what is damaged is named by another look)
        return Look("clock", "warn", f"not compared with the commits: {error.message}")
    if notices:
        return Look("clock", "warn", "; ".join(notices))
    return Look("clock", "ok", "not ahead of the newest commits")

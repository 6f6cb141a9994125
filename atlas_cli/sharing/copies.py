"""This machine's copies of other stores: each a repository with that one remote, in the user's
state folder."""

from __future__ import annotations

import os
import re
import shutil
import time
from functools import partial
from pathlib import Path

from ..errors import AtlasError, Failed, NotFound, NotPublished
from ..model.digests import sha256
from ..store.git import Git
from ..store.repo import Repo, state
from ..store.store import Store
from .joining import join
from .remote import CALL
from .remote_state import RemoteState
from .sharing import AWAY

_WIDE = re.compile(rb"objectformat\s*=\s*sha256", re.IGNORECASE)


def every() -> list[Path]:
    """The folders of all copies."""
    return sorted(store.parents[2] for store in (state() / "stores").glob("*/.git/atlas/store.git"))


def copy(name: str, url: str, offline: bool, wait: float = CALL) -> Path:
    """The folder of this machine's copy of a store. It is made if there is none yet. A caller who
    will not `wait` as long as a call may take does not ask again for a minute.

    Raises NotPublished if the store gives no answer within `wait` seconds, NotFound if there is
    none."""
    folder = state() / "stores" / f"{name}-{sha256(url.encode()).hexdigest()[:12]}"
    if (folder / ".git/atlas/store.git").is_dir():
        return folder
    _repository(folder, name, url)
    repo = place_of(folder)
    memory = RemoteState(Store(repo))
    if wait < CALL and (not wait or time.time() - memory.get("away_at") < AWAY):
        raise NotPublished(
            str(memory.data.get("failed") or f"{name} was never asked from this machine")
        )
    try:
        if join(repo, offline, wait, partial(_formed, folder)):
            memory.put(away_at=0)
            return folder
        if offline:
            raise NotPublished(f"{name} was never asked from this machine, and --offline was given")
        raise NotFound(
            f"{name} ({url}) holds no Atlas store yet",
            "atlas init, in a clone of it, makes one",
            code="no_store",
        )
    except AtlasError as error:
        if not offline:
            repo.home.mkdir(parents=True, exist_ok=True)
            memory.put(away_at=time.time(), failed=error.message)
        if isinstance(error, NotPublished):
            error.hint = "ask it once without it" if offline else "try again when it answers"
        elif error.code == "not_a_store":
            error.hint = "`stores` has to name another address"
        raise


def _repository(folder: Path, name: str, url: str) -> None:
    """A repository with that one remote, which is all that it is for: whole, or not there."""
    if folder.is_dir():
        return
    aside = folder.with_name(f"{folder.name}.{os.getpid()}")
    try:
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        git = Git(None)
        git.run("init", "--quiet", "--template=", "--object-format=sha1", "--", str(aside))
        git.run("config", "--file", str(aside / ".git/config"), f"remote.{name}.url", url)
        aside.rename(folder)
    except OSError as error:
        shutil.rmtree(aside, ignore_errors=True)
        if not folder.is_dir():  # else another command was faster
            raise Failed(
                f"{folder} cannot be made: {error.strerror}", "a copy of the store goes there"
            ) from None


def _formed(folder: Path, width: int) -> Repo:
    """A copy for object ids of this length. Its own repository holds none, and takes on their
    form."""
    config = folder / ".git/config"
    if width == 64 and not _WIDE.search(config.read_bytes()):
        git = Git(None)
        git.run("config", "--file", str(config), "core.repositoryformatversion", "1")
        git.run("config", "--file", str(config), "extensions.objectformat", "sha256")
    return place_of(folder)


def place_of(folder: Path) -> Repo:
    """The repository that an Env on a copy stands in."""
    config = folder / ".git/config"
    wide = config.is_file() and _WIDE.search(config.read_bytes())
    return Repo(folder / ".git", None, "", 64 if wide else 40)

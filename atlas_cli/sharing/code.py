"""A copy of the code that a remote's branches hold, for reading alone: a repository beside the
store, which borrows the objects that the user's has. So no ref, object or setting of the user's
moves, and nothing of theirs is kept alive by it. It is a cache: a broken one is thrown away."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from ..errors import Failed
from ..store import files, transports
from ..store.git import Git
from ..store.housekeeping import pack_borrower
from ..store.store import Store
from .remote import Away, Remote
from .remote_state import RemoteState
from .settings import remotes
from .sharing import FETCH

FOLDER, STATE = "code.git", "code.json"
REFS = "refs/atlas/code/"  # in that folder: a remote's branches, behind its name
APART = 60  # seconds between two fetches
LONG = 600  # seconds that one which nobody waits for may take, and until the next after it failed
SLOW = "more than 3 s are needed: it is fetched meanwhile"
PACKS = 20  # from which on they are made one
HEADS = "refs/heads/"
# What its fetches need not do: nothing of it is missed after a power cut, and each brings a pack.
_CACHE = ("core.fsync=none", "fetch.unpackLimit=1", "fetch.writeCommitGraph=false")


class Look(NamedTuple):
    """A look at a remote's code. `at`: when it last succeeded (0: never). `why`: the reason why the
    newest one brought nothing; empty if it did. `more`: the remote had begun to answer, and what
    it has can be brought while nobody waits."""

    at: float
    why: str
    more: bool = False


class CodeCopy:
    """This clone's copy of the code that its remotes' branches hold."""

    def __init__(self, store: Store) -> None:
        self.store, self.folder = store, store.home / FOLDER
        self.objects = store.place.common / "objects"

    def bring(self, remote: Remote, refspecs: Sequence[str], why: str = "") -> Look:
        """Fetches what the remote has now, for three seconds at most, and once a minute. `why`: the
        reason why the remote is not to be asked. `finish` brings what takes longer: at most one at
        a time, and none for ten minutes after one that failed."""
        now, specs = time.time(), [remote.url, *refspecs]
        known = self._known()
        if known.keys() - remotes(self.store.place, self.store.home).keys() or (
            remote.name in known and known[remote.name].get("specs") != specs
        ):
            self.discard()
            known = {}
        last = known.get(remote.name, {})
        at, asked = float(last.get("at", 0)), float(last.get("asked", 0))
        rest = float(last.get("rest", 0))  # no other `finish` until then
        if asked <= now < asked + APART or (last.get("why") == SLOW and now < rest <= now + LONG):
            return Look(at, str(last.get("why", "")))
        if why:
            return Look(at, why)
        # (Another command may look meanwhile.)
        note = partial(self._note, remote.name, specs=specs, asked=now)
        note(at=at, why="it is being asked", rest=rest)
        try:
            self._fetch(remote, refspecs, FETCH)
        except (Failed, OSError) as error:
            if not self._whole():
                self.discard()
                return Look(0.0, _reason(error))
            more = isinstance(error, Away) and error.begun and not now < rest <= now + LONG
            why, rest = (SLOW, now + LONG) if more else (_reason(error), rest)
            note(at=at, why=why, rest=rest)
            return Look(at, why, more)
        note(at=now, why="")
        return Look(now, "")

    def finish(self, remote: Remote, refspecs: Sequence[str]) -> None:
        """Fetches what the remote has, for as long as that needs, within bounds."""
        now, known = time.time(), self._known().get(remote.name, {})
        note = partial(self._note, remote.name, specs=[remote.url, *refspecs], asked=now)
        try:
            self._fetch(remote, refspecs, LONG)
        except (Failed, OSError) as error:
            note(at=float(known.get("at", 0)), why=_reason(error), rest=time.time() + LONG)
        else:
            note(at=now, why="")

    def _known(self) -> dict[str, dict[str, Any]]:
        """The notes on each remote: its refspecs, when it was asked, when it answered, why not."""
        known = RemoteState(self.store, STATE).data.get("remotes")
        return known if isinstance(known, dict) else {}

    def _note(self, remote: str, **fields: Any) -> None:
        RemoteState(self.store, STATE).put(remotes={**self._known(), remote: fields})

    def _fetch(self, remote: Remote, refspecs: Sequence[str], within: float) -> None:
        self._made()
        self._swept()
        git = Git(str(self.folder), remote.git.cwd, hermetic=False)
        git.env, git.include = remote.git.env, remote.git.include
        git.flags = (*git.flags, *_CACHE, f"remote.{remote.name}.followRemoteHEAD=never")
        late = time.monotonic() + within
        remote._replace(git=git, until=late).mirror(refspecs, within)
        if len(list(self.folder.glob("objects/pack/*.pack"))) >= PACKS:
            pack_borrower(git)

    def _made(self) -> None:
        """Makes it, if it is not there, and sees to it that it borrows from the user's repository,
        in a shallow one no further than that goes."""
        lender = self.folder / "objects/info/alternates"
        if transports.foreign(str(self.folder)):  # git would obey it
            self.discard()
        if not lender.exists():
            form = f"--object-format={'sha256' if self.store.place.width == 64 else 'sha1'}"
            made = ("init", "--quiet", "--bare", "--template=", form, "--", str(self.folder))
            Git(None).run(*made)
            lender.parent.mkdir(exist_ok=True)
        # (A repository that was moved lies elsewhere now.)
        files.put(lender, os.fsencode(self.objects) + b"\n")
        shallow = self.store.place.common / "shallow"
        if shallow.exists():
            files.put(self.folder / "shallow", shallow.read_bytes())
        else:
            (self.folder / "shallow").unlink(missing_ok=True)

    def _swept(self) -> None:
        """Takes away what a git that was killed has left: none that is at work leaves a file as it
        is for a minute."""
        for pattern in ("**/*.lock", "objects/**/tmp_*"):
            for file in self.folder.glob(pattern):
                with suppress(OSError):
                    if file.stat().st_mtime < time.time() - APART:
                        file.unlink()

    def tips(self) -> list[str]:
        """The commits that the branches are at; none if there is no copy that can be read."""
        if not self.folder.is_dir():
            return []
        code, out, _ = Git(str(self.folder)).ask("for-each-ref", "--format=%(objectname)", REFS)
        return [] if code else out.decode().split()

    def _whole(self) -> bool:
        return not Git(str(self.folder)).ask("for-each-ref", REFS)[0]

    def lent(self) -> dict[str, str]:
        """The variables with which git, in the user's repository, sees the copy's objects as
        well."""
        path = str(self.folder / "objects").replace("\\", "\\\\").replace('"', '\\"')
        return {"GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{path}"'}

    def discard(self) -> None:
        """Throws it away, by one rename: nobody meets half of it. The next look makes it anew."""
        RemoteState(self.store, STATE).put(remotes={})
        aside = Path(f"{self.folder}.{os.urandom(8).hex()}")
        with suppress(OSError):
            self.folder.rename(aside)
            shutil.rmtree(aside, ignore_errors=True)


def _reason(error: Failed | OSError) -> str:
    return error.message if isinstance(error, Failed) else str(error.strerror)


def refspecs(remote: str, configured: Sequence[str], without: Sequence[str]) -> list[str]:
    """The refspecs of a fetch into the copy: the branches that the user's own `git fetch` of that
    remote would fetch, but for those `without`, which hold no code."""
    own = f"{REFS}{quote(remote, safe='')}/"
    positive = [line.lstrip("+").partition(":")[0] for line in configured if line[:1] != "^"]
    wanted = [source if source.startswith("refs/") else HEADS + source for source in positive]
    wanted = [source.replace("refs/*", f"{HEADS}*") for source in wanted]
    branches = [source for source in wanted if source.startswith(HEADS)] or [f"{HEADS}*"]
    barred = [f"{HEADS}{name}" for name in without]
    negative = [line for line in configured if line[:1] == "^"]
    return [
        *(f"+{source}:{own}{source[len(HEADS) :]}" for source in branches if source not in barred),
        *dict.fromkeys([*negative, *(f"^{source}" for source in barred)]),
    ]

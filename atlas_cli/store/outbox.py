"""The outbox: what no remote has yet as one file, for a clone that cannot push, and taking such a file in. A caller who
can write nothing but the worktree lays such a file there after each write; whoever can write the store takes it in. (A
file, not the repository that it comes from: from that, git would run what is written in its configuration.)"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from ..errors import AtlasError, Failed, NotFound
from . import BRANCH, REMOTE, history, lock, publish, replay, transports
from .branch import STALE, Branch, change, cleared
from .git import Git
from .place import BOX, TAKING, WAITING
from .store import Store, root_id

_TAKEN = f"refs/atlas/taking/{os.getpid()}"


def export(store: Store, file: Path) -> int:
    """Writes the commits that no remote is known to have into a git bundle; how many. NotFound where there are none."""
    waiting = publish.unpublished(store)
    if not waiting:
        raise NotFound("nothing waits: all that was recorded here is published")
    known = store.ref(REMOTE)
    store.git.run("bundle", "create", "--quiet", str(file), BRANCH, *([f"^{known}"] if known else []))
    return waiting


def lay(store: Store) -> None:
    """Lays what nobody else has where the next command that can write the store finds it."""
    box = store.place.outbox
    if box is None or store.home != box:
        return
    with lock.held(box / "lay.lock"):  # else what another has just laid would give way to less
        if store.parked():  # what was laid before may hold it: it is to be parked where others see it
            with suppress(OSError):
                os.link(box / WAITING, box / TAKING)
        if not publish.unpublished(store):
            (box / WAITING).unlink(missing_ok=True)
            return
        part = box / f"part.{os.getpid()}"
        try:
            export(store, part)
            part.replace(box / WAITING)
        except BaseException:
            with suppress(OSError):
                part.unlink()
            raise


def gather(store: Store, box: Path) -> list[str]:
    """Takes in what waits in a worktree's outbox, under the rules of a sync; says what became of it. Not what came
    with the project's own files: that is no writing of this clone."""
    tracked = Git(None, str(box.parent.parent), hermetic=False).ask("ls-files", "--", BOX)[1]
    if box.is_symlink() or box.parent.is_symlink() or tracked:
        return [f"{box} came with the project's files: what lies there was not taken in"]
    said = []
    try:
        with lock.held(store.home / "outbox.lock", wait=0.0) as fd:
            for file in (box / TAKING, box / WAITING) if fd is not None else ():
                if not file.is_file():
                    continue
                file = file.replace(box / TAKING)  # what is laid meanwhile is another one
                try:
                    carried = take(store, file)
                except NoOutbox as error:
                    kept = file.replace(box / f"refused.{time.time_ns()}")
                    said.append(f"{error.message}: it was kept as {kept}; atlas outbox import tries it again")
                    continue
                file.unlink()
                parked = f", {len(carried.parked)} contradict what is here, and are parked" if carried.parked else ""
                if carried.moved or parked:
                    said.append(f"{len(carried.moved)} writes were taken in from {box}{parked}")
    except (AtlasError, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else error.message
        said.append(f"{box} could not be taken in: {why}; until it is, nobody else can see what lies there")
    return said


class NoOutbox(Failed):
    """A file, or a branch, that holds no writes of a store."""


def take(store: Store, file: Path) -> replay.Carried:
    """Puts what another clone exported behind what is here, by the rules of a sync: what contradicts it is parked."""
    if not file.is_file():
        raise NotFound(f"there is no file {file}")
    if line := transports.foreign(store.git.directory):
        raise Failed(f"{store.git.directory}/config holds what Atlas did not write ({line}), which is not obeyed",
                     "atlas doctor --fix puts it aside", code="configuration")  # fmt: skip
    for again in (True, False):
        code, _, err = store.git.ask(
            "fetch", "--no-tags", "--no-write-fetch-head", "--", str(file), f"+{BRANCH}:{_TAKEN}",
            options=("fetch.fsckObjects=true",), extra={"GIT_ALLOW_PROTOCOL": "file"},
        )  # fmt: skip
        if not code or not again or not cleared(store, [_TAKEN], STALE + 2):
            break
    tip = None if code else store.ref(_TAKEN)
    with suppress(Failed):  # litter that bars nobody
        change(store, [f"delete {_TAKEN}"])
    if tip is None or history.root(store.git, tip) != root_id(store.place.width):
        if "prerequisite" in err:
            raise Failed(
                f"{file.name} stands on commits that are not here", "atlas sync brings them, if they are published"
            )
        raise NoOutbox(f"{file.name} is no outbox of a store", "atlas outbox export makes one")
    return behind(store, tip)


def behind(store: Store, tip: str) -> replay.Carried:
    """Puts what another clone has written, up to `tip`, behind what is here."""
    with lock.held(store.home / "writer.lock") as fd:
        branch = Branch(store, fd)
        while True:
            head = store.head()
            base = history.fork(store.git, head, tip)
            theirs = [one for one in history.between(store.git, base, tip) if not replay.brings_policy(one)]
            if not all(len(one.parents) == 1 for one in theirs):
                raise NoOutbox("it is no outbox of a store: its commits are not in one line")
            carried = replay.carry(store, theirs, list(history.between(store.git, base, head)), head)
            if replay.moved(store, branch, head, carried.head, carried.parked):
                return carried

"""Moving the store's refs: its branch by compare-and-set only, judged by what the branch then says,
never by git's words. A lock that a dead git left is put aside by whoever holds the writer lock."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from .. import interrupts
from ..errors import AtlasError, Failed, Locked
from . import BRANCH, PARKED, lock
from .git import last_line
from .store import Store

DEADLINE = 30.0  # seconds that a move is tried for
STALE = 10.0  # seconds after which a lock file that nobody can hold is put aside
TWICE = 0.2  # seconds between two looks at it
# times in a row that git may fail to move a branch which nobody has locked, before it is an error
REFUSALS = 20
# What git locks besides a ref itself. (The third is no lock, and bars as one does.)
_ALSO = ("HEAD.lock", "packed-refs.lock", "packed-refs.new")
_IDLE = ("config.lock", "shallow.lock")  # in nobody's way here, and litter
# What a git does that may be inside a lock of a ref, or of what stands beside them; and inside one
# that a fetch takes.
_MOVES = {
    b"update-ref",
    b"pack-refs",
    b"gc",
    b"receive-pack",
    b"branch",
    b"symbolic-ref",
    b"config",
    b"reflog",
    b"tag",
    b"maintenance",
}
_BRINGS = {*_MOVES, b"fetch", b"pull", b"remote"}
_BROUGHT = (
    "refs/atlas/incoming",
    "refs/atlas/outbox/",
    "refs/atlas/taking/",
    "packed-refs",
    "shallow",
)
HINT = "atlas doctor --fix puts aside what a dead process left"


class Locks:
    """The lock files in the way of moves of some refs.

    alone: this process has the writer lock, so that no other command moves a ref. A lock file that
    is there for `STALE` seconds, and belongs to no living git, is then put aside."""

    def __init__(self, store: Store, refs: Iterable[str], alone: bool) -> None:
        self.store, self.alone = store, alone
        self.names = [*(f"{ref}.lock" for ref in dict.fromkeys(refs)), *_ALSO, *_IDLE]
        self.first_look: dict[tuple[str, int, int], float] = {}
        self.left = ""  # what is in the way still
        self.old = False  # whether a second look, in a moment, may put something aside

    def look(self) -> bool:
        """Looks once. The result is whether a lock file was put aside."""
        self.left, self.old, done = "", False, False
        for name in self.names:
            file = self.store.home / "store.git" / name
            try:
                state = file.lstat()
            except OSError:
                continue
            age = abs(time.time() - state.st_mtime)  # (a clock may have been set back since)
            # (So a file is known as the same one as before, not the next one of its name.)
            mark = (name, state.st_ino, state.st_mtime_ns)
            seen = time.monotonic() - self.first_look.setdefault(mark, time.monotonic())
            left, over = f"{file} was left {age:.0f} s ago", age > STALE or seen > STALE
            if over and (pid := self._holder(name) if seen > TWICE else 0):
                left += f", and the git with the process id {pid}, which lives, may hold it"
            elif over and self.alone and seen > TWICE:
                aside(file, self.store.home, age)
                left, done = "", True
            else:
                self.old = self.old or (over and self.alone)
            self.left = self.left or (left if name not in _IDLE else "")
        return done

    def _holder(self, name: str) -> int:
        """The id of a living git that may be inside that lock; 0 if none is seen."""
        verbs = _BRINGS if name.startswith(_BROUGHT) else _MOVES
        where, running = os.fsencode(self.store.home / "store.git"), Path("/proc")
        for entry in running.glob("[0-9]*"):
            try:
                argv = (entry / "cmdline").read_bytes().split(b"\0")
                if argv[0].rpartition(b"/")[2] == b"git" and verbs & set(argv):
                    words = [
                        *argv,
                        (entry / "environ").read_bytes(),
                        os.fsencode((entry / "cwd").readlink()),
                    ]
                    if any(where in word for word in words):
                        return int(entry.name)
            except OSError:
                continue  # it has ended, or is another user's
        return 0


def aside(file: Path, home: Path, age: float) -> None:
    """Puts a dead lock file aside, or takes it away if that cannot be.

    Raises Locked if neither can be."""
    try:
        file.rename(home / "stale.lock")
    except FileNotFoundError:
        return  # its holder lives
    except OSError:  # another file system, say
        try:
            file.unlink()
        except FileNotFoundError:
            return
        except OSError as error:
            raise Locked(
                f"{file} was left {age:.0f} s ago by a git that died, and cannot be taken away: "
                f"{error.strerror}",
                f"see to its folder, then {HINT}",
            ) from None


class Branch:
    """The moves of one command.

    fd: the writer lock, if the command has it. unread: makes the error for a branch that cannot be
    read back after a move. within: seconds that a move is tried for."""

    def __init__(
        self,
        store: Store,
        fd: int | None,
        unread: Callable[[str], AtlasError] = Failed,
        within: float = DEADLINE,
    ) -> None:
        self.store, self.unread, self.within = store, unread, within
        self.fd = None if fd is None or fd < 0 else fd  # what cannot be held keeps nobody away
        self.keep = () if self.fd is None else (self.fd,)
        self.deadline = time.monotonic() + within
        self.locks = Locks(store, (), False)
        self.refused = 0

    def move(
        self, old: str, new: str, options: Sequence[str], also: Iterable[tuple[str, str]] = ()
    ) -> bool:
        """Tries the move once. The result is whether the branch now is at `new`, or past it. False
        if another try is due.

        also: refs that are set only if the branch moves. (git moves them first, so that a kill
        leaves too many of them rather than too few.)"""
        git = self.store.git
        refs = dict(also)
        wishes = [f"update {ref} {oid}\n" for ref, oid in refs.items()]
        data = "".join([*wishes, f"update {BRANCH} {new} {old}\n"]).encode()
        try:
            why = git.ask(
                "update-ref", "--no-deref", "--stdin", options=options, data=data, keep=self.keep
            )[2]
        except Failed as error:  # not started, or stopped after a long wait
            why = error.message
        try:
            now = self.store.head()
            if now == new or (now != old and self.store.holds(new, now)):
                # (where git cannot say, as beside a prune, the next try finds the operation)
                return True
        except (OSError, Failed) as error:
            raise self.unread(f"the store's branch cannot be read back: {error}") from None
        if now == old:
            self._busy(why, [BRANCH, *refs])
        if time.monotonic() > self.deadline:
            left = self.locks.left
            if left and self.fd is None:
                raise Locked(
                    f"{left}, and another writer is stopped inside the writer lock",
                    "continue or end the stopped atlas process, then try again",
                )
            raise Locked(
                left or f"the store's branch was busy for {self.within:.0f} s",
                f"try again; {HINT}" if left else "try again",
                retry="now",
            )
        return False

    def _busy(self, why: str, refs: Sequence[str]) -> None:
        """The branch did not move: a ref is locked. A lock file that a dead git left is put aside
        once it is old."""
        if self.locks.names[: len(refs)] != [f"{ref}.lock" for ref in refs]:
            self.locks = Locks(self.store, refs, self.fd is not None)
        away = self.locks.look()
        self.refused = 0 if away or self.locks.left else self.refused + 1
        if self.refused >= REFUSALS:
            raise Failed(
                f"git cannot move the store's branch: {last_line(why)}",
                "atlas doctor",
                retry="later",
            )
        time.sleep(random.uniform(0.02, 0.2))


def change(store: Store, wishes: Sequence[str], within: float = 0.0) -> None:
    """Moves or drops other refs of the store than its branch. Each wish is a line of `git
    update-ref --stdin`. A lock is waited for so many seconds.

    Raises Locked if a lock does not go away."""
    data = "".join(f"{wish}\n" for wish in wishes).encode()
    while True:
        code, _, err = store.git.ask("update-ref", "--no-deref", "--stdin", data=data)
        if not code:
            return
        if not cleared(store, [wish.split()[1] for wish in wishes], within):
            raise Failed(
                f"git cannot move a ref of the store: {last_line(err)}",
                "atlas doctor",
                retry="later",
            )


def cleared(store: Store, refs: Sequence[str], within: float) -> bool:
    """Whether a lock was in the way of moves of these refs and is no longer, so that another try is
    due.

    Raises Locked if one stays there for so many seconds."""
    until, first = time.monotonic() + within, Locks(store, refs, False)
    first.look()
    if not first.left:
        return False
    with lock.held(store.home / "writer.lock", wait=min(within, lock.WAIT)) as fd:
        locks = Locks(store, refs, fd is not None and fd >= 0)
        while not locks.look() and locks.left:
            if time.monotonic() > until and not locks.old:
                raise Locked(locks.left, f"try again; {HINT}", retry="later")
            time.sleep(0.05)
            interrupts.waited()
    return True


def swept(store: Store, refs: Iterable[str]) -> None:
    """Puts aside what the dead have left locked, of these refs and of what is parked. The caller
    has the publish lock."""
    folder, now = store.home / "store.git", time.time()
    try:
        parked = [
            PARKED + file.stem for file in (folder / PARKED).iterdir() if file.suffix == ".lock"
        ]
    except OSError:
        parked = []
    locks = Locks(store, [*refs, *parked], True)
    for name in locks.names:
        with suppress(OSError):
            if abs(now - (folder / name).lstat().st_mtime) > STALE:
                break
    else:
        return
    with suppress(OSError, Locked), lock.held(store.home / "writer.lock", wait=0.0) as fd:
        while fd is not None and fd >= 0 and (locks.look() or locks.old):
            time.sleep(0.05)

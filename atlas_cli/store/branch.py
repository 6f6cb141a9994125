"""Moving the store's branch: by compare-and-set only, judged by what the branch then says, never by git's words."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Sequence

from ..errors import AtlasError, Failed, Locked
from . import BRANCH
from .git import last_line
from .store import Store

DEADLINE = 30.0  # seconds that a move is tried for
STALE = 10.0  # seconds after which a lock file that nobody can hold is put aside
REFUSALS = 20  # times in a row that git may fail to move a branch which nobody has locked, before it is an error


class Branch:
    """The moves of one command. `fd` is the writer lock, if it has it; `unread` makes the error for a branch that
    cannot be read back after a move."""

    def __init__(self, store: Store, fd: int | None, unread: Callable[[str], AtlasError] = Failed) -> None:
        self.store, self.unread = store, unread
        self.fd = None if fd is None or fd < 0 else fd  # what cannot be held keeps nobody away
        self.keep = () if self.fd is None else (self.fd,)
        self.deadline = time.monotonic() + DEADLINE
        self.first_look: dict[tuple[str, int, int], float] = {}
        self.refused = 0
        self.left = ""

    def move(self, old: str, new: str, options: Sequence[str], also: Iterable[tuple[str, str]] = ()) -> bool:
        """Whether the branch now is at `new`, or past it; False: another try is due. `also`: refs that are set only if
        the branch moves (git moves them first, so that a kill leaves too many of them rather than too few)."""
        git = self.store.git
        wish = [f"update {ref} {oid}\n" for ref, oid in also] + [f"update {BRANCH} {new} {old}\n"]
        data = "".join(wish).encode()
        try:
            why = git.ask("update-ref", "--no-deref", "--stdin", options=options, data=data, keep=self.keep)[2]
        except Failed as error:  # not started, or stopped after a long wait
            why = error.message
        try:
            now = self.store.head()
            if now == new or (now != old and self.store.holds(new, now)):
                return True  # (where git cannot say, as beside a prune, the next try finds the operation)
        except (OSError, Failed) as error:
            raise self.unread(f"the store's branch cannot be read back: {error}") from None
        if now == old:
            self._busy(why)
        if time.monotonic() > self.deadline:
            if self.left and self.fd is None:
                raise Locked(f"{self.left}, and another writer is stopped inside the writer lock",
                             "continue or end the stopped atlas process, then try again")  # fmt: skip
            raise Locked(self.left or f"the store's branch was busy for {DEADLINE:.0f} s", "try again", retry="now")
        return False

    def _busy(self, why: str) -> None:
        """The ref did not move: it is locked. A lock file that a dead git left is put aside once it is old."""
        self.refused, self.left = self.refused + 1, ""
        for name in ("refs/heads/atlas.lock", "HEAD.lock"):
            file = self.store.home / "store.git" / name
            try:
                state = file.stat()
            except OSError:
                continue
            self.refused = 0
            age = time.time() - state.st_mtime
            lock_file = (name, state.st_ino, state.st_mtime_ns)  # the same one as before, not the next one's
            seen = time.monotonic() - self.first_look.setdefault(lock_file, time.monotonic())
            if self.fd is not None and (age > STALE or seen > STALE) and seen > 0.2:
                try:
                    file.rename(self.store.home / "stale.lock")
                except FileNotFoundError:
                    continue  # its holder lives
            else:
                self.left = f"{file} was left {age:.0f} s ago"
        if self.refused >= REFUSALS:
            raise Failed(f"git cannot move the store's branch: {last_line(why)}", "atlas doctor", retry="later")
        time.sleep(random.uniform(0.02, 0.2))

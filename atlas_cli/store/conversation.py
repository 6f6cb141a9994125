"""A conversation with one `git cat-file --batch`: questions, and the answers of the very process
that was asked."""

from __future__ import annotations

import os
import select
import time
from typing import TYPE_CHECKING

from ..interrupts import waited

if TYPE_CHECKING:
    from subprocess import Popen

SLICE = 250  # milliseconds between two looks at whether somebody wants an end
# Seconds that git may be waited for in all: some, and a little for each answer and each megabyte
# that it gave.
PATIENCE, EACH, MEGABYTE = 10.0, 0.05, 0.2
Answer = tuple[str, str, bytes] | None
LARGE = "large"  # stands for the type of an object of which no more than its beginning was read
COMMIT = 1 << 20  # bytes of a commit that are read: what says what it is stands in front
HEAD = 4096  # bytes that are read of what is too large


class Ended(Exception):
    """Git has ended, or fell silent, before it answered.

    gave_up: by its own decision, over what it was asked."""

    def __init__(self, gave_up: bool, silent: bool = False) -> None:
        self.gave_up, self.silent = gave_up, silent


class Conversation:
    """A conversation belongs to whoever is asking, until all that was asked is answered. Else it
    has to be ended."""

    def __init__(self, child: Popen[bytes]) -> None:
        assert child.stdin is not None and child.stdout is not None
        self.child, self.into, self.out = child, child.stdin.fileno(), child.stdout.fileno()
        self.unsent, self.heard = b"", bytearray()
        self.cut = False  # an answer was not read to its end
        self.patience = PATIENCE
        os.set_blocking(self.into, False)
        self.poll = select.poll()
        self.poll.register(self.out, select.POLLIN)

    def ask(self, names: list[str]) -> None:
        """Asks for objects or refs. The rest that does not fit into the pipe goes out while the
        answers come in."""
        self.unsent += "".join(f"{name}\n" for name in names).encode()
        self._send()
        if self.unsent:
            self.poll.register(self.into, select.POLLOUT)

    def answer(self, most: int) -> Answer:
        """The next answer: (object id, type, bytes), or None for what is not there. Of an object
        with more than `most` bytes only the beginning is read, its type is LARGE (a commit is cut,
        and stays one), and no more can be asked."""
        while (end := self.heard.find(b"\n")) < 0:
            self._hear(1)
        head = self.heard[:end].split()
        del self.heard[: end + 1]
        self.patience += EACH
        if len(head) != 3:
            return None  # missing, or ambiguous
        try:
            size = int(head[2])
        except ValueError:
            raise Ended(True) from None
        kind, most = head[1].decode(), COMMIT if head[1] == b"commit" else most
        if size > most:
            kind, wanted = (kind, most) if head[1] == b"commit" else (LARGE, min(size, HEAD))
            while len(self.heard) < wanted:
                self._hear(wanted - len(self.heard))
            self.cut = True
            return head[0].decode(), kind, bytes(self.heard[:wanted])
        while len(self.heard) <= size:
            self._hear(size + 1 - len(self.heard))
        body = bytes(self.heard[:size])
        del self.heard[: size + 1]
        return head[0].decode(), kind, body

    def _send(self) -> None:
        try:
            while self.unsent:
                self.unsent = self.unsent[os.write(self.into, self.unsent) :]
        except BlockingIOError:
            return
        except OSError:
            raise self._end() from None

    def _hear(self, wanted: int) -> None:
        """Waits for more of the answer."""
        while True:
            began = time.monotonic()
            ready = dict(self.poll.poll(SLICE))
            self.patience -= time.monotonic() - began
            if self.patience < 0:
                raise Ended(False, silent=True)
            if not ready:
                waited()
            if self.out in ready:  # first: what was answered before it died is an answer
                break
            if self.into in ready:
                self._send()
                if not self.unsent:
                    self.poll.unregister(self.into)
        data = os.read(self.out, min(max(wanted, 1 << 16), 1 << 20))
        if not data:
            raise self._end()
        self.patience += len(data) / 1e6 * MEGABYTE
        self.heard += data

    def _end(self) -> Ended:
        """The way in which it ended: killed, or by its own decision."""
        return Ended(self.end(clean=True) > 0)

    def leave(self) -> None:
        """Asks nothing more: git ends by itself, and nobody waits for that."""
        for pipe in (self.child.stdin, self.child.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    continue

    def end(self, clean: bool = False) -> int:
        """Ends it. The result is git's exit code. `clean`: it is given the time to see that nothing
        more is asked. (It only reads: to be killed does no harm.)"""
        self.leave()
        until = time.monotonic() + (1.0 if clean else 0.0)
        while self.child.poll() is None:
            if time.monotonic() >= until:
                self.child.kill()
                return self.child.wait()
            time.sleep(0.0005)
        return self.child.returncode

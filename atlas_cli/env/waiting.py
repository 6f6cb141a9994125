"""Waiting: a command sleeps until something is over. The head is watched where it lies, the remote
is asked more and more rarely, and no lock is held meanwhile."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from .. import interrupts
from ..answers import waits
from ..errors import AtlasError, Held, NotFound, Nothing, Refused
from ..model import times
from ..model.change import Change, Decide, Writer
from ..model.text import Record
from ..model.tree import Tree
from ..records import policy
from ..records import waiting as rows
from ..sharing.dealing import UNASKED
from ..visible import named
from . import who, writing
from .env import Env

USUAL = 100  # seconds: AI tools end what runs longer
STEP = 0.2  # seconds between two looks at where the head lies
PROBE = 3.0  # seconds after which it is asked anew: time alone may have made it free
SOON, RARELY = 1.0, 20.0  # seconds between two questions to the remote: at first, and at most
NOTED = 1.0  # seconds after which others can read who waits for whom
AGAIN = 3600.0  # seconds after which a session that waits says so anew
T = TypeVar("T")


class Wanted(NamedTuple):
    """The things that are waited for, and for how many seconds. `any_of`: the first of these is
    enough."""

    whats: Sequence[str]
    seconds: int
    any_of: bool = False


class Waiting:
    """One wait of one command. `env` is where the head is watched; `own` has the session's row."""

    def __init__(self, env: Env, own: Env, me: Record | None, wanted: Wanted) -> None:
        self.env, self.own, self.me, self.wanted = env, own, me, wanted
        self.began = time.monotonic()
        self.deadline = self.began + wanted.seconds
        self.pause, self.ask_at = SOON, self.began + SOON
        self.note_at = self.began + NOTED

    def until(self, look: Callable[[], T | None]) -> T | None:
        """The answer of `look` as soon as it gives one; None once the time is up."""
        dealing, self.env.dealing = self.env.dealing, UNASKED  # it is asked here, and no more often
        try:
            while True:
                mark = self._mark()
                self._anew()
                if (result := look()) is not None:
                    return result
                self._judged()
                if not self._changed(mark):
                    return None
        finally:
            self.env.dealing = dealing
            self.env.notices[:] = dict.fromkeys(self.env.notices)

    def said(self) -> list[str]:
        """The line of how long it was, if it was long enough to be noted by others."""
        waited = time.monotonic() - self.began
        return [f"waited {times.span(int(waited))} for it"] if waited >= NOTED else []

    def rest(self) -> None:
        """Sleeps for a while, whatever happens."""
        until = min(self.deadline, time.monotonic() + PROBE)
        while (left := until - time.monotonic()) > 0:
            interrupts.waited()
            time.sleep(min(STEP, left))

    def _anew(self) -> None:
        """The command sees the store as it is now."""
        for env in (self.env, self.own):
            env.look_again()
            env.forget("tree", "policy")

    def _mark(self) -> tuple[object, ...]:
        """A mark that changes with the head, at the cost of two looks at a file."""
        marks: list[object] = []
        for name in ("refs/heads/atlas", "packed-refs"):
            try:
                state = (self.env.store.home / "store.git" / name).stat()
                marks += [state.st_mtime_ns, state.st_ino]
            except OSError:
                marks.append(None)
        return tuple(marks)

    def _changed(self, mark: tuple[object, ...]) -> bool:
        """Sleeps until something may have changed. False once the time is up."""
        probe = time.monotonic() + PROBE
        if self.me is not None and self.wanted.whats:
            probe = min(probe, self.note_at)
        while (now := time.monotonic()) < self.deadline:
            interrupts.waited()
            if self._mark() != mark or now >= probe:
                return True
            if now >= self.ask_at:
                self._ask()
                continue
            time.sleep(min(STEP, self.deadline - now))
        return False

    def _ask(self) -> None:
        """Asks the remote; the next time a while later, and soon again once it had something."""
        before = self._mark()
        self.env.sharing.freshen(look=True)
        moved = self._mark() != before
        self.pause = SOON if moved else min(RARELY, self.pause * 1.5)
        self.ask_at = time.monotonic() + self.pause

    def _judged(self) -> None:
        """Says whom the session waits for. Raises Held if these wait for it."""
        if self.me is None:
            return
        whats, own = self.wanted.whats, self.own
        alone = not self.wanted.any_of or len(whats) == 1
        if alone and (links := waits.circle(own.ask, own.tree, self.me["id"], whats)):
            raise _in_circle(links)
        if time.monotonic() >= self.note_at and self.wanted.whats:
            self.note_at = time.monotonic() + AGAIN
            self._note(self.me)

    def _note(self, me: Record) -> None:
        left = int(self.deadline - time.monotonic()) + 1

        def decide(tree: Tree, who: Writer) -> Change:
            return rows.wait(tree, who, self.wanted.whats, who.at + left, self.wanted.any_of)

        own, options = self.own, self.own.options
        own.options = options._replace(operation=None, expect=None, require_published=False)
        try:
            writing.write(own, decide, me, "session: wait")
        except AtlasError as error:  # it waits all the same
            own.notices.append(f"nobody else is told that this session waits: {error.message}")
        finally:
            own.options = options


def _in_circle(links: list[waits.Link]) -> Held:
    """The error for those who wait for each other."""
    last = links[-1]
    chain = "; ".join(f"{named(link.holder)} has {named(link.what)}" for link in links[:-1])
    kind, _, name = last.what.partition(":")
    back = {
        "lease": f"atlas lease release {shlex.quote(name)}",
        "task": f"atlas task release {name}",
    }
    return Held(
        f"that would be waiting in a circle: {chain + ', and ' if chain else ''}"
        f"{named(last.waiter)} waits for {named(last.what)}, which is yours",
        f"give back what it waits for: {back.get(kind, 'atlas end')}",
        code="circle",
        details={"circle": [link._asdict() for link in links]},
    )


def had(
    env: Env, own: Env, me: Record, wanted: Wanted | None, attempt: Callable[[], T], decide: Decide
) -> T:
    """The things that `attempt` takes, as soon as they can be had; `decide` is the write that it
    makes. Without `wanted` it is tried once. Raises the stop of the last try, with the code
    `timeout`, once the time is up."""
    if wanted is None:
        return attempt()
    waiting, options = Waiting(env, own, me, wanted), env.options

    def free() -> bool | None:
        stop = refusal(env, me, decide)
        if stop is not None and who.say_gone(own, stop):
            raise stop
        return True if stop is None else None

    while True:
        env.options = options  # each try is the same operation
        try:
            result = attempt()
            own.notices += waiting.said()
            return result
        except (Held, NotFound, Refused) as stop:
            if not may_change(stop):
                raise
            last = stop
        if refusal(env, me, decide) is None:
            waiting.rest()  # what is in the way is in no tree that is looked at here
        if time.monotonic() >= waiting.deadline or not waiting.until(free):
            raise timed_out(own, refusal(env, me, decide) or last, wanted.seconds) from None


def refusal(env: Env, me: Record, decide: Decide) -> AtlasError | None:
    """The stop of a write that would not be made now, if it is something that passes."""
    above = tuple(me.get("lineage", ()))
    writer = Writer(me["id"], me["actor"], env.store.machine, env.now(), "", above)
    _ = env.index  # (what decides may ask it)
    try:
        decide(env.store.tree(env.snapshot, policy.FOLDER), writer)
    except (Held, NotFound, Refused) as stop:
        return stop if may_change(stop) else None
    except AtlasError:
        return None
    return None


def may_change(stop: AtlasError) -> bool:
    """Whether a stop may pass by itself: held, claimed, nothing ready, a need that is not done."""
    return stop.code in ("held", "gated") or (
        stop.code == "no_task" and stop.details.get("open", 0) > 0
    )


def timed_out(env: Env, stop: AtlasError, seconds: int) -> AtlasError:
    """The end of a wait whose time is up, with the command that goes on."""
    kind = Held if stop.exit == Held.exit else Nothing
    return kind(
        f"waited {times.span(seconds)}: {stop.message}",
        f"go on: {command(env)}",
        code="timeout",
        retry="later",
        details={**stop.details, "waited": seconds},
    )


def command(env: Env) -> str:
    """The command as it was given, to be run again."""
    options = env.options
    words = ["atlas", *env.words, *(["--session", options.session] if options.session else [])]
    line = shlex.join(words)
    return f"{line} -- {shlex.join(options.tail)}" if options.tail else line


def settled(decide: Decide) -> Decide:
    """The same write, by which the session waits no more."""

    def change(tree: Tree, who: Writer) -> Change:
        made = decide(tree, who)
        return made._replace(files={**rows.waited(tree, who), **made.files})

    return change

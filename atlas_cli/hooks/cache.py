"""The hooks' cache: a small file from which git's hooks answer. Every command that moves the
store's head draws it anew.

It only ever says *pass*: where it is missing, of another head, or out of date, the full program
looks itself. It has plain lines of words between tabs, and is read without importing anything: a
JSON parser alone costs as much as a whole hook may."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # (not from `typing`: that costs as much as a JSON parser)
    from ..env.env import Env

VERSION = "7"  # of its lines: two Atlases in one clone have a file each
FORMAT = f"atlas-hooks {VERSION}"
FILE = f"hooks-{VERSION}.txt"


class Session:
    """A live session, as far as a hook must know it. `seen` has (number, blob) of the newest entry
    that it saw of each stream. `word` is the operation of its newest word, or `none`. `shown` is
    when others last saw a sign of it."""

    def __init__(
        self,
        id: str,
        kind: str,
        worktree: str,
        until: str,
        lineage: str,
        leans: str,
        word: str,
        shown: str,
    ) -> None:
        self.id, self.kind, self.worktree, self.until = id, kind, worktree, int(until)
        self.shown = int(shown)
        self.lineage = frozenset(lineage.split())
        self.leans = leans == "retracted"  # relies on what was retracted since
        self.word = word
        self.seen: dict[str, tuple[int, str]] = {}
        self.asks = True  # only the whole program knows whether something new concerns it
        self.look = 0  # the moment from which on it must look at what is new; 0: never
        self.news: list[str] = []  # the numbers of what it has not read
        self.on: frozenset[str] = frozenset()  # the paths that it has named, and of its claims


class HookCache:
    """The lines of the file as values. Raises ValueError or IndexError if the text is no such
    file."""

    def __init__(self, text: str) -> None:
        lines = text.split("\n")
        if lines[0] != FORMAT or lines[-1] != "end":
            raise ValueError("another format")
        self.head, self.until, self.made = "", 0, 0
        self.levels: dict[str, str] = {}
        self.integration: list[str] = []
        self.streams: dict[str, tuple[int, str]] = {}  # the current entry of each
        self.sessions: dict[str, Session] = {}
        self.begun: dict[tuple[str, str], str] = {}
        self.leases: list[tuple[str, str, int]] = []  # resource, holder, until
        self.items: dict[str, list[str]] = {}  # by number: the paths of what is new
        for line in lines[1:-1]:
            what, *rest = map(_plain, line.split("\t")) if "%" in line else line.split("\t")
            if what == "lease":
                self.leases.append((rest[0], rest[1], int(rest[2])))
            elif what == "head":
                self.head, self.made, self.until = rest[0], int(rest[1]), int(rest[2])
            elif what == "level":
                self.levels[rest[0]] = rest[1]
            elif what == "integration":
                self.integration.append(rest[0])
            elif what == "stream":
                self.streams[rest[0]] = (int(rest[1]), rest[2])
            elif what == "session":
                self.sessions[rest[0]] = Session(*rest)
            elif what == "seen":
                self.sessions[rest[0]].seen[rest[1]] = (int(rest[2]), rest[3])
            elif what == "item":
                self.items[rest[0]] = rest[1:]
            elif what == "news":
                me = self.sessions[rest[0]]
                me.asks, me.look, me.news = rest[1] != "0", int(rest[2]), rest[3:]
            elif what == "on":
                self.sessions[rest[0]].on = frozenset(rest[1:])
            elif what == "begun":
                self.begun[rest[0], rest[1]] = rest[2]

    def who(
        self, named: str | None, worktree: str, caller: str | None, tool: bool
    ) -> Session | None:
        """The live session of a caller, by the rule of `who.session_id`; None where it is not
        certain."""
        if named:
            session = self.sessions.get(named)
            if session is not None and tool and session.kind == "person":
                return None
            return session
        if caller is not None:
            begun = self.begun.get((worktree, caller)) or self.begun.get(("", caller))
            if begun:
                return self.sessions.get(begun)
        live = self.sessions.values()
        here = [session for session in live if session.worktree == worktree]
        at_work = [session for session in here if session.kind == "work"]
        if caller is None and at_work:
            return at_work[0] if len(at_work) == 1 else None
        persons = [session for session in live if session.kind == "person" and not tool]
        return persons[0] if len(persons) == 1 else None

    def heard(self, me: Session) -> bool:
        """Whether a session knows of all that is new, as far as no path is asked about."""
        return not me.asks and not 0 < me.look <= time.time()

    def meets(self, me: Session, paths: list[str]) -> bool:
        """Whether something that a session has not read may be about one of these paths. No is
        certain, yes wants a closer look."""
        about = [path for number in me.news for path in self.items.get(number, ())]
        if not about:
            return False
        touched = {*paths}
        for path in paths:
            touched.update(_folders(path))
        return not touched.isdisjoint(about)

    def placed(self, me: Session) -> bool:
        """Whether anything that a session has not read is about a path."""
        return any(number in self.items for number in me.news)

    def swept(self, me: Session, paths: list[str]) -> dict[str, list[str]]:
        """The files that another session at work in the same worktree has named, not only a folder
        of theirs, and this one has not: by that session. Neither is an ancestor of the other."""
        taken: dict[str, list[str]] = {}
        for other in self.sessions.values():
            kin = other is me or other.id in me.lineage or me.id in other.lineage
            if kin or not other.on or not me.worktree or other.worktree != me.worktree:
                continue
            for path in paths:
                if path in other.on and not me.on.intersection((path, *_folders(path))):
                    taken.setdefault(other.id, []).append(path)
        return taken

    def near(self, paths: list[str], mine: set[str] | frozenset[str]) -> list[tuple[str, str]]:
        """(resource, path) of each lease of others that may lie on one of these paths. `mine` are
        the sessions that are not others. A pattern counts for the folder that it cannot leave: a
        closer look may clear it."""
        held: dict[str, list[str]] = {}  # the resources, by where they lie
        for resource, holder, _ in self.leases:
            if holder not in mine:
                held.setdefault(_root(resource), []).append(resource)
        if not held:
            return []
        above: dict[str, list[str]] = {}  # by folder: what lies below it
        for path, resources in held.items():
            for folder in _folders(path):
                above.setdefault(folder, []).extend(resources)
        over = {"": held.get(".", [])}  # by folder: what lies on it, or on one above it
        near = []
        for path in paths:
            folder = path.rpartition("/")[0]
            if folder not in over:
                over[folder] = [*over[""]]
                for part in (*_folders(folder), folder):
                    over[folder] += held.get(part, ())
            if over[folder] or path in held or path in above:
                resources = [*over[folder], *held.get(path, ()), *above.get(path, ())]
                near += [(resource, path) for resource in resources]
        return near

    def leased(self, path: str, me: Session) -> bool:
        """Whether a path may be leased to another. No is certain, yes wants a closer look."""
        return bool(self.near([path], {me.id, *me.lineage}))


def _root(resource: str) -> str:
    """The path that a leased resource lies on or below: `.` for what is no path."""
    kind, _, path = resource.partition(":")
    if kind == "glob":
        return _fixed(path)
    return path if kind == "path" else "."


def _fixed(pattern: str) -> str:
    """The folder that a pattern cannot leave."""
    cut = min((at for at in map(pattern.find, "*?[") if at >= 0), default=len(pattern))
    return pattern[:cut].rpartition("/")[0] or "."


def _folders(path: str) -> list[str]:
    """The folders that a path lies in, without the root."""
    folders, at = [], path.find("/")
    while at >= 0:
        folders.append(path[:at])
        at = path.find("/", at + 1)
    return folders


def line(*words: object) -> str:
    """A line of the file. It stays one line, whatever a record says."""
    plain = []
    for word in map(str, words):
        for char in "%\t\n\r":
            word = word.replace(char, f"%{ord(char):02x}")
        plain.append(word)
    return "\t".join(plain)


def _plain(word: str) -> str:
    """The text of such a word."""
    for char in "\r\n\t%":
        word = word.replace(f"%{ord(char):02x}", char)
    return word


def head(home: str) -> str:
    """The commit that the store's branch is at. Empty if only git could tell."""
    try:
        with open(f"{home}/store.git/refs/heads/atlas", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        pass
    try:
        with open(f"{home}/store.git/packed-refs", encoding="utf-8") as file:
            return next(
                (line.split()[0] for line in file if line.endswith(" refs/heads/atlas\n")), ""
            )
    except OSError:
        return ""


def drawn(home: str) -> tuple[str, int]:
    """(head, moment until which it holds) of the cache that is there. Empty and 0 if there is
    none."""
    try:
        with open(f"{home}/{FILE}", encoding="utf-8") as file:
            words = file.read(400).split("\n")[1].split("\t")
        return words[1], int(words[3])
    except (OSError, ValueError, IndexError):
        return "", 0


def stale(env: Env) -> bool:
    """Whether the cache must be drawn anew: a hook has asked for it, and the head, a receipt or the
    session that is somebody's has changed since."""
    head, until = drawn(str(env.store.home))
    return bool(head) and (env.local.moved or head != env.snapshot.head or until <= time.time())


def current(home: str) -> HookCache | None:
    """The cache, if it is certain to say what the store says now."""
    try:
        with open(f"{home}/{FILE}", encoding="utf-8", errors="surrogatepass") as file:
            cache = HookCache(file.read())
    except (OSError, ValueError, IndexError, KeyError):
        return None
    at = int(time.time())
    fits = cache.head == head(home) and cache.made - 60 <= at < cache.until
    return cache if fits and "ATLAS_CLOCK_OFFSET" not in os.environ else None

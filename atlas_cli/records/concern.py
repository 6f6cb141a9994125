"""The measure of concern: a status section or a record (an Item) concerns a session (a View) for a
Reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..model import names
from ..visible import named, theirs

ALL = "all"
ALL_WORDS = 25  # words of what is addressed to all
ALL_EVERY = 3600  # seconds between two such texts of a session
FILES = 12  # that a record names; of more, their folders
HOT_SESSIONS = 4  # sessions of a week that make a file hot, if they are a third of all
# What a record carries: the files of its writer, and whom it is addressed to.
FIELDS = {"files": "texts", "for": "texts"}
# A stop at each commit; one in `stop_every`; a notice, which never stops.
ALWAYS, SELDOM, NOTICE = 3, 2, 1


class Item(NamedTuple):
    """The newest version of a status section, or a record: what a session may have to know."""

    ref: str  # what shows it: status:main@12, decision:2026-11-29-storage-3f9c01
    key: str  # what is noted of it is noted under this: status:main#Parser, or its REF
    version: str  # the operation that wrote a section; a record's blob
    session: str  # its writer
    at: int
    text: str = ""
    heading: str = ""  # of a section
    number: int = 0  # the entry that a section was read in
    on: tuple[str, ...] = ()  # files of its writer, or folders, which end with a slash
    about: tuple[str, ...] = ()  # the paths that it is about
    to: tuple[str, ...] = ()  # whom it is addressed to: session:ID, task:ID, path:P, all
    warn: tuple[str, ...] = ()  # its warnings that are in force
    notes: tuple[str, ...] = ()  # what else is said at its head: that it was corrected, or is old
    person: bool = False  # a person wrote it
    tasks: tuple[str, ...] = ()  # what its writer has claimed, or has done
    target: str = ""  # what it corrects, or (without its number) supersedes
    relation: str = ""  # how: corrected, retracted, superseded

    @property
    def kind(self) -> str:
        """The kind of record; a section's is `status`."""
        return self.ref.partition(":")[0]

    @property
    def stream(self) -> str:
        """The stream of a section; empty for a record."""
        return self.key.partition(":")[2].partition("#")[0] if self.kind == "status" else ""


class View(NamedTuple):
    """A session as far as it is known: the measure of what concerns it."""

    session: str
    lineage: tuple[str, ...] = ()  # its ancestors
    heir: tuple[str, ...] = ()  # the sessions that it has adopted
    files: frozenset[str] = frozenset()  # staged, or committed since its last word
    leased: tuple[str, ...] = ()  # the resources that it holds
    named: tuple[str, ...] = ()  # the paths that it named with --on
    tasks: frozenset[str] = frozenset()  # that it has claimed
    claimed: tuple[str, ...] = ()  # the paths that these are about
    beside: frozenset[str] = frozenset()  # that these need directly, or that need them
    relies: frozenset[str] = frozenset()  # the REFs that its records rely on
    read: frozenset[str] = frozenset()  # the REFs that it has read
    own: str = ""  # the key of the section that it wrote last
    hot: frozenset[str] = frozenset()  # files that nearly everybody touches

    @property
    def blind(self) -> bool:
        """Whether no file of the session is known, so that nothing can be told apart."""
        return not (self.files or self.leased or self.named or self.tasks)


class Reason(NamedTuple):
    """The reason why an item concerns a session: how much it weighs, and in words."""

    weight: int
    words: str


def concerns(item: Item, view: View) -> Reason | None:
    """The weightiest reason for which an item concerns a session; None if it does not."""
    if item.session == view.session:
        return None
    for rule in (_addressed, _own, _ground, _of_person, _of_ancestor, _overlap, _beside, _near):
        if reason := rule(item, view):
            return reason
    return None


def _addressed(item: Item, view: View) -> Reason | None:
    mine = {ALL, *(name for id in (view.session, *view.heir) for name in (id, f"session:{id}"))}
    mine |= {f"task:{task}" for task in view.tasks}
    for target in item.to:
        if target in mine:
            return Reason(ALWAYS, f"addressed to {'all' if target == ALL else 'you'}")
        if target.startswith("path:") and _has_path(view, target):
            return Reason(ALWAYS, f"addressed to who is on {target.removeprefix('path:')}")
    return None


def _has_path(view: View, resource: str) -> bool:
    """Whether a path is one of a session's, or meets what it has leased or named."""
    path = resource.removeprefix("path:")
    if path in view.files or any(file.startswith(f"{path}/") for file in view.files):
        return True
    others = (*(f"path:{name}" for name in (*view.named, *view.claimed)), *view.leased)
    return any(names.overlap(resource, other) for other in others)


def _own(item: Item, view: View) -> Reason | None:
    return Reason(ALWAYS, "the section that you wrote") if item.key == view.own else None


def _ground(item: Item, view: View) -> Reason | None:
    """It changes what the session's own records rely on."""
    if not item.target:
        return None
    if item.relation == "superseded":
        older = (ref.partition("@")[0] for ref in view.relies if ref != item.ref)
        relied = item.target in older
        return Reason(SELDOM, f"{item.target}, on which yours relies, goes on") if relied else None
    if item.target not in view.relies:
        return None
    return Reason(ALWAYS, f"{item.target}, on which yours relies, was {item.relation}")


def _of_person(item: Item, view: View) -> Reason | None:
    worded = item.person and item.kind in ("status", "decision")
    return Reason(SELDOM, "a person wrote it") if worded else None


def _of_ancestor(item: Item, view: View) -> Reason | None:
    return Reason(SELDOM, "who started you wrote it") if item.session in view.lineage else None


def _overlap(item: Item, view: View) -> Reason | None:
    """The files of both meet, and not only those that nearly everybody touches."""
    about = (path for name in item.about for path in (name, f"{name.rstrip('/')}/"))
    for path in (*item.on, *about):
        if meeting := _meeting(path, view):
            return Reason(SELDOM, f"on {meeting}")
    return None


def _meeting(path: str, view: View) -> str:
    """The file of a session that a writer's path meets, hot ones aside; empty if there is none."""
    files = view.files.union(view.claimed) - view.hot
    if path.endswith("/"):
        inside = sorted(file for file in files if file.startswith(path))
        if inside:
            return inside[0]
    elif path in files:
        return path
    resource = f"path:{path.rstrip('/')}"
    return path if any(names.overlap(resource, other) for other in view.leased) else ""


def _beside(item: Item, view: View) -> Reason | None:
    tasks = sorted(view.beside.intersection(item.tasks))
    return Reason(SELDOM, f"its task {tasks[0]} is next to yours") if tasks else None


def _near(item: Item, view: View) -> Reason | None:
    """The reason for a notice: a folder that was named, a hot file, a correction of what was
    read."""
    for path in (*item.on, *item.about):
        resource, folder = f"path:{path.rstrip('/')}", f"{path.rstrip('/')}/"
        named = (*view.named, *view.claimed)
        if any(names.overlap(resource, f"path:{other}") for other in named):
            return Reason(NOTICE, f"on {path}")
        if path in view.files:
            return Reason(NOTICE, f"on {path}, which nearly all touch")
        if any(file.startswith(folder) for file in view.files):
            return Reason(NOTICE, f"on {path}")
    if item.target and item.target in view.read:
        return Reason(NOTICE, f"{item.target}, which you read, was {item.relation}")
    return None


def files(paths: Iterable[str]) -> tuple[str, ...]:
    """The files as a record names them: at most twelve; of more, the folders that they lie in, at
    most as many, the outer ones where these are too many. A file of the root stays one."""
    named = sorted(set(paths))
    while len(named) > FILES:
        folders = {_folder(path) for path in named}
        shorter = sorted(folders - {""} | {path for path in named if not _folder(path)})
        if shorter == named:
            return tuple(named[:FILES])
        named = shorter
    return tuple(named)


def _folder(path: str) -> str:
    """The folder above a path, with a slash; empty in the root."""
    head = path.rstrip("/").rpartition("/")[0]
    return f"{head}/" if head else ""


def hot(
    touched: Mapping[str, Iterable[str]], declared: Iterable[str] = (), mine: Iterable[str] = ()
) -> frozenset[str]:
    """The files that nearly everybody touches: by session, the files of a week. `declared` are
    patterns of the policy, for these and `mine`."""
    counts = dict.fromkeys(mine, 0)
    for paths in touched.values():
        for path in set(paths):
            counts[path] = counts.get(path, 0) + 1
    globs = [f"glob:{pattern}" for pattern in declared]
    most = {
        path
        for path, count in counts.items()
        if (count >= HOT_SESSIONS and 3 * count > len(touched))
        or any(names.overlap(glob, f"path:{path}") for glob in globs)
    }
    return frozenset(most)


def signed(item: Item) -> str:
    """An item by its label, and a section by its writer as well: several write towards one goal."""
    return f"{label(item)} by {named(item.session)}" if item.heading else label(item)


def label(item: Item) -> str:
    """An item by its REF, and a section by its heading as well."""
    return f"{item.ref} {theirs(item.heading, 60)}" if item.heading else item.ref

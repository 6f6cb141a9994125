"""`.atlas/`: plain read-only files of the store for people and tools to read and grep, in each
worktree. A view, not the store: refreshed by difference, each file by atomic rename; what a hand
changed there is set aside, never lost.

A name in the view is made of what a record says, and anybody may have written the record: it is a
plain name below one of the kinds' folders, none that git or a tool takes orders from, and no link
is followed on the way to it."""

from __future__ import annotations

import errno
import os
import shlex
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from .. import records
from ..answers.corrections import corrections, same_words
from ..errors import AtlasError, NotFound
from ..model import names, times
from ..model.kind import Kind
from ..model.text import Record
from ..model.tree import Overlay, Tree, blob_id
from ..store import files, ground, lock
from ..store.files import Folder
from ..store.index import Index
from ..store.notebook import Notebook
from ..store.repo import Repo
from ..store.snapshot import Snapshot

# of its names; one that was written in another form is looked through for names that are no more
FORM = "3"
DEEP = 4  # folders
LEFT = (
    errno.ENOTDIR,
    errno.ELOOP,
    errno.EISDIR,
    errno.EMLINK,
)  # what the system says of a name that is no folder
Content = tuple[str, bytes] | None  # the blob that a file is shown from, and its bytes
SMALL = 200  # commits, or records, up to which a command refreshes the view by the way
PACKAGE = os.fspath(Path(__file__).parents[2])  # where `atlas_cli` lies
# `.atlas/atlas`: this Atlas for shells where `atlas` is not on PATH, or is another tool.
LAUNCHER = """#!/bin/sh
# The Atlas that ran here last. Written by Atlas, and written anew when another one runs here.
if [ ! -x {python} ] || [ ! -e {package}/atlas_cli/main.py ]; then
    echo "atlas: error (environment): the Atlas that ran here is gone;" \\
        "install atlas-cli, then run: atlas view" >&2
    exit 1
fi
of=main
[ "$1" != hook ] || {{ of=hook; shift; }}
exec {python} -P -c 'import sys
where, of = sys.argv.pop(1), sys.argv.pop(1)
sys.path[:0] = [where] * (where not in sys.path)
__import__("atlas_cli." + of, fromlist=["run"]).run()' {package} "$of" "$@"
"""


class View:
    """The view of one worktree. `launchers`: a folder that no checkout writes into, for a launcher
    that hooks run."""

    def __init__(self, place: Repo, local: Notebook, launchers: Path) -> None:
        assert place.top is not None and place.view is not None
        self.place, self.top, self.root, self.local, self.launchers = (
            place,
            place.top,
            place.view,
            local,
            launchers,
        )
        self.key = os.fsencode(self.root).decode(errors="backslashreplace")
        # Not the interpreter's own name: one environment has several.
        self.by = (
            f"{sys.prefix}, {PACKAGE}".encode(errors="backslashreplace")
            .decode()
            .replace("\n", "\\n")
        )
        self.known: list[str] = []
        self.aside: list[Path] = []  # hand edits that were put into drafts
        self.left: list[str] = []  # what is no plain file, and was left as it is
        self.why = ""  # it is not written: the place is not ours

    def as_of(self) -> dict[str, str]:
        """What its first file says: the `head` that it shows, `by` whom and in which `form` it was
        written."""
        try:
            with files.below(self.top, self.root) as root:
                found = root.read("AS-OF", 10_000) or b""
        except OSError:
            return {}
        lines = found.decode(errors="replace").split("\n")
        return dict(line.partition(": ")[::2] for line in lines)

    def is_current(self, head: str | None) -> bool:
        """Whether it shows that head, and its launcher starts this Atlas: one small file is read
        for it."""
        said = self.as_of()
        return (said.get("head"), said.get("by"), said.get("form")) == (head or "", self.by, FORM)

    def refresh(self, snapshot: Snapshot, index: Index, now: int, full: bool = False) -> bool:
        """Brings the view to a snapshot. False where it was left as it is: too much at once (`atlas
        view` does it), another command is at it, or the place is not ours to write (`why`)."""
        head, said = snapshot.head or "", self.as_of()
        if self.is_current(head) and not full:
            return True
        with suppress(OSError), Folder.at(self.launchers) as folder:
            self._launch(folder)
        self.why = ours(self.place, self.local)
        paths = None if self.why else self._changed(index, said.get("head", ""), head, full)
        if paths is None:
            return False
        shown = _Shown(snapshot, index, said.get("head", ""), now)
        try:
            self._excluded()
            with (
                files.below(self.top, self.root, make=True) as root,
                lock.held(self.root / ".lock", wait=0.0, at=root.fd) as fd,
            ):
                if fd is None:
                    return False
                self.known = self.local.viewed(self.key)
                wanted = shown.wanted(paths, self.known)
                if full or said.get("form") != FORM:
                    for name in self._gone(root, shown, wanted if full else None):
                        wanted[name] = None
                for name, content in wanted.items():
                    self._put(root, name, content, snapshot)
                self._launch(root)
                text = f"head: {head}\nat: {times.rfc3339(now)}\nby: {self.by}\nform: {FORM}\n"
                text += "A view of the store; reading here leaves no receipt.\n"
                text += "A lease shown here may be over: look at `expires`.\n"
                root.put("AS-OF", text.encode(), 0o444)
        except OSError:
            return False
        return True

    @staticmethod
    def _launch(folder: Folder) -> None:
        if sys.executable:
            found = {"python": shlex.quote(sys.executable), "package": shlex.quote(PACKAGE)}
            data, there = os.fsencode(LAUNCHER.format(**found)), folder.look("atlas")
            if folder.read("atlas", 10_000) != data or (there and there.st_mode & 0o777 != 0o555):
                folder.put("atlas", data, 0o555)

    def _changed(self, index: Index, old: str, head: str, full: bool) -> Iterable[str] | None:
        """The store's paths that may look different; None where they are too many for now."""
        before = index.reached(old) if old and not full else None
        if before is None:
            return index.paths(None if full else SMALL * 10)
        return index.touched(before, index.seq(head) or before, SMALL)

    def _gone(self, root: Folder, shown: _Shown, wanted: dict[str, Content] | None) -> list[str]:
        """The names of files that are not to be there any more: what no record is ever shown under
        (an older view knew worse), and, where all that is wanted is known, what is not wanted."""
        there = dict.fromkeys([*self.known, *(_walked(root) if wanted is not None else ())])
        stays = there.keys() if wanted is None else {*wanted, *shown.kept()}
        return [name for name in there if name not in stays or not records.is_shown(name)]

    def _put(self, root: Folder, name: str, content: Content, snapshot: Snapshot) -> None:
        *way, last = name.split("/")
        try:
            folder = self._way(root, way, snapshot, make=content is not None)
        except FileNotFoundError:
            self.local.set_view(self.key, name, None)
            return
        except OSError as error:
            if error.errno not in LEFT:
                raise
            self.left.append(
                name
            )  # a link, or what was laid there by others: not to be written through, or away
            return
        with folder:
            most = max(files.MOST, len(content[1]) if content else 0)
            there, ours = folder.read(last, most), self.local.view(self.key, name)
            if content is not None and ours == content[0] and there == content[1]:
                return
            if there is None and folder.look(last) is not None:
                self.left.append(name)
                return
            if (
                content is None
                and ours is None
                and there is not None
                and not self._stored(there, snapshot)
            ):
                return  # a hand's own file, of which the store never knew
            self._set_aside(name, there, (ours, content[0] if content else None), snapshot)
            if content is None:
                folder.drop(last)
            else:
                folder.put(last, content[1], 0o444)
        if content is None:
            self._emptied(root, way)
        self.local.set_view(self.key, name, content[0] if content else None)

    def _way(self, root: Folder, way: list[str], snapshot: Snapshot, make: bool) -> Folder:
        """The folder that a file goes into. A plain file that stands where it should be is set
        aside as an edit."""
        for depth, name in enumerate(way):
            with root.down(way[:depth]) as above:
                if above.plain(name) and make:
                    there = above.read(name)
                    if there is None:
                        raise NotADirectoryError(LEFT[0], "too large to be moved", name)
                    self._set_aside("-".join(way[: depth + 1]), there, (), snapshot)
                    above.drop(name)
                above.sub(name, make).close()
        return root.down(way)

    @staticmethod
    def _emptied(root: Folder, way: list[str]) -> None:
        """Takes the folders away that nothing is left in."""
        for depth in range(len(way), 0, -1):
            with suppress(OSError), root.down(way[: depth - 1]) as above:
                above.drop_folder(way[depth - 1])

    @staticmethod
    def _stored(data: bytes, snapshot: Snapshot) -> bool:
        return snapshot.git.object(blob_id(data, snapshot.width)) is not None

    def _set_aside(
        self, name: str, there: bytes | None, ours: tuple[str | None, ...], snapshot: Snapshot
    ) -> None:
        """A file that is not as we wrote it goes into the drafts before it is replaced. What the
        store has is no such file: a copied or moved worktree, or a lost notebook, knows nothing of
        what we wrote there."""
        if not there or blob_id(there, snapshot.width) in ours or self._stored(there, snapshot):
            return  # (an empty file is what a power cut leaves)
        self.aside.append(draft(self.top, self.root, f"edited-{name.replace('/', '-')}", there))

    def _excluded(self) -> None:
        """`.atlas/` in the clone's own list of what git leaves alone (once)."""
        line, exclude = b"/.atlas/", self.place.common / "info/exclude"
        there = exclude.read_bytes() if exclude.exists() else b""
        if line not in there.split(b"\n"):
            exclude.parent.mkdir(exist_ok=True)
            with exclude.open("ab") as out:
                out.write((b"" if there.endswith(b"\n") or not there else b"\n") + line + b"\n")


class _Shown:
    """What is to be seen of a store: its records that keep their rules, a document that a hand has
    spoilt as it was written. `old` is the head that the view has shown so far."""

    def __init__(self, snapshot: Snapshot, index: Index, old: str, now: int) -> None:
        self.snapshot, self.index, self.old, self.now = snapshot, index, old, now
        objects = ((path, snapshot.git.object(blob)) for path, blob, _ in index.edits())
        kept: dict[str, bytes | None] = dict.fromkeys(path for path, _ in index.broken())
        kept |= {path: found[2] for path, found in objects if found}
        self.tree: Tree = Overlay(snapshot, kept, snapshot.width) if kept else snapshot

    @cached_property
    def before(self) -> Snapshot | None:
        """The store as the view has shown it so far."""
        try:
            return Snapshot(self.snapshot.git, self.old, self.snapshot.width) if self.old else None
        except AtlasError:
            return None

    def wanted(self, paths: Iterable[str], known: Iterable[str]) -> dict[str, Content]:
        """View file by name, for what these paths of the store have to do with: (blob, bytes), or
        None where there should be none."""
        found: dict[str, Content] = {}
        stems: dict[str, list[str]] = {}
        for name in known:
            stems.setdefault(_stem(name), []).append(name)
        due = [path for path in paths if records.is_record(path)]
        seen: set[str] = set()
        while due:
            path = due.pop()
            if path in seen:
                continue
            seen.add(path)
            name, content, more = self._one(path)
            due += more
            if name and found.get(name) is None:
                found[name] = content
                for other in stems.get(
                    _stem(name), ()
                ):  # another type: a new version may have changed it
                    found.setdefault(other, None)
        return found

    def kept(self) -> set[str]:
        """The names of records that are there and cannot be read now: the view keeps what it
        had."""
        gone = ((path, self._name_before(path)[0]) for path, _ in self.index.damaged())
        return {name for path, name in gone if name}

    def _one(self, path: str) -> tuple[str, Content, list[str]]:
        """(name, content) of a record, and the paths of others that look different for it; an empty
        name where the view keeps what it had."""
        try:
            data = self.tree.read(path)
            kind = records.kind_of(path)
            if data is None or kind is None:
                name, more = self._name_before(path)
                return name, None, more
            record = kind.parse(path, data)
            name, source = kind.view(self.tree, path, record, self.now)
            content = None if source is None else self._copy(source)
            return names.unheeded(name), content, self._corrected(kind, record, self.tree)
        except (AtlasError, ValueError):
            return "", None, []  # damaged: the view keeps what it had

    def _name_before(self, path: str) -> tuple[str, list[str]]:
        """The name that a record which is not there any more was shown under, and what may be shown
        in its place."""
        kind = records.kind_of(path)
        try:
            data = self.before.read(path) if self.before else None
            if data is None or kind is None or self.before is None:
                return "", []
            record = kind.parse(path, data)
            name = kind.view(self.before, path, record, self.now)[0]
            more = self._corrected(kind, record, self.before)
            with suppress(NotFound):
                more.append(
                    kind.find(self.tree, kind.ref(path, record).partition(":")[2].partition("@")[0])
                )
            return names.unheeded(name), [
                *more,
                *([name] if name != path and self.tree.blob(name) else []),
            ]
        except (AtlasError, ValueError):
            return "", []

    def _corrected(self, kind: Kind, record: Record, tree: Tree) -> list[str]:
        """The paths of what a record corrects, where it is there."""
        found = []
        for relation, text in kind.links(record):
            if relation == "corrects":
                with suppress(AtlasError):
                    for one in map(records.ref, same_words(self.index, text)):
                        found.append(records.BY_NAME[one.kind].find(tree, one.id, one.number))
        return found

    def _copy(self, source: str) -> Content:
        """(blob, bytes) of a file of the store; None where its record was retracted."""
        about = source if records.is_record(source) else self.index.beside(source)
        ref = self.index.ref_of(about)
        if any(entry["retract"] for _, entry in corrections(self.index, ref)):
            return None
        data = self.tree.read(source)
        return None if data is None else (self.tree.blob(source) or "", data)


def ours(place: Repo, local: Notebook) -> str:
    """Why `.atlas` of a worktree is not Atlas's own to write and to read; empty where it is."""
    key = os.fsencode(place.view or "").decode(errors="backslashreplace")
    known = local.ground(key)
    why, state = ground.foreign(place, known)
    if state and known != f"{state} {why}":
        local.set_ground(key, f"{state} {why}")
    return why


def _stem(name: str) -> str:
    """A name in the view without its type."""
    return names.heeded_as(name).rpartition(".")[0]


def _walked(root: Folder) -> list[str]:
    """The plain files in the folders of the kinds, as far down as the view ever wrote."""
    found, left = [], [[kind.folder] for kind in records.KINDS]
    while left:
        way = left.pop()
        with suppress(OSError), root.down(way) as folder:
            for name in folder.names():
                if folder.plain(name):
                    found.append("/".join([*way, name]))
                elif len(way) < DEEP:
                    left.append([*way, name])
    return found


def draft(top: Path, root: Path, name: str, data: bytes) -> Path:
    """Keeps a text under `drafts/` of a folder below one that is trusted, under a name of its own;
    the path."""
    stem, dot, ext = name.rpartition(".")
    stamp = time.strftime("%m%d-%H%M%S", time.gmtime())
    with files.below(top, root / "drafts", make=True) as folder:
        for count in range(1000):
            more = f"-{count}" if count else ""
            file = f"{stem or ext}-{stamp}{more}{dot if stem else ''}{ext if stem else ''}"
            try:
                folder.add(file, data)
            except FileExistsError:
                continue
            return root / "drafts" / file
    raise OSError("too many drafts")

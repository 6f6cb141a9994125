"""`.atlas/`: plain read-only files of the store for people and tools to read and grep, in each
worktree. A view, not the store: refreshed by difference, each file by atomic rename; what a hand
changed there is set aside, never lost.

A name in the view is made of what a record says, and anybody may have written the record: it is a
plain name below one of the kinds' folders, none that git or a tool takes orders from, and no link
is followed on the way to it."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from .. import records
from ..errors import AtlasError
from ..model import names, text, times
from ..model.tree import Tree, blob_id
from ..records import artifact, status, status_write
from ..store import files, ground, lock
from ..store.files import Folder
from ..store.index import Index
from ..store.notebook import Notebook
from ..store.repo import Repo
from ..store.snapshot import Snapshot
from . import drafts, launcher

if TYPE_CHECKING:
    from .shown import Content, Shown

# The form of its names. A view of another form is looked through for names that are no more.
FORM = "3"
DEEP = 4  # folders
# git leaves the view alone, whatever the project ignores; an outbox says itself what is seen
FIXED = ("AS-OF", "atlas", ".gitignore", ".lock")  # its files that show no record
HIDDEN = b"*\n!/outbox/\n"
# what the system says of a name that is no folder
LEFT = (errno.ENOTDIR, errno.ELOOP, errno.EISDIR, errno.EMLINK)
SMALL = 200  # commits, or records, up to which a command refreshes the view by the way


class View:
    """The view of one worktree. `launchers`: a folder that no checkout writes into, for a launcher
    that hooks run."""

    def __init__(self, place: Repo, local: Notebook, launchers: Path) -> None:
        assert place.top is not None and place.view is not None
        self.place, self.local, self.launchers = place, local, launchers
        self.top, self.root = place.top, place.view
        self.key = os.fsencode(self.root).decode(errors="backslashreplace")
        self.by = launcher.name()
        self.known: list[str] = []
        # hand edits that were put into drafts, each with the command that submits it
        self.aside: list[tuple[Path, str]] = []
        self.before: Tree | None = None  # the store as the view has shown it so far
        self.left: list[str] = []  # what is no plain file, and was left as it is
        self.why = ""  # it is not written: the place is not ours

    def as_of(self) -> dict[str, str]:
        """The fields of its first file: the `head` that it shows, and `by` whom and in which `form`
        it was written."""
        try:
            with files.below(self.top, self.root) as root:
                data = root.read("AS-OF", 10_000) or b""
        except OSError:
            return {}
        lines = data.decode(errors="replace").split("\n")
        return dict(line.partition(": ")[::2] for line in lines)

    def is_current(self, head: str | None) -> bool:
        """Whether it shows that head, and its launcher starts this Atlas. One small file tells
        both."""
        as_of = self.as_of()
        state = (as_of.get("head"), as_of.get("by"), as_of.get("form"))
        return state == (head or "", self.by, FORM)

    def refresh(self, snapshot: Snapshot, index: Index, now: int, full: bool = False) -> bool:
        """Brings the view to a snapshot. False if it was left as it is: too much has changed at
        once (`atlas view` does it), another command is at it, or the place is not ours to write
        (`why`)."""
        head, shows = snapshot.head or "", self.as_of()
        if self.is_current(head) and not full:
            return True
        with suppress(OSError), Folder.at(self.launchers) as folder:
            launcher.put(folder)
        self.why = ours(self.place, self.local)
        old = shows.get("head", "")
        paths = None if self.why else self._changed(index, old, head, full)
        if paths is None:
            return False
        from .shown import Shown

        shown = Shown(snapshot, index, old, now)
        self.before = shown.before
        try:
            with (
                files.below(self.top, self.root, make=True) as root,
                lock.held(self.root / ".lock", wait=0.0, at=root.fd) as fd,
            ):
                if fd is None:
                    return False
                if root.read(".gitignore", 100) != HIDDEN:
                    root.put(".gitignore", HIDDEN)
                self.known = self.local.viewed(self.key)
                wanted = shown.wanted(paths, self.known)
                if full or shows.get("form") != FORM:
                    for name in self._gone(root, shown, wanted if full else None):
                        wanted[name] = None
                for name, content in wanted.items():
                    self._put(root, name, content, snapshot)
                launcher.put(root)
                as_of = f"head: {head}\nat: {times.rfc3339(now)}\nby: {self.by}\nform: {FORM}\n"
                as_of += "A view of the store; reading here leaves no receipt.\n"
                as_of += "A lease shown here may be over: look at `expires`.\n"
                root.put("AS-OF", as_of.encode(), 0o444)
        except OSError:
            return False
        return True

    def remove(self) -> list[Path]:
        """Takes the view away. The files in it that a hand laid or changed are left, and
        returned."""
        if ours(self.place, self.local):
            return []
        try:
            with files.below(self.top, self.root) as root:
                for name in (*self.local.viewed(self.key), *FIXED):
                    self._drop(root, name)
        except OSError:
            return []
        left = [path for path in self.root.rglob("*") if not path.is_dir()]
        if not left:
            shutil.rmtree(self.root, ignore_errors=True)
        return left

    def _drop(self, root: Folder, name: str) -> None:
        """Takes a file of the view away, unless a hand has made it writable."""
        *way, last = name.split("/")
        with suppress(OSError), root.down(way) as folder:
            state = folder.look(last)
            if state and (name in FIXED or not state.st_mode & 0o222):
                folder.drop(last)
        self._emptied(root, way)

    def _changed(self, index: Index, old: str, head: str, full: bool) -> Iterable[str] | None:
        """The store's paths that may look different; None if they are too many for now."""
        before = index.reached(old) if old and not full else None
        if before is None:
            return index.paths(None if full else SMALL * 10)
        return index.touched(before, index.seq(head) or before, SMALL)

    def _gone(self, root: Folder, shown: Shown, wanted: dict[str, Content] | None) -> list[str]:
        """The names of files that must go. No record is ever shown under such a name (an older view
        knew worse), or it is not among `wanted`, where all that is wanted is known."""
        present = dict.fromkeys(self.known)
        if wanted is None:
            return [name for name in present if not records.is_shown(name)]
        present |= dict.fromkeys(_walked(root))
        stays = {*wanted, *shown.unreadable()}
        return [name for name in present if name not in stays or not records.is_shown(name)]

    def _put(self, root: Folder, name: str, content: Content, snapshot: Snapshot) -> None:
        """Brings one file to its content, or takes it away."""
        *way, last = name.split("/")
        try:
            folder = self._way(root, way, snapshot, make=content is not None)
        except FileNotFoundError:
            self.local.set_view(self.key, name, None)
            return
        except OSError as error:
            if error.errno not in LEFT:
                raise
            # A link, or what others laid there: not to be written through, or away.
            self.left.append(name)
            return
        with folder:
            if not self._write(folder, last, name, content, snapshot):
                return
        if content is None:
            self._emptied(root, way)
        self.local.set_view(self.key, name, content[0] if content else None)

    def _write(
        self, folder: Folder, last: str, name: str, content: Content, snapshot: Snapshot
    ) -> bool:
        """Writes one file into its folder, or drops it; False if it was left as it is."""
        most = max(files.MOST, len(content[1]) if content else 0)
        data, shown_from = folder.read(last, most), self.local.view(self.key, name)
        if content is not None and (shown_from, data) == content:
            return False
        if data is None and folder.look(last) is not None:
            self.left.append(name)
            return False
        strange = content is None and shown_from is None and data is not None
        if strange and not self._stored(data or b"", snapshot):
            return False  # a hand's own file, of which the store never knew
        self._set_aside(name, data, (shown_from, content[0] if content else None), snapshot)
        if content is None:
            folder.drop(last)
        else:
            folder.put(last, content[1], 0o444)
        return True

    def _way(self, root: Folder, way: list[str], snapshot: Snapshot, make: bool) -> Folder:
        """The folder that a file goes into. A plain file that stands where it should be is set
        aside as an edit."""
        for depth, name in enumerate(way):
            with root.down(way[:depth]) as above:
                if above.plain(name) and make:
                    data = above.read(name)
                    if data is None:
                        raise NotADirectoryError(LEFT[0], "too large to be moved", name)
                    self._set_aside("-".join(way[: depth + 1]), data, (), snapshot)
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
        """Whether the store has these bytes as a file."""
        return snapshot.git.object(blob_id(data, snapshot.width)) is not None

    def _set_aside(
        self, name: str, data: bytes | None, ours: tuple[str | None, ...], snapshot: Snapshot
    ) -> None:
        """Puts a file that is not as we wrote it into the drafts before it is replaced. Bytes that
        the store has are no such file: a copied or moved worktree, or a lost notebook, knows
        nothing of what we wrote there."""
        if not data or blob_id(data, snapshot.width) in ours or self._stored(data, snapshot):
            return  # (an empty file is what a power cut leaves)
        with suppress(AtlasError):  # (of an entry, the text is the edit)
            if name.startswith(f"{status.FOLDER}/"):
                data = text.front(data, name)[1].encode()
        edit = f"edited-{name.replace('/', '-')}"
        file = drafts.put(self.launchers, self.launchers, edit, data)
        self.aside.append((file, self._submits(name)))

    def _submits(self, name: str) -> str:
        """The command that submits a hand's edit (`{draft}`) of what the view had shown: empty for
        what no command writes over."""
        folder, _, rest = names.heeded_as(name).partition("/")
        id = rest.rpartition(".")[0]
        if self.before is None or not names.valid(id):
            return ""
        if folder == status.FOLDER and (number := status.newest(self.before, id)):
            base = status_write.base_of(self.before, id, number)
            return f"atlas status write {id} --replace --base {base} --file {{draft}}"
        if folder == artifact.FOLDER and (number := artifact.newest(self.before, id)):
            return f"atlas artifact put {id} {{draft}} --base {number}"
        return ""


def ours(place: Repo, local: Notebook) -> str:
    """The reason why `.atlas` of a worktree is not Atlas's own to write and to read; empty if it
    is."""
    key = os.fsencode(place.view or "").decode(errors="backslashreplace")
    known = local.ground(key)
    why, state = ground.foreign(place, known)
    if state and known != f"{state} {why}":
        local.set_ground(key, f"{state} {why}")
    return why


def _walked(root: Folder) -> list[str]:
    """The plain files in the folders of the kinds, as far down as the view ever wrote."""
    names, left = [], [[kind.folder] for kind in records.KINDS]
    while left:
        way = left.pop()
        with suppress(OSError), root.down(way) as folder:
            for name in folder.names():
                if folder.plain(name):
                    names.append("/".join([*way, name]))
                elif len(way) < DEEP:
                    left.append([*way, name])
    return names

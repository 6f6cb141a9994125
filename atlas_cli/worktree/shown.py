"""The files that a store is shown as: each record's name and bytes in the view."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property

from .. import records
from ..answers.ask import same_words, withdrawing
from ..answers.stream import folded, withheld
from ..errors import AtlasError, NotFound
from ..model import names, text
from ..model.change import given
from ..model.kind import Kind
from ..model.text import Record
from ..model.tree import Overlay, Tree, blob_id
from ..records import folding, parts, status
from ..store.index import Index
from ..store.snapshot import Snapshot

CAVEAT = "CAVEAT.txt"  # (no artifact's name has capitals)
Content = tuple[str, bytes] | None  # the blob that a file is shown from, and its bytes


class Shown:
    """The records of a store that keep their rules. A document that a hand has spoilt is shown as
    it was written. `old` is the head that the view has shown so far."""

    def __init__(self, snapshot: Snapshot, index: Index, old: str, now: int) -> None:
        self.snapshot, self.index, self.old, self.now = snapshot, index, old, now
        objects = ((path, snapshot.git.object(blob)) for path, blob, _ in index.edits())
        spoilt: dict[str, bytes | None] = dict.fromkeys(path for path, _ in index.broken())
        spoilt |= {path: entry[2] for path, entry in objects if entry}
        self.tree: Tree = Overlay(snapshot, spoilt, snapshot.width) if spoilt else snapshot

    @cached_property
    def before(self) -> Snapshot | None:
        """The store as the view has shown it so far."""
        try:
            return Snapshot(self.snapshot.git, self.old, self.snapshot.width) if self.old else None
        except AtlasError:
            return None

    def wanted(self, paths: Iterable[str], known: Iterable[str]) -> dict[str, Content]:
        """The view's files that these paths of the store have to do with: by name, (blob, bytes),
        or None if there should be no such file."""
        wanted: dict[str, Content] = {}
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
            name, content, more = self._file(path)
            due += more
            if name and wanted.get(name) is None:
                wanted[name] = content
                wanted |= self._caveat(path, name, content is not None)
                # A new version may have changed the type.
                for other in stems.get(_stem(name), ()):
                    wanted.setdefault(other, None)
        return wanted

    def _caveat(self, path: str, name: str, stands: bool) -> dict[str, Content]:
        """The file beside a document whose own bytes are shown, which says its caveat. There is
        none where it has no caveat, or is not shown itself (`stands`)."""
        kind = records.kind_of(path)
        if kind is None or kind.numbered is None or not kind.suffix.startswith("/"):
            return {}
        content: Content = None
        if stands:
            about = kind.find(self.tree, kind.numbered(path)[0])
            caveat = kind.parse(about, self.tree.read(about) or b"").get("caveat")
            data = f"{caveat}\n".encode() if caveat else b""
            content = (blob_id(data, self.snapshot.width), data) if caveat else None
        return {f"{_stem(name)}.{CAVEAT}": content}

    def unreadable(self) -> set[str]:
        """The names of records that are there and cannot be read now: the view keeps what it
        had."""
        gone = ((path, self._name_before(path)[0]) for path, _ in self.index.damaged())
        return {name for path, name in gone if name}

    def _file(self, path: str) -> tuple[str, Content, list[str]]:
        """(name, content) of a record, and the paths of others that look different for it. The name
        is empty if the view keeps what it had."""
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
        """The name that a record was shown under which is not there any more, and the paths of
        those that may be shown in its place."""
        kind = records.kind_of(path)
        try:
            data = self.before.read(path) if self.before else None
            if data is None or kind is None or self.before is None:
                return "", []
            record = kind.parse(path, data)
            name = kind.view(self.before, path, record, self.now)[0]
            more = self._corrected(kind, record, self.before)
            with suppress(NotFound):
                id = kind.ref(path, record).partition(":")[2].partition("@")[0]
                more.append(kind.find(self.tree, id))
            if name != path and self.tree.blob(name):
                more.append(name)
            return names.unheeded(name), more
        except (AtlasError, ValueError):
            return "", []

    def _corrected(self, kind: Kind, record: Record, tree: Tree) -> list[str]:
        """The paths of the records that a record corrects, if they are there."""
        paths = []
        for relation, target in kind.links(record):
            if relation == "corrects":
                with suppress(AtlasError):
                    for ref in map(records.ref, same_words(self.index, target)):
                        paths.append(records.BY_NAME[ref.kind].find(tree, ref.id, ref.number))
        return paths

    def _copy(self, source: str) -> Content:
        """(blob, bytes) of a file of the store; None if its record was retracted."""
        about = source if records.is_record(source) else self.index.beside(source)
        ref = self.index.ref_of(about)
        if withdrawing(self.index, ref):
            return None
        data = self.tree.read(source)
        if data is None:
            return None
        shown = self._withheld(source, data)
        if shown != data:
            return blob_id(shown, self.snapshot.width), shown
        return self.tree.blob(source) or "", data

    def _withheld(self, source: str, data: bytes) -> bytes:
        """The bytes of a file; of a status entry without the sections in it that were retracted."""
        stream, number = status.numbered(source)
        whole = parts.parts(self.tree, stream, number) if number else ()
        gone = [bool(withdrawing(self.index, part.ref)) for part in whole]
        front, _ = text.front(data, source) if number else ({}, "")
        left = folded(self.index, self.tree, {**front, "stream": stream})
        if not any(gone) and left == folding.items_of(front):
            return data
        pairs = zip(whole, gone, strict=True)
        shown = [withheld(part) if hidden else part for part, hidden in pairs]
        inner = ("sections", "wish", "earlier")
        front = {key: value for key, value in front.items() if key not in inner}
        front |= given(earlier=left)
        return text.with_front(front, parts.body(shown))


def _stem(name: str) -> str:
    """A name in the view without its type."""
    return names.heeded_as(name).rpartition(".")[0]

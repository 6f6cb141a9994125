"""`.atlas/`: plain read-only files of the store for people and tools to read and grep, in each worktree. A view, not
the store: refreshed by difference, each file by atomic rename; what a hand changed there is set aside, never lost."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from .. import records
from ..errors import AtlasError, Failed
from ..records import times
from ..records.tree import blob_id
from . import lock
from .index import Index
from .local import Local
from .snapshot import Snapshot

SMALL = 200  # commits, or records, up to which a command refreshes the view by the way
PACKAGE = os.fspath(Path(__file__).parents[2])  # where `atlas_cli` lies
# `.atlas/atlas`: this Atlas for shells where `atlas` is not on PATH, or is another tool.
LAUNCHER = """#!/bin/sh
# The Atlas that ran here last. Written by Atlas, and written anew when another one runs here.
if [ ! -x {python} ] || [ ! -e {package}/atlas_cli/main.py ]; then
    echo "atlas: error (environment): the Atlas that ran here is gone; install atlas-cli, then run: atlas view" >&2
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
    """The view of one worktree."""

    def __init__(self, root: Path, local: Local, exclude: Path) -> None:
        self.root, self.local, self.exclude = root, local, exclude
        self.key = os.fsencode(root).decode(errors="backslashreplace")
        # Not the interpreter's own name: one environment has several.
        self.by = f"{sys.prefix}, {PACKAGE}".encode(errors="backslashreplace").decode().replace("\n", "\\n")
        self.known: list[str] = []
        self.aside: list[Path] = []  # hand edits that were put into drafts

    def as_of(self) -> tuple[str, str]:
        """The head that the view shows, and by whom it was written; empty where there is no view."""
        try:
            lines = (self.root / "AS-OF").read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError):
            return "", ""
        found = dict(line.partition(": ")[::2] for line in lines)
        return found.get("head", ""), found.get("by", "")

    def is_current(self, head: str | None) -> bool:
        """Whether it shows that head, and its launcher starts this Atlas: one small file is read for it."""
        return self.as_of() == (head or "", self.by)

    def refresh(self, snapshot: Snapshot, index: Index, now: int, full: bool = False) -> bool:
        """Brings the view to a snapshot. False where it was left as it is: too much at once (`atlas view` does it),
        another command is at it, or the place is not ours to write."""
        head, old = snapshot.head or "", self.as_of()[0]
        if self.is_current(head) and not full:
            return True
        if self.root.is_symlink() or (self.root.exists() and not self.root.is_dir()):
            return False
        paths = self._changed(index, old, head, full)
        if paths is None:
            return False
        try:
            self._excluded()
            self.root.mkdir(exist_ok=True)
            with lock.held(self.root / ".lock", wait=0.0) as fd:
                if fd is None:
                    return False
                self.known = self.local.viewed(self.key)
                for name, content in self._readable(snapshot, index, paths, now).items():
                    self._put(name, content, snapshot)
                self._launcher()
                text = f"head: {head}\nat: {times.rfc3339(now)}\nby: {self.by}\n"
                text += "A view of the store; reading here leaves no receipt.\n"
                self._write(
                    self.root / "AS-OF", (text + "A lease shown here may be over: look at `expires`.\n").encode()
                )
        except OSError:
            return False
        return True

    def _launcher(self) -> None:
        if sys.executable:
            found = {"python": shlex.quote(sys.executable), "package": shlex.quote(PACKAGE)}
            self._write(self.root / "atlas", os.fsencode(LAUNCHER.format(**found)), 0o555)

    def _changed(self, index: Index, old: str, head: str, full: bool) -> Iterable[str] | None:
        """The store's paths that may look different; None where they are too many for now."""
        before = index.reached(old) if old and not full else None
        if before is None:
            return index.paths(None if full else SMALL * 10)
        return index.touched(before, index.seq(head) or before, SMALL)

    def _readable(
        self, snapshot: Snapshot, index: Index, paths: Iterable[str], now: int
    ) -> dict[str, tuple[str, bytes] | None]:
        """What is wanted of these paths; a record that cannot be read leaves its file as it is."""
        found: dict[str, tuple[str, bytes] | None] = {}
        for path in paths:
            try:
                found |= self._wanted(snapshot, index, [path] if ".." not in path.split("/") else [], now)
            except (AtlasError, ValueError):
                continue
        return found

    def _wanted(
        self, snapshot: Snapshot, index: Index, paths: Iterable[str], now: int
    ) -> dict[str, tuple[str, bytes] | None]:
        """View file by name: (blob, bytes), or None where there should be none."""
        found: dict[str, tuple[str, bytes] | None] = {}
        due = [path for path in paths if records.is_record(path)]
        for path in due:
            kind, data = records.kind_of(path), snapshot.read(path)
            if kind is None or data is None:
                continue
            try:
                record = kind.parse(path, data)
                name, source = kind.view(snapshot, path, record, now)
            except Failed:
                continue  # damaged: the view keeps what it had
            if name in found:
                continue
            due += [target for relation, ref in kind.links(record) if relation == "corrects"
                    for target in self._path(snapshot, ref)]  # fmt: skip
            found |= dict.fromkeys(self._alike(name))
            found[name] = None if source is None else self._copy(snapshot, index, source)
        return found

    @staticmethod
    def _path(snapshot: Snapshot, text: str) -> list[str]:
        """The path of a REF; nothing where there is none (any more)."""
        try:
            ref = records.ref(text)
            return [records.BY_NAME[ref.kind].find(snapshot, ref.id, ref.number)]
        except AtlasError:
            return []

    def _alike(self, name: str) -> list[str]:
        """The same thing under another type: a new version may have changed it."""
        stem = name.rpartition(".")[0]
        return [other for other in self.known if other != name and other.rpartition(".")[0] == stem]

    @staticmethod
    def _copy(snapshot: Snapshot, index: Index, source: str) -> tuple[str, bytes] | None:
        """(blob, bytes) of a file of the store; None where its record was retracted."""
        about = source if records.is_record(source) else index.beside(source)
        ref = index.ref_of(about)
        if any(entry["retract"] for _, entry in index.pointing(ref, "corrects")):
            return None
        data = snapshot.read(source)
        return None if data is None else (snapshot.blob(source) or "", data)

    def _put(self, name: str, content: tuple[str, bytes] | None, snapshot: Snapshot) -> None:
        file = self.root / name
        if any(parent.is_symlink() for parent in (file, *file.parents[: len(Path(name).parts) - 1])):
            return
        ours = self.local.view(self.key, name)
        if content is not None and ours == content[0] and file.exists() and file.read_bytes() == content[1]:
            return
        self._set_aside(file, name, ours, content, snapshot)
        if content is None:
            file.unlink(missing_ok=True)
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._write(file, content[1])
        self.local.set_view(self.key, name, content[0] if content else None)

    def _set_aside(
        self, file: Path, name: str, ours: str | None, content: tuple[str, bytes] | None, snapshot: Snapshot
    ) -> None:
        """A file that is not as we wrote it goes into the drafts before it is replaced. What the store has is no such
        file: a copied or moved worktree, or a lost notebook, knows nothing of what we wrote there."""
        try:
            there = file.read_bytes()
        except FileNotFoundError:
            return
        blob = blob_id(there, snapshot.width)
        if not there or blob in (ours, content[0] if content else None) or snapshot.git.object(blob):
            return  # (an empty file is what a power cut leaves)
        self.aside.append(draft(self.root, f"edited-{name.replace('/', '-')}", there))

    def _write(self, file: Path, data: bytes, mode: int = 0o444) -> None:
        part = self.root / f".part-{os.getpid()}"
        part.write_bytes(data)
        part.chmod(mode)
        part.replace(file)

    def _excluded(self) -> None:
        """`.atlas/` in the clone's own list of what git leaves alone (once)."""
        line = b"/.atlas/"
        there = self.exclude.read_bytes() if self.exclude.exists() else b""
        if line not in there.split(b"\n"):
            self.exclude.parent.mkdir(exist_ok=True)
            with self.exclude.open("ab") as out:
                out.write((b"" if there.endswith(b"\n") or not there else b"\n") + line + b"\n")


def draft(root: Path, name: str, data: bytes) -> Path:
    """Keeps a text under `drafts/`, under a name of its own; the path."""
    folder = root / "drafts"
    folder.mkdir(parents=True, exist_ok=True)
    stem, dot, ext = name.rpartition(".")
    stamp = time.strftime("%m%d-%H%M%S", time.gmtime())
    for count in range(1000):
        file = folder / f"{stem or ext}-{stamp}{f'-{count}' if count else ''}{dot if stem else ''}{ext if stem else ''}"
        try:
            with file.open("xb") as out:
                out.write(data)
        except FileExistsError:
            continue
        return file
    raise OSError("too many drafts")

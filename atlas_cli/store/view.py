"""`.atlas/`: plain read-only files of the store for people and tools to read and grep, in each worktree. A view, not
the store: refreshed by difference, each file by atomic rename; what a hand changed there is set aside, never lost."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from ..records import artifact, correction, kind_of, lease, status, times
from ..records.tree import blob_id
from . import lock
from .index import Index
from .local import Local
from .snapshot import Snapshot

DAYS = 90
SMALL = 200  # commits, or records, up to which a command refreshes the view by the way


class View:
    """The view of one worktree."""

    def __init__(self, root: Path, local: Local, exclude: Path) -> None:
        self.root, self.local, self.exclude = root, local, exclude
        self.key = str(root)
        self.aside: list[Path] = []  # hand edits that were put into drafts

    def as_of(self) -> str | None:
        """The head that the view shows; None where there is no view."""
        try:
            return (self.root / "AS-OF").read_text().split("\n")[0].removeprefix("head: ") or None
        except (OSError, UnicodeDecodeError):
            return None

    def refresh(self, snapshot: Snapshot, index: Index, now: int, full: bool = False) -> bool:
        """Brings the view to a snapshot. False where it was left as it is: too much at once (`atlas view` does it),
        another command is at it, or the place is not ours to write."""
        head, old = snapshot.head or "", self.as_of()
        if old == head and not full:
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
                for name, content in self._wanted(snapshot, index, paths, now).items():
                    self._put(name, content)
                text = f"head: {head}\nat: {times.rfc3339(now)}\nA view of the store; reading here leaves no receipt.\n"
                self._write(
                    self.root / "AS-OF", (text + "A lease shown here may be over: look at `expires`.\n").encode()
                )
        except OSError:
            return False
        return True

    def _changed(self, index: Index, old: str | None, head: str, full: bool) -> Iterable[str] | None:
        """The store's paths that may look different; None where they are too many for now."""
        before = index.seq(old) if old and not full else None
        if before is None:
            return index.paths(None if full else SMALL * 10)
        return index.touched(before, index.seq(head) or before, SMALL)

    def _wanted(
        self, snapshot: Snapshot, index: Index, paths: Iterable[str], now: int
    ) -> dict[str, tuple[str, bytes] | None]:
        """View file by name: (blob, bytes), or None where there should be none."""
        found: dict[str, tuple[str, bytes] | None] = {}
        for path in paths:
            folder, _, rest = path.partition("/")
            if folder == status.FOLDER:
                stream = rest.split("/")[0]
                found[f"status/{stream}.md"] = self._blob(snapshot, status.find(snapshot, stream))
            elif folder == artifact.FOLDER:
                found |= self._artifact(snapshot, index, rest.split("/")[0])
            elif folder == correction.FOLDER:
                found[path] = self._blob(snapshot, path) if self._young(path, now) else None
                target = correction.parse(path, snapshot.read(path) or b"")["target"]
                if target.startswith("artifact:"):
                    found |= self._artifact(snapshot, index, target.partition(":")[2].split("@")[0])
            elif folder == "decisions":
                found[path] = self._blob(snapshot, path) if self._young(path, now) else None
            elif folder in (lease.FOLDER, "sessions"):
                found[f"{folder}/{path.split('/')[-1]}"] = self._row(snapshot, path, now)
        return found

    @staticmethod
    def _blob(snapshot: Snapshot, path: str) -> tuple[str, bytes] | None:
        data = snapshot.read(path)
        return None if data is None else (snapshot.blob(path) or "", data)

    @staticmethod
    def _young(path: str, now: int) -> bool:
        _, year, name = path.split("/")
        try:
            return now - times.moment(f"{year}-{name[:5]}T00:00:00Z") < DAYS * 86400
        except ValueError:
            return False

    def _row(self, snapshot: Snapshot, path: str, now: int) -> tuple[str, bytes] | None:
        found, kind = self._blob(snapshot, path), kind_of(path)
        if found is None or kind is None:
            return None
        return found if (kind.until(kind.parse(path, found[1])) or 0) > now else None

    def _artifact(self, snapshot: Snapshot, index: Index, name: str) -> dict[str, tuple[str, bytes] | None]:
        """The newest version under its name; one that was retracted is withheld, one of another type taken away."""
        last = artifact.newest(snapshot, name)
        found: dict[str, tuple[str, bytes] | None] = {
            shown: None for shown in self.local.viewed(self.key) if shown.rpartition(".")[0] == f"artifacts/{name}"
        }
        if last:
            record = artifact.get(snapshot, name, last)
            corrections = index.pointing(f"artifact:{name}@{last}", "corrects")
            if not any(entry["retract"] for _, entry in corrections):
                found[f"artifacts/{name}.{record['ext']}"] = self._blob(snapshot, artifact.body_place(record))
        return found

    def _put(self, name: str, content: tuple[str, bytes] | None) -> None:
        file = self.root / name
        if any(parent.is_symlink() for parent in (file, *file.parents[: len(Path(name).parts) - 1])):
            return
        ours = self.local.view(self.key, name)
        if content is not None and ours == content[0] and file.exists():
            return
        self._set_aside(file, name, ours, content)
        if content is None:
            file.unlink(missing_ok=True)
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._write(file, content[1])
        self.local.set_view(self.key, name, content[0] if content else None)

    def _set_aside(self, file: Path, name: str, ours: str | None, content: tuple[str, bytes] | None) -> None:
        """A file that is not as we wrote it goes into the drafts before it is replaced."""
        try:
            there = file.read_bytes()
        except FileNotFoundError:
            return
        width = len(ours or (content[0] if content else "")) or 40
        if blob_id(there, width) in (ours, content[0] if content else None):
            return
        self.aside.append(draft(self.root, f"edited-{name.replace('/', '-')}", there))

    def _write(self, file: Path, data: bytes) -> None:
        part = self.root / f".part-{os.getpid()}"
        part.write_bytes(data)
        part.chmod(0o444)
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

"""The user's own files before and after a change, and the moves between, by git's own rename
detection."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from ..errors import Failed
from ..store import files
from ..store.git import Git
from . import unstaged
from .links import document

_DOCUMENTS = ("*.md", "*.markdown", "*.html", "*.htm")
# Whatever the user's own settings for pathspecs are: these are patterns, in either case.
_ANY_CASE = {
    f"GIT_{kind}_PATHSPECS": str(int(kind == "ICASE"))
    for kind in ("LITERAL", "GLOB", "NOGLOB", "ICASE")
}
_MANY = 100  # names to look for, above which every document is read instead


class Files:
    """The user's files in a commit, or (`tree` None) in the index that `git` looks at."""

    def __init__(self, git: Git, tree: str | None) -> None:
        self.git, self.tree = git, tree
        self.gone: Iterable[str] = ()

    @cached_property
    def entries(self) -> dict[str, tuple[bytes, str]]:
        """(mode, object id) by path."""
        asked = (
            ("ls-files", "-s", "-z") if self.tree is None else ("ls-tree", "-r", "-z", self.tree)
        )
        entries = {}
        for line in self.git.run(*asked).split(b"\0")[:-1]:
            about, _, path = line.partition(b"\t")
            words = about.split()
            entries[os.fsdecode(path)] = (words[0], words[1 if self.tree is None else 2].decode())
        return entries

    @cached_property
    def folders(self) -> set[str]:
        """The folders that files lie in; `.` is the root."""
        folders = {"."}
        for path in self.entries:
            while (path := path.rpartition("/")[0]) and path not in folders:
                folders.add(path)
        return folders

    def read(self, path: str) -> bytes | None:
        """The bytes of a plain file; None if there is none."""
        mode, oid = self.entries.get(path, (b"", ""))
        if not mode.startswith(b"100"):
            return None
        answer = self.git.object(oid)
        if answer is None:
            raise Failed(
                f"the bytes of {path} are not in this clone",
                "git fetch --refetch --no-filter",
                code="partial_clone",
            )
        return answer[2]

    def exists(self, path: str) -> bool:
        """Whether there is a file or a folder."""
        return path in self.entries or path in self.folders

    def names(self) -> Iterable[str]:
        """The documents that say a part of the name of what is gone."""
        wanted = set()
        for path in self.gone:
            while path and path not in wanted and not self.exists(path):
                wanted.add(path)
                path = path.rpartition("/")[0]
        parts = {_part(path.rpartition("/")[2]) for path in wanted}
        if not parts or len(parts) > _MANY or "" in parts:
            return filter(document, self.entries if parts else ())
        return self._naming(parts)

    def _naming(self, parts: Iterable[str]) -> list[str]:
        """The documents that say one of these words."""
        return self._grep(parts, "--cached" if self.tree is None else self.tree)

    def _grep(self, parts: Iterable[str], *where: str) -> list[str]:
        _, out, _ = self.git.ask(
            "grep",
            "-lzFa",
            "--no-color",
            "--no-recurse-submodules",
            "-f",
            "-",
            *where,
            "--",
            *_DOCUMENTS,
            data="\n".join(parts).encode(),
            extra=_ANY_CASE,
        )
        return [os.fsdecode(name).removeprefix(f"{self.tree}:") for name in out.split(b"\0")[:-1]]


class Worktree(Files):
    """The user's files as they lie in the worktree. `git` looks at an index that knows the
    untracked ones."""

    def __init__(self, git: Git, top: Path, gone: Mapping[str, str | None]) -> None:
        super().__init__(git, "")
        self.top, self.gone = top, gone

    @cached_property
    def entries(self) -> dict[str, tuple[bytes, str]]:
        """The files of the index, without those that the worktree has lost."""
        entries = Files(self.git, None).entries
        return {path: entry for path, entry in entries.items() if path not in self.gone}

    def read(self, path: str) -> bytes | None:
        """The bytes of a plain file of the worktree; None if it is none."""
        if self.is_outside(path):
            return super().read(path)
        file = self.top / path
        return file.read_bytes() if self._plain(file) else None

    def is_outside(self, path: str) -> bool:
        """Whether git keeps a file and has not checked it out: a sparse checkout leaves it out."""
        return path in self.entries and not os.path.lexists(self.top / path)

    def _naming(self, parts: Iterable[str]) -> list[str]:
        outside = filter(self.is_outside, self._grep(parts, "--cached"))
        return list(dict.fromkeys([*self._grep(parts), *outside]))

    def exists(self, path: str) -> bool:
        """Whether anything lies at a path, a broken link included."""
        return path not in self.gone and (os.path.lexists(self.top / path) or super().exists(path))

    def write(self, path: str, data: bytes) -> bool:
        """Replaces a file by one rename, with its mode. False if it is no plain file, or lies
        behind a link."""
        file = self.top / path
        if not self._plain(file):
            return False
        files.again(file, data)
        return True

    def _plain(self, file: Path) -> bool:
        return file.is_file() and file.resolve() == self.top.resolve() / file.relative_to(self.top)


def between(git: Git, before: str, after: str | None) -> tuple[Files, Files, dict[str, str | None]]:
    """The files before and after, and the moves (old path: new path, None if it was deleted), from
    a commit to another or to the index (None) that `git` looks at. Without a move nothing can be
    broken."""
    moved = _moved(git, before, after)
    files = Files(git, after)
    files.gone = moved
    return Files(git, before), files, moved


def naming(git: Git, tree: str | None, paths: Iterable[str]) -> dict[str, list[str]]:
    """The text files of a tree (None: of the index) that name these paths as they are written from
    the root, by path. A name without a slash may be any word, and is not looked for."""
    wanted = [path for path in paths if "/" in path and "\n" not in path][:_MANY]
    if not wanted:
        return {}
    _, out, _ = git.ask(
        "grep",
        "-zoIFw",
        "--no-color",
        "--no-line-number",
        "--no-column",
        "--no-recurse-submodules",
        "-f",
        "-",
        *(("--cached",) if tree is None else (tree,)),
        data="\n".join(wanted).encode(errors="surrogateescape"),
    )
    rows: dict[str, list[str]] = {}
    for line in out.split(b"\n"):
        name, _, path = map(os.fsdecode, line.partition(b"\0"))
        file = name.removeprefix(f"{tree}:")
        if path in wanted and file not in rows.setdefault(path, []):
            rows[path].append(file)
    return rows


@contextlib.contextmanager
def since_head(top: Path) -> Iterator[tuple[Files, Worktree, dict[str, str | None]]]:
    """The same from HEAD to the worktree, whatever of it is staged or tracked. Nothing of the
    user's is written."""
    git = Git(None, str(top), hermetic=False)
    moved: dict[str, str | None] = {}
    code, out, _ = git.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    head = out.decode().strip()
    with tempfile.TemporaryDirectory(prefix="atlas-") as aside:
        try:
            changes = {} if code else unstaged.changed(git, head)
            if any(how == b"D" for how, _ in changes.values()):
                moved = _moved(git, head, None, unstaged.stage(git, top, Path(aside), changes))
            yield Files(git, head), Worktree(git, top, moved), moved
        finally:
            git.close()


def _moved(git: Git, before: str, after: str | None, how: str = "-M") -> dict[str, str | None]:
    asked = ("diff-tree", "-r") if after else ("diff-index", "--cached")
    out = git.run(
        *asked,
        how,
        "--diff-filter=DR",
        "--name-status",
        "-z",
        "--ignore-submodules=dirty",
        *((before, after) if after else (before,)),
        "--",
    )
    words = iter(out.split(b"\0")[:-1])
    moves: dict[str, str | None] = {}
    for kind in words:
        old = os.fsdecode(next(words))
        moves[old] = os.fsdecode(next(words)) if kind[:1] == b"R" else None
    return moves


def _part(name: str) -> str:
    """The longest part of a name that a link says as it is, encoded or not."""
    return max(re.findall("[A-Za-z0-9.-]+", name), key=len, default="")

"""An index of what the worktree holds, staged or not, tracked or not. It is made of names and ids
beside the user's own, which is not written, and not compared with the worktree either: git converts
the new files only, and looks into no submodule."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping, Set
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ..model.digests import sha1, sha256
from ..store.git import Git

_TARGETS = 1000  # new files, above which git looks for those with the same bytes only
_LARGE = 16 << 20  # bytes of a file that is taken for moved if it is the same to the byte
_MODES = {stat.S_IFLNK: b"120000", stat.S_IFREG: b"100644"}


class _File(NamedTuple):
    """A file of the worktree for an index, and where git reads its bytes."""

    mode: bytes
    path: bytes
    source: bytes


def changed(git: Git, head: str) -> dict[bytes, tuple[bytes, bytes]]:
    """(what happened, the id before) by path: A for what is new in the index, D for what is gone
    from it or from the worktree."""
    asked = ("--cached", "--no-renames", "--raw", "--diff-filter=AD", "-z", head, "--")
    words = git.run("diff-index", *asked).split(b"\0")
    changes = {}
    for about, path in zip(words[::2], words[1::2], strict=False):
        _, _, before, _, how = about.split()
        changes[path] = (how, before)
    for path in _listed(git, "-d"):
        changes.setdefault(path, (b"D", b""))
    return changes


def stage(git: Git, top: Path, aside: Path, changes: Mapping[bytes, tuple[bytes, bytes]]) -> str:
    """Makes `git` look at the new index, which lies in a folder of its own with its new objects.
    Returns the option by which moves are to be told."""
    new = [path for path in _listed(git, "-o", "--exclude-standard") if path[-1:] != b"/"]
    rows, gone = [], {before for how, before in changes.values() if how == b"D"}
    for row in _listed(git, "-s"):
        about, _, path = row.partition(b"\t")
        how, oid = changes.get(path, (b"", b""))[0], about.split()[1]
        if how == b"D":
            gone.add(oid)
        # What `git add -N` has named has no bytes in the index.
        elif how == b"A" or oid in _no_bytes():
            new.append(path)
        else:
            rows.append(row)
    objects = git.run("rev-parse", "--path-format=absolute", "--git-path", "objects")[:-1]
    git.env |= {
        "GIT_INDEX_FILE": str(aside / "index"),
        "GIT_OBJECT_DIRECTORY": str(aside),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.fsdecode(_quoted(objects)),
    }
    few = len(new) <= _TARGETS
    rows += _hashed(git, _files(top, aside, new), gone, ("-w",) if few else ())
    given = b"".join(row + b"\0" for row in rows)
    git.run("update-index", "--replace", "-z", "--index-info", data=given)
    return "-M" if few else "-M100%"


def _listed(git: Git, *options: str) -> list[bytes]:
    """The files that `git ls-files` lists."""
    return git.run("ls-files", *options, "-z").split(b"\0")[:-1]


def _files(top: Path, aside: Path, paths: Iterable[bytes]) -> list[tuple[_File, int]]:
    """The files of these names that can be read, each with its size."""
    files: list[tuple[_File, int]] = []
    for path in paths:
        with suppress(OSError):
            file = top / os.fsdecode(path)
            state = file.lstat()
            source, mode = path, _MODES.get(stat.S_IFMT(state.st_mode), b"")
            if mode == b"120000":
                text = aside / f"link-{len(files)}"
                text.write_bytes(os.fsencode(file.readlink()))
                source = os.fsencode(text)
            elif state.st_mode & stat.S_IXUSR:
                mode = mode and b"100755"
            if mode and os.access(top / os.fsdecode(source), os.R_OK):
                files.append((_File(mode, path, source), state.st_size))
    return files


def _hashed(
    git: Git, files: list[tuple[_File, int]], gone: Set[bytes], how: tuple[str, ...]
) -> list[bytes]:
    """The rows of an index for these files. Of a large one the bytes are not kept: it has a row if
    it is, to the byte, one that is gone."""
    small = _rows(git, [file for file, size in files if size < _LARGE], how)
    large = _rows(git, [file for file, size in files if size >= _LARGE], ())
    return small + [row for row in large if row.split()[1] in gone]


def _rows(git: Git, files: list[_File], how: tuple[str, ...]) -> list[bytes]:
    """A row for each file that git can read. Any other is no part of a move."""
    rows: list[bytes] = []
    while files:
        given = b"".join(_quoted(file.source) + b"\n" for file in files)
        oids = git.ask("hash-object", *how, "--stdin-paths", data=given)[1].split()
        rows += [
            b"%s %s 0\t%s" % (file.mode, oid, file.path)
            for file, oid in zip(files, oids, strict=False)
        ]
        files = files[len(oids) + 1 :]  # it ended over the next one
    return rows


def _quoted(path: bytes) -> bytes:
    """A path between quotation marks, as git reads one."""
    for byte in b'\\"\n':
        path = path.replace(bytes([byte]), b"\\" + (b"n" if byte == 10 else bytes([byte])))
    return b'"' + path + b'"'


def _no_bytes() -> tuple[bytes, bytes]:
    """The ids of an empty file, in either form."""
    return sha1(b"blob 0\0").hexdigest().encode(), sha256(b"blob 0\0").hexdigest().encode()

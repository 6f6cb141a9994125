"""Files by path: how Atlas writes and reads what lies beside its store. Written whole or not at
all, under a name that nobody can have laid there before; read as plain files up to a size; no link
is followed below a folder that is ours."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

# how a file's name begins until it is whole; what the dead leave, `doctor --fix` takes away
PART = ".atlas-part-"
# The same of earlier versions, with the number of the process; in folders that are Atlas's alone,
# of folders too.
_UNFINISHED = re.compile(rf"{re.escape(PART)}.+|\.part-\d+|\..+\.atlas-\d+")
_OURS = re.compile(r".+\.(?:\d{1,7}|[0-9a-f]{16})|store\.git\..+")
MOST = 64 << 20  # bytes that are read of a file which others may have laid there
_PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = getattr(os, "O_DIRECTORY", 0) | _PLAIN
_DESCRIPTORS = {os.open, os.stat, os.mkdir, os.unlink, os.rmdir, os.rename} <= os.supports_dir_fd


class Folder:
    """An open folder, and what lies in it by plain names. (If a platform has no descriptors of
    folders, its path stands for it, and each folder on the way down is looked at before it is
    entered.)"""

    def __init__(self, path: Path, fd: int | None) -> None:
        self.path, self.fd = path, fd

    @classmethod
    def at(cls, path: Path) -> Folder:
        """A folder that the caller trusts: links on the way are followed."""
        if not _DESCRIPTORS:
            if not path.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
            return cls(path, None)
        return cls(path, os.open(path, os.O_RDONLY | (_FOLDER & ~getattr(os, "O_NOFOLLOW", 0))))

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the descriptor of the folder."""
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None

    def _at(self, name: str) -> str:
        """The path that a call of the system is given for a name.

        Raises OSError if it is no plain name, or would lead elsewhere."""
        if name in ("", ".", "..") or "/" in name or "\0" in name or os.sep in name:
            raise OSError(errno.EINVAL, f"{name[:80]!r} is no plain name")
        return name if self.fd is not None else str(self.path / name)

    def sub(self, name: str, make: bool = False) -> Folder:
        """The folder of that name. It is made if `make` says so.

        Raises OSError if there is none, or something else."""
        where = self._at(name)
        if make:
            with suppress(FileExistsError):
                os.mkdir(where, dir_fd=self.fd)
        if self.fd is None:
            if not stat.S_ISDIR(os.lstat(where).st_mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), where)
            return Folder(self.path / name, None)
        return Folder(self.path / name, os.open(where, os.O_RDONLY | _FOLDER, dir_fd=self.fd))

    def down(self, names: Iterable[str], make: bool = False) -> Folder:
        """The folder below it that these names lead to."""
        folder = Folder(self.path, None if self.fd is None else os.dup(self.fd))
        for name in names:
            above = folder
            try:
                folder = above.sub(name, make)
            finally:
                above.close()
        return folder

    def names(self) -> list[str]:
        """The names in the folder, sorted."""
        return sorted(os.listdir(self.path if self.fd is None else self.fd))  # noqa: PTH208 - of a descriptor

    def look(self, name: str) -> os.stat_result | None:
        """The state of what lies under a name: of a link itself, not of what it leads to."""
        try:
            return os.stat(self._at(name), dir_fd=self.fd, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def is_at(self, path: Path) -> bool:
        """Whether it is the folder that a path leads to."""
        return os.path.samestat(os.stat(self.path if self.fd is None else self.fd), path.stat())  # noqa: PTH116

    def plain(self, name: str) -> bool:
        """Whether a name is that of a plain file."""
        state = self.look(name)
        return state is not None and stat.S_ISREG(state.st_mode)

    def open(self, name: str) -> BinaryIO:
        """A plain file, to be read.

        Raises OSError for a link, a pipe, a device or a folder."""
        fd = os.open(self._at(name), os.O_RDONLY | _PLAIN, dir_fd=self.fd)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise OSError(errno.EINVAL, "no plain file", str(self.path / name))
        return open(fd, "rb")

    def read(self, name: str, most: int = MOST) -> bytes | None:
        """The bytes of a plain file. None if there is none, or if it has more than `most`."""
        try:
            with self.open(name) as file:
                data = file.read(most + 1)
        except OSError:
            return None
        return data if len(data) <= most else None

    def add(self, name: str, data: bytes, mode: int = 0o666) -> None:
        """Writes a new file.

        Raises FileExistsError if something of that name is there."""
        fd = os.open(
            self._at(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL | _PLAIN, mode, dir_fd=self.fd
        )
        with open(fd, "wb") as out:
            out.write(data)

    def put(
        self,
        name: str,
        data: bytes,
        mode: int | None = None,
        sync: bool = False,
        first: int = 0o666,
    ) -> None:
        """Writes a file with these bytes, in place of whatever of that name is there, unless that
        is a folder.

        mode: None for that of a new file, which is `first` without what the user's mask takes."""
        part = PART + os.urandom(8).hex()
        fd = os.open(
            self._at(part), os.O_WRONLY | os.O_CREAT | os.O_EXCL | _PLAIN, first, dir_fd=self.fd
        )
        try:
            with open(fd, "wb") as out:
                out.write(data)
                if sync:
                    out.flush()
                    os.fsync(fd)
                if mode is not None:
                    os.chmod(fd if os.chmod in os.supports_fd else self._at(part), mode)  # noqa: PTH101
            self.rename(part, name)
        except BaseException:
            with suppress(OSError):
                self.drop(part)
            raise

    def rename(self, name: str, to: str) -> None:
        """Renames a file inside the folder; another one of that name is replaced."""
        os.replace(self._at(name), self._at(to), src_dir_fd=self.fd, dst_dir_fd=self.fd)

    def drop(self, name: str) -> None:
        """Takes a file away, if it is there."""
        with suppress(FileNotFoundError):
            os.unlink(self._at(name), dir_fd=self.fd)

    def drop_folder(self, name: str) -> None:
        """Takes an empty folder away. Any other stays."""
        with suppress(OSError):
            os.rmdir(self._at(name), dir_fd=self.fd)


@contextmanager
def below(top: Path, path: Path, make: bool = False) -> Iterator[Folder]:
    """A folder below one that is trusted (or that one itself), without following a link on the
    way."""
    with Folder.at(top) as start, start.down(path.relative_to(top).parts, make) as folder:
        yield folder


def unfinished(name: str, ours: bool = False) -> bool:
    """Whether a file has the name that it bears until it is whole.

    ours: it lies in a folder that is Atlas's alone."""
    return bool(_UNFINISHED.fullmatch(name) or (ours and _OURS.fullmatch(name)))


def put(path: Path, data: bytes, mode: int | None = None, sync: bool = False) -> None:
    """Writes a file at a path, whole or not at all. A link of that name is replaced, not
    followed."""
    with Folder.at(path.parent) as folder:
        folder.put(path.name, data, mode, sync)


def again(path: Path, data: bytes, first: int = 0o666) -> None:
    """The same, with the mode of the file that is there.

    first: the mode of a new one, but for what the user's mask takes."""
    with Folder.at(path.parent) as folder:
        state = folder.look(path.name)
        mode = stat.S_IMODE(state.st_mode) if state and stat.S_ISREG(state.st_mode) else None
        folder.put(path.name, data, mode, first=first)

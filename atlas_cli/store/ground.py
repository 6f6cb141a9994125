"""Whether `.atlas` in a worktree is Atlas's own ground, or came with the project's files. A file
that came with them is not read, not run, not taken in, and not written over."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from .git import Git
from .repo import Repo

NAME = ".atlas"
OWN = (".lock", "AS-OF", "outbox", "drafts")  # what Atlas lays there before anything else


def foreign(repo: Repo, known: str = "") -> tuple[str, str]:
    """(why `.atlas` is not ours, the state of git's index that this was asked in). The first is
    empty if it is ours.

    known: the two of an earlier look, as one text. git is asked again what it tracks only if its
    index has changed since."""
    if repo.top is None:
        return "there is no worktree", ""
    if why := _odd(repo.top / NAME):
        return why, ""
    state = _state(_index(repo))
    before, _, answer = known.partition(" ")
    if before == state:
        return answer, state
    return _tracked(repo.top, NAME, "top"), state


def _odd(root: Path) -> str:
    try:
        state = root.lstat()
    except FileNotFoundError:
        return ""
    if stat.S_ISLNK(state.st_mode):
        return f"{NAME} is a link"
    if not stat.S_ISDIR(state.st_mode):
        return f"{NAME} is no folder"
    names = set(os.listdir(root))  # noqa: PTH208 - names alone
    if ".git" in names:
        return f"{NAME} is a repository of its own"
    return f"{NAME} is a folder of yours" if names and names.isdisjoint(OWN) else ""


def brought(repo: Repo, base: Path, name: str) -> Path | None:
    """The link that git tracks on the way to a path, or at its end; None if there is none. A
    relative path starts from `base`. The user's own links are followed as any tool follows them."""
    if repo.top is None:
        return None
    top, at = repo.top.resolve(), base.resolve()
    for part in Path(name).parts:
        link = at / part
        if link.is_symlink() and at.is_relative_to(top) and _tracked(at, part):
            return link
        at = link.resolve()
    return None


def _tracked(folder: Path, name: str, magic: str = "literal") -> str:
    """A line that says what git tracks of a name in a folder, in the index or in the last commit;
    empty if it tracks nothing. Either case of letters counts (some file systems know none)."""
    git = Git(None, str(folder), hermetic=False)
    asked = ("-z", "--", f":({magic},icase){name}")
    code, out, _ = git.ask("ls-files", "--with-tree=HEAD", *asked)
    if code:  # there is no commit yet
        out = git.ask("ls-files", *asked)[1]
    first = out.partition(b"\0")[0].decode(errors="replace")
    return f"git tracks {first}" if first else ""


def _index(repo: Repo) -> Path:
    """git's index of this worktree."""
    assert repo.top is not None
    link = repo.top / ".git"
    try:
        if stat.S_ISREG(link.lstat().st_mode):
            target = os.fsdecode(link.read_bytes()).removeprefix("gitdir:").strip()
            return link.parent / target / "index"
    except OSError:
        pass
    return (link if link.is_dir() else repo.common) / "index"


def _state(index: Path) -> str:
    try:
        status = index.stat()
    except OSError:
        return "none"
    return f"{status.st_mtime_ns}:{status.st_size}:{status.st_ino}"

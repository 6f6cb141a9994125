"""The place of a call: the user's repository, its worktree, and the place of the store in it."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ..errors import Failed, NotFound, Refused
from ..model.digests import sha256
from .git import Git, last_line

# The answers of one `git rev-parse`, a line each; what stands between makes it clear which is which
# where a path holds a line feed.
_ANSWER = re.compile(
    r"(?P<common>.*)\n(?P<form>sha1|sha256)\n(?P<prefix>.*)\n(?:true|false)\n(?:(?P<top>.*)\n)?\Z",
    re.DOTALL,
)


BOX, WAITING, TAKING = ".atlas/outbox", "waiting.bundle", "taking.bundle"
OWN = ".git/own"  # in an outbox's store, which git itself checks out nowhere


class Repo(NamedTuple):
    """A repository of the user's, seen from one worktree.

    common: the git directory that all worktrees share. top: the worktree, None in a bare
    repository. prefix: the working directory below it. width: the length of object ids in hex."""

    common: Path
    top: Path | None
    prefix: str
    width: int

    @property
    def home(self) -> Path:
        """Atlas's folder for this caller: the clone's, or the worktree's outbox if the caller may
        not write that one."""
        shared, box = self.shared, self.outbox
        nearest = next(path for path in (shared, *shared.parents) if path.exists())
        if box is None or os.access(nearest, os.W_OK):
            return shared
        made = box / "store.git"
        # git would run what is written in its configuration, and a link among its files lead
        # elsewhere
        if made.is_dir() and (_linked(box) or not (made / OWN).exists()):
            raise Refused(
                f"{made} came with the project's files, and is no store of this clone",
                "take it away",
            )
        return box if made.is_dir() or not (shared / "store.git").is_dir() else shared

    @property
    def shared(self) -> Path:
        """The clone's folder: in the git directory, or in the user's state folder if that could not
        be written."""
        inside = self.common / "atlas"
        if (inside / "store.git").exists():
            return inside
        outside = state() / sha256(os.fsencode(self.common)).hexdigest()[:16]
        # A store that was made there stays the store when the git directory can be written again.
        if os.access(self.common, os.W_OK) and not (outside / "store.git").exists():
            return inside
        return outside

    @property
    def outbox(self) -> Path | None:
        """The folder in which a caller who can write nothing but the worktree keeps a store, and
        what waits to be taken in."""
        return None if self.top is None else self.top / BOX

    @property
    def worktrees(self) -> list[Path]:
        """The tops of this clone's worktrees, its own first."""
        tops = [self.top, self.common.parent if self.common.name == ".git" else self.top]
        linked = self.common / "worktrees"
        for file in linked.glob("*/gitdir") if linked.is_dir() else ():
            with suppress(OSError):  # it has just been taken away
                tops.append((file.parent / os.fsdecode(file.read_bytes()).rstrip("\n")).parent)
        return [top for top in dict.fromkeys(tops) if top]

    @property
    def waiting(self) -> list[Path]:
        """The outboxes of this clone's worktrees that hold something to be taken in."""
        boxes = [top / BOX for top in self.worktrees]
        return [box for box in boxes if (box / TAKING).is_file() or (box / WAITING).is_file()]

    @property
    def folds(self) -> bool:
        """Whether the disk takes upper and lower case for one, as git found when it made this
        repository."""
        with suppress(OSError):
            return (
                re.search(rb"(?im)^\s*ignorecase\s*=\s*true", (self.common / "config").read_bytes())
                is not None
            )
        return False

    @property
    def view(self) -> Path | None:
        """The worktree's `.atlas/`."""
        return None if self.top is None else self.top / ".atlas"


def _linked(box: Path) -> bool:
    """Whether a link lies on the way to an outbox's store, or beside it: Atlas makes none."""
    if any(path.is_symlink() for path in (box.parent, box, box / "store.git/.git")):
        return True
    with os.scandir(box) as entries:
        return any(entry.is_symlink() for entry in entries)


def home() -> Path:
    """The user's home; a folder that is not there for a caller who has none."""
    try:
        return Path.home()
    except RuntimeError:  # no HOME, and a uid that nobody knows
        return Path("/nonexistent")


def state() -> Path:
    """Atlas's part of the user's state folder."""
    return Path(os.environ.get("XDG_STATE_HOME") or home() / ".local/state", "atlas")


def find(directory: str, hook: bool = False) -> Repo:
    """The repository that `directory` lies in, or that git names to its `hook`.

    Raises NotFound if there is none, and Failed, with git's own remedy, if git will not touch
    it."""
    git = Git(None, cwd=directory, hermetic=False)
    if not Path(directory).is_dir():
        raise NotFound(f"there is no folder {directory}", code="no_store")
    variables = ("GIT_DIR", "GIT_WORK_TREE") if hook else ()
    code, out, err = git.ask(
        "rev-parse",
        "--path-format=absolute",
        "--git-common-dir",
        "--show-object-format",
        "--show-prefix",
        "--is-bare-repository",
        "--show-toplevel",
        extra={key: os.environ[key] for key in variables if key in os.environ},
    )
    answer = _ANSWER.match(os.fsdecode(out))
    if answer is None:
        if "dubious" in err:
            raise Failed(
                f"git will not touch this repository: {last_line(err)}", err.split("\n")[-1].strip()
            )
        if "not a git repository" in err:
            raise NotFound(
                "this is not in a git repository",
                "go into one, or git init; then atlas init",
                code="no_store",
            )
        raise Failed(f"git rev-parse failed: {last_line(err)}")
    width = 64 if answer["form"] == "sha256" else 40
    top = Path(answer["top"]) if not code and answer["top"] else None
    return Repo(Path(answer["common"]), top, answer["prefix"].rstrip("/"), width)

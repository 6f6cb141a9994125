"""The store of one repository: where it lies, its head, its snapshots, its beginnings."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from ..errors import Damaged, Failed, NotFound
from ..model.text import Record
from ..model.tree import Overlay, Tree
from ..records import policy
from . import BRANCH, REMOTE, files, ground, history
from .database import OperationalError
from .git import Git
from .index import FILE, Index
from .repo import OWN, TAKING, WAITING, Repo
from .root import root_commit, root_id
from .snapshot import Snapshot

# The root commit is a constant, so that all stores share it.
_MACHINE = re.compile(rb"[\w.-]{1,64}")


class Store:
    """An open store. It keeps beside the repository: the index, the writer lock, this machine's
    id."""

    def __init__(self, repo: Repo, home: Path | None = None) -> None:
        self.place, self.home = repo, home or repo.home
        self.git = Git(str(self.home / "store.git"))
        self.decided = ""  # the head that a write was last decided on

    @classmethod
    def open(cls, repo: Repo) -> Store:
        """The store of a repository.

        Raises NotFound (`no_store`) if none was made."""
        store = cls(repo)
        if not (store.home / "store.git").is_dir():
            raise NotFound(
                "there is no Atlas store in this repository",
                "atlas init makes one, or takes the remote's",
                code="no_store",
            )
        return store

    @cached_property
    def index(self) -> Index:
        """The index of this store."""
        return Index(self.home / FILE, self.git)

    @cached_property
    def machine(self) -> str:
        """This machine's random id; host names and containers change. It is made anew if what a
        crash left of it is no id."""
        if known := self.kept_machine():
            return known
        made = os.urandom(6).hex()
        try:
            # (Whole: an empty id would make all machines one.)
            files.put(self.home / "machine", f"{made}\n".encode(), sync=True)
        except OSError:
            return made  # where nothing can be written, no lease is written either
        return self.kept_machine() or made

    def kept_machine(self) -> str:
        """The id that this machine's file holds; nothing if it holds none."""
        with suppress(OSError), files.Folder.at(self.home) as folder:
            data = (folder.read("machine", 100) or b"").strip()
            return data.decode() if _MACHINE.fullmatch(data) else ""
        return ""

    def head(self) -> str:
        """The commit that the branch is at now.

        Raises Damaged if the branch is gone or broken."""
        answer = self.git.object(BRANCH)
        if answer is None or answer[1] != "commit":
            raise Damaged(
                "the store's branch is missing or broken (refs/heads/atlas in its own repository)",
                "atlas doctor says what is left of it, atlas doctor --fix takes the last head that"
                " is whole",
            )
        return answer[0]

    def ref(self, name: str) -> str | None:
        """The commit that a ref of the store is at."""
        answer = self.git.object(name)
        return answer[0] if answer else None

    def holds(self, old: str, new: str) -> bool:
        """Whether a commit is part of the history of another."""
        return history.fork(self.git, old, new) == old

    def snapshot(self, head: str | None = None) -> Snapshot:
        """The store at a commit (None: at its head now)."""
        return Snapshot(self.git, head or self.head(), self.place.width, self._live)

    def tree(self, snapshot: Snapshot, *paths: str) -> Tree:
        """A snapshot for readers: each document, and the policy, as it was written, whatever a hand
        did to it since. If paths are given, only these are put right."""
        files: dict[str, bytes | None] = {}
        for path, blob, _ in self.at(snapshot.head or "").edits() if snapshot.head else ():
            if path in paths or not paths:
                answer = self.git.object(blob)
                files[path] = answer[2] if answer else None
        return Overlay(snapshot, files, snapshot.width) if files else snapshot

    def rules(self, snapshot: Snapshot) -> policy.Policy:
        """The policy to read by: of a newer format, what this program knows of it."""
        return policy.to_read(self.tree(snapshot, policy.FOLDER))

    def policy(self, snapshot: Snapshot) -> policy.Policy:
        """The policy in force at a snapshot.

        Raises Damaged (`newer_format`) if it is of a newer format."""
        return policy.usable(self.tree(snapshot, policy.FOLDER))

    def changed(self, commit: str) -> list[str]:
        """The paths that a commit changed."""
        return [path for path, _, _ in history.commit(self.git, commit).changes]

    def unpublished(self) -> int:
        """How many commits no remote is known to have."""
        known = self.ref(REMOTE)
        return int(self.git.run("rev-list", "--count", BRANCH, *([f"^{known}"] if known else [])))

    def _live(self, head: str, folder: str, after: int) -> Iterable[tuple[str, Record]]:
        self.at(head)
        return self.index.live(folder, after)

    def at(self, head: str) -> Index:
        """The index, brought up to `head`."""
        try:
            self.index.sync(head)
        except OperationalError as error:
            raise Failed(
                f"the index {self.index.file} is busy: {error}", "try again", retry="now"
            ) from None
        return self.index

    def close(self) -> None:
        """Ends what was started for the store."""
        self.git.close()
        if "index" in self.__dict__:
            self.index.close()


def create(
    repo: Repo, fill: Callable[[Path], None] | None = None, home: Path | None = None
) -> Store:
    """Makes the store of a repository. Its own repository is made aside with the root commit,
    filled, and put in place by one rename: it is seen as a whole, or not at all.

    Raises Failed if it cannot be made."""
    store = Store(repo, home)
    if (store.home / "store.git").is_dir():
        return store
    aside = store.home / f"store.git.{os.urandom(8).hex()}"
    try:
        _make_home(store)
        _initialise(store, aside)
        if fill:
            fill(aside)
        sync_folders(aside / "refs/heads", aside)
        aside.rename(store.home / "store.git")
        sync_folders(store.home)
    except OSError as error:
        shutil.rmtree(aside, ignore_errors=True)
        if (store.home / "store.git").is_dir():
            return store  # another `init` was faster
        raise Failed(
            f"the store cannot be made in {store.home}: {error.strerror}",
            "let this user write the git directory, or name a folder that it may write:"
            " XDG_STATE_HOME",
        ) from None
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    return store


def _make_home(store: Store) -> None:
    """The folder that the store is made in."""
    repo = store.place
    if store.home != repo.outbox or not repo.top:
        store.home.mkdir(parents=True, exist_ok=True)
        return
    if why := ground.foreign(repo)[0]:
        raise Failed(
            f"the store cannot be made in {store.home}: {why}",
            "it is made where nobody else writes",
        )
    with files.below(repo.top, store.home, make=True) as folder:
        # What waits is seen by git, which then refuses to remove the worktree.
        folder.put(".gitignore", f"*\n!/{WAITING}\n!/{TAKING}\n".encode())


def _initialise(store: Store, aside: Path) -> None:
    """A bare repository with the store's configuration and the root commit."""
    repo = store.place
    form = f"--object-format={'sha256' if repo.width == 64 else 'sha1'}"
    Git(None).run("init", "--quiet", "--bare", "--template=", form, "--", str(aside))
    git = Git(str(aside))
    if store.home == repo.outbox:
        (aside / OWN).parent.mkdir()
        (aside / OWN).touch()
    git.run("symbolic-ref", "HEAD", BRANCH)
    git.run("config", "core.logAllRefUpdates", "true")
    # A prune cannot tell garbage from what is just being written: here git itself deletes no
    # object.
    git.run("config", "extensions.preciousObjects", "true")
    # A gc, by whomever, writes packed-refs: one that a power cut empties is the branch.
    git.run("config", "core.fsync", "all")
    for kind, data in (("tree", b""), ("commit", root_commit(repo.width))):
        git.run("hash-object", "-t", kind, "-w", "--stdin", data=data, options=["core.fsync=all"])
    zero = "0" * repo.width
    git.run("update-ref", BRANCH, root_id(repo.width), zero, options=["core.fsync=all"])


def configuration(width: int) -> str:
    """The configuration of a store's repository, as `create` leaves it."""
    core = "filemode = true\n\tbare = true\n\tlogAllRefUpdates = true\n\tfsync = all"
    form = "\tobjectformat = sha256\n" if width == 64 else ""
    version = 1 if width == 64 else 0
    return (
        "[core]\n\trepositoryformatversion ="
        f" {version}\n\t{core}\n[extensions]\n{form}\tpreciousObjects = true\n"
    )


def is_bare_root(snapshot: Snapshot) -> bool:
    """Whether the store has its root and nothing else yet (one whose policy was taken out by hand
    is no new one)."""
    return not snapshot.names("")


def sync_folders(*folders: Path) -> None:
    """Folders onto the disk: git syncs files, never the folders that name them."""
    for folder in folders:
        try:
            fd = os.open(folder, os.O_RDONLY)
        except OSError:
            continue
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

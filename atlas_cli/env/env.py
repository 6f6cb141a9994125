"""The surroundings of a command: its options, the store, the policy, the clock. The modules beside
this one are functions over an Env: who, reading, receipts, writing, after."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from .. import callers
from ..answers import damage
from ..answers.ask import Questions
from ..errors import Failed, NotFound
from ..model.tree import Overlay, Tree
from ..records import policy
from ..sharing.dealing import USUAL
from ..sharing.sharing import Sharing
from ..store import repo, store
from ..store.git import Git
from ..store.index import Index
from ..store.notebook import FILE, Notebook
from ..store.snapshot import Snapshot
from ..store.store import Store
from . import choices
from .clock import clock


class Options(NamedTuple):
    """The global options, as given."""

    directory: str = "."
    session: str | None = None
    operation: str | None = None
    expect: str | None = None
    json: bool = False
    quiet: bool = False
    offline: bool = False
    require_published: bool = False
    tail: tuple[str, ...] = ()  # what stands behind `--` of `lease run`


class Env:
    """One command's surroundings. Each part is made when it is first asked for."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.notices: list[str] = []
        self.words: list[str] = []  # of the command, as they were typed
        self.wrote = False
        self.dealing = USUAL  # with the remote
        self.hooked = False  # whether git called, from one of its hooks
        self.beside: dict[str, Any] = {}  # what others make of this one, and keep while it lives
        self.elsewhere: Env | None = None  # the other store that all of the command was about
        # (name, bytes) of a text that came from no file: it is lost if nothing keeps it
        self.spoken: tuple[str, bytes] | None = None
        # the kind and the name of what that text goes on, where a version of it may have been read
        self.goes_on: tuple[str, str] | None = None
        self.source: Path | None = None  # the file that a text came from
        self.given: list[bytes] = []  # what was read of files and of standard input

    @cached_property
    def place(self) -> repo.Repo:
        """The user's repository, seen from here. Raises NotFound if there is none."""
        try:
            folder = str(Path(self.options.directory).absolute())
        except FileNotFoundError:
            text = "the folder that this was called in is gone"
            raise NotFound(text, "go into one that is there, or name it: -C FOLDER") from None
        place = repo.find(folder, self.hooked)
        self.beside["mask"] = callers.share(str(place.common))
        return place

    @cached_property
    def git(self) -> Git:
        """The user's repository, as git itself would see it from its top."""
        return Git(None, str(self.place.top or self.place.common), hermetic=False)

    @cached_property
    def store(self) -> Store:
        """The store. Raises NotFound if there is none."""
        return Store.open(self.place)

    @cached_property
    def local(self) -> Notebook:
        """This clone's notebook."""
        return Notebook(self.store.home / FILE, self.notices.append)

    @cached_property
    def sharing(self) -> Sharing:
        """This command's dealings with the store's remote."""
        options = self.options
        return Sharing(self.store, self.notices.append, options.offline, options.require_published)

    @cached_property
    def snapshot(self) -> Snapshot:
        """The store as it was when the command first looked, its copy of the remote not too old."""
        self.sharing.gathered()
        if self.dealing.asks:
            self.sharing.freshen(self.dealing.look, self.dealing.again)
        return self.store.snapshot()

    @property
    def index(self) -> Index:
        """The index, at least as new as the snapshot."""
        index = self.store.at(self.snapshot.head or "")
        if index.rewound:
            self.local.note_rewind(index.rewound)
            index.rewound = None
        return index

    @cached_property
    def tree(self) -> Tree:
        """The store for readers: the snapshot, with every document as it was written, whatever a
        hand did to it."""
        return self._as_written()

    def _as_written(self, *paths: str) -> Tree:
        """The store for readers. If paths are given, only these files are put right. A notice tells
        what a hand did."""
        self.notices += self.advised(damage.edited(self.index, paths))
        return self.store.tree(self.snapshot, *paths)

    def look_again(self, commit: str | None = None) -> None:
        """From now on the command sees the store's head, or the commit that is given."""
        self.__dict__["snapshot"] = self.store.snapshot(commit)

    def forget(self, *parts: str) -> None:
        """These parts are made anew when they are next asked for."""
        for part in parts:
            self.__dict__.pop(part, None)

    def made(self, part: str) -> bool:
        """Whether a part has been asked for."""
        return part in self.__dict__

    @property
    def ask(self) -> Questions:
        """Questions to the whole store, as it is now."""
        return Questions(self.index, self.local, self.policy, self.now())

    @cached_property
    def policy(self) -> dict[str, Any]:
        """The policy in force. If a hand has spoilt or removed it, it is the last good one, with a
        notice."""
        try:
            current = policy.of(self._as_written(policy.FOLDER))
        except Failed as error:
            current = {}
            if error.code == "newer_format":
                self.notices.append(f"{error.message}, and cannot write to it: {error.hint}")
                current = self.store.rules(self.snapshot)
        if "store" not in current and not store.is_bare_root(self.snapshot):
            data, _ = damage.last_good(
                self.store, self.index, self.tree, policy.FOLDER, self.notices.append
            )
            current = policy.of(Overlay(self.snapshot, {policy.FOLDER: data}))
        return dict(current)

    @cached_property
    def newer(self) -> bool:
        """Whether only a newer Atlas knows what this store holds, and what is right there."""
        try:
            self.store.policy(self.snapshot)
        except Failed as error:
            return error.code == "newer_format"
        return False

    def advised(self, lines: list[str]) -> list[str]:
        """Lines that advise a repair: none where what seems wrong may be of a newer format."""
        return [] if lines and self.newer else lines

    @property
    def own_rules(self) -> Path:
        """The user's own file: what is shared, and where; what the hooks do."""
        return choices.file()

    @cached_property
    def own(self) -> Mapping[str, Any]:
        """The user's own choices. Raises Damaged if their file cannot be read."""
        return choices.read(self.own_rules)

    @property
    def shares(self) -> bool:
        """Whether the leases on some names may be kept in another store."""
        return bool(self.policy["shared"]) or self.own_rules.exists()

    def now(self) -> int:
        """Seconds since 1970, by the store's clock."""
        return clock(self.policy.get("test") is True)

    def close(self) -> None:
        """The answer is out: nothing that goes wrong now changes it."""
        for part in filter(self.made, ("local", "store")):
            with contextlib.suppress(Exception):
                self.__dict__[part].close()

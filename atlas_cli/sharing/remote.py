"""The git remote that a store is shared through: which one it is, and the calls to it. Each is
bounded in time, uses the user's own transport and credentials, moves no ref but the one that it is
told to, and never forces."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from .. import interrupts
from ..errors import Failed, NotFound
from ..store import BRANCH, files, history, transports
from ..store.git import Git, Silent, environment, last_line
from ..store.repo import Repo
from ..store.root import root_id
from . import settings

CALL = 10.0  # seconds for one call, counted anew whenever it reports progress
INCOMING = "refs/atlas/incoming"  # what a fetch brought, before it is judged
# What a caller sets for its transport (a CI's credentials).
_KEPT = ("GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT")
_PLAIN = ("--no-recurse-submodules",)
# (Without `fetch.fsckObjects`: one commit that git's check refuses would stop each fetch, push and
# joining of everybody for good, and the check makes a pack of every fetch. What is odd in a tree is
# a violation of the rules instead, which names it, and nobody acts on it.)
_FETCH = (
    "fetch",
    "--progress",
    "--no-tags",
    "--no-prune",
    "--no-write-fetch-head",
    "--no-auto-gc",
    "--refmap=",
    "--no-filter",
    *_PLAIN,
)
_PUSH = (
    "push",
    "--porcelain",
    "--progress",
    "--no-verify",
    "--no-follow-tags",
    "--no-signed",
    "--no-force-if-includes",
    *_PLAIN,
)


# Of two branches one of which is a folder of the other's name git keeps one.
_CLASH = re.compile(r"cannot lock ref '[^']*': 'refs/heads/([^']+)' exists; cannot create")
APART = "take a branch whose name stands alone there: atlas init --branch atlas-store"


class Away(Failed):
    """The remote could not be asked. silent: it gave no answer in time. begun: it was at it."""

    code = "remote"
    retry = "later"
    silent = False
    begun = False
    unasked = False  # no call was made


class Pushed(NamedTuple):
    """The outcome of a push.

    ok: the answer says that our own update was made. old: what it replaced; None if there was no
    such branch. unclear: the remote may have taken what it was sent. final: to push again at once
    is of no use. hint: what helps, if it is known."""

    ok: bool
    old: str | None = None
    why: str = ""
    unclear: bool = False
    final: bool = False
    hint: str = ""


class Remote(NamedTuple):
    """A remote of the user's repository, by the name that their configuration gives it."""

    name: str
    branch: str
    git: Git
    ref: str  # of the branch, there
    url: str = ""  # as it is configured; empty: there is no such remote any more
    split: bool = False  # it is pushed to by another address than it is read from
    local: bool = False  # it is the user's own repository, with the copy that it holds
    wanted: bool = False  # the user asks for it (else they only read something)
    until: float | None = None  # when (monotonic) every call is over, whatever the remote sends
    common: Path = Path()  # the user's git directory
    here: bool = False  # the store stays in this clone until it is published on request

    def heads(self, timeout: float) -> dict[str, str]:
        """The branches that are there, with the commits they are at."""
        out = self._run(("ls-remote", "--heads", "--", self.name), timeout)
        rows = [
            line.split("\t") for line in out.decode(errors="replace").split("\n") if "\t" in line
        ]
        return {ref.removeprefix("refs/heads/"): oid for oid, ref in rows}

    def fetch(self, timeout: float, also: Sequence[str] = ()) -> bool:
        """Fetches the branch to INCOMING, and what `also` says. False if the remote has no such
        branch."""
        for again in (True, False):
            try:
                self._run((*_FETCH, "--", self.name, f"+{self.ref}:{INCOMING}", *also), timeout)
                break
            except Away as error:
                if error.silent or error.unasked or self.local or not again:
                    raise
                if self.branch not in self.heads(timeout):
                    return False  # (if it is there now, it was made meanwhile)
        return True

    def mirror(self, refspecs: Sequence[str], timeout: float) -> None:
        """Fetches these refs, and takes away here those that are gone there."""
        self._run((*_FETCH, "--prune", "--", self.name, *refspecs), timeout)

    def push(self, oid: str, timeout: float) -> Pushed:
        """Asks the remote to move the branch forward to a commit. A plain push is the remote's
        compare-and-set."""
        # (Nothing stands in it, if the remote was never reached.)
        trace = _trace(f"{self.git.directory}.push")
        extra = {"GIT_TRACE_PACKET": str(trace)} if trace else {}
        interrupts.sent()
        try:
            code, out, err = self._ask(
                (*_PUSH, "--", self.name, f"{oid}:{self.ref}"), timeout, extra
            )
        except Away as error:
            if error.unasked or not _any(trace):
                raise
            code, out, err = 128, b"", error.message
        heard = _any(trace)
        with suppress(OSError):
            if trace:
                trace.unlink(missing_ok=True)
        for line in out.decode(errors="replace").split("\n"):
            flag, tab, rest = line.partition("\t")
            if tab and flag in (" ", "*") and not code:
                return Pushed(
                    True, rest.rpartition("\t")[2].partition("..")[0] if flag == " " else None
                )
            if tab and flag in ("!", "="):
                why = rest.rpartition("\t")[2]
                if clash := _CLASH.search(err):
                    beside = f"it has the branch {clash[1]}, beside which there is no {self.branch}"
                    return Pushed(False, None, beside, final=True, hint=APART)
                same, lost = flag == "=", why.startswith("[remote failure]")
                return Pushed(
                    False,
                    oid if same else None,
                    _said(err, why),
                    unclear=same or lost,
                    final="declined" in why,
                )
        return Pushed(False, None, _said(err), unclear=heard, final=heard)

    def drop(self, branch: str, oid: str, timeout: float) -> None:
        """Takes away a branch of an outbox whose writes have been taken in, if it is still where it
        was."""
        ref = f"refs/heads/{branch}"
        self._ask((*_PUSH, f"--force-with-lease={ref}:{oid}", "--", self.name, f":{ref}"), timeout)

    def copy(self, repo: Repo) -> Remote | None:
        """The copy of the branch that the user's repository has fetched (a bare one fetches
        branches as they are). None if it has none, or not the whole of it."""
        theirs = Git(str(repo.common), hermetic=False)
        for ref in (f"refs/remotes/{self.name}/{self.branch}", self.ref):
            if root_id(repo.width) in history.roots(theirs, ref):
                git = Git(str(repo.home / "store.git"))
                return self._replace(name=str(repo.common), git=git, ref=ref, local=True)
        return None

    def _run(self, args: tuple[str, ...], timeout: float) -> bytes:
        code, out, err = self._ask(args, timeout)
        if code:
            raise Away(f"{self.name}: {_said(err)}")
        return out

    def _ask(
        self, args: tuple[str, ...], timeout: float, extra: dict[str, str] | None = None
    ) -> tuple[int, bytes, str]:
        if not self.url:
            raise self._unasked(
                f"there is no remote {self.name!r} here any more",
                "atlas init --remote R names another",
            )
        self._trusted()
        rest = None if self.until is None else self.until - time.monotonic()
        if rest is not None and rest <= 0:
            raise self._late()
        extra = {**(extra or {}), **({"GIT_ALLOW_PROTOCOL": "file"} if self.local else {})}
        try:
            return self.git.ask(
                *args,
                options=self._settings(),
                timeout=min(timeout, rest or timeout),
                extra=extra,
                patient=rest is None,
            )
        except Failed as error:
            silent = isinstance(error, Silent)
            late = silent and rest is not None
            away = self._late() if late else Away(f"{self.name}: {error.message}")
            away.silent, away.begun = silent, isinstance(error, Silent) and error.begun
            raise away from None

    def _trusted(self) -> None:
        """Raises Away if git would obey what did not come from the user. That the user wants it is
        remembered."""
        if line := transports.foreign(self.git.directory):
            raise self._unasked(
                f"{self.git.directory}/config holds what Atlas did not write ({line}), which is not"
                " obeyed",
                "atlas doctor --fix puts it aside",
                code="configuration",
            )
        if self.local or not (programs := transports.programs(self.git, self.common, self.name)):
            return
        if self.wanted:
            transports.use(self.common, programs)
        elif not transports.used(self.common, programs):
            raise self._unasked(
                f"{self.name} is reached by a program that this repository's own configuration"
                f" names ({programs[0][0]}), which a read does not run",
                "atlas sync runs it, if you trust this repository, and reads do from then on",
                code="configuration",
            )

    def _late(self) -> Away:
        late = Away(f"{self.name} had no answer ready in time")
        late.silent = True
        return late

    @staticmethod
    def _unasked(text: str, hint: str, code: str = "") -> Away:
        away = Away(text, hint, code=code)
        away.unasked = True
        return away

    def _settings(self) -> tuple[str, ...]:
        """Options against the user's settings of a remote that the store's own branch must not
        meet: mirror, filter, abbreviate."""
        if self.local:
            return ()
        own = f"remote.{self.name}"
        return (
            f"{own}.mirror=false",
            f"{own}.promisor=false",
            f"{own}.partialclonefilter=",
            "core.abbrev=no",
            "push.pushOption=",
        )


def _trace(name: str) -> Path | None:
    """An empty file for git's trace of a push; None if there can be none."""
    try:
        Path(name).unlink(missing_ok=True)
        Path(name).touch()
    except OSError:
        return None
    return Path(name)


def _any(trace: Path | None) -> bool:
    """Whether anything was traced. It counts as traced if that could not be written down."""
    try:
        return trace is None or trace.stat().st_size > 0
    except OSError:
        return True


def _said(err: str, why: str = "") -> str:
    """The reason why it did not work, on one line: git's word on it, and what the other side
    said."""
    lines = [
        line.strip() for line in err.split("\n") if "\r" not in line and not line.endswith("done.")
    ]
    ours = [line for line in lines if line and not line.startswith(("remote:", "hint:"))]
    # ssh's own words stand before git's; if nothing of git's follows, they are git's.
    before = list(takewhile(lambda line: not line.startswith(("fatal:", "error:")), ours))
    if before == ours:
        before = []
    theirs = [line.removeprefix("remote:").strip() for line in lines if line.startswith("remote:")]
    words = [why or last_line("\n".join(ours)), "; ".join(filter(None, before + theirs))]
    return ": ".join(filter(None, words))[:400]


def find(repo: Repo, home: Path, name: str = "") -> Remote | None:
    """The remote of this name, else that which `init --remote` named, else `origin`, else the only
    one; None if there is none. The remote of an outbox is the clone's own store."""
    if home == repo.outbox and (repo.shared / "store.git").is_dir():
        return beside(repo.shared / "store.git", home / "store.git")
    chosen = _chosen(home)
    urls = settings.remotes(repo, home)
    name = name or chosen.get("name") or _default(urls)
    if not name:
        return None
    branch = chosen.get("branch", "atlas")
    store = home / "store.git"  # before there is one, git finds the user's own repository
    git = Git(None, cwd=settings.top(repo), hermetic=False)
    own = {
        key: value
        for key, value in os.environ.items()
        if key in _KEPT or key.startswith(("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"))
    }
    git.env = environment(hermetic=False, online=True) | own | {"SSH_ASKPASS_REQUIRE": "never"}
    if store.is_dir():
        settings.enter(git, store, repo.common, repo.top)
    url, split = urls.get(name, ("", False))
    here = bool(chosen.get("here"))
    ref = f"refs/heads/{branch}"
    return Remote(name, branch, git, ref, url, split, common=repo.common, here=here)


def _default(urls: Collection[str]) -> str:
    """The name of the remote that is taken if none was chosen; empty if that is not clear."""
    if "origin" in urls:
        return "origin"
    return next(iter(urls)) if len(urls) == 1 else ""


def beside(lender: Path, own: Path) -> Remote:
    """The clone's store, for one in a worktree's outbox: it is read from, and takes in by itself
    what is laid there."""
    return Remote(str(lender), "atlas", Git(str(own)), BRANCH, str(lender), local=True)


def _chosen(home: Path) -> dict[str, Any]:
    """The choices that this clone has noted of its remote."""
    try:
        chosen = json.loads((home / "remote.json").read_text())
        return dict(chosen)
    except (OSError, ValueError, TypeError):
        return {}


def keep(home: Path, here: bool) -> None:
    """Notes whether the store stays in this clone, though there is a remote. Nothing is written
    where it is noted so already."""
    chosen = _chosen(home)
    if bool(chosen.get("here")) != here:
        files.put(home / "remote.json", json.dumps({**chosen, "here": here}).encode())


def choose(repo: Repo, name: str | None, branch: str | None) -> None:
    """Notes which remote, and which branch of it, the store is shared through; nothing where
    neither is named. Raises NotFound if there is no such remote."""
    if name is None and branch is None:
        return
    home, known = repo.home, settings.remotes(repo, repo.home)
    if name is not None and name not in known:
        raise NotFound(
            f"there is no remote {name[:80]!r}",
            f"git remote shows them: {', '.join(known) or 'none'}",
        )
    home.mkdir(parents=True, exist_ok=True)
    chosen = {**_chosen(home), "name": name, "branch": branch or "atlas"}
    files.put(home / "remote.json", json.dumps(chosen).encode())

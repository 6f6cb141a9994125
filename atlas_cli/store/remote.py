"""The git remote that a store is shared through: which one it is, and the calls to it. Each is bounded in time, uses
the user's own transport and credentials, moves no ref but the one that it is told to, and never forces."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

from ..errors import Failed
from .git import Git, Silent, environment, last_line
from .place import Place

INCOMING = "refs/atlas/incoming"  # what a fetch brought, before it is judged
_KEPT = ("GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT")  # what a caller sets for its transport (a CI's credentials)
_PLAIN = ("--no-recurse-submodules",)
_FETCH = (
    "fetch", "--quiet", "--no-tags", "--no-prune", "--no-write-fetch-head", "--no-auto-gc", "--refmap=", "--no-filter",
    *_PLAIN,
)  # fmt: skip
_PUSH = ("push", "--porcelain", "--no-verify", "--no-follow-tags", "--no-signed", "--no-force-if-includes", *_PLAIN)


# How git says that there was no conversation at all. Any other failure may have come after the remote had taken what
# it was sent.
_NEVER = ("Could not read from remote repository", "hung up upon initial contact", "unable to access",
          "unable to connect", "unable to look up")  # fmt: skip


class Away(Failed):
    """The remote could not be asked; `silent`: it gave no answer in time."""

    code = "remote"
    retry = "later"
    silent = False


class Pushed(NamedTuple):
    """What became of a push: `ok` only where the answer says that our own update was made; `old` is what it replaced
    (None: there was no such branch); `unclear`: no answer tells whether it was made."""

    ok: bool
    old: str | None = None
    why: str = ""
    unclear: bool = False


class Remote(NamedTuple):
    """A remote of the user's repository, by the name that their configuration gives it."""

    name: str
    branch: str
    git: Git
    ref: str  # of the branch, there
    local: bool = False  # it is the user's own repository, with the copy that it holds

    def heads(self, timeout: float) -> dict[str, str]:
        """The branches that are there, with the commits they are at."""
        out = self._run(("ls-remote", "--heads", "--", self.name), timeout)
        rows = [line.split("\t") for line in out.decode(errors="replace").split("\n") if "\t" in line]
        return {ref.removeprefix("refs/heads/"): oid for oid, ref in rows}

    def fetch(self, timeout: float) -> bool:
        """Fetches the branch to INCOMING; False where the remote has no such branch."""
        try:
            self._run((*_FETCH, "--", self.name, f"+{self.ref}:{INCOMING}"), timeout)
        except Away as error:
            if error.silent or self.branch in self.heads(timeout):
                raise
            return False
        return True

    def push(self, oid: str, timeout: float) -> Pushed:
        """Asks the remote to move the branch forward to a commit; a plain push, which is its compare-and-set."""
        try:
            code, out, err = self.git.ask(
                *_PUSH, "--", self.name, f"{oid}:{self.ref}", options=self._settings(), timeout=timeout
            )
        except Failed as error:
            return Pushed(False, None, error.message, unclear=True)
        for line in out.decode(errors="replace").split("\n"):
            flag, tab, rest = line.partition("\t")
            if tab and flag in (" ", "*") and not code:
                old = rest.rpartition("\t")[2].partition("..")[0] if flag == " " else None
                return Pushed(True, old)
            if tab and flag in ("!", "="):
                why = rest.rpartition("\t")[2]
                return Pushed(False, None, why, unclear=flag == "=" or why.startswith("[remote failure]"))
        return Pushed(False, None, last_line(err), unclear=not any(text in err for text in _NEVER))

    def copy(self, place: Place) -> Remote | None:
        """The copy of the branch that the user's repository has fetched; None where it has none."""
        ref = f"refs/remotes/{self.name}/{self.branch}"
        there = Git(str(place.common), hermetic=False).object(ref)
        git = Git(str(place.home / "store.git"))
        return Remote(str(place.common), self.branch, git, ref, local=True) if there else None

    def _run(self, args: tuple[str, ...], timeout: float) -> bytes:
        try:
            code, out, err = self.git.ask(*args, options=self._settings(), timeout=timeout)
        except Failed as error:
            away = Away(f"{self.name}: {error.message}")
            away.silent = isinstance(error, Silent)
            raise away from None
        if code:
            raise Away(f"{self.name}: {last_line(err)}")
        return out

    def _settings(self) -> tuple[str, ...]:
        """What the user's settings of a remote must not do to the store's own branch: mirror, filter, abbreviate."""
        if self.local:
            return ()
        own = f"remote.{self.name}"
        return (f"{own}.mirror=false", f"{own}.promisor=false", f"{own}.partialclonefilter=", "core.abbrev=no",
                "push.pushOption=")  # fmt: skip


def find(place: Place, home: Path) -> Remote | None:
    """The remote that `init --remote` named, else `origin`, else the only one; None where there is none."""
    name, branch = _named(place, home)
    if not name:
        return None
    top = place.common.parent if place.common.name == ".git" else place.common
    store = home / "store.git"  # before there is one, git finds the user's own repository
    git = Git(
        str(store) if store.is_dir() else None, cwd=str(top), hermetic=False, include=str(place.common / "config")
    )
    kept = {key: value for key, value in os.environ.items()
            if key in _KEPT or key.startswith(("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"))}  # fmt: skip
    git.env = environment(hermetic=False) | kept | {"SSH_ASKPASS_REQUIRE": "never"}
    return Remote(name, branch, git, f"refs/heads/{branch}")


def choose(home: Path, name: str | None, branch: str | None) -> None:
    """Notes which remote, and which branch of it, the store is shared through."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "remote.json").write_text(json.dumps({"name": name, "branch": branch or "atlas"}))


def _named(place: Place, home: Path) -> tuple[str, str]:
    """(name, branch); looked up again only when the repository's configuration changed, since a command must not cost
    a process for it."""
    file, config = home / "remote.json", place.common / "config"
    try:
        chosen = json.loads(file.read_text()) if file.exists() else {}
    except (OSError, ValueError):
        chosen = {}
    branch = chosen.get("branch", "atlas")
    if chosen.get("name"):
        return chosen["name"], branch
    try:
        state = config.stat()
        stamp = [state.st_mtime_ns, state.st_size]
    except OSError:
        stamp = []
    if chosen.get("stamp") == stamp and stamp:
        return chosen.get("found", ""), branch
    found = _only(place)
    try:
        part = file.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps({"branch": branch, "stamp": stamp, "found": found}))
        part.replace(file)
    except OSError:
        pass  # a cache
    return found, branch


def _only(place: Place) -> str:
    names = remotes(place)
    return "origin" if "origin" in names else (names[0] if len(names) == 1 else "")


def remotes(place: Place) -> list[str]:
    """The names of the repository's remotes."""
    git = Git(None, cwd=str(place.top or place.common), hermetic=False)
    out = git.ask("config", "--null", "--get-regexp", r"^remote\..*\.url$")[1].decode(errors="replace")
    keys = [row.partition("\n")[0] for row in out.split("\0") if row]
    return sorted({key.removeprefix("remote.").removesuffix(".url") for key in keys})

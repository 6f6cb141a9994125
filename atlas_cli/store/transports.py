"""The programs that configuration may make git run on the way to a remote. The store's own
repository is Atlas's: what Atlas did not write there is not obeyed. A program that the user's
repository names in its own configuration may have come with it: it is run where the user asks for
the remote (as their own `git push` would), and by a read only once that has happened."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from ..model.digests import sha256
from .git import Git
from .repo import state

# What the store's own configuration may hold: what `git init` and Atlas write, and what changes no
# call of Atlas's. (None of these is compiled before it is needed: few commands call the remote.)
_OWN = rb"""(?ix)\s*(?:[#;].*|\[(?:core|extensions|gc|pack|user)\]
    |(?:repositoryformatversion|filemode|bare|ignorecase|precomposeunicode|symlinks|logallrefupdates|fsync|fsyncmethod
       |compression|loosecompression|bigfilethreshold|sharedrepository|objectformat|preciousobjects|name|email
       |auto|autopacklimit|pruneexpire|reflogexpire|windowmemory|threads|depth
       |window)\s*=\s*[\w.@+ -]*)?\s*\Z"""
_LONG = 200  # bytes of a line, which none of these has
# What names a program, or another way, for a call over the network.
_NAMES = (
    r"^(remote\..*\.(url|pushurl|uploadpack|receivepack|vcs|proxy)"
    r"|core\.(sshcommand|gitproxy|askpass|alternaterefscommand)"
    r"|credential\.(.*\.)?helper|url\..*\.(insteadof|pushinsteadof))$"
)
# Without one of these words a configuration names none: no process has to be asked.
_WORDS = (
    rb"(?i)uploadpack|receivepack|vcs|proxy|sshcommand|askpass|alternaterefscommand|helper|include|worktreeconfig|::"
    rb"|url\s*=\s*\"?(?!https?:|ftps?:|ssh:|git:|file:|git\+ssh:|ssh\+git:)[a-z0-9][a-z0-9+.-]*://"
)
# git-remote-…
_HELPED = (
    r"(?!(?:https?|ftps?|ssh|git|file|git\+ssh|ssh\+git)://)[A-Za-z0-9][A-Za-z0-9+.-]*:(?::|//)"
)
# git's own name for one: git-credential-…
_HELPER = r"[A-Za-z0-9-]*(?: --?[A-Za-z0-9=/._~-]+| [0-9]+)*\Z"


def foreign(directory: str | None) -> str:
    """The first line of a store's own configuration that Atlas did not write; empty if all is its
    own."""
    file = Path(directory or "", "config")
    if not directory or not file.is_file():
        return ""
    lines = file.read_bytes().split(b"\n")
    odd = (line for line in lines if len(line) > _LONG or not re.match(_OWN, line))
    return next((os.fsdecode(line.strip())[:120] for line in odd), "")


def programs(git: Git, common: Path, remote: str) -> list[tuple[str, str]]:
    """(key, value) of each program on the way to a remote that the repository's own configuration
    names. `git` includes that configuration in its calls. The user's own files are not asked: what
    they name is the user's."""
    with suppress(OSError):
        if not re.search(_WORDS, (common / "config").read_bytes()):
            return []
    return [row for row in git.named(_NAMES) if _runs(*row, remote)]


def _runs(key: str, value: str, remote: str) -> bool:
    if key.startswith("remote."):
        name, _, what = key.removeprefix("remote.").rpartition(".")
        if what in ("url", "pushurl"):
            return name == remote and re.match(_HELPED, value) is not None
        return name == remote and value != {
            "uploadpack": "git-upload-pack",
            "receivepack": "git-receive-pack",
        }.get(what)
    if key.startswith("credential."):
        return not re.match(_HELPER, value)
    if key.startswith("url."):
        return "::" in key.rpartition(".")[0]
    return bool(value)


def used(common: Path, programs: list[tuple[str, str]]) -> bool:
    """Whether the user has had this repository's remote asked by just these programs before."""
    return _mark(common, programs).exists()


def use(common: Path, programs: list[tuple[str, str]]) -> None:
    """Notes that they have now. (The mark stands in their state folder: what lies in the repository
    may have come with it.)"""
    mark = _mark(common, programs)
    with suppress(OSError):
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()


def _mark(common: Path, programs: list[tuple[str, str]]) -> Path:
    text = "\0".join([str(common), *(word for row in sorted(programs) for word in row)])
    return state() / "transports" / sha256(text.encode(errors="surrogateescape")).hexdigest()[:32]

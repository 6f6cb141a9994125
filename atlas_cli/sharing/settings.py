"""The settings of the user's git on the way to a remote: their remotes, and the files of
configuration that only their own repository reads."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from pathlib import Path

from ..store import files
from ..store.git import Git
from ..store.repo import Repo


def remotes(repo: Repo, home: Path) -> dict[str, tuple[str, bool]]:
    """(URL, whether another one is pushed to) by name of the repository's remotes. They are looked
    up again only if its configuration changed, since a command must not cost a process for it."""
    file = home / "remotes.json"
    try:
        state = (repo.common / "config").stat()
        stamp = [state.st_mtime_ns, state.st_size]
    except OSError:
        stamp = []
    try:
        known = json.loads(file.read_text())
        if known["stamp"] == stamp and stamp:
            return {name: (url, split) for name, (url, split) in known["remotes"].items()}
    except (OSError, ValueError, KeyError):
        pass  # not looked up yet
    urls = _configured(repo)
    with suppress(OSError):  # a cache
        files.put(file, json.dumps({"stamp": stamp, "remotes": urls}).encode())
    return urls


def _configured(repo: Repo) -> dict[str, tuple[str, bool]]:
    git = Git(None, cwd=str(repo.top or top(repo)), hermetic=False)
    out = git.ask("config", "--null", "--get-regexp", r"^remote\..*\.(push)?url$")[1].decode(
        errors="replace"
    )
    urls: dict[str, str] = {}
    other: set[str] = set()
    for row in filter(None, out.split("\0")):
        key, _, url = row.partition("\n")
        name, _, what = key.removeprefix("remote.").rpartition(".")
        if what == "url":
            urls.setdefault(name, url)
        else:
            other.add(name)
    return {name: (url, name in other) for name, url in sorted(urls.items())}


def enter(git: Git, store: Path, common: Path, top: Path | None = None) -> None:
    """From now on, a git that found the user's repository is one of a store, with the settings that
    it had there: their repository's own, and those of the files that a condition on the git
    directory or the branch names (`includeIf`), or that are the worktree's."""
    theirs = Git(None, cwd=str(top) if top else git.cwd, hermetic=False)
    git.directory, git.include = str(store), [f"include.path={common / 'config'}"]
    own = (os.environ.get("GIT_CONFIG_GLOBAL"), "~/.gitconfig", "~/.config/git/config")
    texts = [str(common / "config"), *filter(None, own), "/etc/gitconfig"]
    if any(re.search(rb"(?i)include|worktreeconfig", _text(file)) for file in texts):
        known = set(_origins(git))
        git.include += [f"include.path={file}" for file in _origins(theirs) if file not in known]


def _text(file: str) -> bytes:
    try:
        return Path(file).expanduser().read_bytes()
    except (OSError, RuntimeError):  # (there may be no home)
        return b""


def _origins(git: Git) -> list[str]:
    """The files that git reads its configuration from, each once."""
    asked = ("config", "--null", "--list", "--name-only", "--show-origin")
    words = git.ask(*asked)[1].decode(errors="surrogateescape").split("\0")
    files_read = (word.removeprefix("file:") for word in words[::2] if word.startswith("file:"))
    folder = Path(git.cwd or os.sep)
    return list(dict.fromkeys(os.path.realpath(folder / name) for name in files_read))


def top(repo: Repo) -> str:
    """The folder that git would stand in for the main worktree: an address like `../hub.git` is
    meant from there."""
    if repo.common.name == ".git":
        return str(repo.common.parent)
    # (A file stands there in a submodule, and after `init --separate-git-dir`.)
    link = repo.top / ".git" if repo.top else None
    text = os.fsdecode(link.read_bytes()) if link and link.is_file() else ""
    own = link is not None and link.parent / text.removeprefix("gitdir: ").rstrip("\n")
    return str(repo.top if own and own.resolve() == repo.common.resolve() else repo.common)

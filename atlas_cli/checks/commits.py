"""The user's own history, by one plain `git log`: the commits of a range, and the commits that
touched some paths lately."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..errors import Failed
from ..model import names
from ..store.git import AS_IS, Git, failure
from .commit import CodeCommit

_FORMAT = "--format=%x01%H%x00%P%x00%aN <%aE>%x00%at%x00%cN <%cE>%x00%ct%x00%B"


class Ahead(NamedTuple):
    """The commits that only a remote has: its branches' tips, and a git that sees their objects
    beside the user's."""

    git: Git
    tips: Sequence[str]


class Touch(NamedTuple):
    """A commit that touched some of the paths that were asked for. `here`: the user's repository
    has it."""

    commit: CodeCommit
    paths: set[str]
    here: bool


def read(
    git: Git,
    *args: str,
    paths: Sequence[str] = (),
    tips: Sequence[str] = (),
    moves: str = "-M",
) -> list[CodeCommit]:
    """The commits that `git log` gives for these arguments, tips and literal paths, newest first. A
    merge comes without paths. `moves`: how alike files must be to count as moved. Raises Failed if
    git cannot say."""
    code, out, err = git.ask(
        "log",
        "-z",
        "--raw",
        "-r",
        moves,
        "--root",
        "--encoding=UTF-8",
        "--diff-merges=off",
        _FORMAT,
        *args,
        "--stdin",
        options=AS_IS,
        data="\n".join([*tips, "--", *paths, ""]).encode(errors="surrogateescape"),
        extra={"GIT_LITERAL_PATHSPECS": "1"},
    )
    if code:
        raise failure("log", code, err)
    rows: list[tuple[list[str], list[str], dict[str, str | None]]] = []  # fields, paths, moved
    words = iter(out.decode(errors="surrogateescape").split("\0"))
    for word in words:
        if word.startswith("\x01"):
            rows.append(([word[1:], *(next(words) for _ in range(6))], [], {}))
        elif word.lstrip("\n").startswith(":"):
            _, changed, moved = rows[-1]
            kind, old = word.rpartition(" ")[2][0], next(words)
            new = next(words) if kind in "RC" else old
            if kind in "RD":
                moved[old] = new if kind == "R" else None
            changed += [old, new] if kind == "R" else [new]
    return [_commit(*row) for row in rows]


def _commit(fields: list[str], paths: list[str], moved: dict[str, str | None]) -> CodeCommit:
    """A commit from the fields that `_FORMAT` asks for."""
    oid, parents, author, made, committer, at, message = fields
    return CodeCommit(
        oid,
        tuple(parents.split()),
        author,
        int(made),
        committer,
        int(at),
        message,
        tuple(paths),
        moved,
    )


_UNREAD = "-M100%"  # the files themselves, which a partial clone lacks, need not be compared
_ALL = ("--exclude=refs/stash", "--exclude=refs/notes/*", "--exclude=refs/remotes/*/atlas", "--all")


def recent(git: Git, paths: Sequence[str], since: int, ahead: Ahead | None = None) -> list[Touch]:
    """The commits that touched these paths (from the root) or what was renamed to them: first those
    that only the remote has, however old; then those after a moment, on any branch, local or
    fetched, and in any worktree. Each part comes newest first."""
    called = {path: {path} for path in paths}  # the names that each had
    here = _touching(git, called, (*_ALL, f"--since={since}"))
    only = _touching(ahead.git, called, ("--not", "--all"), ahead.tips) if ahead else []
    return [Touch(*row, False) for row in only] + [Touch(*row, True) for row in here]


def _touching(
    git: Git, called: dict[str, set[str]], revisions: Sequence[str], tips: Sequence[str] = ()
) -> list[tuple[CodeCommit, set[str]]]:
    """The commits of a range that touched what these paths are or were called, each with those that
    it touched. The names that commits tell are added."""
    asked, moves = (*revisions, "--no-merges", "--full-diff"), "-M"
    while True:
        every = sorted({name for each in called.values() for name in each})
        paths = () if "." in every else every
        try:
            commits = read(git, *asked, paths=paths, tips=tips, moves=moves)
        except Failed as error:
            if error.code != "partial_clone" or moves == _UNREAD:
                raise
            moves = _UNREAD
            continue
        commits = [commit for commit in commits if not commit.of_store]
        before = sum(map(len, called.values()))
        for each in called.values():
            each |= _former(commits, each)
        if sum(map(len, called.values())) == before:
            touched = ({path for path in called if _on(commit, called[path])} for commit in commits)
            return list(zip(commits, touched, strict=True))


def _former(commits: Sequence[CodeCommit], called: set[str]) -> set[str]:
    """The names that files had before commits renamed them to one of these."""
    former = set()
    for commit in commits:
        for old, new in commit.moved.items():
            if new and _in(new, called) and not _in(old, called):
                former.add(old)
    return former


def _on(commit: CodeCommit, called: set[str]) -> bool:
    return any(
        names.overlap(f"path:{path}", f"path:{name}") for path in commit.paths for name in called
    )


def _in(path: str, folders: set[str]) -> bool:
    return any(folder in (".", path) or path.startswith(f"{folder}/") for folder in folders)

"""The user's own history, by one plain `git log`: the commits of a range, and the commits that
touched some paths lately."""

from __future__ import annotations

from collections.abc import Sequence

from ..model import names
from ..store.git import AS_IS, Git, failure
from .commit import CodeCommit

_FORMAT = "--format=%x01%H%x00%P%x00%aN <%aE>%x00%at%x00%cN <%cE>%x00%ct%x00%B"


def read(git: Git, *args: str, paths: Sequence[str] = ()) -> list[CodeCommit]:
    """The commits that `git log` gives for these arguments and literal paths, newest first. A merge
    comes without paths. Raises Failed if git cannot say."""
    code, out, err = git.ask(
        "log",
        "-z",
        "--raw",
        "-r",
        "-M",
        "--root",
        "--encoding=UTF-8",
        "--diff-merges=off",
        _FORMAT,
        *args,
        "--stdin",
        options=AS_IS,
        data="\n".join(["--", *paths, ""]).encode(errors="surrogateescape"),
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


def recent(git: Git, paths: Sequence[str], since: int) -> list[tuple[CodeCommit, set[str]]]:
    """The commits after a moment that touched these paths (from the root) or what was renamed to
    them, on any branch, local or fetched, and in any worktree. They come newest first, each with
    those of `paths` that it touched."""
    called = {path: {path} for path in paths}  # the names that each had
    while True:
        every = sorted({name for each in called.values() for name in each})
        commits = read(
            git,
            "--exclude=refs/stash",
            "--exclude=refs/notes/*",
            "--exclude=refs/remotes/*/atlas",
            "--all",
            f"--since={since}",
            "--no-merges",
            "--full-diff",
            paths=() if "." in every else every,
        )
        before = sum(map(len, called.values()))
        for each in called.values():
            each |= _former(commits, each)
        if sum(map(len, called.values())) == before:
            touched = ({path for path in paths if _on(commit, called[path])} for commit in commits)
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

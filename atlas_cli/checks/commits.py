"""The user's own history, by one plain `git log`: the commits of a range, and who committed on some
paths lately."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import Failed
from ..model import names
from ..store.git import AS_IS, Git, last_line
from .commit import Code

_FORMAT = "--format=%x01%H%x00%P%x00%aN <%aE>%x00%at%x00%cN <%cE>%x00%ct%x00%B"


def read(git: Git, *args: str, paths: Sequence[str] = ()) -> list[Code]:
    """The commits that `git log` gives for these arguments and literal paths, newest first; merges
    without paths."""
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
        raise Failed(f"git log failed ({code}): {last_line(err)}")
    commits: list[tuple[list[str], list[str], dict[str, str | None]]] = []  # fields, paths, moved
    words = iter(out.decode(errors="surrogateescape").split("\0"))
    for word in words:
        if word.startswith("\x01"):
            commits.append(([word[1:], *(next(words) for _ in range(6))], [], {}))
        elif word.lstrip("\n").startswith(":"):
            _, paths_, moved = commits[-1]
            kind, old = word.rpartition(" ")[2][0], next(words)
            new = next(words) if kind in "RC" else old
            if kind in "RD":
                moved[old] = new if kind == "R" else None
            paths_ += [old, new] if kind == "R" else [new]
    return [
        Code(
            oid,
            tuple(above.split()),
            author,
            int(made),
            committer,
            int(at),
            message,
            tuple(paths_),
            moved,
        )
        for (oid, above, author, made, committer, at, message), paths_, moved in commits
    ]


def recent(git: Git, paths: Sequence[str], since: int) -> list[tuple[Code, set[str]]]:
    """The commits after a moment, on any branch, local or fetched, and in any worktree, that
    touched these paths (from the root) or what was renamed to them; newest first, each with those
    of `paths` that it touched."""
    called = {path: {path} for path in paths}  # what each was called
    while True:
        every = sorted({name for names_ in called.values() for name in names_})
        codes = read(
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
        moves = [(old, new) for code in codes for old, new in code.moved.items() if new]
        before = sum(map(len, called.values()))
        for names_ in called.values():
            names_ |= {old for old, new in moves if _in(new, names_) and not _in(old, names_)}
        if sum(map(len, called.values())) == before:
            return [(code, {path for path in paths if _on(code, called[path])}) for code in codes]


def _on(code: Code, called: set[str]) -> bool:
    return any(
        names.overlap(f"path:{path}", f"path:{name}") for path in code.paths for name in called
    )


def _in(path: str, folders: set[str]) -> bool:
    return any(folder in (".", path) or path.startswith(f"{folder}/") for folder in folders)

"""The user's own history, by one plain `git log`: the commits of a range, and who committed on some paths lately."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import Failed
from ..records import names
from ..records.code import Code
from .git import AS_IS, Git, last_line

_FORMAT = "--format=%x01%H%x00%P%x00%aN <%aE>%x00%at%x00%cN <%cE>%x00%ct%x00%B"


def read(git: Git, *args: str, paths: Sequence[str] = ()) -> list[Code]:
    """The commits that `git log` gives for these arguments and literal paths, newest first; merges without paths."""
    code, out, err = git.ask(
        "log", "-z", "--raw", "-r", "-M", "--root", "--encoding=UTF-8", "--diff-merges=off", _FORMAT, *args, "--stdin",
        options=AS_IS, data="\n".join(["--", *paths, ""]).encode(errors="surrogateescape"),
        extra={"GIT_LITERAL_PATHSPECS": "1"},
    )  # fmt: skip
    if code:
        raise Failed(f"git log failed ({code}): {last_line(err)}")
    found: list[Code] = []
    paths_: list[str] = []
    moved: dict[str, str | None] = {}
    words = iter(out.decode(errors="surrogateescape").split("\0"))
    for word in words:
        if word.startswith("\x01"):
            paths_, moved = [], {}
            above, author, made, committer, at, message = (next(words) for _ in range(6))
            found.append(Code(word[1:], tuple(above.split()), author, int(made), committer, int(at), message))
        elif word.lstrip("\n").startswith(":"):
            kind, old = word.rpartition(" ")[2], next(words)
            new = next(words) if kind[0] in "RC" else old
            if kind[0] in "RD":
                moved[old] = None if kind == "D" else new
            paths_ += dict.fromkeys((old, new) if kind[0] == "R" else (new,))
            found[-1] = found[-1]._replace(paths=tuple(paths_), moved=moved)
    return found


def recent(git: Git, paths: Sequence[str], since: int) -> list[tuple[Code, set[str]]]:
    """The commits after a moment, on any branch, local or fetched, and in any worktree, that touched these paths (from
    the root) or what was renamed to them; newest first, each with those of `paths` that it touched."""
    wanted = {path: {path} for path in paths}  # path: what it was called
    while True:
        every = {name for called in wanted.values() for name in called}
        codes = read(
            git, "--exclude=refs/stash", "--exclude=refs/notes/*", "--exclude=refs/remotes/*/atlas", "--all",
            f"--since={since}", "--no-merges", "--full-diff", paths=sorted(every) if "." not in every else (),
        )  # fmt: skip
        found = [(code, {path for path, called in wanted.items() if _on(code, called)}) for code in codes]
        older = len(every)
        for code, _ in found:
            for old, new in code.moved.items():
                for called in wanted.values():
                    if new and any(_within(new, name) for name in called) and not any(_within(old, n) for n in called):
                        called.add(old)
        if len({name for called in wanted.values() for name in called}) == older:
            return found


def _on(code: Code, called: set[str]) -> bool:
    return any(names.overlap(f"path:{path}", f"path:{name}") for path in code.paths for name in called)


def _within(path: str, folder: str) -> bool:
    return folder == "." or path == folder or path.startswith(f"{folder}/")

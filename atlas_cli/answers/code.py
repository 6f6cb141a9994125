"""The user's own code: what of it nobody else has yet."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ..store.git import Git
from ..visible import named

SEQUENCES = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "MERGE_HEAD": "merge",
}


class Work(NamedTuple):
    """The state of the code: the commit that the work is at, and what keeps others from it, with
    the command that mends that (both empty: nothing). loose: tracked files are changed, and not
    committed."""

    head: str
    problem: str = ""
    hint: str = ""
    loose: bool = False


NOTHING = Work("")


def unpublished(git: Git, session: str, since: int) -> Work:
    """Whether git is in the midst of something, or commits of a session are on no remote. Its work
    is at its newest commit since a moment; without one, at what is checked out, if that is all."""
    code, out, _ = git.ask("rev-parse", "--absolute-git-dir", "--verify", "HEAD")
    lines = out.decode(errors="surrogateescape").split("\n")
    if code or len(lines) < 2:
        return NOTHING
    folder, head = Path(lines[0]), lines[1]
    for file, verb in SEQUENCES.items():
        if (folder / file).exists():
            return Work("", f"git is in the midst of a {verb}", f"git {verb} --continue ends it")
    mine = f"--grep=^Atlas-Session: {session}$"
    _, out, _ = git.ask("rev-list", "-1", mine, f"--since={since}", "HEAD", "--")
    loose = git.ask("diff-index", "--quiet", "HEAD", "--")[0] == 1
    work = Work(out.decode().strip() or ("" if loose else head), loose=loose)
    if not git.ask("remote")[1].strip():
        return work
    code, out, _ = git.ask("rev-list", "--count", mine, "HEAD", "--not", "--remotes")
    count = 0 if code else int(out)
    if not count:
        return work
    several = f"{count} commits of yours are" if count > 1 else "a commit of yours is"
    problem, hint = f"{several} on no remote", "git push publishes what the task came to"
    return work._replace(problem=problem, hint=hint)


def is_here(git: Git, commit: str) -> bool:
    """Whether a commit is in this clone."""
    return not git.ask("cat-file", "-e", f"{commit}^{{commit}}")[0]


def left_changed(git: Git, resources: Iterable[str]) -> list[str]:
    """A line for the leases that are given back while files on their paths are changed, and not
    committed; none if there are none."""
    changed = [name for name in resources if _changed(git, name)]
    if not changed:
        return []
    return [f"given back with changes not committed: {', '.join(map(named, changed))}: git status"]


_MAGIC = {"path": "literal", "glob": "glob"}  # how git is to take the name of a resource


def _changed(git: Git, resource: str) -> bool:
    kind, _, path = resource.partition(":")
    if kind not in _MAGIC:
        return False
    code, out, _ = git.ask("status", "--porcelain", "-z", "--", f":(top,{_MAGIC[kind]}){path}")
    return not code and bool(out)

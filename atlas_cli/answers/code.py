"""The user's own code: what of it nobody else has yet."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ..store.git import Git

SEQUENCES = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "MERGE_HEAD": "merge",
}


class Work(NamedTuple):
    """The state of the code: the commit that is checked out, and what keeps others from it, with
    the command that mends that (both empty: nothing)."""

    head: str
    problem: str = ""
    hint: str = ""


NOTHING = Work("")


def unpublished(git: Git, session: str) -> Work:
    """Whether git is in the midst of something, or commits of a session are on no remote."""
    code, out, _ = git.ask("rev-parse", "--absolute-git-dir", "--verify", "HEAD")
    lines = out.decode(errors="surrogateescape").split("\n")
    if code or len(lines) < 2:
        return NOTHING
    folder, head = Path(lines[0]), lines[1]
    for file, verb in SEQUENCES.items():
        if (folder / file).exists():
            return Work(head, f"git is in the midst of a {verb}", f"git {verb} --continue ends it")
    if not git.ask("remote")[1].strip():
        return Work(head)
    mine = f"--grep=^Atlas-Session: {session}$"
    code, out, _ = git.ask("rev-list", "--count", mine, "HEAD", "--not", "--remotes")
    count = 0 if code else int(out)
    if not count:
        return Work(head)
    several = f"{count} commits of yours are" if count > 1 else "a commit of yours is"
    return Work(head, f"{several} on no remote", "git push publishes what the task came to")

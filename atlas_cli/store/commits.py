"""The user's own history, read through GitPython: who committed on these paths lately, on any branch."""

from __future__ import annotations

import os
import re
from typing import Any

from ..records.times import rfc3339
from .git import LOCAL


def recent(directory: str, paths: list[str], since: int, limit: int) -> list[dict[str, Any]]:
    """Commits after a moment that touch `paths` (literal, from the root), newest first: commit, author, at
    (seconds), subject, session (of its `Atlas-Session` trailer, or None) and paths."""
    for key in LOCAL:
        os.environ.pop(key, None)  # a hook's variables would point git at another index or repository
    os.environ["GIT_LITERAL_PATHSPECS"] = "1"
    import git

    try:
        repo = git.Repo(directory)
        commits = list(repo.iter_commits(all=True, since=rfc3339(since), paths=paths, max_count=limit))
    except (git.GitError, ValueError):
        return []  # no commit yet
    found = []
    for commit in commits:
        message = commit.message if isinstance(commit.message, str) else commit.message.decode(errors="replace")
        session = re.search(r"^Atlas-Session: (\S+)", message, re.MULTILINE)
        found.append({
            "commit": commit.hexsha, "author": str(commit.author.name), "at": int(commit.committed_date),
            "subject": message.split("\n")[0], "session": session[1] if session else None,
        })  # fmt: skip
    repo.close()
    return found

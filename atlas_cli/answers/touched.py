"""The paths that a session has to do with."""

from __future__ import annotations

from ..model import times
from ..model.text import Record
from ..store.git import Git
from . import concern, leases
from .ask import Questions

PATHS = ("path:", "glob:", "repo:")


def named(ask: Questions, me: Record) -> set[str]:
    """The resources that a session named and leased, and the paths of its claims, as `path:…` or
    `glob:…`."""
    paths = {f"path:{path}" for path in me.get("paths", ())}
    paths |= {row["resource"] for row in leases.held(ask, me["id"])}
    paths |= {f"path:{path}" for path in concern.places(ask, me)}
    return {path for path in paths if path.startswith(PATHS)}


def by(ask: Questions, git: Git, me: Record) -> set[str]:
    """The resources that a session named and leased, the paths of its claims, and the files that
    its commits touched, as `path:…` or `glob:…`."""
    from ..checks import commits

    paths = named(ask, me)
    since = times.moment(me["began"])
    for code in commits.read(
        git, "--all", f"--since={since}", "--no-merges", f"--grep=Atlas-Session: {me['id']}"
    ):
        if me["id"] in code.sessions:
            paths |= {f"path:{path}" for path in code.paths}
    return paths

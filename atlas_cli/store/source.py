"""The history of a store that may lie here or elsewhere: in this clone, in what it has fetched, or
on its remote."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ..errors import Failed, NotFound
from ..model.tree import object_id
from . import BRANCH, transports
from .git import Git, environment, inherited, last_line
from .repo import Repo
from .root import root_commit

OWN = "this clone's store"


class Source(NamedTuple):
    """A store's history up to a commit, and where it was found."""

    git: Git
    head: str
    where: str


@contextmanager
def source(repo: Repo, git: Git) -> Iterator[Source]:
    """The store of this clone, else one that it has fetched, else the one that its remote has. That
    one is fetched into a folder that is gone afterwards.

    Raises NotFound if there is none."""
    own = Git(str(repo.home / "store.git"))
    if (repo.home / "store.git").is_dir() and (branch := own.object(BRANCH)):
        yield Source(own, branch[0], OWN)
        return
    root = object_id("commit", root_commit(repo.width), repo.width)
    out = git.run(
        "for-each-ref", "--format=%(objectname) %(refname)", BRANCH, "refs/remotes/*/atlas"
    ).decode()
    for line in sorted(out.splitlines(), key=lambda line: ("/origin/" not in line, line)):
        oid, _, ref = line.partition(" ")
        if git.ask("merge-base", "--is-ancestor", root, oid)[0] == 0:
            yield Source(Git(str(repo.common)), oid, ref)
            return
    with tempfile.TemporaryDirectory(prefix="atlas-") as folder:
        yield _fetched(repo, git, folder)


def _fetched(repo: Repo, git: Git, folder: str) -> Source:
    """The remote's branch, its objects in `folder`. Nothing is written into the user's
    repository."""
    net, remotes = inherited(), git.run("remote").decode().split()
    remote = "origin" if "origin" in remotes else next(iter(remotes), "")
    if not remote:
        raise _no_store("in this clone, and it has no remote")
    # (In a CI its own checkout has put the configuration there.)
    named = [] if os.environ.get("CI") else transports.programs(git, repo.common, remote)
    if named and not transports.used(repo.common, named):
        raise Failed(
            f"{remote} is reached by a program that this repository's own configuration names "
            f"({named[0][0]}), which a read does not run",
            "atlas init runs it, if you trust this repository",
            code="configuration",
        )
    online = Git(git.directory, git.cwd, hermetic=False)
    online.env = environment(hermetic=False, online=True)
    code, out, _ = online.ask("ls-remote", "--end-of-options", remote, BRANCH, extra=net)
    if code or not out:
        raise _no_store(f"in this clone or on {remote}")
    objects = str(repo.common / "objects").replace("\\", "\\\\").replace('"', '\\"')
    beside = {"GIT_OBJECT_DIRECTORY": folder, "GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{objects}"'}
    code, _, err = online.ask(
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        "--refmap=",
        "--no-recurse-submodules",
        "--no-filter",
        "--no-auto-maintenance",
        "--end-of-options",
        remote,
        BRANCH,
        extra=net | beside,
        timeout=300,
    )
    if code:
        raise Failed(f"the store on {remote} could not be fetched: {last_line(err)}", retry="later")
    store = Git(str(repo.common))
    store.env |= beside
    return Source(store, out.decode().split()[0], f"the store on {remote}")


def _no_store(where: str) -> NotFound:
    return NotFound(f"there is no Atlas store {where}", "atlas init makes one", code="no_store")

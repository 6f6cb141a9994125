"""The facts that git's hooks judge by: about the commit that is being made, and about the commits
that are pushed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..answers import words
from ..answers.ask import Questions
from ..checks import commits, trailers
from ..checks.commit import CodeCommit
from ..env.env import Env
from ..errors import Failed
from ..model import names
from ..model.text import Record
from ..outcome import Frame
from ..records import lease, policy, resources, status
from ..store.git import Git
from ..store.snapshot import Snapshot
from ..store.store import Store
from . import quick
from .cache import HookCache
from .draw import draw, glimpsed, keep

if TYPE_CHECKING:
    from ..checks.links import Broken

OURS = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")  # what git tells its hook of the commit
GAINED = 1000  # commits that a push is judged by, the newest first


def of(env: Env) -> Facts:
    """The questions of this call's git hook; they are answered once for a call."""
    if "hook" not in env.beside:
        env.beside["hook"] = Facts(env.ask, env.snapshot, env.store)
    hook: Facts = env.beside["hook"]
    return hook


def printed(env: Env) -> tuple[Frame, ...]:
    """The texts of others that this call's hook prints and has not stopped for."""
    return tuple(env.beside["hook"].printed) if "hook" in env.beside else ()


class Facts:
    """One call of a git hook, and what it asks of the commit, of the push and of the store."""

    def __init__(self, ask: Questions, tree: Snapshot, store: Store) -> None:
        self.ask, self.tree, self.store = ask, tree, store
        self.printed: list[Frame] = []

    @cached_property
    def here(self) -> quick.Here:
        """The repository that the hook is run for."""
        code, out = quick.ask("rev-parse", "--absolute-git-dir")
        if code:
            raise Failed("git does not say which repository the hook is run for")
        return quick.Here(os.fsdecode(out.rstrip(b"\n")))

    @cached_property
    def git(self) -> Git:
        """The user's repository, and the index that the hook was started with."""
        git = Git(None, hermetic=False)
        git.env |= {key: os.environ[key] for key in OURS if key in os.environ}
        return git

    @cached_property
    def cache(self) -> HookCache:
        """Drawn anew, and kept for the next hook."""
        text = draw(self.ask, self.tree, self.tree.head or "", self.store.machine)
        keep(self.store.home, text)
        return HookCache(text)

    def changed(self) -> list[tuple[str, str]]:
        """(A, M, D or T, path) of what the commit itself changes. Of a merge, these are the paths
        that are as in none of its parents."""
        changes = quick.staged()
        for parent in self._merged():
            other = {path for _, path in quick.staged(parent) or ()}
            changes = [(how, path) for how, path in changes or () if path in other]
        if changes is None:
            raise Failed("git does not say what is being committed")
        return changes

    def _merged(self) -> list[str]:
        """The other parents of a merge. While git runs pre-merge-commit, only its environment names
        them."""
        if self.here.has("MERGE_HEAD"):
            return Path(self.here.git, "MERGE_HEAD").read_text().split()
        return [key.removeprefix("GITHEAD_") for key in os.environ if key.startswith("GITHEAD_")]

    def broken(self) -> tuple[list[Broken], dict[str, str | None]]:
        """(the links that the commit breaks, what it moves). A merge breaks none: its sides have
        answered for theirs."""
        from ..checks import links, renames

        if self._merged() or quick.ask("rev-parse", "--verify", "-q", "HEAD")[0]:
            return [], {}
        before, after, moved = renames.between(self.git, "HEAD", None)
        return (links.broken(before, after, moved) if moved else []), moved

    def streams(self, paths: Iterable[str]) -> list[str]:
        """The streams of the status that changes of these paths have to do with."""
        return policy.streams_of(self.ask.policy, paths)

    def barred(self, me: Record | None, paths: list[str]) -> dict[str, list[str]]:
        """The leases of others that lie on these paths: by resource, the paths."""
        mine = {me["id"], *me.get("lineage", ())} if me else set()
        barred: dict[str, list[str]] = {}
        for resource, path in self.cache.near(paths, mine):
            if names.overlap(resource, f"path:{path}"):
                barred.setdefault(self._leased_as(resource, mine), []).append(path)
        return barred

    def swept(self, me: Record, paths: list[str]) -> dict[str, list[str]]:
        """The paths that others at work in this worktree have named: by session."""
        known = self.cache.sessions.get(me["id"])
        return self.cache.swept(known, paths) if known else {}

    def _leased_as(self, place: str, mine: set[str]) -> str:
        """The name under which others hold a place: its own, or one that means it by the policy."""
        policy, now = self.ask.policy, self.ask.now
        for _, row in self.ask.index.live(lease.FOLDER, now):
            others = lease.holds(row, now) and row["holder"] not in mine
            if others and place in resources.parts(policy, row["resource"]):
                return str(row["resource"])
        return place

    def sign(self, file: str, me: Record, streams: list[str], typed: bool) -> None:
        """Adds a session's trailers to a commit message. `typed`: it was typed into an editor."""
        entries, seen = {}, {}
        for stream in streams:
            entries[stream] = (status.newest(self.tree, stream), "")
            if entry := glimpsed(self.ask.local, self.tree, me["id"], stream):
                seen[stream] = entry
        reads = quick.read_trailers(entries, seen)
        word = words.newest(self.ask, me)
        quick.sign(file, me["id"], word, reads, quick.comment(file, typed))

    def template(self, file: str) -> None:
        """Remembers a template as it is put before the user: git gives up on one that comes back
        untouched."""
        shutil.copyfile(file, f"{self.here.git}/{quick.TEMPLATE}")

    def untouched(self, file: str) -> bool:
        """Whether a message is no more than the template that was put before the user."""
        template, comment = Path(self.here.git, quick.TEMPLATE), quick.comment(file, True)
        if not template.exists():
            return False
        first = template.read_bytes()
        template.unlink()
        return trailers.text(first, comment) == trailers.text(Path(file).read_bytes(), comment)

    def guarded(self, remote: str) -> list[str] | None:
        """The branches of integration on a remote, by names and patterns. None if every branch is
        one, since the remote has none yet."""
        names = list(self.ask.policy["integration"]) or quick.default(self.here, remote)
        if names:
            return names
        if (
            self._has_url(remote)
            and not quick.ask("for-each-ref", "--count=1", f"refs/remotes/{remote}/")[1]
        ):
            return None
        return ["main", "master"]

    def gained(
        self, remote: str, branch: str, local: str, remote_end: str, others: Iterable[str]
    ) -> list[CodeCommit]:
        """The commits, without merges, that a branch of a remote gains by a push, the newest first.
        `remote_end` is the commit that it is at there. A new one gains what the `others`, which are
        branches of integration, do not have."""
        name = remote if self._has_url(remote) else "*"
        if remote_end.strip("0") and self.has(remote_end):
            known = [remote_end]
        else:
            patterns = [f"refs/remotes/{name}/{other}" for other in (branch, *others)]
            out = quick.ask("for-each-ref", "--format=%(objectname)", *patterns)[1]
            known = out.decode().split()
        return commits.read(self.git, "--no-merges", f"-n{GAINED}", local, "--not", *known)

    @staticmethod
    def has(oid: str) -> bool:
        """Whether a commit is in this clone."""
        return not quick.ask("cat-file", "-e", f"{oid}^{{commit}}")[0]

    @staticmethod
    def _has_url(remote: str) -> bool:
        """Whether a remote is one of the configured ones, and not an address."""
        return not quick.ask("config", "--get", f"remote.{remote}.url")[0]

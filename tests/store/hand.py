"""Commits made by hand with plumbing, past the tool: honest ones, and every kind that `verify` must
name."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from atlas_cli.model import times
from atlas_cli.model.message import Message
from atlas_cli.records import judging, lease, policy

BRANCH = "refs/heads/atlas"


class Seen(NamedTuple):
    """What a store held when it was written: the sessions, by name, and the head."""

    sessions: dict[str, str]
    head: str


class Hand:
    """Git in a store's own repository, as somebody would use it who knows nothing of Atlas."""

    def __init__(self, repo: Path, env: Mapping[str, str]) -> None:
        self.repo, self.store = repo, repo / ".git/atlas/store.git"
        who = {
            f"GIT_{role}_{part}": "hand"
            for role in ("AUTHOR", "COMMITTER")
            for part in ("NAME", "EMAIL")
        }
        self.env = {
            **env,
            **who,
            "GIT_DIR": str(self.store),
            "GIT_INDEX_FILE": str(self.store / "hand-index"),
        }

    def git(self, *args: str, data: bytes = b"") -> str:
        done = subprocess.run(
            ["git", *args],
            env=self.env,
            input=data,
            capture_output=True,
            check=False,
            cwd=self.repo,
        )
        assert done.returncode == 0, (args, done.stderr)
        return done.stdout.decode().strip()

    def head(self) -> str:
        return self.git("rev-parse", BRANCH)

    def read(self, path: str, at: str = BRANCH) -> bytes:
        return subprocess.run(
            ["git", "cat-file", "blob", f"{at}:{path}"],
            env=self.env,
            capture_output=True,
            check=True,
        ).stdout

    def blob(self, path: str, at: str) -> str | None:
        words = self.git("ls-tree", at, "--", path).split()
        return words[2] if words else None

    def put(self, data: bytes) -> str:
        return self.git("hash-object", "-w", "--stdin", data=data)

    def tree(self, files: Mapping[str, bytes | None], modes: Mapping[str, str], parent: str) -> str:
        """The parent's tree with these files in it; None takes one away. A gitlink's bytes are its
        commit's id."""
        self.git("read-tree", parent)
        lines = []
        for path, data in files.items():
            mode = "0" if data is None else modes.get(path, "100644")
            oid = (
                "0" * 40 if data is None else data.decode() if mode == "160000" else self.put(data)
            )
            lines.append(f"{mode} {oid}\t{path}\n")
        self.git("update-index", "--index-info", data="".join(lines).encode())
        return self.git("write-tree")

    def commit(
        self,
        files: Mapping[str, bytes | None],
        message: str = "by hand",
        *,
        modes: Mapping[str, str] | None = None,
        parents: Sequence[str] | None = None,
    ) -> str:
        """A commit with these files, and the branch moved to it."""
        old = self.head()
        above = list(parents) if parents is not None else [old]
        tree = self.tree(files, modes or {}, above[0])
        links = [word for parent in above for word in ("-p", parent)]
        oid = self.git("commit-tree", tree, *links, data=message.encode())
        self.git("update-ref", BRANCH, oid, old)
        return oid

    def signed(
        self,
        files: Mapping[str, bytes | None],
        session: str,
        at: int,
        *,
        operation: str | None = None,
        change: str | None = None,
        migrates: str | None = None,
        epoch: str | None = None,
    ) -> str:
        """A commit with the trailers that the tool would give it; `change` in place of the right
        digest."""
        head = self.head()
        store = str(policy.parse("atlas.yaml", self.read("atlas.yaml"))["store"])
        message = Message("status: forged", operation or os.urandom(16).hex(), session, at)
        message = message._replace(migrates=migrates, epoch=epoch)
        message = message._replace(wish=judging.wish(store, message, files))
        digest = judging.digest(
            store,
            message,
            [
                (path, self.blob(path, head), None if data is None else self.put(data))
                for path, data in files.items()
            ],
        )
        return self.commit(files, message._replace(change=change or digest).text())


def entry(
    number: int, session: str, at: int, body: str = "by hand\n", stream: str = "main"
) -> bytes:
    """A status entry as a person would type it: plain YAML, not the tool's canonical form."""
    return (
        f"---\nstream: {stream}\nnumber:   {number}\nsession: {session}\nactor: someone  # a comment\n"
        f"at: {times.rfc3339(at)}\n---\n{body}"
    ).encode()


def row(resource: str) -> str:
    """Where the row of a lease lies."""
    return lease.path_of(resource)


def edited(data: bytes, old: str, new: str) -> bytes:
    """A record's bytes with one text put for another; the old one must be there."""
    assert old.encode() in data, (old, data)
    return data.replace(old.encode(), new.encode())

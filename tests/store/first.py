"""Stores of the first format: the history of one of now, written anew as an Atlas of then left it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from atlas_cli import records
from atlas_cli.model import message
from atlas_cli.records import judging, policy
from atlas_cli.store import history
from atlas_cli.store.git import Git
from atlas_cli.store.root import root_id
from atlas_cli.store.snapshot import Snapshot

BRANCH = "refs/heads/atlas"


def goes_back(store: Path) -> str:
    """Writes the branch of a repository anew in the first format, without what went over to the
    next. Its new head. (The same history gives the same commits.)"""
    git, lines, mark = Git(str(store)), [b"feature done\n"], root_id(40)
    files: dict[str, bytes] = {}
    named = ""
    for commit in list(history.between(git, root_id(40), BRANCH)):
        if commit.message.migrates:
            continue
        tree = Snapshot(git, commit.oid, 40)
        changes = []
        for path, _, new in commit.changes:
            place, old = records.first_place(path) or path, files.get(path)
            data = tree.read(path) if new else None
            if path == policy.FOLDER and data:
                data = data.replace(b"format: 2\n", b"format: 1\n").replace(b"needs: []\n", b"")
            files.pop(path, None)
            if data is not None:
                files[path] = data
            changes.append((place, *(text and _blob(text) for text in (old, data))))
        lines.append(_commit(git, commit, named, mark, changes, files))
        named = str(policy.parse(policy.FOLDER, files[policy.FOLDER])["store"])
        mark = ""
    subprocess.run(
        ["git", "-C", str(store), "fast-import", "--quiet", "--force"],
        input=b"".join(lines) + b"done\n",
        check=True,
    )
    return git.run("rev-parse", BRANCH).decode().strip()


def _blob(data: bytes) -> str:
    from atlas_cli.model.tree import blob_id

    return blob_id(data)


def _commit(
    git: Git,
    commit: history.Commit,
    store: str,
    above: str,
    changes: list[message.FileChange],
    files: dict[str, bytes],
) -> bytes:
    """One commit for `git fast-import`: who and when stay, the digest is that of its changes."""
    said = commit.message
    raw = git.run("cat-file", "commit", commit.oid).decode()
    digest = judging.digest(store, said, changes)
    text = raw.partition("\n\n")[2].replace(said.change or "\0", digest).encode()
    who = [line for line in raw.split("\n") if line.startswith(("author ", "committer "))]
    parts = [f"commit {BRANCH}\n", *(f"{line}\n" for line in who[:2])]
    out = "".join(parts).encode() + b"data %d\n%s\n" % (len(text), text)
    out += f"from {above}\n".encode() if above else b""
    out += b"deleteall\n"
    for path, data in files.items():
        out += b'M 100644 inline "%s"\n' % (records.first_place(path) or path).encode()
        out += b"data %d\n%s\n" % (len(data), data)
    return out

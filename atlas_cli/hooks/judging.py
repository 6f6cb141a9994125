"""What git's hooks ask, answered in full: the picture drawn anew, the commit being made, what is to
be pushed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..answers.ask import Questions
from ..checks import commits
from ..checks.commit import Code
from ..env.env import Env
from ..errors import Damaged, Failed
from ..model import names, times
from ..model.text import Record
from ..model.tree import Tree
from ..records import lease, policy, session, status
from ..store import files
from ..store.git import Git
from ..store.notebook import Notebook
from . import cache, quick, trailers
from .cache import Picture, line

if TYPE_CHECKING:
    from ..checks.links import Broken

NEVER = 30 * 86400  # seconds that a picture holds in which nothing changes by time
TEMPLATE = "ATLAS_TEMPLATE"  # in the git directory, while an editor is open
OURS = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")  # what git tells its hook of the commit
UNPUSHED = 1000  # commits that a push is judged by, the newest first


def draw(ask: Questions, tree: Tree, head: str) -> str:
    """The picture's text, as of a head and a moment."""
    rules, now = ask.rules, ask.now
    streams = {
        one: _entry(tree, one, status.newest(tree, one))
        for one in dict.fromkeys(["main", *rules["streams"]])
    }
    levels = {key: policy.level(rules, key) for key in policy.KEYS["preconditions"][0]}
    lines = [line("level", key, level) for key, level in levels.items()]
    lines += [line("integration", branch) for branch in rules["integration"]]
    lines += [line("stream", one, *entry) for one, entry in streams.items()]
    ends = [now + NEVER]
    leaning = {one[0] for one in ask.index.leaning()}
    here = {row["id"]: row for _, row in ask.index.live(session.FOLDER, now)}
    alive = {
        id: over for id, row in here.items() if (over := ask.over(row, ask.pulse(row)[0])) > now
    }
    for id, over in alive.items():
        row = here[id]
        ends.append(over)
        leans = "retracted" if id in leaning else "-"
        kind = row.get("class", "work")
        kind = kind if kind in ("run", session.PERSON) else "child" if "parent" in row else "work"
        lines.append(
            line(
                "session",
                id,
                kind,
                row.get("worktree", ""),
                over,
                " ".join(row.get("lineage", ())),
                leans,
            )
        )
        seen = {one: glimpsed(ask.local, tree, id, one) for one in streams}
        lines += [line("seen", id, one, *entry) for one, entry in seen.items() if entry]
    lines += [line("begun", *one) for one in ask.local.everyone() if one[2] in alive]
    for _, row in ask.index.live(lease.FOLDER, now):
        if row["resource"].startswith(("path:", "glob:", "repo:")):
            ends.append(lease.first(row) if lease.first(row) > now else lease.until(row) or 0)
            lines += (
                [line("lease", row["resource"], row["holder"], lease.until(row))]
                if lease.holds(row, now)
                else []
            )
    return "\n".join([cache.FORMAT, line("head", head, now, min(ends)), *lines, "end"])


def keep(home: Path, text: str) -> None:
    """Puts a picture in place, whole or not at all; where nothing can be written the hooks look for
    themselves."""
    with suppress(OSError):
        files.put(home / cache.FILE, text.encode(errors="surrogatepass"))


def keep_up(env: Env) -> None:
    """Draws the picture anew from which the hooks answer."""
    keep(env.store.home, draw(env.ask, env.snapshot, env.snapshot.head or ""))


def of(env: Env) -> Hook:
    """What a git hook asks of the commit and of the store, once for a call."""
    if "hook" not in env.beside:
        env.beside["hook"] = Hook(env.ask, env.snapshot, env.snapshot.head or "", env.store.home)
    found: Hook = env.beside["hook"]
    return found


def _entry(tree: Tree, stream: str, number: int) -> tuple[int, str]:
    return number, (tree.blob(status.place(stream, number)) or "") if number else ""


def glimpsed(local: Notebook, tree: Tree, id: str, stream: str) -> tuple[int, str] | None:
    """(number, blob) of the newest entry that a session has read, or that a hook has printed for
    it, and that is still there as it was."""
    both = sorted(
        {*local.seen(id, "status", stream), *local.seen(id, "glance", stream)}, reverse=True
    )
    return next((one for one in both if tree.blob(status.place(stream, one[0])) == one[1]), None)


class Hook:
    """One call of a hook."""

    def __init__(self, ask: Questions, tree: Tree, head: str, home: Path) -> None:
        self.ask, self.tree, self.head, self.home = ask, tree, head, home

    @cached_property
    def here(self) -> quick.Here:
        code, out = quick.ask("rev-parse", "--absolute-git-dir")
        if code:
            raise Failed("git does not say which repository the hook is run for")
        return quick.Here(os.fsdecode(out.rstrip(b"\n")))

    @cached_property
    def git(self) -> Git:
        """The user's repository, and the index that the hook was started with."""
        found = Git(None, hermetic=False)
        found.env |= {key: os.environ[key] for key in OURS if key in os.environ}
        return found

    @cached_property
    def picture(self) -> Picture:
        """Drawn anew, and kept for the next hook."""
        text = draw(self.ask, self.tree, self.head)
        keep(self.home, text)
        return Picture(text)

    def changed(self) -> list[tuple[str, str]]:
        """(A, M, D or T, path) of what the commit itself changes; a merge only what is as in none
        of its parents."""
        found = quick.staged()
        for parent in self._merged():
            other = {path for _, path in quick.staged(parent) or ()}
            found = [one for one in found or () if one[1] in other]
        if found is None:
            raise Failed("git does not say what is being committed")
        return found

    def _merged(self) -> list[str]:
        """The other parents of a merge. While git runs pre-merge-commit, only its environment names
        them."""
        if self.here.has("MERGE_HEAD"):
            return Path(self.here.git, "MERGE_HEAD").read_text().split()
        return [key.removeprefix("GITHEAD_") for key in os.environ if key.startswith("GITHEAD_")]

    def broken(self) -> list[Broken]:
        """The links that the commit breaks. A merge breaks none: its sides have answered for
        theirs."""
        from ..checks import links, renames

        if self._merged() or quick.ask("rev-parse", "--verify", "-q", "HEAD")[0]:
            return []
        before, after, moved = renames.between(self.git, "HEAD", None)
        return links.broken(before, after, moved) if moved else []

    def streams(self, paths: Iterable[str]) -> list[str]:
        return policy.streams_of(self.ask.rules, paths)

    def missed(self, me: Record, stream: str) -> range:
        """The numbers of the entries that a session has not seen; empty while it has seen the
        current one."""
        last = status.newest(self.tree, stream)
        seen = glimpsed(self.ask.local, self.tree, me["id"], stream)
        return range(seen[0] + 1 if seen else last, last + 1) if last else range(0)

    def barred(self, me: Record | None, paths: list[str]) -> dict[str, list[str]]:
        """The leases of others that lie on these paths: resource and the paths."""
        mine = {me["id"], *me.get("lineage", ())} if me else set()
        found: dict[str, list[str]] = {}
        for resource, path in self.picture.near(paths, mine):
            if names.overlap(resource, f"path:{path}"):
                found.setdefault(resource, []).append(path)
        return found

    def settle(self) -> None:
        """Read first was judged in this sequence."""
        quick.judged(self.here)

    def sign(self, file: str, me: Record, streams: list[str], typed: bool) -> None:
        """Adds a session's trailers to a commit message, which may have been `typed` into an
        editor."""
        seen = {
            one: found
            for one in streams
            if (found := glimpsed(self.ask.local, self.tree, me["id"], one))
        }
        entries = {one: (status.newest(self.tree, one), "") for one in streams}
        quick.sign(file, me["id"], quick.read_trailers(entries, seen), self._comment(file, typed))

    def template(self, file: str) -> None:
        """Remembers a template as it is put before the user: git gives up on one that comes back
        untouched."""
        shutil.copyfile(file, f"{self.here.git}/{TEMPLATE}")

    def untouched(self, file: str) -> bool:
        """Whether a message is no more than the template that was put before the user."""
        kept, comment = Path(self.here.git, TEMPLATE), self._comment(file, True)
        if not kept.exists():
            return False
        first = kept.read_bytes()
        kept.unlink()
        return trailers.text(first, comment) == trailers.text(Path(file).read_bytes(), comment)

    @staticmethod
    def _comment(file: str, typed: bool) -> bytes | None:
        """What the comments of a message begin with; None where no editor is opened and there are
        none."""
        if os.environ.get("GIT_EDITOR") == ":" and not typed:
            return None
        said = [
            quick.ask("config", "--get", f"core.comment{end}")[1].rstrip(b"\n")
            for end in ("String", "Char")
        ]
        found = next((one for one in said if one), b"#")
        if found != b"auto":
            return found
        last = [line for line in Path(file).read_bytes().split(b"\n") if line.strip()][-1:]
        return last[0][:1] if last and last[0][:1] in b"#;@!$%^&|:" else b"#"

    def guarded(self, remote: str) -> list[str] | None:
        """The branches of integration on a remote; None where every branch is one, since it has
        none yet."""
        found = list(self.ask.rules["integration"]) or quick.default(self.here, remote)
        known = not quick.ask("config", "--get", f"remote.{remote}.url")[0]
        empty = known and not quick.ask("for-each-ref", "--count=1", f"refs/remotes/{remote}/")[1]
        return found or (None if empty else ["main", "master"])

    def unpushed(self, local: str, there: str, remote: str) -> list[Code]:
        """The commits that a push brings to a remote, the newest first, without merges."""
        known = not quick.ask("config", "--get", f"remote.{remote}.url")[0]
        but = [f"--remotes={remote}" if known else "--remotes"]
        but += (
            [there]
            if there.strip("0") and not quick.ask("cat-file", "-e", f"{there}^{{commit}}")[0]
            else []
        )
        return commits.read(self.git, "--no-merges", f"-n{UNPUSHED}", local, "--not", *but)

    @staticmethod
    def made_by(code: Code) -> tuple[str, dict[str, int]]:
        """The session that made a commit (empty where it does not say), and what it had read by
        then."""
        return next(
            (
                (id, {read.stream: read.number for read in reads})
                for id, reads in reversed(code.sessions.items())
            ),
            ("", {}),
        )

    def told(self, code: Code, me: str | None) -> bool:
        """Whether the status tells of a commit: an entry by its session, or by the one that pushes,
        later than what the commit was made on; one that only says `unchanged` counts while it is
        the current one."""
        owner, read = self.made_by(code)
        read = read or dict.fromkeys(self.picture.streams, -1)
        return any(
            self._written(stream, number, code.at, (owner, me)) for stream, number in read.items()
        )

    def _written(self, stream: str, after: int, made: int, by: tuple[str | None, ...]) -> bool:
        last = status.newest(self.tree, stream)
        for number in range(last, max(after, 0), -1):
            try:
                entry = status.get(self.tree, stream, number)
            except Damaged:
                continue
            if after < 0 and times.moment(entry["at"]) < made:
                return False
            if entry["session"] in by and ("unchanged" not in entry or number == last):
                return True
        return False

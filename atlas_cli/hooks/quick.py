"""The quick answer of a git hook: from files alone, the hook's own cache first of all.

It imports next to nothing, and it only ever passes: what is not certain is left to the full
program."""

from __future__ import annotations

import os
import time
from os.path import exists, isdir, isfile, join

from .. import callers, signs
from . import NOTICES, cache

TEMPLATE = "ATLAS_TEMPLATE"  # in the git directory, while an editor is open
OLD = 600  # seconds after which a copy of the remote is old
SHOWN = 3600  # seconds after which the whole program shows others that a session is at work
_REBASES = ("rebase-merge", "rebase-apply")  # folders that git keeps of a rebase or an am
_HALTS = ("edit", "e", "break", "b", "exec", "x")  # steps of a rebase at which others commit
_DIFF = (
    "--cached",
    "--name-status",
    "-z",
    "--no-renames",
    "--no-relative",
    "--ignore-submodules=none",
    "--ita-invisible-in-index",
)
_EMPTY = {
    40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}


class Here:
    """The repository that a hook runs in. Raises OSError if its git directory cannot be found
    without git."""

    def __init__(self, git: str = "") -> None:
        git = git or os.environ.get("GIT_DIR") or ".git"
        if isfile(git):
            git = join(git.rpartition("/")[0], _line(git).removeprefix("gitdir: "))
        if not isdir(git):
            raise FileNotFoundError(git)
        shared = f"{git}/commondir"
        self.git = git
        self.common = join(git, _line(shared)) if exists(shared) else git
        self.home = f"{self.common}/atlas"
        self.worktree = os.fsencode(os.getcwd()).decode(errors="backslashreplace")

    def store(self) -> bool | None:
        """Whether there is a store. None if it may lie elsewhere."""
        if isdir(f"{self.home}/store.git"):
            return True
        state = os.environ.get("XDG_STATE_HOME") or join(
            os.environ.get("HOME", "/"), ".local/state"
        )
        return None if isdir(f"{state}/atlas") else False

    def on_store(self) -> bool:
        """Whether the store's own branch is checked out here: a commit on it is none of the code,
        whatever the branch is called. (Nothing is asked of git where nothing looks like it.)"""
        named = _line(f"{self.git}/HEAD").rpartition("/")[2] == "atlas"
        return (named or exists("atlas.yaml")) and of_store("HEAD")

    def has(self, name: str) -> bool:
        """Whether a file lies in the git directory."""
        return exists(f"{self.git}/{name}")

    def sequence(self) -> str:
        """The sequence that git is in the middle of, for which it does not run pre-commit: rebase
        (it goes on with a commit of its user's), picking (a rebase by itself), am, cherry-pick,
        revert, or nothing."""
        if self.has("rebase-apply"):
            return "am"
        if self.has("rebase-merge"):
            return "rebase" if self.has("REBASE_HEAD") or self._step() in _HALTS else "picking"
        if self.has("CHERRY_PICK_HEAD"):
            return "cherry-pick"
        alone = self.has("MERGE_MSG") and not (self.has("MERGE_HEAD") or self.has("SQUASH_MSG"))
        return "revert" if alone or self.has("REVERT_HEAD") or self._several() else ""

    def remaking(self) -> bool:
        """Whether git is in the middle of a rebase, an am, or several picks or reverts. A stop
        there leaves its user with two advices that contradict each other; and what is only made
        anew was judged as it was made, and will be at the push."""
        return any(map(self.has, _REBASES)) or self._several()

    def bypassed(self) -> bool:
        """Whether another program's pre-commit stands where git looks first for ours."""
        file = f"{self.common}/hooks/pre-commit"
        return isfile(file) and "atlas" not in _text(file) and not exists(f"{file}.legacy")

    def _several(self) -> bool:
        """Whether several picks or reverts are under way, as `git status` sees it: one is still to
        be done. The folder alone may be left from one that was given up."""
        todo = f"{self.git}/sequencer/todo"
        words = _text(todo).split(None, 1) if exists(todo) else []
        return words[:1] in (["pick"], ["p"], ["revert"])

    def made_here(self, source: str) -> bool:
        """Whether the commit is this caller's own. One that is picked is not, nor another's that a
        rebase rewrites."""
        if self.has("CHERRY_PICK_HEAD"):
            return False
        if not self.has("rebase-merge"):
            return True
        return source != "commit" and self._step() in _HALTS

    def _step(self) -> str:
        """The step that a rebase is at, in the word of its list."""
        done = f"{self.git}/rebase-merge/done"
        return _line(done, -1).partition(" ")[0] if exists(done) else ""


def quick(name: str, args: list[str], given: bytes) -> bool:
    """Whether all is well for certain, and everything is done. False leaves it to the full
    program."""
    here = Here()
    callers.share(here.common)
    stored = here.store()
    if not stored:
        return stored is False
    if name != "pre-push" and here.on_store():
        return True
    known = cache.current(here.home)
    # What waits in the outbox is taken in first.
    if known is None or exists(".atlas/outbox/waiting.bundle"):
        return False
    if name == "pre-push":
        return _no_integration(known, here, args, given)
    tool = bool(callers.tool())
    me = known.who(os.environ.get("ATLAS_SESSION"), here.worktree, callers.caller(hook=True), tool)
    if name in NOTICES:
        return me is None or known.heard(me)
    if me is None or (me.kind in ("work", "child") and time.time() - me.shown >= SHOWN):
        return False
    signs.note(here.home, me.id)
    if name == "commit-msg":
        return _typed(known, me, here, args[0])
    if name in ("pre-commit", "pre-merge-commit"):
        merges = name == "pre-merge-commit" or here.has("MERGE_HEAD")
        return _commit(known, me, here, merges) and (here.remaking() or _copy_is_new(here))
    if name != "prepare-commit-msg" or here.bypassed():
        return False
    return _message(known, me, here, args[0], (*args, "")[1])


def _commit(known: cache.HookCache, me: cache.Session, here: Here, merges: bool) -> bool:
    """Whether nothing stands against a commit for certain. One that `merges` is judged by all that
    it brings, which is more than is its own, and breaks no link of its own."""
    levels, heeds = known.levels, not here.remaking()
    asked = heeds and levels["read_first"] != "off"
    if asked and not known.heard(me):
        return False
    if me.leans and levels["retracted"] != "off":
        return False
    changes = staged()
    if changes is None or any(ours(path) for _, path in changes):
        return False
    if levels["links"] != "off" and not merges and any(how == "D" for how, _ in changes):
        return False
    paths = [path for _, path in changes]
    if asked and (known.meets(me, paths) or known.swept(me, paths)):
        return False
    heeds = heeds and levels["leases"] != "off"
    return not (heeds and known.near(paths, {me.id, *me.lineage}))


def _message(known: cache.HookCache, me: cache.Session, here: Here, file: str, source: str) -> bool:
    """Judges read first, since pre-commit may not have been run, but not in a sequence; and adds
    the trailers."""
    if not here.remaking() and not _read(known, me):
        return False
    if not here.made_here(source) or not source:  # (what is empty is signed once it was typed)
        return True
    if source == "template" or list(known.streams) != ["main"]:
        return False
    sign(file, me.id, me.word, read_trailers(known.streams, me.seen), comment(file, False))
    return True


def _typed(known: cache.HookCache, me: cache.Session, here: Here, file: str) -> bool:
    """Adds the trailers to a message that was typed into an editor. Any other one was signed
    before."""
    from ..checks import trailers

    with open(file, "rb") as message:
        if trailers.is_signed(message.read()):
            return True
    if not here.made_here("commit"):
        return True
    if here.has(TEMPLATE) or list(known.streams) != ["main"]:
        return False
    sign(file, me.id, me.word, read_trailers(known.streams, me.seen), comment(file, True))
    return True


def comment(file: str, typed: bool) -> bytes | None:
    """The text with which the comments of a message begin. None if no editor is opened: then there
    are none."""
    if os.environ.get("GIT_EDITOR") == ":" and not typed:
        return None
    settings = {}
    for row in ask("config", "--null", "--get-regexp", r"^core\.comment(char|string)$")[1].split(
        b"\0"
    ):
        key, _, value = row.partition(b"\n")
        settings[key] = value
    text = settings.get(b"core.commentstring") or settings.get(b"core.commentchar", b"")
    if text != b"auto":
        return text or b"#"
    with open(file, "rb") as message:
        lines = [line for line in message.read().split(b"\n") if line.strip()]
    first = lines[-1][:1] if lines else b""
    return first if first and first in b"#;@!$%^&|:" else b"#"


def _copy_is_new(here: Here) -> bool:
    """Whether the copy of the remote is new enough to judge by without saying its age."""
    try:
        with open(f"{here.home}/sync.json", encoding="utf-8") as file:
            text = file.read().partition('"fetched_at":')[2]
    except OSError:  # nothing was ever fetched
        return True
    at = text.replace("}", ",").partition(",")[0]
    return not at or time.time() - float(at) <= OLD


def _read(known: cache.HookCache, me: cache.Session) -> bool:
    """Whether nothing that no `--no-verify` skips stands against a commit for certain: nothing new
    concerns it, and no lease stops it."""
    asked, barred = known.levels["read_first"] != "off", known.levels["leases"] == "stop"
    if asked and not known.heard(me):
        return False
    if not ((asked and known.placed(me)) or (barred and known.leases)):
        return True
    changes = staged()
    paths = [path for _, path in changes or ()]
    if changes is None or (asked and known.meets(me, paths)):
        return False
    return not (barred and known.near(paths, {me.id, *me.lineage}))


def _no_integration(known: cache.HookCache, here: Here, args: list[str], given: bytes) -> bool:
    """Whether a push touches no branch of integration, and there is nothing to be asked of a
    remote."""
    if exists(f"{here.home}/sync.json") or not all(map(known.heard, known.sessions.values())):
        return False
    names = known.integration or default(here, args[0])
    pushed = [
        line.split(" ")[2]
        for line in given.decode(errors="replace").split("\n")
        if line.count(" ") == 3
    ]
    return bool(names) and not any(
        _may_be(ref.removeprefix("refs/heads/"), name) for ref in pushed for name in names
    )


def _may_be(branch: str, name: str) -> bool:
    """Whether a branch has a name, or begins as its pattern does."""
    fixed = min((name.partition(sign)[0] for sign in "*?["), key=len)
    return branch == name if fixed == name else branch.startswith(fixed)


def default(here: Here, remote: str) -> list[str]:
    """The default branch of a remote, as far as a file tells it. Else main and master if the remote
    has branches, and nothing if it has none."""
    folder = f"{here.common}/refs/remotes/{remote}"
    if isfile(f"{folder}/HEAD"):
        return [_line(f"{folder}/HEAD").removeprefix(f"ref: refs/remotes/{remote}/")]
    return ["main", "master"] if isdir(folder) and os.listdir(folder) else []


def of_store(commit: str) -> bool:
    """Whether a commit is one of the store's history, and of no code's."""
    if ask("cat-file", "-e", f"{commit}:atlas.yaml")[0]:
        return False
    from ..store.root import root_id

    roots = ask("rev-list", "--max-parents=0", commit, "--")[1].decode().split()
    return len(roots) == 1 and roots[0] == root_id(len(roots[0]))


def ours(path: str) -> bool:
    """Whether a path is in the view."""
    return path == ".atlas" or path.startswith(".atlas/")


def read_trailers(
    streams: dict[str, tuple[int, str]], seen: dict[str, tuple[int, str]]
) -> list[str]:
    """The trailers' words on what a session has read: `main@12~3f9c01ab77de`, or `main@0` while the
    stream is empty."""
    reads = []
    for stream, (current, _) in streams.items():
        number, blob = seen.get(stream) or (0, "")
        if number:
            reads.append(f"{stream}@{number}~{blob[:12]}")
        elif stream in seen or not current:
            reads.append(f"{stream}@0")
    return reads


def sign(file: str, session: str, word: str, reads: list[str], comment: bytes | None) -> None:
    """Adds the trailers to a commit message's file."""
    from ..checks import trailers

    with open(file, "rb") as old:
        message = old.read()
    if (new := trailers.signed(message, session, word, reads, comment)) != message:
        with open(file, "wb") as out:
            out.write(new)


def staged(against: str = "HEAD") -> list[tuple[str, str]] | None:
    """(A, M, D or T, path) of each path that the commit changes, by the index that git gave to its
    hook. None if git could not say."""
    code, out = ask("diff-index", *_DIFF, against, "--")
    if code and against == "HEAD" and ask("rev-parse", "--verify", "-q", "HEAD")[0]:
        form = ask("rev-parse", "--show-object-format")[1].strip()
        empty = _EMPTY[64 if form == b"sha256" else 40]  # it is the first commit
        code, out = ask("diff-index", *_DIFF, empty, "--")
    words = out.decode(errors="surrogateescape").split("\0")
    return None if code else list(zip(words[0:-1:2], words[1::2], strict=True))


def ask(*args: str) -> tuple[int, bytes]:
    """The exit code and the output of git, which looks at the repository and the index that the
    hook was started with."""
    out, into = os.pipe()
    null = (
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    )
    env = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_REPLACE_OBJECTS": "1"}
    child = os.posix_spawnp(
        "git", ["git", *args], env, file_actions=[*null, (os.POSIX_SPAWN_DUP2, into, 1)]
    )
    os.close(into)
    parts = []
    while part := os.read(out, 1 << 16):
        parts.append(part)
    os.close(out)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), b"".join(parts)


def _line(file: str, at: int = 0) -> str:
    """A line of a small file."""
    return _text(file).rstrip("\n").split("\n")[at]


def _text(file: str) -> str:
    with open(file, encoding="utf-8", errors="surrogateescape") as text:
        return text.read()

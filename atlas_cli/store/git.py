"""The one door to git. Plumbing only, bytes in and out, nothing inherited that could redirect a
call."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from .. import interrupts
from ..errors import Damaged, Failed
from .child import heard, stop
from .conversation import LARGE, Answer, Conversation, Ended

# `git rev-parse --local-env-vars`; a test holds this list against git's own answer.
_LOCAL = """
GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_CONFIG GIT_CONFIG_PARAMETERS GIT_CONFIG_COUNT
GIT_OBJECT_DIRECTORY GIT_DIR GIT_WORK_TREE GIT_IMPLICIT_WORK_TREE GIT_GRAFT_FILE GIT_INDEX_FILE
GIT_NO_REPLACE_OBJECTS GIT_REPLACE_REF_BASE
GIT_PREFIX GIT_SHALLOW_FILE GIT_COMMON_DIR GIT_INTERNAL_SUPER_PREFIX
"""
LOCAL = frozenset(_LOCAL.split())
_ALSO = ("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_EDITOR")
_FLAGS: tuple[str, ...] = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.ext.allow=never",
    "core.quotePath=false",
    "core.bigFileThreshold=16m",  # what is larger is not taken into memory
)
# For `git log`: what its user may have set, which would change its output.
AS_IS = (
    "log.showSignature=false",
    "log.follow=false",
    "log.mailmap=false",
    f"diff.orderFile={os.devnull}",
)
# Commands that give no file of a worktree to a filter. Any other call in a user's repository is
# shielded from the filters that this repository's own configuration names.
_UNFILTERED = {
    "cat-file",
    "config",
    "fetch",
    "for-each-ref",
    "grep",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "merge-base",
    "push",
    "remote",
    "rev-list",
    "rev-parse",
    "symbolic-ref",
    "version",
}
_NONE = {"clean": "", "smudge": "", "process": "", "required": "false"}
_FILTERS = r"^filter\..*\.(clean|smudge|process)$"
# What the store's git may wait for: a write of a few objects is milliseconds.
TIMEOUT = 60
LARGEST = 64 << 20  # bytes of an object that is read at all
SMALL = 65_536  # bytes of an object that is kept for the next question
MANY = 2_000  # objects that are kept


def environment(hermetic: bool = True, online: bool = False) -> dict[str, str]:
    """The environment of a call, without what would point git elsewhere, or let the user's settings
    change an answer.

    hermetic: without the user's and the system's configuration, too (the store's own calls).
    online: a call that is to reach a remote. In any other nothing that is missing is fetched in
    passing, as git would do in a partial clone, by whatever program its configuration names."""
    env = {
        key: value
        for key, value in os.environ.items()
        if key not in LOCAL
        and key not in _ALSO
        and not key.startswith(("GIT_TRACE", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"))
    }
    env |= {
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_GRAFT_FILE": os.devnull,
    }
    if hermetic:
        env |= {
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_DEFAULT_REF_FORMAT": "files",
        }
    if not online:
        env["GIT_ALLOW_PROTOCOL"] = "none"
    return env


def inherited() -> dict[str, str]:
    """The settings that a call over the network keeps of the environment besides: they carry
    credentials."""
    return {key: value for key, value in os.environ.items() if key.startswith("GIT_CONFIG_")}


class Silent(Failed):
    """A git gave no answer in time, and was stopped. begun: it had reported progress by then."""

    begun = False


Watch = Callable[[str], None]
_WATCH: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextmanager
def watched(watch: Watch | None) -> Iterator[None]:
    """While this lasts, `watch` is called once a second with what a long call over the network
    reports, and with an empty text once that call is over."""
    token = _WATCH.set(watch)
    try:
        yield
    finally:
        _WATCH.reset(token)


class Git:
    """Calls of git in one repository.

    directory: a git directory, or None to let git find one."""

    def __init__(
        self,
        directory: str | None,
        cwd: str | None = None,
        hermetic: bool = True,
    ) -> None:
        # (The folder that the command was called in may be gone: git would not start there.)
        self.directory, self.cwd = directory, cwd or (os.sep if directory else None)
        self.include: list[str] = []  # the user's settings, below our own
        self.env, self.flags = environment(hermetic), _FLAGS
        self.hermetic = hermetic
        self._shield: dict[str, str] | None = None
        self._seen: dict[str, tuple[str, str, bytes]] = {}
        self._talk: Conversation | None = None  # that nobody is asking in now
        self._silent = False  # it was asked twice in vain: not a third time

    def argv(self, args: Sequence[str], options: Sequence[str] = ()) -> list[str]:
        """The words of a call of git."""
        where = [f"--git-dir={self.directory}"] if self.directory else []
        settings = [
            word for flag in (*self.include, *self.flags, *options) for word in ("-c", flag)
        ]
        return ["git", *settings, *where, *args]

    def ask(
        self,
        *args: str,
        options: Sequence[str] = (),
        data: bytes = b"",
        keep: Sequence[int] = (),
        timeout: float = TIMEOUT,
        extra: Mapping[str, str] | None = None,
        patient: bool = False,
    ) -> tuple[int, bytes, str]:
        """Exit code, standard output, and standard error as text. Each child runs in a session of
        its own, so that Ctrl-C cannot kill it inside its lock.

        keep: descriptors that the child inherits. patient: the time runs anew whenever the child
        reports progress, or has been at work."""
        interrupts.point()
        shield = {} if self.hermetic or args[0] in _UNFILTERED else self.shield()
        try:
            child = subprocess.Popen(
                self.argv(args, options),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self.cwd,
                env={**self.env, **shield, **(extra or {})},
                start_new_session=True,
                pass_fds=tuple(keep),
            )
        except FileNotFoundError:
            if self.cwd and not os.path.isdir(self.cwd):  # noqa: PTH112
                text = f"there is no folder {self.cwd}"
                raise Failed(text, "go into one that is there") from None
            raise Failed("git was not found on PATH", "install git 2.31 or newer") from None
        except OSError as error:
            raise Failed(f"git could not be started: {error.strerror}") from None
        watch = _WATCH.get() if patient else None
        try:
            out, err = heard(child, data, timeout, patient, watch)
        except subprocess.TimeoutExpired as slow:
            stop(child)
            silent = Silent(f"git {args[0]} gave no answer within {timeout:.0f} s", retry="later")
            silent.begun = bool(slow.stderr)
            raise silent from None
        except BaseException:
            stop(child)
            raise
        return child.returncode, out, err.decode(errors="replace").strip()

    def run(
        self, *args: str, options: Sequence[str] = (), data: bytes = b"", keep: Sequence[int] = ()
    ) -> bytes:
        """Standard output.

        Raises Failed, with git's own last line, if git fails."""
        code, out, err = self.ask(*args, options=options, data=data, keep=keep)
        if code:
            raise failure(args[0], code, err)
        return out

    def named(self, pattern: str) -> list[tuple[str, str]]:
        """(key, value) of each setting that the repository's own configuration gives, and that came
        with it perhaps: the user's own files are the user's."""
        asked = ("--null", "--show-scope", "--show-origin", "--get-regexp", pattern)
        words = self.ask("config", *asked)[1].decode(errors="surrogateescape").split("\0")
        result = []
        for scope, origin, row in zip(words[::3], words[1::3], words[2::3], strict=False):
            if scope in ("local", "worktree") or (scope == "command" and origin[:5] == "file:"):
                key, _, value = row.partition("\n")
                result.append((key, value))
        return result

    def shield(self) -> dict[str, str]:
        """The variables with which git runs no filter that the repository's own configuration
        names, whatever attributes say."""
        if self._shield is None:
            filters = dict.fromkeys(key.rpartition(".")[0] for key, _ in self.named(_FILTERS))
            rows = [(f"{name}.{key}", value) for name in filters for key, value in _NONE.items()]
            # By the environment: a name may hold what ends a key that `-c` gives.
            self._shield = {"GIT_CONFIG_COUNT": str(len(rows))}
            for number, (key, value) in enumerate(rows):
                self._shield |= {
                    f"GIT_CONFIG_KEY_{number}": key,
                    f"GIT_CONFIG_VALUE_{number}": value,
                }
        return self._shield

    def object(self, name: str, most: int = LARGEST) -> Answer:
        """(object id, type, bytes) of an object or ref, by one long conversation; None if it is not
        there. An object that is named by its id never changes, so it is asked for once. Of an
        object with more than `most` bytes the type is LARGE, and the bytes are its beginning."""
        if name in self._seen:
            return self._seen[name]
        answer = self._object(name, most) or self._reopened(name, most)
        is_whole = answer and answer[0] == name and answer[1] != LARGE
        if answer and is_whole and len(answer[2]) < SMALL and len(self._seen) < MANY:
            self._seen[name] = answer
        return answer

    def _reopened(self, name: str, most: int) -> Answer:
        """A second look with a fresh process, since a running one may not know the newest packs."""
        self.close()
        return self._object(name, most)

    def _object(self, name: str, most: int) -> Answer:
        return next(self._answers([name], most))

    def objects(
        self, names: Sequence[str], most: int = LARGEST, batch: int = 500
    ) -> Iterator[Answer]:
        """Many objects in their order, asked for a batch at a time. None stands for one that is
        missing or broken."""
        for start in range(0, len(names), batch):
            yield from self._answers(list(names[start : start + batch]), most)

    def _answers(self, names: list[str], most: int) -> Iterator[Answer]:
        """The answers to questions. The conversation is theirs until the last one: whatever comes
        between (an error, an interrupt, a reader that wants no more), none of them is left in it
        for the next question."""
        interrupts.point()
        at, died = 0, -1  # the next answer; the question over which git has ended once
        talk: Conversation | None = None
        try:
            while at < len(names):
                try:
                    if talk is None:
                        talk = self._opened()
                        talk.ask(names[at:])
                    answer = talk.answer(most)
                except Ended as end:
                    if talk is not None:
                        talk.end()
                    talk = None
                    if died != at:
                        died = at
                        continue
                    self._complained(names[at], end)
                    answer = None
                at += 1
                if talk is not None and talk.cut:
                    talk.end()
                    talk = None
                if at == len(names):
                    self._put_back(talk)
                    talk = None
                yield answer
        finally:
            if talk is not None:
                talk.end()

    def _complained(self, name: str, end: Ended) -> None:
        """Twice no answer: git itself gave up over an object, which is broken, or something is
        wrong with git."""
        if end.gave_up:
            return
        self._silent = end.silent
        if end.silent:
            raise Silent(
                "git, asked twice, gave no answer",
                "is it stopped, or the disk away?",
                retry="later",
            )
        raise Damaged(
            f"the store's object {name} cannot be read: git was ended twice over it", "atlas doctor"
        )

    def _put_back(self, talk: Conversation | None) -> None:
        """Keeps the conversation for the next question."""
        if self._talk is None:
            self._talk = talk
        elif talk is not None:
            talk.leave()

    def _opened(self) -> Conversation:
        """The conversation that is free, or a new one."""
        talk, self._talk = self._talk, None
        if self._silent:
            raise Silent("git gives no answer", "is it stopped, or the disk away?", retry="later")
        return talk or Conversation(self._batch())

    def _batch(self) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                self.argv(("cat-file", "--batch")),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                stderr=subprocess.DEVNULL,
                env=self.env,
                cwd=self.cwd,
                start_new_session=True,
            )
        except OSError as error:
            raise Failed(
                f"git could not be started: {error.strerror}", "install git 2.31 or newer"
            ) from None

    def close(self) -> None:
        """Ends the conversation; the next question opens a new one."""
        talk, self._talk = self._talk, None
        if talk is not None:
            talk.leave()


def failure(command: str, code: int, err: str) -> Failed:
    """The error for a call of git's that failed: with git's own word, or for what a partial clone
    lacks, since no read of Atlas's fetches it in passing."""
    if "promisor remote" in err:
        return Failed(
            f"this partial clone lacks what git {command} needs here",
            "git fetch --refetch --no-filter",
            code="partial_clone",
        )
    return Failed(
        f"git {command} failed ({code}): {last_line(err)}", details={"stderr": err[-2000:]}
    )


def last_line(err: str) -> str:
    """git's own word on what is wrong."""
    lines = [line for line in err.split("\n") if line.strip() and not line.startswith("hint:")]
    wanted = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return (wanted or lines or ["no message"])[0].removeprefix("fatal: ").removeprefix("error: ")

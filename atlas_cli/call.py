"""One command, from its words to how it ended: the one error boundary. Nothing is printed here, and
no process is ended: `main` prints what a call returns, and other faces show it in their own way."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

from . import __version__, callers, interrupts
from .cli.grammar import Page
from .cli.root import Root
from .commands import COMMANDS, FACES, GROUPS, HIDDEN
from .console import Talk
from .env import after, aim, code, freshness
from .env.env import Env, Options
from .errors import AtlasError, Failed, NotFound, Unknown, Usage
from .hooks import cache as picture
from .outcome import Outcome
from .store.git import watched

INTERRUPTED = 130  # the exit code of a command that Ctrl-C has ended


class Answer(NamedTuple):
    """How a command ended: by an outcome or by an error, never by both. `talk` is what the envelope
    says of the command and of the store. `wrote`: whether it has written to the store."""

    talk: Talk
    outcome: Outcome | None = None
    error: AtlasError | None = None
    notices: Sequence[str] = ()
    wrote: bool = False

    @property
    def exit(self) -> int:
        """The exit code of the process."""
        if self.outcome is not None:
            return self.outcome.exit
        assert self.error is not None
        return INTERRUPTED if self.error.code == "interrupted" else self.error.exit

    def failed(self, error: BaseException) -> Answer:
        """The same command, ended by this error after all."""
        return self._replace(outcome=None, error=explained(error))


def root(terminal: bool = True) -> Root:
    """All commands of Atlas, for one call."""
    return Root(COMMANDS, HIDDEN, FACES, terminal, GROUPS)


def call(
    argv: list[str], terminal: bool = True, watch: Callable[[str], None] | None = None
) -> Answer:
    """Runs one command. Every end of it is an Answer: nothing is raised.

    terminal: whether a command may hand the terminal to another program; where it may not, such a
    command is a usage error. watch: told how far a long call has come, unless --json or --quiet is
    among the words."""
    interrupts.moves("")  # nothing was written yet
    talk = Talk("atlas", json="--json" in argv)
    env: Env | None = None
    try:
        interrupts.point()
        commands = root(terminal)
        try:
            options, rest = commands.split(argv)
        except Usage:  # its last word waits for a value
            talk = _talk(commands, *commands.split(argv[:-1]))
            raise
        words = commands.spelt(rest)
        talk = _talk(commands, options, words)
        env = Env(options)
        env.words = words
        with watched(None if options.json or options.quiet else watch):
            page = words[:1] == ["help"]
            return _aimed(_ended(_asked(commands, words, env), talk, env), options, page)
    except Page as page:
        return _aimed(Answer(talk, page.outcome), Options(), True)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the boundary: a fault of ours is one line too
        return _aimed(_stopped(explained(error), talk, env), env.options if env else Options())
    finally:
        if env is not None:
            env.close()


def explained(error: BaseException) -> AtlasError:
    """The error that is shown for what ended a command. A failure, foreseen or not, is "unknown"
    (exit 10) once the write may have been made."""
    hint = interrupts.hint()
    if isinstance(error, AtlasError):
        if hint and error.exit == Failed.exit:
            return Unknown(f"it may have been written, and then: {error.message}", hint)
        return error
    if isinstance(error, KeyboardInterrupt):
        if hint:
            return Unknown("interrupted when it may have been written already", hint)
        return Failed("interrupted before anything was written", code="interrupted", retry="now")
    failure = _failure(error)
    if failure is None:
        return _internal(error)
    if hint:
        return Unknown(f"it may have been written, and then: {failure.message}", hint)
    return failure


def _failure(error: BaseException) -> Failed | None:
    """The error for something that the machine has refused; None for a fault of Atlas."""
    if isinstance(error, MemoryError):
        return Failed("out of memory")
    if isinstance(error, RecursionError):
        return Failed("the input is nested too deeply")
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return Failed(f"{where}{error.strerror or error}", code="environment")
    return None


def _internal(error: BaseException) -> Failed:
    """A fault of Atlas itself, with the place where it happened."""
    import traceback

    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{frame.filename.rpartition('/')[2]}:{frame.lineno}"
    return Failed(
        f"internal error at {where}: {type(error).__name__}: {error}",
        "please report it; nothing is lost",
        code="internal",
    )


def _talk(commands: Root, options: Options, words: list[str]) -> Talk:
    return Talk(commands.called(words)[0], options.json, options.quiet)


def _asked(commands: Root, words: list[str], env: Env) -> Outcome:
    """The outcome of a command. The remote is asked once for what is not there."""
    options, heard = env.options, len(env.notices)
    try:
        return _outcome(commands, words, env)
    except NotFound:
        if not freshness.brought(env):
            raise
    env.options = options
    del env.notices[heard:]
    return _outcome(commands, words, env)


def _outcome(commands: Root, words: list[str], env: Env) -> Outcome:
    if words in (["--version"], ["-V"]):
        return Outcome({"version": __version__}, (f"atlas {__version__}",))
    if words:
        return commands.run(words, env)
    from .commands import digest

    return digest.bare(env)


def _ended(outcome: Outcome, talk: Talk, env: Env) -> Answer:
    """The answer of a command that came to its end, once all is done that follows from it."""
    freshness.say(env, outcome)
    if after.sign(env):
        from .hooks import fetching

        fetching.start(str(env.store.home), publishes=True)
    _go_on(env)
    after.answer(env, _keep_up_hooks)
    outcome = outcome._replace(limits=after.unsaid(env, outcome))
    if outcome.published is not None:
        outcome = outcome._replace(published=(env.elsewhere or env).sharing.published)
    interrupts.waited()
    return Answer(_with_store(talk, env), outcome, None, env.notices, env.wrote)


def _stopped(error: AtlasError, talk: Talk, env: Env | None) -> Answer:
    """The answer of a command that an error has ended."""
    if env is None:
        return Answer(talk, error=error)
    with contextlib.suppress(Exception, KeyboardInterrupt):  # whatever comes now, this has ended it
        _go_on(env)
        freshness.say(env, error)
        after.stop(env, error)
        talk = _with_store(talk, env)
    return Answer(talk, None, error, env.notices, env.wrote)


def _go_on(env: Env) -> None:
    """Starts a process that brings the code which the command did not wait for."""
    if code.MORE in env.beside:
        from .hooks import fetching

        fetching.spawn(env.options.directory)


def _aimed(answer: Answer, options: Options, page: bool = False) -> Answer:
    """An answer whose commands run as they are printed from where the caller stands. (A page of
    help is the same for all.)"""
    mark = "" if page else callers.mark()
    at = aim.at(aim.words(options), COMMANDS, aim.program(options), mark)
    if answer.error is not None:
        aim.error(answer.error, at)
    return answer._replace(
        talk=answer.talk._replace(unpublished=at(answer.talk.unpublished)),
        outcome=answer.outcome and aim.outcome(answer.outcome, at),
        notices=aim.notices(answer.notices, at),
    )


def _with_store(talk: Talk, env: Env) -> Talk:
    """The manner of speaking with the store's state, as far as the command has looked at it."""
    env = env.elsewhere or env
    if "snapshot" not in env.__dict__:
        return talk
    sharing = env.sharing
    return talk._replace(
        head=env.snapshot.head, fetched_at=sharing.fetched_at(), unpublished=sharing.why
    )


def _keep_up_hooks(env: Env) -> None:
    """The picture from which git's hooks answer, where one has asked for it."""
    if picture.stale(env):
        from .hooks import draw

        draw.keep_up(env)

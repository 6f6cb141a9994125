"""Printed commands, spelled as they run from where they are printed, since another program may be
called `atlas`; and aimed at the folder that they are about, with `-C`, if the caller stands in
another one."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from .. import callers
from ..errors import AtlasError
from ..outcome import Block, Outcome, Table
from ..worktree import launcher
from .env import Options

Aim = Callable[[str], str]  # a text as it is, but for the commands in it
_MARK = rf"(?:{callers.AGENT}=\S+ )?"  # (one that a command has already stays as it is)
# (What is quoted, for a reader or for a shell, is somebody else's: it stays as it is.)
_COMMAND = (
    r'"[^"\n]*"|(?<![^\s="(])\'[^\'\n]*\''
    rf"|(?<![\w./-])(?P<mark>{_MARK})(?:git )?atlas(?P<at> -C (?:'[^'\n]*'|[^\s']+))?"
    r" (?P<name>[a-z]+|--help)\b(?!-)"
)


def words(options: Options) -> str:
    """The words that aim a command at the folder of this one; empty if the caller stands there."""
    folder = options.directory
    with suppress(FileNotFoundError):  # (the folder that the caller stands in may be gone)
        if folder == "." or Path(folder).resolve() == Path.cwd():
            return ""
    return f" -C {shlex.quote(folder)}"


def program(options: Options) -> str:
    """The program of a printed command: `atlas` for who has called this one so, else `git atlas`.
    The launcher above the folder, by the way from where the caller stands, else the program's own
    file is for who has neither on PATH."""
    if Path(sys.argv[0]).name in ("atlas", "__main__.py") and _is_this(shutil.which("atlas")):
        return "atlas"
    if shutil.which("git-atlas"):
        return "git atlas"
    with suppress(OSError):
        folder = Path(options.directory).absolute()
        # In a hook git stands at the top; its user may stand in a folder of the worktree.
        start = Path.cwd() / os.environ.get("GIT_PREFIX", "")
        for top in (folder, *folder.parents):
            if launcher.lies(top / ".atlas/atlas"):
                return shlex.quote(os.path.relpath(top / ".atlas/atlas", start))
    own = Path(sys.executable).with_name("atlas")
    return shlex.quote(str(own)) if os.access(own, os.X_OK) else "atlas"


def _is_this(file: str | None) -> bool:
    """Whether a program is the Atlas that runs here, and not another one of its name."""
    if file is None:
        return False
    beside = Path(file).parent == Path(sys.executable).parent
    return beside or (Path(sys.argv[0]).exists() and Path(file).samefile(sys.argv[0]))


def at(words: str, commands: Iterable[str], program: str = "atlas", mark: str = "") -> Aim:
    """The function that puts a program and such words into each of these commands of Atlas in a
    text, and the mark of a sub-agent before it."""
    spoken = {"--help", *commands}

    def spelled(match: re.Match[str]) -> str:
        if match["name"] not in spoken:
            return match[0]
        return f"{match['mark'] or mark}{program}{match['at'] or words} {match['name']}"

    return lambda text: re.sub(_COMMAND, spelled, text)


def outcome(answer: Outcome, aim: Aim) -> Outcome:
    """An outcome with its plain lines aimed. (In a frame stands what others wrote.)"""
    return answer._replace(
        blocks=_blocks(answer.blocks, aim), limits=tuple(map(aim, answer.limits))
    )


def _blocks(blocks: Iterable[Block], aim: Aim) -> Iterator[Block]:
    for block in blocks:
        if isinstance(block, Table):
            yield block._replace(empty=aim(block.empty))
        else:
            yield aim(block) if isinstance(block, str) else block


def error(stop: AtlasError, aim: Aim) -> None:
    """Aims what an error says."""
    stop.message, stop.hint = aim(stop.message), aim(stop.hint)


def notices(lines: Iterable[str], aim: Aim) -> list[str]:
    """Notices, aimed. (Below its first line, a notice has what others wrote.)"""
    parts = [line.partition("\n") for line in lines]
    return [aim(first) + below + rest for first, below, rest in parts]

"""Printed commands, aimed at the folder that they are about: with `-C`, if the caller stands in
another one."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from ..errors import AtlasError
from ..outcome import Block, Outcome, Table
from .env import Options

Aim = Callable[[str], str]  # a text as it is, but for the commands in it


def words(options: Options) -> str:
    """The words that aim a command at the folder of this one; empty if the caller stands there."""
    folder = options.directory
    with suppress(FileNotFoundError):  # (the folder that the caller stands in may be gone)
        if folder == "." or Path(folder).resolve() == Path.cwd():
            return ""
    return f" -C {shlex.quote(folder)}"


def at(words: str, commands: Iterable[str]) -> Aim:
    """The function that puts such words into each of these commands of Atlas in a text."""
    command = re.compile(rf"\batlas (?=(?:{'|'.join(commands)})\b)")
    return lambda text: command.sub(lambda _: f"atlas{words} ", text)


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

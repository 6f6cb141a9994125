"""The text that Atlas keeps in a file of a tool's."""

from collections.abc import Callable
from typing import NamedTuple


class Part(NamedTuple):
    """Atlas's part of a file: `put` gives the file's bytes with it (None: there is no file yet),
    `take` the bytes without it (None: the file goes too)."""

    put: Callable[[bytes | None], bytes]
    take: Callable[[bytes], bytes | None]

"""The places of a kind's records in stores of the first format. All of the program names a record
by the path that it has now; only who reads or writes git's trees asks this."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

Names = Callable[[str], list[str]]  # what lies in a folder, as git has it


class Layout(NamedTuple):
    """The places of records in the first format. `first` turns a path into that of the first
    format, `now` turns it back; both give None for a path that is the same in either. `names` are
    what stands in a folder by the paths of now, asked of what lies there."""

    first: Callable[[str], str | None]
    now: Callable[[str], str | None]
    names: Callable[[Names, str], Iterable[str]]

"""git's binary trees (`mode SP name NUL id` for each entry): read with what is wrong in them,
compared, and written."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import accumulate
from operator import lt
from typing import NamedTuple

Entry = tuple[str, str]  # mode, object id
Row = tuple[bytes, bytes, bytes]  # the same with the name before the id, in bytes
PLAIN, FOLDER = "100644", "40000"
_FOLDER = FOLDER.encode()
LARGE = 1024  # bytes of a tree from which on it costs less to look where it differs
_NOWHERE = frozenset((b".", b"..", b".git"))  # what no folder of git's holds


@lru_cache(maxsize=2)
def _rows(width: int) -> re.Pattern[bytes]:
    """The pattern of an entry. It is compiled when the first tree is read."""
    return re.compile(rb"([0-7]{1,8}) ([^\0/]+)\0(.{%d})" % (width // 2), re.DOTALL)


class Folder(NamedTuple):
    """A tree that was read. `starts` is where each entry begins, and where the last one ends.
    `faults` say why git would not have written the tree so. Only then `rows` are its entries:
    without the names that no folder can hold, and with the first one of a name that stands twice,
    as git reads it."""

    data: bytes
    starts: list[int]
    rows: list[Row]
    faults: tuple[str, ...]


NOTHING = Folder(b"", [0], [], ())


def read(data: bytes, width: int) -> Folder:
    """A tree, whatever its bytes are."""
    rows: list[Row] = _rows(width).findall(data)
    starts = [0, *accumulate(len(mode) + len(name) + len(oid) + 2 for mode, name, oid in rows)]
    if starts[-1] != len(data):
        return _faulty(data, rows, ["what stands in it is not all entries"])
    if not _in_order(rows) or len({row[1] for row in rows}) != len(rows):
        return _faulty(data, rows, [])
    if any(_nowhere(row[1]) for row in rows):
        return _faulty(data, rows, [])
    return Folder(data, starts, rows, ())


def _faulty(data: bytes, rows: list[Row], faults: list[str]) -> Folder:
    names = [row[1] for row in rows]
    first = {row[1]: row for row in reversed(rows)}
    if not _in_order(rows) and len(first) == len(rows):
        faults.append("its entries are not in git's order")
    faults += [f"it names {_shown(name)}" for name in first if _nowhere(name)]
    twice = [name for name, count in Counter(names).items() if count > 1]
    faults += [f"it names {_shown(name)} twice" for name in twice[:3]]
    plain = [first[name] for name in dict.fromkeys(names) if not _nowhere(name)]
    return Folder(data, [], plain, tuple(faults))


def parse_tree(data: bytes, width: int) -> dict[str, Entry]:
    """A folder's entries by name."""
    rows = read(data, width).rows
    return {
        name.decode(errors="surrogateescape"): (mode.decode(), oid.hex())
        for mode, name, oid in rows
    }


def pack_tree(entries: Mapping[str, Entry]) -> bytes:
    """The inverse. A folder is sorted as if its name ended with a slash."""
    rows = [
        (name.encode(errors="surrogateescape"), mode, oid) for name, (mode, oid) in entries.items()
    ]
    rows.sort(key=lambda row: row[0] + b"/" if row[1] == FOLDER else row[0])
    return b"".join(
        b"%s %s\0%s" % (mode.encode(), name, bytes.fromhex(oid)) for name, mode, oid in rows
    )


def compared(old: Folder, data: bytes, width: int) -> tuple[Folder, set[Row], set[Row]]:
    """(the new tree, the entries that only the old one has, those that only the new one has)."""
    if len(data) > LARGE and old.data and not old.faults:
        nearly = _nearly(old, data, width)
        if nearly is not None:
            return nearly
    new = read(data, width)
    before, after = set(rows(old, width)), set(new.rows)
    return new, before - after, after - before


def rows(folder: Folder, width: int) -> list[Row]:
    """The entries of a tree."""
    return folder.rows if folder.rows or folder.faults else _rows(width).findall(folder.data)


def _nearly(old: Folder, data: bytes, width: int) -> tuple[Folder, set[Row], set[Row]] | None:
    """The same for a tree that differs in one place. No more than that place is read. None if that
    does not tell whether the tree is as git writes it. (Large folders that change by an entry are
    what a history is made of.)"""
    was, starts = old.data, old.starts
    size = min(len(was), len(data))
    differ = int.from_bytes(was[:size], "big") ^ int.from_bytes(data[:size], "big")
    at = bisect_right(starts, size - (differ.bit_length() + 7) // 8) - 1
    start = starts[at]
    if len(was) != len(data):
        left = size - start
        differ = int.from_bytes(was[len(was) - left :], "big") ^ int.from_bytes(
            data[len(data) - left :], "big"
        )
    tail = ((differ & -differ).bit_length() - 1) // 8 if differ else size - start
    upto = bisect_left(starts, len(was) - tail)
    shift = len(data) - len(was)
    piece = data[start : starts[upto] + shift]
    gone, come = _rows(width).findall(was[start : starts[upto]]), _rows(width).findall(piece)
    inner = list(
        accumulate(
            (len(mode) + len(name) + len(oid) + 2 for mode, name, oid in come), initial=start
        )
    )
    before = _rows(width).findall(was[starts[at - 1] : start]) if at else []
    after = (
        _rows(width).findall(was[starts[upto] : starts[upto + 1]]) if upto + 1 < len(starts) else []
    )
    known = {row[1] for row in gone if row[0] != _FOLDER}.intersection(
        row[1] for row in come if row[0] != _FOLDER
    )
    if (
        inner[-1] != start + len(piece)
        or not _in_order([*before, *come, *after])
        or len({row[1] for row in come}) < len(come)
        or any(
            _nowhere(name) or (name not in known and data.count(b" %s\0" % name) > 1)
            for _, name, _ in come
        )
    ):
        return None
    rest = starts[upto + 1 :]
    if shift:
        rest = [begin + shift for begin in rest]
    return (
        Folder(data, [*starts[:at], *inner, *rest], [], ()),
        set(gone) - set(come),
        set(come) - set(gone),
    )


def _in_order(rows: Iterable[Row]) -> bool:
    order = [name + b"/" if mode == _FOLDER else name for mode, name, _ in rows]
    return all(map(lt, order, order[1:]))


def _nowhere(name: bytes) -> bool:
    return name[:1] == b"." and name.lower() in _NOWHERE


def _shown(name: bytes) -> str:
    return repr(name.decode(errors="backslashreplace"))

"""Whether what a REF names is over, as far as a tree can tell. The idle limit of a session, which
only a clone knows, is asked elsewhere; here, in doubt, nothing is over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..errors import AtlasError
from ..model import times
from ..model.tree import Tree

_DONE = ("done", "cancelled")


class Said(NamedTuple):
    """The moment at which a session said "until then", and its id. `held`: the leases that it meant
    by it, each with the time since which it was held."""

    moment: int
    by: str
    held: Mapping[str, str]


def over(tree: Tree, until: str, at: int, given: Said | None = None) -> bool:
    """Whether a time has come, a session, a lease, a task or a gate is over, or any other record is
    there. `given`: when and by whom that was said: a lease that was taken anew since was over."""
    try:
        return times.moment(until) <= at
    except ValueError:
        pass
    from . import BY_NAME, find, lease, ref
    from .board import gate

    try:
        wanted = ref(until)
        kind = BY_NAME[wanted.kind]
        path = find(tree, wanted)
        record = kind.parse(path, tree.read(path) or b"")
    except AtlasError:
        return False
    if "state" in record:
        return record["state"] in _DONE
    if kind.row:
        if given and kind is lease.KIND and lease.began_after(record, *given):
            return True
        end = kind.until(record)
        return "ended" in record or (end is not None and end <= at)
    return kind is not gate.KIND or gate.ended(tree, record)

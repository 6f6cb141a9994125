"""The condition of `--expect`: the store, or one record, is still at the place that was seen."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from .. import records
from ..errors import NotFound, Usage, VersionJump
from ..model import names
from ..model.tree import Tree


def expectation(text: str) -> Callable[[Tree, str], None]:
    """The condition of `--expect`: a commit (its first digits), or the number or row version that a
    REF is at."""
    if ":" not in text:
        # An empty variable of a script must not pass for a head.
        if len(text) < 7 or text.strip("0123456789abcdef"):
            raise Usage(
                f"--expect {text[:80]!r} is no commit",
                "write it like 3f9c01ab77de or status:main@12",
            )
        return partial(_at_head, text)
    if names.BY in text:
        return partial(_at_document, records.ref(text))
    base, _, digits = text.rpartition("@")
    if not digits.isdecimal() or len(digits) > 9 or not base:
        raise Usage(
            f"--expect {text[:80]!r} names no number", "write it like --expect status:main@12"
        )
    return partial(_at_number, records.ref(base), int(digits))


def _at_head(wanted: str, _: Tree, head: str) -> None:
    if not head.startswith(wanted):
        raise VersionJump(
            f"the store's head is {head[:12]}, not {wanted[:64]}",
            "look at what was written: atlas log",
            details={"expected": wanted, "head": head},
        )


def _at_number(ref: names.Ref, wanted: int, tree: Tree, _: str) -> None:
    try:
        path = records.BY_NAME[ref.kind].find(tree, ref.id)
        now = records.describe(path, tree.read(path) or b"")["version"]
    except NotFound:
        now = 0
    if now != wanted:
        raise VersionJump(
            f"{ref} is at {now}, not at {wanted}",
            f"look at it: atlas show {ref}",
            details={"ref": str(ref), "expected": wanted, "head": now},
        )


def _at_document(ref: names.Ref, tree: Tree, head: str) -> None:
    """The newest document of that name is the one that an operation wrote."""
    try:
        path = records.find(tree, ref)
        wanted = records.describe(path, tree.read(path) or b"")["version"]
    except NotFound:
        wanted = 0
    _at_number(names.Ref(ref.kind, ref.id), wanted, tree, head)

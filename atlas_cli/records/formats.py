"""The format of a store, as its policy says it: what a program must know that reads it, and how it
goes from one format to the next. A need that no transaction of Atlas wrote there does not count."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..errors import Damaged
from ..model import text
from ..model.message import Message
from ..model.schema import FORMAT
from ..model.text import Record
from ..visible import named

# The keys of the policy that are the store's own.
FIXED = ("format", "store", "version", "test", "needs", "epoch", "epoch_before")
OPTIONAL = {"needs": "texts", "epoch": str, "epoch_before": str}
# The features that `needs` may name beside kinds of record.
FEATURES = {"epoch": "settled documents are looked for in the commit that an epoch names"}
# The kinds of record that the format itself has: `needs` names any other.
KINDS = (
    *("status", "artifact", "decision", "correction", "lease", "session", "inbox"),
    *("task", "result", "gate", "signal", "policy"),
)
LEARNT: set[str] = set()  # the kinds of record that this program has
_FORMAT = re.compile(rb"(?m)^format: ([0-9]+) *\r?$")
_EPOCH = re.compile(rb'(?m)^epoch: "([0-9a-f]+)" *\r?$')


def known(path: str, needs: Iterable[str]) -> None:
    """Raises Damaged (`newer_format`) if a store needs what this program does not know."""
    if words := [word for word in needs if word not in FEATURES and word not in LEARNT]:
        raise Damaged(
            f"{path}: this store needs {', '.join(map(named, words[:5]))}, which this version of"
            " Atlas does not know",
            "install a newer atlas-cli",
            code="newer_format",
        )


def is_first(data: bytes) -> bool:
    """Whether these bytes are a policy of the first format."""
    match = _FORMAT.search(data)
    return match is not None and int(match[1]) == 1


def epoch(data: bytes) -> str:
    """The commit that holds what the last epoch took from the tip; empty before the first one."""
    match = _EPOCH.search(data)
    return match[1].decode() if match else ""


def needing(data: bytes, words: Iterable[str]) -> bytes:
    """A policy with further words among its `needs`; the same bytes if it names them all."""
    has = text.load(data, "", comments=True).get("needs", [])
    more = sorted({*words} - {*has, *KINDS})
    return _set(data, needs=[*has, *more]) if more else data


def migrated(data: bytes) -> bytes:
    """A policy of the first format in the format of now."""
    return _set(data, format=FORMAT, needs=[])


def at_epoch(data: bytes, commit: str, day: str) -> bytes:
    """A policy once a commit holds what was settled before a day."""
    has = text.load(data, "", comments=True).get("needs", [])
    needs = list(dict.fromkeys([*has, "epoch"]))
    return _set(data, needs=needs, epoch=commit, epoch_before=day)


def _set(data: bytes, **values: object) -> bytes:
    version = text.load(data, "", comments=True)["version"] + 1
    for key, value in {**values, "version": version}.items():
        data = text.set_by_hand(data, key, value)
    return data


def changed(message: Message, old: Record, new: Record) -> Iterator[str]:
    """The store's own keys that a commit changed and may not change."""
    for key in FIXED:
        if key == "version" or old.get(key) == new.get(key):
            continue
        if message.by_hand or not _may_change(message, key, old, new):
            yield key


def _may_change(message: Message, key: str, old: Record, new: Record) -> bool:
    """Whether a transaction may change a key of the store's own: the format by a migration, the
    epoch by one; `needs` only grows."""
    if key == "format":
        return message.migrates == str(new.get("format")) and old.get("format", 1) == 1
    if key == "needs":
        return {*old.get("needs", [])} <= {*new.get("needs", [])}
    if key == "epoch":
        return message.epoch == new.get("epoch")
    return key == "epoch_before" and message.epoch is not None

"""Parked writes: what could not be carried over to the remote's history. Each is a ref of the
store, under the name of its operation."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from ..model import message, names, times
from ..model.digests import sha256
from ..records import same_write
from ..store import PARKED
from ..store.index import Index
from ..store.store import Store

LOST = b"its object cannot be read here: atlas doctor --fix"  # in place of a write's subject


def parked_commits(store: Store) -> dict[str, str]:
    """Commit by operation of the parked writes."""
    result = {}
    packed = store.home / "store.git/packed-refs"
    for line in packed.read_text().split("\n") if packed.exists() else ():
        oid, _, name = line.partition(" ")
        if name.startswith(PARKED):
            result[name.removeprefix(PARKED)] = oid
    folder = store.home / "store.git" / PARKED
    files: list[Path] = []
    with suppress(FileNotFoundError):  # git takes the folder away with the last of them
        files = list(folder.iterdir())
    for file in files:
        with suppress(FileNotFoundError):  # another command has just settled it
            if not file.name.endswith(".lock"):
                result[file.name] = file.read_text().strip()
    return result


def parked_ref(operation: str) -> str:
    """The ref under which a write is parked. An operation id that no ref can be named after goes by
    its hash."""
    plain = (
        names.valid(operation) and ".." not in operation and not operation.endswith((".lock", "."))
    )
    return PARKED + (operation if plain else sha256(operation.encode()).hexdigest()[:32])


def unpark(store: Store, operation: str, within: float = 12.0) -> None:
    """Forgets a parked write: it was settled in another way."""
    from ..store.branch import change

    change(store, [f"delete {parked_ref(operation)}"], within)


def rows(store: Store, index: Index) -> list[dict[str, Any]]:
    """The parked writes, as rows of operation, commit, subject, session, at. A write that is part
    of the history all the same is left out: a kill had come between."""
    parked = []
    for operation, oid in parked_commits(store).items():
        entry = store.git.object(oid)
        text = b"\n\n" + LOST if entry is None else entry[2]
        write = message.parse(text.decode(errors="replace").partition("\n\n")[2])
        if write.operation and _is_there(store, index, write):
            continue
        parked.append(
            {
                "operation": operation,
                "commit": oid,
                "subject": index.in_line(write.subject),
                "session": write.session,
                "at": times.rfc3339(write.at) if write.at else None,
            }
        )
    return sorted(parked, key=lambda row: (str(row["at"]), str(row["subject"])))


def _is_there(store: Store, index: Index, write: message.Message) -> bool:
    """Whether a write is part of the history, under its operation."""
    row = index.operation(write.operation or "")
    entry = store.git.object(row["oid"]) if row else None
    if entry is None:
        return row is not None
    stored = message.parse(entry[2].decode(errors="replace").partition("\n\n")[2])
    return same_write(stored, write)


def of(store: Store, index: Index, session: str) -> list[dict[str, Any]]:
    """The parked writes of a session."""
    return [row for row in rows(store, index) if row["session"] == session]

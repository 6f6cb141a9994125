"""The writes of this clone that are parked: they contradicted what others had published first."""

from __future__ import annotations

from typing import Any

from ..model import message, times
from ..store.index import Index
from ..store.store import Store


def rows(store: Store, index: Index) -> list[dict[str, Any]]:
    """What is parked, as rows of operation, commit, subject, session, at. What is part of the
    history all the same is left out: a kill had come between."""
    parked = []
    for operation, oid in store.parked().items():
        entry = store.git.object(oid)
        if entry is None:
            continue
        write = message.parse(entry[2].decode(errors="replace").partition("\n\n")[2])
        if write.operation and index.operation(write.operation):
            continue
        parked.append(
            {
                "operation": operation,
                "commit": oid,
                "subject": write.subject,
                "session": write.session,
                "at": times.rfc3339(write.at) if write.at else None,
            }
        )
    return sorted(parked, key=lambda row: (str(row["at"]), str(row["subject"])))


def of(store: Store, index: Index, session: str) -> list[dict[str, Any]]:
    """Those that a session wrote."""
    return [row for row in rows(store, index) if row["session"] == session]

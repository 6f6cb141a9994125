"""The leases that are held."""

from __future__ import annotations

from ..model.text import Record
from ..records import lease, resources
from .ask import Questions


def held(ask: Questions, session_id: str) -> list[Record]:
    """The leases that a session holds now."""
    rows = ask.index.live(lease.FOLDER, ask.now)
    return [row for _, row in rows if row["holder"] == session_id]


def meant(ask: Questions, session_id: str) -> tuple[str, ...]:
    """The resources that a session holds now, and the paths that mean them by the policy."""
    rows = held(ask, session_id)
    return tuple(part for row in rows for part in resources.parts(ask.policy, row["resource"]))


def live(ask: Questions) -> list[Record]:
    """The leases that are honoured now, as they are shown, with the seconds that are left."""
    return [
        {**ask.shown(row, f"lease:{row['resource']}"), "seconds_left": lease.rest(row, ask.now)}
        for _, row in ask.index.live(lease.FOLDER, ask.now)
        if lease.holds(row, ask.now)
    ]

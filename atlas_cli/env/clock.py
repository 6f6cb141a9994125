"""The clock of a command."""

from __future__ import annotations

import os
import time

from ..errors import Usage


def clock(test: bool) -> int:
    """Seconds since 1970. In test stores `ATLAS_CLOCK_OFFSET` moves it."""
    offset = os.environ.get("ATLAS_CLOCK_OFFSET", "")
    if not offset or not test:
        return int(time.time())
    try:
        return int(time.time()) + int(offset)
    except ValueError:
        raise Usage(f"ATLAS_CLOCK_OFFSET={offset!r} is no number of seconds") from None

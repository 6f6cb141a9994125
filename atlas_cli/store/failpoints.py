"""Planted faults, for tests: `ATLAS_FAULT=POINT:kill|stop|raise`, in stores whose policy says
`test: true` only."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from typing import Any

# The points of a write, in their order.
POINTS = (
    "before_objects",
    "after_objects",
    "before_ref",
    "after_ref",
    "before_ack",
    "mid_cache",
    "before_view",
)
PUSH = ("before_push", "after_push", "before_carry", "after_carry")


def at(point: str, policy: Mapping[str, Any]) -> None:
    """Dies, stops or raises here if that was asked for."""
    wanted = os.environ.get("ATLAS_FAULT", "")
    if not wanted or policy.get("test") is not True:
        return
    name, _, how = wanted.partition(":")
    if name != point:
        return
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif how == "raise":
        raise RuntimeError(f"planted at {point}")


def patience(seconds: float, policy: Mapping[str, Any]) -> float:
    """Seconds that a remote is waited for. In a test store they are no more than `ATLAS_PATIENCE`
    says."""
    wanted = os.environ.get("ATLAS_PATIENCE", "")
    return min(seconds, float(wanted)) if wanted and policy.get("test") is True else seconds

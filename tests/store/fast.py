"""`atlas` for whom half of a lease's time passes in a moment: its waiting for a command goes 500
times as fast."""

from __future__ import annotations

import subprocess
import time
from types import SimpleNamespace
from typing import Any

from atlas_cli.commands import leased_run
from atlas_cli.main import run

SPEED = 500


class Fast(subprocess.Popen[bytes]):
    def wait(self, timeout: float | None = None) -> int:
        return super().wait(None if timeout is None else timeout / SPEED)


def start() -> None:
    module: Any = leased_run
    module.time = SimpleNamespace(monotonic=lambda: time.monotonic() * SPEED)
    module.subprocess = SimpleNamespace(Popen=Fast, TimeoutExpired=subprocess.TimeoutExpired)
    run()


if __name__ == "__main__":
    start()

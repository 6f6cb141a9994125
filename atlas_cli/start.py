"""The entry point of `atlas` and `git atlas`. From its first line on an interrupt is held, until
there is somebody to answer it."""

from .interrupts import hold

hold()

import os  # noqa: E402
import sys  # noqa: E402


def run() -> None:
    """Loads the program and runs it. One that cannot be loaded is one line too."""
    try:
        from .main import run as begin
    except Exception as error:  # noqa: BLE001 - half an installation, no memory, a disk that gives errors
        _unloaded(error)
    else:
        begin()


def _unloaded(error: Exception) -> None:
    message = f"atlas cannot be loaded: {type(error).__name__}: {error}".replace("\n", " ")
    try:
        if "--json" in sys.argv:
            import json

            shown = {
                "code": "environment",
                "message": message,
                "hint": "install it anew",
                "retry": "no",
                "details": {},
            }
            store = {"head": None, "published": None, "fetched_at": None}
            print(
                json.dumps(
                    {
                        "atlas": 1,
                        "command": "atlas",
                        "status": "error",
                        "data": None,
                        "notices": [],
                        "store": store,
                        "error": shown,
                    }
                ),
                flush=True,
            )
        else:
            print(
                f"atlas: error (environment): {message}\n  install it anew",
                file=sys.stderr,
                flush=True,
            )
    finally:
        os._exit(1)

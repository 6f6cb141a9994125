"""The user's own file of choices, as it lies on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import Damaged
from ..records import own
from ..store.repo import home


def file() -> Path:
    """The user's own file."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or home() / ".config", "atlas", own.FILE)


def read(file: Path) -> Mapping[str, Any]:
    """The choices of a file; the defaults where there is none. Raises Damaged if it cannot be
    read."""
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        data = b""
    except OSError as error:
        raise Damaged(f"{file}: {error.strerror}", "mend it or remove it") from None
    return own.parse(data, str(file))

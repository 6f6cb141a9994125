"""This clone's memory of its remote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..store import files
from ..store.store import Store


class RemoteState:
    """This clone's memory of its remote: when it was asked last, and when that failed."""

    def __init__(self, store: Store, name: str = "sync.json") -> None:
        self.file = store.home / name
        self.data = self._read(self.file)

    def get(self, key: str) -> float:
        """A number that was noted; 0 if none was."""
        value = self.data.get(key)
        return float(value) if isinstance(value, int | float) else 0.0

    def put(self, **fields: Any) -> None:
        """Notes numbers. It does nothing if the file cannot be written."""
        # Another command may have noted something since.
        self.data = self._read(self.file) | fields
        try:
            files.put(self.file, json.dumps(self.data).encode())
        except OSError:
            return  # a memory, no more

    @staticmethod
    def _read(file: Path) -> dict[str, Any]:
        try:
            data = json.loads(file.read_text())
        except (OSError, ValueError):
            return {}
        return data if isinstance(data, dict) else {}

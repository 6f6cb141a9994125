"""The build of the wheel: beside the package it installs the man page, which is made of the pages
of help."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Manual(BuildHookInterface):  # type: ignore[type-arg]
    """Puts `atlas.1` and `git-atlas.1` where man looks for the programs on PATH."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Writes the pages, and names them to the builder."""
        if self.target_name != "wheel":
            return
        sys.path.insert(0, self.root)
        from atlas_cli.cli import manual

        folder = Path(self.directory, "man")
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in manual.files(self.metadata.version).items():
            (folder / name).write_text(text, encoding="utf-8")
            build_data["shared_data"][str(folder / name)] = f"share/man/man1/{name}"

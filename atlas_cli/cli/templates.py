"""The files of `templates/`: texts that Atlas writes or prints as they are."""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def template(name: str) -> bytes:
    """A file of `templates/` (inside the wheel, or beside the package in a checkout)."""
    inside = resources.files("atlas_cli") / "templates" / name
    if inside.is_file():
        return inside.read_bytes()
    return (Path(__file__).parents[2] / "templates" / name).read_bytes()

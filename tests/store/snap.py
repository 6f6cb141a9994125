"""A byte-for-byte picture of a folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

Picture = dict[str, tuple[int, bytes]]
# What Atlas may have: its own folder in the git directory, its view, the list of what git leaves
# alone.
OURS = (".git/atlas", ".git/info/exclude", ".atlas")


def picture(folder: Path, without: Iterable[str] = OURS) -> Picture:
    """Mode and bytes of everything below a folder (a link's target; nothing for a folder), but for
    these paths."""
    found: Picture = {}
    left = set(without)
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if any(name == part or name.startswith(f"{part}/") for part in left):
            continue
        data = bytes(path.readlink()) if path.is_symlink() else b""
        if path.is_file() and not path.is_symlink():
            data = path.read_bytes()
        found[name] = (path.lstat().st_mode, data)
    return found


def difference(before: Picture, after: Picture) -> list[str]:
    """The paths that are not as they were."""
    return sorted(
        name for name in before.keys() | after.keys() if before.get(name) != after.get(name)
    )

"""Other tools that keep a repository's hooks: who would write over ours, and who runs Atlas
already."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ..store.git import Git

# tool: (where a project says what it runs, what stands in a hook that the tool wrote)
_TOOLS: dict[str, tuple[tuple[str, ...], bytes]] = {
    "husky": ((".husky/{}",), b"husky"),
    "lefthook": (
        ("lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml", "lefthook.toml"),
        b"lefthook",
    ),
    "pre-commit": ((".pre-commit-config.yaml",), b"pre-commit.com"),
    "prek": (("prek.toml", ".pre-commit-config.yaml"), b"/prek"),
}


def configured(top: Path) -> Iterator[str]:
    """The tools that a project has a configuration for."""
    for tool, (files, _) in _TOOLS.items():
        if any((top / file.format("")).exists() for file in files):
            yield tool


def owner(folder: Path, top: Path, common: Path) -> str:
    """The program that would write over a hook in this folder, or carry it to others: husky,
    lefthook, or git itself if it tracks the folder. Empty if nobody would."""
    if ".husky" in folder.parts:
        return "husky"
    hooks = folder.iterdir() if folder.is_dir() else ()
    if any(b"lefthook" in (content(file) or b"") for file in hooks):
        return "lefthook"
    real, git_folder = folder.resolve(), common.resolve()
    if real.is_dir() and real.is_relative_to(top.resolve()) and not real.is_relative_to(git_folder):
        return "git" if Git(None, str(real), hermetic=False).ask("ls-files")[1] else ""
    return ""


def calling(name: str, data: bytes, owner: str, top: Path) -> str:
    """The program that runs Atlas behind this hook: a tool, by its configuration, or `itself`, by
    the hook's own text (`data`). Empty if nobody does."""
    calls_atlas = re.compile(rb"atlas(?:-hook)?[ -]" + name.encode() + rb"\b|atlas-hook \"\$\{0##")
    for tool, (files, mark) in _TOOLS.items():
        its = (content(top / file.format(name)) or b"" for file in files)
        if (tool == owner or mark in data) and any(map(calls_atlas.search, its)):
            return tool
    return "itself" if calls_atlas.search(data) else ""


def content(file: Path) -> bytes | None:
    """A plain file's bytes. None if it is not there, is no plain file, or cannot be read."""
    try:
        return file.read_bytes() if file.is_file() and not file.is_symlink() else None
    except PermissionError:
        return None

"""Other tools that keep a repository's hooks: who would write over ours, who runs Atlas already,
and, where a user asks for it, Atlas in their files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from ..errors import Failed, Refused
from ..store import files
from ..store.git import Git
from . import NAMES

# tool: (where a project says what it runs, what stands in a hook that the tool wrote)
_TOOLS: dict[str, tuple[tuple[str, ...], bytes]] = {
    "husky": ((".husky/{}",), b"husky"),
    "lefthook": (
        tuple(
            f"{place}lefthook{person}.{form}"
            for place in ("", ".", ".config/")
            for person in ("", "-local")
            for form in ("yml", "yaml", "toml", "json", "jsonc")
        ),
        b"lefthook",
    ),
    "pre-commit": ((".pre-commit-config.yaml",), b"pre-commit.com"),
    "prek": (("prek.toml", ".pre-commit-config.yaml"), b"/prek"),
}

# What a project adds where others write the hooks; it passes where Atlas is not installed.
SH = (
    'if command -v atlas-hook >/dev/null && f=$(mktemp); then cat >"$f"; exec 8<"$f" 9<"$f"; rm'
    ' "$f"\natlas-hook "${0##*/}" "$@" <&8 || exit $?; exec <&9; fi'
)
LEFTHOOK = (
    "NAME:\n  commands:\n    atlas:\n"
    "      run: if command -v atlas-hook >/dev/null; then atlas-hook NAME {0}; fi\n"
    "      use_stdin: true"
)
_LOCAL = "lefthook-local.yml"  # lefthook reads it beside the project's own, for one person
_HEAD = "# >>> atlas shared >>> by `atlas hooks install --write`; `atlas hooks remove` takes it out"
_PART = re.compile(rb"# >>> atlas shared >>>[^\n]*\n.*?\n# <<< atlas <<<\n", re.DOTALL)
_INTERPRETER = re.compile(rb"(?:#![^\n]*\n)?")


def configured(top: Path) -> Iterator[str]:
    """The tools that a project has a configuration for."""
    for tool, (names, _) in _TOOLS.items():
        if any((top / name.format("")).exists() for name in names):
            yield tool
            if tool == "pre-commit":  # (prek would be meant by the same file)
                return


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
    for tool, (names, mark) in _TOOLS.items():
        its = (content(top / file.format(name)) or b"" for file in names)
        if (tool == owner or mark in data) and any(map(calls_atlas.search, its)):
            return tool
    return "itself" if calls_atlas.search(data) else ""


def write(tool: str, folder: Path, top: Path) -> list[Path]:
    """Puts Atlas into the files from which a tool, or git's tracked folder, runs the hooks; the
    files that it wrote.

    Raises Refused if there is a file that only its user can complete, and Failed if one cannot be
    written."""
    if tool == "lefthook":
        return _lefthook(top / _LOCAL)
    hooks = folder.parent if tool == "husky" else folder
    return [hooks / name for name in NAMES if _added(hooks / name)]


def unwrite(folder: Path, top: Path) -> None:
    """Takes out what `write` put in."""
    for file in [top / ".husky" / name for name in NAMES] + [folder / name for name in NAMES]:
        data = content(file) or b""
        if not _PART.search(data):
            continue
        rest = _PART.sub(b"", data)
        if _INTERPRETER.sub(b"", rest, count=1).strip():
            _put(file, rest)
        else:
            file.unlink()
    if content(top / _LOCAL) == _local():
        (top / _LOCAL).unlink()


def _lefthook(file: Path) -> list[Path]:
    if file.exists() and content(file) != _local():
        raise Refused(
            f"{file} is there already, and its lines are its user's to order",
            f"add to it for each NAME ({', '.join(NAMES)})\n{LEFTHOOK}",
            code="managed",
        )
    _put(file, _local())
    return [file]


def _local() -> bytes:
    parts = [_HEAD, *(LEFTHOOK.replace("NAME", name) for name in NAMES)]
    return ("\n".join(parts) + "\n").encode()


def _added(file: Path) -> bool:
    """Puts the lines at the top of one hook's file; whether they were not there."""
    data = content(file)
    if data is None and os.path.lexists(file):
        raise Refused(f"{file} is no plain file", "put Atlas in by hand", code="managed")
    if data is not None and b"atlas-hook" in data:
        return False
    data = data or b"#!/bin/sh\n"
    match = _INTERPRETER.match(data)
    at = match.end() if match else 0
    part = f"{_HEAD}\n{SH}\n# <<< atlas <<<\n".encode()
    _put(file, data[:at] + part + data[at:])
    return True


def _put(file: Path, data: bytes) -> None:
    try:
        files.again(file, data, 0o777)
    except OSError as error:
        raise Failed(f"{file} cannot be written: {error.strerror}", code="environment") from None


def content(file: Path) -> bytes | None:
    """A plain file's bytes. None if it is not there, is no plain file, or cannot be read."""
    try:
        return file.read_bytes() if file.is_file() and not file.is_symlink() else None
    except PermissionError:
        return None

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
_HEAD = "# >>> atlas %s >>> by `atlas hooks install --write`; `atlas hooks remove` takes it out"
# (made: the file was not there; shared: it was somebody's.)
_PART = re.compile(
    rb"# >>> atlas (made|shared) >>>[^\n]*\n(?:(?!# >>> atlas ).)*?\n# <<< atlas <<<\n", re.DOTALL
)
SHELL = re.compile(
    rb"#![ \t]*/(?:\S*/)?(?:env[ \t]+)?(?:ba|da|k|mk|z|a)?sh(?:[ \t]+-[a-zA-Z]+)*[ \t]*\n"
)
_NEW = b"#!/bin/sh\n"


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
    if _husky(folder, top):
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

    Raises Refused, before it has written any, if there is one that only its user can complete."""
    if tool == "lefthook":
        new = {top / _LOCAL: _lefthook(top / _LOCAL)}
    else:
        hooks = folder.parent if _husky(folder, top) and folder.name == "_" else folder
        new = {hooks / name: _added(hooks / name) for name in NAMES}
    written = [file for file, data in new.items() if data]
    for file in written:
        _put(file, new[file])
    return written


def unwrite(folder: Path, top: Path) -> None:
    """Takes out what `write` put in. Nothing is touched by way of a link."""
    husky = top / ".husky"
    folders = [folder, husky] if husky.resolve() == top.resolve() / ".husky" else [folder]
    for file in (place / name for place in folders for name in NAMES):
        data = content(file) or b""
        parts = _PART.findall(data)
        rest = _PART.sub(b"", data)
        if b"made" in parts and rest == _NEW:
            file.unlink()
        elif parts:
            _put(file, rest)
    if content(top / _LOCAL) == _local():
        (top / _LOCAL).unlink()


def _husky(folder: Path, top: Path) -> bool:
    """Whether a folder of hooks is husky's: `.husky`, or what it generates in there."""
    own = top.resolve() / ".husky"
    return folder.resolve() in (own, own / "_")


def _lefthook(file: Path) -> bytes:
    if os.path.lexists(file) and content(file) != _local():
        raise Refused(
            f"{file} is there already, and its lines are its user's to order",
            f"add to it for each NAME ({', '.join(NAMES)})\n{LEFTHOOK}",
            code="managed",
        )
    return _local()


def _local() -> bytes:
    parts = [_HEAD % "made", *(LEFTHOOK.replace("NAME", name) for name in NAMES)]
    return ("\n".join(parts) + "\n").encode()


def _added(file: Path) -> bytes:
    """A hook's file with the lines at its top; empty if they are in there."""
    data = content(file)
    if data is None and os.path.lexists(file):
        raise Refused(f"{file} is no plain file", "put Atlas in by hand", code="managed")
    if data is not None and b"atlas-hook" in data:
        return b""
    kind, data = ("made", _NEW) if data is None else ("shared", data)
    shell = SHELL.match(data)
    if b"\0" in data or (data.startswith(b"#!") and not shell):
        raise Refused(
            f"{file} is no shell's script, and takes no lines of one",
            "call `atlas-hook NAME` in it, with what git gave it",
            code="managed",
        )
    at = shell.end() if shell else 0
    part = f"{_HEAD % kind}\n{SH}\n# <<< atlas <<<\n".encode()
    return data[:at] + part + data[at:]


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

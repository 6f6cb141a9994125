"""The places of artifacts: by the hash of their name, so that no folder holds all names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..model import names
from ..model.layout import Layout, Names

FOLDER = "artifacts"
_VERSION = r"([^/]+)/([0-9]{4,})/(about\.yaml|body\.[a-z0-9]{1,16})\Z"
PATH = re.compile(rf"artifacts/(?:[0-9a-f]{{2}})/{_VERSION}")
_FIRST = re.compile(rf"artifacts/{_VERSION}")  # in stores of the first format
_BUCKET = re.compile(r"[0-9a-f]{2}\Z")
_NUMBER = re.compile(r"[0-9]{4,}\Z")


def folder(name: str, number: int) -> str:
    """The folder of a version."""
    return f"{versions(name)}/{number:04}"


def versions(name: str) -> str:
    """The folder of a name's versions."""
    return f"{FOLDER}/{names.bucket(name)}/{name}"


def lies_right(path: str, match: re.Match[str]) -> bool:
    """Whether a file of a version lies in the folder of its name's hash."""
    return path == f"{folder(match[1], int(match[2]))}/{match[3]}"


def _first(path: str) -> str | None:
    match = PATH.match(path)
    right = match and names.valid(match[1]) and lies_right(path, match)
    return f"{FOLDER}/{match[1]}/{match[2]}/{match[3]}" if match and right else None


def _now(path: str) -> str | None:
    match = _FIRST.match(path)
    if match is None or not names.valid(match[1]):
        return None
    return f"{versions(match[1])}/{match[2]}/{match[3]}"


def _names(lies: Names, below: str) -> Iterable[str]:
    """The names in a folder. Of what lies side by side in `artifacts/` the first format's are names
    and hold versions; the others are two hex digits and hold names. (A name may be two hex digits
    as well.)"""
    _, *parts = below.split("/")
    if not parts:
        return {hh for name in lies(FOLDER) for hh in _folders_of(lies, name)}
    if len(parts) == 1:
        inner = [name for name in lies(below) if not _is_version(lies, f"{below}/{name}")]
        early = (name for name in lies(FOLDER) if _bucket(name) == parts[0])
        return {*inner, *(name for name in early if _is_first(lies, name))}
    if parts[0] != _bucket(parts[1]):
        return lies(below)
    first = "/".join([FOLDER, *parts[1:]])
    early = (name for name in lies(first) if len(parts) > 2 or _is_version(lies, f"{first}/{name}"))
    return {*lies(below), *early}


def _bucket(name: str) -> str:
    """The folder of a name; empty for what is none, and lies there by hand."""
    return names.bucket(name) if names.valid(name) else ""


def _folders_of(lies: Names, name: str) -> Iterator[str]:
    if _BUCKET.match(name):
        yield name
    if names.valid(name) and _is_first(lies, name):
        yield _bucket(name)


def _is_first(lies: Names, name: str) -> bool:
    """Whether what lies in `artifacts/` is a name of the first format."""
    inner = lies(f"{FOLDER}/{name}")
    return any(_is_version(lies, f"{FOLDER}/{name}/{version}") for version in inner)


def _is_version(lies: Names, path: str) -> bool:
    """Whether a folder is a version: it holds files, and no further folders."""
    number = path.rpartition("/")[2]
    return bool(_NUMBER.match(number)) and any("." in name for name in lies(path))


LAYOUT = Layout(_first, _now, _names)

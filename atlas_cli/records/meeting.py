"""Whether a section of the status concerns who is about to write another one."""

from __future__ import annotations

from collections.abc import Collection

from ..model import names
from .parts import Part

MOST = 12  # files that a section names; of more, their folders


def meets(part: Part, readers: Collection[str], about: Collection[str]) -> str:
    """What a section has to do with a session and the files that its own section is about, in
    words; empty if nothing. readers: the session, what it descends from, its tasks."""
    for name in part.to:
        if name == "all" or name.partition(":")[2] in readers or name in readers:
            return f"a section is addressed to {'all' if name == 'all' else 'you'}"
        if any(names.overlap(name, f"path:{path}") for path in about):
            return f"a section is addressed to who is on {name.removeprefix('path:')}"
    for path in part.on:
        for own in about:
            if names.overlap(f"path:{path.rstrip('/')}", f"path:{own.rstrip('/')}"):
                return f"a section is about {path}, as yours is"
    return ""


def files(paths: Collection[str]) -> tuple[str, ...]:
    """The files as a section names them: at most twelve; of more, their folders."""
    if len(paths) <= MOST:
        return tuple(sorted(paths))
    folders = {path.rpartition("/")[0] + "/" for path in paths if "/" in path}
    return tuple(sorted(folders)[:MOST])

"""The launcher, `.atlas/atlas`: this Atlas for shells where `atlas` is not on PATH, or is another
tool."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from ..store.files import Folder

_PACKAGE = os.fspath(Path(__file__).parents[2])  # the folder that `atlas_cli` lies in
_TEXT = """#!/bin/sh
# The Atlas that ran here last. Written by Atlas, and written anew when another one runs here.
if [ ! -x {python} ] || [ ! -e {package}/atlas_cli/main.py ]; then
    echo "atlas: error (environment): the Atlas that ran here is gone;" \\
        "install atlas-cli, then run: atlas view" >&2
    exit 1
fi
of=main
[ "$1" != hook ] || {{ of=hook; shift; }}
exec {python} -P -c 'import sys
where, of = sys.argv.pop(1), sys.argv.pop(1)
sys.path[:0] = [where] * (where not in sys.path)
__import__("atlas_cli." + of, fromlist=["run"]).run()' {package} "$of" "$@"
"""


def name() -> str:
    """The Atlas that runs here, as one line. It does not name the interpreter's file: one
    environment has several."""
    text = f"{sys.prefix}, {_PACKAGE}".encode(errors="backslashreplace").decode()
    return text.replace("\n", "\\n")


def _text() -> bytes:
    text = _TEXT.format(python=shlex.quote(sys.executable), package=shlex.quote(_PACKAGE))
    return os.fsencode(text)


def lies(file: Path) -> bool:
    """Whether a file is the launcher of the Atlas that runs here, and not one that a project
    brought under its name."""
    if file.parent.is_symlink() or file.is_symlink() or not os.access(file, os.X_OK):
        return False
    with file.open("rb") as program:
        return program.read(10_000) == _text()


def put(folder: Folder) -> None:
    """Puts the launcher of the Atlas that runs here into a folder, unless it is there already."""
    if not sys.executable:
        return
    data, file = _text(), folder.look("atlas")
    if folder.read("atlas", 10_000) != data or (file and file.st_mode & 0o777 != 0o555):
        folder.put("atlas", data, 0o555)

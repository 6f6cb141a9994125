"""The hooks of the user's repository: where git runs them, what stands there, and Atlas's section
in and out again.

A hook in a shell's language keeps its file, and the section goes in behind its first line: `$0` and
its folder stay what they were. Every other one (a binary, Python, a link, one that is not
executable) moves to `before-atlas/`, under its own name; the section ends by going on to it."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from ..errors import Failed, Refused
from ..store import files, ground
from ..store.git import Git
from ..store.repo import Repo, home
from . import NAMES, managers

VERSION = "2"  # of the section's text
ASIDE = "before-atlas"
UNREACHED = "there is no atlas-hook on PATH, where they look"
_ALONE = b"#!/bin/sh\n"
# alone: nothing else is in the file; kept: it goes on to the hook aside; within: the rest is
# somebody else's.
_SECTION = re.compile(
    rb"# >>> atlas (\S+) (alone|kept|within) >>>[^\n]*\n(?:(?!# >>> atlas ).)*?\n# <<< atlas <<<\n",
    re.DOTALL,
)
_MOVED = (".legacy", ".old")  # what others call the hook that stood where theirs goes
_NAMED = re.compile(rb"\[ -x ('(?:[^']|'\\'')*') \]")
# A script that reads its own text, or runs it in another language, would meet ours there.
_READS_ITSELF = re.compile(
    rb"^[^#\n]*\b(?:exec|tail|head|sed|awk|perl|python3?)\b(?:(?!name)[^\n])*[\" ]\$\{?0\}?[\" \n]",
    re.MULTILINE,
)

_DIRECT = """\
  if [ -x %(python)s ] && [ -f %(hook)s ]; then exec %(python)s -I -S %(hook)s %(name)s "$@"; fi
"""
_ASK = """\
  if command -v atlas-hook >/dev/null 2>&1; then
    atlas-hook %(name)s "$@" && exit 0 || atlas_code=$?
    case $atlas_code in 126 | 127) ;; *) exit $atlas_code ;; esac
  fi
  atlas_do="install it, then run atlas hooks install,"
  if [ -x .atlas/atlas ] && ! git ls-files --error-unmatch .atlas/atlas >/dev/null 2>&1; then
    atlas_do="run .atlas/atlas hooks install,"
  fi
  %(say)s "atlas: this hook finds no Atlas on PATH: $atlas_do or take its lines out of $0" >&2
  exit %(missing)s
"""
# (No file: there may be no room for one, and then neither Atlas nor the other would be told.)
_TEE = """\
atlas_in=$(cat)
if [ -z "$atlas_in" ]; then
  (atlas_hook "$@" </dev/null) || exit $?
  exec </dev/null
else
  (atlas_hook "$@") <<ATLAS_IN || exit $?
$atlas_in
ATLAS_IN
  exec <<ATLAS_IN
$atlas_in
ATLAS_IN
fi
"""
_GO_ON = (
    'if [ -x "${0%%/*}/%(aside)s/%(name)s" ]; then exec "${0%%/*}/%(aside)s/%(name)s" "$@"; fi\n'
)


class HookFile(NamedTuple):
    """How one hook stands. `state` is installed, outdated, missing (its interpreter is), off (not
    executable), shadowed, foreign, absent, or `by TOOL`. `kept` is the file with the hook that was
    there before."""

    name: str
    state: str
    path: str
    kept: str = ""
    text: str = ""
    version: str = ""

    @property
    def lacking(self) -> bool:
        """Whether git runs no Atlas here."""
        return self.state in ("absent", "foreign", "missing", "off", "shadowed")


class HookFiles:
    """The hooks that git runs in one worktree."""

    def __init__(self, place: Repo, closed: bool = False) -> None:
        self.place, self.closed = place, closed
        self.top = place.top or place.common
        self.python, self.program = sys.executable, str(Path(__file__).parents[1] / "hook.py")
        if fleeting(self.python, self.top) or fleeting(self.program, self.top):
            self.python = ""
        git = Git(None, cwd=str(self.top), hermetic=False)
        git.flags = ()  # what is asked is where the user's own hooks are
        self.folder = Path(
            os.fsdecode(git.run("rev-parse", "--path-format=absolute", "--git-path", "hooks")[:-1])
        )

    @property
    def ours(self) -> bool:
        """Whether the folder serves this repository alone: it lies in the git directory or in the
        worktree."""
        return any(
            self.folder.resolve().is_relative_to(top.resolve())
            for top in (self.place.common, self.top)
        )

    @cached_property
    def owner(self) -> str:
        """The program that owns the folder of the hooks; empty if git does."""
        return managers.owner(self.folder, self.top, self.place.common)

    def section(self, name: str, kind: str) -> bytes:
        """The text that is put in."""
        words: dict[str, str | int] = {
            "name": name,
            "aside": ASIDE,
            "missing": int(self.closed and name[:4] != "post"),
        }
        # One line for each thing that a user does, though several hooks may run for it.
        speaks = name in ("pre-commit", "pre-merge-commit", "pre-push") or words["missing"]
        words["say"] = "echo" if speaks else ":"
        words |= {"python": _quoted(self.python), "hook": _quoted(self.program)}
        head = (
            f"# >>> atlas {VERSION} {kind} >>> by `atlas hooks install`; `atlas hooks remove` takes"
            " it out\n"
        )
        # Lines that others add to the file behind it run too. git gives two hooks lines to read:
        # both Atlas and those are given them.
        call = _TEE if name in ("pre-push", "post-rewrite") else '(atlas_hook "$@") || exit $?\n'
        direct = _DIRECT % words if self.python else ""
        ask = f"atlas_hook() {{\n{direct}{_ASK % words}}}\n"
        tail = _GO_ON % words if kind == "kept" else ""
        return os.fsencode(f"{head}{ask}{call}{tail}# <<< atlas <<<\n")

    def status(self) -> list[HookFile]:
        """The state of each hook's file."""
        return [self._state(name) for name in NAMES]

    def install(self) -> list[HookFile]:
        """Puts the section into each hook, or brings it up to date."""
        self._own_way()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Failed(
                f"no hook can be put into {self.folder}: {error.strerror}",
                "core.hooksPath names it",
            ) from None
        # One script under several names tells by `$0` which it is: it stays one, and whole.
        links = [file for file in map(self.folder.joinpath, NAMES) if file.is_symlink()]
        shared = {os.readlink(file) for file in links}  # noqa: PTH115
        for name in NAMES:
            if not self._state(name).state.startswith("by "):
                self._put(name, name in shared)
        return self.status()

    def write(self) -> list[Path]:
        """Puts Atlas into the files of the folder's owner; those that it wrote."""
        self._own_way()
        return managers.write(self.owner, self.folder, self.top)

    def remove(self) -> list[HookFile]:
        """Takes the section out of each hook, and puts back what was there before. It looks into
        the standard folder too, even if git no longer does."""
        self._own_way()
        managers.unwrite(self.folder, self.top)
        for folder in {self.folder, self.place.common / "hooks"}:
            for name in NAMES:
                moved = (folder / f"{name}{ending}" for ending in _MOVED)
                ours = [file for file in moved if _SECTION.search(managers.content(file) or b"")]
                for file in (*ours, folder / name):
                    self._take(file, folder / ASIDE / name)
            if (folder / ASIDE).is_dir() and not any((folder / ASIDE).iterdir()):
                (folder / ASIDE).rmdir()
        return self.status()

    def _own_way(self) -> None:
        """Raises Refused if a link that the project brings leads to the folder: it may lead into
        files of the user's, or into other repositories."""
        git = Git(None, cwd=str(self.top), hermetic=False)
        git.flags = ()
        named = os.fsdecode(git.ask("config", "--type=path", "-z", "core.hooksPath")[1][:-1])
        if link := ground.brought(self.place, self.top, named):
            raise Refused(
                f"core.hooksPath leads through {link}, a link that git tracks: no hook is written"
                " behind it",
                f"git config core.hooksPath {_quoted(str(self.folder))}"
                " names its target itself, if that is what you want",
                code="link",
            )

    def _state(self, name: str) -> HookFile:
        """How a hook stands."""
        file = _file(self.folder, name)
        data = managers.content(file) or b""
        section = _SECTION.search(data)
        if section is None:
            return self._state_without(name, file, data)
        kind = _kind(data, section)
        before = self._before(name, file, kind)
        state, text = "installed", ""
        if kind == "kept" and before and not os.access(before, os.X_OK):
            text = "the one that was there is not executable, and not run"
        if not os.access(file, os.X_OK):
            state, text = "off", "not executable: git does not run it until chmod +x"
        elif section[0] != self.section(name, kind):
            state, text = _outdated(section[0])
        elif not self.python and shutil.which("atlas-hook") is None:
            state, text = "missing", UNREACHED
        return HookFile(name, state, str(file), before, text, section[1].decode())

    def _state_without(self, name: str, file: Path, data: bytes) -> HookFile:
        """How a hook stands in which there is no section of ours."""
        aside = self.folder / ASIDE / name
        if by := managers.calling(name, data, self.owner, self.top):
            return HookFile(name, f"by {by}", str(file))
        exists = os.path.lexists(file)
        standard = managers.content(self.place.common / "hooks" / name) or b""
        if not exists and _SECTION.search(standard):
            text = f"core.hooksPath: git looks in {self.folder} only"
            return HookFile(name, "shadowed", str(file), text=text)
        moved = file.with_name(f"{name}.old")
        idle = moved if _SECTION.search(managers.content(moved) or b"") else aside
        text = f"{idle} is not run" if os.path.lexists(idle) else ""
        return HookFile(name, "foreign" if exists else "absent", str(file), text=text)

    def _before(self, name: str, file: Path, kind: str) -> str:
        """The file with the hook that was there before the section; empty if there was none."""
        aside = self.folder / ASIDE / name
        if kind == "within":
            return str(file)
        return str(aside) if kind == "kept" and os.path.lexists(aside) else ""

    def _put(self, name: str, shared: bool) -> None:
        """Puts the section into one hook. `shared`: its file is one script under several names."""
        file, aside = _file(self.folder, name), self.folder / ASIDE / name
        data = managers.content(file)
        section = _SECTION.search(data or b"")
        shell = managers.SHELL.match(data or b"")
        if data is not None and section:
            ours = self.section(name, _kind(data, section))
            _write(file, data[: section.start()] + ours + data[section.end() :])
        elif data is not None and shell and _plain(file, data) and not shared:
            _write(file, shell[0] + self.section(name, "within") + data[shell.end() :])
        elif file.is_dir() or (os.path.lexists(file) and os.path.lexists(aside)):
            return  # what is in the way is named by its state
        else:
            if os.path.lexists(file):
                _made(aside.parent)
                _move(file, aside, "../")
            kind = "kept" if os.path.lexists(aside) else "alone"
            _write(file, _ALONE + self.section(name, kind))

    def _take(self, file: Path, aside: Path) -> None:
        """Takes the section out of one file, and puts back the hook that was kept aside."""
        data = managers.content(file) or b""
        section = _SECTION.search(data)
        if aside.parent.is_symlink():
            raise Failed(
                f"{aside.parent} is a link: what was kept there is not known", "take it away"
            )
        if section and (_kind(data, section) == "within" or _rest(data, section) != _ALONE):
            _write(file, _rest(data, section))
            self._take(file, aside)  # (somebody may have put it in twice)
        elif os.path.lexists(aside) and (section or not os.path.lexists(file)):
            _move(aside, file, "")
        elif section:
            file.unlink()


def unfinished_hook(file: Path) -> bool:
    """Whether a file is a hook with Atlas's section that an earlier version did not get to put in
    place: NAME.PROCESS."""
    name, _, number = file.name.rpartition(".")
    ours = name in NAMES and re.fullmatch(r"\d{1,7}", number)
    return bool(ours and _SECTION.search(managers.content(file) or b""))


def fleeting(file: str, top: Path) -> bool:
    """Whether a program's file lies where it may soon be gone, or be another: below the worktree,
    in a temporary folder or in a cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or home() / ".cache")
    folders = (top, cache, home() / "Library/Caches", Path(tempfile.gettempdir()), Path("/var/tmp"))
    return any(Path(file).is_relative_to(folder) for folder in folders)


def _outdated(section: bytes) -> tuple[str, str]:
    """The state of a section that is not the present one, and why."""
    named = _NAMED.search(section)
    if named is None:
        return "outdated", "it finds Atlas by PATH"
    python = os.fsdecode(named[1][1:-1].replace(b"'\\''", b"'"))
    if not os.access(python, os.X_OK):
        return "missing", f"there is no {python}"
    return "outdated", f"it names {python}"


def _rest(data: bytes, section: re.Match[bytes]) -> bytes:
    return data[: section.start()] + data[section.end() :]


def _kind(data: bytes, section: re.Match[bytes]) -> str:
    """A section's kind. If it was alone, and somebody added lines to the file, it must let them
    run."""
    kind = section[2].decode()
    return "within" if kind == "alone" and _rest(data, section) != _ALONE else kind


def _file(folder: Path, name: str) -> Path:
    """A hook's file. The pre-commit framework and prek run, as NAME.legacy, the hook that stood
    there before their own."""
    legacy, now = folder / f"{name}.legacy", managers.content(folder / name) or b""
    if now and not _SECTION.search(now) and _SECTION.search(managers.content(legacy) or b""):
        return legacy
    return folder / name


def _plain(file: Path, data: bytes) -> bool:
    """Whether a shell's script can have the section in it."""
    return os.access(file, os.X_OK) and b"\0" not in data and not _READS_ITSELF.search(data)


def _quoted(path: str) -> str:
    return "'" + path.replace("'", "'\\''") + "'"


def _write(file: Path, data: bytes) -> None:
    """Writes a hook whole or not at all, by one rename. A file that is there keeps its mode."""
    try:
        files.again(file, data, 0o777)
    except OSError as error:
        raise Failed(
            f"the hook {file} cannot be written: {error.strerror}", code="environment"
        ) from None


def _made(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    if folder.is_symlink():
        raise Failed(
            f"{folder} is a link: a hook was to be kept there", "take it away", code="environment"
        )


def _move(file: Path, to: Path, prefix: str) -> None:
    """Renames a hook. A relative link goes on leading where it led (`prefix`: the way from its new
    folder to the old one), or to another hook, which moves with it."""
    target = os.readlink(file) if file.is_symlink() else "/"  # noqa: PTH115 - to the byte
    if target.startswith("/") or target in NAMES:
        file.replace(to)
        return
    part = to.with_name(files.PART + os.urandom(8).hex())
    part.symlink_to(prefix + target if prefix else target.removeprefix("../"))
    part.replace(to)
    file.unlink()

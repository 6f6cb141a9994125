"""`atlas setup`: tells the AI tools of this repository about Atlas, in the files that they read."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from ..errors import NotFound, Refused, Usage, Violations
from ..outcome import Outcome, Table, listing
from ..setup import agents, claude
from ..setup.part import Part
from ..store import files
from . import env_of, single, verb

app = single()


# A new tool is a file in setup/, and an entry here.
TOOLS: dict[str, dict[str, Part]] = {"agents": agents.FILES, "claude": claude.FILES}


@verb(
    app,
    "setup",
    "atlas setup claude",
    6,
    7,
    9,
    limits=("a text that a tool reads is advice: only git's hooks stop anything",),
)
def setup(
    ctx: typer.Context,
    tool: Annotated[
        str | None, typer.Argument(metavar="agents|claude", help="For which tool.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit 9 unless all is current.")
    ] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Take out again what was put in.")
    ] = False,
    list_: Annotated[
        bool, typer.Option("--list", help="The tools, their files, and how these stand.")
    ] = False,
) -> Outcome:
    """Tell AI tools about Atlas: a marked block in AGENTS.md (agents: read by most tools) or
    CLAUDE.md (claude), and for Claude Code hooks in .claude/settings.json. Run again, it refreshes
    them; what else is there stays as it is.

    The hooks start each session with the digest, warn of an edit to what another leases, and give
    leases and claims back at the end. The file is the one that a team shares: where Atlas is not
    installed its hooks do nothing."""
    env = env_of(ctx)
    if not remove:
        _ = env.snapshot  # there is a store
    if (top := env.place.top) is None:
        raise Refused("a bare repository has no files to set up", "go into a worktree of it")
    if check + remove + list_ > 1 or (tool is None and (check or remove)):
        raise Usage(
            "say of one tool what to do", f"atlas setup {'|'.join(TOOLS)} [--check|--remove]"
        )
    if tool is not None and tool not in TOOLS:
        raise NotFound(
            f"there is no setup for {tool[:40]!r}", f"there is one for {', '.join(TOOLS)}"
        )
    files = [
        File.read(top, owner, name, part)
        for owner in ([tool] if tool else TOOLS)
        for name, part in TOOLS[owner].items()
    ]
    if tool is not None and not list_ and not check:
        return _answer(_changed(files, remove, top))
    rows = [file.row() for file in files]
    wrong = [f"{row['file']}: {row['state']}" for row in rows if row["state"] != "current"]
    if check and wrong:
        raise Violations(
            "; ".join(wrong), f"atlas setup {tool}", code="not_current", details={"items": rows}
        )
    return _answer(rows)


def _answer(rows: list[dict[str, Any]]) -> Outcome:
    table = Table(
        ("TOOL", "FILE", "STATE"), tuple((row["tool"], row["file"], row["state"]) for row in rows)
    )
    return Outcome(listing(rows), (table,))


class File(NamedTuple):
    """A file that a tool reads: its bytes (None: there is none), and what we keep in it."""

    tool: str
    name: str
    path: Path
    part: Part
    data: bytes | None

    @classmethod
    def read(cls, top: Path, tool: str, name: str, part: Part) -> "File":
        """The file of this name. A link inside the worktree is followed.

        Raises Refused if the name leads out of the worktree, or to a folder of git or Atlas."""
        path = (top / name).resolve()
        if {".git", ".atlas"} & {
            part.casefold() for part in path.parts[len(top.resolve().parts) :]
        }:
            raise Refused(
                f"{name} leads to {path}, which is no text of a project",
                "put a file of its own there",
            )
        if not path.is_relative_to(top.resolve()):
            raise Refused(
                f"{name} leads to {path}, outside this worktree", "put a file of its own there"
            )
        return cls(tool, name, path, part, path.read_bytes() if path.exists() else None)

    def current(self) -> bytes | None:
        """The file's bytes with our present text in them. Raises Refused if it cannot take it."""
        return self._asked(self.part.put, self.data)

    def without(self) -> bytes | None:
        """The file's bytes without our text; None if nothing is left. Raises Refused as `current`
        does."""
        return None if self.data is None else self._asked(self.part.take, self.data)

    def _asked(self, edit: Callable[[Any], bytes | None], data: bytes | None) -> bytes | None:
        try:
            return edit(data)
        except UnicodeDecodeError:
            raise Refused(
                f"{self.name} was left as it is: it is not UTF-8", "save it as UTF-8"
            ) from None
        except Refused as error:
            raise Refused(f"{self.name} was left as it is: {error.message}", error.hint) from None

    def may_become(self, new: bytes | None) -> None:
        """Raises Refused if the file would change and is read-only."""
        if new != self.data and self.data is not None and not self.path.stat().st_mode & 0o200:
            raise Refused(f"{self.name} is read-only", "make it writable, then try again")

    def row(self, state: str = "") -> dict[str, Any]:
        """The file's row in the answer: with the given state, or with the state in which it is
        now. A file that cannot be read has the reason as its state."""
        try:
            state = state or self._state()
        except Refused as error:
            state = error.message
        return {"tool": self.tool, "file": self.name, "state": state}

    def _state(self) -> str:
        """Whether our part of the file is current, missing or outdated."""
        current, bare = self.current(), self.without()
        if current == self.data:
            return "current"
        return "missing" if bare == self.data else "outdated"


def _changed(files: list[File], remove: bool, top: Path) -> list[dict[str, Any]]:
    """Puts our part into the files, or takes it out, and returns their rows.

    All files change or none: every refusal comes before the first write."""
    news = [(file, file.without() if remove else file.current()) for file in files]
    for file, new in news:
        file.may_become(new)
    rows = []
    for file, new in news:
        if new == file.data:
            rows.append(file.row("unchanged"))
            continue
        _put(file.path, new, top)
        rows.append(file.row("removed" if remove else "written"))
    return rows


def _put(file: Path, data: bytes | None, top: Path) -> None:
    """Writes these bytes to the file. None removes it, and its folder if that is empty then."""
    if data is None:
        file.unlink()
        if file.parent != top.resolve() and not any(file.parent.iterdir()):
            file.parent.rmdir()
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    files.again(file, data)

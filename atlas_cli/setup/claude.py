"""Claude Code: its CLAUDE.md, and its hooks in `.claude/settings.json`."""

from functools import partial
from typing import Any

from . import jsonc, marked_block
from .part import Part


def _hook(name: str, seconds: int, **more: str) -> dict[str, Any]:
    """A group of hooks for settings that a team shares: it runs this clone's launcher, else what is
    on PATH, else nothing. The launcher is the one in the git directory: the one in `.atlas/` may
    have come with the project's files."""
    find = (
        'd=$(git -C "${CLAUDE_PROJECT_DIR:-.}" rev-parse --path-format=absolute --git-common-dir'
        " 2>/dev/null)"
    )
    run = f'"$d/atlas/atlas" hook {name} 2>/dev/null || atlas-hook {name} 2>/dev/null || :'
    hook = {"type": "command", "command": f"{find}; {run}", "timeout": seconds}
    return {**more, "hooks": [hook]}


# By event, as its hooks reference has them. SessionStart without a matcher: startup, resume, clear,
# compact, fork and what will come. SessionEnd, not Stop, which fires at every turn; its hooks share
# 1.5 s unless one asks for more.
HOOKS = {
    "SessionStart": _hook("session-start", 30),
    "PreToolUse": _hook("edit", 10, matcher="Edit|Write|MultiEdit|NotebookEdit"),
    "SubagentStart": _hook("sub-agent-start", 10),
    "SubagentStop": _hook("sub-agent-stop", 10),
    "SessionEnd": _hook("session-end", 10),
}
FILES = {
    "CLAUDE.md": Part(marked_block.put, marked_block.take),
    ".claude/settings.json": Part(partial(jsonc.put, wanted=HOOKS), jsonc.take),
}

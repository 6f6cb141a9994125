"""Who is calling, where nobody says it: the AI tool's own session id, else the process that this command is run by."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

# Where an AI tool names its own session to the processes that it starts.
TOOLS = ("CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "GEMINI_CLI_SESSION_ID", "CURSOR_TRACE_ID", "OPENCODE_SESSION_ID")
# What only passes a command on: shells, git (`git atlas`), and what starts one program as another.
_SHELLS = "sh bash dash zsh fish ksh mksh ash csh tcsh busybox pwsh nu xonsh login"
_PASSING = """
git git-atlas atlas env sudo su doas timeout nice nohup setsid stdbuf script xargs time strace uv uvx pipx make just
"""
_PASSES_ON = frozenset((_SHELLS + _PASSING).split())
_DEPTH = 64


class Process(NamedTuple):
    """A process as it cannot be mistaken for another: its number is used again, its start is not."""

    name: str
    parent: int
    start: str


def caller() -> str | None:
    """A text that stays the same for one caller and differs between two; None where nothing tells."""
    for key in TOOLS:
        if value := os.environ.get(key):
            return f"{key}={value[:200]}"
    return _ancestor(os.getppid())


def _ancestor(pid: int) -> str | None:
    """The nearest ancestor that is no shell and not git."""
    for _ in range(_DEPTH):
        found = look(pid) if pid > 1 else None
        if found is None:
            return None
        if found.name.removeprefix("-") not in _PASSES_ON:
            return f"{found.name}:{pid}:{found.start}:{_boot()}"
        pid = found.parent
    return None


def look(pid: int) -> Process | None:
    """A process by its number; None where it cannot be seen."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except FileNotFoundError:
        return None if Path("/proc/self/stat").exists() else _by_ps(pid)
    except OSError:
        return None
    # pid (name) state ppid … start: the name may hold spaces and brackets.
    name, _, rest = stat.partition(b"(")[2].rpartition(b")")
    fields = rest.split()
    return Process(os.fsdecode(name), int(fields[1]), fields[19].decode()) if len(fields) > 19 else None


def _by_ps(pid: int) -> Process | None:
    """The same where there is no /proc (macOS)."""
    try:
        done = subprocess.run(
            ["ps", "-o", "ppid=,lstart=,comm=", "-p", str(pid)], capture_output=True, timeout=5, check=False
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    words = os.fsdecode(done.stdout).split(None, 6)
    if len(words) < 7 or not words[0].isdecimal():
        return None
    return Process(words[6].strip().rpartition("/")[2], int(words[0]), "-".join(words[1:6]))


def _boot() -> str:
    """This start of the machine."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""

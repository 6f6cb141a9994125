"""The caller of a command that does not say who it is: the AI tool's own session id, else the
process that the command is run by.

A hook asks this too: nothing is imported that costs anything."""

import os

# actor, the variable in which the tool names its own session to what it starts ("" where it has
# none), other marks.
TOOLS = (
    # Claude Code: the id, since 2.1.132, is the `session_id` that its hooks are given (its change
    # log).
    ("claude", "CLAUDE_CODE_SESSION_ID", "CLAUDECODE"),
    # Codex: codex-rs, protocol/src/shell_environment.rs; CODEX_SANDBOX is set in its sandbox only.
    ("codex", "CODEX_THREAD_ID", "CODEX_SANDBOX"),
    # Copilot CLI and coding agent: github/copilot-cli, changelog.md; COPILOT_AGENT: the terminals
    # of VS Code's agent.
    ("copilot", "COPILOT_AGENT_SESSION_ID", "COPILOT_CLI", "COPILOT_AGENT"),
    # Cursor's agent. Its CURSOR_TRACE_ID stands in every terminal of a window, also in a person's:
    # it tells nothing.
    ("cursor", "CURSOR_CONVERSATION_ID", "CURSOR_AGENT"),
    # Amp: ampcode.com/manual.
    ("amp", "AMP_CURRENT_THREAD_ID"),
    # Goose: aaif-goose/goose, pull request 7072.
    ("goose", "AGENT_SESSION_ID", "GOOSE_TERMINAL"),
    # Gemini CLI: its hooks reference; shell commands are given the mark only.
    ("gemini", "GEMINI_SESSION_ID", "GEMINI_CLI"),
    # opencode gives marks (packages/opencode/src/index.ts); the id comes from plugins that use its
    # `shell.env` hook.
    ("opencode", "OPENCODE_SESSION_ID", "OPENCODE"),
    # Qwen Code (packages/core, shellExecutionService.ts) and Augment (its CLI reference).
    ("qwen", "", "QWEN_CODE"),
    ("augment", "", "AUGMENT_AGENT"),
)
# What only passes a command on: shells, git (`git atlas`), and what starts one program as another.
_SHELLS = "sh bash dash zsh fish ksh mksh ash csh tcsh busybox pwsh nu xonsh login"
_PASSING = """
git git-atlas atlas env sudo su doas timeout nice nohup setsid stdbuf script xargs time strace
uv uvx pipx make just
"""
_PASSES_ON = frozenset((_SHELLS + _PASSING).split())
# What starts jobs that have nothing to do with each other: there, the caller is what it started.
_JOBS = (
    "cron crond fcron atd anacron systemd init launchd runsv s6-supervise supervisord tini"
    " dumb-init docker-init"
)
_STARTERS = frozenset(_JOBS.split())
_DEPTH = 64
# The name that a tool gives to its sub-agent. No tool tells its commands of it; its hooks do, and
# say to the sub-agent how to name itself.
AGENT = "ATLAS_AGENT"
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-@:")


def share(git: str) -> int:
    """The group may write what this process writes from now on, where git keeps it so in this git
    directory (`core.sharedRepository`). The mask before, or -1 if it stays."""
    if os.stat(git).st_mode & 0o2020 != 0o2020:  # noqa: PTH116
        return -1
    before = os.umask(0)
    os.umask(before & ~0o070)
    return before


def tool() -> str:
    """The AI tool that started this process, by its actor's name; empty if none did."""
    for actor, *keys in TOOLS:
        if any(key and os.environ.get(key) for key in keys):
            return actor
    # what tools that are not listed may say of themselves
    return os.environ.get("AI_AGENT", "")[:64]


def caller(hook: bool = False) -> str | None:
    """A text that stays the same for one caller and differs between two; None if nothing tells. A
    tool that runs in another tool inherits the variables of that one: all of them together name it.
    `hook`: in a git hook, the caller is who called git, whatever runs the hooks."""
    name = above(hook)
    return f"{name};{AGENT}={agent()}" if name and agent() else name


def above(hook: bool = False) -> str | None:
    """The caller without its sub-agent: the tool itself."""
    return ";".join(ids()) or _ancestor((hook and _above_git()) or os.getpid())


def ids() -> list[str]:
    """The ids that AI tools have given to what they started, as `VARIABLE=ID`."""
    return [
        f"{key}={value[:200]}" for _, key, *_ in TOOLS if key and (value := os.environ.get(key))
    ]


def agent() -> str:
    """The sub-agent that this command is run by; empty where none named itself."""
    return "".join(filter(_NAME.__contains__, os.environ.get(AGENT, "")))[:100]


def mark() -> str:
    """The words by which a printed command names the sub-agent that it is printed for; empty where
    none named itself."""
    return f"{AGENT}={agent()} " if agent() else ""


def by_id(caller: str) -> bool:
    """Whether a caller is known by the id that its tool gave it, and not by its process: it is the
    same one in each worktree."""
    return "=" in caller


def _above_git() -> int | None:
    """The parent of the nearest git."""
    pid = os.getppid()
    for _ in range(_DEPTH):
        process = look(pid) if pid > 1 else None
        if process is None or process[0] == "git":
            return process and process[1]
        pid = process[1]
    return None


def _ancestor(pid: int) -> str | None:
    """The nearest ancestor that is no shell and not git; under what starts jobs, the job: the last
    command of its shell may have taken that shell's place, so this process may be it. A name says
    nothing, programs change theirs."""
    below, me = None, os.getpid()
    for _ in range(_DEPTH):
        process = look(pid) if pid > 0 else None
        if process is None:
            return None
        name, parent, start = process
        if name not in _STARTERS:
            below = f"{pid}:{start}"
        if name in _STARTERS or (pid not in (1, me) and not passes_on(name)):
            return below and f"{below}:{boot()}"
        pid = parent
    return None


def passes_on(name: str) -> bool:
    """Whether a program only passes a command on: a shell, git, and what starts another program."""
    return name.removeprefix("-") in _PASSES_ON


def starts_jobs(name: str) -> bool:
    """Whether a program starts jobs that have nothing to do with each other."""
    return name in _STARTERS


def look(pid: int) -> tuple[str, int, str] | None:
    """(name, parent, start) of a process; None if it cannot be seen. Its number is used again, its
    start is not."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            stat = file.read()
    except FileNotFoundError:
        return None if os.path.exists("/proc/self/stat") else _by_ps(pid)  # noqa: PTH110
    except OSError:
        return None
    # pid (name) state ppid … start: the name may hold spaces and brackets.
    name, _, rest = stat.partition(b"(")[2].rpartition(b")")
    fields = rest.split()
    return (os.fsdecode(name), int(fields[1]), fields[19].decode()) if len(fields) > 19 else None


def _by_ps(pid: int) -> tuple[str, int, str] | None:
    """The same where there is no /proc (macOS)."""
    import subprocess

    try:
        done = subprocess.run(
            ["ps", "-o", "ppid=,lstart=,comm=", "-p", str(pid)],
            capture_output=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    words = os.fsdecode(done.stdout).split(None, 6)
    if len(words) < 7 or not words[0].isdecimal():
        return None
    return words[6].strip().rpartition("/")[2], int(words[0]), "-".join(words[1:6])


def boot() -> str:
    """This start of the machine."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""

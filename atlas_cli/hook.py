"""`atlas-hook NAME …`: what git calls. Run as a plain file by an isolated interpreter, it answers
from its cache where that is certain, and else calls the full program."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import os
import sys

TOOLS = (
    "session-start",
    "session-end",
    "edit",
    "sub-agent-start",
    "sub-agent-stop",
)  # what AI tools call
FETCH = "fetch"  # what a hook starts and does not wait for


def run() -> None:
    """The entry point. Until the whole program is loaded, Ctrl-C ends it without a word, as it ends
    git."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    if sys.argv[1:] in ([], ["-h"], ["--help"]):
        sys.stdout.write(_help())
        sys.exit(0)
    name, *args = sys.argv[1:]
    if name in TOOLS:
        _tool(name)
    if name == FETCH:
        _site()
        from atlas_cli.faces import fetch

        fetch.run(*args[:1])
        return
    # pre-push alone is told something; what it was given is handed on.
    given = sys.stdin.buffer.read() if name == "pre-push" else b""
    if not _quick(name, args, given):
        _full(name, args, given)


def _help() -> str:
    from atlas_cli.hooks import NAMES

    names = ", ".join(NAMES + TOOLS)
    return f"atlas-hook NAME …: git's entry to Atlas. NAME is one of {names}.\n"


def _quick(name: str, args: list[str], given: bytes) -> bool:
    try:
        from atlas_cli.hooks import quick

        passes = quick.quick(name, args, given)
        if name == "pre-commit":
            from atlas_cli.hooks import fetching

            fetching.start(quick.Here().home)
        return passes
    except Exception:  # noqa: BLE001 - the quick answer failed, whatever it was: the full one is asked
        return False


def _tool(name: str) -> None:
    """An AI tool's call. Nothing of it may fail the tool."""
    given = None
    try:
        from atlas_cli.hooks import tool

        given = tool.parsed(tool.read()) or {}
        tool.name_caller(given)
        if name == "edit" and tool.quick_edit(given):
            os._exit(0)
    except Exception:  # noqa: BLE001 - the quick answer failed, whatever it was: the full one is asked
        given = given or {}
    _site()
    from atlas_cli.faces import agent

    agent.run(name, given)


def _full(name: str, args: list[str], given: bytes) -> None:
    """The whole program: it knows all, and takes its time."""
    _site()
    try:
        import atlas_cli.commands.hook  # noqa: F401 - what it will call
        from atlas_cli import main
    except Exception as error:  # noqa: BLE001 - half an installation fails in many ways
        sys.stderr.write(
            f"atlas: it cannot be loaded ({error}), so this goes unjudged: install it anew\n"
        )
        return
    lines = ["--given", given.decode(errors="surrogateescape")] if name == "pre-push" else []
    sys.argv = ["atlas-hook", "hook", name, *lines, "--", *args]
    main.run()


def _site() -> None:
    """The packages that an isolated interpreter has left out."""
    if sys.flags.no_site:
        import site

        site.main()


if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    run()

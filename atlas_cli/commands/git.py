"""`atlas git ARGS…`: git in the store's own repository."""

import subprocess
from typing import Annotated

import typer

from ..errors import Usage
from ..outcome import Outcome
from . import env_of, single, verb

app = single()


_AS_GIVEN = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@verb(app, "git", "atlas git log --oneline -5", 7, terminal=True, context_settings=_AS_GIVEN)
def git(
    ctx: typer.Context, args: Annotated[list[str] | None, typer.Argument(metavar="ARGS…")] = None
) -> Outcome:
    """Run git in the store's own repository (a bare one, branch `atlas`); returns git's exit code.

    A commit that you write there by hand is judged like any other: atlas verify."""
    env = env_of(ctx)
    if env.options.json:
        raise Usage("git prints its own output: --json has no place here", "atlas log --json")
    argv = [
        "git",
        "-c",
        "advice.graftFileDeprecated=false",
        f"--git-dir={env.store.home / 'store.git'}",
        *(args or ["log", "--oneline", "-20"]),
    ]
    environ = {
        key: value for key, value in env.store.git.env.items() if key != "GIT_ALLOW_PROTOCOL"
    }
    code = subprocess.call(argv, env=environ)
    return Outcome(None, exit=128 - code if code < 0 else code)

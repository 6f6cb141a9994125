"""The full answer of a git hook, once the quick one was not certain. `atlas-hook` calls this, not
people."""

import contextlib
from typing import Annotated

import typer

from ..errors import AtlasError, Failed, NotFound, Usage
from ..hooks import facts
from ..hooks.handlers import HOOKS
from ..outcome import Outcome
from ..sharing.dealing import PUSHED, UNASKED
from . import env_of, single, verb

app = single()


@verb(app, "hook", "atlas-hook pre-commit", 4, 5, 6)
def hook(
    ctx: typer.Context,
    name: str,
    args: Annotated[list[str] | None, typer.Argument()] = None,
    given: str = "",
) -> Outcome:
    """The answer to a hook of git."""
    env = env_of(ctx)
    env.hooked = True
    env.dealing = PUSHED if name == "pre-push" else UNASKED
    if name not in HOOKS:
        raise Usage(f"there is no hook {name[:40]!r} here", f"the hooks are {', '.join(HOOKS)}")
    closed = False
    try:
        _ = env.store
    except NotFound:  # no store here: nothing to say
        return Outcome(None)
    try:
        if name != "pre-push" and facts.of(env).here.on_store():
            return Outcome(None)
        _ = facts.of(env).cache  # drawn for the next one
        HOOKS[name](env, args or [], given)
    except Exception as error:
        if isinstance(error, AtlasError) and not isinstance(error, Failed):
            raise
        with contextlib.suppress(AtlasError):
            closed = env.own["hooks_missing"] == "closed"
        if closed:
            raise
        why, hint = f"{type(error).__name__}: {error}", "please report it"
        if isinstance(error, Failed):
            why, hint = error.message, error.hint
        env.notices.append(
            f"Atlas could not judge this ({why}): it goes on unjudged. {hint}".strip()
        )
    return Outcome(None, facts.printed(env))

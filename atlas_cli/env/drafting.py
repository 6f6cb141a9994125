"""The drafts: a stop keeps the user's text, but no credential."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from ..answers.sessions import adopted
from ..errors import AtlasError
from ..model import secrets
from ..model.text import Record
from ..worktree.drafts import Drafts
from . import aim, who
from .env import Env


def drafts(env: Env) -> Drafts:
    """The texts that a stop or a hand edit left in this clone."""
    options = env.options
    aimed = aim.words(options)
    mine = f"{aimed} --session {options.session}" if options.session else aimed
    me = who.session_or_none(env)
    # (what is refused to a session that is over is its own all the same)
    owner = me["id"] if me else options.session or who.own(env) or ""
    here = None if aimed else Path(options.directory).absolute()
    return Drafts(_place(env), here, env.local, owner, mine)


def _place(env: Env) -> tuple[Path, Path]:
    """The folder of drafts: in git's own, or where git may not be written."""
    home, top = env.store.home, env.place.top
    return (top, home) if home == env.place.outbox and top else (home, home)


def every(env: Env) -> list[str]:
    """The files of all drafts of this clone, whosever they are."""
    return drafts(env).files()


def listed(env: Env, me: Record | None) -> list[dict[str, str]]:
    """The drafts of a session, of those that it has adopted, and of nobody."""
    if me is None:
        return drafts(env).listed(())
    return drafts(env).listed({me["id"], *adopted(env.ask, me["id"])})


def spoken_secret(env: Env) -> str | None:
    """The kind of credential that stands in the text that was given, or in the command itself."""
    return secrets.spoken(env.spoken[1] if env.spoken else b"", env.words)


def keep(env: Env, stop: AtlasError) -> None:
    """Keeps what a stop carries of the user's text. Raises Refused, whatever the stop was, for a
    credential in what was to be written."""
    credential = secrets.kept_by(stop) or (2 <= stop.exit <= 7 and spoken_secret(env))
    if credential:
        raise secrets.refusal(credential) from None
    try:
        drafts(env).keep(stop)
    except (AtlasError, OSError) as error:
        env.notices.append(f"the draft could not be kept: {error}")


def keep_spoken(env: Env, stop: AtlasError) -> None:
    """Keeps a text that came from no file, where a stop would lose it."""
    if env.spoken is None or stop.exit not in (1, 3, 4, 5, 6) or stop.code == "secret":
        return
    if credential := spoken_secret(env):
        lost = f"your text is not kept: it holds what looks like {credential}"
        stop.hint = f"{stop.hint}\n{lost}".lstrip()
        return
    with suppress(OSError):
        drafts(env).keep_spoken(stop, *env.spoken, env.words)


def settle(env: Env) -> None:
    """Takes away the draft that the text came from, once the text is in the history."""
    if env.source is not None:
        drafts(env).settle(env.source)
    if env.spoken is not None:
        drafts(env).settle_text(env.spoken[1])

"""The code that others have pushed and this clone has not fetched: how it is brought, and how old
what is known of it is."""

from __future__ import annotations

import time
from typing import NamedTuple

from ..checks.commits import Ahead
from ..model import times
from ..sharing.code import CodeCopy, refspecs
from ..sharing.freshness import NOTHING
from ..sharing.remote import Remote, find
from ..sharing.sharing import AWAY
from ..store.git import Git
from .env import Env

MORE = "code"  # what is beside an Env where more can be brought than the command has waited for
OLD = 600  # seconds after which a copy of the code is said to be old
_SETTINGS = r"^(branch\..*\.remote|remote\..*\.fetch)$"


class Copy(NamedTuple):
    """This clone's copy of a remote's code. `at`: as of when (0: it was never fetched). `why`: the
    reason why the remote was not heard now; empty if it was, a moment ago."""

    remote: str
    at: float
    why: str


def brought(env: Env) -> Copy | None:
    """The copy of the code, brought up to date if the remote answers. None if there is no
    remote."""
    if (source := _source(env)) is None:
        return None
    remote, specs = source
    wanted = remote._replace(wanted=env.dealing.look)
    look = CodeCopy(env.store).bring(wanted, specs, _unasked(env, remote))
    if look.more:
        env.beside[MORE] = True
    why = "" if env.options.offline else look.why
    return Copy(remote.name, max(look.at, _fetched(env, remote.name)), why)


def finish(env: Env) -> None:
    """Brings the code, however long it takes."""
    if (source := _source(env)) is not None:
        CodeCopy(env.store).finish(*source)


def _source(env: Env) -> tuple[Remote, list[str]] | None:
    """The remote whose code is copied, and the refspecs; None if there is none."""
    settings = _settings(env)
    remote = _remote(env, settings)
    if remote is None or remote.local or not remote.url or not env.place.common.is_dir():
        return None
    without = [pattern.replace("*", "atlas-*") for pattern in env.policy["outbox_refs"]]
    configured = settings.get(f"remote.{remote.name}.fetch", [])
    return remote, refspecs(remote.name, configured, [remote.branch, *without])


def ahead(env: Env) -> Ahead | None:
    """The commits that only the remote has, as far as they were brought. None if there are
    none."""
    copy = CodeCopy(env.store)
    tips = copy.tips()
    if not tips:
        return None
    git = Git(None, env.git.cwd, hermetic=False)
    git.env |= copy.lent()
    data = "\n".join([*tips, ""]).encode()
    code, out, _ = git.ask("rev-list", "--count", "--not", "--all", "--stdin", data=data)
    if code:  # it borrows what the user's repository has given up since
        copy.discard()
    return Ahead(git, tips) if not code and int(out) else None


def say(env: Env, copy: Copy | None, nothing: bool = False) -> None:
    """A notice of how old the copy of the code is, if that matters: the remote was not heard, or
    the copy is old. `nothing`: the answer is that nobody is there."""
    if copy is None:
        return
    age = max(0, int(env.now() - copy.at))
    if not copy.why and age <= (NOTHING if nothing else OLD):
        return
    old = f"is {times.span(age)} old" if copy.at else "was never fetched"
    why = f" ({copy.why})" if copy.why else ""
    env.notices.append(f"this clone's copy of {copy.remote}'s code {old}{why}: git fetch")


def _settings(env: Env) -> dict[str, list[str]]:
    """The settings that say where branches come from, and which are fetched."""
    out = env.git.ask("config", "--null", "--get-regexp", _SETTINGS)[1]
    settings: dict[str, list[str]] = {}
    for row in filter(None, out.decode(errors="surrogateescape").split("\0")):
        key, _, value = row.partition("\n")
        settings.setdefault(key, []).append(value)
    return settings


def _remote(env: Env, settings: dict[str, list[str]]) -> Remote | None:
    """The remote that the branch of this worktree comes from, else the store's."""
    _, out, _ = env.git.ask("symbolic-ref", "--quiet", "--short", "HEAD")
    branch = out.decode(errors="surrogateescape").strip()
    name = (settings.get(f"branch.{branch}.remote") or [""])[-1]
    known = env.sharing.known
    if name in ("", ".") or (known is not None and known.local):
        return known
    named = find(env.place, env.store.home, name)
    return named if named is not None and named.url else known  # (it may be an address)


def _unasked(env: Env, remote: Remote) -> str:
    """The reason why a remote is not asked: that is not wanted, or it gave the store no answer a
    moment ago. Empty if it is."""
    if env.options.offline:
        return "--offline was given"
    known = env.sharing.known
    away = time.time() - env.sharing.memory.get("away_at") < AWAY
    return "it gave no answer" if away and known and known.name == remote.name else ""


def _fetched(env: Env, remote: str) -> float:
    """The time of the user's own newest fetch; 0 if there was none."""
    marks = ("FETCH_HEAD", f"refs/remotes/{remote}", f"refs/remotes/{remote}/HEAD")
    files = [env.place.common / name for name in marks]
    return max((file.stat().st_mtime for file in files if file.exists()), default=0.0)

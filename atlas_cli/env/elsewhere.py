"""Other stores, for what several projects share: leases on some names. Of each this machine keeps a
copy of its own, with an Env on it, so that all that holds for a project's store holds there."""

from __future__ import annotations

import contextlib
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..answers import leases
from ..errors import AtlasError, Usage
from ..model import times
from ..model.change import Change, Decide, Writer
from ..model.text import Record
from ..model.tree import Tree
from ..records import routes, session
from ..records.board import assigning
from ..sharing import copies, parked
from ..sharing.dealing import EAGER, Dealing
from ..sharing.sharing import FETCH
from ..visible import named
from . import after, aim, writing
from .env import Env

_OF_GUEST = (
    "id",
    "actor",
    "began",
    "goal",
    "worktree",
    "branch",
    "class",
    "parent",
    "lineage",
    "lasts",
)
_ABOUT = ("sync", "log", "parked", "doctor", "verify", "init", "git")  # what is about a copy itself


class LeaseStore(NamedTuple):
    """The place where leases are kept: `env` is the command's own for the project's store, which
    has no `name`; elsewhere `guest` is the session's row as it is written there."""

    env: Env
    name: str = ""
    guest: Record | None = None

    def decided(self, decide: Decide, tree: Tree, who: Writer) -> Change:
        """The outcome of `decide` there, and the session that wrote it: elsewhere it is one from
        its first write on."""
        change = decide(tree, who)
        if not self.guest:
            return change
        return change._replace(
            files={**session.enter_as_guest(tree, who, self.guest), **change.files}
        )


def by_store(env: Env, wanted: Sequence[str], me: Record | None) -> dict[str, list[str]]:
    """The resources by the store that their leases are kept in (empty: the project's). A lease that
    `me` holds in the project's is in that one, wherever it would be taken now."""
    known = _routes(env)
    held = [row["resource"] for row in leases.held(env.ask, me["id"])] if me else []
    resources: dict[str, list[str]] = {}
    for resource in wanted:
        name = "" if resource in held else known.store(resource)
        resources.setdefault(name, []).append(resource)
    return resources


@contextlib.contextmanager
def opened(env: Env, name: str, me: Record | None) -> Iterator[LeaseStore]:
    """The place of the leases that go to this store."""
    if not name:
        yield LeaseStore(env)
        return
    url = _routes(env).url(name)
    with _env_on(env, copies.copy(name, url, env.options.offline), me) as other:
        env.elsewhere = other
        yield LeaseStore(other, name, _guest(env, me) if me else None)


@contextlib.contextmanager
def kept_in(env: Env, name: str, me: Record) -> Iterator[LeaseStore]:
    """One of the other stores, for a part of what the command does."""
    url = _routes(env).url(name)
    with _env_on(env, copies.copy(name, url, env.options.offline), me) as other:
        yield LeaseStore(other, name, _guest(env, me))


def only_store(resources: dict[str, list[str]]) -> str:
    """The name of the one store that all these resources go to. Raises Usage if there are
    several."""
    if len(resources) > 1:
        parts = "; ".join(
            f"{', '.join(some)} {f'in {name}' if name else 'here'}"
            for name, some in resources.items()
        )
        raise Usage(
            f"these leases are kept in several stores, and cannot be had all or none: {parts}",
            "one command for each of them",
        )
    return next(iter(resources))


def _routes(env: Env) -> routes.Routes:
    return routes.of(env.policy, env.own)


class StoreReport(NamedTuple):
    """The state of a store that something is shared through: `as_of` is when it last answered,
    `error` why nothing newer, or nothing at all, is known of it."""

    store: str
    patterns: list[str]
    url: str = ""
    as_of: str | None = None
    error: str = ""

    def line(self) -> str:
        """The report on one line."""
        patterns = ", ".join(map(named, self.patterns))
        what = f"{patterns}: shared through {self.store}" if self.store else "what is shared"
        known = (
            f" ({self.url}), as of {times.ago(times.moment(self.as_of), int(time.time()))}"
            if self.as_of
            else ""
        )
        return (
            what
            + (known or ", of which nothing is known here")
            + (f": {self.error}" if self.error else "")
        )


def survey(
    env: Env, rows: Callable[[Env], list[Record]], ask: bool = True, look: bool = False
) -> tuple[list[Record], list[StoreReport]]:
    """The leases that `rows` gives for each store that something is shared through, each with its
    `store` and the holder's `project`; and what is known of each store. `ask`: it is asked where
    its copy is old; `look`: always."""
    try:
        known = _routes(env)
    except AtlasError as error:
        return [], [StoreReport("", [], error=error.message)]
    leases: list[Record] = []
    reports = []
    for name, patterns in known.used().items():
        try:
            url = known.url(name)
            folder = copies.copy(name, url, env.options.offline, FETCH if ask else 0)
            with _env_on(env, folder, None) as other:
                other.dealing = Dealing(asks=ask, look=look)
                leases += [
                    {**row, "store": name, "project": _project(other, row["holder"])}
                    for row in rows(other)
                    if "resource" in row and known.store(row["resource"]) == name
                ]
                other.notices += [
                    f"PARKED, others were first: {row['subject']}: atlas parked"
                    for row in parked.rows(other.store, other.index)
                ]
                reports.append(_report(other, name, patterns, url))
        except AtlasError as error:
            reports.append(StoreReport(name, patterns, error=error.message))
    return leases, reports


def _report(other: Env, name: str, patterns: list[str], url: str) -> StoreReport:
    as_of, memory = other.sharing.fetched_at(), other.sharing.memory
    silent = memory.get("away_at") > memory.get("fetched_at")
    return StoreReport(name, patterns, url, as_of, "it gave no answer since" if silent else "")


def everywhere(env: Env, me: Record, whose: str, decide: Decide) -> list[str]:
    """A write of the session `me` in each store of which this machine has a copy that knows the
    session `whose`; the leases that it changed. A notice tells what cannot be done there, or is
    seen by nobody."""
    changed = []
    for folder in copies.every():
        name = folder.name.rpartition("-")[0]
        try:
            with _env_on(env, folder, me) as other:
                if other.snapshot.blob(session.path_of(whose)) is None:
                    continue
                guest = None if whose == me["id"] else _guest(env, me)
                other.dealing = EAGER
                decided = partial(LeaseStore(other, name, guest).decided, decide)
                rows = writing.records(other, writing.write(other, decided, me, ""))
                changed += [f"{row['resource']} ({name})" for row in rows if "resource" in row]
                if not other.sharing.published:
                    other.notices.append(
                        f"NOT PUBLISHED, nobody else can see it: {other.sharing.why}: atlas sync"
                    )
        except AtlasError as error:
            env.notices.append(error.message)
    return changed


def leave(
    env: Env, me: Record, keep: Sequence[str] = (), over: bool = True, goal: int | None = None
) -> list[str]:
    """Gives back what the session holds elsewhere, but what it is to `keep` and what is held for a
    command that runs. `over`: it ends there too. `goal`: only what was taken for that goal. The
    result names what was given back."""

    def decide(tree: Tree, who: Writer) -> Change:
        return assigning.leave(
            tree, who, keep, over and "ended" not in session.get(tree, who.session), goal
        )

    return everywhere(env, me, me["id"], decide)


def _guest(env: Env, me: Record) -> Record:
    """A session's row for another store, with the project that it comes from."""
    project = env.policy["home"] or me.get("worktree") or env.policy["store"]
    return {key: me[key] for key in _OF_GUEST if key in me} | {"project": project}


def _project(other: Env, holder: str) -> str | None:
    try:
        return str(session.get(other.snapshot, holder).get("project", ""))[:200] or None
    except AtlasError:
        return None


@contextlib.contextmanager
def _env_on(env: Env, folder: Path, me: Record | None) -> Iterator[Env]:
    """An Env on a copy. Its notices are said with the store's name."""
    name = folder.name.rpartition("-")[0]
    other = Env(env.options._replace(directory=str(folder), session=me["id"] if me else None))
    other.__dict__["place"] = copies.place_of(folder)
    try:
        yield other
        after.answer(other)
    except AtlasError as error:
        error.message = _named_after(error.message, name, folder)
        error.hint = _about(error.hint, folder)
        if holder := error.details.get("holder"):
            project = _project(other, holder)
            error.details |= {"store": name, "project": project}
            error.message += (
                f" (of {named(project) if project else 'a project that it does not name'})"
            )
        raise
    finally:
        env.notices += [_named_after(line, name, folder) for line in other.notices]
        env.wrote = env.wrote or other.wrote
        other.close()


def _about(text: str, folder: Path) -> str:
    """A text whose commands about the copy itself run there."""
    return aim.at(f" -C {shlex.quote(str(folder))}", _ABOUT)(text)


def _named_after(line: str, name: str, folder: Path) -> str:
    return f"{name}: {_about(line.replace(f'{name}: ', ''), folder)}"

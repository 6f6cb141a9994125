"""Other stores, for what several projects share: leases on some names. Of each this machine keeps a
copy of its own, with an Env on it, so that all that holds for a project's store holds there."""

from __future__ import annotations

import contextlib
import re
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..errors import AtlasError, Damaged, Usage
from ..model import times
from ..model.change import Change, Decide, Writer
from ..model.text import Record
from ..model.tree import Tree
from ..records import routes, session
from ..records.board import assigning
from ..sharing import copies, parked
from ..sharing.dealing import EAGER, Dealing
from ..sharing.sharing import FETCH
from ..store.git import Git
from ..visible import named
from . import after, writing
from .env import Env

_TOLD = (
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
_ABOUT = re.compile(
    r"\batlas (?=(?:sync|log|parked|doctor|verify|init|git)\b)"
)  # what is about the copy itself


class There(NamedTuple):
    """Where leases are kept: `env` is the command's own for the project's store, which has no
    `name`; elsewhere `guest` is the session's row as it is written there."""

    env: Env
    name: str = ""
    guest: Record | None = None

    def decided(self, decide: Decide, tree: Tree, who: Writer) -> Change:
        """What `decide` does there, and the session that does it: elsewhere it is one from its
        first write on."""
        change = decide(tree, who)
        return (
            change._replace(files={**session.visit(tree, who, self.guest), **change.files})
            if self.guest
            else change
        )


def split(env: Env, wanted: Sequence[str], me: Record | None) -> dict[str, list[str]]:
    """The resources by the store that their leases are kept in (empty: the project's); what `me`
    holds in the project's is there, wherever it would be taken now."""
    known = _routes(env)
    held = [row["resource"] for row in env.ask.held(me["id"])] if me else []
    found: dict[str, list[str]] = {}
    for one in wanted:
        found.setdefault("" if one in held else known.store(one), []).append(one)
    return found


@contextlib.contextmanager
def at(env: Env, name: str, me: Record | None) -> Iterator[There]:
    """Where the leases are kept that go to this store."""
    if not name:
        yield There(env)
        return
    url = _routes(env).url(name)
    with _opened(env, copies.copy(name, url, env.options.offline), me) as there:
        env.elsewhere = there
        yield There(there, name, _guest(env, me) if me else None)


def alone(found: dict[str, list[str]]) -> str:
    """The one store of these; Usage where they are several."""
    if len(found) > 1:
        parts = "; ".join(
            f"{', '.join(some)} {f'in {name}' if name else 'here'}" for name, some in found.items()
        )
        raise Usage(
            f"these leases are kept in several stores, and cannot be had all or none: {parts}",
            "one command for each of them",
        )
    return next(iter(found))


def _routes(env: Env) -> routes.Routes:
    file = env.own_rules
    try:
        own = file.read_bytes()
    except FileNotFoundError:
        own = b""
    except OSError as error:
        raise Damaged(f"{file}: {error.strerror}", "mend it or remove it") from None
    return routes.of(env.policy, own, str(file))


class Look(NamedTuple):
    """What is known of a store that something is shared through: `as_of` is when it last answered,
    `error` why nothing newer, or nothing at all, is known of it."""

    store: str
    patterns: list[str]
    url: str = ""
    as_of: str | None = None
    error: str = ""

    def line(self) -> str:
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


def looked(
    env: Env, found: Callable[[Env], list[Record]], ask: bool = True, look: bool = False
) -> tuple[list[Record], list[Look]]:
    """The leases that `found` finds in each store that something is shared through, each with its
    `store` and the holder's `project`; and what is known of each store. `ask`: it is asked where
    its copy is old; `look`: always."""
    try:
        known = _routes(env)
    except AtlasError as error:
        return [], [Look("", [], error=error.message)]
    items: list[Record] = []
    looks = []
    for name, patterns in known.used().items():
        try:
            url = known.url(name)
            with _opened(
                env, copies.copy(name, url, env.options.offline, FETCH if ask else 0), None
            ) as there:
                there.dealing = Dealing(asks=ask, look=look)
                rows = [
                    row
                    for row in found(there)
                    if "resource" in row and known.store(row["resource"]) == name
                ]
                items += [
                    {**row, "store": name, "project": _project(there, row["holder"])}
                    for row in rows
                ]
                there.notices += [
                    f"PARKED, others were first: {one['subject']}: atlas parked"
                    for one in parked.rows(there.store, there.index)
                ]
                as_of, why = there.sharing.fetched_at(), there.sharing.memory
                silent = why.get("away_at") > why.get("fetched_at")
                looks.append(
                    Look(name, patterns, url, as_of, "it gave no answer since" if silent else "")
                )
        except AtlasError as error:
            looks.append(Look(name, patterns, error=error.message))
    return items, looks


def everywhere(env: Env, me: Record, whose: str, decide: Decide) -> list[str]:
    """A write of the session `me` in each store of which this machine has a copy that knows the
    session `whose`; the leases that it changed. What cannot be done there, or is seen by nobody, is
    said."""
    found = []
    for folder in copies.every():
        name = folder.name.rpartition("-")[0]
        try:
            with _opened(env, folder, me) as there:
                if there.snapshot.blob(session.place(whose)) is None:
                    continue
                guest = None if whose == me["id"] else _guest(env, me)
                there.dealing = EAGER
                done = writing.write(
                    there, partial(There(there, name, guest).decided, decide), me, ""
                )
                found += [
                    f"{row['resource']} ({name})"
                    for row in writing.records(there, done)
                    if "resource" in row
                ]
                if not there.sharing.published:
                    there.notices.append(
                        f"NOT PUBLISHED, nobody else can see it: {there.sharing.why}: atlas sync"
                    )
        except AtlasError as error:
            env.notices.append(error.message)
    return found


def leave(env: Env, me: Record, kept: Sequence[str] = (), over: bool = True) -> list[str]:
    """Gives back what the session holds elsewhere, but what is `kept` or held for a command that
    runs; `over`: it ends there too. What was given back."""

    def decide(tree: Tree, who: Writer) -> Change:
        return assigning.leave(
            tree, who, kept, over and "ended" not in session.get(tree, who.session)
        )

    return everywhere(env, me, me["id"], decide)


def _guest(env: Env, me: Record) -> Record:
    """A session's row for another store, with the project that it comes from."""
    project = env.policy["home"] or me.get("worktree") or env.policy["store"]
    return {key: me[key] for key in _TOLD if key in me} | {"project": project}


def _project(there: Env, holder: str) -> str | None:
    try:
        return str(session.get(there.snapshot, holder).get("project", ""))[:200] or None
    except AtlasError:
        return None


@contextlib.contextmanager
def _opened(env: Env, folder: Path, me: Record | None) -> Iterator[Env]:
    """An Env on a copy. What it has to say is said with the store's name."""
    name = folder.name.rpartition("-")[0]
    there = Env(
        env.options._replace(directory=str(folder), session=me["id"] if me else None), Git.watch
    )
    there.__dict__["place"] = copies.place_of(folder)
    try:
        yield there
        after.answer(there)
    except AtlasError as error:
        error.message, error.hint = _said(error.message, name, folder), _about(error.hint, folder)
        if holder := error.details.get("holder"):
            project = _project(there, holder)
            error.details |= {"store": name, "project": project}
            error.message += (
                f" (of {named(project) if project else 'a project that it does not name'})"
            )
        raise
    finally:
        env.notices += [_said(line, name, folder) for line in there.notices]
        env.wrote = env.wrote or there.wrote
        there.close()


def _about(text: str, folder: Path) -> str:
    """A text whose commands about the copy itself run there."""
    return _ABOUT.sub(lambda _: f"atlas -C {shlex.quote(str(folder))} ", text)


def _said(line: str, name: str, folder: Path) -> str:
    return f"{name}: {_about(line.replace(f'{name}: ', ''), folder)}"

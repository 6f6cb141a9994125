"""`atlas hooks`: Atlas in the git hooks, beside what is there."""

import os
from typing import Annotated, Any

import typer

from ..env.env import Env
from ..errors import AtlasError, Refused
from ..hooks import NAMES, managers
from ..hooks.install import UNREACHED, HookFiles
from ..outcome import Outcome, Table, listing
from . import env_of, limits, noun, shown, verb

app = noun("status")

WRITES = "atlas hooks install --write puts Atlas into"
EVERY = ", ".join(NAMES)
ADD = {
    "husky": (
        f"husky writes them: {WRITES} its files, which git tracks; by hand, these two lines go to"
        f" the top of each of .husky/NAME ({EVERY})\n{managers.SH}"
    ),
    "git": (
        f"git tracks that folder: {WRITES} each hook in it, for everybody; by hand, these two lines"
        f" go to the top of each ({EVERY})\n{managers.SH}"
    ),
    "lefthook": (
        f"lefthook writes them: {WRITES} lefthook-local.yml; by hand, add to lefthook.yml for each"
        f" NAME ({EVERY})\n{managers.LEFTHOOK}"
    ),
}
THEN = {
    "husky": "commit them: they pass where Atlas is not installed",
    "git": "commit them: they pass where Atlas is not installed",
    "lefthook": "lefthook install brings it into the hooks; .gitignore keeps it yours",
}
SAYS = {
    "husky": "atlas hooks status says whether husky's own install has shadowed these",
    "lefthook": "lefthook install would move these aside: then atlas hooks install --write",
    "pre-commit": (
        "pre-commit install may write over these: atlas hooks status; or have it run Atlas: atlas"
        " help commits"
    ),
    "prek": "prek install may write over these: atlas hooks status",
}


@verb(app, "status", "atlas hooks", 7, limits=(limits.HOOKS,))
def status(ctx: typer.Context) -> Outcome:
    """The state of each hook that Atlas uses, in the folder where git looks for them."""
    env = env_of(ctx)
    hooks = HookFiles(env.place, _closed(env))
    states = hooks.status()
    if any(hook.lacking or hook.state == "outdated" for hook in states):
        env.notices.append(
            "atlas hooks install puts Atlas in where it is missing, and brings it up to date"
        )
    return _outcome(hooks, states)


@verb(app, "install", "atlas hooks install", 6, 7, limits=(limits.HOOKS,))
def install(
    ctx: typer.Context,
    write: Annotated[
        bool,
        typer.Option("--write", help="also into the files of husky, lefthook, a tracked folder"),
    ] = False,
) -> Outcome:
    """Put Atlas into the hooks that git runs here, in front of what is there: that still runs, as
    before.

    The folder is the one that git looks in; core.hooksPath is never changed. Nothing is written
    where another tool writes the hooks (husky, lefthook) or git tracks them, unless --write: exit 6
    says what to add there. A tool that will not install beside Atlas (git lfs): atlas hooks remove,
    then its own install, then this again."""
    env = env_of(ctx)
    return put(env, HookFiles(env.place, _closed(env)), write)


@verb(app, "remove", "atlas hooks remove", 7, limits=(limits.HOOKS,))
def remove(ctx: typer.Context) -> Outcome:
    """Take Atlas out of the hooks; what was there before is there again, to the byte. Works without
    a store too."""
    hooks = HookFiles(env_of(ctx).place)
    return _outcome(hooks, hooks.remove())


def put(env: Env, hooks: Any, write: bool = False) -> Outcome:
    """Installs the hooks.

    Raises Refused, with the lines to add, if another tool keeps them and its files are not to be
    written (`write`)."""
    state = {hook.state for hook in hooks.status()}
    if hooks.owner and not state <= {f"by {hooks.owner}", "by itself"}:
        if write:
            written = hooks.write()
            names = ", ".join(os.path.relpath(file, hooks.top) for file in written)
            env.notices.append(f"written: {names}; {THEN[hooks.owner]}")
            return _outcome(hooks, hooks.status())
        raise Refused(
            f"the hooks in {hooks.folder} are not Atlas's to write",
            ADD[hooks.owner],
            code="managed",
        )
    installed = hooks.install()
    env.notices += [
        SAYS[tool]
        for tool in managers.configured(env.place.top or env.place.common)
        if f"by {tool}" not in state
    ]
    if not hooks.ours:
        env.notices.append(
            f"{hooks.folder} serves other repositories too: without a store Atlas passes there"
        )
    return _outcome(hooks, installed)


def at_join(env: Env) -> tuple[list[dict[str, Any]], str]:
    """Installs the hooks where a store was made or joined: the items, and a line on them. It never
    fails, because the store is there already."""
    try:
        if env.own["hooks"] == "off":
            return [], f"no git hooks: {env.own_rules} says `hooks: off`"
        if env.place.top is None:
            line = (
                "no git hooks: nobody commits in a bare repository; in a worktree of it: atlas"
                " hooks install"
            )
            return [], line
        hooks = HookFiles(env.place, _closed(env))
        if not hooks.ours:
            line = (
                f"no git hooks: they lie outside this repository, in {hooks.folder}; atlas hooks"
                " install"
            )
            return [], line
        items = put(env, hooks).data["items"]
        by = "" if hooks.python else ", which find Atlas by PATH"
        return items, f"git hooks in {hooks.folder}{by}; atlas hooks remove takes them out"
    except AtlasError as error:
        return [], f"no git hooks: {error.message}\n{error.hint}"
    except OSError as error:
        return [], f"no git hooks: {error.filename}: {error.strerror}"


def lacking(env: Env) -> list[str]:
    """The line that says that git's hooks do not run Atlas here; empty where they do, and where
    there is no worktree or the user wants none."""
    if env.place.top is None or env.store.home == env.place.outbox:
        return []
    try:
        if env.own["hooks"] == "off":
            return []
        hooks = HookFiles(env.place, _closed(env))
        bad = [row for row in hooks.status() if row.lacking]
    except AtlasError as error:
        return [error.message]
    if not bad:
        return []
    which = "git hooks" if len(bad) == len(NAMES) else f"{len(bad)} git hooks ({bad[0].name} …)"
    if bad[0].text == UNREACHED:
        return [f"{which} do nothing here: {UNREACHED}; put the folder of `atlas` on PATH"]
    write = " --write" if hooks.owner else ""
    return [f"{which} missing here: atlas hooks install{write}"]


def _closed(env: Env) -> bool:
    _ = env.snapshot  # there is a store
    return bool(env.own["hooks_missing"] == "closed")


def _outcome(hooks: Any, states: list[Any]) -> Outcome:
    items = [{key: shown(value) for key, value in hook._asdict().items()} for hook in states]
    rows = []
    for hook in states:
        before = ""
        if hook.kept:
            before = "keeps the one there" if hook.kept == hook.path else f"keeps {hook.kept}"
        remarks = "; ".join(part for part in (before, hook.text) if part)
        rows.append((hook.name, hook.state, remarks))
    return Outcome(listing(items), (f"{hooks.folder}:", Table(("HOOK", "STATE", ""), tuple(rows))))

"""`atlas config`: the policy of the store."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from ..env import beginning, writing
from ..errors import Damaged, Failed, Refused, Usage
from ..model.change import Change, Writer
from ..model.tree import Tree
from ..outcome import Outcome, Raw, Table
from ..records import policy
from . import env_of, limits, noun, one, verb

app = noun("show")


@verb(
    app,
    "show",
    "atlas config",
    7,
    limits=(
        limits.POLICY,
        limits.HOSTS,
    ),
)
def show(ctx: typer.Context) -> Outcome:
    """The policy in force: each key, its value, what it is."""
    env = env_of(ctx)
    rows = tuple(
        (key, json.dumps(env.policy[key]), row.meaning) for key, row in policy.KEYS.items()
    )
    return Outcome(
        env.policy, (f"store: {env.policy['store']}", Table(("KEY", "VALUE", "WHAT"), rows))
    )


@verb(app, "get", "atlas config get status_words", 7, limits=(limits.POLICY,))
def get(
    ctx: typer.Context,
    key: Annotated[str, typer.Argument(metavar="KEY", help="As atlas config shows it.")],
) -> Outcome:
    """The value of one key."""
    env = env_of(ctx)
    if key not in env.policy:
        raise policy.unknown(key)
    value = env.policy[key]
    shown = value if isinstance(value, str) and value.isprintable() else json.dumps(value)
    return Outcome({"key": key, "value": value}, (Raw(f"{shown}\n".encode()),))


@verb(
    app,
    "set",
    "atlas config set status_words 300",
    3,
    5,
    6,
    7,
    limits=(
        limits.POLICY,
        limits.HOSTS,
    ),
)
def set_(
    ctx: typer.Context,
    key: Annotated[str, typer.Argument(metavar="KEY", help="As atlas config shows it.")],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="JSON, or a bare word.")],
) -> Outcome:
    """Set one key for everybody; comments in the file survive."""
    env = env_of(ctx)
    parsed: Any
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        parsed = value
    written = writing.write(
        env,
        lambda tree, writer: policy.put(tree, writer, key, parsed),
        beginning.writer(env),
        f"policy: set {key} ",
    )
    return Outcome(
        one(writing.records(env, written)), (f"{key} is now {json.dumps(parsed)}",), published=False
    )


@verb(
    app,
    "edit",
    "atlas config edit",
    3,
    5,
    6,
    7,
    terminal=True,
    limits=(
        limits.POLICY,
        limits.HOSTS,
    ),
)
def edit(ctx: typer.Context) -> Outcome:
    """Edit the policy in your editor (on a terminal only)."""
    env = env_of(ctx)
    if not (sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
        raise Usage("an editor needs a terminal", "atlas config set KEY VALUE")
    me = beginning.writer(env)
    before = env.snapshot.read(policy.FOLDER) or b""
    own = {key: os.environ[key] for key in ("GIT_EDITOR",) if key in os.environ}
    editor = env.git.ask("var", "GIT_EDITOR", extra=own)[1].decode().strip() or "vi"  # as git does
    with tempfile.TemporaryDirectory(prefix="atlas-") as folder:
        file = Path(folder, policy.FOLDER)
        file.write_bytes(before)
        if subprocess.call(["sh", "-c", f'{editor} "$@"', editor, str(file)]):
            text = f"{editor} failed; the policy stays as it was"
            raise Failed(text, "git config core.editor names another: atlas config edit")
        after = file.read_bytes()
    if after == before:
        return Outcome(env.policy, ("nothing was changed",))
    env.spoken = (policy.FOLDER, after)  # what is refused is kept

    def decide(tree: Tree, writer: Writer) -> Change:
        try:
            return policy.replace(tree, writer, after)
        except Damaged as error:
            raise Refused(f"your text is no policy: {error.message}", "put it right") from None

    written = writing.write(env, decide, me, "policy: edit")
    return Outcome(one(writing.records(env, written)), ("the policy was changed",), published=False)

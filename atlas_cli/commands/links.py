"""`atlas links`: the relative links that a move or a deletion breaks."""

from typing import Annotated, Any

import typer

from ..checks import renames
from ..checks.links import Broken, broken, fixed
from ..env.env import Env
from ..errors import Usage, Violations
from ..outcome import Outcome, Table, listing
from . import env_of, shown, single, verb

app = single()


@verb(app, "links", "atlas links --fix", 7, 9)
def links(
    ctx: typer.Context,
    fix: Annotated[
        bool, typer.Option("--fix", help="Correct them in the working tree; nothing is staged.")
    ] = False,
) -> Outcome:
    """The relative links that your moves and deletions break, each with the corrected line.

    Looked at is the working tree against HEAD, staged or not, tracked or not. Exit 9 if a link is
    broken (with --fix: if one is left that leads to something deleted)."""
    env = env_of(ctx)
    env.now()  # there must be a store, though nothing in it is asked for
    found, done, count = _look(env, fix)
    if left := [one for one in found if one not in done]:
        raise _violations(left, done, fix)
    rows = tuple((f"{one.file}:{one.line}", one.written, one.corrected or "") for one in done)
    table = Table(
        ("CORRECTED", "WAS", "IS"), rows, f"no link is broken ({count} files moved or deleted)"
    )
    limit = (
        "links inside the repository, in Markdown and HTML; those that were dead before are not"
        " counted"
    )
    return Outcome(listing([_item(one) for one in done]), (table,), (limit,))


def _look(env: Env, fix: bool) -> tuple[list[Broken], list[Broken], int]:
    """(broken links, those of them that were corrected, how many files moved)."""
    if env.place.top is None:
        raise Usage("a bare repository has no worktree", "run it in a clone")
    with renames.since_head(env.place.top) as (before, after, moved):
        found = broken(before, after, moved) if moved else []
        done = []
        for file in dict.fromkeys(one.file for one in found if fix):
            mine = [one for one in found if one.file == file and one.corrected is not None]
            if mine and after.write(file, fixed(after.read(file) or b"", mine)):
                done += mine
    return found, done, len(moved)


def _violations(left: list[Broken], done: list[Broken], fix: bool) -> Violations:
    many = f"{len(left)} links are" if len(left) > 1 else "a link is"
    corrected = f"; {len(done)} were corrected" if done else ""
    return Violations(
        f"{many} broken by what was moved or deleted{corrected}",
        (
            "what these led to is gone: take them out, or say what they lead to now"
            if fix
            else "atlas links --fix"
        ),
        code="links",
        details={"items": [_item(one) for one in left], "fixed": [_item(one) for one in done]},
        blocks=(("broken links", "\n".join(map(_line, left))),),
    )


def _line(one: Broken) -> str:
    where = f"{one.file}:{one.line}: {one.written}"
    return (
        f"{where} is gone"
        if one.corrected is None
        else f"{where} -> {one.corrected}\n    {one.text.strip()}"
    )


def _item(one: Broken) -> dict[str, Any]:
    corrected = None if one.corrected is None else shown(one.corrected)
    return {
        "file": shown(one.file),
        "line": one.line,
        "written": shown(one.written),
        "corrected": corrected,
        "text": shown(one.text),
    }

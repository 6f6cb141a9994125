"""`atlas links`: the relative links that a move or a deletion breaks."""

import shlex
from typing import Annotated, Any

import typer

from ..answers import moved as stale
from ..checks import renames
from ..checks.links import Broken, broken, fixed
from ..env.env import Env
from ..errors import Usage, Violations
from ..outcome import Outcome, Table, listing
from ..visible import many
from . import env_of, shown, single, verb

app = single()


@verb(
    app,
    "links",
    "atlas links --fix",
    7,
    9,
    limits=(
        (
            "links in Markdown and HTML only, relative or from the root; one that now leads to"
            " another file is not seen"
        ),
    ),
)
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
    dead, done, count, outside = _look(env, fix)
    if left := [link for link in dead if link not in done]:
        raise _violations(left, done, fix, outside)
    rows = tuple((f"{link.file}:{link.line}", link.written, link.corrected or "") for link in done)
    table = Table(
        ("CORRECTED", "WAS", "IS"),
        rows,
        f"no link is broken ({many(count, 'file')} moved or deleted)",
    )
    limit = (
        "links inside the repository, in Markdown and HTML; those that were dead before are not"
        " counted"
    )
    return Outcome(listing([_item(link) for link in done]), (table,), (limit,))


def _look(env: Env, fix: bool) -> tuple[list[Broken], list[Broken], int, list[str]]:
    """(broken links, those of them that were corrected, how many files moved, folders outside of a
    sparse checkout with files that are to be corrected)."""
    if env.place.top is None:
        raise Usage("a bare repository has no worktree", "run it in a clone")
    env.now()  # there must be a store
    with renames.since_head(env.place.top) as (before, after, moved):
        dead = broken(before, after, moved) if moved else []
        files = dict.fromkeys(link.file for link in dead) if fix else {}
        done = []
        for file in files:
            mine = [link for link in dead if link.file == file and link.corrected is not None]
            if mine and after.write(file, fixed(after.read(file) or b"", mine)):
                done += mine
        if moved:
            listed = {link.file for link in dead}
            env.notices += stale.notices(env.ask, env.tree, after.git, moved, None, listed)
        wanted = (link.file for link in dead if link.corrected and after.is_outside(link.file))
        outside = [file.rpartition("/")[0] or "." for file in wanted]
    return dead, done, len(moved), list(dict.fromkeys(outside))


def _violations(
    left: list[Broken], done: list[Broken], fix: bool, outside: list[str]
) -> Violations:
    corrected = f"; {len(done)} corrected" if done else ""
    hint = "atlas links --fix"
    if outside:
        add = f"git sparse-checkout add {shlex.join(outside)}"
        hint = f"check their files out, then correct them: {add} && {hint}"
    elif fix:
        hint = "what these led to is gone: take them out, or say what they lead to now"
    return Violations(
        f"{many(len(left), 'link')} broken by what was moved or deleted{corrected}",
        hint,
        code="links",
        details={"items": [_item(link) for link in left], "fixed": [_item(link) for link in done]},
        blocks=(("broken links", "\n".join(map(_line, left))),),
    )


def _line(link: Broken) -> str:
    where = f"{link.file}:{link.line}: {link.written}"
    if link.corrected is None:
        return f"{where} is gone"
    return f"{where} -> {link.corrected}\n    {link.text.strip()}"


def _item(link: Broken) -> dict[str, Any]:
    corrected = None if link.corrected is None else shown(link.corrected)
    return {
        "file": shown(link.file),
        "line": link.line,
        "written": shown(link.written),
        "corrected": corrected,
        "text": shown(link.text),
    }

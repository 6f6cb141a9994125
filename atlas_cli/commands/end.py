"""`atlas end`: write last. Writes the status, gives back the leases and claims, closes the session:
one transaction."""

import shlex
from typing import Annotated

import typer

from ..env import elsewhere, reading, receipts, who, writing
from ..env.env import Env
from ..errors import AtlasError, Protocol, Usage
from ..model import names
from ..model.change import Change, Writer
from ..model.text import Record
from ..model.tree import Tree
from ..outcome import Outcome
from ..records import status
from ..records.board import assigning
from ..sharing import parked
from ..sharing.dealing import EAGER
from . import body, env_of, single, verb
from . import status as status_command

app = single()


@verb(
    app,
    "end",
    "atlas end - <<'EOF'\nDone: the parser. Open: the cache. Next: measure it.\nEOF",
    3,
    5,
    6,
    7,
    remote=EAGER,
)
def end(
    ctx: typer.Context,
    dash: Annotated[
        str | None, typer.Argument(metavar="[-]", help="The text from standard input.")
    ] = None,
    text: Annotated[
        str | None, typer.Option("-m", metavar="TEXT", help="What the next one must know.")
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", metavar="F", help="A file that holds it.")
    ] = None,
    unchanged: Annotated[
        str | None, typer.Option("--unchanged", metavar="WHY", help="The status holds, and why.")
    ] = None,
    stream: Annotated[
        str, typer.Option("--stream", metavar="STREAM", help="Which status stream.")
    ] = "main",
    section: Annotated[
        str | None,
        typer.Option(
            "--section", metavar="H", help="The heading it goes under (default: your goal)."
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="The text is the whole new entry.")
    ] = False,
    base: Annotated[
        int | None, typer.Option("--base", metavar="N", min=1, help="The entry you have read.")
    ] = None,
    overflow: status_command.Overflow = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="RES", help="A lease that is not given back."),
    ] = None,
) -> Outcome:
    """Write last: your text becomes the section under your goal in the status (--replace: the whole
    entry), your leases and claims are given back, your session is closed.

    Without a text it succeeds if you wrote the status after your last work, or did nothing; else it
    stops (5)."""
    env = env_of(ctx)
    if dash not in (None, "-"):
        raise Usage(
            f"{dash[:40]!r} stands where - would read standard input", "give the text with -m TEXT"
        )
    if section and replace:
        raise Usage("--section and --replace say different things", "give one of them")
    given = body(
        env, text, file, dash
    )  # before anything can refuse: a text that was piped in must not be lost
    me = who.session(env, strict=True)
    if parked.of(env.store, env.index, me["id"]):
        raise Protocol(
            "writes of this session are parked: others were first",
            "atlas parked shows them, take or drop settles each; then end",
            code="parked",
        )
    if given is not None and unchanged is not None:
        raise Usage("a text, or --unchanged, but not both")
    status_command.with_text(given, section, replace, overflow)
    names.name(stream, "stream")
    overflow = names.name(overflow, "artifact name") if overflow else None
    kept = [reading.resource(env, one) for one in keep or []]
    wish = _wish(env, me, given, unchanged, section, replace)
    wish = wish._replace(withdrawn=status_command.withdrawn(env, stream)) if wish else None
    if base is not None:
        receipts.note(
            env, "status", stream, base, status.find(env.tree, stream, base), claimed=True
        )
    done = writing.write(
        env,
        lambda tree, who: _close(env, tree, who, me, wish, stream, kept, overflow, base),
        me,
        "session: end",
    )
    records = writing.records(env, done)
    entry = next((one for one in records if one["ref"].startswith("status:")), None)
    back = [one["resource"] for one in records if one["ref"].startswith("lease:")]
    lines = [f"{entry['ref']} written"] if entry else []
    back += [one["ref"] for one in records if one["ref"].startswith("task:")]
    back += elsewhere.leave(env, me, kept)
    lines += [f"given back: {', '.join(back)}"] if back else []
    lines += [f"{me['id']} has ended"]
    closed = next(one for one in records if one["ref"].startswith("session:"))
    alone = env.sharing.known is not None and not env.sharing.published
    limits = ("NOT PUBLISHED: nobody else can see this",) if alone else ()
    return Outcome(
        {**closed, "status": entry, "released": back}, tuple(lines), limits, published=False
    )


def _wish(
    env: Env,
    me: Record,
    given: str | None,
    unchanged: str | None,
    section: str | None,
    replace: bool,
) -> status.NewEntry | None:
    """What is to be written; None where nothing need be."""
    if unchanged is not None:
        return status.NewEntry(unchanged=names.say(unchanged, "--unchanged"))
    if given is None:
        if not env.index.closed(me["id"]):
            raise Protocol(
                "this session has written, and not the status after it: for the next one it has not"
                " happened",
                "write last: atlas end -m 'two to five lines: done, open, what the next one must"
                " know', or atlas end --unchanged 'why'",
                code="write_last",
            )
        return None
    heading = None if replace else (section or me.get("goal") or me["actor"])
    return status.NewEntry(given, section=heading, replace=replace)


def _to_end(stop: AtlasError, stream: str, kept: list[str]) -> None:
    """The command that submits the draft of a stop closes the session as well."""
    if submit := stop.details.get("submit"):
        flags = "".join(f" --keep {shlex.quote(one)}" for one in kept)
        end = f"atlas end --replace{f' --stream {stream}' if stream != 'main' else ''}{flags}"
        stop.details["submit"] = submit.replace(f"atlas status write {stream}", end)


def _close(
    env: Env,
    tree: Tree,
    who: Writer,
    me: Record,
    wish: status.NewEntry | None,
    stream: str,
    kept: list[str],
    overflow: str | None,
    base: int | None,
) -> Change:
    """Status, leases and session in one change."""
    files: dict[str, bytes | None] = {}
    bases: tuple[str, ...] = ()
    if wish is not None:
        try:
            entry = status_command.entry(env, tree, who, me, stream, wish, base, overflow)
        except AtlasError as stop:
            _to_end(stop, stream, kept)
            raise
        files |= entry.files
        bases = entry.bases
    files |= assigning.leave(tree, who, kept).files
    return Change(f"session: end ({who.session})", files, bases)

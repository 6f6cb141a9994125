"""`atlas end`: write last. Writes the status, gives back the leases and claims, closes the session:
one transaction."""

import shlex
from typing import Annotated, Any

import typer

from ..answers import leases, sessions
from ..env import elsewhere, reading, receipts, who, writing
from ..env.env import Env
from ..errors import AtlasError, NotFound, Protocol, Usage
from ..model import names
from ..model.change import Change, Writer
from ..model.text import Record
from ..model.tree import Tree
from ..outcome import Outcome
from ..records import status
from ..records.board import assigning
from ..sharing import parked
from ..sharing.dealing import EAGER
from . import body, env_of, limits, single, verb
from . import status as status_command

app = single()
Dash = Annotated[str | None, typer.Argument(metavar="[-]", help="The text from standard input.")]
Text = Annotated[
    str | None, typer.Option("-m", metavar="TEXT", help="What the next one must know.")
]
File = Annotated[str | None, typer.Option("--file", metavar="F", help="A file that holds it.")]
Unchanged = Annotated[
    str | None, typer.Option("--unchanged", metavar="WHY", help="The status holds, and why.")
]
Stream = Annotated[str, typer.Option("--stream", metavar="STREAM", help="Which status stream.")]
Section = Annotated[
    str | None,
    typer.Option("--section", metavar="H", help="The heading it goes under (default: your goal)."),
]
Replace = Annotated[bool, typer.Option("--replace", help="The text is the whole new entry.")]
Base = Annotated[
    int | None, typer.Option("--base", metavar="N", min=1, help="The entry you have read.")
]
Keep = Annotated[
    list[str] | None,
    typer.Option("--keep", metavar="RES", help="A lease that is not given back."),
]


@verb(
    app,
    "end",
    "atlas end - <<'EOF'\nDone: the parser. Open: the cache. Next: measure it.\nEOF",
    3,
    5,
    6,
    7,
    remote=EAGER,
    limits=(limits.WORD,),
)
def end(
    ctx: typer.Context,
    dash: Dash = None,
    text: Text = None,
    file: File = None,
    unchanged: Unchanged = None,
    stream: Stream = "main",
    section: Section = None,
    replace: Replace = False,
    base: Base = None,
    overflow: status_command.Overflow = None,
    keep: Keep = None,
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
    # Before anything can refuse: a text that was piped in must not be lost.
    given = body(env, text, file, dash)
    me = who.session(env, strict=True)
    _judge_parked(env, me)
    if given is not None and unchanged is not None:
        raise Usage("a text, or --unchanged, but not both")
    status_command.with_text(given, section, replace, overflow)
    names.name(stream, "stream")
    overflow = names.name(overflow, "artifact name") if overflow else None
    spared = _spared(env, me, keep or [])
    wish = _wish(env, me, given, unchanged, section, replace)
    if wish is not None:
        wish = wish._replace(withdrawn=status_command.withdrawn(env, stream))
    if base is not None:
        receipts.note(
            env, "status", stream, base, status.find(env.tree, stream, base), claimed=True
        )
    done = writing.write(
        env,
        lambda tree, writer: _close(env, tree, writer, me, wish, stream, spared, overflow, base),
        me,
        "session: end",
    )
    records = writing.records(env, done)
    return _answer(env, me, records, elsewhere.leave(env, me, spared))


def _spared(env: Env, me: Record, keep: list[str]) -> list[str]:
    """The leases that stay with the session. Raises NotFound for one that it does not hold: a name
    misspelt would give back what was to stay. (Of other stores, and of an operation that is asked
    for again, this is not known here.)"""
    spared = [reading.resource(env, name) for name in keep]
    if env.shares or env.options.operation is not None:
        return spared
    held = {row["resource"] for row in leases.held(env.ask, me["id"])}
    if missing := [resource for resource in spared if resource not in held]:
        raise NotFound(
            f"you hold no lease on {missing[0]}, so there is none to keep; nothing was ended",
            f"atlas session show {me['id']} lists what you hold",
        )
    return spared


def _answer(env: Env, me: Record, records: list[dict[str, Any]], left: list[str]) -> Outcome:
    """The answer: the entry, and what was given back. left: the leases of other stores among it."""
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        by_kind.setdefault(record["ref"].partition(":")[0], []).append(record)
    entry = next(iter(by_kind.get("status", ())), None)
    closed = by_kind["session"][0]
    back = [record["resource"] for record in by_kind.get("lease", ())]
    back += [record["ref"] for record in by_kind.get("task", ())]
    back += left
    lines = [f"{entry['ref']} written"] if entry else []
    if back:
        lines.append(f"given back: {', '.join(back)}")
    lines.append(f"{me['id']} has ended")
    alone = env.sharing.known is not None and not env.sharing.published
    limits = ("NOT PUBLISHED: nobody else can see this",) if alone else ()
    return Outcome(
        {**closed, "status": entry, "released": back}, tuple(lines), limits, published=False
    )


def _judge_parked(env: Env, me: Record) -> None:
    """Raises Protocol if writes of the session are parked."""
    if parked.of(env.store, env.index, me["id"]):
        raise Protocol(
            "writes of this session are parked: others were first",
            "atlas parked shows them, take or drop settles each; then end",
            code="parked",
        )


def _wish(
    env: Env,
    me: Record,
    given: str | None,
    unchanged: str | None,
    section: str | None,
    replace: bool,
) -> status.NewEntry | None:
    """The status entry to be written; None if none is due. Raises Protocol if one is due and no
    text is given."""
    if unchanged is not None:
        return status.NewEntry(unchanged=names.say(unchanged, "--unchanged"))
    if given is None:
        if not sessions.closed(env.index, me["id"]):
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


def _to_end(stop: AtlasError, stream: str, spared: list[str]) -> None:
    """Makes the command that submits the draft of a stop close the session as well."""
    if submit := stop.details.get("submit"):
        flags = f" --stream {stream}" if stream != "main" else ""
        flags += "".join(f" --keep {shlex.quote(resource)}" for resource in spared)
        command = f"atlas end --replace{flags}"
        stop.details["submit"] = submit.replace(f"atlas status write {stream}", command)


def _close(
    env: Env,
    tree: Tree,
    writer: Writer,
    me: Record,
    wish: status.NewEntry | None,
    stream: str,
    spared: list[str],
    overflow: str | None,
    base: int | None,
) -> Change:
    """Status, leases and session in one change."""
    files: dict[str, bytes | None] = {}
    bases: tuple[str, ...] = ()
    if wish is not None:
        try:
            entry = status_command.entry(env, tree, writer, me, stream, wish, base, overflow)
        except AtlasError as stop:
            _to_end(stop, stream, spared)
            raise
        files |= entry.files
        bases = entry.bases
    files |= assigning.leave(tree, writer, spared).files
    return Change(f"session: end ({writer.session})", files, bases)

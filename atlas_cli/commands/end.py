"""`atlas end`: write last. Writes the status, gives back the leases and claims, closes the session:
one transaction."""

import os
import shlex
from functools import partial
from typing import Annotated, Any

import typer

from .. import callers
from ..answers import leases, sessions
from ..env import elsewhere, reading, receipts, who, writing
from ..env.env import Env
from ..errors import AtlasError, NotFound, Protocol, Usage
from ..model import names
from ..model.change import Change, Writer
from ..model.text import Record
from ..model.tree import Tree
from ..outcome import Outcome
from ..records import goals, status
from ..records.board import assigning
from ..sharing import parked
from ..sharing.dealing import EAGER
from ..visible import named
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

Goal = Annotated[
    int | None, typer.Option("--goal", metavar="N", min=1, help="The goal that ends, by number.")
]
Every = Annotated[bool, typer.Option("--all", help="All your goals end.")]
AT_WORK = 3600  # seconds for which a sub-agent that was heard of counts as at work


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
    goal: Goal = None,
    every: Every = False,
) -> Outcome:
    """Write last: your text becomes the section under your goal in the status (--replace: the whole
    entry), your leases and claims are given back, your session is closed. Under several goals, say
    which one ends, or --all.

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
    number = _ending(env, me, goal, every)
    if given is not None and unchanged is not None:
        raise Usage("a text, or --unchanged, but not both")
    status_command.with_text(given, section, replace, overflow)
    names.name(stream, "stream")
    overflow = names.name(overflow, "artifact name") if overflow else None
    spared = _spared(env, me, keep or [])
    heading = None if replace else (section or goals.text_of(me, number) or me["actor"])
    wish = _wish(env, me, given, unchanged, heading, replace, stream)
    if base is not None:
        receipts.note(
            env, "status", stream, base, status.find(env.tree, stream, base), claimed=True
        )
    close = partial(_close, env, me, wish, stream, spared, overflow, base, number)
    records = writing.records(env, writing.write(env, close, me, "session: end"))
    return _answer(env, me, records, elsewhere.leave(env, me, spared, number is None, number))


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
    if "ended" in closed:
        lines.append(f"{me['id']} has ended")
    else:
        open_ = goals.goal_list(goals.open_goals(closed))
        lines.append(f"{me['id']} goes on, for its goal {open_}")
    alone = env.sharing.known is not None and not env.sharing.published
    limits = ("NOT PUBLISHED: nobody else can see this",) if alone else ()
    return Outcome(
        {**closed, "status": entry, "released": back}, tuple(lines), limits, published=False
    )


def _judge_agents(env: Env, me: Record) -> None:
    """Raises Protocol if a sub-agent of the caller's tool is at work, and nothing tells which of
    the two ends: the tool gives both the same id."""
    caller = callers.above() or ""
    if env.options.session or callers.agent() or os.environ.get("ATLAS_SESSION"):
        return
    if agents := env.local.agents(caller, env.now() - AT_WORK):
        name = shlex.quote(agents[0])
        raise Protocol(
            f"a sub-agent of this tool is at work ({', '.join(map(named, agents))}), and nothing"
            f" tells whether it is the one that ends, or {me['id']}",
            f"as the sub-agent: {callers.AGENT}={name} atlas end. As {me['id']} itself: atlas end"
            f" --session {me['id']}",
            code="sub_agent",
        )


def _ending(env: Env, me: Record, wanted: int | None, every: bool) -> int | None:
    """The number of the goal that ends; None if the session ends with it. Raises Protocol if the
    session has several goals and none is named, if a sub-agent is at work, or if its writes are
    parked; NotFound if it has no such goal."""
    _judge_agents(env, me)
    _judge_parked(env, me)
    left = goals.open_goals(me)
    if wanted is not None and every:
        raise Usage("--all and --goal say different things", "give one of them")
    if wanted is not None and wanted not in left:
        raise NotFound(
            f"{me['id']} has no open goal {wanted}", f"its goals are {goals.goal_list(left)}"
        )
    if len(left) < 2 or every:
        return None
    if wanted is None:
        raise Protocol(
            f"{me['id']} works for {len(left)} goals: {goals.goal_list(left)}",
            f"end one, with its word: atlas end --goal {goals.under(me)} -m TEXT; or all of them:"
            " atlas end --all -m TEXT",
            code="several_goals",
        )
    return wanted


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
    heading: str | None,
    replace: bool,
    stream: str,
) -> status.NewEntry | None:
    """The status entry to be written, under its heading; None if none is due. Raises Protocol if
    one is due and no text is given."""
    if unchanged is not None:
        said_so = names.say(unchanged, "--unchanged")
        return status.NewEntry(unchanged=said_so, withdrawn=status_command.withdrawn(env, stream))
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
    withdrawn = status_command.withdrawn(env, stream)
    return status.NewEntry(given, section=heading, replace=replace, withdrawn=withdrawn)


def _to_end(stop: AtlasError, stream: str, spared: list[str]) -> None:
    """Makes the command that submits the draft of a stop close the session as well."""
    if submit := stop.details.get("submit"):
        flags = f" --stream {stream}" if stream != "main" else ""
        flags += "".join(f" --keep {shlex.quote(resource)}" for resource in spared)
        command = f"atlas end --replace{flags}"
        stop.details["submit"] = submit.replace(f"atlas status write {stream}", command)


def _close(
    env: Env,
    me: Record,
    wish: status.NewEntry | None,
    stream: str,
    spared: list[str],
    overflow: str | None,
    base: int | None,
    goal: int | None,
    tree: Tree,
    writer: Writer,
) -> Change:
    """Status, leases and session in one change. `goal`: only that goal ends."""
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
    files |= assigning.leave(tree, writer, spared, goal=goal).files
    return Change(f"session: end ({writer.session})", files, bases)

"""`atlas end`: write last. Writes the status, gives back the leases and claims, closes the session:
one transaction."""

import shlex
from functools import partial
from typing import Annotated, Any, NamedTuple

import typer

from ..answers import code as trees
from ..answers import leases, words
from ..env import (
    beginning,
    code,
    drafting,
    elsewhere,
    overtaken,
    reading,
    who,
    wording,
    writing,
)
from ..env.env import Env
from ..errors import AtlasError, NotFound, Protocol, Usage, VersionJump
from ..model import names
from ..model.change import Change, Writer
from ..model.text import Record
from ..model.times import rfc3339
from ..model.tree import Tree
from ..outcome import Block, Outcome
from ..records import goals, session
from ..records.board import assigning
from ..records.wish import Wish
from ..sharing import parked
from ..sharing.dealing import EAGER
from . import GoodFor, body, env_of, limits, single, verb
from .status import say

app = single()
Dash = Annotated[str | None, typer.Argument(metavar="[-]", help="The text from standard input.")]
Text = Annotated[
    str | None, typer.Option("-m", metavar="TEXT", help="What the next one must know.")
]
Stream = Annotated[str, typer.Option("--stream", metavar="STREAM", help="Which status stream.")]
Keep = Annotated[
    list[str] | None,
    typer.Option("--keep", metavar="RES", help="A lease that is not given back."),
]

Goal = Annotated[
    int | None, typer.Option("--goal", metavar="N", min=1, help="The goal that ends, by number.")
]
Every = Annotated[bool, typer.Option("--all", help="All your goals end.")]


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
    file: say.File = None,
    unchanged: say.Unchanged = None,
    stream: Stream = "main",
    section: say.Section = None,
    replace: say.Replace = False,
    base: say.Base = None,
    overflow: say.Overflow = None,
    warn: say.Warn = None,
    until: say.Until = None,
    on: say.On = None,
    to: say.To = None,
    good_for: GoodFor = None,
    keep: Keep = None,
    goal: Goal = None,
    every: Every = False,
) -> Outcome:
    """Write last: your text becomes your section of the status (--section: another; --replace: the
    whole entry), your leases and claims are given back, your session is closed. Under several
    goals, say which one ends, or --all.

    Without a text it succeeds if you owe no word: your commits, artifacts, decisions and
    corrections have a status entry, or a task's result, behind them. Else it stops (5)."""
    env = env_of(ctx)
    if dash not in (None, "-"):
        raise Usage(
            f"{dash[:40]!r} stands where - would read standard input", "give the text with -m TEXT"
        )
    # Before anything can refuse: a text that was piped in must not be lost.
    given = body(env, text, file, dash)
    env.goes_on = ("status", names.name(stream, "stream"))
    wording.look(env, unchanged)
    me = beginning.writer(env, strict=True)
    number = _ending(env, me, goal, every)
    if given is not None and unchanged is not None:
        raise Usage("a text, or --unchanged, but not both", "leave one of them out")
    lists = (tuple(warn or ()), until, tuple(on or ()), tuple(to or ()))
    read = reading.base(env, stream, base)
    options = wording.Options(section, replace, overflow, read, (), None, *lists, False, good_for)
    options.need_text(given)
    spared = _spared(env, me, keep or [])
    last = _last(env, me, given, unchanged, stream, options, number)
    wording.claim(env, stream, read)
    records = _written(env, me, last, spared)
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
    lines: list[Block] = []
    if entry is not None:
        wording.note(env, me, entry)
        entry, lines = wording.answer(env, me, entry)
    elif still := session.confirmed(closed):
        lines.append(f"{still['ref']} confirmed")
    back = [record["resource"] for record in by_kind.get("lease", ())]
    back += left
    if env.place.top:
        env.notices += trees.left_changed(env.git, back)
    back += [record["ref"] for record in by_kind.get("task", ())]
    unseen = words.unseen(env.ask, me, env.store.machine)
    deeds, shown = [str(line) for line in lines[:1]], lines[1:]
    if back:
        deeds.append(f"given back: {', '.join(back)}")
    if "ended" in closed:
        deeds.append(f"{me['id']} has ended{_of_unseen(unseen)}")
    else:
        open_ = goals.goal_list(goals.open_goals(closed))
        deeds.append(f"{me['id']} goes on, for its goal {open_}")
    alone = env.sharing.known is not None and not env.sharing.published
    limits = ("NOT PUBLISHED: nobody else can see this",) if alone else ()
    data = {**closed, "status": entry, "released": back, "unseen": unseen}
    blocks = ("; ".join(deeds), *shown, *_left_over(env, me))
    return Outcome(data, blocks, limits, published=False)


def _of_unseen(ids: list[str]) -> str:
    """The end of a line: the sessions of which there may be commits that this clone cannot see."""
    return (
        f" (what {', '.join(ids)} committed elsewhere and did not push, is unknown)" if ids else ""
    )


def _ending(env: Env, me: Record, wanted: int | None, every: bool) -> int | None:
    """The number of the goal that ends; None if the session ends with it. Raises Protocol if the
    session has several goals and none is named, if a sub-agent is at work, or if its writes are
    parked; NotFound if it has no such goal."""
    who.judge_agent(env, me, *drafting.words_again(env))
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
        text = "--file {draft}" if drafting.text_given(env) else "-m TEXT"
        raise Protocol(
            f"{me['id']} works for {len(left)} goals: {goals.goal_list(left)}",
            f"end one, with its word: atlas end --goal {goals.under(me)} {text}; or all of them:"
            f" atlas end --all {text}",
            code="several_goals",
            details={"flags": ["--goal", str(goals.under(me))]} if env.spoken else {},
        )
    return wanted


def _judge_parked(env: Env, me: Record) -> None:
    """Raises Protocol if writes of the session are parked that may be worth keeping."""
    env.notices += overtaken.settled(env, me)
    if parked.of(env.store, env.index, me["id"]):
        raise Protocol(
            "writes of this session are parked: others were first",
            "atlas parked shows them, take or drop settles each; then end",
            code="parked",
        )


def _judge_words(env: Env, me: Record, confirms: bool) -> None:
    """Raises Protocol if the session owes a word. `confirms`: the status is said to hold, which
    speaks of records, but of no commit."""
    ahead = None
    if words.unseen(env.ask, me, env.store.machine):
        code.say(env, code.brought(env))
        ahead = code.ahead(env)
    owed = words.owed(env.ask, me, env.git, ahead)
    if owed is None or (confirms and not owed.commits):
        return
    hint = "write last: atlas end -m 'two to five lines: done, open, what the next one must know'"
    if not owed.commits:
        hint += ", or atlas end --unchanged 'why'"
    raise Protocol(
        f"no word of yours speaks of {owed.text()}: for the next one it has not happened",
        hint,
        code="write_last",
        details={"works": [work.name for work in owed.works[:20]], "oldest": rfc3339(owed.at)},
    )


def _left_over(env: Env, me: Record) -> list[Block]:
    """The texts of the session that are in no entry, for who reads its answer."""
    rows = drafting.own(env, me)
    if not rows:
        return []
    files = ", ".join(row["file"] for row in rows)
    return [f"not in the status, and kept as {'a draft' if len(rows) == 1 else 'drafts'}: {files}"]


class _Last(NamedTuple):
    """The last that a session says: a text, that the status still holds, or nothing."""

    stream: str
    options: wording.Options
    goal: int | None = None  # the goal that ends; None: the session does
    wish: Wish | None = None
    still: str | None = None

    def close(self, env: Env, me: Record, spared: list[str], tree: Tree, writer: Writer) -> Change:
        """Status, leases and session in one change."""
        files: dict[str, bytes | None] = {}
        bases: tuple[str, ...] = ()
        if self.wish is not None:
            try:
                entry = wording.entry(env, tree, writer, me, self.wish, self.options)
            except AtlasError as stop:
                _to_end(stop, self.stream, self._flags(me, spared))
                raise
            files |= entry.files
            bases = entry.bases
        files |= assigning.leave(tree, writer, spared, goal=self.goal).files
        if self.still is None:
            return Change(f"session: end ({writer.session})", files, bases)
        ref = wording.holding(env, tree, writer, me, self.stream, self.options.base)
        path = session.path_of(writer.session)
        files[path] = session.with_confirmed(path, files[path] or b"", ref, self.still, writer)
        return Change(f"session: end, confirm {ref} ({writer.session})", files, bases)

    def _flags(self, me: Record, spared: list[str]) -> str:
        """The options with which the same end is asked for again."""
        flags = f" --stream {self.stream}" if self.stream != "main" else ""
        flags += "".join(f" --keep {shlex.quote(resource)}" for resource in spared)
        if self.goal is not None:
            return f"{flags} --goal {self.goal}"
        return f"{flags} --all" if len(goals.open_goals(me)) > 1 else flags


def _last(
    env: Env,
    me: Record,
    given: str | None,
    unchanged: str | None,
    stream: str,
    options: wording.Options,
    goal: int | None,
) -> _Last:
    """The last thing that the session says. Raises Protocol if it owes a word and
    says none."""
    if given is None and not env.index.operation(env.options.operation or ""):
        _judge_words(env, me, unchanged is not None)
    last = _Last(stream, options, goal)
    if unchanged is not None:
        return last._replace(still=names.say(unchanged, "--unchanged"))
    if given is not None:
        return last._replace(wish=wording.wish(env, me, stream, given, options, goal))
    return last


def _written(env: Env, me: Record, last: _Last, spared: list[str]) -> list[dict[str, Any]]:
    """The records of the one write that ends the session, or a goal of it."""
    close = partial(last.close, env, me, spared)
    try:
        done = writing.write(env, close, me, "session: end")
    except VersionJump as stop:
        wording.told_by(env, me, last.stream, stop)
        raise
    return writing.records(env, done)


def _to_end(stop: AtlasError, stream: str, flags: str) -> None:
    """Makes the command that submits the draft of a stop close the session as well."""
    if submit := stop.details.get("submit"):
        stop.details["submit"] = submit.replace(f"atlas status write {stream}", f"atlas end{flags}")

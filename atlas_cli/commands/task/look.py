"""`atlas task`, the side of those who look: list, show, board, graph, dead, results."""

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Annotated

import typer

from ...answers import board
from ...cli.options import Withdrawn
from ...env import reading, who
from ...env.env import Env
from ...errors import Refused, Usage
from ...imports import plan
from ...model import names, times
from ...model.change import Writer
from ...model.text import Record
from ...model.tree import Tree
from ...outcome import Block, Frame, Outcome, Raw, Table, listing
from ...records import artifact, correction, lease, policy
from ...records.board import offering, readiness, result, task
from ...visible import named
from .. import Since, env_of, limits, noun, parsed, verb, warned
from . import results as results_of

app = noun()
COLUMNS = ("ready", "claimed", "gated", "blocked", "frozen", "expired", "dead")
STATES = f"One of {', '.join((*COLUMNS, *task.CLOSED))}."


def _state(text: str) -> str:
    if text not in (*COLUMNS, *task.CLOSED):
        raise Usage(f"there is no state {text[:40]!r}", STATES)
    return text


def bare(text: str) -> str:
    """A task's id, from a REF too."""
    return names.name(text.removeprefix("task:"), "task id")


Id = Annotated[str, typer.Argument(metavar="ID", parser=parsed(bare), help="The task.")]
Role = Annotated[
    str | None,
    typer.Option("--role", metavar="R", parser=parsed(names.name), help="Whom it is for."),
]
State = Annotated[
    str | None, typer.Option("--state", metavar="S", parser=parsed(_state), help=STATES)
]


def rows(env: Env, ready: bool, commit: str | None) -> Iterable[tuple[Tree, Record, int]]:
    """The open tasks in their order, each as (tree, row, moment). As of a commit, the moment is the
    latest time that the commit or its tasks name."""
    index, now = env.index, env.now()
    if commit is None:
        for _, record in index.queue(task.FOLDER, now if ready else None):
            yield env.tree, record, now
        return
    past = index.commit(commit)
    tree, born = env.store.snapshot(past["oid"]), index.born(task.FOLDER)
    paths = [
        f"{task.FOLDER}/{hh}/{name}"
        for hh in tree.names(task.FOLDER)
        for name in tree.names(f"{task.FOLDER}/{hh}")
    ]
    records = [(path, task.parse(path, tree.read(path) or b"")) for path in paths]
    at = max(past["at"] or 0, *(times.moment(record["at"]) for _, record in records), 0)
    for _, record in sorted(
        records, key=lambda pair: (-pair[1]["priority"], born.get(pair[0], 0), pair[0])
    ):
        yield tree, record, at


def table(items: Sequence[Record], now: int, explain: bool, empty: str) -> Table:
    """The tasks as a table. `explain`: with the tasks that wait for each."""
    cells = []
    for row in items:
        waits = ", ".join(f"{need} ({state})" for need, state in row["unmet"].items())
        title = correction.said(row, "title", now)
        back = f"came back: {row['came_back']}" if row.get("came_back") else ""
        notes = "; ".join(filter(None, (waits or _frozen(row), back))) or "-"
        line = [row["id"], row["state"], str(row["priority"]), title, notes]
        if explain:
            line.append(", ".join(row.get("unblocks", ())) or "-")
        cells.append(tuple(line))
    last = ("WAITS FOR", "UNBLOCKS") if explain else ("NEEDS",)
    return Table(("TASK", "STATE", "PRIO", "TITLE", *last), tuple(cells), empty)


def _frozen(row: Record) -> str:
    """The reason why a task is frozen, with a word if it can thaw; "" if it is not frozen."""
    if "frozen" not in row:
        return ""
    thaws = " (can thaw)" if row["can_thaw"] else ""
    return f"{correction.plain(row['frozen']['why'])}{thaws}"


def _source(
    env: Env, ready: bool, commit: str | None, since: str | None, all_: bool
) -> Iterable[tuple[Tree, Record, int]]:
    """The tasks that a list chooses from: the open ones, or every task (written since a time)."""
    if since is None and (commit is not None or not all_):
        return rows(env, ready, commit)
    start = reading.since(env, since) if since is not None else 0
    now = env.now()
    return ((env.tree, record, now) for _, _, record in env.index.since(task.FOLDER, start))


@verb(app, "list", "atlas task list --ready --explain", 7, limits=(limits.POSTED,))
def list_(
    ctx: typer.Context,
    ready: Annotated[bool, typer.Option("--ready", help="Only what can be claimed now.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Of all that is open: what holds it back.")
    ] = False,
    at: Annotated[
        str | None, typer.Option("--at", metavar="COMMIT", help="As it was at a commit.")
    ] = None,
    role: Role = None,
    label: Annotated[str | None, typer.Option("--label", metavar="L")] = None,
    state: State = None,
    all_: Annotated[bool, typer.Option("--all", help="Also what is done or cancelled.")] = False,
    since: Since = None,
    count: Annotated[int, typer.Option("-n", min=1, help="How many.")] = 50,
) -> Outcome:
    """The open tasks, those that come first first; --ready: what `next` would give away, in its
    order."""
    env = env_of(ctx)
    now = env.now()
    ready, all_ = ready and not explain, all_ or state in task.CLOSED
    source = _source(env, ready, at, since, all_)
    wanted = "ready" if ready else state
    plain = ready and at is since is role is label is None
    # The index knows how many tasks are ready, but not which of them a gate holds.
    plain = plain and not readiness.standing(env.tree)
    items: list[Record] = []
    total = 0
    for tree, record, then in source:
        if plain and len(items) == count:
            total = env.index.queue_length(task.FOLDER, now)
            break
        shown = board.task_row(env.ask, tree, record, then, policy.to_read(tree))
        over = at is not None and not all_ and shown["state"] in task.CLOSED
        other = wanted not in (None, shown["state"]) or role not in (None, record.get("role", role))
        if over or other or (label is not None and label not in record.get("labels", ())):
            continue
        total += 1
        if len(items) == count:
            continue
        items.append(env.ask.shown(shown))
        if explain:
            items[-1] |= {"unblocks": board.unblocks(env.ask, tree, record["id"])}
    reading.damaged(env, task.FOLDER + "/")
    more = (f"{total} in all; -n {total} shows them",) if total > len(items) else ()
    every = not all_ and at is since is state is label is None
    empty = f"no open task: {_nothing(env, role)}" if every else "no such task"
    if ready:
        empty = "no task is ready: atlas task list --explain says what holds each"
    return Outcome(listing(items, total), (table(items, now, explain, empty), *more))


@verb(app, "show", "atlas task show 7f3k2mq9xa", 7, limits=(limits.WORD,))
def show(ctx: typer.Context, wanted: Id) -> Outcome:
    """One task, whole: its state, what holds it back, who has it, how it failed, what it came
    to."""
    env = env_of(ctx)
    _, record = reading.resolve(env, names.Ref("task", wanted))
    blocks, data = shown(env, env.ask.shown(record))
    return Outcome(data, tuple(blocks))


def shown(env: Env, record: Record) -> tuple[list[Block], Record]:
    """One task as blocks and as data."""
    now = env.now()
    data = {
        **record,
        **board.task_row(env.ask, env.tree, record, now, env.policy),
        "body": record["body"],
    }
    data["unblocks"] = board.unblocks(env.ask, env.tree, record["id"])
    data["corrections"] = results_of.corrections(env, record)
    lines = [
        f"{record['ref']} (version {record['version']}): {data['state']}, priority"
        f" {record['priority']}"
    ]
    waits = ", ".join(f"{named(need)} ({state})" for need, state in data["unmet"].items())
    if waits:
        lines.append(f"waits for: {waits}")
    if data["unblocks"]:
        lines.append(f"unblocks: {', '.join(data['unblocks'])}")
    if (claim := record.get("claim")) and record["state"] == "claimed":
        left = times.span(min(lease.LONGEST, max(0, task.claim_ends(record) - now)))
        since = times.ago(times.moment(claim["at"]), now)
        lines.append(
            f"claimed by {named(claim['session'])} {since}, {left} left; receipt {receipt(record)}"
        )
    age = times.ago(times.moment(record["created"]), now)
    frame = Frame(f"{record['ref']} by {record['session']}, {age}", text(record, data))
    known = warned(env, record)
    data["result"], came_to = results_of.beside_task(env, record)
    return [*lines, frame, *known, *came_to], data


def text(record: Record, data: Record) -> str:
    """A task in its writers' words: the title, the fields, the failures, the text."""
    keys = ("role", "labels", "slots", "deadline", "relies_on", "uses", "files", "why")
    lines = [correction.WITHHELD if record["title"] is None else record["title"]]
    lines += [f"{key}: {_plain(data[key])}" for key in keys if data.get(key) is not None]
    if "frozen" in data:
        lines.append(f"frozen: {_frozen(data)}")
    for entry in record.get("failures", ()):
        if "why" in entry:
            what, text = f"failed: attempt {entry['attempt']}", entry["why"]
        else:
            what, text = next((each, entry.get(each)) for each in task.NO_FAILURE if each in entry)
        lines.append(f"{what} by {entry['session']}: {correction.plain(text)}")
    body = record["body"] or ""
    if body.strip():
        lines += ["", body]
    return "\n".join(lines)


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def receipt(record: Record) -> str:
    """The receipt of a claim, with which `done` proves it."""
    claim = record["claim"]
    return (
        f"{record['id']}.{claim['generation']}.{claim['attempt']}.{claim['token']}.{claim['store']}"
    )


@verb(app, "board", "atlas task board", 7, limits=(limits.POSTED,))
def board_(ctx: typer.Context) -> Outcome:
    """The board: a column for each state, its tasks in their order."""
    env = env_of(ctx)
    tasks = board.opened(env.ask, env.tree)
    columns = {name: [row for row in tasks if row["state"] == name] for name in COLUMNS}
    filled = {name: column for name, column in columns.items() if column}
    cells = [
        [f"{row['id']} {correction.said(row, 'title', env.now())[:40]}" for row in column]
        for column in filled.values()
    ]
    lines = tuple(zip_longest(*cells, fillvalue=""))
    heads = tuple(f"{name.upper()} ({len(column)})" for name, column in filled.items())
    return Outcome({"columns": columns, "total": len(tasks)}, (Table(heads, lines, _nothing(env)),))


def _nothing(env: Env, role: str | None = None) -> str:
    """The line for a board on which no task is open."""
    nobody = Writer("", "", env.store.machine, env.now(), "")
    return offering.none_ready(env.tree, nobody, role).message


@verb(app, "graph", "atlas task graph --format mermaid", 7, limits=(limits.POSTED,))
def graph(
    ctx: typer.Context,
    format_: Annotated[str, typer.Option("--format", metavar="tree|dot|mermaid")] = "tree",
) -> Outcome:
    """The open tasks and their needs: a tree, or the text that Graphviz or Mermaid draws."""
    env = env_of(ctx)
    if format_ not in ("tree", "dot", "mermaid"):
        raise Usage(f"there is no format {format_[:40]!r}", "tree, dot or mermaid")
    tasks = {row["id"]: row for row in board.opened(env.ask, env.tree)}
    edges = [
        (need, row["id"])
        for row in tasks.values()
        for need in readiness.needs(env.tree, row)
        if need in tasks
    ]
    drawn = {
        name: {**row, "title": correction.said(row, "title", env.now())}
        for name, row in tasks.items()
    }
    lines = {"tree": plan.tree, "dot": plan.dot, "mermaid": plan.mermaid}[format_](drawn, edges)
    data = {
        "tasks": list(tasks.values()),
        "edges": [list(edge) for edge in edges],
        "text": "\n".join(lines),
    }
    if format_ != "tree":  # for a program: nothing else is on stdout
        return Outcome(data, (Raw(f"{data['text']}\n".encode()),))
    return Outcome(data, (Frame("", "\n".join(lines)),) if lines else ("the board is empty",))


@verb(app, "dead", "atlas task dead", 7, limits=(limits.POSTED,))
def dead(ctx: typer.Context) -> Outcome:
    """The dead letters: tasks that failed as often as the policy allows, with how."""
    env = env_of(ctx)
    items = board.dead(env.ask, who.session_or_none(env))
    cells = tuple(
        (
            row["id"],
            correction.said(row, "title", env.now()),
            str(sum("why" in entry for entry in row.get("failures", ()))),
            task.last_failure(row),
        )
        for row in items
    )
    table_ = Table(("TASK", "TITLE", "FAILED", "LAST"), cells, "there is no dead letter")
    return Outcome(listing(items), (table_, f"dead letters: {len(items)}"))


@verb(app, "results", "atlas task results 7f3k2mq9xa", 6, 7, limits=(limits.WORD,))
def results(
    ctx: typer.Context,
    wanted: Annotated[list[str], typer.Argument(metavar="ID…", parser=parsed(bare))],
    raw: Annotated[bool, typer.Option("--raw", help="The bytes as they were given.")] = False,
    withdrawn: Withdrawn = False,
) -> Outcome:
    """The results of tasks, in the order asked for, each in a frame. None may be missing or named
    twice."""
    env = env_of(ctx)
    if twice := sorted({name for name in wanted if wanted.count(name) > 1}):
        raise Usage(f"{', '.join(twice)} is asked for twice", "name each task once")
    records = [reading.resolve(env, names.Ref("result", name))[1] for name in wanted]
    size, most = sum(record["size"] for record in records), env.policy["results_limit"]
    if size > most:
        raise Refused(
            f"{size:,} bytes of results; one call gives {most:,}",
            "ask for fewer at once",
            code="limit",
        )
    items, blocks = [], list[Block]()
    for record in records:
        framed, item = results_of.came(env, record, withdrawn)
        items.append(item)
        if raw:
            data = result.body(env.tree, record)
            withheld = env.ask.retracted(record["ref"]) and not withdrawn
            blocks.append(results_of.raw(env, record, data, artifact.is_text(data), withheld))
            env.notices += [f"{record['ref']}: {line}" for line in env.ask.warnings(record)]
        else:
            blocks += framed
    return Outcome(listing(items), tuple(blocks))

"""`atlas task`, the side of those who look: list, show, board, graph, dead, results."""

import sys
from base64 import b64encode
from collections.abc import Iterable, Sequence
from typing import Annotated

import typer

from ...answers import board
from ...env import reading, who
from ...env.env import Env
from ...errors import Refused, Usage
from ...imports import plan
from ...model import names, times
from ...model.text import Record
from ...model.tree import Tree
from ...outcome import Block, Frame, Outcome, Raw, Table, listing
from ...records import artifact, correction, lease, policy
from ...records.board import readiness, result, task
from ...visible import named
from .. import Since, env_of, noun, parsed, verb, warned

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


def rows(env: Env, ready: bool, commit: str | None) -> Iterable[tuple[Tree, Record, int]]:
    """(tree, row, moment) of what is open, first come first; as of a commit: at the time that it
    says."""
    index, now = env.index, env.now()
    if commit is None:
        yield from (
            (env.tree, record, now)
            for _, record in index.queue(task.FOLDER, now if ready else None)
        )
        return
    found = index.commit(commit)
    tree, born = env.store.snapshot(found["oid"]), index.born(task.FOLDER)
    paths = [
        f"{task.FOLDER}/{hh}/{name}"
        for hh in tree.names(task.FOLDER)
        for name in tree.names(f"{task.FOLDER}/{hh}")
    ]
    records = [(path, task.parse(path, tree.read(path) or b"")) for path in paths]
    at = max(found["at"] or 0, *(times.moment(record["at"]) for _, record in records), 0)
    for _, record in sorted(
        records, key=lambda pair: (-pair[1]["priority"], born.get(pair[0], 0), pair[0])
    ):
        yield tree, record, at


def table(items: Sequence[Record], now: int, explain: bool, empty: str) -> Table:
    columns = (
        "TASK",
        "STATE",
        "PRIO",
        "TITLE",
        *(("WAITS FOR", "UNBLOCKS") if explain else ("NEEDS",)),
    )
    shown = []
    for row in items:
        waits = ", ".join(f"{need} ({state})" for need, state in row["unmet"].items())
        waits = waits or (
            f"{row['frozen']['why']}{' (can thaw)' * row['can_thaw']}" if "frozen" in row else "-"
        )
        last = (waits, ", ".join(row.get("unblocks", ())) or "-") if explain else (waits,)
        shown.append(
            (
                row["id"],
                row["state"],
                str(row["priority"]),
                correction.said(row, "title", now),
                *last,
            )
        )
    return Table(columns, tuple(shown), empty)


@verb(app, "list", "atlas task list --ready --explain", 7)
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
    state: Annotated[
        str | None, typer.Option("--state", metavar="S", parser=parsed(_state), help=STATES)
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Also what is done or cancelled.")] = False,
    since: Since = None,
    count: Annotated[int, typer.Option("-n", min=1, help="How many.")] = 50,
) -> Outcome:
    """The open tasks, those that come first first; --ready: what `next` would give away, in its
    order."""
    env = env_of(ctx)
    now = env.now()
    ready, all_ = ready and not explain, all_ or state in task.CLOSED
    source: Iterable[tuple[Tree, Record, int]] = rows(env, ready, at)
    if since is not None or (all_ and at is None):
        found = env.index.since(task.FOLDER, reading.since(env, since) if since is not None else 0)
        source = ((env.tree, record, now) for _, _, record in found)
    wanted = "ready" if ready else state
    plain = (
        ready and at is since is role is label is None
    )  # then the index knows how many there are,
    plain = plain and not readiness.standing(env.tree)  # but for what a gate holds
    items: list[Record] = []
    total = 0
    for tree, record, then in source:
        if plain and len(items) == count:
            total = env.index.queue_length(task.FOLDER, now)
            break
        shown = board.task_row(tree, record, then, policy.of(tree))
        over = at is not None and not all_ and shown["state"] in task.CLOSED
        other = wanted not in (None, shown["state"]) or role not in (None, record.get("role", role))
        if over or other or (label is not None and label not in record.get("labels", ())):
            continue
        total += 1
        if len(items) < count:
            items.append(
                env.ask.shown(shown)
                | ({"unblocks": board.unblocks(env.ask, tree, record["id"])} if explain else {})
            )
    reading.damaged(env, task.FOLDER + "/")
    more = (f"{total} in all; -n {total} shows them",) if total > len(items) else ()
    empty = (
        "no task is ready: atlas task list --explain says what holds each"
        if ready
        else "no such task"
    )
    return Outcome(listing(items, total), (table(items, now, explain, empty), *more))


@verb(app, "show", "atlas task show 7f3k2mq9xa", 7)
def show(ctx: typer.Context, wanted: Id) -> Outcome:
    """One task, whole: its state, what holds it back, who has it, how it failed before."""
    env = env_of(ctx)
    _, record = reading.resolve(env, names.Ref("task", wanted))
    blocks, data = shown(env, env.ask.shown(record))
    return Outcome(data, tuple(blocks))


def shown(env: Env, record: Record) -> tuple[list[Block], Record]:
    now = env.now()
    data = {**record, **board.task_row(env.tree, record, now, env.policy), "body": record["body"]}
    data["unblocks"] = board.unblocks(env.ask, env.tree, record["id"])
    data["corrections"] = env.ask.corrections(record["ref"])
    lines = [
        f"{record['ref']} (version {record['version']}): {data['state']}, priority"
        f" {record['priority']}"
    ]
    waits = ", ".join(f"{named(need)} ({state})" for need, state in data["unmet"].items())
    lines += [f"waits for: {waits}"] if waits else []
    lines += [f"unblocks: {', '.join(data['unblocks'])}"] if data["unblocks"] else []
    if (claim := record.get("claim")) and record["state"] == "claimed":
        left = times.span(min(lease.LONGEST, max(0, task.claim_ends(record) - now)))
        since = times.ago(times.moment(claim["at"]), now)
        lines += [
            f"claimed by {named(claim['session'])} {since}, {left} left; receipt {receipt(record)}"
        ]
    keys = ("role", "labels", "slots", "deadline", "relies_on", "why")
    told = [f"{key}: {data[key]}" for key in keys if data.get(key) is not None]
    told += (
        [f"frozen: {data['frozen']['why']}{' (can thaw)' * data['can_thaw']}"]
        if "frozen" in data
        else []
    )
    told += [
        (
            f"failed: attempt {one['attempt']} by {one['session']}: {one['why']}"
            if "why" in one
            else f"retried by {one['session']}: {one['retried']}"
        )
        for one in record.get("failures", ())
    ]
    title = (
        f"{record['ref']} by {record['session']}, {times.ago(times.moment(record['created']), now)}"
    )
    body = record["body"] or ""
    head = correction.WITHHELD if record["title"] is None else record["title"]
    text = "\n".join([head, *told, *(["", body] if body.strip() else [])])
    return [*lines, Frame(title, text), *warned(env, record)], data


def receipt(record: Record) -> str:
    """A claim's receipt, as `done` takes it to prove the claim."""
    claim = record["claim"]
    return f"{claim['generation']}.{claim['attempt']}.{claim['token']}.{claim['store']}"


@verb(app, "board", "atlas task board", 7)
def board_(ctx: typer.Context) -> Outcome:
    """The board: a column for each state, its tasks in their order."""
    env = env_of(ctx)
    found = board.opened(env.ask, env.tree)
    columns = {name: [row for row in found if row["state"] == name] for name in COLUMNS}
    kept = {name: rows_ for name, rows_ in columns.items() if rows_}
    height = max((len(rows_) for rows_ in kept.values()), default=0)
    shown_ = [
        [f"{row['id']} {correction.said(row, 'title', env.now())[:40]}" for row in rows_]
        + [""] * (height - len(rows_))
        for rows_ in kept.values()
    ]
    cells = tuple(zip(*shown_, strict=True))
    heads = tuple(f"{name.upper()} ({len(rows_)})" for name, rows_ in kept.items())
    return Outcome(
        {"columns": columns, "total": len(found)}, (Table(heads, cells, "the board is empty"),)
    )


@verb(app, "graph", "atlas task graph --format mermaid", 7)
def graph(
    ctx: typer.Context,
    format_: Annotated[str, typer.Option("--format", metavar="tree|dot|mermaid")] = "tree",
) -> Outcome:
    """What needs what, of the open tasks: a tree, or the text that Graphviz or Mermaid draws."""
    env = env_of(ctx)
    if format_ not in ("tree", "dot", "mermaid"):
        raise Usage(f"there is no format {format_[:40]!r}", "tree, dot or mermaid")
    found = {row["id"]: row for row in board.opened(env.ask, env.tree)}
    edges = [
        (need, row["id"])
        for row in found.values()
        for need in readiness.needs(env.tree, row)
        if need in found
    ]
    drawn = {
        one: {**row, "title": correction.said(row, "title", env.now())}
        for one, row in found.items()
    }
    lines = {"tree": plan.tree, "dot": plan.dot, "mermaid": plan.mermaid}[format_](drawn, edges)
    data = {
        "tasks": list(found.values()),
        "edges": [list(edge) for edge in edges],
        "text": "\n".join(lines),
    }
    if format_ != "tree":  # for a program: nothing else is on stdout
        return Outcome(data, (Raw(f"{data['text']}\n".encode()),))
    return Outcome(data, (Frame("", "\n".join(lines)),) if lines else ("the board is empty",))


@verb(app, "dead", "atlas task dead", 7)
def dead(ctx: typer.Context) -> Outcome:
    """The dead letters: tasks that failed as often as the policy allows, with how."""
    env = env_of(ctx)
    items = board.dead(env.ask, who.session_or_none(env))
    cells = tuple(
        (
            row["id"],
            correction.said(row, "title", env.now()),
            str(len(row.get("failures", ()))),
            task.last_failure(row),
        )
        for row in items
    )
    table_ = Table(("TASK", "TITLE", "FAILED", "LAST"), cells, "there is no dead letter")
    return Outcome(listing(items), (table_, f"dead letters: {len(items)}"))


@verb(app, "results", "atlas task results 7f3k2mq9xa", 6, 7)
def results(
    ctx: typer.Context,
    wanted: Annotated[list[str], typer.Argument(metavar="ID…", parser=parsed(bare))],
    raw: Annotated[bool, typer.Option("--raw", help="The bytes as they were given.")] = False,
    withdrawn: Annotated[
        bool, typer.Option("--withdrawn", help="Also what was retracted.")
    ] = False,
) -> Outcome:
    """What tasks came to, in the order asked for, each in a frame. None may be missing or named
    twice."""
    env = env_of(ctx)
    if twice := sorted({one for one in wanted if wanted.count(one) > 1}):
        raise Usage(f"{', '.join(twice)} is asked for twice", "name each task once")
    found = [reading.resolve(env, names.Ref("result", one))[1] for one in wanted]
    size, most = sum(record["size"] for record in found), env.policy["results_limit"]
    if size > most:
        raise Refused(
            f"{size:,} bytes of results; one call gives {most:,}",
            "ask for fewer at once",
            code="limit",
        )
    items, blocks = [], list[Block]()
    for record in found:
        data = result.body(env.tree, record)
        text = data.decode() if artifact.is_text(data) else None
        item_ = {
            **record,
            "text": text,
            "base64": None if text is not None else b64encode(data).decode(),
        }
        held = env.ask.retracted(record["ref"]) and not withdrawn
        items.append(env.ask.shown(item_) if held else item_)
        title = (
            f"{record['ref']} by {record['session']}, {record['size']:,} bytes, SHA-256"
            f" {record['sha256'][:12]}"
        )
        if raw and text is None and sys.stdout.isatty():
            raise Usage(
                f"{record['ref']} is no text, and would steer the terminal",
                "send it to a file: > FILE",
            )
        if held and raw:
            raise Refused(
                f"{record['ref']} was {'; '.join(env.ask.warnings(record))}",
                "--withdrawn gives it all the same",
                code="retracted",
            )
        if raw:
            blocks.append(Raw(data))
        elif held:
            blocks.append(Frame(title, "(retracted; --withdrawn shows it)"))
        else:
            blocks.append(
                f"{title}: no text; --raw gives it" if text is None else Frame(title, text)
            )
        blocks += [] if raw else warned(env, record)
    return Outcome(listing(items), tuple(blocks))

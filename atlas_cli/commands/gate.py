"""`atlas gate`: a blocker holds back what depends on it, until somebody who may clears it."""

from typing import Annotated

import typer

from ..answers import board
from ..answers.ask import Questions
from ..env import beginning, reading, writing
from ..env.env import Env
from ..errors import Usage
from ..model import names, times
from ..model.text import Record
from ..outcome import Frame, Outcome, Table, listing
from ..records import correction
from ..records.board import gate, raising
from ..visible import many, named
from . import All, Why, env_of, limits, noun, parsed, verb, warned
from .signal import About, about_of

app = noun()
SCOPES = "all, label:L or role:R"


def _bare(text: str) -> str:
    return names.name(text.removeprefix("gate:").removesuffix(gate.END), "gate id")


def _scope(text: str) -> str:
    word, colon, rest = text.partition(":")
    if text != "all" and (word not in ("label", "role") or not colon or not names.valid(rest)):
        raise Usage(f"{text[:80]!r} is no scope of tasks", f"a scope is {SCOPES}")
    return text


def _task(text: str) -> str:
    return f"task:{names.name(text.removeprefix('task:'), 'task id')}"


Id = Annotated[str, typer.Argument(metavar="ID", parser=parsed(_bare), help="The gate.")]


@verb(
    app,
    "raise",
    'atlas gate raise --why "the schema is wrong" --scope label:import --deadline 2d',
    3,
    5,
    6,
    7,
    limits=(limits.GATED,),
)
def raise_(
    ctx: typer.Context,
    why: Why,
    tasks: Annotated[
        list[str] | None,
        typer.Option("--task", metavar="TASK", parser=parsed(_task), help="A task that it holds."),
    ] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option(
            "--scope", metavar="S", parser=parsed(_scope), help=f"The tasks of: {SCOPES}."
        ),
    ] = None,
    about: About = None,
    deadline: Annotated[
        str | None, typer.Option("--deadline", metavar="T", help="When it should be cleared.")
    ] = None,
) -> Outcome:
    """Post a blocker: these tasks, or those under a scope, and all that need them, now or later,
    cannot be claimed until it is cleared. A deadline that passes releases nothing."""
    env = env_of(ctx)
    if not tasks and not scope:
        raise Usage("a gate holds something back", f"say what: --task ID, or --scope {SCOPES}")
    me, reason = beginning.writer(env), names.say(why, "--why")
    until = times.rfc3339(times.ahead(deadline, env.now())) if deadline else None
    on, held = about_of(env, about), [*(tasks or ()), *(scope or ())]
    done = writing.write(
        env,
        lambda tree, who: raising.raise_gate(tree, who, reason, on, held, until),
        me,
        "gate: raise ",
    )
    record = next(
        row
        for row in writing.records(env, done)
        if row["ref"].startswith("gate:") and row["resolution"] == "pending"
    )
    data = {
        **record,
        **board.gate_row(env.ask, env.tree, record),
        "replayed": done.replayed or done.empty,
    }
    by = f" stands already, by {named(record['session'])}, and" if data["replayed"] else ""
    line = (
        f"{data['ref']}{by} holds {many(len(data['edges']), 'open task')}, and what comes under"
        f" {', '.join(data['scope'])}"
    )
    return Outcome(data, (line,), published=False)


@verb(app, "list", "atlas gate list --all", 7, limits=(limits.GATED,))
def list_(
    ctx: typer.Context,
    all_: All = False,
    at: Annotated[
        str | None, typer.Option("--at", metavar="COMMIT", help="As it was at a commit.")
    ] = None,
) -> Outcome:
    """The gates that hold tasks back: pending, or past their deadline and not cleared."""
    env = env_of(ctx)
    reading.damaged(env, gate.FOLDER + "/")  # one that cannot be read is a notice
    ask, tree = env.ask, env.tree
    if at is not None:
        past = env.index.commit(at)
        tree = env.store.snapshot(past["oid"])
        ask = Questions(env.index, env.local, env.policy, past["at"] or env.now())
    items = board.raised(ask, tree) if all_ else board.standing(ask, tree)
    cells = tuple(
        (
            row["id"],
            row["state"],
            ", ".join(row["scope"]),
            str(len(row["edges"])),
            _left(env, row),
            correction.said(row, "why", env.now()),
        )
        for row in items
    )
    table = Table(
        ("GATE", "STATE", "HOLDS", "TASKS", "LEFT", "WHY"), cells, "no gate holds anything back"
    )
    return Outcome(listing(items), (table,))


def _left(env: Env, record: Record) -> str:
    """How long a gate still has until its deadline, in words."""
    if "deadline" not in record or record["state"] == "cleared":
        return "-"
    left = times.moment(record["deadline"]) - env.now()
    return times.span(left) if left > 0 else "over"


@verb(app, "show", "atlas gate show 7f3k2mq9xa", 7, limits=(limits.GATED,))
def show(ctx: typer.Context, wanted: Id) -> Outcome:
    """One gate: why, what it holds, and how it ended."""
    env = env_of(ctx)
    record = board.gate_row(env.ask, env.tree, reading.resolve(env, names.Ref("gate", wanted))[1])
    record["end"] = _end(env, wanted)
    lines = [f"why: {correction.said(record, 'why', env.now())}"]
    lines += [
        f"{key}: {record[key]}"
        for key in ("about", "deadline", "graph_delta_hash")
        if record.get(key)
    ]
    lines += [
        f"holds: {', '.join(record['scope'])}",
        f"edges: {', '.join(record['edges']) or 'none'}",
    ]
    if record["end"]:
        because = ""
        if "why" in record["end"]:
            because = f": {correction.plain(record['end']['why'])}"
        lines.append(f"{record['state']} by {record['end']['resolver']}{because}")
    age = times.ago(times.moment(record["at"]), env.now())
    frame = Frame(
        f"{record['ref']} by {record['session']}, {age}: {record['state']}", "\n".join(lines)
    )
    return Outcome(record, (frame, *warned(env, record)))


def _end(env: Env, wanted: str) -> Record | None:
    """How a gate ended; None while it stands."""
    path = gate.path_of(wanted + gate.END)
    if not env.tree.blob(path):
        return None
    record = gate.parse(path, reading.last_good(env, path)[0])
    return env.ask.shown(record, f"gate:{wanted}{gate.END}")


@verb(app, "clear", "atlas gate clear 7f3k2mq9xa", 3, 5, 6, 7, limits=(limits.GATED,))
def clear(
    ctx: typer.Context,
    wanted: Id,
    why: Annotated[
        str | None, typer.Option("--why", metavar="TEXT", help="What became of the blocker.")
    ] = None,
) -> Outcome:
    """End a gate: by the session that raised it, one that it descends from, or a principal of the
    policy."""
    env = env_of(ctx)
    me, reason = beginning.writer(env), names.say(why, "--why") if why else None
    done = writing.write(
        env, lambda tree, who: raising.clear(tree, who, wanted, reason), me, "gate: clear "
    )
    record = next(row for row in writing.records(env, done) if row["ref"].startswith("gate:"))
    data = {**record, "replayed": done.replayed or done.empty}
    return Outcome(data, (f"gate:{wanted} is {record['resolution']}",), published=False)

"""`atlas task`, the side of those who post: add, edit, cancel, freeze, thaw, retry."""

from typing import Annotated, Any

import typer

from ...answers import board, mending
from ...answers.ask import Questions
from ...env import addressing, beginning, reading, using, writing
from ...env.env import Env
from ...errors import Usage
from ...imports import plan
from ...model import names, times
from ...model.change import Change, Writer
from ...model.text import Record
from ...model.tree import Tree
from ...outcome import Outcome, listing
from ...records import correction
from ...records.board import posting, task
from .. import Why, body, env_of, limits, one, parsed, verb
from .look import Id, Role, app, bare

Needs = Annotated[
    list[str] | None,
    typer.Option(
        "--needs",
        "--depends-on",
        metavar="ID",
        parser=parsed(bare),
        help="What must be done before it.",
    ),
]
Text = Annotated[
    str | None, typer.Option("-m", metavar="TEXT", help="What is to be done, in full.")
]
File = Annotated[str | None, typer.Option("--file", metavar="F", help="A file that holds it.")]
Priority = Annotated[
    int | None, typer.Option("--priority", min=0, max=100, help="Higher comes first (50).")
]
Labels = Annotated[
    list[str] | None, typer.Option("--label", metavar="L", parser=parsed(names.name))
]
Slots = Annotated[
    int | None, typer.Option("--slots", min=1, help="How many slots of a worker it takes.")
]
Deadline = Annotated[
    str | None, typer.Option("--deadline", metavar="T", help="When it is no use any more.")
]
Headline = Annotated[
    str | None, typer.Argument(metavar="[TITLE]", help="What is to be done, in a line.")
]
Frozen = Annotated[
    str | None, typer.Option("--frozen", metavar="WHY", help="List it, but do not offer it.")
]
Plan = Annotated[
    str | None, typer.Option("--plan", metavar="F", help="A plan: tasks in YAML or Markdown.")
]
Title = Annotated[str | None, typer.Option("--title", metavar="T", help="Another title.")]
Drop = Annotated[list[str] | None, typer.Option("--drop-need", metavar="ID", parser=parsed(bare))]
Dropped = Annotated[
    str | None, typer.Option("--why", metavar="TEXT", help="Why a need is dropped.")
]
Until = Annotated[str | None, typer.Option("--until", metavar="REF|T", help="What it waits for.")]
Relies = Annotated[
    list[str] | None, typer.Option("--relies-on", metavar="REF", help="A record that it builds on.")
]
Uses = Annotated[
    list[str] | None,
    typer.Option("--uses", metavar="RES", help="A resource that its claim takes a lease on."),
]
On = Annotated[
    list[str] | None, typer.Option("--on", metavar="PATH", help="A file that it is about.")
]
BLOCKED = "; what needs it is blocked"


def fields(env: Env, **given: Any) -> Record:
    """The fields of a task as they are stored, without those that were not given."""
    row = {key: value for key, value in given.items() if value not in (None, [])}
    if "title" in row:
        row["title"] = names.say(row["title"], "the title", 200)
    if "deadline" in row:
        row["deadline"] = times.rfc3339(times.ahead(row["deadline"], env.now()))
    if "relies_on" in row:
        row["relies_on"] = [reading.pinned_ref(env, target) for target in row["relies_on"]]
    if "uses" in row:
        row["uses"] = list(dict.fromkeys(reading.resource(env, name) for name in row["uses"]))
    if "on" in row:
        row["files"] = list(addressing.paths(env, row.pop("on")))
    if "body" in row:
        row["body"] = row["body"].rstrip("\n") + "\n"
    return row


def frozen(env: Env, why: str | None, until: str | None) -> Record | None:
    """The entry of a task that is posted frozen; None if no reason is given. Raises Usage for an
    end without a reason."""
    if why is None:
        if until is not None:
            raise Usage("--until says until when it is frozen", "say why, too: --frozen WHY")
        return None
    row = {"why": names.say(why, "the reason"), "at": times.rfc3339(env.now())}
    if until:
        row["until"] = _until(env, until)
    return row


def _until(env: Env, text: str) -> str:
    """The thing that a task waits for, as it is stored."""
    what, now = addressing.until(env, text)
    if now:
        env.notices.append(f"{what} is {now.how} already: the task can thaw at once")
    return what


def at_head(env: Env) -> Questions:
    """Questions to the head on which a write is decided."""
    return Questions(env.store.index, env.local, env.policy, env.now())


def open_count(env: Env) -> int:
    """The number of open tasks at the head on which a write is decided."""
    index = env.store.index
    dead = [row for _, row in index.live(task.FOLDER, task.NEVER) if row["state"] == "failed"]
    return index.queue_length(task.FOLDER) - len(dead)


@verb(
    app,
    "add",
    'atlas task add "write the parser" --needs 7f3k2mq9xa --priority 70',
    3,
    5,
    6,
    7,
    limits=(limits.CLAIMED,),
)
def add(
    ctx: typer.Context,
    title: Headline = None,
    text: Text = None,
    file: File = None,
    needs: Needs = None,
    priority: Priority = None,
    role: Role = None,
    label: Labels = None,
    slots: Slots = None,
    relies_on: Relies = None,
    uses: Uses = None,
    on: On = None,
    deadline: Deadline = None,
    why: Frozen = None,
    until: Until = None,
    whole: Plan = None,
) -> Outcome:
    """Post a task, or a whole plan in one transaction.

    In a plan tasks name each other: YAML `tasks: [{name: a, title: …, needs: [b]}]`, or Markdown, a
    heading `## Title` for each, lines `name: a`, `needs: b` below it, then its text. Of the
    options, --frozen and --until hold for each of its tasks, and no other goes with it."""
    env = env_of(ctx)
    _task_or_plan(ctx, title, whole)
    given = body(env, text, file)
    text_of = body(env, None, whole) if whole is not None else None
    me = beginning.writer(env)
    single = {
        "title": title,
        "body": given,
        "needs": needs,
        "priority": priority,
        "role": role,
        "labels": label,
        "slots": slots,
        "relies_on": relies_on,
        "uses": uses,
        "on": on,
        "deadline": deadline,
    }
    wanted = [single] if text_of is None else plan.read(whole or "", text_of)
    tasks = [fields(env, **row) for row in wanted]
    records = _added(env, me, tasks, frozen(env, why, until))
    lines = tuple(
        f"{record['ref']} added: {correction.said(record, 'title', env.now())}"
        for record in records
    )
    data = one(records) if whole is None else listing(records)
    return Outcome(data, lines, published=False)


def _task_or_plan(ctx: typer.Context, title: str | None, whole: str | None) -> None:
    """Raises Usage unless there is either a title or a plan, and the options go with it."""
    if (title is None) == (whole is None):
        raise Usage(
            "a task has a title, or there is a --plan with the tasks",
            "give one of them: TITLE, or --plan F",
        )
    if whole is not None and (alone := _of_one(ctx)):
        raise Usage(
            f"{', '.join(alone)}: a plan says that of each of its tasks",
            "write it there, or leave it out",
        )


def _added(env: Env, me: Record, tasks: list[Record], cold: Record | None) -> list[Record]:
    """Posts these tasks, all of them frozen if `cold` says why, and returns their rows."""
    if cold:
        tasks = [{**row, "frozen": cold} for row in tasks]

    def decide(tree: Tree, who: Writer) -> Change:
        mending.refuse_twins(at_head(env), tasks, me["id"])
        return posting.add(tree, who, tasks, open_count(env))

    done = writing.write(env, decide, me, "task: add ")
    records = writing.records(env, done)
    lines = mending.also(env.ask, records)
    env.notices += lines or board.twins(env.ask, records, me["id"])
    return records


def _of_one(ctx: typer.Context) -> list[str]:
    """The given options that describe a single task. The others hold for every task of a plan."""
    every = ("title", "whole", "why", "until")
    return [
        option.opts[0]
        for option in ctx.command.params
        if option.name not in every and ctx.params[option.name or ""] not in (None, [], ())
    ]


def written(env: Env, done: Any, line: str) -> Outcome:
    """The outcome of a write that changed a single task."""
    record = next(row for row in writing.records(env, done) if row["ref"].startswith("task:"))
    record["replayed"] = done.replayed or done.empty
    return Outcome(record, (line.format(**record),), published=False)


@verb(
    app,
    "edit",
    'atlas task edit 7f3k2mq9xa --drop-need 2mq9xa7f3k --why "not needed any more"',
    3,
    4,
    5,
    6,
    7,
    limits=(limits.CLAIMED,),
)
def edit(
    ctx: typer.Context,
    wanted: Id,
    title: Title = None,
    text: Text = None,
    file: File = None,
    needs: Needs = None,
    drop: Drop = None,
    why: Dropped = None,
    priority: Priority = None,
    role: Role = None,
    label: Labels = None,
    slots: Slots = None,
    relies_on: Relies = None,
    uses: Uses = None,
    on: On = None,
    deadline: Deadline = None,
) -> Outcome:
    """Change an open task. A need is added, or dropped with a reason."""
    env = env_of(ctx)
    if drop and not why:
        raise Usage("a need is dropped with a reason", "say it: --why TEXT")
    given, me = body(env, text, file), beginning.writer(env)
    new = fields(
        env,
        title=title,
        body=given,
        priority=priority,
        role=role,
        labels=label,
        slots=slots,
        relies_on=relies_on,
        uses=uses,
        on=on,
        deadline=deadline,
    )
    if not (new or needs or drop):
        raise Usage(
            "there is nothing to change",
            "name what: --title, -m, --needs, --drop-need, --priority, …",
        )
    reason = names.say(why, "--why") if why else None
    done = writing.write(
        env,
        lambda tree, who: posting.edit(tree, who, wanted, new, needs or [], drop or [], reason),
        me,
        "task: edit ",
    )
    return written(env, done, "{ref} is at version {version}")


@verb(
    app,
    "cancel",
    'atlas task cancel 7f3k2mq9xa --base 3 --why "overtaken"',
    3,
    4,
    5,
    6,
    7,
    limits=(limits.CLAIMED,),
)
def cancel(
    ctx: typer.Context,
    wanted: Id,
    why: Why,
    base: Annotated[
        int | None, typer.Option("--base", metavar="N", min=1, help="The version you have seen.")
    ] = None,
) -> Outcome:
    """Call a task off: one that you have posted or claimed; another's open one against the version
    that you have seen."""
    env = env_of(ctx)
    me, reason = beginning.writer(env), names.say(why, "--why")
    done = writing.write(
        env, lambda tree, who: posting.cancel(tree, who, wanted, reason, base), me, "task: cancel "
    )
    needed = env.index.pointing(f"task:{wanted}", "needs")
    answer = written(env, done, f"{{ref}} is cancelled{BLOCKED if needed else ''}")
    using.follow(env, me, [answer.data])
    return answer


@verb(
    app,
    "freeze",
    'atlas task freeze 7f3k2mq9xa --why "until the cache is in" --until task:2mq9xa7f3k',
    3,
    4,
    5,
    6,
    7,
    limits=(limits.CLAIMED,),
)
def freeze(ctx: typer.Context, wanted: Id, why: Why, until: Until = None) -> Outcome:
    """List a task, but do not offer it, until it is thawed."""
    env = env_of(ctx)
    me, reason = beginning.writer(env), names.say(why, "--why")
    over = _until(env, until) if until else None
    done = writing.write(
        env, lambda tree, who: posting.freeze(tree, who, wanted, reason, over), me, "task: freeze "
    )
    return written(env, done, "{ref} is frozen")


@verb(app, "thaw", "atlas task thaw 7f3k2mq9xa", 3, 4, 5, 6, 7, limits=(limits.CLAIMED,))
def thaw(ctx: typer.Context, wanted: Id) -> Outcome:
    """Offer a frozen task again."""
    env = env_of(ctx)
    done = writing.write(
        env, lambda tree, who: posting.thaw(tree, who, wanted), beginning.writer(env), "task: thaw "
    )
    return written(env, done, "{ref} is offered again")


@verb(
    app,
    "retry",
    'atlas task retry 7f3k2mq9xa --why "the disk is empty again"',
    3,
    4,
    5,
    6,
    7,
    limits=(limits.CLAIMED,),
)
def retry(ctx: typer.Context, wanted: Id, why: Why) -> Outcome:
    """Offer a dead or cancelled task again; its failures are kept."""
    env = env_of(ctx)
    me, reason = beginning.writer(env), names.say(why, "--why")
    done = writing.write(
        env,
        lambda tree, who: posting.retry(tree, who, wanted, reason, open_count(env)),
        me,
        "task: retry ",
    )
    return written(env, done, "{ref} is offered again, generation {generation}")

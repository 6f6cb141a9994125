"""`atlas task`, the side of those who work: next, claim, start, renew, done, fail, release, assign.
The other verbs of this noun are in post.py (they post) and look.py (they show)."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any

import typer

from ...answers import board, sessions
from ...env import who, writing
from ...env.env import Env
from ...errors import AtlasError, Held, Protocol, Refused, Usage
from ...model import names, times
from ...model.change import Change, Decide, Writer
from ...model.text import Record
from ...model.tree import Tree
from ...outcome import Block, Frame, Outcome, listing
from ...records import artifact, correction, lease
from ...records.board import assigning, claims, readiness, result, task
from ...sharing.dealing import FRESH
from .. import For, Why, env_of, limits, one, parsed, read_bytes, verb
from .look import Id, Role, app, bare, receipt
from .post import written

Ids = Annotated[list[str], typer.Argument(metavar="ID…", parser=parsed(bare))]
Receipt = Annotated[
    str | None,
    typer.Option(
        "--receipt", metavar="R", help="The claim's receipt: proves which claim you mean."
    ),
]


def _claimed(env: Env, me: Record, decide: Decide, what: str = "task: claim ") -> list[Record]:
    """The rows of a claim. It counts only once it is published, and is given back if the remote
    does not confirm it.

    Raises Refused if this is an operation of before, and its claim is over."""
    written = writing.exclusive(
        env,
        decide,
        me,
        what,
        lambda: [row["id"] for row in task.held(env.tree, me["id"], env.now())],
        lambda new: _given_back(env, me, new),
    )
    rows = writing.records(env, written)
    over = [row["id"] for row in rows if task.get(env.tree, row["id"])["token"] != row["token"]]
    if written.replayed and over:
        raise Refused(
            f"the operation {written.writer.operation} was done before, and its claim is over: "
            f"{', '.join(over)}",
            "claim anew, with another operation id",
            code="not_held",
        )
    return rows


def _given_back(env: Env, me: Record, wanted: list[str]) -> None:
    """Gives claims back, each in a write of its own: if another was first at one of them, the
    others are given back all the same."""
    for name in wanted:
        try:
            writing.write(env, partial(claims.release, wanted=[name]), me, "task: release ")
        except (Held, Refused, Protocol) as stop:
            env.notices.append(stop.message)


def _queue(env: Env) -> Callable[[], Any]:
    """The tasks that may be given away, at the head on which a write is decided.

    A claim that begins in the future is not honoured, but the queue takes its task for claimed.
    These tasks come last."""

    def rows() -> Iterator[tuple[str, Record]]:
        index, now = env.store.index, env.now()
        yield from index.queue(task.FOLDER, now)
        live = index.live(task.FOLDER, task.NEVER)
        yield from (pair for pair in live if lease.begins(task.claim_ends(pair[1])) > now)

    return rows


def _lines(env: Env, items: list[Record]) -> list[Block]:
    """A line for each claim of this session, and the task's title in its poster's words."""
    lines: list[Block] = []
    for row in items:
        left = max(0, task.claim_ends(row) - times.SKEW - env.now())
        span = times.span(min(lease.LONGEST, left))
        lines.append(f"you have {row['ref']}, {span} to count on; receipt {receipt(row)}")
        lines.append(Frame("", correction.said(row, "title", env.now())))
    return lines


def _with_receipt(row: Record) -> Record:
    return {**row, "receipt": receipt(row)}


@verb(app, "next", "atlas task next --claim --role backend", 3, 5, 6, 7, limits=(limits.CLAIMED,))
def next_(
    ctx: typer.Context,
    role: Role = None,
    claim: Annotated[bool, typer.Option("--claim", help="Claim it, in the same step.")] = False,
    for_: For = None,
) -> Outcome:
    """The next task: highest priority, then first come. --claim gives it to you; lost to another,
    the one after it.

    A task is never offered before all that it needs is done. Without any it is exit 7."""
    env = env_of(ctx)
    if not claim:
        record = claims.first_ready(env.tree, _queue(env)(), env.now(), env.store.machine, role)
        offer = board.offered(env.ask, record)
        title = Frame("", correction.said(offer, "title", env.now()))
        return Outcome(offer, (f"next is {offer['ref']}:", title))
    env.dealing = FRESH
    row = _claim_next(env, who.session(env), role, for_)
    return Outcome(_with_receipt(row), tuple(_lines(env, [row])), published=False)


def _claim_next(env: Env, me: Record, role: str | None, for_: int | None) -> Record:
    return one(
        _claimed(env, me, lambda tree, who: claims.claim_next(tree, who, _queue(env)(), role, for_))
    )


@verb(
    app,
    "claim",
    "atlas task claim 7f3k2mq9xa --for 2h",
    3,
    4,
    5,
    6,
    7,
    remote=FRESH,
    limits=(limits.CLAIMED,),
)
def claim(ctx: typer.Context, wanted: Ids, for_: For = None) -> Outcome:
    """Claim these tasks: those that can be had, with the reason for each other. One's own claim is
    renewed."""
    env = env_of(ctx)
    me = who.session(env)
    ids = list(dict.fromkeys(wanted))
    rows = _claimed(env, me, lambda tree, who: claims.claim(tree, who, ids, for_))
    if len(ids) == 1:
        return Outcome(_with_receipt(one(rows)), tuple(_lines(env, rows)), published=False)
    got = {row["id"] for row in rows}
    writer = Writer(me["id"], me["actor"], env.store.machine, env.now(), "")
    failed = claims.explained(
        claims.refusals(env.tree, writer, (name for name in ids if name not in got))
    )
    data = {
        **listing([_with_receipt(row) for row in rows], len(ids)),
        "claimed": sorted(got),
        "failed": failed,
    }
    lines = [*_lines(env, rows), *(f"! {row['message']}" for row in failed)]
    return Outcome(data, tuple(lines), published=False)


@verb(app, "start", "atlas task start 7f3k2mq9xa", 3, 4, 5, 6, 7, limits=(limits.CLAIMED,))
def start(ctx: typer.Context, wanted: Id, proof: Receipt = None) -> Outcome:
    """Say that you begin a task that was assigned to you; else it is offered again after a quarter
    of an hour."""
    env = env_of(ctx)
    me = who.session(env)
    done = writing.write(
        env,
        lambda tree, who: claims.start(tree, who, wanted, proof),
        me,
        "task: start ",
        exclusive=True,
    )
    return written(env, done, "{ref} is begun")


@verb(app, "renew", "atlas task renew 7f3k2mq9xa --for 1h", 3, 4, 5, 6, 7, limits=(limits.CLAIMED,))
def renew(ctx: typer.Context, wanted: Ids, for_: For = None, proof: Receipt = None) -> Outcome:
    """Keep your claims for another stretch of time, from now on."""
    env = env_of(ctx)
    me = who.session(env)
    _single(wanted, proof)
    done = writing.write(
        env,
        lambda tree, who: claims.renew(tree, who, wanted, for_, proof),
        me,
        "task: renew ",
        exclusive=True,
    )
    rows = writing.records(env, done)
    return Outcome(
        one(rows) if len(rows) == 1 else listing(rows), tuple(_lines(env, rows)), published=False
    )


def _single(wanted: list[str], proof: str | None) -> None:
    if proof is not None and len(wanted) > 1:
        raise Usage("a receipt is of one claim", "name one task")


@verb(
    app,
    "done",
    "atlas task done 7f3k2mq9xa --result report.md --claim-next",
    3,
    4,
    5,
    6,
    7,
    limits=(limits.CLAIMED,),
)
def done(
    ctx: typer.Context,
    wanted: Id,
    file: Annotated[
        str | None, typer.Option("--result", metavar="F", help="What it came to (-: stdin).")
    ] = None,
    text: Annotated[
        str | None, typer.Option("-m", metavar="TEXT", help="What it came to, in words.")
    ] = None,
    proof: Receipt = None,
    goes_on: Annotated[
        bool, typer.Option("--claim-next", help="Claim the next task afterwards.")
    ] = False,
) -> Outcome:
    """Finish a task that you have claimed; what waited for it alone is ready. Said again, it
    answers the same.

    If somebody else went on with it meanwhile, it stops (4) and nothing is overwritten."""
    env = env_of(ctx)
    new, me = _new_result(env, file, text), who.session(env)
    wrote = writing.write(
        env, lambda tree, who: claims.done(tree, who, wanted, proof, new), me, "task: done "
    )
    answer = written(env, wrote, "{ref} is done")
    free = unblocks_now(env, wanted)
    lines = [*answer.blocks, *([f"unblocked: {', '.join(free)}"] if free else [])]
    data = {**answer.data, "unblocked": free, "next": None}
    if goes_on:
        try:
            row = _claim_next(env, me, None, None)
            data["next"] = _with_receipt(row)
            lines += _lines(env, [row])
        except AtlasError as stop:  # the task is done, whatever comes of the next one
            lines += [stop.message]
    return Outcome(data, tuple(lines), published=False)


def _new_result(env: Env, file: str | None, text: str | None) -> result.NewResult | None:
    """The result that the options give, or None. Raises Usage if two of them give one."""
    if file is not None and text is not None:
        raise Usage("a result comes from one place", "give one of --result F and -m TEXT")
    if file is not None:
        data = read_bytes(env, file)
        name = "" if file == "-" else file
    elif text is not None:
        data = (text.rstrip("\n") + "\n").encode()
        name = ""
    else:
        return None
    return result.NewResult(data, artifact.extension(None, name, data))


def unblocks_now(env: Env, wanted: str) -> list[str]:
    """The tasks that need this one, and are ready now that it is done."""
    needing = env.index.pointing(f"task:{wanted}", "needs")
    return [
        row["id"]
        for _, row in needing
        if readiness.assess(env.tree, row, env.now(), env.policy)[0] == "ready"
    ]


@verb(
    app,
    "fail",
    'atlas task fail 7f3k2mq9xa --why "the data is not there"',
    3,
    4,
    5,
    6,
    7,
    limits=(limits.CLAIMED,),
)
def fail(ctx: typer.Context, wanted: Id, why: Why, proof: Receipt = None) -> Outcome:
    """Say that your attempt failed: it is offered again, as often as the policy allows; then it is
    a dead letter."""
    env = env_of(ctx)
    me, reason = who.session(env), names.say(why, "--why")
    wrote = writing.write(
        env, lambda tree, who: claims.fail(tree, who, wanted, proof, reason), me, "task: fail "
    )
    now = (
        "a dead letter" if writing.records(env, wrote)[0]["state"] == "failed" else "offered again"
    )
    return written(env, wrote, f"{{ref}} failed, and is {now}; retries used: {{retries}}")


@verb(app, "release", "atlas task release 7f3k2mq9xa", 3, 4, 5, 6, 7, limits=(limits.CLAIMED,))
def release(ctx: typer.Context, wanted: Ids, proof: Receipt = None) -> Outcome:
    """Give a task back unfinished. It is no failure."""
    env = env_of(ctx)
    me = who.session(env)
    _single(wanted, proof)
    rows = writing.records(
        env,
        writing.write(
            env, lambda tree, who: claims.release(tree, who, wanted, proof), me, "task: release "
        ),
    )
    lines = tuple(f"{row['ref']} is given back" for row in rows)
    return Outcome(one(rows) if len(rows) == 1 else listing(rows), lines, published=False)


@verb(
    app,
    "assign",
    "atlas task assign --session claude-261129-7f3k2m",
    3,
    4,
    5,
    6,
    7,
    remote=FRESH,
    limits=(
        limits.CLAIMED,
        "an assigned task that is not started within {start_within} is offered again",
    ),
)
def assign(
    ctx: typer.Context,
    wanted: Annotated[str | None, typer.Argument(metavar="[TASK]", parser=parsed(bare))] = None,
    to: Annotated[
        str | None, typer.Option("--session", metavar="S", help="To this session.")
    ] = None,
    for_: For = None,
) -> Outcome:
    """Give the next task (or this one) to the healthy session with most slots left (or to this
    one), in one step.

    A task that is not started within the policy's `start_within` is offered again."""
    env = env_of(ctx)
    me = who.session(env)
    fresh = [
        row["id"]
        for _, row in env.index.live("sessions", env.now())
        if sessions.pulse(env.ask, row)[1] == "live"
    ]

    def decide(tree: Tree, who: Writer) -> Change:
        return assigning.assign(tree, who, _queue(env)(), wanted, to, fresh, for_)

    def given() -> list[str]:
        rows = task.held(env.tree, None, env.now())
        mine = [row for row in rows if row["claim"].get("by") == me["id"]]
        return [row["id"] for row in mine if "started" not in row["claim"]]

    wrote = writing.exclusive(
        env, decide, me, "task: assign ", given, lambda new: _given_back(env, me, new)
    )
    row = one(writing.records(env, wrote))
    line = (
        f"{row['ref']} is assigned to {row['claim']['session']}, to be started within"
        f" {env.policy['start_within']}"
    )
    return Outcome(_with_receipt(row), (line,), published=False)

"""`atlas task`, the side of those who work: start, renew, done, fail, release, assign. The other
verbs of this noun are in claiming.py (next, claim), post.py (they post) and look.py (they show)."""

from functools import partial
from typing import Annotated

import typer

from ...answers import code, sessions
from ...env import beginning, using, who, writing
from ...env.env import Env
from ...errors import AtlasError, Protocol, Usage
from ...model import names, times
from ...model.change import Change, Writer
from ...model.text import Record
from ...model.tree import Tree
from ...outcome import Outcome, listing
from ...records import artifact, correction
from ...records.board import assigning, claims, readiness, result, task
from ...sharing.dealing import FRESH
from ...visible import theirs
from .. import For, Wait, Why, env_of, limits, one, parsed, read_bytes, verb
from .claiming import Ids, claim_next, given_back, lines_of, queue, tasks_of, with_receipt
from .look import Id, app, bare
from .post import written

Receipt = Annotated[
    str | None,
    typer.Option(
        "--receipt", metavar="R", help="The claim's receipt: proves which claim you mean."
    ),
]


@verb(app, "start", "atlas task start 7f3k2mq9xa", 3, 4, 5, 6, 7, limits=(limits.CLAIMED,))
def start(ctx: typer.Context, wanted: Id, proof: Receipt = None) -> Outcome:
    """Say that you begin a task that was assigned to you; else it is offered again after a quarter
    of an hour."""
    env = env_of(ctx)
    me = beginning.writer(env)
    row = task.get(env.tree, wanted)
    claim: Record = row.get("claim", {})
    assigned = claim.get("session") == me["id"] and "started" not in claim
    left = times.moment(claim["expires"]) - env.now() if assigned else 0

    def decide(tree: Tree, who: Writer) -> Change:
        return claims.start(tree, who, wanted, proof)

    begun = partial(writing.write, env, decide, me, "task: start ", exclusive=True)
    done = using.first(env, me, [row] if assigned else [], left, begun)
    return written(env, done, "{ref} is begun")


@verb(app, "renew", "atlas task renew 7f3k2mq9xa --for 1h", 3, 4, 5, 6, 7, limits=(limits.CLAIMED,))
def renew(ctx: typer.Context, wanted: Ids, for_: For = None, proof: Receipt = None) -> Outcome:
    """Keep your claims for another stretch of time, from now on."""
    env = env_of(ctx)
    me = beginning.writer(env)
    _single(wanted, proof)
    done = writing.write(
        env,
        lambda tree, who: claims.renew(tree, who, wanted, for_, proof),
        me,
        "task: renew ",
        exclusive=True,
    )
    rows = tasks_of(writing.records(env, done))
    using.follow(env, me, rows)
    return Outcome(
        one(rows) if len(rows) == 1 else listing(rows), tuple(lines_of(env, rows)), published=False
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
    wait: Wait = None,
) -> Outcome:
    """Finish a task that you have claimed; what waited for it alone is ready. Said again, it
    answers the same.

    If somebody else went on with it meanwhile, it stops (4) and nothing is overwritten."""
    env = env_of(ctx)
    if wait is not None and not goes_on:
        raise Usage("--wait waits for the next task", "say --claim-next with it")
    new, me = _new_result(env, file, text), beginning.writer(env)
    commit = _judge_code(env, me, task.get(env.tree, wanted))
    new = new._replace(commit=commit) if new else None
    wrote = writing.write(
        env, lambda tree, who: claims.done(tree, who, wanted, proof, new), me, "task: done "
    )
    ref = f"result:{wanted}" if env.tree.blob(result.path_of(wanted)) else None
    answer = written(env, wrote, f"{{ref}} is done{f': {ref}' if ref else ''}")
    using.follow(env, me, [answer.data])
    free = unblocks_now(env, wanted)
    lines = [*answer.blocks, *_unblocked(env, free)]
    data = {**answer.data, "result": ref, "unblocked": free, "next": None}
    if goes_on:
        try:
            row = claim_next(env, me, None, None, wait)
            data["next"] = with_receipt(env, row)
            lines += lines_of(env, [row])
        except AtlasError as stop:  # the task is done, whatever comes of the next one
            lines += [stop.message]
    return Outcome(data, tuple(lines), published=False)


def _judge_code(env: Env, me: Record, row: Record) -> str:
    """The commit that the work is at; empty where there is none. Says what of it nobody else has
    yet. Raises Protocol where the policy says `done_unpushed: stop`."""
    level = env.policy["done_unpushed"]
    claim = row.get("claim", {})
    since = times.moment(claim["at"]) if "at" in claim else env.now()
    work = code.unpublished(env.git, me["id"], since) if env.place.top else code.NOTHING
    if level != "off" and work.loose and len(sessions.living(env.ask, who.worktree(env))) < 2:
        env.notices.append("files here are changed, and not committed: git status")
    if level != "off" and work.problem:
        hint = work.hint
        if level == "stop":
            raise Protocol(work.problem, f"{hint}; then finish the task", code="unpushed")
        env.notices.append(f"{work.problem}: {hint}")
    return work.head


def _new_result(env: Env, file: str | None, text: str | None) -> result.NewResult | None:
    """The result that the options give, or None. Raises Usage if two of them give one, or if it
    is empty: it would say nothing to whoever comes next."""
    if file is not None and text is not None:
        raise Usage("a result comes from one place", "give one of --result F and -m TEXT")
    if file is not None:
        data = read_bytes(env, file, env.policy["result_limit"], result.ELSEWHERE)
        name = "" if file == "-" else file
    elif text is not None:
        data = (text.rstrip("\n") + "\n").encode()
        name = ""
    else:
        return None
    if not data.strip():
        raise Usage("the text is empty", "say what it came to: -m TEXT or --result F")
    return result.NewResult(data, artifact.extension(None, name, data))


def _unblocked(env: Env, ids: list[str]) -> list[str]:
    """The line that says which tasks are ready now, if some are."""
    rows = [env.ask.shown(task.get(env.tree, id), f"task:{id}") for id in ids[:5]]
    titles = [f"{row['id']} {correction.said(row, 'title', env.now(), theirs)}" for row in rows]
    more = [f"{len(ids) - 5} more"] if len(ids) > 5 else []
    return [f"unblocked: {', '.join([*titles, *more])}"] if ids else []


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
    me, reason = beginning.writer(env), names.say(why, "--why")
    wrote = writing.write(
        env, lambda tree, who: claims.fail(tree, who, wanted, proof, reason), me, "task: fail "
    )
    using.follow(env, me, tasks_of(writing.records(env, wrote)))
    now = (
        "a dead letter"
        if tasks_of(writing.records(env, wrote))[0]["state"] == "failed"
        else "offered again"
    )
    return written(env, wrote, f"{{ref}} failed, and is {now}; retries used: {{retries}}")


@verb(app, "release", "atlas task release 7f3k2mq9xa", 3, 4, 5, 6, 7, limits=(limits.CLAIMED,))
def release(
    ctx: typer.Context,
    wanted: Ids,
    proof: Receipt = None,
    why: Annotated[
        str | None, typer.Option("--why", metavar="TEXT", help="The reason; lists show it.")
    ] = None,
) -> Outcome:
    """Give a task back unfinished. It is no failure."""
    env = env_of(ctx)
    me, reason = beginning.writer(env), names.say(why, "--why") if why is not None else None
    _single(wanted, proof)
    gives = partial(claims.release, wanted=wanted, receipt=proof, why=reason)
    done = writing.write(env, gives, me, "task: release ")
    rows = tasks_of(writing.records(env, done))
    using.follow(env, me, rows)
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
    me = beginning.writer(env)
    fresh = [
        row["id"]
        for _, row in env.index.live("sessions", env.now())
        if sessions.pulse(env.ask, row)[1] == "live" and not sessions.stale(env.ask, row)
    ]

    def decide(tree: Tree, who: Writer) -> Change:
        return assigning.assign(tree, who, queue(env)(), wanted, to, fresh, for_)

    def given() -> list[str]:
        rows = task.held(env.tree, None, env.now())
        mine = [row for row in rows if row["claim"].get("by") == me["id"]]
        return [row["id"] for row in mine if "started" not in row["claim"]]

    wrote = writing.exclusive(
        env, decide, me, "task: assign ", given, lambda new: given_back(env, me, new)
    )
    row = one(tasks_of(writing.records(env, wrote)))
    line = (
        f"{row['ref']} is assigned to {row['claim']['session']}, to be started within"
        f" {env.policy['start_within']}"
    )
    return Outcome(with_receipt(env, row), (line,), published=False)

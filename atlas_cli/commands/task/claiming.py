"""`atlas task next` and `claim`: a task taken, and what whoever takes it must know."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any

import typer

from ... import records
from ...answers import board
from ...env import beginning, reading, telling, who, writing
from ...env import using as using_elsewhere
from ...env.env import Env
from ...errors import Held, Protocol, Refused, Usage
from ...model import times
from ...model.change import Change, Decide, Writer
from ...model.text import Record
from ...model.tree import Tree
from ...outcome import Block, Frame, Outcome, listing
from ...records import correction, lease, policy, session
from ...records.board import claims, offering, result, task
from ...sharing.dealing import FRESH
from ...visible import named
from .. import For, Wait, env_of, limits, one, parsed, verb, warned
from .look import Role, app, bare, receipt, text
from .results import is_short

Ids = Annotated[list[str], typer.Argument(metavar="ID…", parser=parsed(bare))]


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
        lambda new: given_back(env, me, new),
    )
    rows = tasks_of(writing.records(env, written))
    over = [row["id"] for row in rows if task.get(env.tree, row["id"])["token"] != row["token"]]
    if written.replayed and over:
        raise Refused(
            f"the operation {written.writer.operation} was done before, and its claim is over: "
            f"{', '.join(over)}",
            "claim anew, with another operation id",
            code="not_held",
        )
    return rows


def given_back(env: Env, me: Record, wanted: list[str]) -> None:
    """Gives claims back, each in a write of its own: if another was first at one of them, the
    others are given back all the same."""
    for name in wanted:
        try:
            writing.write(env, partial(claims.release, wanted=[name]), me, "task: release ")
        except (Held, Refused, Protocol) as stop:
            env.notices.append(stop.message)


def queue(env: Env) -> Callable[[], Any]:
    """The tasks that may be given away, at the head on which a write is decided.

    A claim that begins in the future is not honoured, but the queue takes its task for claimed.
    These tasks come last."""

    def rows() -> Iterator[tuple[str, Record]]:
        index, now = env.store.index, env.now()
        yield from index.queue(task.FOLDER, now)
        live = index.live(task.FOLDER, task.NEVER)
        yield from (pair for pair in live if lease.begins(task.claim_ends(pair[1])) > now)

    return rows


def tasks_of(rows: list[Record]) -> list[Record]:
    """The tasks among the records that a write put: leases may follow them."""
    return [row for row in rows if row["ref"].startswith("task:")]


def lines_of(env: Env, items: list[Record]) -> list[Block]:
    """All that a worker must know who has claimed these: what warns of them, how long, the task
    whole, what it builds on."""
    blocks = list[Block](_framed(_in_force(env, items)))
    for row in items:
        left = max(0, task.claim_ends(row) - times.SKEW - env.now())
        span = times.span(min(lease.LONGEST, left))
        blocks.append(f"you have {row['ref']}, {span} to count on; receipt {receipt(row)}")
        age = times.ago(times.moment(row["created"]), env.now())
        blocks.append(Frame(f"{row['ref']} by {row['session']}, {age}", text(row, row)))
        if used := [name for name in row.get("uses", ()) if _held_for(env, row, name)]:
            blocks.append(f"held for it: {', '.join(map(named, used))}")
        blocks += _ground(env, row)
        blocks += warned(env, row)
    return blocks


def _in_force(env: Env, items: list[Record]) -> list[str]:
    """The warnings of the status that concern whoever has claimed these."""
    if not items:
        return []
    return telling.warnings(env, session.row_of(env.tree, items[0]["claim"]["session"]))


def _held_for(env: Env, row: Record, resource: str) -> bool:
    held = lease.current(env.tree, resource)
    return held is not None and held["holder"] == row["claim"]["session"]


def _ground(env: Env, row: Record) -> list[Block]:
    """The results of others that a task builds on: short ones whole, the rest by name."""
    blocks, named_only = list[Block](), list[str]()
    for ref in _results(env, row):
        _, record = reading.resolve(env, records.ref(ref))
        if record["session"] == row["claim"]["session"]:
            blocks.append(f"it builds on {ref}, which is yours")
            blocks += _framed(_of_results(env, [ref]))
            continue
        if not is_short(env, record) or env.ask.retracted(ref):
            named_only.append(ref)
            continue
        title = f"it builds on {ref} by {record['session']}"
        blocks.append(Frame(title, result.body(env.tree, record).decode().rstrip()))
        blocks += _framed(_of_results(env, [ref]))
    if named_only:
        ids = " ".join(ref.partition(":")[2] for ref in named_only)
        blocks.append(f"it builds on {', '.join(named_only)}: atlas task results {ids}")
        blocks += _framed(_of_results(env, named_only))
    return blocks


def _framed(warnings: list[str]) -> list[Block]:
    return [Frame("", "\n".join(f"! {line}" for line in warnings))] if warnings else []


def _results(env: Env, row: Record) -> list[str]:
    """The REFs of what the tasks that it needs came to."""
    needs = row.get("needs", ())
    return [f"result:{need}" for need in needs if env.tree.blob(result.path_of(need))]


def _of_results(env: Env, refs: list[str]) -> list[str]:
    """The warnings of results: each was corrected, or its task was."""
    lines = []
    for ref in refs:
        record = env.index.readable(env.index.path_of(ref)) or {}
        known = env.ask.warnings({"ref": ref, **record}, str) if record else []
        lines += [f"{ref}: {line}" for line in known]
    return lines


def with_receipt(env: Env, row: Record) -> Record:
    """A claimed task as data, with its receipt and what whoever has it must know."""
    refs = _results(env, row)
    known = [*_in_force(env, [row]), *env.ask.warnings(row, str), *_of_results(env, refs)]
    return {**row, "receipt": receipt(row), "results": refs, "warnings": known}


@verb(app, "next", "atlas task next --claim --role backend", 3, 5, 6, 7, limits=(limits.CLAIMED,))
def next_(
    ctx: typer.Context,
    role: Role = None,
    claim: Annotated[bool, typer.Option("--claim", help="Claim it, in the same step.")] = False,
    for_: For = None,
    wait: Wait = None,
) -> Outcome:
    """The next task: highest priority, then first come. --claim gives it to you, with what it uses;
    lost to another, the one after it. --wait waits until one is ready.

    A task is never offered before all that it needs is done. Without any it is exit 7, which says
    whether others are at work on some (`waiting`) or the board is done (`open`: 0)."""
    env = env_of(ctx)
    if not claim:
        if wait is not None:
            raise Usage("--wait goes with --claim", "atlas wait ready waits, and claims nothing")
        me, passed = who.session_or_none(env), list[Held]()
        by = _writer(env, me or {"id": "", "actor": ""})
        record = offering.first_ready(env.tree, queue(env)(), by, role, passed)
        env.notices += [f"passed over: {stop.message}" for stop in passed]
        offer = board.offered(env.ask, record)
        title = Frame("", correction.said(offer, "title", env.now()))
        return Outcome(offer, (f"next is {offer['ref']}:", title))
    env.dealing = FRESH
    row = claim_next(env, beginning.writer(env), role, for_, wait)
    return Outcome(with_receipt(env, row), tuple(lines_of(env, [row])), published=False)


def claim_next(
    env: Env, me: Record, role: str | None, for_: int | None, wait: int | None
) -> Record:
    """The next task, claimed."""

    def decide(tree: Tree, who: Writer) -> Change:
        return claims.claim_next(tree, who, queue(env)(), role, for_)

    def attempt(decide: Decide) -> list[Record]:
        return _next(env, me, decide, role, for_) if env.shares else _claimed(env, me, decide)

    return one(_had(env, me, decide, wait, [], attempt))


def _next(env: Env, me: Record, decide: Decide, role: str | None, for_: int | None) -> list[Record]:
    """The same where other stores keep some of what tasks use: each is tried, in their order, with
    what it uses."""
    passed: list[Held] = []
    by = _writer(env, me)
    for row in offering.ready(env.tree, queue(env)(), by, role, passed):
        if not passed and not using_elsewhere.stores_of(env, [row]):
            return _claimed(env, me, decide)  # what it uses is taken with the claim
        this = partial(claims.claim, wanted=[row["id"]], seconds=for_)
        try:
            claimed = _with_uses(env, me, this, [row], for_)
        except Held as stop:
            passed.append(stop)
            continue
        env.notices += [f"passed over: {stop.message}" for stop in passed]
        return claimed
    raise offering.none_ready(env.tree, by, role, passed)


def _with_uses(
    env: Env, me: Record, decide: Decide, rows: list[Record], for_: int | None
) -> list[Record]:
    """The rows of a claim, made once the session holds what other stores keep of what these tasks
    use."""
    seconds = for_ or policy.seconds(env.policy, "claim_default")
    claim = partial(_claimed, env, me, decide)
    claimed = using_elsewhere.first(env, me, rows, seconds, claim)
    got = {row["id"] for row in claimed}
    using_elsewhere.follow(env, me, [row for row in rows if row["id"] not in got])
    return claimed


def _had(
    env: Env,
    me: Record,
    decide: Decide,
    wait: int | None,
    whats: list[str],
    attempt: Callable[[Decide], list[Record]],
) -> list[Record]:
    """The rows of a claim. With `wait` it is waited for so many seconds."""
    if wait is None:
        return attempt(decide)
    from ...env import waiting

    settled = waiting.settled(decide)
    wanted = waiting.Wanted(whats, wait)
    return waiting.had(env, env, me, wanted, lambda: attempt(settled), settled)


def _writer(env: Env, me: Record) -> Writer:
    above = tuple(me.get("lineage", ()))
    return Writer(me["id"], me["actor"], env.store.machine, env.now(), "", above)


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
def claim(ctx: typer.Context, wanted: Ids, for_: For = None, wait: Wait = None) -> Outcome:
    """Claim these tasks: those that can be had, with the reason for each other. One's own claim is
    renewed. The resources that a task uses are leased with it. --wait waits until one of them can
    be had."""
    env = env_of(ctx)
    me = beginning.writer(env)
    ids = list(dict.fromkeys(wanted))

    def decide(tree: Tree, who: Writer) -> Change:
        return claims.claim(tree, who, ids, for_)

    def attempt(decide: Decide) -> list[Record]:
        open_ = [task.get(env.tree, name) for name in ids if env.tree.blob(task.path_of(name))]
        return _with_uses(env, me, decide, open_, for_)

    rows = _had(env, me, decide, wait, [f"task:{name}" for name in ids], attempt)
    if len(ids) == 1:
        return Outcome(with_receipt(env, one(rows)), tuple(lines_of(env, rows)), published=False)
    got = {row["id"] for row in rows}
    failed = claims.explained(
        claims.refusals(env.tree, _writer(env, me), (name for name in ids if name not in got))
    )
    data = {
        **listing([with_receipt(env, row) for row in rows], len(ids)),
        "claimed": sorted(got),
        "failed": failed,
    }
    lines = [*lines_of(env, rows), *(f"! {row['message']}" for row in failed)]
    return Outcome(data, tuple(lines), published=False)

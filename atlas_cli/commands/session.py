"""`atlas session`: who is, or was, at work."""

from typing import Annotated, Any

import typer

from ..answers import board, leases, sessions
from ..env import beginning, drafting, reading, who, wording, writing
from ..env.env import Env
from ..errors import Held, Refused, Usage
from ..model import names, times
from ..model.change import Change, Writer
from ..model.text import Record
from ..model.tree import Tree
from ..outcome import Block, Frame, Outcome, Table, listing
from ..records import correction, goals, lease, session, takeover
from ..records.board import assigning, task
from ..sharing.dealing import FRESH
from ..visible import many
from . import All, Since, Why, body, env_of, limits, noun, parsed, verb
from .task import claiming

app = noun()
Id = typer.Argument(metavar="ID", help="As atlas session list shows it.")


def table(env: Env, items: list[dict[str, Any]]) -> Table:
    """The sessions as a table."""
    now = env.now()
    shown = tuple(
        (
            item["id"],
            item["state"],
            times.ago(times.moment(item["last"]), now),
            correction.said(item, "goal", now),
        )
        for item in items
    )
    return Table(("SESSION", "STATE", "LAST SIGN", "GOAL"), shown, "no live session")


@verb(app, "list", "atlas session list --all", 7, limits=(limits.AT_WORK,))
def list_(
    ctx: typer.Context,
    all_: All = False,
    since: Since = None,
) -> Outcome:
    """The live sessions and their goals; --since: all that wrote anything since."""
    env = env_of(ctx)
    items = sessions.rows(env.ask, all_ or since is not None)
    if since is not None:
        young = env.index.active(reading.since(env, since))
        items = [item for item in items if item["id"] in young]
    reading.damaged(env, session.FOLDER + "/")
    return Outcome(listing(items), (table(env, items),))


@verb(app, "show", "atlas session show claude-261129-7f3k2m", 5, 7, limits=(limits.AT_WORK,))
def show(ctx: typer.Context, wanted: Annotated[str | None, Id] = None) -> Outcome:
    """One session (default: yours): its goal, its life, what it wrote and what it holds."""
    env = env_of(ctx)
    record = session.get(env.tree, wanted.removeprefix("session:")) if wanted else who.session(env)
    record = sessions.row(env.ask, record)
    held = [row["resource"] for row in leases.held(env.ask, record["id"])]
    if env.shares:
        from ..env import elsewhere

        more, _ = elsewhere.survey(
            env, lambda other: leases.held(other.ask, record["id"]), ask=False
        )
        held += [f"{row['resource']} ({row['store']})" for row in more]
    claimed = board.claimed(env.ask, record["id"])
    commits, total = env.index.commits(10, session=record["id"])
    wrote = [commit["subject"] for commit in commits]
    data = {
        **record,
        "held": held,
        "claimed": claimed,
        "commits": total,
        "wrote": wrote,
    }
    began = times.ago(times.moment(record["began"]), env.now())
    last = times.ago(times.moment(record["last"]), env.now())
    head = f"{record['id']}: {record['state']}, began {began}, last sign of life {last}"
    lines = [
        f"goal: {correction.said(record, 'goal', env.now())}",
        *_more_goals(record),
        f"holds: {', '.join(held + claimed) or 'nothing'}",
    ]
    if offer_ := record.get("offer"):
        plain = {key: value for key, value in offer_.items() if key != "at" and value is not None}
        offered = [f"{key} {value}" for key, value in plain.items()]
        lines.append(f"offers: {', '.join(offered)}")
    lines += [f"wrote ({total}):", *(f"  {subject}" for subject in wrote)]
    return Outcome(data, (head, Frame("", "\n".join(lines))))


def _more_goals(record: Record) -> list[str]:
    """A line for each goal that a session has beside its first one."""
    every = goals.goals(record)
    return [
        f"goal {number}{' (over)' if 'over' in goal else ''}: {goal['text'] or 'withheld'}"
        for number, goal in enumerate(every[1:], 2)
    ]


@verb(
    app,
    "adopt",
    'atlas session adopt claude-261129-7f3k2m --why "it vanished; I go on with its work"',
    3,
    4,
    5,
    6,
    7,
    remote=FRESH,
    limits=(
        (
            "no process is stopped: what is adopted is refused at its next write, and may still"
            " edit files"
        ),
        limits.ALIVE,
    ),
)
def adopt(
    ctx: typer.Context,
    wanted: Annotated[list[str], typer.Argument(metavar="ID…")],
    why: Why,
    text: Annotated[
        str | None, typer.Option("-m", metavar="TEXT", help="Your word on what they left, too.")
    ] = None,
) -> Outcome:
    """Take over sessions that are over, or whose process is gone: their leases and claims (with a
    new fencing token), their duty to leave a word. A principal of the policy may take over any.

    Every write that such a session still tries is refused. With -m, one that another took over
    meanwhile, or that is back, is passed over, and your section of the status is written."""
    env = env_of(ctx)
    me = beginning.writer(env, strict=True)
    reason = names.say(why, "--why")
    given = body(env, text, None)
    if given is not None and env.options.operation is not None:
        raise Usage("-m makes two writes, and an operation id is of one", "leave one of them out")
    ids = list(dict.fromkeys(id.removeprefix("session:") for id in wanted))
    rows = _open(env, me, ids, passing=given is not None)
    data, blocks = _take(env, me, rows, reason) if rows else ({}, [])
    if given is not None:
        options = wording.Options()
        wish = wording.wish(env, me, "main", given, options)
        record, more = wording.answer(env, me, wording.write(env, me, wish, options))
        data, blocks = {**record, **data, "status": record}, [*blocks, *more]
    return Outcome(data, tuple(blocks), published=False)


def _take(env: Env, me: Record, rows: list[Record], why: str) -> tuple[Record, list[Block]]:
    """Adopts sessions: the data and the blocks of the answer."""
    ids = [row["id"] for row in rows]

    def decide(tree: Tree, who: Writer) -> Change:
        return _taken_over(tree, who, ids, why)

    records = writing.records(
        env, writing.write(env, decide, me, f"adopt: {ids[0]} ", punctual=True)
    )
    taken = [row["resource"] for row in records if row["ref"].startswith("lease:")]
    claims = claiming.tasks_of(records)
    taken += [lease for id in ids for lease in _taken_elsewhere(env, me, id, why)]
    adopted = [row for row in records if row["ref"].startswith("session:")]
    data = {**adopted[0], "leases": taken, "tasks": [row["id"] for row in claims]}
    data |= {"claims": [claiming.with_receipt(env, row) for row in claims], "adopted_ids": ids}
    texts = any(row["session"] in ids for row in drafting.own(env, me))
    lines = _adopted(rows, taken, texts, env.store.machine)
    return data, [*lines, *claiming.lines_of(env, claims)]


def _open(env: Env, me: Record, ids: list[str], passing: bool) -> list[Record]:
    """The rows of the sessions that can be adopted. `passing`: one that cannot is passed over, with
    a notice; else it stops the command."""
    principal = me["actor"] in env.policy["principals"]
    rows = []
    for id in ids:
        try:
            row = _over(env, me, id, principal)
            if passing:
                takeover.unadopted(env.tree, id)
            rows.append(row)
        except (Held, Refused) as stop:
            if not passing:
                raise
            env.notices.append(f"passed over: {stop.message}")
    return rows


def _over(env: Env, me: Record, wanted: str, every: bool = False) -> Record:
    """The row of a session that can be adopted. Raises Held for one that is live and that nothing
    shows to be gone, unless `every` one can be, and Usage for the caller itself."""
    record = session.get(env.tree, wanted)
    if wanted == me["id"]:
        raise Usage("that is this session itself", "atlas end closes it")
    last, state = sessions.pulse(env.ask, record)
    if state != "live" or every or sessions.given_up(env.ask, record, who.here(env)):
        return record
    at, silence = sessions.adoptable(env.ask, record, last, who.here(env))
    seen = "once its process is seen to be gone, or " if "process" in record else ""
    raise Held(
        f"{wanted} is live: its last sign of life was {times.ago(last, env.now())}",
        f"it can be adopted {seen}after {times.span(silence)} of silence, at"
        f" {times.rfc3339(at)}; a principal may adopt any",
        details={"session": wanted, "last": times.rfc3339(last), "until": times.rfc3339(at)},
    )


def _taken_over(tree: Tree, who: Writer, ids: list[str], why: str) -> Change:
    """The change by which the writer adopts some sessions, and has what they held."""
    files: dict[str, bytes | None] = {}
    for id in ids:
        files |= takeover.adopt(tree, who, id, why).files
        files |= lease.inherit(tree, who, id)
        files |= assigning.inherited(tree, who, id)
    return Change(f"adopt: {' '.join(ids)} ({who.session})", files)


def _taken_elsewhere(env: Env, me: Record, wanted: str, why: str) -> list[str]:
    """The leases of a session that are kept in other stores, taken over there."""
    from ..env import elsewhere

    return elsewhere.everywhere(
        env, me, wanted, lambda tree, who: _taken_over(tree, who, [wanted], why)
    )


def _adopted(rows: list[Record], taken: list[str], texts: bool, machine: str) -> list[str]:
    """The answer's lines: who was adopted, and what passed on; `texts`: drafts, too."""
    ids = ", ".join(row["id"] for row in rows)
    verb = "are" if len(rows) > 1 else "is"
    lines = [f"{ids} {verb} adopted: what was left is yours to finish, and to leave a word on"]
    if taken:
        lines.append(f"its leases are yours now: {', '.join(taken)}")
    if any(row["machine"] != machine for row in rows):
        lines.append("what was committed in another clone and not pushed is not here")
    elif any("ended" not in row for row in rows):
        lines.append("it may still be typing: git status first, before you go on with its files")
    if texts:
        lines.append("atlas drafts lists the texts that were left")
    return lines


@verb(
    app,
    "dismiss",
    'atlas session dismiss claude-261129-7f3k2m --why "its branch was thrown away"',
    3,
    4,
    5,
    6,
    7,
    remote=FRESH,
    limits=(
        "the work itself stays as it is: what the session left unsaid, nobody is asked to say",
    ),
)
def dismiss(ctx: typer.Context, wanted: Annotated[str, Id], why: Why) -> Outcome:
    """Say, as a principal, that nobody need take over what a session left without a word."""
    env = env_of(ctx)
    me = beginning.writer(env, strict=True)
    reason, wanted = names.say(why, "--why"), wanted.removeprefix("session:")
    _over(env, me, wanted)

    def decide(tree: Tree, who: Writer) -> Change:
        return takeover.dismiss(tree, who, wanted, reason, env.policy["principals"])

    row = writing.records(env, writing.write(env, decide, me, f"dismiss: {wanted} "))[0]
    return Outcome(row, (f"{wanted} is unfinished no more",), published=False)


@verb(
    app,
    "offer",
    "atlas session offer --slots 4 --role backend --load 2500",
    3,
    5,
    6,
    7,
    limits=("what a session offers is its word; nothing is stopped or started by it",),
)
def offer(
    ctx: typer.Context,
    slots: Annotated[
        int, typer.Option("--slots", min=0, max=2**31, help="How many tasks at a time.")
    ],
    role: Annotated[
        str | None, typer.Option("--role", metavar="R", parser=parsed(names.name))
    ] = None,
    status: Annotated[str, typer.Option("--status", metavar="healthy|draining|down")] = "healthy",
    load: Annotated[
        int, typer.Option("--load", min=0, max=10_000, help="In basis points: 10000 is all.")
    ] = 0,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="For information only.")] = None,
) -> Outcome:
    """Offer slots for tasks that others assign: slots times what the load leaves, less the claims
    that you hold."""
    env = env_of(ctx)
    if status not in ("healthy", "draining", "down"):
        raise Usage(f"there is no status {status[:40]!r}", "healthy, draining or down")
    me = beginning.writer(env)
    fields: dict[str, Any] = {"slots": slots, "status": status, "load": load}
    if role:
        fields["role"] = role
    if tag:
        fields["tags"] = [names.say(text, "--tag", 100) for text in tag]
    done = writing.write(
        env, lambda tree, who: session.offer(tree, who, fields), me, "session: offer "
    )
    row = writing.records(env, done)[0]
    left = assigning.effective(row["offer"], task.held(env.tree, me["id"], env.now()))
    return Outcome(
        {**row, "effective": left},
        (f"{row['id']} offers {many(left, 'slot')} now",),
        published=False,
    )


@verb(
    app,
    "drop",
    'atlas session drop claude-261129-7f3k2m --why "its machine is gone"',
    3,
    4,
    5,
    6,
    7,
    remote=FRESH,  # what it took a moment ago is to be freed, too
    limits=(
        (
            "no process is stopped: what is dropped is refused at its next write, and may still"
            " edit files"
        ),
    ),
)
def drop(ctx: typer.Context, wanted: Annotated[str, Id], why: Why) -> Outcome:
    """End a dead worker that you (or your ancestor) started, and free at once what it holds."""
    env = env_of(ctx)
    me, reason = beginning.writer(env), names.say(why, "--why")
    wanted = wanted.removeprefix("session:")

    from ..env import elsewhere

    def decide(tree: Tree, who: Writer) -> Change:
        change = takeover.drop(tree, who, wanted, reason, env.policy["principals"])
        freed = {
            **lease.freed(tree, who, wanted),
            **assigning.freed(tree, who, wanted, f"dropped: {reason}"),
        }
        return change._replace(files={**change.files, **freed})

    records = writing.records(env, writing.write(env, decide, me, f"drop: {wanted} "))
    row = next(row for row in records if row["ref"].startswith("session:"))
    freed = [row["ref"] for row in records if not row["ref"].startswith("session:")]
    freed += elsewhere.everywhere(env, me, wanted, decide)
    line = f"{wanted} is over; freed: {', '.join(freed) or 'nothing'}"
    return Outcome({**row, "freed": freed}, (line,), published=False)

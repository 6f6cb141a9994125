"""`atlas session`: who is, or was, at work."""

from typing import Annotated, Any

import typer

from ..answers import board, leases, sessions
from ..env import reading, who, writing
from ..env.env import Env
from ..errors import Held, Usage
from ..model import names, times
from ..model.change import Change, Writer
from ..model.tree import Tree
from ..outcome import Frame, Outcome, Table, listing
from ..records import correction, lease, session
from ..records.board import assigning, task
from ..sharing.dealing import FRESH
from . import All, Since, Why, env_of, limits, noun, parsed, verb

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
    return Table(("SESSION", "STATE", "LAST WRITE", "GOAL"), shown, "no live session")


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
    head = f"{record['id']}: {record['state']}, began {began}, last write {last}"
    lines = [
        f"goal: {correction.said(record, 'goal', env.now())}",
        f"holds: {', '.join(held + claimed) or 'nothing'}",
    ]
    if offer_ := record.get("offer"):
        plain = {key: value for key, value in offer_.items() if key != "at" and value is not None}
        offered = [f"{key} {value}" for key, value in plain.items()]
        lines.append(f"offers: {', '.join(offered)}")
    lines += [f"wrote ({total}):", *(f"  {subject}" for subject in wrote)]
    return Outcome(data, (head, Frame("", "\n".join(lines))))


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
    ),
)
def adopt(ctx: typer.Context, wanted: Annotated[str, Id], why: Why) -> Outcome:
    """Take over a session that is over: its leases and claims (with a new fencing token), its duty
    to write the status.

    Every write that it still tries is refused."""
    env = env_of(ctx)
    me = who.session(env, strict=True)
    reason, wanted = names.say(why, "--why"), wanted.removeprefix("session:")
    record = session.get(env.tree, wanted)
    if wanted == me["id"]:
        raise Usage("that is this session itself", "atlas end closes it")
    last, state = sessions.pulse(env.ask, record)
    if state == "live":
        raise Held(
            f"{wanted} is live: its last write was {times.ago(last, env.now())}",
            "a session that is over can be adopted",
            details={"session": wanted, "last": times.rfc3339(last)},
        )

    from ..env import elsewhere

    def decide(tree: Tree, who: Writer) -> Change:
        change = session.adopt(tree, who, wanted, reason)
        return change._replace(
            files={
                **change.files,
                **lease.inherit(tree, who, wanted),
                **assigning.inherited(tree, who, wanted),
            }
        )

    records = writing.records(
        env, writing.write(env, decide, me, f"adopt: {wanted} ", punctual=True)
    )
    taken = [row["resource"] for row in records if row["ref"].startswith("lease:")]
    taken += elsewhere.everywhere(env, me, wanted, decide)
    row = next(row for row in records if row["ref"].startswith("session:"))
    lines = [f"{wanted} is adopted: what it left is yours to finish, and to write into the status"]
    if taken:
        lines.append(f"its leases are yours now: {', '.join(taken)}")
    claims = [row["id"] for row in records if row["ref"].startswith("task:")]
    if claims:
        lines.append(f"its tasks are yours now: {', '.join(claims)}")
    if record.get("worktree"):
        lines.append(f"its drafts lie in {record['worktree']}/.atlas/drafts")
    return Outcome({**row, "leases": taken, "tasks": claims}, tuple(lines), published=False)


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
    me = who.session(env)
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
        {**row, "effective": left}, (f"{row['id']} offers {left} slots now",), published=False
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
    me, reason, wanted = who.session(env), names.say(why, "--why"), wanted.removeprefix("session:")

    from ..env import elsewhere

    def decide(tree: Tree, who: Writer) -> Change:
        change = session.drop(tree, who, wanted, reason, env.policy["principals"])
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

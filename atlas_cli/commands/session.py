"""`atlas session`: who is, or was, at work."""

from typing import Annotated, Any

import typer

from ..env import Env
from ..errors import Held, Usage
from ..outcome import Outcome, Table, listing
from ..records import lease, names, session, times
from ..records.case import Change, Writer
from ..records.tree import Tree
from . import Since, Why, env_of, noun, verb

app = noun()
Id = typer.Argument(metavar="ID", help="As atlas session list shows it.")


def rows(env: Env, every: bool) -> list[dict[str, Any]]:
    """Sessions with their `state` (live, ended, expired) and `last`, newest first."""
    now, index = env.now(), env.index
    found = [row["data"] for row in index.rows(session.FOLDER) if row["data"]] if every else [
        record for _, record in index.live(session.FOLDER, now)
    ]  # fmt: skip
    items = []
    for record in sorted(found, key=lambda one: (one["began"], one["id"]), reverse=True):
        last, state = env.ask.pulse(record)
        if every or state == "live":
            items.append({"ref": f"session:{record['id']}", **record, "state": state, "last": times.rfc3339(last)})
    return items


def table(env: Env, items: list[dict[str, Any]]) -> Table:
    now = env.now()
    shown = tuple(
        (item["id"], item["state"], times.ago(times.moment(item["last"]), now), item.get("goal", "-")) for item in items
    )
    return Table(("SESSION", "STATE", "LAST WRITE", "GOAL"), shown, "no live session")


@verb(app, "list", "atlas session list --all", 7)
def list_(
    ctx: typer.Context, all_: Annotated[bool, typer.Option("--all", help="Also those that are over.")] = False,
    since: Since = None,
) -> Outcome:  # fmt: skip
    """The live sessions and their goals; --since: all that wrote anything since."""
    env = env_of(ctx)
    items = rows(env, all_ or since is not None)
    if since is not None:
        young = env.index.active(env.since(since))
        items = [item for item in items if item["id"] in young]
    env.damaged(session.FOLDER + "/")
    return Outcome(listing(items), (table(env, items),))


@verb(app, "show", "atlas session show claude-261129-7f3k2m", 5, 7)
def show(ctx: typer.Context, wanted: Annotated[str | None, Id] = None) -> Outcome:
    """One session (default: yours): its goal, its life, what it wrote and what it holds."""
    env = env_of(ctx)
    record = session.get(env.tree, wanted.removeprefix("session:")) if wanted else env.session()
    last, state = env.ask.pulse(record)
    held = [row["resource"] for row in env.ask.held(record["id"])]
    commits, total = env.index.commits(10, session=record["id"])
    wrote = [commit["subject"] for commit in commits]
    data = {"ref": f"session:{record['id']}", **record, "state": state, "last": times.rfc3339(last), "held": held,
            "commits": total, "wrote": wrote}  # fmt: skip
    began = times.ago(times.moment(record["began"]), env.now())
    lines = [f"{record['id']}: {state}, began {began}, last write {times.ago(last, env.now())}"]
    lines += [f"goal: {record.get('goal', '-')}", f"holds: {', '.join(held) or 'nothing'}"]
    lines += [f"wrote ({total}):", *(f"  {subject}" for subject in wrote)]
    return Outcome(data, tuple(lines))


@verb(
    app, "adopt", 'atlas session adopt claude-261129-7f3k2m --why "it vanished; I go on with its work"', 3, 4, 5, 6, 7
)
def adopt(ctx: typer.Context, wanted: Annotated[str, Id], why: Why) -> Outcome:
    """Take over a session that is over: its leases (with a new fencing token) and its duty to write the status.

    Whatever it still tries to write is refused."""
    env = env_of(ctx)
    me = env.session(strict=True)
    reason, wanted = names.say(why, "--why"), wanted.removeprefix("session:")
    env.guard(reason)
    record = session.get(env.tree, wanted)
    if wanted == me["id"]:
        raise Usage("that is this session itself", "atlas end closes it")
    last, state = env.ask.pulse(record)
    if state == "live":
        raise Held(
            f"{wanted} is live: its last write was {times.ago(last, env.now())}",
            "a session that is over can be adopted",
            details={"session": wanted, "last": times.rfc3339(last)},
        )

    def decide(tree: Tree, who: Writer) -> Change:
        change = session.adopt(tree, who, wanted, reason)
        return change._replace(files={**change.files, **lease.inherit(tree, who, wanted)})

    records = env.records(env.write(decide, me, f"adopt: {wanted} "))
    taken = [row["resource"] for row in records if row["ref"].startswith("lease:")]
    row = next(row for row in records if row["ref"].startswith("session:"))
    lines = [f"{wanted} is adopted: what it left is yours to finish, and to write into the status"]
    lines += [f"its leases are yours now: {', '.join(taken)}"] if taken else []
    lines += [f"its drafts lie in {record['worktree']}/.atlas/drafts"] if record.get("worktree") else []
    return Outcome({**row, "leases": taken}, tuple(lines), published=False)

"""`atlas lease`: sign up for a resource before you use it."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..answers import leases
from ..env import reading, who, writing
from ..env.env import Env
from ..errors import Held, Refused, Usage
from ..model import names, times
from ..model.change import Change, Decide, Writer
from ..model.text import Record
from ..model.tree import Tree
from ..outcome import Frame, Outcome, Table, listing
from ..records import correction, lease, policy
from ..visible import named
from . import All, For, Since, Why, env_of, limits, noun, one, verb
from .leased_run import end_own, give_back, under_lease

if TYPE_CHECKING:
    from ..env.elsewhere import LeaseStore

app = noun()
HOLD = "you hold"
Resources = Annotated[
    list[str], typer.Argument(metavar="RES…", help="gpu0, path:src/x.py, glob:**/*.sql, repo:run")
]
Any_ = Annotated[bool, typer.Option("--any", help="The first of them that is free.")]


def _resources(env: Env, given: list[str]) -> list[str]:
    resources = [reading.resource(env, text) for text in given]
    return list(dict.fromkeys(resources))


@contextmanager
def _kept(
    env: Env, wanted: list[str], me: Record | None, held: bool = False, taking: Decide | None = None
) -> Iterator["LeaseStore"]:
    """The one store that the leases on these resources are kept in. `held`: what the session holds
    is sought where it is held. `taking`: the write that takes them; if it goes to another store,
    the project's own store is asked too, because somebody may hold them there (since before they
    were shared, or from a clone that does not know of it)."""
    from ..env import elsewhere

    resources = {"": wanted}
    if env.shares:
        resources = elsewhere.by_store(env, wanted, me if held else None)
    name = elsewhere.only_store(resources)
    if name and taking and me:
        above = tuple(me.get("lineage", ()))
        taking(env.snapshot, Writer(me["id"], me["actor"], env.store.machine, env.now(), "", above))
    with elsewhere.opened(env, name, me) as store:
        yield store


def _answer(store: "LeaseStore", items: list[dict[str, Any]], done: str) -> Outcome:
    now = store.env.now()
    lines = [f"{done} {named(item['resource'])}{_count_on(item, now)}" for item in items]
    if store.name:
        items = [{**item, "store": store.name} for item in items]
    data = listing(items)
    if len(items) == 1:
        data = {**one(items), "seconds_left": lease.left(one(items), now)}
    limits = _limits(store.env, store.name)
    if store.env.options.offline and done == HOLD:
        limits = ("held: this machine, since --offline was given",)
    return Outcome(data, tuple(lines), limits, published=False)


def _count_on(item: dict[str, Any], now: int) -> str:
    """How long a holder may count on a lease, and its token; empty if it was given back."""
    if "released" in item:
        return ""
    return f": {times.span(lease.left(item, now))} to count on, token {item['token']}"


@verb(
    app,
    "take",
    'atlas lease take gpu0 --why "training run 12" --for 90m',
    3,
    4,
    5,
    6,
    7,
    limits=(limits.ADVISORY,),
)
def take(
    ctx: typer.Context, resources: Resources, why: Why, for_: For = None, any_of: Any_ = False
) -> Outcome:
    """Take a lease: all of the resources or none (--any: the first free one). Taking what one holds
    renews it.

    A lease is advisory and expires by itself. Paths are relative to where you are and overlap as
    folders do."""
    env = env_of(ctx)
    wanted, reason = _resources(env, resources), names.say(why, "--why")
    me = who.session(env)

    def decide(tree: Tree, who: Writer) -> Change:
        return lease.take(tree, who, wanted, reason, for_, any_of)

    with _kept(env, wanted, me, taking=decide) as store:
        rows = _exclusive(store, me, decide)
        return _answer(store, rows, HOLD)


@verb(app, "renew", "atlas lease renew gpu0 --for 1h", 3, 4, 5, 6, 7, limits=(limits.ADVISORY,))
def renew(ctx: typer.Context, resources: Resources, for_: For = None) -> Outcome:
    """Hold it for another stretch of time, from now on."""
    env = env_of(ctx)
    wanted = _resources(env, resources)
    me = who.session(env)
    with _kept(env, wanted, me, held=True) as store:
        written = writing.write(
            store.env,
            lambda tree, who: lease.renew(tree, who, wanted, for_),
            me,
            "lease: renew ",
            exclusive=True,
        )
        return _answer(store, writing.records(store.env, written), HOLD)


@verb(app, "release", "atlas lease release gpu0", 3, 4, 5, 6, 7, limits=(limits.ADVISORY,))
def release(ctx: typer.Context, resources: Resources) -> Outcome:
    """Give it back."""
    env = env_of(ctx)
    wanted = _resources(env, resources)
    me = who.session(env)
    with _kept(env, wanted, me, held=True) as store:
        written = writing.write(
            store.env, lambda tree, who: lease.release(tree, who, wanted), me, "lease: release "
        )
        return _answer(store, writing.records(store.env, written), "given back:")


def _exclusive(store: "LeaseStore", me: Record, decide: Decide) -> list[Record]:
    """Takes a lease: its rows. It counts only once it is published; one that is not confirmed is
    given back."""
    env, what = store.env, "lease: take "
    written = writing.exclusive(
        env,
        partial(store.decided, decide),
        me,
        what,
        lambda: [row["resource"] for row in leases.held(env.ask, me["id"])],
        lambda new: give_back(env, me, new),
    )
    # In another store the session's own row is written with them.
    rows = [row for row in writing.records(env, written) if "resource" in row]
    now = [lease.current(env.snapshot, row["resource"]) or row for row in rows]
    over = [row["resource"] for row in now if "released" in row or row["holder"] != me["id"]]
    if written.replayed and over:
        raise Refused(
            f"the operation {written.writer.operation} was done before, and {', '.join(over)} is no"
            " longer held by it",
            "take it anew, with another operation id",
            code="not_held",
        )
    return rows


def _state(record: dict[str, Any], now: int) -> str:
    if lease.holds(record, now):
        return "held"
    if "released" in record:
        return "released"
    return "ahead" if lease.honoured_from(record) > now else "expired"


def _limits(env: Env, store: str = "") -> tuple[str, ...]:
    """How far a lease is known."""
    if store:
        return (f"known to every project that shares leases through {store}, and to no other",)
    how = (
        "in all its clones, and to no other project"
        if env.sharing.known
        else "it has no remote to share leases through"
    )
    return (f"known to this repository only: {how}",)


def _row(record: dict[str, Any], now: int) -> dict[str, Any]:
    rest = lease.rest(record, now) if lease.holds(record, now) else 0
    shown = {"ref": f"lease:{record['resource']}", "id": record["resource"], **record}
    return {**shown, "state": _state(record, now), "seconds_left": rest}


@verb(app, "show", "atlas lease show gpu0", 7, limits=(limits.ADVISORY,))
def show(
    ctx: typer.Context,
    resource: Annotated[
        str, typer.Argument(metavar="RES", help="As it was taken: gpu0, path:src/x.py.")
    ],
) -> Outcome:
    """The holder of a resource, the reason, and the time left."""
    env = env_of(ctx)
    wanted = reading.resource(env, resource)
    with _kept(env, [wanted], None) as store:
        now = store.env.now()
        data, _ = reading.last_good(store.env, lease.find(store.env.tree, wanted))
        item = store.env.ask.shown(_row(lease.parse(lease.path_of(wanted), data), now))
    if store.name:
        item["store"] = store.name
    line = f"{named(wanted)}: {_standing(item, now)}"
    why = Frame("", correction.said(item, "why", now))
    return Outcome(item, (line, f"token: {item['token']}; why:", why), _limits(env, store.name))


def _standing(item: dict[str, Any], now: int) -> str:
    """The holder of a lease and the time left, or how it ended and who held it last."""
    holder = named(item["holder"])
    if item["state"] == "held":
        return f"held by {holder} for {times.span(item['seconds_left'])} more"
    over = f"{item['state']} {times.ago(lease.until(item) or 0, now)}"
    if item["state"] == "ahead":
        over = "dated ahead, so that nobody honours it yet"
    return f"{over}; last held by {holder}"


@verb(
    app,
    "list",
    "atlas lease list",
    7,
    limits=(
        limits.HELD,
        limits.ADVISORY,
    ),
)
def list_(
    ctx: typer.Context,
    all_: All = False,
    since: Since = None,
) -> Outcome:
    """The leases that are held now, by whom and why; --since: those that were taken, renewed or
    given back since."""
    env = env_of(ctx)
    after = None if since is None else reading.since(env, since)
    items, limits = _listed(env, after, all_), _limits(env)
    if env.shares:
        from ..env import elsewhere

        moment = (env.index.commits(1, upto=after)[0][0]["at"] or 0) if after else after

        def rows_of(other: Env) -> list[Record]:
            return _listed(other, None if moment is None else other.index.upto(moment), all_)

        more, reports = elsewhere.survey(env, rows_of)
        items += more
        known = [report.line() for report in reports]
        limits = (*known, f"whatever else is listed is {limits[0]}")
    rows = [
        (
            f"{r['resource']} ({r['store']})" if "store" in r else r["resource"],
            r["state"],
            r["holder"],
            times.span(r["seconds_left"]) if r["seconds_left"] else "-",
            correction.said(r, "why", env.now()),
        )
        for r in items
        if r["ref"]
    ]
    table = Table(("RESOURCE", "STATE", "HOLDER", "LEFT", "WHY"), tuple(rows), "nothing is held")
    return Outcome(listing(items), (table,), limits)


def _listed(env: Env, after: int | None, every: bool) -> list[Record]:
    now, index = env.now(), env.index
    if after is not None:
        leased = [record for _, _, record in index.since(lease.FOLDER, after)]
    elif every:
        leased = [row["data"] for row in index.rows(lease.FOLDER) if row["data"]]
    else:
        leased = [record for _, record in index.live(lease.FOLDER, now) if lease.holds(record, now)]
    bad = reading.damaged(env, lease.FOLDER + "/")
    return [
        *(env.ask.shown(_row(record, now)) for record in leased),
        *({"ref": None, "path": path, "state": "damaged", "damage": text} for path, text in bad),
    ]


@verb(
    app,
    "run",
    'atlas lease run gpu0 --why "nightly" -- ./train.sh',
    3,
    4,
    5,
    6,
    7,
    terminal=True,
    limits=(
        limits.ADVISORY,
        "a command that does not heed SIGTERM goes on after its lease is lost",
    ),
)
def run(
    ctx: typer.Context, resources: Resources, why: Why, for_: For = None, any_of: Any_ = False
) -> Outcome:
    """Run a command (behind `--`) under a lease, renewed at half-time while it runs; returns the
    command's code.

    If the lease is lost the command is told to stop (SIGTERM). It finds the session in
    ATLAS_SESSION and what it holds in ATLAS_LEASE. Outside a session one of class `run` is
    begun."""
    env = env_of(ctx)
    if not env.options.tail:
        raise Usage(
            "there is no command to run", "give it behind --: atlas lease run RES --why … -- CMD …"
        )
    if env.options.operation is not None:
        raise Usage("--operation names one write, and lease run makes several", "leave it out")
    wanted, reason = _resources(env, resources), names.say(why, "--why")
    own = who.session_or_none(env)
    if own is None:
        # Few runs begin a session of their own: the others need not load the digest.
        from .begin import register

    me = own or register(env, goal=reason, kind="run")

    def decide(tree: Tree, who: Writer) -> Change:
        return lease.take(tree, who, wanted, reason, for_, any_of, run=True)

    try:
        with _kept(env, wanted, me, taking=decide) as store:
            rows = _exclusive(store, me, decide)
            held = [record["resource"] for record in rows]
            seconds = for_ or policy.seconds(store.env.policy, "lease_default")
            code, lost = under_lease(store.env, me, held, seconds)
            # After a loss each of those that are left is given back by itself.
            parts = [held] if lost is None else [[resource] for resource in held]
            for part in parts:
                give_back(store.env, me, part)
    finally:
        if own is None:
            end_own(env, me)
    data = {"resources": held, "exit": code, "lost": lost.message if lost else None}
    if lost:
        raise Held(
            f"the lease was lost while the command ran: {lost.message}",
            "the command was told to stop",
            code="lost",
            details=data,
        )
    return Outcome(data, (), published=False, exit=code)

"""`atlas lease`: sign up for a resource before you use it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..answers import code, leases
from ..env import addressing, beginning, reading, who, writing
from ..env.env import Env
from ..errors import EXITS, AtlasError, Held, Usage
from ..model import names, times
from ..model.change import Change, Writer
from ..model.text import Record
from ..model.tree import Tree
from ..outcome import Frame, Outcome, Table, listing
from ..records import correction, lease, policy
from ..records import resources as declared
from ..visible import named
from . import All, For, Since, Wait, Why, env_of, limits, noun, one, verb
from .leased_run import end_own, give_back, hear, under_lease
from .taking import Take

if TYPE_CHECKING:
    from ..env.elsewhere import LeaseStore

app = noun()
HOLD = "you hold"
BESIDE = 4  # leases of others that the answer of a take names
Resources = Annotated[
    list[str], typer.Argument(metavar="RES…", help="gpu0, path:src/x.py, glob:**/*.sql, repo:run")
]
Any_ = Annotated[bool, typer.Option("--any", help="The first of them that is free.")]


def _resources(env: Env, given: list[str]) -> list[str]:
    resources = [reading.resource(env, text) for text in given]
    return list(dict.fromkeys(resources))


@contextmanager
def _kept(
    env: Env,
    wanted: list[str],
    me: Record | None,
    held: bool = False,
    before: Callable[[], None] = lambda: None,
) -> Iterator["LeaseStore"]:
    """The one store that the leases on these resources are kept in. `held`: what the session holds
    is sought where it is held. `before`: what is done before another store is opened."""
    from ..env import elsewhere

    resources = {"": wanted}
    if env.shares:
        resources = elsewhere.by_store(env, wanted, me if held else None)
    name = elsewhere.only_store(resources)
    if name:
        before()
    with elsewhere.opened(env, name, me) as store:
        yield store


def _answer(
    store: "LeaseStore", items: list[dict[str, Any]], done: str, beside: bool = False
) -> Outcome:
    """The answer for these leases. `beside`: with those that others hold."""
    now = store.env.now()
    lines = [f"{done} {named(item['resource'])}{_count_on(item, now)}" for item in items]
    if store.name:
        items = [{**item, "store": store.name} for item in items]
    data = listing(items)
    if len(items) == 1:
        data = {**one(items), "seconds_left": lease.left(one(items), now)}
    if beside:
        others = leases.live(store.env.ask)
        data["beside"] = [row for row in others if row["holder"] != items[0]["holder"]]
        lines += _beside(data["beside"])
    limits = _limits(store.env, store.name)
    if store.env.options.offline and done == HOLD:
        limits = ("held: this machine, since --offline was given",)
    return Outcome(data, tuple(lines), limits, published=False)


def _beside(rows: list[Record]) -> list[str]:
    """A line for what others hold beside it, those that are over soonest first."""
    if not rows:
        return []
    shown = [
        f"{named(row['resource'])} ({named(row['holder'])}, {times.span(row['seconds_left'])})"
        for row in rows[:BESIDE]
    ]
    more = f", and {len(rows) - BESIDE} more" if len(rows) > BESIDE else ""
    return [f"beside it: {', '.join(shown)}{more}"]


def _count_on(item: dict[str, Any], now: int) -> str:
    """How long a holder may count on a lease, and its token; empty if it was given back."""
    if "released" in item:
        return ""
    return f" (advisory) for {times.span(lease.left(item, now))}, token {item['token']}"


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
    ctx: typer.Context,
    resources: Resources,
    why: Why,
    for_: For = None,
    any_of: Any_ = False,
    wait: Wait = None,
) -> Outcome:
    """Take a lease: all of the resources or none (--any: the first free one). Taking what one holds
    renews it.

    A lease is advisory and expires by itself. Paths are relative to where you are and overlap as
    folders do."""
    env = env_of(ctx)
    wanted, reason = _resources(env, resources), names.say(why, "--why")
    addressing.not_here(env, wanted)
    me = beginning.writer(env)

    def decide(tree: Tree, who: Writer) -> Change:
        return lease.take(tree, who, wanted, reason, for_, any_of)

    take = Take(env, me, wanted, decide, wait, any_of)
    with _kept(env, wanted, me, before=take.in_own_store) as store:
        rows = take.had(store)
        return _answer(store, rows, HOLD, beside=True)


@verb(app, "renew", "atlas lease renew gpu0 --for 1h", 3, 4, 5, 6, 7, limits=(limits.ADVISORY,))
def renew(ctx: typer.Context, resources: Resources, for_: For = None) -> Outcome:
    """Hold it for another stretch of time, from now on."""
    env = env_of(ctx)
    wanted = _resources(env, resources)
    me = beginning.writer(env)
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
    me = beginning.writer(env)
    with _kept(env, wanted, me, held=True) as store:
        written = writing.write(
            store.env, lambda tree, who: lease.release(tree, who, wanted), me, "lease: release "
        )
        env.notices += _left_changed(env, wanted)
        return _answer(store, writing.records(store.env, written), "given back:")


def _left_changed(env: Env, resources: list[str]) -> list[str]:
    """The word on what is given back before its changes are committed."""
    return code.left_changed(env.git, resources) if env.place.top else []


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
    if after is None:
        items += _declared(env, items)
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
            r.get("holder", "-"),
            times.span(r["seconds_left"]) if r.get("seconds_left") else "-",
            correction.said(r, "why", env.now()) if "why" in r else r.get("about", "-"),
        )
        for r in items
        if r["ref"]
    ]
    table = Table(("RESOURCE", "STATE", "HOLDER", "LEFT", "WHY"), tuple(rows), "nothing is held")
    return Outcome(listing(items), (table,), limits)


def _declared(env: Env, items: list[Record]) -> list[Record]:
    """The resources that the policy names, and that nobody holds now."""
    held = {item.get("resource") for item in items}
    return [
        {"ref": f"lease:{name}", "id": name, "resource": name, "state": "free", "about": about}
        for name, about in declared.declared(env.policy).items()
        if name not in held
    ]


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
    ctx: typer.Context,
    resources: Resources,
    why: Why,
    for_: For = None,
    any_of: Any_ = False,
    wait: Wait = None,
) -> Outcome:
    """Run a command (behind `--`) under a lease, renewed at half-time while it runs; returns the
    command's code.

    It is given back when the command ends, however it ends, unless you held it before: then it
    lasts as it did, or, with --for, so long at least. If the lease
    is lost the command is told to stop (SIGTERM). A command that cannot be started is 127, or 126.
    It finds the session in ATLAS_SESSION and what it holds in ATLAS_LEASE. Outside a session one of
    class `run` is begun."""
    env = env_of(ctx)
    if not env.options.tail:
        raise Usage(
            "there is no command to run", "give it behind --: atlas lease run RES --why … -- CMD …"
        )
    if env.options.operation is not None:
        raise Usage("--operation names one write, and lease run makes several", "leave it out")
    wanted, reason = _resources(env, resources), names.say(why, "--why")
    addressing.not_here(env, wanted)
    own = who.session_or_none(env) or beginning.resumed(env)
    me = own or beginning.register(env, goal=reason, kind="run")

    def decide(tree: Tree, who: Writer) -> Change:
        return lease.take(tree, who, wanted, reason, for_, any_of, run=True)

    try:
        take = Take(env, me, wanted, decide, wait, any_of)
        with _kept(env, wanted, me, before=take.in_own_store) as store:
            before = {row["resource"] for row in leases.held(store.env.ask, me["id"])}
            held = [row["resource"] for row in take.had(store)]
            seconds = for_ or policy.seconds(store.env.policy, "lease_default")
            lasts = {each: lease.SHORTEST if each in before else seconds for each in held}
            hear(env, me)
            ended, lost = under_lease(store.env, me, lasts)
            # After a loss each of those that are left is given back by itself.
            parts = [held] if lost is None else [[resource] for resource in held]
            for part in parts:
                if back := [resource for resource in part if resource not in before]:
                    give_back(store.env, me, back)
            env.notices += _left_changed(env, [each for each in held if each not in before])
    finally:
        if own is None:
            end_own(env, me)
    return _ran(env, held, ended, lost)


def _ran(env: Env, held: list[str], ended: int, lost: AtlasError | None) -> Outcome:
    """The outcome of a command that ran under leases. Raises Held if they were lost meanwhile."""
    data = {"resources": held, "exit": ended, "lost": lost.message if lost else None}
    if lost:
        raise Held(
            f"the lease was lost while the command ran: {lost.message}",
            "the command was told to stop",
            code="lost",
            details=data,
        )
    if ended in EXITS and ended:
        env.notices.append(f"the code {ended} is the command's own, and says nothing of Atlas")
    return Outcome(data, (), published=False, exit=ended)

"""`atlas lease`: sign up for a resource before you use it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..answers import leases
from ..env import reading, who, writing
from ..env.env import Env
from ..errors import AtlasError, Failed, Held, Protocol, Refused, Usage
from ..model import names, times
from ..model.change import Change, Decide, Writer
from ..model.text import Record
from ..model.tree import Tree
from ..outcome import Frame, Outcome, Table, listing
from ..records import correction, lease, policy, session
from ..visible import named, visible
from . import For, Since, Why, env_of, noun, one, verb

if TYPE_CHECKING:
    from ..env.elsewhere import LeaseStore

app = noun()
HOLD = "you hold"
Resources = Annotated[
    list[str], typer.Argument(metavar="RES…", help="gpu0, path:src/x.py, glob:**/*.sql, repo:run")
]
Any_ = Annotated[bool, typer.Option("--any", help="The first of them that is free.")]


def _resources(env: Env, given: list[str]) -> list[str]:
    found = [reading.resource(env, text) for text in given]
    return list(dict.fromkeys(found))


@contextmanager
def _kept(
    env: Env, wanted: list[str], me: Record | None, held: bool = False, taking: Decide | None = None
) -> Iterator["LeaseStore"]:
    """The one store that the leases on these resources are kept in; `held`: what is held is
    where it is held. The project's own store has no say in what is `taking` them elsewhere, but
    that nobody may hold them there: since before they were shared, or in a clone that is not
    told of it."""
    from ..env import elsewhere

    found = elsewhere.by_store(env, wanted, me if held else None) if env.shares else {"": wanted}
    name = elsewhere.only_store(found)
    if name and taking and me:
        above = tuple(me.get("lineage", ()))
        taking(env.snapshot, Writer(me["id"], me["actor"], env.store.machine, env.now(), "", above))
    with elsewhere.opened(env, name, me) as there:
        yield there


def _answer(there: "LeaseStore", items: list[dict[str, Any]], done: str) -> Outcome:
    now = there.env.now()
    lines = [
        (
            f"{done} {named(item['resource'])}: {times.span(lease.left(item, now))} to count on, "
            f"token {item['token']}"
            if "released" not in item
            else f"{done} {named(item['resource'])}"
        )
        for item in items
    ]
    items = [{**item, "store": there.name} if there.name else item for item in items]
    data = (
        {**one(items), "seconds_left": lease.left(one(items), now)}
        if len(items) == 1
        else listing(items)
    )
    alone = there.env.options.offline and done == HOLD
    limits = (
        ("held: this machine, since --offline was given",)
        if alone
        else _limits(there.env, there.name)
    )
    return Outcome(data, tuple(lines), limits, published=False)


@verb(app, "take", 'atlas lease take gpu0 --why "training run 12" --for 90m', 3, 4, 5, 6, 7)
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

    with _kept(env, wanted, me, taking=decide) as there:
        rows = _exclusive(there, me, decide)
        return _answer(there, rows, HOLD)


@verb(app, "renew", "atlas lease renew gpu0 --for 1h", 3, 4, 5, 6, 7)
def renew(ctx: typer.Context, resources: Resources, for_: For = None) -> Outcome:
    """Hold it for another stretch of time, from now on."""
    env = env_of(ctx)
    wanted = _resources(env, resources)
    me = who.session(env)
    with _kept(env, wanted, me, held=True) as there:
        written = writing.write(
            there.env,
            lambda tree, who: lease.renew(tree, who, wanted, for_),
            me,
            "lease: renew ",
            exclusive=True,
        )
        return _answer(there, writing.records(there.env, written), HOLD)


@verb(app, "release", "atlas lease release gpu0", 3, 4, 5, 6, 7)
def release(ctx: typer.Context, resources: Resources) -> Outcome:
    """Give it back."""
    env = env_of(ctx)
    wanted = _resources(env, resources)
    me = who.session(env)
    with _kept(env, wanted, me, held=True) as there:
        written = writing.write(
            there.env, lambda tree, who: lease.release(tree, who, wanted), me, "lease: release "
        )
        return _answer(there, writing.records(there.env, written), "given back:")


def _renewed(held: list[str], seconds: int, tree: Tree, who: Writer) -> Change:
    return lease.renew(tree, who, held, seconds)


def _exclusive(there: "LeaseStore", me: Record, decide: Decide) -> list[Record]:
    """The rows of a lease, which counts only once it is published; unconfirmed, it is given
    back."""
    env, what = there.env, "lease: take "
    written = writing.exclusive(
        env,
        partial(there.decided, decide),
        me,
        what,
        lambda: [row["resource"] for row in leases.held(env.ask, me["id"])],
        lambda new: _give_back(env, me, new),
    )
    rows = [
        row for row in writing.records(env, written) if "resource" in row
    ]  # (elsewhere the session's own is with them)
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
    return (
        "released"
        if "released" in record
        else "ahead"
        if lease.honoured_from(record) > now
        else "expired"
    )


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


@verb(app, "show", "atlas lease show gpu0", 7)
def show(
    ctx: typer.Context,
    resource: Annotated[
        str, typer.Argument(metavar="RES", help="As it was taken: gpu0, path:src/x.py.")
    ],
) -> Outcome:
    """Who holds a resource, why, and how long still."""
    env = env_of(ctx)
    wanted = reading.resource(env, resource)
    with _kept(env, [wanted], None) as there:
        now = there.env.now()
        data, _ = reading.last_good(there.env, lease.find(there.env.tree, wanted))
        item = there.env.ask.shown(_row(lease.parse(lease.path_of(wanted), data), now))
    item |= {"store": there.name} if there.name else {}
    held = item["state"] == "held"
    line = (
        f"{named(wanted)}: held by {named(item['holder'])} for {times.span(item['seconds_left'])}"
        " more"
    )
    ended = times.ago(lease.until(item) or 0, now)
    over = (
        "dated ahead, so that nobody honours it yet"
        if item["state"] == "ahead"
        else f"{item['state']} {ended}"
    )
    shown = [line if held else f"{named(wanted)}: {over}; last held by {named(item['holder'])}"]
    why = Frame("", correction.said(item, "why", now))
    return Outcome(item, (*shown, f"token: {item['token']}; why:", why), _limits(env, there.name))


@verb(app, "list", "atlas lease list", 7)
def list_(
    ctx: typer.Context,
    all_: Annotated[bool, typer.Option("--all", help="Also those that are over.")] = False,
    since: Since = None,
) -> Outcome:
    """What is held now, by whom and why; --since: what was taken, renewed or given back since."""
    env = env_of(ctx)
    after = None if since is None else reading.since(env, since)
    items, limits = _listed(env, after, all_), _limits(env)
    if env.shares:
        from ..env import elsewhere

        moment = (env.index.commits(1, upto=after)[0][0]["at"] or 0) if after else after
        more, looks = elsewhere.survey(
            env,
            lambda there: _listed(
                there, None if moment is None else there.index.upto(moment), all_
            ),
        )
        items += more
        limits = (*(one.line() for one in looks), f"whatever else is listed is {limits[0]}")
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
        found = [record for _, _, record in index.since(lease.FOLDER, after)]
    elif every:
        found = [row["data"] for row in index.rows(lease.FOLDER) if row["data"]]
    else:
        found = [record for _, record in index.live(lease.FOLDER, now) if lease.holds(record, now)]
    bad = reading.damaged(env, lease.FOLDER + "/")
    return [
        *(env.ask.shown(_row(record, now)) for record in found),
        *({"ref": None, "path": path, "state": "damaged", "damage": text} for path, text in bad),
    ]


@verb(
    app, "run", 'atlas lease run gpu0 --why "nightly" -- ./train.sh', 3, 4, 5, 6, 7, terminal=True
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
        from .begin import (
            register,
        )  # few runs begin a session of their own: the others need not load the digest

    me = own or register(env, goal=reason, kind="run")

    def decide(tree: Tree, who: Writer) -> Change:
        return lease.take(tree, who, wanted, reason, for_, any_of, run=True)

    try:
        with _kept(env, wanted, me, taking=decide) as there:
            rows = _exclusive(there, me, decide)
            held = [record["resource"] for record in rows]
            seconds = for_ or policy.seconds(there.env.policy, "lease_default")
            code, lost = _under_lease(there.env, me, held, seconds)
            for part in (
                [held] if lost is None else [[resource] for resource in held]
            ):  # lost: those that are left
                _give_back(there.env, me, part)
    finally:
        if own is None:
            _over(env, me)
    data = {"resources": held, "exit": code, "lost": lost.message if lost else None}
    if lost:
        raise Held(
            f"the lease was lost while the command ran: {lost.message}",
            "the command was told to stop",
            code="lost",
            details=data,
        )
    return Outcome(data, (), published=False, exit=code)


def _under_lease(
    env: Env, me: Record, held: list[str], seconds: int
) -> tuple[int, AtlasError | None]:
    """The command's exit code (128 + N for signal N), and how the lease was lost, if it was."""
    words = list(env.options.tail)
    # One envelope on stdout: with --json the command's own output goes to stderr.
    out = sys.stderr if env.options.json else None
    told = os.environ | {"ATLAS_SESSION": me["id"], "ATLAS_LEASE": " ".join(held)}
    pending: list[int] = []
    forward: Callable[[int], object] = pending.append  # until there is somebody to tell
    for name in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        if (
            signal.getsignal(name) != signal.SIG_IGN
        ):  # as under nohup: the command is to ignore it, too
            signal.signal(name, lambda number, _: forward(number))
    try:
        child = subprocess.Popen(words, stdout=out, cwd=env.options.directory, env=told)
    except OSError as error:
        _give_back(env, me, held)
        raise Failed(
            f"{words[0]} could not be started: {error.strerror}", "the lease was given back"
        ) from None

    def passed_on(number: int) -> None:
        if number != signal.SIGINT or not _in_front():
            child.send_signal(number)

    forward = passed_on
    for number in pending:
        forward(number)
    due = time.monotonic() + seconds / 2
    while True:
        try:
            code = child.wait(max(0.05, due - time.monotonic()))
        except subprocess.TimeoutExpired:
            try:
                again = partial(_renewed, held, seconds)
                writing.write(env, again, me, "lease: renew ", exclusive=True)
            except (Held, Refused, Protocol) as stop:
                child.terminate()
                return _code(child.wait()), stop
            except AtlasError as error:  # busy or broken: try again well before it expires
                sys.stderr.write(
                    visible(f"atlas: the lease could not be renewed yet: {error.message}") + "\n"
                )
                due = time.monotonic() + min(30.0, seconds / 8)
                continue
            due = time.monotonic() + seconds / 2
        else:
            return _code(code), None


def _in_front() -> bool:
    """Whether a terminal gives its Ctrl-C to all of us: the command has had it by itself."""
    try:
        with open("/dev/tty", "rb") as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


def _code(code: int) -> int:
    return 128 - code if code < 0 else code


def _over(env: Env, me: Record) -> None:
    """Ends the run's own session; one that was ended meanwhile, or is past its day, changes nothing
    of the outcome."""
    try:
        writing.write(env, session.end, me, "session: end")
    except Protocol as stop:
        env.notices.append(stop.message)
    if env.shares:
        from ..env import elsewhere

        elsewhere.leave(env, me)


def _give_back(env: Env, me: Record, held: list[str]) -> None:
    try:
        writing.write(env, lambda tree, who: lease.release(tree, who, held), me, "lease: release ")
    except (Held, Refused, Protocol) as stop:
        env.notices.append(f"the lease was over before the command was: {stop.message}")

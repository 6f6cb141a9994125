"""`atlas wait`: sleep until something is over, or until somebody wrote what one waits for."""

import contextlib
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import typer

from .. import records
from ..answers import board
from ..answers.over import Over, standing
from ..env import reading, waiting, who
from ..env.env import Env
from ..errors import AtlasError, Held, NotFound, Nothing, Usage
from ..model import names, times
from ..model.change import Writer
from ..model.kind import Kind
from ..model.text import Record
from ..outcome import Frame, Outcome
from ..records import policy, session, status
from ..records.board import offering
from ..sharing.dealing import FRESH
from ..visible import named
from . import env_of, limits, parsed, single, verb, wait_time

app = single()
WORDS = ("ready", "status", "mail", "any")
FORMS = f"lease:RES, task:ID, session:ID, gate:ID, another REF, a time, or {', '.join(WORDS)}"
Timeout = Annotated[
    int | None,
    typer.Option(
        "--timeout", parser=parsed(wait_time), metavar="D", help="At most so long (100s)."
    ),
]


class News(NamedTuple):
    """The news that ended a wait: a line, the data, and words of others."""

    line: str
    data: Record
    frame: tuple[Frame, ...] = ()


@verb(
    app,
    "wait",
    "atlas wait lease:gpu0 --timeout 90s",
    4,
    7,
    remote=FRESH,
    limits=(limits.WAITED,),
)
def wait(
    ctx: typer.Context,
    what: Annotated[
        str, typer.Argument(metavar="[WHAT]", help=f"{FORMS} (what another session writes).")
    ] = "any",
    timeout: Timeout = None,
) -> Outcome:
    """Sleep until it is over or there: a lease is free, a task done, a session ended, a task can be
    claimed (ready), somebody wrote a status (status), something for you (mail), or anything (any).

    It takes nothing: `--wait` of `lease take`, `lease run`, `task next --claim` and `task claim`
    does. There is no queue: who comes first has it."""
    env = env_of(ctx)
    me = who.session_or_none(env)
    target = what if what in WORDS else _ref(env, what)
    with contextlib.ExitStack() as stack:
        place = _store(env, target, me, stack)
        look = _look(place, target, me)
        whats = () if what in WORDS else (target,)
        seconds = timeout or waiting.USUAL
        wanted = waiting.Wanted(whats, seconds)
        news = waiting.Waiting(place, env, me, wanted).until(look)
        if news is None:
            raise _timeout(env, place, target, me, seconds)
    return Outcome({"waited_for": target, **news.data}, (news.line, *news.frame))


def _ref(env: Env, what: str) -> str:
    """The thing that is waited for, as it is stored. Raises Usage if it is nothing to wait for."""
    if what.startswith("lease:"):
        return f"lease:{reading.resource(env, what)}"
    if what[:1].isdecimal():
        return times.rfc3339(times.ahead(what, env.now()))
    if ":" not in what:
        raise Usage(f"{what[:80]!r} is nothing to wait for", f"one of {FORMS}")
    return str(records.ref(what))


def _store(env: Env, target: str, me: Record | None, stack: contextlib.ExitStack) -> Env:
    """The place where it is kept: a lease may be in another store."""
    if not target.startswith("lease:") or not env.shares:
        return env
    from ..env import elsewhere

    name = elsewhere.only_store(elsewhere.by_store(env, [target.removeprefix("lease:")], None))
    return stack.enter_context(elsewhere.opened(env, name, me)).env


def _own(me: Record | None) -> tuple[str, ...]:
    """The sessions whose leases are in nobody's way: the waiter's own, and those above it."""
    return (me["id"], *me.get("lineage", ())) if me else ()


def _look(env: Env, target: str, me: Record | None) -> Callable[[], News | None]:
    """The question that is asked each time that something may have changed."""
    if target == "ready":
        return lambda: _ready(env, me)
    if target in WORDS:
        return _written(env, target, me)

    def over() -> News | None:
        now = standing(env.ask, env.tree, target, _own(me))
        if now.lost:
            raise NotFound(
                f"{named(target)} is {now.how}, and will not be done by itself",
                f"atlas task show {target.removeprefix('task:')}",
                code="lost",
            )
        if not now.over:
            details = {"holder": now.holder}
            hint = f"wait on: {waiting.command(env)}"
            _judge_gone(env, Held(f"{named(target)} is {now.how}", hint, details=details))
            return None
        how = _held(env, target, me) or now.how
        line = f"you hold {named(target[6:])}" if how == "yours" else f"{named(target)} is {how}"
        return News(line, {"how": how, "changed": []})

    return over


def _held(env: Env, target: str, me: Record | None) -> str:
    """The way in which a resource is held that is in nobody's way; empty where it is free."""
    now = standing(env.ask, env.tree, target) if target.startswith("lease:") else None
    if now is None or now.over:
        return ""
    return "yours" if me and now.holder == me["id"] else f"{now.how}, which is above you"


def _judge_gone(env: Env, stop: AtlasError) -> None:
    """Raises a stop if one of those whom it names is gone: it would be waited for in vain."""
    if who.say_gone(env, stop):
        raise stop


def _ready(env: Env, me: Record | None) -> News | None:
    rows = board.ready(env.ask, env.tree, 1)
    if not rows:
        own = Writer((me or {}).get("id", ""), "", env.store.machine, env.now(), "")
        _judge_gone(env, offering.none_ready(env.tree, own))
        return None
    ref = rows[0]["ref"]
    line = f"{ref} can be claimed: atlas task next --claim"
    return News(line, {"how": "ready", "changed": [ref]}, (Frame("", rows[0]["title"] or ""),))


def _written(env: Env, target: str, me: Record | None) -> Callable[[], News | None]:
    """The things that other sessions write from now on: a status, something for this one, or
    anything."""
    start, own = env.index.last_seq(), me["id"] if me else ""

    def news() -> News | None:
        refs: dict[str, str] = {}
        for kind in _kinds(target):
            for _, path, record in env.index.since(kind.folder, start):
                by = _writer(record)
                if by != own and (target != "mail" or for_session(record, me)):
                    refs[kind.ref(path, record)] = by
        if not refs:
            return None
        shown = ", ".join(
            f"{named(ref)}{f' by {named(by)}' if by else ''}" for ref, by in list(refs.items())[:5]
        )
        more = f", and {len(refs) - 5} more" if len(refs) > 5 else ""
        return News(f"written: {shown}{more}", {"how": "written", "changed": list(refs)})

    return news


def _kinds(target: str) -> list[Kind]:
    """The kinds in which somebody writes what is waited for. That a session lives is no news."""
    if target == "status":
        return [status.KIND]
    return [kind for kind in records.KINDS if kind not in (session.KIND, policy.KIND)]


def _writer(record: Record) -> str:
    """The session that a record is of."""
    claim = record.get("claim", {})
    by = claim.get("by") or claim.get("session") or record.get("holder") or record.get("session")
    return str(by or "")


def for_session(record: Record, me: Record | None) -> bool:
    """Whether a record is addressed to a session: to itself, one of its paths or all; a task that
    was assigned to it; a text that came from a forge."""
    if me is None:
        return "session" not in record
    claim = record.get("claim", {})
    if claim.get("by") and claim.get("session") == me["id"]:
        return True
    sections = [part for part in record.get("sections", ()) if isinstance(part, dict)]
    named_in = [record.get("for"), *(part.get("for") for part in sections)]
    to = [str(name) for part in named_in for name in _as_list(part) if name]
    own = {me["id"], f"session:{me['id']}", "all"}
    paths = [f"path:{path}" for path in me.get("paths", ())]
    if any(name in own or any(names.overlap(name, path) for path in paths) for name in to):
        return True
    return set(record) <= {"name", "title", "body"}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _timeout(env: Env, place: Env, target: str, me: Record | None, seconds: int) -> Held | Nothing:
    """The end of a wait whose time is up: 4 for what is held or claimed, else 7."""
    span, hint = times.span(seconds), f"go on: {waiting.command(env)}"
    details: dict[str, Any] = {"waited_for": target, "waited": seconds}
    if target in WORDS:
        what = {"ready": "no task can be claimed", "status": "nobody wrote a status"}
        text = what.get(target, "nobody wrote anything" + (" for you" if target == "mail" else ""))
        return Nothing(f"waited {span}: {text}", hint, code="timeout", details=details)
    now = standing(place.ask, place.tree, target, _own(me))
    text = f"waited {span}: {named(target)} is {now.how}{_left(now, place.now())}"
    details |= {"holder": now.holder, "seconds_left": _seconds(now, place.now())}
    kind = Held if now.holder and not target.startswith("session:") else Nothing
    return kind(text, hint, code="timeout", details=details)


def _seconds(now: Over, moment: int) -> int | None:
    return None if now.until is None else max(0, now.until - moment)


def _left(now: Over, moment: int) -> str:
    left = _seconds(now, moment)
    return "" if left is None else f" for at most {times.span(left)} more"

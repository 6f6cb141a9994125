"""Advisory leases: who has signed up for a resource, why, and until when. A row for each
resource."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..errors import Held, NotFound, Refused
from ..model import change, names, schema, text, times
from ..model.change import Change, FileEdit, Violation, Writer
from ..model.kind import row_kind
from ..model.text import Record
from ..model.tree import Tree
from ..visible import named, theirs
from . import goals, policy, resources, session

FOLDER = "leases"
SHORTEST = 300  # seconds
LONGEST = 4 * 3600  # seconds, whatever a policy or a row says


def path_of(resource: str) -> str:
    """The path of a resource's row."""
    return f"{FOLDER}/{names.bucket(resource)}/{names.file_name(resource)}.yaml"


def parse(path: str, data: bytes) -> Record:
    """A lease. Raises Damaged if the bytes are none. `expires` is a plan: whether a lease is held
    is computed when it is read."""
    record = schema.fields(
        text.load(data, path),
        path,
        {
            "resource": str,
            "version": "count",
            "token": "count",
            "holder": str,
            "actor": str,
            "why": str,
            "at": "time",
            "expires": "time",
        },
        {"released": "time", "since": "time"}
        | {"machine": str, "run": bool, "task": str, "goal": "count"},
    )
    on = record["resource"]
    schema.placed(path, f"lease:{on}", path_of(on) if names.is_resource(on) else None)
    return record


def until(record: Record) -> int | None:
    """The moment at which a lease is over: when it was given back, or when it expires, and never
    later than 4 h after it was written."""
    if "released" in record:
        return times.moment(record["released"])
    return min(times.moment(record["expires"]), times.moment(record["at"]) + LONGEST)


def began_after(record: Record, moment: int, by: str, held: Mapping[str, str]) -> bool:
    """Whether a lease was taken later than what a session wrote at a moment, however often it was
    renewed or passed on since: the resource was free in between. `held`: REFs of leases, each with
    the time since which it was held then. Without that clocks tell, and those of two may differ."""
    if then := held.get(f"{KIND.name}:{record['resource']}"):
        return since(record) != then
    margin = 0 if record["holder"] == by else times.SKEW
    return times.moment(since(record)) > moment + margin


def since(record: Record) -> str:
    """The time from which a lease has been held without a gap."""
    return str(record.get("since", record["at"]))


def begins(over: int) -> int:
    """The first moment at which anybody honours a lease that is over at `over`. A lease that is
    dated further ahead would run longer than a lease can, even with both clocks as wrong as they
    may be."""
    return over - LONGEST - 2 * times.SKEW


def holds(record: Record | None, now: int) -> bool:
    """Whether a lease is in force at a moment: it runs, and does not lie further ahead than a lease
    can."""
    return record is not None and _runs(record, now) and honoured_from(record) <= now


def _runs(record: Record | None, now: int) -> bool:
    """Whether a lease is neither given back nor expired."""
    return record is not None and "released" not in record and (until(record) or 0) > now


def honoured_from(record: Record) -> int:
    """The moment from which a lease is honoured, however far ahead it is dated."""
    return max(begins(until(record) or 0), times.moment(record["at"]) - LONGEST)


def rest(record: Record, now: int) -> int:
    """The seconds for which a lease is still honoured by others."""
    return min(LONGEST, max(0, (until(record) or 0) - now))


def left(record: Record, now: int) -> int:
    """The seconds that the holder may still count on."""
    return min(LONGEST, max(0, (until(record) or 0) - times.SKEW - now))


def find(tree: Tree, resource: str, number: int | None = None) -> str:
    """The path of a resource's row. Raises NotFound if nobody ever took it."""
    path = path_of(resource)
    if tree.blob(path) is None:
        others = (record["resource"] for _, record in tree.live(FOLDER, 0))
        hint = names.hint(resource, others, "atlas lease list shows what is held")
        raise NotFound(f"nobody has taken a lease on {resource} here", hint)
    return path


def current(tree: Tree, resource: str) -> Record | None:
    """The row of a resource, or None."""
    path = path_of(resource)
    data = tree.read(path)
    return None if data is None else parse(path, data)


def take(
    tree: Tree,
    writer: Writer,
    resources: Sequence[str],
    why: str,
    seconds: int | None,
    any_of: bool = False,
    run: bool = False,
    task: str | None = None,
) -> Change:
    """The change by which the writer takes all of the resources, or none of them. `any_of`: it
    takes the first free one. `run`: it holds them for as long as a command runs, past the end of
    its session, but for what it holds already. `task`: it holds them for a task that it has
    claimed. Taking a lease that the writer holds renews it. A lease that an ancestor holds covers
    the resource and stays the ancestor's. Raises Held, with the holder, the reason and the time
    left, if another session holds a resource or one that overlaps it."""
    lasts = policy.allowed(policy.of(tree), "lease", SHORTEST, seconds)
    least = 0 if run and seconds is None else lasts
    files: dict[str, bytes] = {}
    refused: Held | None = None
    for resource in resources:
        try:
            row = _held_row(tree, writer, resource, why, (lasts, least), run, task)
            files[path_of(resource)] = row
        except Held as stop:
            if not any_of:
                raise
            refused = refused or stop
            continue
        if any_of:
            break
    if not files and refused is not None:
        raise refused
    held = [parse(path, data)["resource"] for path, data in files.items()]
    return Change(f"lease: take {short(held)} ({writer.session})", files)


def _held_row(
    tree: Tree,
    writer: Writer,
    resource: str,
    why: str,
    seconds: tuple[int, int],
    run: bool,
    task: str | None,
) -> bytes:
    """The row of a resource once the writer holds it. `seconds` that it runs: if it is new to the
    writer, and at least if a command runs under what is held already."""
    now, in_force = writer.at, policy.of(tree)
    old = current(tree, resource)
    if old is not None and old["holder"] in writer.lineage and holds(old, now):
        return tree.read(path_of(resource)) or b""  # covered by an ancestor's, which stays so
    for _, other in tree.live(FOLDER, now - times.SKEW):
        others = other["holder"] != writer.session and _bars(other, writer)
        if others and resources.meet(in_force, resource, other["resource"]):
            raise _held(other, resource, now)
    if old is not None and old["holder"] != writer.session and _bars(old, writer):
        raise _held(old, resource, now)
    mine = old is not None and old["holder"] == writer.session and holds(old, now)
    if old is not None and mine and run:  # what is held already is not only the command's
        return text.dump(_longer(old, writer, max(until(old) or 0, now + seconds[1])))
    before = old or {"resource": resource, "version": 0, "token": 0}
    fields: Record = {
        "token": before["token"] + (0 if mine else 1),
        **_hands(writer),
        "why": why,
        "expires": times.rfc3339(now + seconds[0]),
        "released": None,
        "since": since(before) if mine else None,
        "run": run or None,
        "task": task,
        "goal": before.get("goal") if mine else goals.goal_of(tree, writer.session),
    }
    return text.dump(change.rewritten(before, **fields))


def _bars(record: Record, writer: Writer) -> bool:
    """Whether a lease keeps this writer out. Another machine waits longer, by as much as clocks may
    differ."""
    if record["holder"] in writer.lineage:
        return False
    wait = 0 if record.get("machine") == writer.machine or "released" in record else times.SKEW
    over = (until(record) or 0) + wait <= writer.at
    return "released" not in record and not over and honoured_from(record) <= writer.at


def _held(record: Record, resource: str, now: int) -> Held:
    """The error for a resource that another session holds."""
    seconds = rest(record, now)
    what = resource
    if record["resource"] != resource:
        what = f"{named(record['resource'])} (overlaps {resource})"
    return Held(
        f"{what} is held by {named(record['holder'])} for at most {times.span(seconds)} more:"
        f" {theirs(record['why'])}",
        "--wait 100s waits for it; or do something else, or take another resource",
        details={
            "resource": record["resource"],
            "holder": record["holder"],
            "actor": record["actor"],
            "why": record["why"],
            "expires": record["expires"],
            "seconds_left": seconds,
            "token": record["token"],
        },
    )


def _hands(writer: Writer) -> Record:
    """The fields that say whose a lease is from now on."""
    named = {"holder": writer.session, "actor": writer.actor, "machine": writer.machine}
    return {**named, "at": writer.when}


def _longer(old: Record, writer: Writer, end: int) -> Record:
    expires = times.rfc3339(end)
    return change.rewritten(old, at=writer.when, since=since(old), expires=expires)


def renew(tree: Tree, writer: Writer, resources: Sequence[str], seconds: int | None) -> Change:
    """The change that extends leases from now on. Raises Held or Refused if the writer does not
    hold them."""
    allowed_for = policy.allowed(policy.of(tree), "lease", SHORTEST, seconds)
    files = {}
    for resource in resources:
        old = _own(tree, writer, resource)
        files[path_of(resource)] = text.dump(_longer(old, writer, writer.at + allowed_for))
    return Change(f"lease: renew {short(resources)} ({writer.session})", files)


def prolong(tree: Tree, writer: Writer, seconds: Mapping[str, int]) -> Change:
    """The change by which each of these leases runs for so many seconds from now on, at least: none
    is made shorter. Raises Held or Refused if the writer does not hold them."""
    files: dict[str, bytes] = {}
    for resource, least in seconds.items():
        old, runs_to = _own(tree, writer, resource), writer.at + least
        row = _longer(old, writer, runs_to)
        lasts = (until(old) or 0) >= runs_to
        files[path_of(resource)] = (
            (tree.read(path_of(resource)) or b"") if lasts else text.dump(row)
        )
    return Change(f"lease: renew {short(list(seconds))} ({writer.session})", files)


def release(tree: Tree, writer: Writer, resources: Sequence[str]) -> Change:
    """The change that gives leases back. Raises Held or Refused if the writer does not hold
    them."""
    files = {}
    for resource in resources:
        old = _own(tree, writer, resource)
        files[path_of(resource)] = text.dump(
            change.rewritten(old, at=writer.when, released=writer.when)
        )
    return Change(f"lease: release {short(resources)} ({writer.session})", files)


def inherit(tree: Tree, writer: Writer, holder: str) -> dict[str, bytes | None]:
    """The leases that pass to the writer when it adopts a session, for the rest of their time. A
    lease that is held for a running command stays with it."""
    goal = goals.goal_of(tree, writer.session)
    files: dict[str, bytes | None] = {}
    for path, old in tree.live(FOLDER, writer.at + SHORTEST):
        if old["holder"] == holder and holds(old, writer.at) and not old.get("run"):
            fields = {
                **_hands(writer),
                "token": old["token"] + 1,
                "since": since(old),
                "goal": goal,
            }
            files[path] = text.dump(change.rewritten(old, **fields))
    return files


def freed(tree: Tree, writer: Writer, holder: str) -> dict[str, bytes | None]:
    """The leases of a session that is dropped, given back for it."""
    held = [(path, old) for path, old in tree.live(FOLDER, writer.at) if old["holder"] == holder]
    return {
        path: text.dump(change.rewritten(old, at=writer.when, released=writer.when))
        for path, old in held
    }


def _own(tree: Tree, writer: Writer, resource: str) -> Record:
    """The row of a resource that the writer holds now. Raises Held or Refused if it does not."""
    old = current(tree, resource)
    if old is not None and old["holder"] != writer.session and holds(old, writer.at):
        raise _held(old, resource, writer.at)
    if old is None or old["holder"] != writer.session or not holds(old, writer.at):
        mine = old is not None and old["holder"] == writer.session
        over = f" (yours was over {times.ago(until(old or {}) or 0, writer.at)})" if mine else ""
        raise Refused(
            f"this session holds no lease on {resource}{over}",
            f"atlas lease take {resource} --why … takes it",
            code="not_held",
        )
    return old


def short(resources: Sequence[str]) -> str:
    """The resources in a few words, for a subject."""
    shown = ", ".join(resources[:3])
    if len(shown) > 60:
        shown = shown[:57] + "…"
    return f"{shown} and {len(resources) - 3} more" if len(resources) > 3 else shown


def _timing(edit: FileEdit, new: Record) -> Iterator[Violation]:
    """The rules of a lease's times."""
    yield from change.on_time(edit, new["at"])
    length = times.moment(new["expires"]) - times.moment(new["at"])
    most = policy.seconds(edit.policy, "lease_max")
    if "released" not in new and not SHORTEST <= length <= most:
        yield Violation("limit", edit.path, f"a lease of {times.span(length)} from {new['at']}")


def _handed(edit: FileEdit, old: Record | None, new: Record) -> Iterator[Violation]:
    """The rules of its hands: who may write the row, and that the fencing token rises whenever it
    changes hands."""
    by, written = edit.message.session, times.moment(new["at"])
    if by is not None and by not in (new["holder"], session.dropped_by(edit.child, new["holder"])):
        yield Violation(
            "session", edit.path, f"the row of {named(new['holder'])} was written by {by}"
        )
    before = 0 if old is None else old["token"]
    if new["token"] < before:
        yield Violation(
            "token", edit.path, f"the fencing token went back from {before} to {new['token']}"
        )
    live = _runs(old, written)  # (what nobody honours yet is given back all the same)
    same = old is not None and old["holder"] == new["holder"]
    inherited = old is not None and session.adopted_by(edit.child, old["holder"]) == new["holder"]
    if holds(old, written) and not same and not inherited and old is not None:
        yield Violation(
            "live_lease", edit.path, f"was held by {named(old['holder'])} until {old['expires']}"
        )
    if not (live and same) and "released" not in new and new["token"] == before:
        yield Violation(
            "token", edit.path, f"was taken anew without a new fencing token ({before})"
        )
    if new["token"] > before + 1:
        yield Violation(
            "token", edit.path, f"the fencing token jumped from {before} to {new['token']}"
        )
    if "released" in new and not (live and same):
        yield Violation("not_held", edit.path, "was given back by a session that did not hold it")


def _rules(edit: FileEdit, old: Record | None, new: Record) -> Iterator[Violation]:
    if old is not None and old["resource"] != new["resource"]:
        yield Violation("misplaced", edit.path, "the resource was changed")
    yield from _timing(edit, new)
    yield from _handed(edit, old, new)


def _clashes(tree: Tree, record: Record, other: Record) -> str:
    """The reason why two leases of two workers cannot both be: they are on resources that overlap,
    for times that overlap. No path tells this, because they are two rows."""
    if "released" in record or "released" in other or _kin(tree, record["holder"], other["holder"]):
        return ""
    since, over = times.moment(record["at"]), until(record) or 0
    meets = times.moment(other["at"]) < over and since < (until(other) or 0)
    in_force = policy.usable(tree)
    if not meets or not resources.meet(in_force, record["resource"], other["resource"]):
        return ""
    return f"{other['resource']} was taken by {other['holder']}"


def _kin(tree: Tree, holder: str, other: str) -> bool:
    """Whether two holders are the same, or the first works under the leases of the other."""
    data = tree.read(session.path_of(holder))
    row = session.parse(session.path_of(holder), data) if data is not None else {}
    return holder == other or other in row.get("lineage", ())


KIND = row_kind("lease", FOLDER, ".yaml", "resource", parse, find, until, _rules)._replace(
    clashes=_clashes, words=("why",)
)

"""Advisory leases: who has signed up for what, why and until when. A row for each resource."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..errors import Held, NotFound, Refused
from ..model import change, names, schema, text, times
from ..model.change import Change, FileEdit, Violation, Writer
from ..model.kind import row_kind
from ..model.text import Record
from ..model.tree import Tree
from ..visible import named, theirs
from . import policy, session

FOLDER = "leases"
SHORTEST = 300  # seconds
LONGEST = 4 * 3600  # seconds, whatever a policy or a row says


def path_of(resource: str) -> str:
    """Where a resource's row lies."""
    return f"{FOLDER}/{names.bucket(resource)}/{names.file_name(resource)}.yaml"


def parse(path: str, data: bytes) -> Record:
    """The row; Damaged where it is none. `expires` is a plan: whether it is held is computed when
    it is read."""
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
        {"released": "time", "machine": str, "run": bool},
    )
    on = record["resource"]
    schema.placed(path, f"lease:{on}", path_of(on) if names.is_resource(on) else None)
    return record


def until(record: Record) -> int | None:
    """The moment it is over: given back, or expired, at the latest 4 h after it was written,
    whatever it says."""
    if "released" in record:
        return times.moment(record["released"])
    return min(times.moment(record["expires"]), times.moment(record["at"]) + LONGEST)


def begins(over: int) -> int:
    """The first moment at which anybody honours what is over at that one: earlier, it would be for
    longer than a lease can run, which no clock of good faith says (two are apart by what both may
    be wrong)."""
    return over - LONGEST - 2 * times.SKEW


def holds(record: Record | None, now: int) -> bool:
    """Whether somebody holds it at that moment: it runs, and does not lie further ahead than any
    lease."""
    return _runs(record, now) and record is not None and honoured_from(record) <= now


def _runs(record: Record | None, now: int) -> bool:
    return record is not None and "released" not in record and (until(record) or 0) > now


def honoured_from(record: Record) -> int:
    """The moment from which it is honoured, however far ahead it is dated."""
    return max(begins(until(record) or 0), times.moment(record["at"]) - LONGEST)


def rest(record: Record, now: int) -> int:
    """Seconds for which it is still honoured."""
    return min(LONGEST, max(0, (until(record) or 0) - now))


def left(record: Record, now: int) -> int:
    """Seconds that the holder may still count on."""
    return min(LONGEST, max(0, (until(record) or 0) - times.SKEW - now))


def find(tree: Tree, resource: str, number: int | None = None) -> str:
    """The path of a resource's row; NotFound where nobody ever took it."""
    path = path_of(resource)
    if tree.blob(path) is None:
        there = (record["resource"] for _, record in tree.live(FOLDER, 0))
        hint = names.hint(resource, there, "atlas lease list shows what is held")
        raise NotFound(f"nobody has taken a lease on {resource} here", hint)
    return path


def current(tree: Tree, resource: str) -> Record | None:
    """A resource's row, or None."""
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
) -> Change:
    """One conditional step: all of the resources or none (`any_of`: the first free one; `run`: for
    as long as a command runs, past the end of its session). Held, naming holder, reason and time
    left, where another has it or something that overlaps it. Taking what one holds renews it; what
    an ancestor holds is covered, and stays so."""
    rules = policy.of(tree)
    seconds = policy.seconds(rules, "lease_default") if seconds is None else seconds
    _allowed(seconds, policy.seconds(rules, "lease_max"))
    files: dict[str, bytes] = {}
    refused: Held | None = None
    for resource in resources:
        try:
            files[path_of(resource)] = _taken(tree, writer, resource, why, seconds, run)
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


def _allowed(seconds: int, most: int) -> None:
    if not SHORTEST <= seconds <= most:
        raise Refused(
            f"a lease of {times.span(seconds)}; one runs from {times.span(SHORTEST)} to"
            f" {times.span(most)}",
            "take it for less and renew it while you work",
            code="limit",
        )


def _taken(tree: Tree, writer: Writer, resource: str, why: str, seconds: int, run: bool) -> bytes:
    """The row of a resource once the writer holds it."""
    now = writer.at
    old = current(tree, resource)
    if old is not None and old["holder"] in writer.lineage and holds(old, now):
        return (
            tree.read(path_of(resource)) or b""
        )  # an ancestor's lease covers it, and stays the ancestor's
    for _, other in tree.live(FOLDER, now - times.SKEW):
        if (
            other["holder"] != writer.session
            and names.overlap(resource, other["resource"])
            and _bars(other, writer)
        ):
            raise _held(other, resource, now)
    if old is not None and old["holder"] != writer.session and _bars(old, writer):
        raise _held(old, resource, now)
    mine = old is not None and old["holder"] == writer.session and holds(old, now)
    fields: Record = {
        "token": (old or {"token": 0})["token"] + (0 if mine else 1),
        "holder": writer.session,
        "actor": writer.actor,
        "machine": writer.machine,
        "why": why,
        "at": writer.when,
        "expires": times.rfc3339(now + seconds),
        "released": None,
        "run": run or None,
    }
    first: Record = {"resource": resource, "version": 0}
    return text.dump(change.rewritten(old or first, **fields))


def _bars(record: Record, writer: Writer) -> bool:
    """Whether a row keeps this writer out: another machine waits as much longer as clocks may
    differ."""
    if record["holder"] in writer.lineage:
        return False
    wait = 0 if record.get("machine") == writer.machine or "released" in record else times.SKEW
    over = (until(record) or 0) + wait <= writer.at
    return "released" not in record and not over and honoured_from(record) <= writer.at


def _held(record: Record, resource: str, now: int) -> Held:
    seconds = rest(record, now)
    what = (
        resource
        if record["resource"] == resource
        else f"{named(record['resource'])} (overlaps {resource})"
    )
    return Held(
        f"{what} is held by {named(record['holder'])} for {times.span(seconds)} more:"
        f" {theirs(record['why'])}",
        f"do something else for {times.span(seconds)}, or take another resource",
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


def renew(tree: Tree, writer: Writer, resources: Sequence[str], seconds: int | None) -> Change:
    """Another stretch of time from now on, for what the writer holds; Held or Refused where it does
    not."""
    rules = policy.of(tree)
    seconds = policy.seconds(rules, "lease_default") if seconds is None else seconds
    _allowed(seconds, policy.seconds(rules, "lease_max"))
    expires = times.rfc3339(writer.at + seconds)
    files = {}
    for resource in resources:
        old = _own(tree, writer, resource)
        files[path_of(resource)] = text.dump(change.rewritten(old, at=writer.when, expires=expires))
    return Change(f"lease: renew {short(resources)} ({writer.session})", files)


def release(tree: Tree, writer: Writer, resources: Sequence[str]) -> Change:
    """What the writer holds is given back; Held or Refused where it does not hold it."""
    files = {}
    for resource in resources:
        old = _own(tree, writer, resource)
        files[path_of(resource)] = text.dump(
            change.rewritten(old, at=writer.when, released=writer.when)
        )
    return Change(f"lease: release {short(resources)} ({writer.session})", files)


def inherit(tree: Tree, writer: Writer, holder: str) -> dict[str, bytes | None]:
    """The rows that pass to whoever adopts a session: what it still holds, for the rest of its
    time."""
    files: dict[str, bytes | None] = {}
    for path, old in tree.live(FOLDER, writer.at + SHORTEST):
        if old["holder"] == holder and holds(old, writer.at):
            fields = {
                "token": old["token"] + 1,
                "holder": writer.session,
                "actor": writer.actor,
                "at": writer.when,
            }
            files[path] = text.dump(
                change.rewritten(old, **fields, machine=writer.machine, run=None)
            )
    return files


def freed(tree: Tree, writer: Writer, holder: str) -> dict[str, bytes | None]:
    """The rows of what a session that is dropped still holds, given back for it."""
    held = [(path, old) for path, old in tree.live(FOLDER, writer.at) if old["holder"] == holder]
    return {
        path: text.dump(change.rewritten(old, at=writer.when, released=writer.when))
        for path, old in held
    }


def _own(tree: Tree, writer: Writer, resource: str) -> Record:
    """The row, if the writer holds it now."""
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
    shown = ", ".join(resources[:3])
    return (shown if len(shown) <= 60 else shown[:57] + "…") + (
        f" and {len(resources) - 3} more" if len(resources) > 3 else ""
    )


def _timing(found: FileEdit, new: Record) -> Iterator[Violation]:
    written = times.moment(new["at"])
    if found.message.at is not None and written != found.message.at:
        yield Violation(
            "clock",
            found.path,
            f"is dated {new['at']}, its commit {times.rfc3339(found.message.at)}",
        )
    length = times.moment(new["expires"]) - written
    if "released" not in new and not SHORTEST <= length <= policy.seconds(
        found.policy, "lease_max"
    ):
        yield Violation("limit", found.path, f"a lease of {times.span(length)} from {new['at']}")


def _handed(found: FileEdit, old: Record | None, new: Record) -> Iterator[Violation]:
    """Who may write the row, and that the fencing token rises whenever it changes hands."""
    by, written = found.message.session, times.moment(new["at"])
    if by is not None and by not in (new["holder"], session.dropped_by(found.child, new["holder"])):
        yield Violation(
            "session", found.path, f"the row of {named(new['holder'])} was written by {by}"
        )
    before = 0 if old is None else old["token"]
    if new["token"] < before:
        yield Violation(
            "token", found.path, f"the fencing token went back from {before} to {new['token']}"
        )
    live = _runs(old, written)  # (what nobody honours yet is given back all the same)
    same = old is not None and old["holder"] == new["holder"]
    inherited = old is not None and session.adopted_by(found.child, old["holder"]) == new["holder"]
    if holds(old, written) and not same and not inherited and old is not None:
        yield Violation(
            "live_lease", found.path, f"was held by {named(old['holder'])} until {old['expires']}"
        )
    if not (live and same) and "released" not in new and new["token"] == before:
        yield Violation(
            "token", found.path, f"was taken anew without a new fencing token ({before})"
        )
    if new["token"] > before + 1:
        yield Violation(
            "token", found.path, f"the fencing token jumped from {before} to {new['token']}"
        )
    if "released" in new and not (live and same):
        yield Violation("not_held", found.path, "was given back by a session that did not hold it")


def _rules(found: FileEdit, old: Record | None, new: Record) -> Iterator[Violation]:
    if old is not None and old["resource"] != new["resource"]:
        yield Violation("misplaced", found.path, "the resource was changed")
    yield from _timing(found, new)
    yield from _handed(found, old, new)


def _clashes(tree: Tree, record: Record, other: Record) -> str:
    """Two leases of two workers on what meets, for times that meet: two rows, which no path
    tells."""
    if "released" in record or "released" in other or _kin(tree, record["holder"], other["holder"]):
        return ""
    since, over = times.moment(record["at"]), until(record) or 0
    meets = times.moment(other["at"]) < over and since < (until(other) or 0)
    if not meets or not names.overlap(record["resource"], other["resource"]):
        return ""
    return f"{other['resource']} was taken by {other['holder']}"


def _kin(tree: Tree, holder: str, other: str) -> bool:
    """Whether they are one, or the first works under the lease of the other."""
    data = tree.read(session.path_of(holder))
    row = session.parse(session.path_of(holder), data) if data is not None else {}
    return holder == other or other in row.get("lineage", ())


KIND = row_kind("lease", FOLDER, ".yaml", "resource", parse, find, until, _rules)._replace(
    clashes=_clashes, words=("why",)
)

"""The writes of those who work on tasks: claim, start, renew, done, fail, release. Each is a pure
function of the tree and the writer. `queue` is the rows as the index has them, by path, in their
order; each row that is taken is read again on the tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...errors import AtlasError, Held, NotFound, Refused, Usage
from ...model import times
from ...model.change import Change, Writer
from ...model.text import Record
from ...model.tree import Tree
from ...visible import named
from .. import lease, policy
from . import posting, readiness, result, task

SHORTEST = 60  # seconds of a claim
Queue = Iterable[tuple[str, Record]]


def ready(
    tree: Tree, queue: Queue, now: int, machine: str, role: str | None = None
) -> Iterator[Record]:
    """The tasks that may be given to a worker, in the order of the queue."""
    in_force = policy.of(tree)
    for path, row in queue:
        if (role is not None and row.get("role", role) != role) or readiness.holding(tree, row):
            continue
        record = task.parse(path, tree.read(path) or b"")
        then = now - wait(record, machine, now)
        if readiness.assess(tree, record, then, in_force)[0] == "ready":
            yield record


def first_ready(
    tree: Tree, queue: Queue, now: int, machine: str, role: str | None = None
) -> Record:
    """The first task that may be given to a worker. Raises NotFound if there is none."""
    for record in ready(tree, queue, now, machine, role):
        return record
    raise none_ready(f" for {role}" if role else "")


def none_ready(whom: str = "") -> NotFound:
    """The error that no task is ready."""
    return NotFound(
        f"no task is ready{whom}", "atlas task list --explain says what holds each", code="no_task"
    )


def wait(record: Record, machine: str, now: int) -> int:
    """The seconds for which this machine waits after a claim of another machine: that one's clock
    may be behind."""
    others = record["state"] == "claimed" and record["claim"].get("machine") != machine
    return times.SKEW if others and lease.begins(task.claim_ends(record)) <= now - times.SKEW else 0


def claim_next(
    tree: Tree, writer: Writer, queue: Queue, role: str | None, seconds: int | None
) -> Change:
    """The change by which the writer claims the first ready task. Raises NotFound if there is none,
    Refused if its session holds too many."""
    row = first_ready(tree, queue, writer.at, writer.machine, role)
    if why := _full(tree, writer, 1):
        raise why
    files = grant(tree, writer, row, seconds, "next")
    return posting.change_rows("claim", [row["id"]], writer, files)


def claim(tree: Tree, writer: Writer, wanted: Sequence[str], seconds: int | None) -> Change:
    """The change by which the writer claims those of the tasks that it may. A task that it holds
    already is renewed. If it may claim none, the error of the first one is raised."""
    files: dict[str, bytes | None] = {}
    reasons: dict[str, AtlasError] = {}
    new = 0
    for name in wanted:
        if why := refusal(tree, writer, name):
            reasons[name] = why
        elif _own(old := task.get(tree, name), writer):
            files |= _renewed(tree, writer, old, seconds)
        elif why := _full(tree, writer, new + 1):
            reasons[name] = why
        else:
            new += 1
            files |= grant(tree, writer, old, seconds, "batch" if len(wanted) > 1 else "claim")
    if not files:
        first = next(iter(reasons.values()))
        if len(reasons) > 1:
            first.details = {**first.details, "failed": explained(reasons)}
        raise first
    ids = [task.parse(path, data or b"")["id"] for path, data in files.items()]
    return posting.change_rows("claim", ids, writer, files)


def _own(old: Record, writer: Writer) -> bool:
    """Whether the writer holds a task now."""
    return (
        old["state"] == "claimed"
        and old["claim"]["session"] == writer.session
        and task.holds(old, writer.at)
    )


def refusals(tree: Tree, writer: Writer, wanted: Iterable[str]) -> dict[str, AtlasError]:
    """The errors of those tasks that the writer may not claim now."""
    reasons = {name: refusal(tree, writer, name) or _full(tree, writer, 1) for name in wanted}
    return {name: why for name, why in reasons.items() if why}


def explained(reasons: Mapping[str, AtlasError]) -> list[Record]:
    """The errors by task, as data."""
    return [
        {"id": name, "code": why.code, "message": why.message, "details": why.details}
        for name, why in reasons.items()
    ]


def refusal(tree: Tree, writer: Writer, wanted: str) -> AtlasError | None:
    """The error of a task that the writer may not claim now; None if it may."""
    try:
        old = task.get(tree, wanted)
    except AtlasError as error:
        return error
    if _own(old, writer):
        return None
    state, waits = readiness.assess(
        tree, old, writer.at - wait(old, writer.machine, writer.at), policy.of(tree)
    )
    if state == "ready":
        return None
    if state == "claimed":
        return posting.not_free(tree, old, writer.at)
    what = "; ".join(f"{named(need)} is {other}" for need, other in waits[:5])
    shown = f"{state}: {what}" if what else state
    code = state if state in ("gated", "blocked", "frozen", "expired", "dead") else "not_open"
    return Refused(
        f"task {wanted} is {shown}",
        "atlas task next --claim takes one that is ready",
        code=code,
        details={"task": wanted, "state": state, "unmet": dict(waits)},
    )


def _full(tree: Tree, writer: Writer, more: int) -> AtlasError | None:
    """The error of a session that would hold too many claims; None if it would not."""
    most = policy.of(tree)["session_claims"]
    count = len(task.held(tree, writer.session, writer.at))
    what = f"{writer.session} holds {count} claims, and {more} more"
    return posting.limit(what, str(most), "session_claims") if count + more > most else None


def _expires(old: Record, in_force: policy.Policy, now: int, seconds: int | None) -> str:
    """The end of a claim that begins now. It is no later than the task's own deadline. Raises
    Refused if the policy does not allow so many seconds."""
    over = now + lease.allowed(in_force, "claim", SHORTEST, seconds)
    if "deadline" in old:
        over = min(over, times.moment(old["deadline"]))
    return times.rfc3339(over)


def grant(
    tree: Tree,
    writer: Writer,
    old: Record,
    seconds: int | None,
    path: str,
    to: Record | None = None,
) -> dict[str, bytes | None]:
    """The row of a ready task that is claimed by the writer, or assigned by it to the session
    `to`."""
    in_force = policy.of(tree)
    again = task.counts_as_attempt(old)
    counts: Record = {
        "generation": old["generation"] + again,
        "token": old["token"] + 1,
        "attempt": old["attempt"] + (again or old["state"] != "claimed"),
    }
    receipt = {
        **(_assigned(writer, to, in_force) if to is not None else _started(writer)),
        **counts,
        "store": in_force.get("store", ""),
        "at": writer.when,
        "path": path,
        "expires": _expires(old, in_force, writer.at, seconds),
        "version": old["version"],
        "needs": readiness.needed_versions(tree, old),
    }
    return posting.row_files(
        writer,
        old,
        **counts,
        state="claimed",
        claim={key: value for key, value in receipt.items() if value is not None},
        retries=old["retries"] + again,
        failures=posting.failures(old) or None,
    )


def _started(writer: Writer) -> Record:
    """The holder's fields of a receipt for a task that the writer claims itself."""
    return {
        "session": writer.session,
        "actor": writer.actor,
        "machine": writer.machine,
        "started": writer.when,
        "parent": writer.lineage[-1] if writer.lineage else None,
    }


def _assigned(writer: Writer, to: Record, in_force: policy.Policy) -> Record:
    """The holder's fields of a receipt for a task that the writer assigns to a session."""
    start_by = times.rfc3339(writer.at + policy.seconds(in_force, "start_within"))
    return {
        "session": to["id"],
        "actor": to["actor"],
        "machine": to["machine"],
        "parent": to.get("parent"),
        "by": writer.session,
        "start_by": start_by,
    }


def _renewed(
    tree: Tree, writer: Writer, old: Record, seconds: int | None
) -> dict[str, bytes | None]:
    """The row of a claimed task with its time extended."""
    receipt = {"started": writer.when, **old["claim"]}
    over = _expires(old, policy.of(tree), writer.at, seconds)
    # Nobody's time is cut by default.
    receipt["expires"] = over if seconds else max(over, receipt["expires"])
    return posting.row_files(writer, old, claim=receipt)


def proved(
    tree: Tree, writer: Writer, wanted: str, receipt: str | None, live: bool = True
) -> Record:
    """The row of a task whose claim is the writer's: by its session, and by the receipt
    (`generation.attempt.token.store`) if one is given. `live`: the claim must not have lapsed.
    Raises Held, with a code for each fact that is stale, and Refused if nobody holds the claim."""
    old = task.get(tree, wanted)
    claim: Record = old.get("claim", {})
    given = (receipt or "").split(".")
    if receipt is not None and len(given) != 4:
        raise Usage(
            f"{receipt[:80]!r} is no receipt of a claim",
            "give the one that the claim printed: 1.1.1.STORE",
        )
    facts = [
        ("generation", old["generation"]),
        ("attempt", old["attempt"]),
        ("claim", old["token"]),
        ("claim", policy.of(tree).get("store", "")),
    ]
    for (what, now), value in zip(facts, given, strict=False):
        if receipt is not None and str(now) != value:
            raise Held(
                f"task {wanted}: the {what} of your receipt is {value[:40]}, and it is at {now}",
                "what you did is not taken: others went on with it",
                code=f"stale_{what}",
            )
    if not claim:
        raise Refused(
            f"this session holds no claim on task {wanted}, which is {old['state']}",
            f"atlas task claim {wanted} claims it",
            code="not_held",
        )
    if claim["session"] != writer.session:
        raise Held(
            f"task {wanted} is the claim of {named(claim['session'])} (attempt {claim['attempt']})",
            "what you did is not taken: others went on with it",
            code="stale_session",
            details={"task": wanted, "holder": claim["session"], "attempt": claim["attempt"]},
        )
    if live and old["state"] == "claimed" and task.claim_ends(old) <= writer.at:
        raise Held(
            f"the claim on task {wanted} ran out at {times.rfc3339(task.claim_ends(old))}",
            f"atlas task claim {wanted} claims it anew, if nobody else has",
            code="stale_claim",
        )
    return old


def renew(
    tree: Tree, writer: Writer, wanted: Sequence[str], seconds: int | None, receipt: str | None
) -> Change:
    """The change that extends claims from now on, and starts assigned tasks."""
    files: dict[str, bytes | None] = {}
    for name in wanted:
        old = _in_hand(proved(tree, writer, name, receipt))
        files |= _renewed(tree, writer, old, seconds)
    return posting.change_rows("renew", wanted, writer, files)


def start(tree: Tree, writer: Writer, wanted: str, receipt: str | None) -> Change:
    """The change that starts an assigned task. A task that is started already stays as it is."""
    old = _in_hand(proved(tree, writer, wanted, receipt))
    if "started" in old["claim"]:
        return posting.unchanged("start", writer, tree, old)
    return posting.change_row("start", writer, old, claim={**old["claim"], "started": writer.when})


def _in_hand(record: Record) -> Record:
    """The record itself, if it is claimed. Raises Refused otherwise."""
    if record["state"] != "claimed":
        raise posting.state(record)
    return record


def done(
    tree: Tree, writer: Writer, wanted: str, receipt: str | None, new: result.NewResult | None
) -> Change:
    """The change that finishes a task, and stores its result with the receipt. A late result is
    taken as long as nobody else has gone on with the task. Raises Held for a stale receipt, Refused
    after the task's deadline."""
    try:
        old = proved(tree, writer, wanted, receipt, live=False)
    except Held as stop:
        stop.code = "receipt_mismatch" if task.get(tree, wanted)["state"] == "done" else stop.code
        raise
    if old["state"] == "done":
        result.refuse_other_bytes(tree, old, new)
        return posting.unchanged("done", writer, tree, old)
    _in_hand(old)
    if "deadline" in old and times.moment(old["deadline"]) <= writer.at:
        raise Refused(
            f"the deadline of task {wanted} was {old['deadline']}",
            "nothing is taken after it",
            code="expired",
        )
    files = result.put(tree, writer, old, new) if new is not None else {}
    files = {**posting.row_files(writer, old, state="done"), **files}
    return posting.change_rows("done", [wanted], writer, files)


def fail(tree: Tree, writer: Writer, wanted: str, receipt: str | None, why: str) -> Change:
    """The change that records a failed attempt. The task is open again, or a dead letter if its
    retries are used up."""
    old = proved(tree, writer, wanted, receipt, live=False)
    if old["state"] == "failed" and old["failures"][-1].get("why") == why:
        return posting.unchanged("fail", writer, tree, old)
    return posting.change_rows("fail", [wanted], writer, failed(tree, writer, _in_hand(old), why))


def failed(tree: Tree, writer: Writer, old: Record, why: str) -> dict[str, bytes | None]:
    """The row of a task whose attempt has failed. A task that was assigned and never started loses
    no attempt."""
    if not task.counts_as_attempt(old):  # assigned, and never started
        return posting.row_files(writer, old, state="open", claim=None)
    failures = posting.failures(old, why, writer.when)
    if old["retries"] >= policy.of(tree)["max_retries"]:
        return posting.row_files(writer, old, state="failed", failures=failures)
    return posting.row_files(
        writer,
        old,
        state="open",
        claim=None,
        generation=old["generation"] + 1,
        retries=old["retries"] + 1,
        failures=failures,
    )


def release(
    tree: Tree, writer: Writer, wanted: Sequence[str], receipt: str | None = None
) -> Change:
    """The change that gives tasks back unfinished. They are open again, and nothing counts as a
    failure."""
    files: dict[str, bytes | None] = {}
    for name in wanted:
        old = task.get(tree, name)
        claim = old.get("claim", {})
        # A writer may take back a task that it has assigned and nobody has started.
        if claim.get("by") != writer.session or "started" in claim:
            old = proved(tree, writer, name, receipt, live=False)
        files |= posting.row_files(writer, _in_hand(old), state="open", claim=None)
    return posting.change_rows("release", wanted, writer, files)

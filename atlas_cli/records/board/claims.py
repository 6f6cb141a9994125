"""The writes of those who work on tasks: claim, start, renew, done, fail, release. Each is a pure
function of the tree and the writer. The leases on what a task uses follow its claim."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...errors import AtlasError, Held, Refused, Usage
from ...model import times
from ...model.change import Change, Writer
from ...model.text import Record
from ...model.tree import Tree
from ...visible import many, named
from .. import goals, policy
from . import offering, posting, readiness, result, task, using

SHORTEST = 60  # seconds of a claim


def claim_next(
    tree: Tree, writer: Writer, queue: offering.Queue, role: str | None, seconds: int | None
) -> Change:
    """The change by which the writer claims the first ready task. Raises NotFound if there is none,
    Refused if its session holds too many."""
    passed: list[Held] = []
    row = offering.first_ready(tree, queue, writer, role, passed)
    if why := _full(tree, writer, 1):
        raise why
    files = grant(tree, writer, row, seconds, "next")
    change = posting.change_rows("claim", [row["id"]], writer, files)
    notices = tuple(f"passed over: {stop.message}" for stop in passed)
    return using.follow(tree, writer, change)._replace(notices=notices)


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
    return using.follow(tree, writer, posting.change_rows("claim", ids, writer, files))


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


def refusal(tree: Tree, writer: Writer, wanted: str, for_itself: bool = True) -> AtlasError | None:
    """The error of a task that the writer may not claim now; None if it may. `for_itself`: it takes
    what the task uses as well."""
    try:
        old = task.get(tree, wanted)
    except AtlasError as error:
        return error
    if _own(old, writer):
        return None
    state, waits = readiness.assess(
        tree, old, writer.at - offering.wait(old, writer.machine, writer.at), policy.of(tree)
    )
    if state == "ready":
        return using.barred(tree, writer, old) if for_itself else None
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
    what = f"{writer.session} holds {many(count, 'claim')}, and {more} more"
    return posting.limit(what, str(most), "session_claims") if count + more > most else None


def _expires(old: Record, in_force: policy.Policy, now: int, seconds: int | None) -> str:
    """The end of a claim that begins now. It is no later than the task's own deadline. Raises
    Refused if the policy does not allow so many seconds."""
    over = now + policy.allowed(in_force, "claim", SHORTEST, seconds)
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
        **(_assigned(writer, to, in_force) if to is not None else _started(tree, writer)),
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


def _started(tree: Tree, writer: Writer) -> Record:
    """The holder's fields of a receipt for a task that the writer claims itself."""
    return {
        "session": writer.session,
        "actor": writer.actor,
        "machine": writer.machine,
        "started": writer.when,
        "parent": writer.lineage[-1] if writer.lineage else None,
        "goal": goals.goal_of(tree, writer.session),
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
    (`task.generation.attempt.token.store`) if one is given. `live`: the claim must not have lapsed.
    Raises Held, with a code for each fact that is stale, and Refused if nobody holds the claim."""
    old = task.get(tree, wanted)
    claim: Record = old.get("claim", {})
    given = _parts(wanted, receipt) if receipt is not None else []
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


def _parts(wanted: str, receipt: str) -> list[str]:
    """The parts of a receipt behind its task's id, which one of before did not have. Raises Usage
    if it is none, or another task's."""
    words = receipt.split(".")
    of, parts = ".".join(words[:-4]), words[-4:]
    if len(parts) < 4 or of not in ("", wanted):
        what = f"is of task {of[:80]}, not of {wanted}" if of else "is no receipt of a claim"
        raise Usage(
            f"{receipt[:80]!r} {what}",
            f"give the one that the claim printed: {wanted}.1.1.1.STORE",
        )
    return parts


def renew(
    tree: Tree, writer: Writer, wanted: Sequence[str], seconds: int | None, receipt: str | None
) -> Change:
    """The change that extends claims from now on, and starts assigned tasks."""
    files: dict[str, bytes | None] = {}
    for name in wanted:
        old = _in_hand(proved(tree, writer, name, receipt))
        files |= _renewed(tree, writer, old, seconds)
    return using.follow(tree, writer, posting.change_rows("renew", wanted, writer, files))


def start(tree: Tree, writer: Writer, wanted: str, receipt: str | None) -> Change:
    """The change that starts an assigned task. A task that is started already stays as it is."""
    old = _in_hand(proved(tree, writer, wanted, receipt))
    if "started" in old["claim"]:
        return posting.unchanged("start", writer, tree, old)
    begun = {**old["claim"], "started": writer.when}
    return using.follow(tree, writer, posting.change_row("start", writer, old, claim=begun))


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
    return using.follow(tree, writer, posting.change_rows("done", [wanted], writer, files))


def fail(tree: Tree, writer: Writer, wanted: str, receipt: str | None, why: str) -> Change:
    """The change that records a failed attempt. The task is open again, or a dead letter if its
    retries are used up."""
    old = proved(tree, writer, wanted, receipt, live=False)
    if old["state"] == "failed" and old["failures"][-1].get("why") == why:
        return posting.unchanged("fail", writer, tree, old)
    files = failed(tree, writer, _in_hand(old), why)
    return using.follow(tree, writer, posting.change_rows("fail", [wanted], writer, files))


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
    tree: Tree,
    writer: Writer,
    wanted: Sequence[str],
    receipt: str | None = None,
    why: str | None = None,
) -> Change:
    """The change that gives tasks back unfinished. They are open again, and nothing counts as a
    failure. `why`: the reason, for whoever takes one next."""
    return using.follow(tree, writer, released(tree, writer, wanted, receipt, why))


def released(
    tree: Tree,
    writer: Writer,
    wanted: Sequence[str],
    receipt: str | None = None,
    why: str | None = None,
) -> Change:
    """The same, but for the leases on what the tasks use."""
    files: dict[str, bytes | None] = {}
    for name in wanted:
        old = task.get(tree, name)
        claim = old.get("claim", {})
        # A writer may take back a task that it has assigned and nobody has started.
        if claim.get("by") != writer.session or "started" in claim:
            old = proved(tree, writer, name, receipt, live=False)
        reason = [posting.reason("released", why, old, writer)] if why else []
        past = [*old.get("failures", ()), *reason] or None
        files |= posting.row_files(writer, _in_hand(old), state="open", claim=None, failures=past)
    return posting.change_rows("release", wanted, writer, files)

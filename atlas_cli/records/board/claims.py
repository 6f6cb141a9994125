"""The writes of those who work on tasks: claim, start, renew, done, fail, release. Each is a pure
function of the tree and the writer. `queue` is the rows as the index has them, by path, first come
first; whatever is taken of it is looked at again on the tree."""

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
    """The tasks that may be given to somebody, first come first."""
    rules = policy.of(tree)
    for path, row in queue:
        if (role is not None and row.get("role", role) != role) or readiness.holding(tree, row):
            continue
        record = task.parse(path, tree.read(path) or b"")
        if readiness.assess(tree, record, now - wait(record, machine, now), rules)[0] == "ready":
            yield record


def first_ready(
    tree: Tree, queue: Queue, now: int, machine: str, role: str | None = None
) -> Record:
    """The first of them; NotFound where there is none."""
    if found := next(ready(tree, queue, now, machine, role), None):
        return found
    raise none_ready(f" for {role}" if role else "")


def none_ready(whom: str = "") -> NotFound:
    return NotFound(
        f"no task is ready{whom}", "atlas task list --explain says what holds each", code="no_task"
    )


def wait(record: Record, machine: str, now: int) -> int:
    """Another machine's clock may be behind: its claim is honoured a little longer."""
    others = record["state"] == "claimed" and record["claim"].get("machine") != machine
    return times.SKEW if others and lease.begins(task.claim_ends(record)) <= now - times.SKEW else 0


def claim_next(
    tree: Tree, writer: Writer, queue: Queue, role: str | None, seconds: int | None
) -> Change:
    found = first_ready(tree, queue, writer.at, writer.machine, role)
    if why := _full(tree, writer, 1):
        raise why
    return posting.change_rows(
        "claim", [found["id"]], writer, grant(tree, writer, found, seconds, "next")
    )


def claim(tree: Tree, writer: Writer, wanted: Sequence[str], seconds: int | None) -> Change:
    """Those of the tasks that may be claimed; the first one's reason where none may. One's own is
    renewed."""
    files: dict[str, bytes | None] = {}
    reasons: dict[str, AtlasError] = {}
    new = 0
    for one in wanted:
        if why := refusal(tree, writer, one):
            reasons[one] = why
        elif _own(old := task.get(tree, one), writer):
            files |= _renewed(tree, writer, old, seconds)
        elif why := _full(tree, writer, new + 1):
            reasons[one] = why
        else:
            new += 1
            files |= grant(tree, writer, old, seconds, "batch" if len(wanted) > 1 else "claim")
    if not files:
        first = next(iter(reasons.values()))
        first.details = {
            **first.details,
            **({"failed": explained(reasons)} if len(reasons) > 1 else {}),
        }
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
    """Why, of those tasks that the writer may not claim now."""
    return {
        one: why for one in wanted if (why := refusal(tree, writer, one) or _full(tree, writer, 1))
    }


def explained(reasons: Mapping[str, AtlasError]) -> list[Record]:
    return [
        {"id": one, "code": why.code, "message": why.message, "details": why.details}
        for one, why in reasons.items()
    ]


def refusal(tree: Tree, writer: Writer, wanted: str) -> AtlasError | None:
    """Why this writer may not claim a task now; None where it may."""
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
    code = state if state in ("gated", "blocked", "frozen", "expired", "dead") else "not_open"
    return Refused(
        f"task {wanted} is {state}{': ' if what else ''}{what}",
        "atlas task next --claim takes one that is ready",
        code=code,
        details={"task": wanted, "state": state, "unmet": dict(waits)},
    )


def _full(tree: Tree, writer: Writer, more: int) -> AtlasError | None:
    """Why its session may not hold so many more."""
    most, there = policy.of(tree)["session_claims"], len(task.held(tree, writer.session, writer.at))
    over = there + more > most
    what = f"{writer.session} holds {there} claims, and {more} more"
    return posting.limit(what, str(most), "session_claims") if over else None


def _expires(old: Record, rules: policy.Policy, now: int, seconds: int | None) -> str:
    """When a claim from now on ends: no later than the task's own deadline."""
    seconds, most = (
        seconds or policy.seconds(rules, "claim_default"),
        policy.seconds(rules, "claim_max"),
    )
    if not SHORTEST <= seconds <= most:
        raise Refused(
            f"a claim of {times.span(seconds)}; one runs from {times.span(SHORTEST)} to"
            f" {times.span(most)}",
            "claim it for less and renew it while you work",
            code="limit",
        )
    over = now + seconds
    return times.rfc3339(min(over, times.moment(old["deadline"])) if "deadline" in old else over)


def grant(
    tree: Tree,
    writer: Writer,
    old: Record,
    seconds: int | None,
    path: str,
    to: Record | None = None,
) -> dict[str, bytes | None]:
    """The row of a ready task once it is claimed by the writer, or by the session `to` that it is
    assigned to."""
    rules = policy.of(tree)
    again = task.counts_as_attempt(old)
    counts: Record = {
        "generation": old["generation"] + again,
        "token": old["token"] + 1,
        "attempt": old["attempt"] + (again or old["state"] != "claimed"),
    }
    who: Record = {
        "session": writer.session,
        "actor": writer.actor,
        "machine": writer.machine,
        "started": writer.when,
        "parent": writer.lineage[-1] if writer.lineage else None,
    }
    if to is not None:
        start_by = times.rfc3339(writer.at + policy.seconds(rules, "start_within"))
        who = {
            "session": to["id"],
            "actor": to["actor"],
            "machine": to["machine"],
            "parent": to.get("parent"),
            "by": writer.session,
            "start_by": start_by,
        }
    receipt = {
        **who,
        **counts,
        "store": rules.get("store", ""),
        "at": writer.when,
        "path": path,
        "expires": _expires(old, rules, writer.at, seconds),
        "version": old["version"],
        "needs": readiness.needed_versions(tree, old),
    }
    receipt = {key: value for key, value in receipt.items() if value is not None}
    return posting.row_files(
        writer,
        old,
        **counts,
        state="claimed",
        claim=receipt,
        retries=old["retries"] + again,
        failures=posting.failures(old) or None,
    )


def _renewed(
    tree: Tree, writer: Writer, old: Record, seconds: int | None
) -> dict[str, bytes | None]:
    receipt = {"started": writer.when, **old["claim"]}
    over = _expires(old, policy.of(tree), writer.at, seconds)
    receipt["expires"] = (
        over if seconds else max(over, receipt["expires"])
    )  # nobody's time is cut by default
    return posting.row_files(writer, old, claim=receipt)


def proved(
    tree: Tree, writer: Writer, wanted: str, receipt: str | None, live: bool = True
) -> Record:
    """The row, if its claim is the writer's: by its session, and by the receipt
    (`generation.attempt.token.store`) where one is given. Held with a code of its own for each that
    is stale; `live`: and has not lapsed."""
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
    for (what, now), said in zip(facts, given, strict=False):
        if receipt is not None and str(now) != said:
            raise Held(
                f"task {wanted}: the {what} of your receipt is {said[:40]}, and it is at {now}",
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
    """Another stretch of time from now on; also what `start` writes."""
    files: dict[str, bytes | None] = {}
    for one in wanted:
        files |= _renewed(tree, writer, _in_hand(proved(tree, writer, one, receipt)), seconds)
    return posting.change_rows("renew", wanted, writer, files)


def start(tree: Tree, writer: Writer, wanted: str, receipt: str | None) -> Change:
    """An assigned task is begun; nothing for one that was."""
    old = _in_hand(proved(tree, writer, wanted, receipt))
    if "started" in old["claim"]:
        return posting.unchanged("start", writer, tree, old)
    return posting.change_row("start", writer, old, claim={**old["claim"], "started": writer.when})


def _in_hand(record: Record) -> Record:
    if record["state"] != "claimed":
        raise posting.state(record)
    return record


def done(
    tree: Tree, writer: Writer, wanted: str, receipt: str | None, kept: result.NewResult | None
) -> Change:
    """The task is done, its result kept with the receipt. A late finisher is taken as long as
    nobody else went on."""
    try:
        old = proved(tree, writer, wanted, receipt, live=False)
    except Held as stop:
        stop.code = "receipt_mismatch" if task.get(tree, wanted)["state"] == "done" else stop.code
        raise
    if old["state"] == "done":
        result.same(tree, old, kept)
        return posting.unchanged("done", writer, tree, old)
    _in_hand(old)
    if "deadline" in old and times.moment(old["deadline"]) <= writer.at:
        raise Refused(
            f"the deadline of task {wanted} was {old['deadline']}",
            "nothing is taken after it",
            code="expired",
        )
    files = result.put(tree, writer, old, kept) if kept is not None else {}
    return posting.change_rows(
        "done", [wanted], writer, {**posting.row_files(writer, old, state="done"), **files}
    )


def fail(tree: Tree, writer: Writer, wanted: str, receipt: str | None, why: str) -> Change:
    """The attempt failed: the task is open again, or a dead letter once its retries are used up."""
    old = proved(tree, writer, wanted, receipt, live=False)
    if old["state"] == "failed" and old["failures"][-1].get("why") == why:
        return posting.unchanged("fail", writer, tree, old)
    return posting.change_rows("fail", [wanted], writer, failed(tree, writer, _in_hand(old), why))


def failed(tree: Tree, writer: Writer, old: Record, why: str) -> dict[str, bytes | None]:
    if not task.counts_as_attempt(old):  # assigned and never started: it counts as no attempt
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
    """Given back, unfinished: open again, and no failure."""
    files: dict[str, bytes | None] = {}
    for one in wanted:
        claim = task.get(tree, one).get("claim", {})
        given = (
            claim.get("by") == writer.session and "started" not in claim
        )  # what one has assigned, one may take back
        old = _in_hand(
            task.get(tree, one) if given else proved(tree, writer, one, receipt, live=False)
        )
        files |= posting.row_files(writer, old, state="open", claim=None)
    return posting.change_rows("release", wanted, writer, files)

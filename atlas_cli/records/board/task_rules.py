"""The rules of tasks: how a row may change, what a grant must be, and that its receipt stays as it
is."""

from __future__ import annotations

from collections.abc import Iterator

from ...model import change, row, times
from ...model.change import FileEdit, Violation
from ...model.text import Record
from ...visible import many
from .. import policy, session
from . import readiness, task

# How a stored state may go on (None: there was no row).
MOVES: dict[str | None, tuple[str, ...]] = {
    None: ("open",),
    "open": ("open", "claimed", "cancelled", "done"),  # (done: a clearance, as its gate ends)
    "claimed": ("claimed", "open", "done", "failed", "cancelled"),
    "failed": ("open", "cancelled"),
    "cancelled": ("open",),
    "done": (),
}
PATHS = ("next", "claim", "batch", "assign", "adopt")  # how a claim came about
_GRANT = (
    "session",
    "actor",
    "machine",
    "parent",
    "generation",
    "attempt",
    "token",
    "store",
    "at",
    "path",
    "by",
    "version",
    "needs",
    "start_by",
)


def rules(edit: FileEdit) -> Iterator[Violation]:
    """The rules of a task's row."""
    new = None if edit.new is None else task.parse(edit.path, edit.new)
    old = None if edit.old is None else task.parse(edit.path, edit.old)
    yield from row.rules(edit, old, new)
    if new is None:
        return
    if task.path_of(new["id"]) != edit.path:
        yield Violation(
            "misplaced", edit.path, f"the row of {new['id']} belongs in {task.path_of(new['id'])}"
        )
    yield from change.on_time(edit, new["at"])
    fixed = ("id", "session", "actor", "created")
    if old is not None and any(old[key] != new[key] for key in fixed):
        yield Violation("immutable", edit.path, "id, creator or creation were changed")
    was, now = None if old is None else str(old["state"]), new["state"]
    end = f"gates/{new['id']}.cleared.yaml"
    cleared = (was, now) == ("open", "done") and edit.child.blob(end) is not None
    yield from _moves(edit, old, new, cleared)
    granted = now == "claimed" and (old is None or was != "claimed" or old["token"] != new["token"])
    yield from _sizes(edit, new)
    yield from _edges(edit, old, new)
    yield from _counted(edit, old, new, granted)
    if granted and old is not None:
        yield from _granted(edit, old, new)
    elif old is not None and not cleared:
        yield from _unchanged(edit, old, new)


def _moves(edit: FileEdit, old: Record | None, new: Record, cleared: bool) -> Iterator[Violation]:
    """The rules of a task's states. Only a clearance that is `cleared` goes from open to done."""
    was, now = None if old is None else str(old["state"]), new["state"]
    if now not in MOVES.get(was, ()) or ((was, now) == ("open", "done") and not cleared):
        yield Violation("task_state", edit.path, f"went from {was or 'nothing'} to {now}")
    if old is None or (was, now) != ("claimed", "failed"):
        return
    if old["retries"] < edit.policy["max_retries"]:
        yield Violation(
            "task_state", edit.path, f"is given up after {many(old['retries'], 'retry')}"
        )


def _sizes(edit: FileEdit, new: Record) -> Iterator[Violation]:
    """The rules of a task's sizes."""
    most = edit.policy["task_needs"]
    if len(new.get("needs", ())) > most:
        yield Violation("limit", edit.path, f"{len(new['needs'])} needs; at most {most}")
    if len(new["body"].encode()) > edit.policy["task_body"]:
        yield Violation("limit", edit.path, f"a body of {len(new['body'].encode())} bytes")
    if new["priority"] not in task.PRIORITIES:
        yield Violation("schema", edit.path, f"the priority {new['priority']} is not from 0 to 100")


def _edges(edit: FileEdit, old: Record | None, new: Record) -> Iterator[Violation]:
    """The rules of a task's needs."""
    before, after = (old or {}).get("needs", []), new.get("needs", [])
    gone = [need for need in before if need not in after]
    more = [need for need in after if need not in before]
    explained = {entry.get("need") for entry in new.get("dropped", ()) if entry.get("why")}
    if any(need not in explained for need in gone):
        yield Violation(
            "edge", edit.path, f"the need {', '.join(gone)} was removed without a reason"
        )
    if old is not None and (gone or more) and old["state"] != "open":
        yield Violation("edge", edit.path, "what it needs was changed while it was not open")
    if missing := [need for need in more if edit.child.blob(task.path_of(need)) is None]:
        yield Violation("edge", edit.path, f"needs {', '.join(missing)}, which is not there")
    elif more and task.makes_cycle(
        edit.child, new["id"], more, edit.parent if old is None else None
    ):
        yield Violation("edge", edit.path, "needs itself, in a circle")


def _counted(edit: FileEdit, old: Record | None, new: Record, granted: bool) -> Iterator[Violation]:
    """The rule that generation, attempt, token and retries rise by what happened, and by nothing
    else."""
    wanted = (1, 0, 0, 0) if old is None else _counts(edit, old, new, granted)
    if (new["generation"], new["attempt"], new["token"], new["retries"]) != wanted:
        numbers = ", ".join(str(number) for number in wanted)
        yield Violation(
            "token", edit.path, f"generation, attempt, token and retries should be {numbers}"
        )
    if new["retries"] > edit.policy["max_retries"] and new["retries"] > (old or new)["retries"]:
        yield Violation(
            "limit", edit.path, f"the retry {new['retries']} of {edit.policy['max_retries']}"
        )
    past = (old or {}).get("failures", [])
    if new.get("failures", [])[: len(past)] != past:
        yield Violation("receipt", edit.path, "what is kept of its failures was changed")


def _counts(edit: FileEdit, old: Record, new: Record, granted: bool) -> tuple[int, ...]:
    """Generation, attempt, token and retries, as they follow from the row before."""
    back = old["state"] != "open" and new["state"] == "open"
    if granted:
        again = task.counts_as_attempt(old)
    else:
        again = back and new["generation"] != old["generation"]
    if granted and new["claim"]["path"] == "adopt":  # the claim goes on in other hands
        return old["generation"], old["attempt"], old["token"] + 1, old["retries"]
    attempt = granted and (old["state"] != "claimed" or task.counts_as_attempt(old))
    revived = back and (old["state"] != "claimed" or old["retries"] >= edit.policy["max_retries"])
    return (
        old["generation"] + again,
        old["attempt"] + attempt,
        old["token"] + granted,
        0 if revived and new["retries"] == 0 else old["retries"] + again,
    )


def _granted(edit: FileEdit, old: Record, new: Record) -> Iterator[Violation]:
    """The rules of a grant: nobody else held the task, nothing held it back, and the receipt says
    so."""
    claim, by, at = new["claim"], edit.message.session, times.moment(new["at"])
    state, waits = readiness.assess(edit.parent, old, at, edit.policy)
    adopted = (
        claim["path"] == "adopt"
        and session.adopted_by(edit.child, old["claim"]["session"]) == claim["session"]
    )
    if state == "claimed" and not adopted:
        yield Violation(
            "live_lease", edit.path, f"was claimed by {old['claim']['session']} until it lapses"
        )
    elif state != "ready" and not adopted:
        what = ", ".join(f"{need} ({other})" for need, other in waits)
        rule = "gate" if any(other == "uncleared" for _, other in waits) else "gated"
        shown = f"{state}: {what}" if what else state
        yield Violation(rule, edit.path, f"was claimed while it was {shown}")
    if claim["path"] not in PATHS:
        yield Violation(
            "schema", edit.path, f"was granted by no way that there is: {claim['path'][:40]!r}"
        )
    grantor = claim.get("by") if claim["path"] == "assign" else claim["session"]
    if by is not None and by != grantor:
        yield Violation(
            "session", edit.path, f"the claim of {claim['session']} was written by {by}"
        )
    wanted = {
        "generation": new["generation"],
        "attempt": new["attempt"],
        "token": new["token"],
        "at": new["at"],
        "store": edit.policy.get("store", ""),
        "version": old["version"],
    }
    if not adopted and state == "ready":
        wanted["needs"] = readiness.needed_versions(edit.parent, old)
    if wrong := [key for key, value in wanted.items() if claim[key] != value]:
        yield Violation(
            "receipt", edit.path, f"the receipt of the grant is wrong in {', '.join(wrong)}"
        )
    yield from _length(edit, new)


def _length(edit: FileEdit, new: Record) -> Iterator[Violation]:
    """The rule of a claim's length."""
    length = times.moment(new["claim"]["expires"]) - times.moment(new["at"])
    if not 0 < length <= policy.seconds(edit.policy, "claim_max"):
        yield Violation("limit", edit.path, f"a claim of {times.span(length)}")


def _unchanged(edit: FileEdit, old: Record, new: Record) -> Iterator[Violation]:
    """The rules of a change that is no grant: the receipt stays as it is, and only its holder goes
    on with a claim."""
    before, after, by = old.get("claim"), new.get("claim"), edit.message.session
    if new["state"] in ("claimed", "done", "failed"):
        if (
            before is None
            or after is None
            or any(before.get(key) != after.get(key) for key in _GRANT)
        ):
            yield Violation(
                "receipt", edit.path, "the receipt of the grant was changed or taken away"
            )
            return
        if new["state"] == "claimed" and before["expires"] != after["expires"]:
            yield from _length(edit, new)
    if before is None or old["state"] != "claimed" or by is None or by == before["session"]:
        return
    free = not task.holds(old, times.moment(new["at"])) and new["state"] in (
        "open",
        "cancelled",
        "failed",
    )
    taken_back = before.get("by") == by and "started" not in before and new["state"] == "open"
    if not (free or taken_back) and session.dropped_by(edit.child, before["session"]) != by:
        yield Violation(
            "not_held", edit.path, f"was claimed by {before['session']}, and {by} wrote it"
        )

"""The rules of tasks: how a row may go on, what a grant must be, and that its receipt stays as it
is."""

from __future__ import annotations

from collections.abc import Iterator

from ...model import row, times
from ...model.change import FileEdit, Violation
from ...model.text import Record
from .. import policy, session
from . import readiness, task

# How a stored state may go on (None: there was no row).
MOVES: dict[str | None, tuple[str, ...]] = {
    None: ("open",),
    "open": (
        "open",
        "claimed",
        "cancelled",
        "done",
    ),  # (done: a clearance, with the end of its gate)
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


def rules(found: FileEdit) -> Iterator[Violation]:
    """The rules of a task's row."""
    new = None if found.new is None else task.parse(found.path, found.new)
    old = None if found.old is None else task.parse(found.path, found.old)
    yield from row.rules(found, old, new)
    if new is None:
        return
    if task.path_of(new["id"]) != found.path:
        yield Violation(
            "misplaced", found.path, f"the row of {new['id']} belongs in {task.path_of(new['id'])}"
        )
    if found.message.at is not None and times.moment(new["at"]) != found.message.at:
        yield Violation(
            "clock",
            found.path,
            f"is dated {new['at']}, its commit {times.rfc3339(found.message.at)}",
        )
    if old is not None and any(
        old[key] != new[key] for key in ("id", "session", "actor", "created")
    ):
        yield Violation("immutable", found.path, "id, creator or creation were changed")
    was, now = None if old is None else str(old["state"]), new["state"]
    cleared = (was, now) == ("open", "done") and found.child.blob(
        f"gates/{new['id']}.cleared.yaml"
    ) is not None
    if now not in MOVES.get(was, ()) or ((was, now) == ("open", "done") and not cleared):
        yield Violation("task_state", found.path, f"went from {was or 'nothing'} to {now}")
    if (
        old is not None
        and was == "claimed"
        and now == "failed"
        and old["retries"] < found.policy["max_retries"]
    ):
        yield Violation("task_state", found.path, f"is given up after {old['retries']} retries")
    granted = now == "claimed" and (old is None or was != "claimed" or old["token"] != new["token"])
    yield from _sizes(found, new)
    yield from _edges(found, old, new)
    yield from _counted(found, old, new, granted)
    if granted and old is not None:
        yield from _granted(found, old, new)
    elif old is not None and not cleared:
        yield from _kept(found, old, new)


def _sizes(found: FileEdit, new: Record) -> Iterator[Violation]:
    rules = found.policy
    if len(new.get("needs", ())) > rules["task_needs"]:
        yield Violation(
            "limit", found.path, f"{len(new['needs'])} needs; at most {rules['task_needs']}"
        )
    if len(new["body"].encode()) > rules["task_body"]:
        yield Violation("limit", found.path, f"a body of {len(new['body'].encode())} bytes")
    if new["priority"] not in task.PRIORITIES:
        yield Violation(
            "schema", found.path, f"the priority {new['priority']} is not from 0 to 100"
        )


def _edges(found: FileEdit, old: Record | None, new: Record) -> Iterator[Violation]:
    before, after = ((old or {}).get("needs", []), new.get("needs", []))
    gone, more = (
        [one for one in before if one not in after],
        [one for one in after if one not in before],
    )
    said = {entry.get("need") for entry in new.get("dropped", ()) if entry.get("why")}
    if any(one not in said for one in gone):
        yield Violation(
            "edge", found.path, f"the need {', '.join(gone)} was removed without a reason"
        )
    if old is not None and (gone or more) and old["state"] != "open":
        yield Violation("edge", found.path, "what it needs was changed while it was not open")
    if missing := [one for one in more if found.child.blob(task.path_of(one)) is None]:
        yield Violation("edge", found.path, f"needs {', '.join(missing)}, which is not there")
    elif more and task.makes_cycle(
        found.child, new["id"], more, found.parent if old is None else None
    ):
        yield Violation("edge", found.path, "needs itself, in a circle")


def _counted(
    found: FileEdit, old: Record | None, new: Record, granted: bool
) -> Iterator[Violation]:
    """Generation, attempt, token and retries rise by what happened, and by nothing else."""
    if old is None:
        wanted = (1, 0, 0, 0)
    else:
        back = old["state"] != "open" and new["state"] == "open"
        again = (
            task.counts_as_attempt(old)
            if granted
            else back and new["generation"] != old["generation"]
        )
        attempt = granted and (old["state"] != "claimed" or task.counts_as_attempt(old))
        revived = back and (
            old["state"] != "claimed" or old["retries"] >= found.policy["max_retries"]
        )
        retries = 0 if revived and new["retries"] == 0 else old["retries"] + again
        handed = granted and new["claim"]["path"] == "adopt"
        wanted = (
            old["generation"] + (again and not handed),
            old["attempt"] + (attempt and not handed),
            old["token"] + granted,
            old["retries"] if handed else retries,
        )
    if (new["generation"], new["attempt"], new["token"], new["retries"]) != wanted:
        yield Violation(
            "token",
            found.path,
            "generation, attempt, token and retries should be "
            f"{', '.join(str(one) for one in wanted)}",
        )
    if new["retries"] > found.policy["max_retries"] and new["retries"] > (old or new)["retries"]:
        yield Violation(
            "limit", found.path, f"the retry {new['retries']} of {found.policy['max_retries']}"
        )
    past = (old or {}).get("failures", [])
    if new.get("failures", [])[: len(past)] != past:
        yield Violation("receipt", found.path, "what is kept of its failures was changed")


def _granted(found: FileEdit, old: Record, new: Record) -> Iterator[Violation]:
    """A grant: nobody else held it, nothing held it back, and the receipt says so."""
    claim, by, at = new["claim"], found.message.session, times.moment(new["at"])
    state, waits = readiness.assess(found.parent, old, at, found.policy)
    adopted = (
        claim["path"] == "adopt"
        and session.adopted_by(found.child, old["claim"]["session"]) == claim["session"]
    )
    if state == "claimed" and not adopted:
        yield Violation(
            "live_lease", found.path, f"was claimed by {old['claim']['session']} until it lapses"
        )
    elif state != "ready" and not adopted:
        what = ", ".join(f"{need} ({other})" for need, other in waits)
        rule = "gate" if any(other == "uncleared" for _, other in waits) else "gated"
        yield Violation(
            rule, found.path, f"was claimed while it was {state}{': ' if what else ''}{what}"
        )
    if claim["path"] not in PATHS:
        yield Violation(
            "schema", found.path, f"was granted by no way that there is: {claim['path'][:40]!r}"
        )
    if by is not None and by != (
        claim.get("by") if claim["path"] == "assign" else claim["session"]
    ):
        yield Violation(
            "session", found.path, f"the claim of {claim['session']} was written by {by}"
        )
    wanted = {
        "generation": new["generation"],
        "attempt": new["attempt"],
        "token": new["token"],
        "at": new["at"],
        "store": found.policy.get("store", ""),
        "version": old["version"],
    }
    if not adopted and state == "ready":
        wanted["needs"] = readiness.needed_versions(found.parent, old)
    if wrong := [key for key, value in wanted.items() if claim[key] != value]:
        yield Violation(
            "receipt", found.path, f"the receipt of the grant is wrong in {', '.join(wrong)}"
        )
    yield from _length(found, new)


def _length(found: FileEdit, new: Record) -> Iterator[Violation]:
    length = times.moment(new["claim"]["expires"]) - times.moment(new["at"])
    if not 0 < length <= policy.seconds(found.policy, "claim_max"):
        yield Violation("limit", found.path, f"a claim of {times.span(length)}")


def _kept(found: FileEdit, old: Record, new: Record) -> Iterator[Violation]:
    """Whatever is no grant leaves the receipt as it is, and only who holds a claim goes on with
    it."""
    before, after, by = old.get("claim"), new.get("claim"), found.message.session
    if new["state"] in ("claimed", "done", "failed"):
        if (
            before is None
            or after is None
            or any(before.get(key) != after.get(key) for key in _GRANT)
        ):
            yield Violation(
                "receipt", found.path, "the receipt of the grant was changed or taken away"
            )
            return
        if new["state"] == "claimed" and before["expires"] != after["expires"]:
            yield from _length(found, new)
    if before is None or old["state"] != "claimed" or by is None or by == before["session"]:
        return
    free = not task.holds(old, times.moment(new["at"])) and new["state"] in (
        "open",
        "cancelled",
        "failed",
    )
    taken_back = before.get("by") == by and "started" not in before and new["state"] == "open"
    if not (free or taken_back) and session.dropped_by(found.child, before["session"]) != by:
        yield Violation(
            "not_held", found.path, f"was claimed by {before['session']}, and {by} wrote it"
        )

"""Sessions: one working life of one worker. A row; its id carries its day
(`claude-261129-7f3k2m`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..errors import Damaged, NotFound, Protocol, Refused, Usage
from ..model import change, names, schema, text, times
from ..model.change import Change, FileEdit, Violation, Writer
from ..model.kind import row_kind
from ..model.text import Record
from ..model.tree import Tree
from ..visible import named

FOLDER = "sessions"
SUFFIX = ".yaml"
LIFE = 24 * 3600  # seconds after `begin` at the latest
PERSON = "person"  # the class of a person's standing session, which lasts until it is ended
_STANDING = 50 * 365 * 86400
_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,40}-([0-9]{6})-[a-z0-9]{6}\Z")
_CONFIRMED = ("ref", "why", "at")
LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"


def new_id(actor: str, now: int, random: bytes) -> str:
    """The id of a session that begins at that moment. `random` is six bytes."""
    day = times.rfc3339(now)[2:10].replace("-", "")
    tail = "".join(LETTERS[byte % len(LETTERS)] for byte in random[:6])
    return f"{actor[:24].strip('.-_')}-{day}-{tail}"


def valid(session: str) -> bool:
    """Whether a text is a session id."""
    return _ID.match(session) is not None


def path_of(session: str) -> str:
    """The path of a session's row. Raises Usage if the text is no session id."""
    match = _ID.match(session)
    if match is None:
        raise Usage(
            f"{session[:80]!r} is no session id",
            "one is like claude-261129-7f3k2m: atlas session list",
        )
    return f"{FOLDER}/{match[1]}/{session}.yaml"


def parse(path: str, data: bytes) -> Record:
    """The row of a session. Raises Damaged if the bytes are none."""
    record = schema.fields(
        text.load(data, path),
        path,
        {"id": str, "version": "count", "actor": str, "began": "time", "machine": str},
        {
            "goal": str,
            "worktree": str,
            "branch": str,
            "class": str,
            "ended": "time",
            "on": "texts",
            "for": str,
            "paths": "texts",
            "streams": "texts",
            "lasts": "count",
            "adopted_by": str,
            "adopted": "time",
            "adopted_why": str,
            "parent": str,
            "lineage": "texts",
            "dropped_by": str,
            "dropped_why": str,
            "offer": dict,
            "project": str,
            "marks": list,
            "owes": dict,
            "dismissed": "time",
            "dismissed_by": str,
            "dismissed_why": str,
            "confirmed": dict,
            "waits": dict,
            "goals": list,
            "under": "count",
            "process": dict,
            "seen": "time",
            "closed_by": str,
        },
    )
    for goal in record.get("goals", ()):
        if not isinstance(goal, dict):
            raise Damaged(f"{path}: goals holds something that is no goal")
        schema.fields(goal, path, {"text": str}, {"over": "time"})
    schema.placed(
        path, f"session:{record['id']}", path_of(record["id"]) if valid(record["id"]) else None
    )
    return record


def until(record: Record) -> int | None:
    """The last moment at which a session can be live. The index knows its newest commit, which may
    end it earlier."""
    if "ended" in record:
        return times.moment(record["ended"])
    if record.get("class") == PERSON:
        return times.moment(record["began"]) + _STANDING
    lasts: int = record.get("lasts", LIFE)
    return times.moment(record["began"]) + min(LIFE, lasts)


def find(tree: Tree, session: str, number: int | None = None) -> str:
    """The path of a session's row. Raises NotFound if there is none."""
    path = path_of(session)
    if tree.blob(path) is None:
        others = (name.removesuffix(SUFFIX) for name in tree.names(path.rpartition("/")[0]))
        hint = names.hint(session, others, "atlas session list shows them")
        raise NotFound(f"there is no session {session} in this store", hint)
    return path


def get(tree: Tree, session: str) -> Record:
    """The row of a session. Raises NotFound if there is none."""
    path = find(tree, session)
    return parse(path, tree.read(path) or b"")


def live(tree: Tree, session: str, now: int) -> Record:
    """The row of a session that may write now. Raises Protocol if it has ended or expired, or does
    not exist."""
    try:
        record = get(tree, session)
    except NotFound as error:
        raise Protocol(
            error.message, f"begin one: atlas begin --goal …; {error.hint}", code="no_session"
        ) from None
    if "adopted_by" in record:
        raise disowned(record, now)
    if "ended" in record or (until(record) or 0) <= now:
        how = "has ended" if "ended" in record else "has expired"
        raise Protocol(
            f"the session {session} {how}, {times.ago(until(record) or 0, now)}",
            "begin a new one: atlas begin --goal …",
            code="no_session",
        )
    return record


def disowned(record: Record, now: int, why: str = "") -> Protocol:
    """The stop of a session that another one has adopted. `why` is what that one says of it."""
    since = times.ago(times.moment(record["adopted"]), now)
    said_why = f": {why}" if why else ""
    return Protocol(
        f"the session {record['id']} was adopted by {named(record['adopted_by'])}, {since}"
        f"{said_why}; it writes nothing more",
        "begin a new one, and read what has become of the work: atlas begin",
        code="adopted",
        details={"session": record["id"], "by": record["adopted_by"]},
    )


def not_disowned(tree: Tree, session: str, now: int) -> None:
    """Raises Protocol if a session was adopted: what it held and owed is another's."""
    row = row_of(tree, session)
    if "adopted_by" in row:
        raise disowned(row, now)


def begin(
    tree: Tree,
    writer: Writer,
    *,
    goal: str,
    worktree: str,
    branch: str,
    kind: str,
    paths: list[str],
    streams: list[str],
    lasts: int | None,
    parent: str | None = None,
    process: Record | None = None,
) -> Change:
    """The change that begins a session. With a live `parent` it works under its ancestors' leases.
    `process` is that of the tool which it runs in."""
    above = live(tree, parent, writer.at) if parent else {}
    if lasts is not None and lasts > LIFE:
        raise Refused(
            f"a session of {times.span(lasts)}; at most {times.span(LIFE)}",
            "begin again then",
            code="limit",
        )
    fields: Record = {
        "goal": goal or None,
        "machine": writer.machine,
        "worktree": worktree or None,
        "branch": branch or None,
        "class": kind,
        "paths": paths or None,
        "streams": streams or None,
        "lasts": lasts,
        "began": writer.when,
        "process": process,
        "parent": parent,
        "lineage": [*above.get("lineage", ()), parent] if parent else None,
    }
    record = change.rewritten({"id": writer.session, "version": 0, "actor": writer.actor}, **fields)
    return written(f"{BEGUN} ({writer.session})", record)


def enter_as_guest(tree: Tree, writer: Writer, guest: Record) -> dict[str, bytes | None]:
    """The row of a session of another project, as it was begun there; nothing if this store has it
    already. Raises Refused if its id belongs to another session here, and Protocol if it is
    over."""
    path = path_of(guest["id"])
    if tree.blob(path) is None:
        return {path: text.dump(change.rewritten({**guest, "version": 0}, machine=writer.machine))}
    old = live(tree, guest["id"], writer.at)
    if (old["actor"], old["began"]) != (guest["actor"], guest["began"]):
        raise Refused(
            f"{guest['id']} is another session there, of"
            f" {named(old.get('project', 'its own project'))}",
            "begin anew: atlas begin --new",
            code="not_yours",
        )
    return {}


def row_change(what: str, writer: Writer, record: Record) -> Change:
    """The change that puts the writer's own row."""
    return written(f"session: {what} ({writer.session})", record)


BEGUN = "session: begin"
SEEN = "session: seen ("
TOOL = "tool"  # what closed a session that may be resumed


def seen(tree: Tree, writer: Writer, process: Record | None = None) -> Change:
    """The change by which a session shows the other clones that it is at work. It is of no use
    later, and never parked."""
    old = live(tree, writer.session, writer.at)
    fields = {"seen": writer.when, "process": process or old.get("process")}
    return row_change("seen", writer, change.rewritten(old, **fields))


def end(tree: Tree, writer: Writer, owes: Record | None = None, by: str | None = None) -> Change:
    """The change that ends the writer's session. `owes`: what it leaves without a word. `by`: the
    AI tool closed it, which may resume it."""
    old = live(tree, writer.session, writer.at)
    record = change.rewritten(old, ended=writer.when, owes=owes, closed_by=by)
    return row_change("end", writer, record)


def confirm(tree: Tree, writer: Writer, ref: str, why: str) -> Change:
    """The change by which a session says that a status entry still holds."""
    old = live(tree, writer.session, writer.at)
    record = change.rewritten(old, confirmed=_confirming(ref, why, writer))
    return Change(
        f"session: confirm {ref} ({writer.session})",
        {path_of(writer.session): text.dump(record)},
    )


def with_confirmed(path: str, data: bytes, ref: str, why: str, writer: Writer) -> bytes:
    """A row that is about to be written, with such a confirmation besides."""
    return text.dump({**parse(path, data), "confirmed": _confirming(ref, why, writer)})


def _confirming(ref: str, why: str, writer: Writer) -> Record:
    return {"ref": ref, "why": why, "at": writer.when}


def confirmed(record: Record) -> Record | None:
    """The last thing that a session has confirmed: `ref`, `why` and `at`; None if that is
    nothing."""
    row = record.get("confirmed")
    whole = isinstance(row, dict) and all(isinstance(row.get(key), str) for key in _CONFIRMED)
    return row if whole else None


def mark(tree: Tree, writer: Writer, marks: list[Record]) -> Change:
    """The change that puts the marks of the writer's pushes into its row."""
    record = change.rewritten(live(tree, writer.session, writer.at), marks=marks)
    return written(f"session: push ({writer.session})", record)


def offer(tree: Tree, writer: Writer, fields: Record) -> Change:
    """The change that says what a session offers to do for others: slots, role, status, load in
    basis points."""
    old = live(tree, writer.session, writer.at)
    record = change.rewritten(old, offer={**fields, "at": writer.when})
    return written(f"session: offer ({writer.session})", record)


def written(subject: str, record: Record) -> Change:
    """The change that writes a session's row."""
    return Change(subject, {path_of(record["id"]): text.dump(record)})


def above(record: Record, by: str, actor: str, principals: Iterable[str]) -> bool:
    """Whether a session, with its actor, is an ancestor of the record's session or a principal."""
    return by in record.get("lineage", ()) or actor in principals


def anew(record: Record) -> str:
    """The command that begins a session in place of this one."""
    if record.get("class") == PERSON:
        return "atlas begin --new --person"
    lineage = record.get("lineage")
    return f"atlas begin --new --parent {lineage[-1]}" if lineage else "atlas begin --new"


def may_act_for(tree: Tree, by: str, owner: str, principals: Iterable[str]) -> bool:
    """Whether a session may act for another one, the owner: as itself, as who adopted it, as an
    ancestor of it, or as a principal."""
    own, row = row_of(tree, by), row_of(tree, owner)
    if by in (owner, row.get("adopted_by")):
        return True
    return above(row, by, own.get("actor", ""), principals)


def row_of(tree: Tree, session: str) -> Record:
    """A session's row; empty if there is none, as of a name that is no id."""
    data = tree.read(path_of(session)) if valid(session) else None
    return {} if data is None else parse(path_of(session), data)


def dropped_by(tree: Tree, session: str) -> str | None:
    """The session that has dropped another one, or None."""
    return row_of(tree, session).get("dropped_by")


def adopted_by(tree: Tree, session: str) -> str | None:
    """The session that has adopted another one, or None."""
    return row_of(tree, session).get("adopted_by")


def actor(name: str) -> str:
    """The name of an actor, made from any text: a login name may hold anything."""
    return name if names.valid(name) else names.slug(name, 24)


TAKEN = (
    "a program of yours that carries no AI tool's mark, and has begun no session, is taken for you"
    " here"
)


def _rules(edit: FileEdit, old: Record | None, new: Record) -> Iterator[Violation]:
    adopted = old is not None and "adopted_by" not in old and "adopted_by" in new
    if adopted and edit.message.session in (None, new["adopted_by"]):
        return
    if old is not None and "dismissed_by" not in old and "dismissed_by" in new:
        yield from _dismissed(edit, new)
        return
    if old is not None and "ended" in old:
        yield Violation("ended", edit.path, f"{old['id']} had ended at {old['ended']}")
    dropper = new.get("dropped_by") if old is not None and "dropped_by" not in old else None
    if dropper is not None and edit.message.session in (None, dropper):
        data = edit.parent.read(path_of(dropper))
        by = "" if data is None else parse(path_of(dropper), data)["actor"]
        if not above(new, dropper, by, edit.policy["principals"]):
            yield Violation(
                "session", edit.path, f"was dropped by {dropper}, which is above it in nothing"
            )
    elif edit.message.session not in (None, new["id"]):
        yield Violation(
            "session", edit.path, f"the row of {new['id']} was written by {edit.message.session}"
        )
    fixed = ("id", "actor", "began", "machine")
    if old is not None and any(old.get(key) != new.get(key) for key in fixed):
        yield Violation("immutable", edit.path, "id, actor, machine or beginning were changed")


def _dismissed(edit: FileEdit, new: Record) -> Iterator[Violation]:
    """The rule that only a principal dismisses a session."""
    by = new["dismissed_by"]
    data = edit.parent.read(path_of(by)) if valid(by) else None
    actor = "" if data is None else parse(path_of(by), data)["actor"]
    if edit.message.session not in (None, by) or actor not in edit.policy["principals"]:
        yield Violation("session", edit.path, f"was dismissed by {by}, who is no principal")


def _links(record: Record) -> Iterable[tuple[str, str]]:
    row = confirmed(record)
    return [("confirms", row["ref"])] if row else []


KIND = row_kind("session", FOLDER, SUFFIX, "id", parse, find, until, _rules, _links)._replace(
    words=(
        "goal",
        "goals.text",
        "adopted_why",
        "dropped_why",
        "dismissed_why",
        "offer.tags",
        "confirmed.why",
    )
)

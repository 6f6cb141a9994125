"""Sessions: one working life of one worker. A row; its id carries its day
(`claude-261129-7f3k2m`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..errors import NotFound, Protocol, Refused, Usage
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
        },
    )
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
    if "ended" in record or (until(record) or 0) <= now:
        how = "has ended" if "ended" in record else "has expired"
        raise Protocol(
            f"the session {session} {how}, {times.ago(until(record) or 0, now)}",
            "begin a new one: atlas begin --goal …",
            code="no_session",
        )
    return record


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
) -> Change:
    """The change that begins a session. With a live `parent` it works under its ancestors'
    leases."""
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
        "parent": parent,
        "lineage": [*above.get("lineage", ()), parent] if parent else None,
    }
    record = change.rewritten({"id": writer.session, "version": 0, "actor": writer.actor}, **fields)
    return Change(
        f"session: begin ({writer.session})", {path_of(writer.session): text.dump(record)}
    )


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


def update_goal(
    tree: Tree, writer: Writer, *, goal: str, paths: list[str], streams: list[str]
) -> Change:
    """The change that gives a session another goal, other paths or other streams."""
    old = live(tree, writer.session, writer.at)
    fields = {"goal": goal or old.get("goal"), "paths": paths or old.get("paths")}
    record = change.rewritten(old, **fields, streams=streams or old.get("streams"))
    return Change(
        f"session: go on ({writer.session})", {path_of(writer.session): text.dump(record)}
    )


def end(tree: Tree, writer: Writer) -> Change:
    """The change that ends the writer's session."""
    old = live(tree, writer.session, writer.at)
    record = change.rewritten(old, ended=writer.when)
    return Change(f"session: end ({writer.session})", {path_of(writer.session): text.dump(record)})


def adopt(tree: Tree, writer: Writer, wanted: str, why: str) -> Change:
    """The change by which the writer takes over a session that is over, with its duty to write the
    status. Raises Refused if it was adopted already. A guard asks whether it is over: its newest
    commit tells, which no tree shows."""
    old = get(tree, wanted)
    if "adopted_by" in old:
        raise Refused(
            f"{wanted} was adopted by {named(old['adopted_by'])} at {old['adopted']}",
            "atlas session show says more",
        )
    fields = {
        "ended": old.get("ended", writer.when),
        "adopted_by": writer.session,
        "adopted": writer.when,
        "adopted_why": why,
    }
    return Change(
        f"adopt: {wanted} ({writer.session})",
        {path_of(wanted): text.dump(change.rewritten(old, **fields))},
    )


def offer(tree: Tree, writer: Writer, fields: Record) -> Change:
    """The change that says what a session offers to do for others: slots, role, status, load in
    basis points."""
    old = live(tree, writer.session, writer.at)
    record = change.rewritten(old, offer={**fields, "at": writer.when})
    return Change(
        f"session: offer ({writer.session})", {path_of(writer.session): text.dump(record)}
    )


def drop(tree: Tree, writer: Writer, wanted: str, why: str, principals: Iterable[str]) -> Change:
    """The change that ends the session of a dead worker. Raises Refused if the writer is neither
    its ancestor nor a principal of the policy."""
    old = live(tree, wanted, writer.at)
    if not _above(old, writer.session, writer.actor, principals):
        raise Refused(
            f"{wanted} is no session that you started, and {writer.actor} is no principal of the"
            " policy",
            "its claims and leases run out by themselves; atlas session adopt takes over one that"
            " is over",
            code="not_yours",
        )
    fields = {"ended": writer.when, "dropped_by": writer.session, "dropped_why": why}
    return Change(
        f"drop: {wanted} ({writer.session})",
        {path_of(wanted): text.dump(change.rewritten(old, **fields))},
    )


def _above(record: Record, by: str, actor: str, principals: Iterable[str]) -> bool:
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
    own, row = _row(tree, by), _row(tree, owner)
    if by in (owner, row.get("adopted_by")):
        return True
    return _above(row, by, own.get("actor", ""), principals)


def _row(tree: Tree, session: str) -> Record:
    """A session's row; empty if there is none, as of a name that is no id."""
    data = tree.read(path_of(session)) if valid(session) else None
    return {} if data is None else parse(path_of(session), data)


def dropped_by(tree: Tree, session: str) -> str | None:
    """The session that has dropped another one, or None."""
    return _row(tree, session).get("dropped_by")


def adopted_by(tree: Tree, session: str) -> str | None:
    """The session that has adopted another one, or None."""
    return _row(tree, session).get("adopted_by")


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
    if old is not None and "ended" in old:
        yield Violation("ended", edit.path, f"{old['id']} had ended at {old['ended']}")
    dropper = new.get("dropped_by") if old is not None and "dropped_by" not in old else None
    if dropper is not None and edit.message.session in (None, dropper):
        data = edit.parent.read(path_of(dropper))
        by = "" if data is None else parse(path_of(dropper), data)["actor"]
        if not _above(new, dropper, by, edit.policy["principals"]):
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


KIND = row_kind("session", FOLDER, SUFFIX, "id", parse, find, until, _rules)._replace(
    words=("goal", "adopted_why", "dropped_why", "offer.tags")
)

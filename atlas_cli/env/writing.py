"""The writing of a command: one transaction of a session, published, and what it put."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from .. import records as kinds
from ..errors import AtlasError, NotPublished, Refused, Unknown, VersionJump
from ..model import names, secrets, times
from ..model.change import Change, Decide, Writer
from ..model.digests import sha256
from ..model.text import Record
from ..model.times import SKEW
from ..model.tree import Tree
from ..records import collision, correction, policy, sections, session
from ..visible import theirs
from . import drafting, reading, who
from .env import Env

if TYPE_CHECKING:  # what only reads loads no writer
    from ..store.transaction import Intent, Written


def write(
    env: Env,
    decide: Decide,
    me: Record,
    what: str,
    exclusive: bool = False,
    punctual: bool = False,
    for_command: bool = False,
) -> Written:
    """Runs a pure change as one transaction of a session, and publishes it. `what` begins the
    subject of such a change. `exclusive`: it counts only once it is published. `punctual` (as all
    that is exclusive): it is refused for a session that is dated ahead of the clock. `for_command`:
    it is about a lease that stays with a running command, whoever has adopted its session. The
    user's text in a stop is kept."""
    options = env.options
    if options.operation is not None:
        names.name(options.operation, "operation id")
    carried = env.local.unpublished(me["id"])
    intent = _intent(env, me, tuple(carried), exclusive or punctual)
    # These two are about a command's first write.
    env.options = options._replace(operation=None, expect=None)
    try:
        decided = _kept(env, decide if for_command else _owned(decide))
        written = env.sharing.write(decided, intent, exclusive, env.dealing.eager)
    except AtlasError as stop:
        with suppress(AtlasError):
            env.look_again()  # it may be in the store all the same
            _withhold(env, stop)
            who.say_gone(env, stop)
            if stop.code == "adopted":
                stop.message = who.disowned(env, me["id"]).message
        drafting.keep(env, stop)
        raise
    if not written.replayed and not written.empty:
        env.wrote = True
        _note_written(env, me, carried)
        env.spoken = None
    _stand_on(env, written)
    if written.replayed:
        _note_replayed(env, written, what, me, intent.writer.operation)
    return written


def _owned(decide: Decide) -> Decide:
    """The same change, of a session that nobody has adopted meanwhile."""

    def checked(tree: Tree, writer: Writer) -> Change:
        session.not_disowned(tree, writer.session, writer.at)
        return decide(tree, writer)

    return checked


def _kept(env: Env, decide: Decide) -> Decide:
    """The same change, whose bases name what was read for good."""

    def named(tree: Tree, writer: Writer) -> Change:
        change = decide(tree, writer)
        return change._replace(bases=tuple(_base(env, tree, base) for base in change.bases))

    return named


def _base(env: Env, tree: Tree, base: str) -> str:
    """The version that was read, as a commit keeps it: `status:main@12~3f9c01ab77de`, or with its
    operation in place of the number while that may change."""
    ref, _, blob = base.rpartition("~")
    try:
        path = kinds.find(tree, kinds.ref(ref))
        if not (tree.blob(path) or "").startswith(blob.partition(" ")[0]):
            return base  # what was read is not there any more
        return f"{reading.stored_ref(env, tree, ref)}~{blob}"
    except AtlasError:
        return base


def _intent(env: Env, me: Record, bases: tuple[str, ...], anew: bool) -> Intent:
    """The writer, and the condition of the write."""
    from ..store import transaction
    from ..store.expectation import expectation

    operation, expect = env.options.operation, env.options.expect
    writer = Writer(
        me["id"],
        me["actor"],
        env.store.machine,
        0,
        operation or transaction.new_operation(),
        tuple(me.get("lineage", ())),
    )
    stops = [
        collision.read(kind)._replace(often=count)
        for _, kind, count, _ in env.local.stops(me["id"])
    ]
    return transaction.Intent(
        writer,
        env.now,
        bases=tuple(_base(env, env.snapshot, base) for base in bases),
        stops=tuple(stop.text() for stop in stops),
        met=tuple(ref for stop in stops if stop.code == VersionJump.code for ref in stop.refs),
        request=_request(env) if operation is not None else None,
        given=operation is not None,
        expect=expectation(expect) if expect is not None else None,
        anew=session.anew(me) if anew else "",
    )


def _request(env: Env) -> str:
    """The digest of what was asked for: the command's words, and what it was given to read."""
    parts = [*(word.encode(errors="surrogateescape") for word in env.words), *env.given]
    whole = sha256(b"".join(b"%d:%s" % (len(part), part) for part in parts))
    return str(whole.hexdigest()[:32])


def _note_written(env: Env, me: Record, carried: Mapping[str, int]) -> None:
    """This clone notes what a write has carried into the history."""
    try:
        drafting.settle(env)
        env.local.published(carried.values())
        env.local.stops_published(me["id"])
    except (AtlasError, OSError) as error:
        env.notices.append(f"it was written; this clone could not note all of it: {error}")


def _stand_on(env: Env, written: Written) -> None:
    """The command goes on with the store as it is after its write."""
    try:
        env.look_again()
    except AtlasError:  # (the write itself was read back)
        env.look_again(written.commit)
    env.forget("tree")
    if policy.FOLDER in written.files:
        env.forget("policy")
    env.notices += written.notices


def _note_replayed(env: Env, written: Written, what: str, me: Record, operation: str) -> None:
    """A notice that the operation was done before. Raises Refused if that was another write. (A
    `begin` had its own new id.)"""
    same = what == session.BEGUN or written.writer.session == me["id"]
    other = written.request is not None and written.request != _request(env)
    if other or not (same and written.subject.startswith(what)):
        from ..store import transaction

        raise transaction.reused(operation, written.subject)
    env.notices.append(f"the operation {operation} was done before: nothing was written")


def _on_time(env: Env) -> None:
    """Raises Refused on a machine whose clock lies behind that of most others: what it takes would
    be over for them while it still counts on it."""
    from ..answers import clock

    if behind := clock.behind(env.ask, env.store.machine):
        newest = ", ".join(times.rfc3339(moment) for moment in behind)
        raise Refused(
            f"this machine's clock ({times.rfc3339(env.now())}) lies more than {SKEW} s behind that"
            f" of {len(behind)} others (they last wrote at {newest})",
            "set the clock right, then take it",
            code="clock",
        )


def exclusive(
    env: Env,
    decide: Decide,
    me: Record,
    what: str,
    held: Callable[[], list[str]],
    back: Callable[[list[str]], None],
) -> Written:
    """A write that counts only once it is published. If it is not confirmed, it is taken out of
    this clone's history again; if the remote may have it, the new ones of `held` are given
    `back`."""
    env.dealing = env.dealing._replace(look=True, eager=True)
    _on_time(env)
    before = held()
    try:
        return write(env, decide, me, what, exclusive=True)
    except (NotPublished, Unknown) as error:
        # this clone's own disk gave no answer: nothing more is written to it
        if env.sharing.published is None:
            raise
        env.dealing = env.dealing._replace(eager=False)
        if new := [name for name in held() if name not in before]:
            if not _taken_back(env, error):
                back(new)
            error.message += f"; {', '.join(new)} was given back"
        raise


def _taken_back(env: Env, error: AtlasError) -> bool:
    """Whether the write of this error is out of the clone's history again, as if it had never been
    recorded. If the remote may have it (Unknown), it stays."""
    operation = error.details.get("operation", "")
    known = isinstance(error, NotPublished) and operation
    if not known or not env.sharing.taken_back(operation):
        return False
    env.look_again()
    env.forget("tree")
    return True


def public(env: Env, what: str, text: str) -> str:
    """A name of this machine's own that goes into a record; nothing where it holds what must not go
    there."""
    if credential := secrets.find(text.encode(errors="replace")):
        env.notices.append(
            f"the name of the {what} holds what looks like {credential}: it is left out"
        )
        return ""
    return text


def records(env: Env, written: Written) -> list[Record]:
    """`{ref, id, version, replayed, …}` of each record that a write put."""
    rows = [
        kinds.describe(path, data)
        for path, data in written.files.items()
        if data and kinds.is_record(path)
    ]
    more = {"replayed": written.replayed, "operation": written.writer.operation}
    return [{**env.ask.shown(row), **more} for row in rows]


def _withhold(env: Env, stop: AtlasError) -> None:
    """Takes out of a stop what was retracted: the reason of a lease, the entries of a version
    jump."""
    details, ask, now = stop.details, env.ask, env.now()
    if "why" in details and "resource" in details:
        row = ask.shown({"why": details["why"]}, f"lease:{details['resource']}")
        stop.message = stop.message.replace(
            theirs(details["why"]), correction.said(row, "why", now, theirs)
        )
        details["why"] = row["why"]
    entries = [
        (title, ask.shown({"body": text}, title.partition(" ")[0])) for title, text in stop.blocks
    ]
    stop.blocks = tuple((title, correction.said(entry, "body", now)) for title, entry in entries)
    refs = [_since(details["ref"], entry) for entry in details.get("since", ())]
    if refs:
        pairs = zip(details["since"], refs, strict=True)
        details["since"] = [ask.shown(entry, ref) for entry, ref in pairs]
    # a draft is merged with nothing that was withdrawn
    if "merge" in details and any(ask.retracted(ref) for ref in (details["ref"], *refs)):
        base, _, mine = details["merge"]
        details["merge"] = (base, base, mine)
        if "merged" in details:
            details["merged"] = sections.merged(base, base, mine)


def _since(ref: str, entry: Record) -> str:
    """The REF of what was written since: a version, or the entry that wrote a section."""
    return str(entry.get("ref") or f"{ref.partition('@')[0]}@{entry['number']}")

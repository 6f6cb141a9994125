"""One write: a pure function from a snapshot to a change, run until its compare-and-set wins."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from .. import interrupts, records
from ..errors import Damaged, Failed, Refused, Unknown
from ..model import times
from ..model.change import Change, Decide, Writer
from ..model.message import FileChange, Message, parse
from ..model.tree import Overlay, Tree, object_id
from ..records import collision, formats, judging, policy
from ..records.guard import guard
from ..visible import theirs
from . import differences, failpoints, lock, moves
from .branch import Branch
from .housekeeping import pack_loose
from .objects import pack, taker
from .snapshot import Snapshot, Staged
from .store import Store, sync_folders

HOUSEKEEPING = 256  # commits between two looks at whether the store is to be packed


class Written(NamedTuple):
    """The outcome of a write. `files` are those that it put. replayed: the operation was in the
    history already, and nothing was written."""

    commit: str
    writer: Writer
    subject: str
    files: Mapping[str, bytes | None]
    replayed: bool = False
    empty: bool = False  # it was so already: nothing had to be written
    request: str | None = None  # of what was done before: the digest of what was asked for then
    notices: tuple[str, ...] = ()

    def standing(self, store: Store, row: Mapping[str, Any]) -> Written:
        """The write as it is in the history now: where it was carried over, that made its files
        anew, under another number."""
        if row["oid"] == self.commit:
            return self
        snapshot = store.snapshot(row["oid"])
        files = {path: snapshot.read(path) for path in row["paths"].split("\n") if path}
        return self._replace(commit=row["oid"], files=files)


class Intent(NamedTuple):
    """The writer, and the condition of the write.

    bases: what the session has read since its last write. met: the REFs that its last tries were
    stopped by. request: the digest of what is asked for under the operation. given: the operation
    id came from the caller, so the operation may be in the history already. anew: the command that
    begins a new session. If it is set, the write is refused while the session's last commit lies
    ahead of the clock: what it takes would be honoured by nobody, or for too long."""

    writer: Writer
    clock: Callable[[], int]
    bases: tuple[str, ...] = ()
    stops: tuple[str, ...] = ()
    met: tuple[str, ...] = ()
    request: str | None = None
    given: bool = False
    expect: Callable[[Tree, str], None] | None = None
    anew: str = ""


def write(store: Store, decide: Decide, intent: Intent) -> Written:
    """Runs `decide` on the head until the branch moves to its result. Every error that `decide`
    raises is a stop: nothing is written."""
    try:
        with lock.held(store.home / "writer.lock") as fd:
            return _Attempts(store, decide, intent, fd).run()
    except PermissionError as error:
        raise Failed(
            f"the store cannot be written: {error.filename}: {error.strerror}",
            "atlas begin lets this worktree's .atlas/outbox take what is written, until a command"
            " can write the store",
        ) from None


class _Attempts:
    """The attempts of one write."""

    def __init__(self, store: Store, decide: Decide, intent: Intent, fd: int | None) -> None:
        self.store, self.decide, self.intent = store, decide, intent
        self.branch = Branch(store, fd, self._unknown)
        self.made: set[str] = set()  # the commits of earlier tries
        self.notices: tuple[str, ...] = ()  # of a migration on the way

    def run(self) -> Written:
        while True:
            head = self.store.head()
            index = self.store.at(head)
            self.store.decided = head
            if (self.intent.given or self.made) and (
                row := index.operation(self.intent.writer.operation)
            ):
                # An earlier try had arrived, although git could not say so (or it was carried over
                # since).
                own = not self.intent.given or row["oid"] in self.made
                if own:
                    sync_folders(self.store.home / "store.git/refs/heads")
                done = self._replayed(row)
                if not own:
                    self._judge_reused(done)
                return done._replace(replayed=not own)
            writer = self.intent.writer
            now, last = self.intent.clock(), index.last_at(writer.session)
            if self.intent.anew and last > now + times.SKEW:
                raise _ahead(writer.session, last, now, self.intent.anew)
            writer = writer._replace(at=max(now, last))
            snapshot = self.store.snapshot(head)
            if self.intent.expect and not self.notices:  # (what it went over itself is not news)
                self.intent.expect(snapshot, head)
            written = self._attempt(snapshot, writer)
            if written is not None:
                return written

    def _judge_reused(self, done: Written) -> None:
        """Raises Refused if an operation was done before for another request."""
        asked, session = self.intent.request, self.intent.writer.session
        message = Message(done.subject, session=done.writer.session, request=done.request)
        mine = message._replace(session=session, request=asked or done.request)
        if not records.same_write(message, mine):
            raise reused(self.intent.writer.operation, done.subject)

    def _replayed(self, row: Mapping[str, Any]) -> Written:
        """The first outcome of an operation: the files that its commit put."""
        snapshot = self.store.snapshot(row["oid"])
        files: dict[str, bytes | None] = {
            path: snapshot.read(path)
            for path in row["paths"].split("\n")
            if path and snapshot.blob(path)
        }
        writer = self.intent.writer._replace(session=row["session"] or "", at=row["at"] or 0)
        answer = self.store.git.object(row["oid"])
        text = answer[2].decode(errors="replace").partition("\n\n")[2] if answer else ""
        request = parse(text).request
        return Written(row["oid"], writer, row["subject"], files, True, request=request)

    def _attempt(self, snapshot: Snapshot, writer: Writer) -> Written | None:
        """Tries once. None if the head moved or the ref was busy, so that another try is due."""
        tree = self.store.tree(snapshot, policy.FOLDER)
        change = self.decide(tree, writer)
        if not (change.repairs or change.epoch) and all(
            snapshot.read(path) == data for path, data in change.files.items()
        ):
            return Written(snapshot.head or "", writer, change.subject, change.files, empty=True)
        if not change.repairs and formats.is_first(tree.read(policy.FOLDER) or b""):
            self._commit(snapshot, *moves.migration(tree, writer))
            return None
        if change.epoch:
            change = moves.at_epoch(snapshot, change)
        return self._commit(snapshot, self._needing(snapshot, change), writer)

    def _needing(self, snapshot: Snapshot, change: Change) -> Change:
        """The change, and what it brings into the store that readers must know."""
        kinds = (records.kind_of(path) for path in change.files)
        words = {*change.needs, *(kind.name for kind in kinds if kind)} - {*formats.KINDS}
        if not words or change.repairs:
            return change
        data = change.files.get(policy.FOLDER) or snapshot.read(policy.FOLDER) or b""
        if formats.needing(data, words) == data:
            return change
        files = {**change.files, policy.FOLDER: formats.needing(data, words)}
        return change._replace(files=files)

    def _commit(self, snapshot: Snapshot, change: Change, writer: Writer) -> Written | None:
        """Makes the commit of a change. None if the head moved or the ref was busy."""
        if not change.repairs:  # (a repair puts back what the history has)
            self._guarded(snapshot, change, writer)
        in_force = self.store.policy(snapshot)
        if change.migrates:
            root, objects = moves.migrated(snapshot, change.files[policy.FOLDER] or b"")
        else:
            root, objects = snapshot.planted(change.files)
        message, changes = self._judged(
            snapshot, writer, change, in_force["skip_mark"], root, objects
        )
        commit = _bytes(root, snapshot.head, message, writer)
        oid = object_id("commit", commit, snapshot.width)
        objects[oid] = ("commit", commit)
        # `fast` waits for the data but not for the disk's cache: without that order, a file system
        # may come back with a branch that is newer than its (empty) objects, as ext4 does.
        method = "fsync" if in_force["durability"] == "full" else "writeout-only"
        fsync = ("core.fsync=all", f"core.fsyncMethod={method}")
        failpoints.at("before_objects", in_force)
        self._put(objects, snapshot.width, fsync)
        failpoints.at("after_objects", in_force)
        if in_force["durability"] == "full":
            folder = self.store.home / "store.git/objects"
            prefixes = {name[:2] for name in objects}
            sync_folders(*(folder / name for name in ("pack", *prefixes)), folder)
        failpoints.at("before_ref", in_force)
        interrupts.point()
        self.made.add(oid)
        try:
            if not self._moved(snapshot.head or "", oid, fsync):
                return None
            failpoints.at("after_ref", in_force)
            self._settled(objects, snapshot.width, fsync, in_force["durability"] == "full")
            failpoints.at("before_ack", in_force)
            with suppress(OSError, Failed):  # a cache
                self._cached(snapshot.head, oid, message, changes, change, in_force)
        except KeyboardInterrupt:
            raise self._unknown("interrupted while the store's branch was being moved") from None
        notices = (*self.notices, *change.notices)
        if change.migrates:
            self.notices = change.notices
        files = {
            path: data for path, data in change.files.items() if not (change.epoch and data is None)
        }
        return Written(oid, writer, message.subject, files, notices=notices)

    def _guarded(self, snapshot: Snapshot, change: Change, writer: Writer) -> None:
        spoilt = self.store.index.written(policy.FOLDER) if policy.FOLDER in change.files else None
        if spoilt:
            raise Damaged(
                f"{policy.FOLDER} was changed by hand in {spoilt[1][:12]}, breaks a rule, and does"
                " not count",
                "atlas doctor --fix puts back the one before it, then try again",
            )
        guard(snapshot, change, writer.operation, writer.session)

    def _moved(self, old: str, new: str, fsync: Sequence[str]) -> bool:
        """Whether the branch now is at the new commit. From here on an interrupt is no "nothing was
        written"."""
        before = interrupts.moves(
            f"atlas log {self.intent.writer.operation} says whether it was written"
        )
        try:
            moved = self.branch.move(old, new, fsync)
        except Failed:
            interrupts.moves(before)
            raise
        if not moved:
            interrupts.moves(before)
        return moved

    def _judged(
        self,
        snapshot: Snapshot,
        writer: Writer,
        change: Change,
        mark: str,
        root: str,
        objects: dict[str, tuple[str, bytes]],
    ) -> tuple[Message, list[FileChange]]:
        """The message and the changed files, once the rules have nothing against them. (A repair
        may change what is no plain file: it is read as everybody will read it.)"""
        files = change.files
        if change.epoch:  # (what it takes from the tip is there still)
            files = {policy.FOLDER: files[policy.FOLDER]}
        child = Overlay(snapshot, files, snapshot.width)
        rows = [(path, snapshot.blob(path), child.blob(path)) for path in sorted(files)]
        changes: list[FileChange] = [(path, old, new) for path, old, new in rows if old != new]
        if change.repairs:
            changes = list(differences.changes(Staged(snapshot.git, objects), snapshot.root, root))
        bases = tuple(dict.fromkeys((*change.bases, *self.intent.bases)))
        intent = self.intent
        message = Message(
            change.subject,
            writer.operation,
            writer.session or None,
            writer.at,
            bases,
            repairs=change.repairs,
            stops=intent.stops,
            mark=mark,
            migrates=change.migrates,
            epoch=change.epoch,
            merged=collision.merged(snapshot, change.files, intent.met) if intent.met else (),
            request=intent.request,
        )
        store_id = judging.store_id(snapshot)
        if not change.repairs:
            message = message._replace(wish=judging.wish(store_id, message, change.files))
        message = message._replace(change=judging.digest(store_id, message, changes))
        if change.repairs:  # judged by its own rule, against the commit that it names (see audit)
            return message, changes
        broken = judging.judge(snapshot, child, changes, message)
        if broken:
            raise Refused(
                f"the rule {broken[0].rule}: {broken[0].path}: {broken[0].text}",
                "atlas verify",
                code=broken[0].rule,
            )
        return message, changes

    def _put(
        self, objects: Mapping[str, tuple[str, bytes]], width: int, fsync: Sequence[str]
    ) -> None:
        """All objects of the write, by one child that syncs each."""
        self.store.git.run(
            *taker(objects), data=pack(objects, width), options=fsync, keep=self.branch.keep
        )

    def _settled(
        self, objects: Mapping[str, tuple[str, bytes]], width: int, fsync: Sequence[str], full: bool
    ) -> None:
        """The branch has moved: on the disk too, and with all that it needs. From here on a failure
        is no "no"."""
        try:
            if full:
                sync_folders(self.store.home / "store.git/refs/heads")
            self._whole(objects, width, fsync)
        except (OSError, Failed) as error:
            raise self._unknown(f"the store's branch was moved, but {error}") from None

    def _unknown(self, what: str) -> Unknown:
        operation = self.intent.writer.operation
        return Unknown(
            f"{what} (operation {operation})", f"atlas log {operation} says whether it was written"
        )

    def _whole(
        self, objects: Mapping[str, tuple[str, bytes]], width: int, fsync: Sequence[str]
    ) -> None:
        """Before the answer: the commit's own objects are all there (a prune may have run beside
        us)."""
        for again in (True, False):
            missing = {
                oid: body for oid, body in objects.items() if self.store.git.object(oid) is None
            }
            if not missing:
                return
            if again:
                self._put(missing, width, fsync)
        raise Failed(
            f"the object {next(iter(missing))} of this write is not in the store",
            "atlas doctor --fix",
        )

    def _cached(
        self,
        parent: str | None,
        oid: str,
        message: Message,
        changes: list[FileChange],
        change: Change,
        in_force: Mapping[str, Any],
    ) -> None:
        index = self.store.index
        index.advance(
            parent,
            oid,
            message,
            changes,
            dict(change.files),
            lambda: failpoints.at("mid_cache", in_force),
        )
        if (index.seq(oid) or 1) % HOUSEKEEPING == 0:
            pack_loose(self.store)


def reused(operation: str, subject: str) -> Refused:
    """The refusal of an operation id that another write has used."""
    return Refused(
        f"the operation {operation} is there already, for another request: {theirs(subject)};"
        " nothing was written",
        "give each write an id of its own",
        code="operation_reused",
    )


def _ahead(session: str, last: int, now: int, anew: str) -> Refused:
    return Refused(
        f"the last write of {session} is dated {times.rfc3339(last)}, {times.span(last - now)}"
        f" ahead of this machine's clock ({times.rfc3339(now)}): what it takes would be dated ahead"
        " as well",
        f"where the clock is right now, begin anew: {anew}; where it is not, set it right first",
        code="clock",
    )


def _bytes(root: str, parent: str | None, message: Message, writer: Writer) -> bytes:
    who = f"{writer.session or 'atlas'} <atlas@localhost> {writer.at} +0000"
    above = f"parent {parent}\n" if parent else ""
    return f"tree {root}\n{above}author {who}\ncommitter {who}\n\n{message.text()}".encode()


def new_operation() -> str:
    """A random operation id: two equal writes are two commits, and a retry finds itself."""
    return os.urandom(16).hex()

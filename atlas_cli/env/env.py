"""What a command runs with: the store, the clock, the session. Commands reach the store through
this only."""

from __future__ import annotations

import contextlib
import getpass
import os
import shlex
import time
from collections.abc import Callable, Iterable
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import callers, records
from ..answers.ask import WEEK, Questions
from ..errors import AtlasError, Failed, NotFound, Protocol, Refused, Usage
from ..model import message, names, secrets, times
from ..model.change import Change, Decide, Writer
from ..model.text import Record
from ..model.tree import Overlay, Tree
from ..records import correction, inbox, policy, session, status
from ..sharing import remote
from ..sharing.parked import parked_commits
from ..sharing.sharing import Sharing
from ..store import failpoints, files, ground, repo, store, transaction
from ..store.git import Git
from ..store.index import Index
from ..store.notebook import Notebook
from ..store.snapshot import Snapshot
from ..store.store import Store
from ..store.transaction import Written
from ..visible import named, theirs
from ..worktree import view
from ..worktree.drafts import Drafts

if TYPE_CHECKING:
    from ..checks import renames
    from ..checks.check import Checked, Received
    from ..checks.ci import Asked
    from ..sharing.carry_over import Carried


class Options(NamedTuple):
    """The global options, as given."""

    directory: str = "."
    session: str | None = None
    operation: str | None = None
    expect: str | None = None
    json: bool = False
    quiet: bool = False
    offline: bool = False
    require_published: bool = False
    tail: tuple[str, ...] = ()  # what stands behind `--` of `lease run`


class Env:
    """One command's surroundings, each part made when it is first asked for."""

    def __init__(self, options: Options, watch: Callable[[str], None] | None = None) -> None:
        self.options = options
        Git.watch = watch  # told of what takes long
        self.notices: list[str] = []
        self.words: list[str] = []  # of the command, as they were typed
        self.wrote = False
        self.asks = True  # whether the remote may be asked for what is new
        self.hooked = False  # whether git called, from one of its hooks
        self.beside: dict[str, Any] = {}  # what others make of this one, and keep while it lives
        self.elsewhere: Env | None = None  # the other store that all of the command was about
        self.spoken: tuple[str, bytes] | None = (
            None  # a text that came from no file: lost if nothing keeps it
        )
        self.source: Path | None = None  # the file that a text came from

    @cached_property
    def place(self) -> repo.Repo:
        return repo.find(str(Path(self.options.directory).absolute()), self.hooked)

    @cached_property
    def store(self) -> Store:
        return Store.open(self.place)

    @cached_property
    def local(self) -> Notebook:
        return Notebook(self.store.home / "local.sqlite", self.notices.append)

    @cached_property
    def sharing(self) -> Sharing:
        """This command's dealings with the store's remote."""
        options = self.options
        return Sharing(self.store, self.notices.append, options.offline, options.require_published)

    @cached_property
    def snapshot(self) -> Snapshot:
        """The store as it was when the command first looked, its copy of the remote not too old."""
        self.sharing.gathered()
        if self.asks:
            self.sharing.freshen()
        return self.store.snapshot()

    @property
    def index(self) -> Index:
        """The index, at least as new as the snapshot."""
        found = self.store.at(self.snapshot.head or "")
        if found.rewound:
            self.local.note_rewind(found.rewound)
            found.rewound = None
        return found

    @cached_property
    def tree(self) -> Tree:
        """The store for readers: the snapshot, with every document as it was written, whatever a
        hand did to it."""
        return self._as_written()

    def _as_written(self, *paths: str) -> Tree:
        """The store for readers (only with these files put right, if some are named); says what a
        hand did."""
        self.notices += [
            f"{named(path)}: changed or taken away by hand in {oid[:12]}; shown is its last good"
            " state: atlas doctor --fix"
            for path, _, oid in self.index.edits()
            if path in paths or not paths
        ]
        return self.store.tree(self.snapshot, *paths)

    @property
    def ask(self) -> Questions:
        """Questions to the whole store, as it is now."""
        return Questions(self.index, self.local, self.policy, self.now())

    @cached_property
    def policy(self) -> dict[str, Any]:
        """The policy in force; the last good one, with a notice, where a hand has spoilt or removed
        it."""
        try:
            found = policy.of(self._as_written(policy.FOLDER))
        except Failed:
            found = {}
        if "store" not in found and not store.is_bare_root(self.snapshot):
            data, _ = self.good(policy.FOLDER)
            found = policy.of(Overlay(self.snapshot, {policy.FOLDER: data}))
        return dict(found)

    @property
    def own_rules(self) -> Path:
        """The user's own part of the policy: which resources are shared, and where."""
        return Path(
            os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config", "atlas", policy.FOLDER
        )

    @property
    def shares(self) -> bool:
        """Whether the leases on some names may be kept in another store."""
        return bool(self.policy["shared"]) or self.own_rules.exists()

    def now(self) -> int:
        """Seconds since 1970. In test stores `ATLAS_CLOCK_OFFSET` moves it."""
        return self._time(self.policy.get("test") is True)

    @staticmethod
    def _time(test: bool) -> int:
        offset = os.environ.get("ATLAS_CLOCK_OFFSET", "")
        if not offset or not test:
            return int(time.time())
        try:
            return int(time.time()) + int(offset)
        except ValueError:
            raise Usage(f"ATLAS_CLOCK_OFFSET={offset!r} is no number of seconds") from None

    def chosen(self, name: str | None, branch: str | None) -> None:
        """Notes the remote, and the branch there, that `init` was told to share through."""
        if name is None and branch is None:
            return
        there = remote.remotes(self.place, self.place.home)
        if name is not None and name not in there:
            raise NotFound(
                f"there is no remote {name[:80]!r}",
                f"git remote shows them: {', '.join(there) or 'none'}",
            )
        remote.choose(self.place.home, name, branch)

    def join(self) -> bool:
        """Takes the store that the remote has, where this clone has none yet. True if it did."""
        from ..sharing import joining

        if (self.place.home / "store.git").is_dir():
            return joining.aside(self.place)
        return joining.join(self.place, self.options.offline)

    def create(self, readme: bytes, test: bool) -> bool:
        """Makes the store if there is none, with its policy, which names the remote's address as
        the store's home. True if it was made."""
        store.create(self.place)
        if not store.is_bare_root(self.store.snapshot()):
            return False

        def first(tree: Tree, writer: Writer) -> Change:
            if tree.blob(policy.FOLDER):
                raise Refused("another `atlas init` was faster")
            policy_text = policy.first(os.urandom(8).hex(), test, self.sharing.address())
            return Change("policy: first", {policy.FOLDER: policy_text, "README.md": readme})

        writer = Writer("", "", self.store.machine, 0, transaction.new_operation())
        try:
            transaction.write(
                self.store, first, transaction.Intent(writer, partial(self._time, test))
            )
        except Refused:
            return False
        self.wrote = True
        return True

    # who

    @cached_property
    def worktree(self) -> str:
        """Its folder, as text that can be stored whatever bytes a path may hold; empty where there
        is none."""
        return (
            ""
            if self.place.top is None
            else os.fsencode(self.place.top).decode(errors="backslashreplace")
        )

    def session_id(self, strict: bool = False) -> str | None:
        """The session named by `--session` or ATLAS_SESSION, else the one that this caller began
        last in this worktree. Where nothing tells who calls, the only live one here; `strict`: a
        stop where several live here. A caller that has begun none, and is no AI tool, may be the
        person whose session stands in this clone."""
        named = self.options.session or os.environ.get("ATLAS_SESSION")
        if named or not self.worktree:
            return named
        caller = callers.caller(self.hooked)
        if caller is not None:
            return self.local.begun(self.worktree, caller) or self._person()
        here = self.ask.living(self.worktree)
        if len(here) > 1 and strict:
            raise Protocol(
                f"{len(here)} sessions live in this worktree, and nothing tells which of them"
                " this is",
                f"say which: --session ID ({', '.join(row['id'] for row in here)})",
                code="which_session",
            )
        if len(here) > 1:
            self.notices.append(
                f"taken for {here[0]['id']}, the newest of {len(here)} sessions that live here"
            )
        return here[0]["id"] if here else self._person()

    @staticmethod
    def tool() -> str:
        """The AI tool that started this process; empty where none did."""
        return callers.tool()

    def person(self) -> Record | None:
        """The session of this clone's person, if it stands."""
        return self.ask.person(self.store.machine)

    def _person(self) -> str | None:
        found = None if callers.tool() else self.person()
        return found["id"] if found else None

    def session(self, strict: bool = False) -> Record:
        """The live session that this command is part of; Protocol where there is none. An operation
        that is asked for again is its first session's, live or not: it answers with its first
        outcome."""
        wanted = self.options.operation
        first = None if wanted is None else self.index.operation(names.name(wanted, "operation id"))
        found = self.session_id(strict)
        if first and first["session"] and found in (None, first["session"]):
            return session.get(self.snapshot, first["session"])
        if found is None:
            raise self._nobody()
        record = session.live(self.snapshot, found, self.now())
        if record.get("class") == session.PERSON and (tool := callers.tool()):
            raise Protocol(
                f"{found} is a person's session; this process carries an AI tool's mark ({tool})",
                "begin one of your own: atlas begin --goal …",
                code="no_session",
            )
        last, state = self.ask.pulse(record)
        if state != "live":
            raise Protocol(
                f"the session {found} has expired: its last write is {times.ago(last, self.now())}",
                "begin a new one: atlas begin --goal …",
                code="no_session",
            )
        return record

    def _nobody(self) -> Protocol:
        """There is no session: what to do next, with those that live here by name."""
        here = [row["id"] for row in self.ask.living(self.worktree)] if self.worktree else []
        what = (
            "you have begun no session in this worktree"
            if here
            else "no session was begun in this worktree"
        )
        if not self.worktree:
            what = "no session is named, as it must be in a bare repository"
        others = (
            f"; if you are one of those that live here, name it: --session ID ({', '.join(here)})"
            if here
            else ""
        )
        return Protocol(what, f"begin one: atlas begin --goal …{others}", code="no_session")

    def here(self, strict: bool = False) -> Record | None:
        """The session of this command, or None: for commands that need none."""
        try:
            return self.session(strict)
        except (Protocol, NotFound, Usage):
            return None

    def actor(self, given: str | None) -> str:
        """The actor's name: as given, else ATLAS_ACTOR, else the AI tool's, else the login name."""
        if given is not None:
            return names.name(given, "actor")
        found = os.environ.get("ATLAS_ACTOR") or callers.tool()
        if not found:
            try:
                found = getpass.getuser()
            except (KeyError, OSError):
                found = "someone"
        return session.actor(found)

    # reading

    def since(self, text: str) -> int:
        """The number of the last commit before what `--since` names: a time, a record, or my last
        look (`last`)."""
        now = self.now()
        if text == "last":
            head = self.local.looked(self.reader())
            found = self.index.reached(head) if head else None
            if found is None:
                self.notices.append(
                    "there is no last look of yours that is known here: the last seven days"
                )
            return self.index.upto(now - WEEK) if found is None else found
        moment = times.since(text, now)
        if moment is not None:
            return self.index.upto(moment)
        if ":" not in text:
            raise Usage(
                f"--since {text[:80]!r} is no time",
                "18:00, 12h, 2026-11-29, a REF, or last (my last look)",
            )
        return self.index.written_in(self.path(records.ref(text)))

    def reader(self) -> str:
        """The actor that reads here."""
        me = self.here()
        return me["actor"] if me else self.actor(None)

    def parked(self) -> list[dict[str, Any]]:
        """The writes of this clone that are not in its history any more, since they contradicted
        the remote's: rows of operation, commit, subject, session, at."""
        found, git = [], self.snapshot.git
        for operation, oid in parked_commits(self.store).items():
            entry = git.object(oid)
            said = (
                message.parse(entry[2].decode(errors="replace").partition("\n\n")[2])
                if entry
                else None
            )
            there = (
                said and said.operation and self.index.operation(said.operation)
            )  # a kill had come between
            if said is not None and not there:
                at = times.rfc3339(said.at) if said.at else None
                found.append(
                    {
                        "operation": operation,
                        "commit": oid,
                        "subject": said.subject,
                        "session": said.session,
                        "at": at,
                    }
                )
        return sorted(found, key=lambda one: (str(one["at"]), str(one["subject"])))

    def by_hand(self, path: str) -> dict[str, Any]:
        """Who added a file that has no field for it, and when: what its commit says, which nobody
        has verified."""
        seq = self.index.written_in(path)
        commit = self.index.commits(1, after=seq - 1, upto=seq)[0][0]["oid"]
        entry = self.store.git.object(commit)
        head = entry[2].decode(errors="replace").partition("\nauthor ")[2] if entry else ""
        who, _, rest = head.partition("\n")[0].rpartition("> ")
        seconds = rest.partition(" ")[0]
        return {
            "by": f"{who.partition(' <')[0]} (unverified)",
            "commit": commit,
            "at": times.rfc3339(int(seconds) if seconds.isdecimal() else 0),
        }

    def inbox(self) -> list[dict[str, Any]]:
        """What was put into the inbox in the last seven days, newest first."""
        rows = [(path, record) for path, record in self.index.newest(inbox.FOLDER, 20)]
        found = [
            self.ask.shown({"ref": inbox.KIND.ref(path, row), **row, **self.by_hand(path)})
            for path, row in rows
        ]
        return [row for row in found if times.moment(row["at"]) > self.now() - WEEK]

    def waiting(self) -> list[dict[str, Any]]:
        """The writes that no remote is known to have, oldest first: rows of commit, operation,
        subject, session."""
        from ..store import REMOTE

        known = self.store.ref(REMOTE)
        rows, _ = self.index.commits(10**6, after=(self.index.reached(known) or 0) if known else 0)
        names_ = ("operation", "subject", "session")
        return [
            {"commit": row["oid"], **{name: row[name] for name in names_}} for row in reversed(rows)
        ]

    def export(self, file: Path) -> int:
        """Writes them into a file; how many they are."""
        from ..sharing import outbox

        part = self.store.home / f"{files.PART}{os.urandom(8).hex()}"
        try:
            count = outbox.export(self.store, part)
            self.save(str(file), part.read_bytes())
        finally:
            part.unlink(missing_ok=True)
        return count

    @staticmethod
    def put(file: Path, data: bytes) -> None:
        """The bytes at a path, whole or not at all, with the mode of the file that is there."""
        files.again(file, data)

    def save(self, name: str, data: bytes) -> None:
        """The bytes at a path that the user gives: of a plain file complete or not at all. A link
        is written through, as is a device or a pipe; but not one that came with the project's
        files, whatever it leads to."""
        path = Path(self.options.directory, name)
        if not path.name:
            raise Usage(f"{path} is a folder", "name a file")
        try:
            if link := ground.brought(self.place, Path(self.options.directory), name):
                raise Refused(
                    f"{link} is a link that came with the project's files: nothing is written"
                    " through it",
                    "name a file of another name",
                )
            if path.is_symlink() or (path.exists() and not path.is_file()):
                real = path.resolve()
                if real.is_file() or not real.exists():
                    files.again(real, data)
                else:
                    path.write_bytes(data)
            else:
                files.again(path, data)
        except (OSError, ValueError) as error:
            raise Usage(
                f"{path} cannot be written: {getattr(error, 'strerror', None) or error}"
            ) from None

    def take_in(self, file: Path) -> Carried:
        """Takes in such a file, and publishes what came of it."""
        from ..sharing import outbox

        assert self.snapshot  # asked first, so that the less is parked
        found = outbox.take(self.store, Path(self.options.directory).absolute() / file)
        self.sharing.eager = True
        self.sharing.publish()
        self.__dict__.pop("snapshot", None)
        return found

    def path(self, ref: names.Ref) -> str:
        """Where the record of a REF lies; NotFound where there is none."""
        return records.BY_NAME[ref.kind].find(self.tree, ref.id, ref.number)

    def resolve(self, ref: names.Ref) -> tuple[str, Record]:
        """(path, record) of a REF; NotFound where there is none."""
        path = self.path(ref)
        return path, records.describe(path, self.good(path)[0])

    def exact(self, text: str) -> str:
        """A REF as it is stored in another record: checked, and with the current number where none
        was given."""
        _, record = self.resolve(records.ref(text))
        self.notices += [
            f"{record['ref']} was {correction.shown(one, self.now(), theirs)}"
            for one in self.ask.corrections(record["ref"])
            if one["retract"]
        ]
        return str(record["ref"])

    def resource(self, text: str) -> str:
        """A resource as given by somebody standing here: `path:` may be absolute or lead through a
        link."""
        kind, _, rest = text.partition(":")
        if kind not in ("path", "glob") or not rest or self.place.top is None:
            return names.resource(text, self.place.prefix)
        top = self.place.top.resolve()
        if kind == "path" and names.one_line(rest):
            given = Path(self.options.directory).absolute() / rest
            real = (
                given.parent.resolve() / given.name
                if given.name not in ("", "..")
                else given.resolve()
            )
        elif rest.startswith("/"):
            real = Path(rest)
        else:
            return names.resource(text, self.place.prefix)
        try:
            return names.resource(f"{kind}:/{real.relative_to(top)}")
        except ValueError:
            raise Usage(
                f"{text[:200]!r} lies outside the repository", "a lease is on a path inside it"
            ) from None

    def good(self, path: str) -> tuple[bytes, bool]:
        """The newest bytes at a path that parse, and whether these are the current ones; Damaged if
        none ever did."""
        try:
            data = self.tree.read(path) or b""
            records.describe(path, data)
        except Failed as error:
            for row in self.index.commits(1000, path=path)[0]:
                before = self.store.snapshot(row["oid"]).read(path)
                try:
                    if before is not None and records.describe(path, before):
                        self.notices.append(
                            f"{error.message}; shown is its last good state: atlas doctor --fix"
                        )
                        return before, False
                except Failed:
                    continue
            raise
        self._broken(path)
        return data, True

    def damaged(self, folder: str = "") -> list[tuple[str, str]]:
        """(path, what is wrong) of a folder's records that cannot be read; each becomes a notice,
        so that no list leaves one out in silence. (What a hand did to documents is a notice of the
        tree.)"""
        assert self.tree is not None
        found = [(path, text) for path, text in self.index.damaged() if path.startswith(folder)]
        self.notices += [
            f"{text.replace(path, named(path))}: atlas doctor --fix restores its last good state"
            for path, text in found
        ]
        self._broken(folder)
        return found

    def _broken(self, lead: str) -> None:
        """Says which of the records whose path begins so a hand has brought against a rule."""
        self.notices += [
            f"{named(path)}: brought by hand, against the rule {why}: atlas doctor --fix takes it"
            " away"
            for path, why in self.index.broken()
            if path.startswith(lead)
        ]

    def read(self, kind: str, id: str, number: int, path: str, claimed: bool = False) -> None:
        """A receipt for what the session was just shown (or says that it has read)."""
        me = self.here()
        blob = self.snapshot.blob(path)
        if me is not None and blob is not None:
            self.local.read(me["id"], me["actor"], kind, id, number, blob, self.now(), claimed)

    def read_empty(self, me: Record | None, stream: str) -> None:
        """A receipt for having been shown that a stream is empty: what comes then is a version
        jump."""
        if me is not None:
            self.local.read(me["id"], me["actor"], "status", stream, 0, "", self.now())

    def seen(self, tree: Tree, me: Record, kind: str, id: str, part: bool = False) -> int | None:
        """The newest version that the session has read and that is still there as it was read; 0
        where it was shown that there is none. `part`: only a section is to be written and the rest
        carried, for which it is enough that a hook has printed the entry."""
        read = self.local.seen(me["id"], kind, id) + (
            self.local.seen(me["id"], "glance", id) if part else []
        )
        for number, blob in sorted(read, reverse=True):
            if not number:
                return 0
            try:
                if tree.blob(records.BY_NAME[kind].find(tree, id, number)) == blob:
                    return number
            except NotFound:  # that version left the branch, and the receipt with it
                continue
        return None

    def shown_status(
        self, stream: str, number: int, me: Record | None, withdrawn: bool = False
    ) -> Record:
        """A status entry with its corrections, and a receipt for whoever is shown it. What one that
        was retracted says is withheld (None), unless `withdrawn`."""
        path = status.find(self.tree, stream, number)
        data, _ = self.good(path)
        record = records.describe(path, data)
        if me is not None:
            blob = self.snapshot.blob(path) or ""
            self.local.read(me["id"], me["actor"], "status", stream, number, blob, self.now())
        return {
            **(record if withdrawn else self.ask.shown(record)),
            "corrections": self.ask.corrections(record["ref"]),
        }

    def withdrawn(self, stream: str) -> bool:
        """Whether a stream's current entry was retracted."""
        return self.ask.retracted(f"status:{stream}@{status.newest(self.tree, stream)}")

    def who(self, paths: list[str], hours: int = 24) -> list[dict[str, Any]]:
        """Who is on these paths (from the root): rows of path, what, who, when, text."""
        return self.ask.who(self.git, self.session_id(), paths, hours)

    @cached_property
    def git(self) -> Git:
        """The user's repository, as git itself would see it from its top."""
        return Git(None, str(self.place.top or self.place.common), hermetic=False)

    def branch(self) -> str:
        """The branch of this worktree; empty where HEAD is detached or there is no worktree."""
        if self.place.top is None:
            return ""
        code, out, _ = self.git.ask("symbolic-ref", "--quiet", "--short", "HEAD")
        return "" if code else out.decode(errors="replace").strip()

    def moved(
        self,
    ) -> contextlib.AbstractContextManager[
        tuple[renames.Files, renames.Worktree, dict[str, str | None]]
    ]:
        """The user's own files in HEAD and in the worktree, and what moved between."""
        from ..checks import renames

        if self.place.top is None:
            raise Usage("a bare repository has no worktree", "run it in a clone")
        return renames.since_head(self.place.top)

    def began(self, session_id: str) -> None:
        """This worktree's commands are that session's from now on."""
        if self.worktree:
            self.local.begin(self.worktree, callers.caller() or "", session_id)

    # writing

    def write(
        self, decide: Decide, me: Record, what: str, exclusive: bool = False, punctual: bool = False
    ) -> Written:
        """Runs a pure change as one transaction of a session, and publishes it; `what` begins the
        subject of such a change. `exclusive`: it counts only once it is published. `punctual` (as
        all that is exclusive): it is refused for a session that is dated ahead of the clock. What a
        stop carries of the user's text is kept."""
        options = self.options
        if options.operation is not None:
            names.name(options.operation, "operation id")
        writer = Writer(
            me["id"],
            me["actor"],
            self.store.machine,
            0,
            options.operation or transaction.new_operation(),
            tuple(me.get("lineage", ())),
        )
        carried = self.local.unpublished(me["id"])
        intent = transaction.Intent(
            writer,
            self.now,
            bases=tuple(carried),
            stops=tuple(f"{kind} {count}" for kind, count in self.local.stops(me["id"])),
            given=options.operation is not None,
            expect=transaction.expectation(options.expect) if options.expect is not None else None,
            anew=session.anew(me) if exclusive or punctual else "",
        )
        self.options = options._replace(
            operation=None, expect=None
        )  # they are about a command's first write
        try:
            written = self.sharing.write(decide, intent, exclusive)
        except AtlasError as stop:
            with contextlib.suppress(AtlasError):
                self.__dict__["snapshot"] = (
                    self.store.snapshot()
                )  # it may be in the store all the same
                self._withheld(stop)
            self._kept(stop)
            raise
        if not written.replayed and not written.empty:
            self.wrote = True
            self.spoken = None
            try:
                if self.source is not None and self.drafts.holds(self.source):
                    self.drafts.settle(self.source)
                self.local.published(carried.values())
                self.local.stops_published(me["id"])
            except (AtlasError, OSError) as error:
                self.notices.append(f"it was written; this clone could not note all of it: {error}")
        try:
            self.__dict__["snapshot"] = self.store.snapshot()
        except AtlasError:  # (the write itself was read back)
            self.__dict__["snapshot"] = self.store.snapshot(written.commit)
        self.__dict__.pop("tree", None)
        if policy.FOLDER in written.files:
            self.__dict__.pop("policy", None)
        self.notices += written.notices
        if written.replayed and not _same(written, what, me["id"]):
            raise Refused(
                f"the operation {writer.operation} is there already, for another write:"
                f" {theirs(written.subject)}",
                "give each write an id of its own",
                code="operation_used",
            )
        if written.replayed:
            self.notices.append(
                f"the operation {writer.operation} was done before: nothing was written"
            )
        return written

    def public(self, what: str, text: str) -> str:
        """A name of this machine's own that goes into a record, where there is one that must not:
        then nothing."""
        if found := secrets.find(text.encode(errors="replace")):
            self.notices.append(
                f"the name of the {what} holds what looks like {found}: it is left out"
            )
        return "" if found else text

    def records(self, written: Written) -> list[Record]:
        """`{ref, id, version, replayed, …}` of each record that a write put."""
        found = [
            records.describe(path, data)
            for path, data in written.files.items()
            if data and records.is_record(path)
        ]
        more = {"replayed": written.replayed, "operation": written.writer.operation}
        return [{**self.ask.shown(record), **more} for record in found]

    def _withheld(self, stop: AtlasError) -> None:
        """Takes out of a stop what was retracted: the reason of a lease, the entries of a version
        jump."""
        told, ask, now = stop.details, self.ask, self.now()
        if "why" in told and "resource" in told:
            row = ask.shown({"why": told["why"]}, f"lease:{told['resource']}")
            stop.message = stop.message.replace(
                theirs(told["why"]), correction.said(row, "why", now, theirs)
            )
            told["why"] = row["why"]
        entries = [
            (title, ask.shown({"body": text}, title.partition(" by ")[0]))
            for title, text in stop.blocks
        ]
        stop.blocks = tuple(
            (title, correction.said(entry, "body", now)) for title, entry in entries
        )
        if "since" in told:
            stream = told["ref"].partition("@")[0]
            told["since"] = [
                ask.shown(entry, f"{stream}@{entry['number']}") for entry in told["since"]
            ]
        if "merge" in told and ask.retracted(
            told["ref"]
        ):  # a draft is merged with nothing that was withdrawn
            base, _, mine = told["merge"]
            told["merge"] = (base, base, mine)
            told |= {"merged": status.merged(base, base, mine)} if "merged" in told else {}

    def _kept(self, stop: AtlasError) -> None:
        """Keeps what a stop carries of the user's text; Refused, whatever the stop was, for a
        credential in what was to be written."""
        found = secrets.kept_by(stop) or (2 <= stop.exit <= 7 and self._spoken_secret())
        if found:
            raise secrets.refusal(found) from None
        try:
            self.drafts.keep(stop)
        except (AtlasError, OSError) as error:
            self.notices.append(f"the draft could not be kept: {error}")

    def _spoken_secret(self) -> str | None:
        """What kind of credential stands in the text that was given, or in the command itself."""
        return secrets.spoken(self.spoken[1] if self.spoken else b"", self.words)

    # judging

    def check(self, given: str | None, asked: Asked) -> Checked:
        """Judges the user's commits by their trailers: a range, else what CI asks for, else what is
        not upstream."""
        from ..checks import check as checking

        found = checking.check(self.place, self.git, given, asked, self.notices.append)
        if found.own:
            self.__dict__["snapshot"] = self.store.snapshot(found.head)
        return found

    def received(self, lines: Iterable[str]) -> Received:
        """Judges a push that a server is about to take."""
        from ..checks import check as checking

        return checking.received(self.place, lines)

    # afterwards

    def afterwards(self, also: Callable[[Env], None] = lambda env: None) -> None:
        """Once the answer is known: the view follows the head, the session hears what it should,
        and `also` is done. Nothing that goes wrong here changes the answer."""
        if "snapshot" not in self.__dict__:
            return
        try:
            failpoints.at("before_view", self.policy)
            self.refresh()
            me = self.here()
            parked = [one["subject"] for one in self.parked() if me and one["session"] == me["id"]]
            self.notices[:0] = (
                [f"PARKED, others were first: {'; '.join(parked)}: atlas parked"] if parked else []
            )
            if lost := self.sharing.lost():
                self.notices.append(f"{lost}: atlas doctor says what can be done")
            self.notices += self.ask.news(me) if me else []
            also(self)
            self.notices += [
                f"the store's history was rewound: {head} was its head and is no longer part of it;"
                f" atlas git log {head} shows what was there, atlas doctor --fix takes note of it"
                for head in self.local.rewinds()
            ]
        except AtlasError as error:
            self.notices.append(error.message)
        except OSError as error:
            self.notices.append(f"the view could not be refreshed: {error}")
        except Exception as error:
            if not self.hooked:
                raise
            self.notices.append(
                f"a fault of Atlas, which stops no commit: {type(error).__name__}: {error}"
            )

    def glanced(self, me: Record, stream: str, number: int) -> bool:
        """A hook prints an entry: the session has seen it, and may commit (to supersede it, it must
        be read). False where that could not be noted."""
        blob = self.snapshot.blob(status.place(stream, number)) or ""
        self.local.glance(me["id"], me["actor"], stream, number, blob, self.now())
        return self.local.keeps

    def stopped(self, error: AtlasError) -> None:
        """A stop is a test result: counted for the session, and published with its next write."""
        if "store" not in self.__dict__:
            return
        if self.spoken is not None and error.exit in (1, 3, 4, 5, 6) and error.code != "secret":
            if found := self._spoken_secret():
                kept = f"your text is not kept: it holds what looks like {found}"
                error.hint = f"{error.hint}\n{kept}".lstrip()
            else:
                with contextlib.suppress(OSError):
                    self.drafts.keep_spoken(error, *self.spoken, self.words)
        if error.exit not in (3, 4, 5):
            return
        try:
            if (me := self.here()) is not None:
                self.local.stopped(me["id"], error.code, self.now())
        except AtlasError:
            return

    # files

    @property
    def drafts(self) -> Drafts:
        """The texts that a stop or a hand edit left in this worktree."""
        options = self.options
        behind = f" -C {shlex.quote(options.directory)}" if options.directory != "." else ""
        behind += f" --session {options.session}" if options.session else ""
        home, shown = self.store.home, self.place.view
        if home == self.place.outbox and self.place.top:  # which git ignores
            places = [(self.place.top, home)]
        elif shown is None or self.place.top is None or view.ours(self.place, self.local):
            places = [(home, home)]  # `.atlas` is the project's: the user's words do not go into it
        else:
            places = [(self.place.top, shown), (home, home)]
        return Drafts(places, Path(options.directory).absolute(), self.local, behind)

    def refresh(self, full: bool = False) -> bool | None:
        """Brings this worktree's view to the snapshot; None where there is no worktree."""
        if self.place.view is None or self.store.home == self.place.outbox:
            return None
        shown = view.View(self.place, self.local, self.store.home)
        if not full and shown.is_current(self.snapshot.head):
            return True
        done = shown.refresh(self.snapshot, self.index, self.now(), full)
        self.notices += [self.drafts.edited(file) for file in shown.aside]
        self.notices += [
            f"{name} in the view is no plain file of Atlas's: it was left as it is"
            for name in shown.left
        ]
        if shown.why and (full or self.words[:1] == ["begin"]):
            self.notices.append(
                f"{shown.why}: nothing is written there, and nothing of it is read or run"
            )
        return done

    def close(self) -> None:
        """The answer is out: nothing that goes wrong now changes it."""
        for part in ("local", "store"):
            with contextlib.suppress(Exception):
                if part in self.__dict__:
                    self.__dict__[part].close()


def _same(written: Written, what: str, me: str) -> bool:
    """Whether an operation that was done before is the one that was asked for (a `begin` had its
    own new id)."""
    return written.subject.startswith(what) and (
        what == "session: begin" or written.writer.session == me
    )

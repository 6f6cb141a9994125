"""`atlas parked`: writes of this clone that contradict what others published first."""

import shlex
from collections.abc import Callable
from typing import Annotated, Any

import typer

from .. import records
from ..answers import stream
from ..env import beginning, drafting, overtaken, who, wording, writing
from ..env.env import Env
from ..errors import AtlasError, NotFound, Refused, VersionJump
from ..model import times
from ..model.change import Change, Decide, Writer
from ..model.text import Record
from ..model.tree import Tree
from ..outcome import Block, Frame, Outcome, Table, listing
from ..records import artifact, concern, lease, signal, status
from ..records.board import raising
from ..records.wish import Wish, of_entry
from ..sharing import parked
from ..sharing.parked import unpark
from ..visible import named, theirs
from . import env_of, limits, noun, verb

app = noun()
Id = Annotated[str, typer.Argument(metavar="ID", help="The operation, or its first digits.")]


@verb(app, "list", "atlas parked", 7, limits=(limits.PARKED,))
def list_(ctx: typer.Context) -> Outcome:
    """The parked writes of this clone."""
    env = env_of(ctx)
    drafting.of_parked(env)
    env.notices += overtaken.settled(env, who.session_or_none(env))
    items = parked.rows(env.store, env.index)
    rows = tuple(
        (item["operation"][:12], item["subject"], item["session"] or "-", item["at"] or "-")
        for item in items
    )
    return Outcome(
        listing(items), (Table(("OPERATION", "WRITE", "BY", "AT"), rows, "nothing is parked"),)
    )


@verb(app, "show", "atlas parked show 3f9c01ab", 7, limits=(limits.PARKED,))
def show(ctx: typer.Context, wanted: Id) -> Outcome:
    """The records that a parked write would have put."""
    env = env_of(ctx)
    write = _parked(env, wanted)
    rows = [
        {"path": path, **env.index.with_numbers(record)} for path, record in _records(env, write)
    ]
    blocks: list[Block] = [Frame(row["ref"], _text(row)) for row in rows]
    snapshot, files = env.store.snapshot(write["commit"]), dict[str, str]()
    for path in env.store.changed(write["commit"]):  # the bytes that lie beside a record
        if not records.is_record(path) and (data := snapshot.read(path)) is not None:
            whole = f"{len(data):,} bytes: atlas git show {write['commit'][:12]}:{path}"
            files[path] = data.decode() if artifact.is_text(data) else whole
    blocks += [Frame(path, text) for path, text in files.items()]
    return Outcome({**write, "records": rows, "files": files}, tuple(blocks))


def _text(row: dict[str, Any]) -> str:
    fields = [
        f"{key}: {value}" for key, value in row.items() if key not in ("body", "path", "ref", "id")
    ]
    return "\n".join([*fields, "", row.get("body", "")]).rstrip()


@verb(app, "take", "atlas parked take 3f9c01ab", 3, 4, 5, 6, 7, limits=(limits.PARKED,))
def take(ctx: typer.Context, wanted: Id) -> Outcome:
    """Write it again, on what is there now. If that stops, the text is kept as a draft, the stop
    says how on, and the write stays parked until it is taken or dropped."""
    env = env_of(ctx)
    me = beginning.writer(env, strict=True)
    write = _parked(env, wanted)
    done, standing = list[str](), list[str]()
    for _, record in _wanted(_records(env, write)):
        try:
            held = record["ref"].startswith("lease:")
            written = writing.write(
                env, _again(env, me, record, write["commit"]), me, "", punctual=held
            )
        except AtlasError as stop:
            stop.hint = f"{stop.hint}\nthen atlas parked drop {write['operation'][:12]} settles it"
            raise
        refs = standing if written.empty else done
        refs.extend(row["ref"] for row in writing.records(env, written))
    unpark(env.store, write["operation"])
    outcomes = {"written again": done, "stands already, and says the same": standing}
    lines = tuple(f"{how}: {', '.join(refs)}" for how, refs in outcomes.items() if refs)
    return Outcome({**write, "written": done, "there": standing}, lines, (), published=False)


def _wanted(rows: list[tuple[str, Record]]) -> list[tuple[str, Record]]:
    """The records of a parked write that are written again. A gate brings the rest of its commit
    with it: of several the pending one does."""
    gates = [row for row in rows if row[1]["ref"].startswith("gate:")]
    return sorted(gates, key=lambda row: row[1]["resolution"] != "pending")[:1] or rows


def _again(env: Env, me: Record, record: Record, commit: str) -> Decide:
    """The change that a record asks for, decided anew.

    Raises Refused if its kind cannot be written again."""
    kind = record["ref"].partition(":")[0]
    parts = env.store.snapshot(commit)
    before = env.store.snapshot(f"{commit}^")

    def decide(tree: Tree, who: Writer) -> Change:
        if kind == "status":
            base = _common(before, tree, record["number"], status.path_of, record["stream"])
            return _status(env, me, tree, who, record, base)
        if kind == "artifact":
            name, version = record["name"], _version(record, parts)
            base = _common(before, tree, record["number"], artifact.path_of, name)
            # (That it was not there yet is what the writer had seen of it.)
            return artifact.put(tree, who, name, version, base or 0)
        if kind == "gate" and record["resolution"] == "pending":
            path = signal.path_of(record["signal"])
            blocker = signal.parse(path, parts.read(path) or b"")
            text, about = blocker["text"], blocker.get("about")
            return raising.raise_gate(
                tree, who, text, about, record["scope"], record.get("deadline")
            )
        if kind == "gate":
            return raising.clear(tree, who, record["clearance"], record.get("why"))
        seconds = times.moment(record["expires"]) - times.moment(record["at"])
        return lease.take(tree, who, [record["resource"]], record["why"], seconds)

    if kind not in ("status", "artifact", "lease", "gate"):
        raise Refused(
            f"{record['ref']} cannot be written again as it was",
            f"see it with atlas parked show, then atlas parked drop {commit[:12]}",
        )
    return decide


def _status(
    env: Env, me: Record, tree: Tree, who: Writer, record: Record, base: int | None
) -> Change:
    """The change that writes the entry again: its section, or the whole of it."""
    old = of_entry(record) or Wish(record["stream"], text=record["body"], replace=True)
    _judge_own(env, tree, old, record, base or 0)
    given = Wish(
        old.stream,
        old.heading,
        old.text,
        exact=old.exact,
        on=old.on,
        to=old.to,
        warn=old.warn,
        replace=old.replace,
        withdrawn=wording.withdrawn(env, old.stream),
        relies_on=old.relies_on,
        caveat=old.caveat,
        good_until=old.good_until,
    )
    return wording.entry(env, tree, who, me, given, wording.Options(base=base, new=True))


def _judge_own(env: Env, tree: Tree, old: Wish, record: Record, base: int) -> None:
    """Raises VersionJump if the session has written that section anew since: what was parked is the
    older text, and would stand in its place."""
    for part in stream.parts(env.ask, tree, old.stream):
        same = part.heading == old.heading and part.session == record["session"]
        if same and not old.replace and part.written > base:
            heading = shlex.quote(old.heading)
            raise VersionJump(
                f"{part.ref} has a newer text of that section by {named(part.session)}",
                "put into it what still holds of the older one",
                details={
                    "ref": part.ref,
                    "base": base,
                    "head": part.number,
                    "body": old.text,
                    "submit": f"atlas status write {old.stream} --section {heading}"
                    f" --base {part.number} --file {{draft}}",
                },
            )


def _common(
    before: Tree, tree: Tree, number: int, path_of: Callable[[str, int], str], name: str
) -> int | None:
    """The newest number before this one that the writer had read and that is still the same."""
    for base in range(number - 1, 0, -1):
        path = path_of(name, base)
        if before.blob(path) == tree.blob(path):
            return base
    return None


def _rest(record: Record) -> int:
    """The seconds for which a parked version was said to be good; 0 if none were."""
    until = record.get("good_until")
    return times.moment(until) - times.moment(record["at"]) if until else 0


def _version(record: Record, parts: Tree) -> artifact.NewVersion:
    """The version that a parked record put; `parts` are the files of its commit."""
    return artifact.NewVersion(
        parts.read(artifact.body_path(record)) or b"",
        record["ext"],
        record.get("title"),
        record.get("caveat"),
        tuple(record.get("relies_on", ())),
        same_topic=True,
        new=True,
        good_for=_rest(record),
        marks={key: record[key] for key in concern.FIELDS if key in record},
    )


@verb(app, "drop", "atlas parked drop 3f9c01ab", 7, limits=(limits.PARKED,))
def drop(ctx: typer.Context, wanted: Id) -> Outcome:
    """Settle it without writing it: it is no longer listed. Its commit stays in this clone's
    store."""
    env = env_of(ctx)
    write = _parked(env, wanted)
    unpark(env.store, write["operation"])
    commit = write["commit"][:12]
    line = f"dropped: {theirs(write['subject'])}; atlas git show {commit} still shows it"
    return Outcome(write, (line,))


def _parked(env: Env, wanted: str) -> dict[str, Any]:
    """The parked write whose operation or commit begins with these digits.

    Raises NotFound if there is none, or more than one."""
    writes = [
        write
        for write in parked.rows(env.store, env.index)
        if write["operation"].startswith(wanted) or write["commit"].startswith(wanted)
    ]
    if len(writes) != 1:
        what = "nothing that is parked here begins"
        if writes:
            what = f"{len(writes)} parked writes begin"
        raise NotFound(f"{what} with {wanted[:80]!r}", "atlas parked lists them")
    return writes[0]


def _records(env: Env, write: dict[str, Any]) -> list[tuple[str, Record]]:
    """(path, record) of what a parked commit put. Session rows are left out, because nothing
    contradicts them."""
    snapshot = env.store.snapshot(write["commit"])
    rows = []
    for path in env.store.changed(write["commit"]):
        data = snapshot.read(path)
        if data is not None and records.is_record(path) and not path.startswith("sessions/"):
            rows.append((path, records.describe(path, data)))
    return rows

"""`atlas parked`: writes of this clone that contradict what others published first."""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from .. import records
from ..env import who, writing
from ..env.env import Env
from ..errors import AtlasError, NotFound, Refused
from ..model import times
from ..model.change import Change, Writer
from ..model.text import Record
from ..model.tree import Tree
from ..outcome import Block, Frame, Outcome, Table, listing
from ..records import artifact, lease, signal, status
from ..records.board import raising
from ..sharing import parked
from ..sharing.parked import unpark
from ..visible import theirs
from . import env_of, noun, verb
from .status import entry

app = noun()
Id = Annotated[str, typer.Argument(metavar="ID", help="The operation, or its first digits.")]


@verb(app, "list", "atlas parked", 7)
def list_(ctx: typer.Context) -> Outcome:
    """The parked writes of this clone."""
    env = env_of(ctx)
    items = parked.rows(env.store, env.index)
    rows = tuple(
        (one["operation"][:12], one["subject"], one["session"] or "-", one["at"] or "-")
        for one in items
    )
    return Outcome(
        listing(items), (Table(("OPERATION", "WRITE", "BY", "AT"), rows, "nothing is parked"),)
    )


@verb(app, "show", "atlas parked show 3f9c01ab", 7)
def show(ctx: typer.Context, wanted: Id) -> Outcome:
    """What a parked write would have put."""
    env = env_of(ctx)
    one = _found(env, wanted)
    found = [{"path": path, **record} for path, record in _records(env, one)]
    blocks: list[Block] = [Frame(row["ref"], _text(row)) for row in found]
    snapshot, files = env.store.snapshot(one["commit"]), dict[str, str]()
    for path in env.store.changed(one["commit"]):  # the bytes that lie beside a record
        if not records.is_record(path) and (data := snapshot.read(path)) is not None:
            whole = f"{len(data):,} bytes: atlas git show {one['commit'][:12]}:{path}"
            files[path] = data.decode() if artifact.is_text(data) else whole
    blocks += [Frame(path, text) for path, text in files.items()]
    return Outcome({**one, "records": found, "files": files}, tuple(blocks))


def _text(row: dict[str, Any]) -> str:
    fields = [
        f"{key}: {value}" for key, value in row.items() if key not in ("body", "path", "ref", "id")
    ]
    return "\n".join([*fields, "", row.get("body", "")]).rstrip()


@verb(app, "take", "atlas parked take 3f9c01ab", 3, 4, 5, 6, 7)
def take(ctx: typer.Context, wanted: Id) -> Outcome:
    """Write it again, on what is there now. Where that stops, the text is kept as a draft, and the
    stop says how on."""
    env = env_of(ctx)
    me = who.session(env, strict=True)
    one = _found(env, wanted)
    done, there = list[str](), list[str]()
    found = _records(env, one)
    gates = [
        pair for pair in found if pair[1]["ref"].startswith("gate:")
    ]  # a gate brings the rest of its commit
    for path, record in (
        sorted(gates, key=lambda pair: pair[1]["resolution"] != "pending")[:1] or found
    ):
        try:
            held = record["ref"].startswith("lease:")
            written = writing.write(
                env, _again(env, me, path, record, one["commit"]), me, "", punctual=held
            )
        except AtlasError as stop:
            if "draft" in stop.details:
                unpark(env.store, one["operation"])
            raise
        (there if written.empty else done).extend(
            row["ref"] for row in writing.records(env, written)
        )
    unpark(env.store, one["operation"])
    told = {"written again": done, "stands already, and says the same": there}
    lines = tuple(f"{how}: {', '.join(refs)}" for how, refs in told.items() if refs)
    return Outcome({**one, "written": done, "there": there}, lines, (), published=False)


def _again(env: Env, me: Record, path: str, record: Record, commit: str) -> Any:
    """The change that a record asks for, decided anew."""
    kind = record["ref"].partition(":")[0]
    before = env.store.snapshot(f"{commit}^")

    def common(tree: Tree, place: Callable[[str, int], str], name: str) -> int | None:
        """The newest number that the writer had read and that is still the same."""
        for number in range(record["number"] - 1, 0, -1):
            if before.blob(place(name, number)) == tree.blob(place(name, number)):
                return number
        return None

    def decide(tree: Tree, who: Writer) -> Change:
        if kind == "status":
            wish = status.NewEntry(
                record["body"], relies_on=tuple(record.get("relies_on", ())), new=True
            )
            base = common(tree, status.path_of, record["stream"])
            return entry(env, tree, who, me, record["stream"], wish, base, None)
        if kind == "artifact":
            data = env.store.snapshot(commit).read(artifact.body_path(record)) or b""
            wish_ = artifact.NewVersion(
                data,
                record["ext"],
                record.get("title"),
                record.get("caveat"),
                tuple(record.get("relies_on", ())),
                True,
                True,
            )
            return artifact.put(
                tree, who, record["name"], wish_, common(tree, artifact.path_of, record["name"])
            )
        if kind == "gate" and record["resolution"] == "pending":
            place = signal.path_of(record["signal"])
            said = signal.parse(place, env.store.snapshot(commit).read(place) or b"")
            return raising.raise_gate(
                tree, who, said["text"], said.get("about"), record["scope"], record.get("deadline")
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


@verb(app, "drop", "atlas parked drop 3f9c01ab", 7)
def drop(ctx: typer.Context, wanted: Id) -> Outcome:
    """Settle it without writing it: it is no longer listed. Its commit stays in this clone's
    store."""
    env = env_of(ctx)
    one = _found(env, wanted)
    unpark(env.store, one["operation"])
    return Outcome(
        one,
        (f"dropped: {theirs(one['subject'])}; atlas git show {one['commit'][:12]} still shows it",),
    )


def _found(env: Env, wanted: str) -> dict[str, Any]:
    found = [
        one
        for one in parked.rows(env.store, env.index)
        if one["operation"].startswith(wanted) or one["commit"].startswith(wanted)
    ]
    if len(found) != 1:
        what = (
            "nothing that is parked here begins"
            if not found
            else f"{len(found)} parked writes begin"
        )
        raise NotFound(f"{what} with {wanted[:80]!r}", "atlas parked lists them")
    return found[0]


def _records(env: Env, one: dict[str, Any]) -> list[tuple[str, Record]]:
    """(path, record) of what a parked commit put; session rows aside, which nothing contradicts."""
    snapshot = env.store.snapshot(one["commit"])
    found = []
    for path in env.store.changed(one["commit"]):
        data = snapshot.read(path)
        if data is not None and records.is_record(path) and not path.startswith("sessions/"):
            found.append((path, records.describe(path, data)))
    return found

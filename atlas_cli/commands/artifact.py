"""`atlas artifact`: documents that are handed over."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..answers import artifacts
from ..cli.options import Caveat, ReliesOn, Withdrawn
from ..cli.saving import save
from ..env import addressing, beginning, reading, receipts, who, writing
from ..env.env import Env
from ..errors import Damaged, NotFound, Protocol, Refused, Usage
from ..model import names, times
from ..model.change import Change, Writer
from ..model.text import Record
from ..model.tree import Tree
from ..outcome import Block, Frame, Outcome, Raw, Table, listing
from ..records import artifact, correction
from ..visible import many, theirs
from . import GoodFor, Since, To, env_of, limits, noun, one, parsed, read_bytes, verb, warned
from .status.look import compared

app = noun()
SHOWN = 16 * 1024  # bytes of a body that `show` prints
Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="Of a-z, 0-9, dot, _ and -.",
        parser=parsed(lambda text: names.name(text, "artifact")),
    ),
]
Version = Annotated[str, typer.Argument(metavar="NAME[@N]", help="Default: the newest version.")]
File = Annotated[str, typer.Argument(metavar="[FILE|-]", help="A file, or - for standard input.")]
Type = Annotated[
    str | None, typer.Option("--type", metavar="EXT", help="Default: the file's extension.")
]
Base = Annotated[
    int | None, typer.Option("--base", metavar="N", min=0, help="The version you have read.")
]
Title = Annotated[str | None, typer.Option("--title", metavar="T", help="What it is, on one line.")]
NoCaveat = Annotated[
    bool, typer.Option("--no-caveat", help="The caveat of the version before holds no more.")
]
SameTopic = Annotated[
    bool, typer.Option("--same-topic", help="It is the same topic, however different.")
]
NewName = Annotated[bool, typer.Option("--new", help="A new name is meant, however like another.")]


@verb(
    app,
    "put",
    "atlas artifact put schema schema.sql --title 'tables for v2'",
    3,
    5,
    6,
    7,
    limits=(
        (
            "sessions at work are not told: they see it in their next digest, or with `atlas"
            " artifact list --new`; it is kept for ever, and has at most {artifact_limit:,} bytes"
        ),
    ),
)
def put(
    ctx: typer.Context,
    name: Name,
    file: File = "-",
    type_: Type = None,
    base: Base = None,
    title: Title = None,
    caveat: Caveat = None,
    no_caveat: NoCaveat = False,
    good_for: GoodFor = None,
    to: To = None,
    relies_on: ReliesOn = None,
    same_topic: SameTopic = False,
    new: NewName = False,
) -> Outcome:
    """Put a version: immutable, any bytes. One name per topic; a new version supersedes the last,
    and all are kept.

    A caveat stays with the name until a version says otherwise. If another session put one since
    you read it, it stops (3) with a merged draft."""
    env = env_of(ctx)
    if caveat and no_caveat:
        raise Usage("there is a caveat, or there is none", "give --caveat T or --no-caveat")
    data = read_bytes(env, file, artifact.largest(env.policy), artifact.ELSEWHERE)
    env.spoken = (f"artifact-{name}.{type_ or 'txt'}", data) if file == "-" else None
    env.goes_on = ("artifact", names.name(name, "artifact name"))
    me = beginning.writer(env, strict=True)
    ext = artifact.extension(type_, "" if file == "-" else Path(file).name, data)
    wish = artifact.NewVersion(
        data,
        ext,
        names.say(title, "--title", 200) if title else None,
        names.say(caveat, "--caveat") if caveat else None,
        tuple(reading.pinned_ref(env, target) for target in relies_on or ()),
        same_topic,
        new,
        no_caveat or _withdrawn(env, name),
        good_for or 0,
        addressing.marks(env, me, to or [], f"{title or ''} {caveat or ''}"),
    )
    record = _put(env, me, name, wish, base)
    line = (
        f"{record['ref']} put: {many(record['size'], 'byte')}, {record['ext']}, SHA-256"
        f" {record['sha256'][:12]}"
    )
    carried = record.get("caveat") if not caveat else None
    more = (f"its caveat stays: {theirs(carried)} (--no-caveat lifts it)",) if carried else ()
    return Outcome(record, (line, *more), published=False)


def _withdrawn(env: Env, name: str) -> bool:
    """Whether the newest version of a name was retracted: its words are not carried on."""
    last = artifact.newest(env.tree, name)
    return bool(last) and env.ask.retracted(f"artifact:{name}@{last}")


def _put(
    env: Env, me: Record, name: str, wish: artifact.NewVersion, base: int | None
) -> dict[str, Any]:
    """Writes the next version. The writer has read what it wrote, and the `base` that it names."""
    if base:
        receipts.note(
            env, "artifact", name, base, artifact.find(env.tree, name, base), claimed=True
        )

    def decide(tree: Tree, writer: Writer) -> Change:
        seen = base
        if seen is None:
            seen = receipts.newest_read(env, tree, me, "artifact", name)
        return artifact.put(tree, writer, name, wish, seen)

    try:
        written = writing.write(env, decide, me, f"artifact: {name} ")
    except Protocol as stop:
        if stop.code == Protocol.code and _withdrawn(env, name):
            stop.hint += " --withdrawn"
        raise
    record = one(writing.records(env, written))
    if record["session"] == me["id"]:  # replayed too: the first answer may never have arrived
        _note_read(env, record)
    return record


def _note_read(env: Env, record: Record) -> None:
    """Leaves a receipt for a version."""
    name, number = record["name"], record["number"]
    receipts.note(env, "artifact", name, number, artifact.path_of(name, number))


@verb(app, "show", "atlas artifact show schema@3", 7, limits=(limits.WORD,))
def show(
    ctx: typer.Context,
    version: Version,
    withdrawn: Withdrawn = False,
) -> Outcome:
    """Read a version (default: the newest), framed; up to 16 KB of text. Shown is read: it leaves a
    receipt."""
    env = env_of(ctx)
    ref = names.versioned(version, "artifact")
    record = _wanted(env, ref)
    blocks, data = shown(env, record, withdrawn)
    return Outcome(data, tuple(blocks))


def shown(env: Env, record: Record, withdrawn: bool) -> tuple[list[Block], dict[str, Any]]:
    """A version in its frame, and as data. A retracted body is withheld; any other leaves a
    receipt."""
    ref = artifact.ref("", record)
    _, body = _version(env, record["name"], record["number"])
    last = artifact.newest(env.tree, record["name"])
    held = env.ask.retracted(ref) and not withdrawn
    record = env.ask.shown(record, ref) if held else record
    head = f"{ref} by {record['session']}, {times.ago(times.moment(record['at']), env.now())}"
    head += f", superseded by {last}" if record["number"] < last else ""
    if held:
        text = correction.WITHHELD
    else:
        text = _opening(body, f"{record['name']}@{record['number']}")
        _note_read(env, record)
    full = {
        "ref": ref,
        "id": f"{record['name']}@{record['number']}",
        "version": record["number"],
        **record,
    }
    data = {
        **full,
        "body": None if held else text,
        "superseded_by": last if record["number"] < last else None,
        "corrections": env.ask.corrections(ref),
    }
    lines = []
    if record.get("title"):
        lines.append(f"title: {record['title']}")
    if record.get("relies_on"):
        lines.append(f"relies on: {', '.join(record['relies_on'])}")
    about = [Frame("", "\n".join(lines))] if lines else []
    return [Frame(head, text), *about, *warned(env, full)], data


def _opening(body: bytes, version: str) -> str:
    """The text of a body, as far as it is shown; a body that is no text is counted."""
    if not artifact.is_text(body):
        return f"({many(len(body), 'byte')}, no text; atlas artifact get)"
    text = body.decode()[:SHOWN]
    if len(body) > SHOWN:
        text += f"\n({len(body):,} bytes; the rest: atlas artifact get {version} -o FILE)"
    return text


@verb(app, "get", "atlas artifact get schema@3 -o schema.sql", 6, 7, limits=(limits.WORD,))
def get(
    ctx: typer.Context,
    version: Version,
    out: Annotated[
        str, typer.Option("-o", metavar="F|-", help="Where to; - is standard output.")
    ] = "-",
    withdrawn: Withdrawn = False,
) -> Outcome:
    """The bytes of a version, exactly as they were put. Leaves a receipt."""
    env = env_of(ctx)
    ref = names.versioned(version, "artifact")
    record = _wanted(env, ref)
    exact = artifact.ref("", record)
    if env.ask.retracted(exact) and not withdrawn:
        why = "; ".join(env.ask.warnings({"ref": exact}))
        raise Refused(
            f"{exact} was {why}",
            f"ask for another version; atlas show {exact} says the whole reason, --withdrawn gives"
            " it all the same",
            code="retracted",
        )
    _, data = _version(env, record["name"], record["number"])
    _note_read(env, record)
    env.notices += env.ask.warnings({"ref": exact, **record})
    full: dict[str, Any] = {
        "ref": exact,
        "id": exact.partition(":")[2],
        "version": record["number"],
        **record,
    }
    if out != "-":
        save(env, out, data)
        line = f"{exact} written to {out}: {many(len(data), 'byte')}"
        return Outcome({**full, "file": out}, (line,))
    if env.options.json:
        return Outcome({**full, **artifacts.inline(data)})
    if sys.stdout.isatty() and not artifact.is_text(data):
        raise Usage(f"{exact} would steer the terminal", "give it a file: -o FILE")
    return Outcome(full, (Raw(data),))


def _wanted(env: Env, ref: names.Ref) -> Record:
    """The version that a REF names; the newest if it names none."""
    return _version(env, *artifact.numbered(reading.path_of(env, ref)))[0]


def _version(env: Env, name: str, number: int | None) -> tuple[Record, bytes]:
    """A version and its bytes, as they were put."""
    path = artifact.find(env.tree, name, number)
    record = artifact.parse(path, reading.last_good(env, path)[0])
    return env.index.with_numbers(record), artifact.body(env.tree, record)


@verb(app, "list", "atlas artifact list --new", 7, limits=(limits.HANDED,))
def list_(
    ctx: typer.Context,
    new: Annotated[
        bool, typer.Option("--new", help="Every version that you have not read.")
    ] = False,
    since: Since = None,
) -> Outcome:
    """The names and their newest versions; --new: every version that you have not opened yet.

    A new reader gets those of seven days; a name put more than 48 times in a day counts once."""
    env = env_of(ctx)
    items = _unread(env) if new else [_newest(env, name) for name in artifact.known(env.tree)]
    if since is not None:
        young = {
            record["name"]
            for _, _, record in env.index.since(artifact.FOLDER, reading.since(env, since))
        }
        items = [item for item in items if item["name"] in young]
    now = env.now()
    rows = tuple(
        (
            item["ref"],
            item["ext"],
            f"{item['size']:,}",
            times.ago(times.moment(item["at"]), now),
            item["session"],
            artifacts.line(item, now),
        )
        for item in items
        if item.get("ref")
    )
    table = Table(
        ("ARTIFACT", "TYPE", "BYTES", "WHEN", "BY", "TITLE"),
        rows,
        "nothing new" if new else "nothing was put",
    )
    return Outcome(listing(items), (table,))


def _unread(env: Env) -> list[dict[str, Any]]:
    """The versions that are new to the reader. Noted are the names that count once, and how many
    old versions a new reader is spared."""
    unread = artifacts.unread(env.ask, who.session_or_none(env))
    env.notices += [
        artifact.noise(name, count, "day", count) for name, count in unread.noisy.items()
    ]
    if unread.older:
        old = f"put before {unread.follows} ended, which you follow" if unread.follows else ""
        env.notices.append(
            f"you are new here: not counted as new: {many(unread.older, 'version')}"
            f" {old or 'older than seven days'}"
        )
    return [
        {"id": item["ref"].partition(":")[2], "version": item["number"], **item}
        for item in unread.items
    ]


def _newest(env: Env, name: str) -> dict[str, Any]:
    """The newest version of a name; its damage if it cannot be read."""
    number = artifact.newest(env.tree, name)
    try:
        record = artifact.get(env.tree, name, number)
    except (Damaged, NotFound) as error:  # NotFound: bytes that a hand put without their about.yaml
        env.notices.append(error.message)
        return {"ref": None, "name": name, "number": number, "damage": error.message}
    return env.ask.shown(
        {"ref": artifact.ref("", record), "id": f"{name}@{number}", "version": number, **record}
    )


@verb(app, "log", "atlas artifact log schema", 7, limits=(limits.HANDED,))
def log(ctx: typer.Context, name: Name) -> Outcome:
    """The versions of a name, newest first."""
    env = env_of(ctx)
    artifact.find(env.tree, name)
    last = artifact.newest(env.tree, name)
    versions = [
        artifact.get(env.tree, name, number)
        for number in range(last, 0, -1)
        if env.tree.blob(artifact.path_of(name, number))
    ]
    items = [env.ask.shown({"ref": artifact.ref("", record), **record}) for record in versions]
    rows = tuple(
        (
            item["ref"],
            item["ext"],
            f"{item['size']:,}",
            times.ago(times.moment(item["at"]), env.now()),
            item["session"],
            artifacts.line(item, env.now()),
        )
        for item in items
    )
    return Outcome(
        listing(items), (Table(("ARTIFACT", "TYPE", "BYTES", "WHEN", "BY", "TITLE"), rows),)
    )


@verb(app, "diff", "atlas artifact diff schema 2 3", 6, 7, limits=(limits.HANDED,))
def diff(
    ctx: typer.Context,
    name: Name,
    old: Annotated[int | None, typer.Argument(metavar="[N]", min=1)] = None,
    new: Annotated[int | None, typer.Argument(metavar="[M]", min=1)] = None,
) -> Outcome:
    """The changes between two versions (default: the last two)."""
    env = env_of(ctx)
    to = new or artifact.newest(env.tree, name)
    since = old or to - 1
    texts = []
    for number in (since, to):
        data = artifact.body(env.tree, artifact.get(env.tree, name, number)) if number else b""
        if env.ask.retracted(f"artifact:{name}@{number}"):
            data = f"{correction.WITHHELD}\n".encode()
        if not artifact.is_text(data):
            raise Refused(
                f"artifact:{name}@{number} is no text",
                f"atlas artifact get {name}@{number} -o FILE",
            )
        texts.append(data.decode())
    return compared(texts[0], texts[1], f"artifact:{name}@{since}", f"artifact:{name}@{to}")

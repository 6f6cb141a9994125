"""`atlas status`: where things stand."""

import re
from typing import Annotated, Any

import typer

from ..env import reading, receipts, who, writing
from ..env.env import Env
from ..errors import NotFound, Refused, Usage
from ..model import names, times
from ..model.change import Change, Writer
from ..model.text import Record
from ..model.tree import Tree
from ..outcome import Block, Frame, Outcome, Table, listing
from ..records import artifact, correction, status
from . import Since, body, env_of, limits, noun, parsed, verb, warned

app = noun("show")
_LEAVES = 5  # words of an entry that say where the rest of it is
Stream = Annotated[
    str, typer.Argument(metavar="[STREAM]", parser=parsed(lambda text: names.name(text, "stream")))
]
Text = Annotated[str | None, typer.Option("-m", metavar="TEXT", help="The text.")]
File = Annotated[
    str | None, typer.Option("--file", metavar="F", help="A file that holds the text.")
]


Overflow = Annotated[
    str | None,
    typer.Option("--overflow", metavar="NAME", help="A text over the limit becomes this artifact."),
]


def with_text(given: str | None, section: str | None, replace: bool, overflow: str | None) -> None:
    """Raises Usage if an option says what becomes of the text, and no text is given."""
    options = {"--section": section, "--replace": replace, "--overflow": overflow}
    if given is None and (alone := [name for name, value in options.items() if value]):
        raise Usage(
            f"{', '.join(alone)}: there is no text to be put so", "give it: -m TEXT, --file F or -"
        )


def entry(
    env: Env,
    tree: Tree,
    who: Writer,
    me: Record,
    stream: str,
    wish: status.NewEntry,
    base: int | None,
    overflow: str | None,
) -> Change:
    """The change that writes the next entry.

    overflow: the artifact that takes a text over the limit; the beginning of its first paragraph
    becomes the entry."""
    seen = base
    if base is None:
        seen = receipts.newest_read(env, tree, me, "status", stream, bool(wish.section))
    try:
        return status.write(tree, who, stream, wish, seen)
    except Refused as refused:
        if overflow is None or refused.code != "limit":
            raise
        over = refused.details["words"] - refused.details["limit"]
    body = artifact.NewVersion(
        wish.body.encode(), "md", f"the whole of what {stream} says", same_topic=True, new=True
    )
    put = artifact.put(
        tree, who, overflow, body, receipts.newest_read(env, tree, me, "artifact", overflow)
    )
    ref = f"artifact:{overflow}@{artifact.newest(tree, overflow) + 1}"
    short = f"{_beginning(wish.body, over)}\n\nThe whole text: {ref}\n"
    try:
        change = status.write(tree, who, stream, wish._replace(body=short), seen)
    except Refused as refused:
        if refused.code == "limit":
            refused.hint = "its other sections leave no room: say less there, or give no --section"
        raise
    return change._replace(files={**put.files, **change.files}, bases=(*put.bases, *change.bases))


def _beginning(body: str, over: int) -> str:
    """The first paragraph of a text that is too long by so many words, or as much of it as the
    entry has room for."""
    paragraph, most = body.strip().partition("\n\n")[0], len(body.split()) - over - _LEAVES
    words = paragraph.split()
    return paragraph if len(words) <= most else " ".join([*words[: max(0, most)], "…"])


def withdrawn(env: Env, stream: str) -> bool:
    """Whether a stream's current entry was retracted."""
    return env.ask.retracted(f"status:{stream}@{status.newest(env.tree, stream)}")


def written(
    env: Env, stream: str, wish: status.NewEntry, base: int | None, me: Record, overflow: str | None
) -> dict[str, Any]:
    """Writes the next entry. The session has read what it wrote."""
    wish = wish._replace(withdrawn=withdrawn(env, stream))
    if base is not None:
        receipts.note(
            env, "status", stream, base, status.find(env.tree, stream, base), claimed=True
        )
    done = writing.write(
        env,
        lambda tree, who: entry(env, tree, who, me, stream, wish, base, overflow),
        me,
        f"status: {stream} ",
    )
    records = writing.records(env, done)
    record = next(row for row in records if row["ref"].startswith("status:"))
    if record["session"] == me["id"]:  # replayed too: the first answer may never have arrived
        receipts.note(
            env, "status", stream, record["number"], status.path_of(stream, record["number"])
        )
        for row in (row for row in records if row["ref"].startswith("artifact:")):
            path = artifact.path_of(row["name"], row["number"])
            receipts.note(env, "artifact", row["name"], row["number"], path)
    return record


@verb(app, "show", "atlas status show main@12", 7, limits=(limits.WRITTEN,))
def show(
    ctx: typer.Context, entry: Annotated[str, typer.Argument(metavar="[STREAM[@N]]")] = "main"
) -> Outcome:
    """The current entry of a stream, in full (or entry N). Shown is read: it leaves a receipt."""
    env = env_of(ctx)
    ref = names.versioned(entry, "status")
    number = status.newest(env.tree, ref.id) if ref.number is None else ref.number
    if not number and ref.number is None:
        return Outcome(
            {"stream": ref.id, "version": 0, "body": ""}, (status.empty(env.tree, ref.id),)
        )
    record = reading.shown_status(env, ref.id, number, who.session_or_none(env))
    return Outcome(record, tuple(shown(env, record)))


def shown(env: Env, record: Record) -> list[Block]:
    """An entry, as `shown_status` gives it: its frame, then its warnings."""
    age = times.ago(times.moment(record["at"]), env.now())
    head = f"{record['ref']} by {record['session']}, {age}"
    last = status.newest(env.tree, record["stream"])
    if record["number"] < last:
        head += f", superseded by {last}"
    text = correction.WITHHELD if record["body"] is None else record["body"]
    return [Frame(head, text), *warned(env, record)]


@verb(
    app,
    "write",
    "atlas status write - <<'EOF'\nParser done, tests green. Open: the cache.\nEOF",
    3,
    5,
    6,
    7,
    limits=(
        (
            "sessions at work are not told: they see it when they next read, or when their write"
            " stops; at most {status_words} words"
        ),
    ),
)
def write(
    ctx: typer.Context,
    stream: Annotated[str, typer.Argument(metavar="[STREAM]")] = "main",
    dash: Annotated[str | None, typer.Argument(metavar="[-]", help="The text from stdin.")] = None,
    text: Text = None,
    file: File = None,
    unchanged: Annotated[
        str | None, typer.Option("--unchanged", metavar="WHY", help="It still holds: why.")
    ] = None,
    section: Annotated[
        str | None, typer.Option("--section", metavar="H", help="Only the section under H.")
    ] = None,
    new: Annotated[
        bool, typer.Option("--new", help="A new stream is meant, however like another.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="The text replaces the whole entry.")
    ] = False,
    overflow: Overflow = None,
    base: Annotated[
        int | None, typer.Option("--base", metavar="N", min=1, help="The entry you have read.")
    ] = None,
    relies_on: Annotated[
        list[str] | None, typer.Option("--relies-on", metavar="REF", help="What it rests on.")
    ] = None,
    caveat: Annotated[
        str | None, typer.Option("--caveat", metavar="T", help="Shown wherever it is shown.")
    ] = None,
) -> Outcome:
    """Write the next entry: the whole text, or (--section) one part of it, carrying the rest.

    It supersedes the entry that you have read. If another session wrote since, it stops (3) with a
    merged draft."""
    env = env_of(ctx)
    if stream == "-":
        stream, dash = "main", "-"
    given = body(env, text, file, dash)
    if (given is None) == (unchanged is None):
        raise Usage(
            "give the text, or say that it is unchanged",
            "-m TEXT, --file F or -; or --unchanged WHY",
        )
    with_text(given, section, replace, overflow)
    wish = _new_entry(env, given or "", unchanged, relies_on or [], caveat)
    wish = wish._replace(section=section, replace=replace, new=new)
    overflow = names.name(overflow, "artifact name") if overflow else None
    record = written(
        env, names.name(stream, "stream"), wish, base, who.session(env, strict=True), overflow
    )
    return Outcome(record, (f"{record['ref']} written",), published=False)


def _new_entry(
    env: Env, text: str, unchanged: str | None, relies_on: list[str], caveat: str | None
) -> status.NewEntry:
    """An entry with this text, its REFs as they are stored. Raises Usage if an option is no text
    that can be kept."""
    relies = tuple(reading.pinned_ref(env, target) for target in relies_on)
    still = names.say(unchanged, "--unchanged") if unchanged else None
    return status.NewEntry(
        text,
        unchanged=still,
        relies_on=relies,
        caveat=names.say(caveat, "--caveat") if caveat else None,
    )


@verb(app, "log", "atlas status log main -n 5", 7, limits=(limits.WRITTEN,))
def log(
    ctx: typer.Context,
    stream: Stream = "main",
    count: Annotated[int, typer.Option("-n", metavar="N", min=1)] = 20,
    since: Since = None,
) -> Outcome:
    """The entries of a stream, newest first."""
    env = env_of(ctx)
    last = status.newest(env.tree, stream)
    first = 0 if since is None else _then(env, stream, since)
    items = [
        _brief(env, stream, number)
        for number in range(last, max(first, last - count), -1)
        if env.tree.blob(status.path_of(stream, number))
    ]
    rows = tuple(
        (
            item["ref"],
            item["session"],
            times.ago(times.moment(item["at"]), env.now()),
            correction.said(item, "first", env.now()),
        )
        for item in items
    )
    table = Table(
        ("ENTRY", "BY", "WHEN", "FIRST LINE"), rows, "" if rows else status.empty(env.tree, stream)
    )
    total = last - first
    more = (f"{total} in all; -n {total} shows them",) if total > len(items) else ()
    return Outcome(listing(items, total), (table, *more))


def _then(env: Env, stream: str, since: str) -> int:
    """The number of the entry that stood in a stream at a time; 0 if it was empty then."""
    path = env.index.as_of(f"{status.FOLDER}/{stream}", reading.since(env, since))
    return int(path.rpartition("/")[2].removesuffix(".md")) if path else 0


def _brief(env: Env, stream: str, number: int) -> dict[str, Any]:
    record = env.ask.shown(
        {"ref": f"status:{stream}@{number}", **status.get(env.tree, stream, number)}
    )
    body = record.pop("body")
    if body is None:
        return {**record, "first": None}
    return {**record, "first": next((line for line in body.split("\n") if line.strip()), "")}


@verb(app, "diff", "atlas status diff main 11 12", 7, limits=(limits.WRITTEN,))
def diff(
    ctx: typer.Context,
    stream: Annotated[str, typer.Argument(metavar="[STREAM]")] = "main",
    old: Annotated[int | None, typer.Argument(metavar="[N]", min=1)] = None,
    new: Annotated[int | None, typer.Argument(metavar="[M]", min=1)] = None,
    since: Since = None,
) -> Outcome:
    """The changes between two entries (default: the last two; --since: from the one that stood
    there then).

    `diff 3 8` is of main, unless a stream is named 3."""
    env = env_of(ctx)
    if (
        new is None
        and re.fullmatch("[1-9][0-9]{0,8}", stream)
        and not status.newest(env.tree, stream)
    ):
        stream, old, new = "main", int(stream), old
    last = status.newest(env.tree, names.name(stream, "stream"))
    to = new or last
    if not last:
        raise NotFound(status.empty(env.tree, stream), "atlas status write")
    base = (old or to - 1) if since is None else _then(env, stream, since)
    before = _body(env, stream, base) if base else ""
    after = _body(env, stream, to)
    return compared(before, after, f"status:{stream}@{base}", f"status:{stream}@{to}")


def _body(env: Env, stream: str, number: int) -> str:
    text = reading.shown_status(env, stream, number, None)["body"]
    return f"{correction.WITHHELD}\n" if text is None else str(text)


def compared(before: str, after: str, old: str, new: str) -> Outcome:
    """Two texts as a unified diff."""
    import difflib

    lines = list(difflib.unified_diff(before.split("\n"), after.split("\n"), old, new, lineterm=""))
    text = "\n".join(lines) or "(no difference)"
    return Outcome({"from": old, "to": new, "diff": text}, (Frame(f"{old} to {new}", text),))

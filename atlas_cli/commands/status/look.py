"""`atlas status`: where things stand, and where they stood."""

import re
import shlex
from typing import Annotated, Any

import typer

from ...answers import artifacts
from ...answers import stream as streams
from ...env import pushed, reading, standing, who
from ...env.env import Env
from ...errors import NotFound
from ...model import change, names, times
from ...model.text import Record
from ...outcome import Block, Frame, Outcome, Table, listing
from ...records import correction, parts, status
from ...records.status_write import titled
from .. import Since, env_of, limits, noun, parsed, verb

app = noun("show")
_INNER = ("sections", "earlier", "kept", "wish")  # how an entry is put together
Stream = Annotated[
    str, typer.Argument(metavar="[STREAM]", parser=parsed(lambda text: names.name(text, "stream")))
]


@verb(app, "show", "atlas status show main@12", 7, limits=(limits.WRITTEN,))
def show(
    ctx: typer.Context, entry: Annotated[str, typer.Argument(metavar="[STREAM[@N]]")] = "main"
) -> Outcome:
    """The current entry of a stream, in full (or entry N). Shown is read: it leaves a receipt."""
    env = env_of(ctx)
    ref = names.versioned(entry, "status")
    if is_empty(env, ref):
        return Outcome({"stream": ref.id, "version": 0, "body": ""}, tuple(empty(env, ref.id)))
    number = ref.number or reading.current(env, ref.id)
    if ref.operation:
        number = reading.resolve(env, ref)[1]["number"]
    record = reading.shown_status(env, ref.id, number, who.session_or_none(env))
    return Outcome(record, tuple(shown(env, record)))


def is_empty(env: Env, ref: names.Ref) -> bool:
    """Whether a REF is of what stands in a stream, and nothing does."""
    asked = ref.number is None and not ref.operation
    return asked and not status.newest(env.tree, ref.id)


def empty(env: Env, stream: str) -> list[Block]:
    """The answer that nothing stands in a stream. Raises NotFound if there is no such stream."""
    # (a table without rows: what says *nothing* says how old it is)
    table = Table(("STATUS",), (), status.empty(env.tree, stream, _known(env)))
    return [table, *pushed.frames(env, pushed.marks(env))]


def _known(env: Env) -> list[str]:
    """The streams that somebody has named before an entry is there: the policy, or the session."""
    me = who.session_or_none(env) or {}
    return [*env.policy["streams"], *me.get("streams", ())]


def shown(env: Env, record: Record, withdrawn: bool = False) -> list[Block]:
    """An entry, as `shown_status` gives it: its frame, then its warnings. `withdrawn`: with what
    was retracted."""
    frame, _ = standing.frame(env, record, bounded=False, withdrawn=withdrawn)
    newest = record["number"] == status.newest(env.tree, record["stream"])
    marks = pushed.frames(env, pushed.marks(env)) if newest else []
    return [frame, *standing.warned(env, record), *marks]


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
        if _is_readable(env, stream, number)
    ]
    reading.damaged(env, f"{status.FOLDER}/{stream}/")
    rows = tuple(
        (
            item["ref"],
            item["session"],
            times.ago(times.moment(item["at"]), env.now()),
            artifacts.line(item, env.now(), "first"),
        )
        for item in items
    )
    table = Table(
        ("ENTRY", "BY", "WHEN", "FIRST LINE"),
        rows,
        "" if rows else status.empty(env.tree, stream, _known(env)),
    )
    total = last - first
    more = (f"{total} in all; -n {total} shows them",) if total > len(items) else ()
    return Outcome(listing(items, total), (table, *more))


def _is_readable(env: Env, stream: str, number: int) -> bool:
    """Whether there is an entry of that number, and no hand has put there what is none."""
    record = status.readable(env.tree, stream, number)
    return record is not None and record["number"] == number


def _then(env: Env, stream: str, since: str) -> int:
    """The number of the entry that stood in a stream at a time; 0 if it was empty then."""
    path = env.index.as_of(f"{status.FOLDER}/{stream}", reading.since(env, since))
    return int(path.rpartition("/")[2].removesuffix(".md")) if path else 0


def _brief(env: Env, stream: str, number: int) -> dict[str, Any]:
    """An entry in a list: its own section, and the first line of that."""
    record = status.get(env.tree, stream, number)
    own = [part for part in parts.of_record(env.tree, record) if part.written == number]
    lines = [line for part in own for line in part.text.split("\n") if line.strip()]
    left = {key: value for key, value in record.items() if key not in _INNER}
    row = env.ask.shown({"ref": f"status:{stream}@{number}", **left})
    body = row.pop("body")
    until = own[0].good_until if own else ""
    first = None if body is None else next(iter(lines), "")
    return {**row, **change.given(good_until=until), "first": first}


@verb(app, "history", "atlas status history Parser", 7, limits=(limits.WRITTEN,))
def history(
    ctx: typer.Context,
    heading: Annotated[str, typer.Argument(metavar="HEADING", help="As it stands, or stood.")],
    stream: Annotated[str, typer.Option("--stream", metavar="STREAM")] = "main",
    count: Annotated[int, typer.Option("-n", metavar="N", min=1)] = 20,
) -> Outcome:
    """One section through time, newest first, folded or not."""
    env = env_of(ctx)
    last = status.newest(env.tree, names.name(stream, "stream"))
    rows = [
        standing.in_force(env, part) for part in streams.history(env.ask, env.tree, stream, heading)
    ]
    if not last:
        raise NotFound(status.empty(env.tree, stream, _known(env)), "atlas status write")
    if not rows:
        near = names.hint(
            heading, streams.headings(env.ask, env.tree, stream), f"atlas status show {stream}"
        )
        raise NotFound(f"no section {heading[:80]!r} stands, or stood, in status:{stream}", near)
    shown = rows[:count]
    blocks: list[Block] = [
        Frame(titled(part, env.now()), standing.words(env, part, env.policy["status_words"]))
        for part in shown
    ]
    if len(rows) > count:
        blocks.append(f"{len(rows)} in all; -n {len(rows)} shows them")
    if not any(part.heading == heading for part in streams.parts(env.ask, env.tree, stream)):
        back = f"atlas status write {stream} --section {shlex.quote(heading)} --from {rows[0].ref}"
        blocks.append(f"it is not in the current entry, status:{stream}@{last}; back: {back}")
    return Outcome(listing([part.data() for part in shown], len(rows)), tuple(blocks))


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
        raise NotFound(status.empty(env.tree, stream, _known(env)), "atlas status write")
    base = (old or to - 1) if since is None else _then(env, stream, since)
    before = _body(env, stream, base) if base else ""
    after = _body(env, stream, to)
    return compared(before, after, f"status:{stream}@{base}", f"status:{stream}@{to}")


def _body(env: Env, stream: str, number: int) -> str:
    record = reading.shown_status(env, stream, number, None)
    return f"{correction.WITHHELD}\n" if record["body"] is None else standing.marked(env, record)


def compared(before: str, after: str, old: str, new: str) -> Outcome:
    """Two texts as a unified diff."""
    import difflib

    lines = list(difflib.unified_diff(before.split("\n"), after.split("\n"), old, new, lineterm=""))
    text = "\n".join(lines) or "(no difference)"
    return Outcome({"from": old, "to": new, "diff": text}, (Frame(f"{old} to {new}", text),))

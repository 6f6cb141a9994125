"""The telling of what concerns a session: found, printed within the words that there are for it,
and noted."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from ..answers import concern as asked
from ..answers import corrections
from ..answers.sessions import hearers
from ..answers.stream import parts
from ..model import times
from ..model.text import Record
from ..records import status, telling
from ..records.concern import Item, label, signed
from ..records.telling import News, Verdict
from ..visible import named
from .env import Env

Block = tuple[str, str]  # a title, and a text of others


def unread(env: Env, me: Record, paths: Iterable[str] | None = None) -> tuple[list[News], bool]:
    """The items that a session does not know, and whether no file of it is known. `paths`: what is
    staged, if git need not be asked."""
    ask = env.ask
    mine = asked.view(ask, me, asked.files(ask, env.git, me, paths))
    rows = asked.news(ask, me, mine, asked.items(ask, env.snapshot))
    return asked.settled(ask, env.git, rows, mine), mine.blind


def blocks(env: Env, me: Record, rows: Sequence[News]) -> list[Block]:
    """The rows, each with its title, as many words as it is given, and its warnings whole, and what
    else its reader must know: as a diff where an earlier version was told."""
    texts = [_text(env, me, row.item) for row in rows]
    shares = telling.portions([len(text.split()) for text in texts])
    printed = []
    for row, text, share in zip(rows, texts, shares, strict=True):
        lines = [f"! {warning}" for warning in (*row.item.warn, *row.item.notes)]
        lines += [telling.cut(text, share)] if share else []
        printed.append((_title(env, row), "\n".join(lines)))
    return printed


def warnings(env: Env, me: Record) -> list[str]:
    """A line for each warning in force that concerns a session, whether it was told or not."""
    return [
        f"{warning} ({signed(row.item)}, {row.reason.words})"
        for row in asked.warnings(env.ask, env.tree, env.git, me)
        for warning in row.item.warn
        if row.reason
    ]


def _title(env: Env, row: News) -> str:
    age = times.ago(row.item.at, env.now())
    by = f"{label(row.item)} by {named(row.item.session)}, {age}"
    why = row.reason.words if row.reason else ""
    return "; ".join(filter(None, (by, why, corrections.mends(env.ask, row.item.ref))))


def without_notice(env: Env, me: Record, rows: Sequence[News]) -> tuple[News, ...]:
    """The rows but for the corrections that the session hears of by a notice of their own."""
    return tuple(row for row in rows if not corrections.is_noticed(env.ask, me, row.item.ref))


def _text(env: Env, me: Record, item: Item) -> str:
    """The text of an item; of a section whose earlier version was told, what has changed since."""
    if item.kind != status.KIND.name:
        return item.text
    before = env.local.last_told(hearers(me, item.session), item.key, telling.TOLD)
    if before is None:
        return item.text
    stream = item.key.partition(":")[2].partition("#")[0]
    then = next(
        (
            part.text
            for part in parts(env.ask, env.snapshot, stream, before[1])
            if part.heading == item.heading
        ),
        None,
    )
    if then is None:
        return item.text
    lines = difflib.unified_diff(then.split("\n"), item.text.split("\n"), n=0, lineterm="")
    changed = [line for line in lines if not line.startswith(("--- ", "+++ ", "@@ "))]
    changed = [line for line in changed if line not in ("+", "-")]
    short = "\n".join(changed)
    return short if changed and len(short.split()) < len(item.text.split()) else item.text


def to_holder(session: str) -> str:
    """The command that tells the holder of a lease something: its next commit stops for it."""
    return f"atlas signal post dependency --for {named(session)} -m …"


def note(env: Env, me: Record, verdict: Verdict) -> bool:
    """Notes what the session was told, by text, by heading and by count. False where that could not
    be noted."""
    at = env.now()
    for how, rows in (
        (telling.TOLD, verdict.told),
        (telling.HEADED, verdict.headed),
        (telling.COUNTED, verdict.counted),
    ):
        keep(env, me, how, (row.item for row in rows))
    if verdict.stops and any(row.seldom for row in verdict.told):
        env.local.note(me["id"], 0, at, [(asked.STOPPED, "", 0)])
    return env.local.keeps


def keep(env: Env, me: Record, how: int, items: Iterable[Item]) -> None:
    """Notes that a session knows these, in that way."""
    known = [(item.key, item.version, item.number) for item in items]
    env.local.note(me["id"], how, env.now(), known)


def note_entry(env: Env, me: Record, stream: str, number: int) -> None:
    """Notes that the whole text of an entry was printed: each section of it is read."""
    whole = parts(env.ask, env.snapshot, stream, number)
    keep(env, me, telling.READ, (asked.of_part(part, env.now()) for part in whole))

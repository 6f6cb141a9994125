"""The records that were written: since when this tells, corrections, handovers, decisions, what
came by hand, stops."""

from __future__ import annotations

from collections.abc import Sequence

from ..answers import artifacts, mending
from ..answers import corrections as corrected
from ..answers import inbox as by_hand
from ..model.text import Record
from ..outcome import Block
from ..records import artifact, decision, telling
from ..visible import many, named, wrapped
from .part import MOST, Part, State, listed


def since(state: State) -> Part | None:
    """How much was written since."""
    if state.after is None:
        return None
    index = state.env.index
    total = index.last_seq() - state.after
    commits, _ = index.commits(1, upto=state.after)
    commit = commits[0]["oid"] if commits else None
    when = "your last look" if state.since == "last" else state.since
    line = f"since {when}: {many(total, 'write')}"
    return Part("since", {"asked": state.since, "commit": commit, "writes": total}, [line])


UNMENDED, HEARD, WIDE = 2, 3, 94  # lines, rows that are shown in any case, columns


def corrections(state: State) -> Part:
    """The corrections, those of what the reader relies on or has read first: who mends what each
    led to, why, and what was built on it."""
    items = corrected.recent(state.ask, state.me, state.after)
    rows, beneath, unmended = [], [], []
    for row in items[:MOST]:
        reach = corrected.reach(state.ask, row["target"])
        row |= {
            "relied_on_by": list(reach.leaning),
            "readers": [reader._asdict() for reader in reach.readers],
            "finished": list(reach.finished),
            "mended_by": [task._asdict() for task in mending.of(state.ask, row["ref"])],
        }
        was = "retracted" if row["retract"] else "corrected"
        built = bool(reach.leaning or reach.readers or row["touches"])
        mends = mending.cell(state.ask, row, built)
        unmended += [row] if mends == mending.NOBODY else []
        rows.append((row["target"], was, row["touches"] or "-", mends))
        beneath.append([*_reason(state, row), *_built_on(reach)])
    columns, more = "RECORD|WAS|WHICH|MENDED BY", "atlas log --kind correction"
    title, blocks = "corrections", _unmended(unmended)
    part = listed("corrections", items, rows, columns, title, more, blocks=blocks)
    if part.rows is None:
        return part
    least = _fresh(state, items)
    return part._replace(rows=part.rows._replace(beneath=beneath, least=least))


def _reason(state: State, row: Record) -> list[str]:
    """The first words of a correction, as lines."""
    words, cut = telling.first_words(state.words(row, "why"))
    more = f" (atlas show {row['ref']})" if cut else ""
    return wrapped(f"{row['session']}: {words}{more}", WIDE)


def _built_on(reach: corrected.Reach) -> list[str]:
    """The records that say that they rely on a wrong one; counted are the tasks that were finished
    since by who has read it."""
    parts = [corrected.few(reach.leaning)] if reach.leaning else []
    if count := len(reach.finished):
        parts.append(f"{many(count, 'task')} finished by then by who read it")
    return wrapped(f"built on it: {' and '.join(parts)}", WIDE) if parts else []


def _unmended(rows: Sequence[Record]) -> list[Block]:
    """The corrections whose mending nobody has posted, with the command that does."""
    return [
        f"nobody has posted the mending of {named(row['target'])}: {mending.command(row)}"
        for row in rows[:UNMENDED]
    ]


def _fresh(state: State, items: Sequence[Record]) -> int:
    """How many rows, the first ones, must be shown, since by them the reader is told: it hears of
    them by no notice."""
    least = 1
    for at, row in enumerate(items[:HEARD], 1):
        if state.me and row["touches"] and corrected.note_told(state.ask, state.id, row):
            least = at
    return least


def new(state: State) -> Part:
    """The artifacts that the reader has not read."""
    unread = artifacts.unread(state.ask, state.me, MOST)
    state.env.notices += [
        artifact.noise(name, count, "day", count) for name, count in unread.noisy.items()
    ]
    rows = ((row["ref"], row["session"], artifacts.line(row, state.now)) for row in unread.items)
    title = "artifacts that you have not read"
    if unread.older:
        title += f" ({unread.older} older ones are not counted)"
    if unread.more:
        title += f" (of the newest {unread.total})"
    more = "atlas artifact list --new"
    columns = "NEW TO YOU|BY|WHAT"
    return listed("new", unread.items, rows, columns, title, more, total=unread.total)


def decisions(state: State) -> Part:
    """The newest decisions; in the morning report those since then."""
    index = state.env.index
    if state.after is None:
        title, pairs = "recent decisions", index.newest(decision.FOLDER, 5)
        total = index.count(decision.FOLDER)
    else:
        title = "decisions"
        records = reversed(index.since(decision.FOLDER, state.after))
        pairs = [(path, record) for _, path, record in records]
        total = len(pairs)
    items = [state.ask.row(decision.KIND, path, record) for path, record in pairs]
    rows = (
        (
            row["id"],
            row["stance"] or "-",
            row["recommended"] or "-",
            row["chosen"] or "-",
            state.words(row, "title"),
            row["why"] or "-",
        )
        for row in items
    )
    columns = "DECISION|STANCE|RECOMMENDED|CHOSEN|TITLE|WHY"
    return listed("decisions", items, rows, columns, title, "atlas decision list", total=total)


def inbox(state: State) -> Part:
    """The notes that were put into the inbox by hand."""
    items = by_hand.recent(state.ask)
    rows = (
        (row["ref"], row["by"], state.ago(row["at"]), state.words(row, "title")) for row in items
    )
    title, more = "put here by hand, on a forge", "atlas log --kind inbox"
    return listed("inbox", items, rows, "REF|BY|WHEN|TITLE", title, more)


def collisions(state: State) -> Part | None:
    """The stops since, and what was written after them."""
    if state.after is None:
        return None
    commits, total = state.env.index.commits(MOST, after=state.after, stopped=True)
    items = [
        {"session": row["session"], "stops": row["stops"].split("\n"), "then": row["subject"]}
        for row in commits
    ]
    rows = ((row["session"] or "-", ", ".join(row["stops"]), row["then"]) for row in items)
    columns, more = "SESSION|STOPS|THEN WROTE", "atlas log --collisions"
    return listed("collisions", items, rows, columns, "stops met", more, total=total)

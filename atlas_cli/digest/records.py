"""The records that were written: since when this tells, corrections, handovers, decisions, what
came by hand, stops."""

from __future__ import annotations

from ..answers import artifacts
from ..answers import corrections as corrected
from ..answers import inbox as by_hand
from ..records import artifact, decision
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
    line = f"since {when}: {total} {'write' if total == 1 else 'writes'}"
    return Part("since", {"asked": state.since, "commit": commit, "writes": total}, [line])


def corrections(state: State) -> Part:
    """The corrections, those of what the reader relies on or has read first."""
    items = corrected.recent(state.ask, state.me, state.after)
    rows = []
    for row in items[:MOST]:
        reach = corrected.reach(state.ask, row["target"])
        built = [*reach.leaning[:5], *(task for reader in reach.readers for task in reader.tasks)]
        rows.append(
            (
                row["target"],
                "retracted" if row["retract"] else "corrected",
                row["touches"] or "-",
                state.words(row, "why"),
                ", ".join(dict.fromkeys(built)) or "-",
                str(len(reach.readers)),
            )
        )
    columns = "RECORD|WAS|WHICH|WHY|BUILT ON IT|READERS"
    more = "atlas log --kind correction"
    return listed("corrections", items, rows, columns, "corrections", more)


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
            row["stance"],
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

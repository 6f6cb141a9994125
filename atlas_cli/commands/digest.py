"""The digest: where things stand, most important first, within a word budget; with `--since` the
morning report. Bare `atlas` prints it and begins nothing."""

import difflib
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, NamedTuple

import typer

from ..answers import inbox
from ..cli import limits
from ..env import drafting, reading, receipts, who
from ..env.env import Env
from ..errors import Damaged
from ..model import names, times
from ..model.text import Record
from ..outcome import Block, Frame, Outcome, Table
from ..records import artifact, correction, decision, lease, session, status
from ..records.board import readiness, task
from ..sharing import parked
from ..visible import named, theirs
from . import Since, env_of, single, verb, warned
from . import session as sessions

app = single()
WORDS = 700
MOST = (
    20  # rows of a list in the data, the ones that matter most; what is cut is counted under `more`
)
CELL, LETTERS = 14, 160  # words and characters of a cell
RESERVED = 90  # words for what a command says around the digest
Words = Annotated[
    int, typer.Option("--words", metavar="N", help="The digest's length, in words.", min=100)
]


class Part(NamedTuple):
    """A list of the digest: its rows, what matters most first, and the command that shows the
    rest."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    more: str
    total: int


class Digest:
    """What is gathered for a reader (`me` None: nobody has begun); `after`: the commit since which
    things are told."""

    def __init__(self, env: Env, me: Record | None, after: int | None) -> None:
        self.env, self.me, self.after, self.now = env, me, after, env.now()
        self.data: dict[str, Any] = {"more": {}}
        self.shared: list[Record] = []  # live leases that are kept in another store
        if env.shares:
            from ..env import elsewhere

            asked = env.dealing.look  # by begin
            self.shared, looks = elsewhere.survey(env, _live, asked, asked)
            self.data["shared"] = [one._asdict() for one in looks]
            env.notices += [one.line() for one in looks]

    def part(
        self,
        key: str,
        items: list[Record],
        rows: Iterable[tuple[str, ...]],
        columns: str,
        title: str,
        more: str,
        total: int | None = None,
    ) -> list[Part]:
        """A list, in the data under `key` and as a part; nothing where it is empty."""
        self.data[key] = items[:MOST]
        count = len(items) if total is None else total
        if count > MOST:
            self.data["more"][key] = {"total": count, "command": more}
        shown = [tuple(_short(cell) for cell in row) for row in rows][:MOST]
        return [Part(title, tuple(columns.split("|")), shown, more, count)] if items else []

    def mine(self, path: str) -> bool:
        """Whether a resource (`path:…`) meets what this session said it would touch."""
        return any(names.overlap(f"path:{own}", path) for own in (self.me or {}).get("paths", ()))

    def said(self, record: Record, field: str, empty: str = "-") -> str:
        """What a record says in a field, or that it was retracted."""
        return (
            correction.said(record, field, self.now)
            if field in record or "corrections" in record
            else empty
        )

    def ago(self, text: str) -> str:
        return times.ago(times.moment(text), self.now)


@verb(app, "digest", "atlas --since last", 7)
def look(ctx: typer.Context, since: Since = None, words: Words = WORDS) -> Outcome:
    """Where things stand: what bare `atlas` prints. It begins nothing.

    With --since the morning report: the status as a diff, and what was done, decided, corrected,
    stopped since."""
    return bare(env_of(ctx), since, words)


def bare(env: Env, since: str | None = None, words: int = WORDS) -> Outcome:
    """The digest, without beginning anything."""
    me = who.session_or_none(env)
    data, blocks = digest(env, me, words, since)
    head = () if me else ('no session here: atlas begin --goal "what you will do"',)
    return Outcome(data, (*head, *blocks), limits.of("digest", env.policy))


def digest(
    env: Env,
    me: Record | None,
    words: int,
    since: str | None = None,
    twins: list[Record] | None = None,
) -> tuple[dict[str, Any], list[Block]]:
    """Where things stand, as data and blocks: parked and unfinished first, then you, the status
    (always whole), what is new, who is at work. `twins`: sessions with nearly the same goal."""
    found = Digest(env, me, None if since is None else reading.since(env, since))
    parts: list[Block | Part] = [
        *_since(found, since),
        *_parked(found),
        *_you(found),
        *_twins(found, twins or []),
    ]
    parts += _status(found)
    for part in (
        _gates,
        _corrections,
        _dead,
        _unfinished,
        _paths,
        _news,
        _ready,
        _leases,
        _sessions,
        _done,
        _decisions,
        _inbox,
        _collisions,
    ):
        parts += part(found)
    reading.damaged(env)
    env.local.look(me["actor"] if me else who.actor(None), env.snapshot.head or "")
    return found.data, _budget(parts, words - RESERVED)


def _budget(parts: list[Block | Part], words: int) -> list[Block]:
    """The parts as blocks within the budget: every list keeps its first row, the first lists get
    the rest."""
    lists = [part for part in parts if isinstance(part, Part)]
    left = words - sum(_count(part) for part in parts if not isinstance(part, Part))
    left -= sum(
        _count(part.title) + len(part.columns) + 12 + _count(part.rows[0]) for part in lists
    )
    shown = []
    for part in parts:
        if not isinstance(part, Part):
            shown.append(part)
            continue
        rows = [part.rows[0]]
        for row in part.rows[1:]:
            left -= _count(row)
            if left < 0:
                break
            rows.append(row)
        shown += [f"{part.title}:", Table(part.columns, tuple(rows))]
        shown += (
            [f"(+{part.total - len(rows)} more: {part.more})"] if part.total > len(rows) else []
        )
    return shown


def _count(block: Any) -> int:
    text = block.body + block.title + " " * 9 if isinstance(block, Frame) else block
    return len((" ".join(text) if isinstance(text, tuple) else str(text)).split())


def _short(cell: str) -> str:
    words = cell.split(" ")
    short = " ".join(words[:CELL])[:LETTERS]
    return cell if short == cell else short + " …"


def _since(found: Digest, asked: str | None) -> list[Block]:
    if found.after is None:
        return []
    index = found.env.index
    total = index.last_seq() - found.after
    commit = next((row["oid"] for row in index.commits(1, upto=found.after)[0]), None)
    found.data["since"] = {"asked": asked, "commit": commit, "writes": total}
    return [
        f"since {'your last look' if asked == 'last' else asked}: {total} write{'s' * (total != 1)}"
    ]


def _parked(found: Digest) -> list[Block | Part]:
    items = parked.rows(found.env.store, found.env.index)
    rows = [
        (
            one["subject"],
            one["session"] or "-",
            found.ago(one["at"]) if one["at"] else "-",
            one["operation"][:8],
        )
        for one in items
    ]
    title = "PARKED: written here, and not in the history that others see"
    return [*found.part("parked", items, rows, "WRITE|BY|WHEN|OPERATION", title, "atlas parked")]


def _you(found: Digest) -> list[Block | Part]:
    env = found.env
    if found.me is None:
        return []
    me = env.ask.shown(found.me, f"session:{found.me['id']}")
    held = [
        record["resource"] for record in env.ask.held(me["id"]) if lease.holds(record, found.now)
    ]
    held += [_name(row) for row in found.shared if row["holder"] == me["id"]]
    wrote, owes = env.index.commits(1, session=me["id"])[1], not env.index.closed(me["id"])
    drafts = drafting.drafts(env).listed()
    claimed = [f"task:{record['id']}" for record in task.held(env.index, me["id"], found.now)]
    found.data["you"] = {
        **me,
        "held": held,
        "claimed": claimed,
        "wrote": wrote,
        "owes_status": owes,
        "drafts": drafts,
    }
    blocks: list[Block | Part] = [
        f"goal: {found.said(me, 'goal')}; you hold: {', '.join(held) or 'nothing'}"
    ]
    blocks += [f"you have claimed: {', '.join(claimed)}"] if claimed else []
    blocks += ["you have written, and owe the status an entry: atlas end -m TEXT"] if owes else []
    rows = [(one["file"], one["submit"] or "-") for one in drafts]
    title = "drafts not yet settled (submit one, or remove the file)"
    return blocks + (
        [
            Part(
                title,
                ("FILE", "SUBMIT WITH"),
                rows,
                f"ls {drafts[0]['file'].rpartition('/')[0]}",
                len(rows),
            )
        ]
        if rows
        else []
    )


def _twins(found: Digest, twins: list[Record]) -> list[Block]:
    found.data["alike"] = twins[:MOST]
    return [
        f"! {named(row['id'])} ({row['state']}) has nearly your goal: "
        f"{correction.said(row, 'goal', found.now, theirs)}"
        for row in twins[:3]
    ]


def _status(found: Digest) -> list[Block]:
    env = found.env
    found.data["status"] = []
    blocks: list[Block] = []
    for stream in dict.fromkeys(["main", *(found.me or {}).get("streams", [])]):
        last = status.newest(env.tree, stream)
        if not last:
            receipts.note_empty(env, found.me, stream)
            blocks.append(f"status:{stream} is empty: nobody has written where things stand")
            continue
        try:
            record = reading.shown_status(env, stream, last, found.me)
        except Damaged as error:
            blocks.append(
                f"status:{stream}@{last} cannot be read: {error.message}; atlas doctor --fix puts"
                " it right"
            )
            continue
        found.data["status"].append(record)
        body = (
            correction.WITHHELD
            if record["body"] is None
            else status.brief(record, env.policy["status_words"])
        )
        title = f"status:{stream}@{last} by {record['session']}, {found.ago(record['at'])}"
        if found.after is not None and body == record["body"]:
            title, body = _changed(found, record, title)
        blocks += [Frame(title, body), *warned(env, record)]
    return blocks


def _changed(found: Digest, record: Record, title: str) -> tuple[str, str]:
    """The entry whole, its lines marked with + and -, against the one that stood there then."""
    path = found.env.index.as_of(f"{status.FOLDER}/{record['stream']}", found.after or 0)
    old = int(path.rpartition("/")[2].removesuffix(".md")) if path else 0
    if old == record["number"]:
        return f"{title}; unchanged since", record["body"]
    then = reading.shown_status(found.env, record["stream"], old, None) if old else None
    before = (
        ""
        if then is None or then["body"] is None
        else status.brief(then, found.env.policy["status_words"])
    )
    lines = difflib.unified_diff(
        before.splitlines(), record["body"].splitlines(), n=10**6, lineterm=""
    )
    record["since"] = old
    text = "\n".join(line for line in lines if not line.startswith(("--- ", "+++ ", "@@ ")))
    return f"{title}; lines marked + and - against @{old}", text


def _gates(found: Digest) -> list[Part]:
    """The gates that hold something back: first those about its paths, or that hold what it has
    claimed or posted."""
    if not found.env.tree.names("gates"):
        return []
    from .gate import open_

    me = (found.me or {}).get("id", "")
    mine = {
        row["id"]
        for _, row in found.env.index.live("tasks", times.LAST - 1)
        if me in (row["session"], row.get("claim", {}).get("session"))
    }
    items = []
    for row in open_(found.env):
        edges = row.pop("edges")
        yours = sorted(mine.intersection(edges))
        items.append({**row, "holds": len(edges), "yours": yours[:MOST], "yours_total": len(yours)})
    items.sort(key=lambda row: not (row["yours"] or found.mine(row["about"] or "")))
    rows = (
        (
            row["id"],
            row["state"],
            str(row["holds"]),
            str(row["yours_total"]),
            row["about"] or "-",
            found.said(row, "why"),
        )
        for row in items
    )
    title = "gates: what they hold cannot be claimed"
    return found.part(
        "gates", items, rows, "GATE|STATE|HOLDS|OF YOURS|ABOUT|WHY", title, "atlas gate list"
    )


def _corrections(found: Digest) -> list[Part]:
    items = found.env.ask.corrected(found.me, found.after)
    rows = []
    for one in items[:MOST]:
        leaning = [
            found.env.index.ref_of(path)
            for path, _ in found.env.index.pointing(one["target"], "relies_on")
        ]
        verb_ = "retracted" if one["retract"] else "corrected"
        rows.append(
            (
                one["target"],
                verb_,
                one["touches"] or "-",
                found.said(one, "why"),
                ", ".join(leaning[:5]) or "-",
            )
        )
    columns = "RECORD|WAS|WHICH|WHY|RELIED ON BY"
    return found.part(
        "corrections", items, rows, columns, "corrections", "atlas log --kind correction"
    )


def _dead(found: Digest) -> list[Block | Part]:
    items = found.env.ask.dead(found.me)
    yours = [row for row in items if row["yours"]]
    mine = [
        f"! {row['ref']} is a dead letter ({row['yours']}): "
        f"{correction.said(row, 'title', found.now, theirs)}"
        for row in yours
    ]
    rows = ((row["id"], found.said(row, "title"), task.last_failure(row)) for row in items)
    return [
        *mine[:5],
        *found.part(
            "dead", items, rows, "TASK|TITLE|LAST FAILURE", "dead letters", "atlas task dead"
        ),
    ]


def _ready(found: Digest) -> list[Part]:
    env, total = found.env, found.env.index.queue_length(task.FOLDER, found.now)
    items = []
    for _, row in env.index.queue(task.FOLDER, found.now) if total else ():
        if readiness.assess(env.tree, row, found.now, env.policy)[0] == "ready":
            items.append(env.ask.shown({"ref": f"task:{row['id']}", **row, "state": "ready"}))
        if len(items) == MOST:
            break
    rows = ((row["id"], str(row["priority"]), found.said(row, "title")) for row in items)
    more = "atlas task list --ready"
    return found.part(
        "ready",
        items,
        rows,
        "TASK|PRIO|TITLE",
        "ready tasks: atlas task next --claim",
        more,
        total if len(items) == MOST else None,
    )


def _unfinished(found: Digest) -> list[Part]:
    items = found.env.ask.unfinished()
    rows = ((item["id"], found.ago(item["last"]), found.said(item, "goal")) for item in items)
    title = (
        "over, and never wrote the status (it has not happened until someone does: atlas session"
        " adopt ID)"
    )
    return found.part(
        "unfinished", items, rows, "SESSION|LAST WRITE|GOAL", title, "atlas session list --all"
    )


def _paths(found: Digest) -> list[Part]:
    paths = (found.me or {}).get("paths")
    if not paths:
        return []
    items = found.env.ask.who(found.env.git, who.session_id(found.env), paths)
    rows = (
        (item["path"], item["what"], item["who"], item["when"], found.said(item, "text"))
        for item in items
    )
    return found.part(
        "on",
        items,
        rows,
        "PATH|WHAT|WHO|WHEN|TEXT",
        "on your paths",
        f"atlas who {' '.join(paths)}",
    )


def _news(found: Digest) -> list[Part]:
    new = found.env.ask.new_to(found.me, MOST)
    found.env.notices += [
        artifact.noise(name, count, "day", count) for name, count in new.noisy.items()
    ]
    rows = (
        (item["ref"], item["session"], found.said(item, "title", item.get("caveat", "-")))
        for item in new.items
    )
    title = "artifacts that you have not read"
    title += f" ({new.older} older ones are not counted)" if new.older else ""
    title += f" (of the newest {new.total})" if new.more else ""
    more = "atlas artifact list --new"
    return found.part("new", new.items, rows, "NEW TO YOU|BY|WHAT", title, more, new.total)


def _live(env: Env) -> list[Record]:
    rows = [
        row for _, row in env.index.live(lease.FOLDER, env.now()) if lease.holds(row, env.now())
    ]
    rows = [env.ask.shown(row, f"lease:{row['resource']}") for row in rows]
    return [{**row, "seconds_left": lease.rest(row, env.now())} for row in rows]


def _name(row: Record) -> str:
    return f"{row['resource']} ({row['store']})" if "store" in row else str(row["resource"])


def _leases(found: Digest) -> list[Part]:
    items = sorted(
        [*_live(found.env), *found.shared], key=lambda row: not found.mine(row["resource"])
    )
    rows = (
        (_name(row), row["holder"], times.span(row["seconds_left"]), found.said(row, "why"))
        for row in items
    )
    return found.part(
        "leases", items, rows, "RESOURCE|HOLDER|LEFT|WHY", "live leases", "atlas lease list"
    )


def _sessions(found: Digest) -> list[Part]:
    others = [
        item for item in sessions.rows(found.env, False) if item["id"] != (found.me or {}).get("id")
    ]
    items = sorted(
        others, key=lambda row: not any(found.mine(f"path:{path}") for path in row.get("paths", ()))
    )
    rows = list(sessions.table(found.env, items[:MOST]).rows)
    columns = "SESSION|STATE|LAST WRITE|GOAL"
    return found.part("sessions", items, rows, columns, "other live sessions", "atlas session list")


def _done(found: Digest) -> list[Part]:
    """The sessions that have ended since."""
    if found.after is None:
        return []
    rows = [
        row
        for _, _, row in reversed(found.env.index.since(session.FOLDER, found.after))
        if "ended" in row
    ]
    rows = [found.env.ask.shown(row, f"session:{row['id']}") for row in rows]
    shown = ((row["id"], found.ago(row["ended"]), found.said(row, "goal")) for row in rows)
    return found.part(
        "done", rows, shown, "SESSION|ENDED|GOAL", "sessions done", "atlas session list --all"
    )


def _decisions(found: Digest) -> list[Part]:
    index, after = found.env.index, found.after
    if after is None:
        recent = [record for _, record in index.newest(decision.FOLDER, 5)]
    else:
        recent = [record for _, _, record in reversed(index.since(decision.FOLDER, after))]
    items = [
        found.env.ask.shown({"ref": f"decision:{record['id']}", **record}) for record in recent
    ]
    rows = ((r["id"], r["stance"], r["chosen"] or "-", found.said(r, "title")) for r in items)
    title = "recent decisions" if after is None else "decisions"
    return found.part(
        "decisions", items, rows, "DECISION|STANCE|CHOSEN|TITLE", title, "atlas decision list"
    )


def _inbox(found: Digest) -> list[Part]:
    items = inbox.recent(found.env.ask)
    rows = ((r["ref"], r["by"], found.ago(r["at"]), found.said(r, "title")) for r in items)
    return found.part(
        "inbox",
        items,
        rows,
        "REF|BY|WHEN|TITLE",
        "put here by hand, on a forge",
        "atlas log --kind inbox",
    )


def _collisions(found: Digest) -> list[Part]:
    """The stops since, and what was written after them."""
    if found.after is None:
        return []
    commits, total = found.env.index.commits(MOST, after=found.after, stopped=True)
    items = [
        {"session": row["session"], "stops": row["stops"].split("\n"), "then": row["subject"]}
        for row in commits
    ]
    rows = ((row["session"] or "-", ", ".join(row["stops"]), row["then"]) for row in items)
    more = "atlas log --collisions"
    return found.part(
        "collisions", items, rows, "SESSION|STOPS|THEN WROTE", "stops met", more, total
    )

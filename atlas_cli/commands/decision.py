"""`atlas decision`: what was recommended, what was chosen, and why the two stand where they do."""

from typing import Annotated, Any

import typer

from ..answers import moved
from ..cli.options import ReliesOn
from ..env import addressing, beginning, reading, receipts, writing
from ..env.env import Env
from ..errors import Usage
from ..model import names, times
from ..model.text import Record
from ..outcome import Block, Frame, Outcome, Table, listing
from ..records import correction, decision, telling
from ..records.likeness import same_question
from ..visible import named, theirs
from . import Since, To, Why, env_of, limits, noun, one, parsed, verb, warned

app = noun()
WHY = 160  # characters of a reason in the list
LIKE = 30 * 86400  # seconds for which a decision is named to who decides nearly the same


def _stance(text: str) -> str:
    if text not in decision.STANCES:
        raise Usage(
            f"a stance is {', '.join(decision.STANCES[:2])} or {decision.STANCES[2]}, not"
            f" {text[:40]!r}"
        )
    return text


What = Annotated[str | None, typer.Argument(metavar="[TITLE]", help="What was decided, in a line.")]
Title = Annotated[str | None, typer.Option("--title", metavar="T", help="What was to be decided.")]
Recommended = Annotated[
    str | None, typer.Option("--recommended", metavar="R", help="What was recommended.")
]
Chosen = Annotated[
    str | None,
    typer.Option("--chosen", metavar="C", help="What was chosen (default: the title)."),
]
On = Annotated[
    list[str] | None, typer.Option("--on", metavar="REF", help="A record that it is about.")
]
ChosenBy = Annotated[
    str | None, typer.Option("--chosen-by", metavar="N", help="Who chose (a claim).")
]
RecommendedBy = Annotated[
    str | None, typer.Option("--recommended-by", metavar="N", help="Likewise.")
]
Stance = Annotated[
    str | None,
    typer.Option(
        "--stance",
        metavar="agreed|disagreed|timeout",
        parser=parsed(_stance),
        help="Given, never worked out from the two.",
    ),
]


@verb(
    app,
    "add",
    "atlas decision add 'use tabs' --why 'the linter wants them'",
    3,
    5,
    6,
    7,
    limits=("the stance, and who chose, are stored as given: Atlas checks neither",),
)
def add(
    ctx: typer.Context,
    what: What = None,
    *,
    title: Title = None,
    recommended: Recommended = None,
    chosen: Chosen = None,
    stance: Stance = None,
    why: Why,
    on: On = None,
    relies_on: ReliesOn = None,
    chosen_by: ChosenBy = None,
    recommended_by: RecommendedBy = None,
    to: To = None,
) -> Outcome:
    """Add to the decision log, which only grows. Decided alone, it needs a title and why; where
    something was recommended, --recommended, --chosen and --stance say so.

    The stance is stored as given, since comparing the pair tells whether they match and never
    why."""
    env = env_of(ctx)
    line = _title(what, title)
    _judge_pair(recommended, chosen, stance, recommended_by)
    me = beginning.writer(env)
    fields: dict[str, Any] = {
        "title": names.say(line, "the title", 200),
        "recommended": names.say(recommended, "--recommended", 1000) if recommended else None,
        "chosen": names.say(chosen or line, "--chosen", 1000),
        "stance": stance,
        "why": names.say(why, "--why", 8000),
        "about": [reading.pinned_ref(env, target) for target in on or ()],
        "relies_on": [reading.pinned_ref(env, target) for target in relies_on or ()],
        "chosen_by": names.say(chosen_by, "--chosen-by", 100) if chosen_by else None,
        "recommended_by": (
            names.say(recommended_by, "--recommended-by", 100) if recommended_by else None
        ),
        "marks": addressing.marks(env, me, to or [], f"{line} {chosen or ''} {why}", on or ()),
    }
    written = writing.write(
        env, lambda tree, writer: decision.add(tree, writer, **fields), me, "decision: "
    )
    record = one(writing.records(env, written))
    how = f" ({record['stance']})" if record["stance"] else ""
    env.notices += [*_like(env, record), *moved.absent(env.tree, f"{line}\n{why}")]
    return Outcome(record, (f"{record['ref']} logged{how}",), published=False)


def _like(env: Env, record: Record) -> list[str]:
    """A line for the newest decision of the last 30 days on the same question, unless the new one
    names it."""
    recent = env.index.since(decision.FOLDER, env.index.upto(env.now() - LIKE))
    for _, path, other in reversed(recent):
        ref = decision.KIND.ref(path, other)
        if ref == record["ref"] or not same_question(other["title"], record["title"]):
            continue
        if env.ask.retracted(ref):
            continue
        if ref in (*record.get("about", ()), *record.get("relies_on", ())):
            break
        by = "you" if other["session"] == record["session"] else named(other["session"])
        age = times.ago(times.moment(other["at"]), env.now())
        replaces = f"atlas correct {ref} --retract --why 'see {record['ref']}'"
        chose = f"which chose {theirs(other['chosen'], 60)}"
        return [f"like {ref} by {by}, {age}, {chose}: if yours replaces it: {replaces}"]
    return []


def _title(what: str | None, title: str | None) -> str:
    """The title, which is given in one of two ways."""
    given = [text for text in (what, title) if text is not None]
    if len(given) != 1:
        raise Usage(
            "a decision has one title", "atlas decision add TITLE --why TEXT, or --title T with it"
        )
    return given[0]


def _judge_pair(
    recommended: str | None, chosen: str | None, stance: str | None, by: str | None
) -> None:
    """Raises Usage if only a part is given of what was recommended, what was chosen instead or for
    it, and how the two stand."""
    options = {"--recommended": recommended, "--chosen": chosen, "--stance": stance}
    missing = [name for name, value in options.items() if not value]
    if (recommended or stance or by) and missing:
        raise Usage(
            f"{', '.join(missing)}: missing beside what was recommended",
            "give --recommended R, --chosen C and --stance S; or, decided alone, only TITLE, --why"
            " and perhaps --chosen",
        )


@verb(app, "list", "atlas decision list -n 5", 7, limits=(limits.DECIDED,))
def list_(
    ctx: typer.Context,
    count: Annotated[int, typer.Option("-n", metavar="N", min=1, help="How many.")] = 20,
    since: Since = None,
) -> Outcome:
    """The decisions, newest first."""
    env = env_of(ctx)
    if since is None:
        newest, total = env.index.newest(decision.FOLDER, count), env.index.count(decision.FOLDER)
    else:
        young = env.index.since(decision.FOLDER, reading.since(env, since))
        newest = [(path, record) for _, path, record in reversed(young)][:count]
        total = len(young)
    items = [env.ask.row(decision.KIND, path, record) for path, record in newest]
    reading.damaged(env, decision.FOLDER + "/")
    _note(env, items)
    rows = tuple(
        (
            item["id"],
            item["stance"] or "-",
            item["recommended"] or "-",
            "-" if item["chosen"] == item["title"] else item["chosen"] or "-",
            correction.said(item, "title", env.now()),
            _first(item["why"]),
        )
        for item in items
    )
    table = Table(
        ("DECISION", "STANCE", "RECOMMENDED", "CHOSEN", "TITLE", "WHY"),
        rows,
        "nothing was decided here",
    )
    more = (f"{total} in all; -n {total} shows them",) if total > len(items) else ()
    return Outcome(listing(items, total), (table, *more))


def _note(env: Env, items: list[Record]) -> None:
    """Notes what the list shows of each decision: all of it, or enough to have told it."""
    shown: dict[int, list[tuple[str, str]]] = {telling.READ: [], telling.TOLD: []}
    for item in items:
        text = f"{item['title']} {_first(item['why'])}"
        how = telling.READ if not text.endswith(" …") else telling.TOLD
        if item["title"] and (how == telling.READ or len(text.split()) > telling.LEAST):
            shown[how].append((item["ref"], item.get("operation", "")))
    for how, pairs in shown.items():
        receipts.note_texts(env, how, pairs)


def _first(text: str | None) -> str:
    """The first line of a text, as a cell has it; a longer text shows that it goes on."""
    if text is None:
        return "-"
    first = text.strip().partition("\n")[0]
    short = first[:WHY]
    return short if short == text.strip() else f"{short} …"


@verb(app, "show", "atlas decision show 2026-11-29-storage", 7, limits=(limits.DECIDED,))
def show(
    ctx: typer.Context,
    wanted: Annotated[str, typer.Argument(metavar="ID", help="As atlas decision list shows it.")],
) -> Outcome:
    """One decision, whole."""
    env = env_of(ctx)
    _, record = reading.resolve(env, names.Ref("decision", wanted.removeprefix("decision:")))
    record = {"corrections": env.ask.corrections(record["ref"]), **env.ask.shown(record)}
    receipts.note_text(env, record["ref"], record.get("operation", ""))
    return Outcome(record, tuple(shown(env, record)))


def shown(env: Env, record: Record) -> list[Block]:
    """A decision in its frame, with its warnings; a retracted one's text is withheld."""
    lines = [
        f"title: {record['title']}",
        f"recommended: {record['recommended']}{_claimed(record, 'recommended_by')}",
        f"chosen: {record['chosen']}{_claimed(record, 'chosen_by')}",
        f"stance: {record['stance']}",
        f"why: {record['why']}",
    ]
    if record["stance"] is None:  # decided alone
        lines = [lines[0], *([] if record["chosen"] == record["title"] else [lines[2]]), lines[4]]
    if record["title"] is None:
        lines = [correction.WITHHELD]
    if record.get("about"):
        lines.append(f"about: {', '.join(record['about'])}")
    if record.get("relies_on"):
        lines.append(f"relies on: {', '.join(record['relies_on'])}")
    age = times.ago(times.moment(record["at"]), env.now())
    return [
        Frame(f"{record['ref']} by {record['session']}, {age}", "\n".join(lines)),
        *warned(env, record),
    ]


def _claimed(record: Record, field: str) -> str:
    """The name in a field, as the claim that it is; empty if nobody was named."""
    return f" (by {record[field]}, as claimed)" if record.get(field) else ""

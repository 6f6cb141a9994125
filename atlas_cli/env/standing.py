"""The status as a reader is shown it: each section with its writer and its age, warnings at its
head; within a budget, or whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..answers import over
from ..answers import stream as streams
from ..model import change, times
from ..model.text import Record
from ..outcome import Frame
from ..records import correction, folding, parts, session, status
from ..records.parts import Part, Warn
from ..visible import named
from .env import Env

HEADINGS = 8  # that a view names of what it does not show
Weigh = Callable[[Part], int]  # how much a section concerns the reader


def equally(part: Part) -> int:
    """No section concerns the reader more than another."""
    return 0


def sections(env: Env, stream: str, number: int, withdrawn: bool = False) -> list[Part]:
    """The sections of an entry as they may be shown, with the warnings that are in force.
    `withdrawn`: with what was retracted."""
    whole = streams.parts(env.ask, env.tree, stream, number)
    return [in_force(env, streams.said(env.ask, part, withdrawn)) for part in whole]


def in_force(env: Env, part: Part) -> Part:
    """A section with the warnings that still hold."""
    return part._replace(warn=over.in_force(env.ask, env.tree, part))


def frame(
    env: Env,
    record: Record,
    weigh: Weigh = equally,
    bounded: bool = True,
    withdrawn: bool = False,
) -> tuple[Frame, bool]:
    """An entry in a frame, and whether the whole of it is there. `bounded`: what concerns the
    reader first, then the newest, as many sections as the policy's words allow; the rest by
    heading."""
    stream, number = record["stream"], record["number"]
    whole = sections(env, stream, number, withdrawn)
    shown, rest = list(whole), list[Part]()
    if bounded:
        order = sorted(whole, key=lambda part: (not part.warn, -weigh(part), -part.written))
        shown, rest = streams.within(order, env.policy["status_words"])
        shown = [part for part in whole if part.heading not in {other.heading for other in rest}]
    pieces = [text(env, record, part) for part in shown]
    pieces += _rest(rest, stream)
    pieces += _confirmed(env, stream, number)
    pieces += _folded(env, record)
    return Frame(title(env, record), "\n\n".join(pieces)), not rest


def title(env: Env, record: Record) -> str:
    """The name of an entry, its writer, its age, and how it stands."""
    stream, number = record["stream"], record["number"]
    head = f"status:{stream}@{number} by {record['session']}, {_ago(env, record['at'])}"
    if not env.index.wrote(status.path_of(stream, number)):
        head += ", by hand"
    current = status.current(env.tree, stream)
    if current and number < current["number"]:
        head += f", superseded by {current['number']}"
    return head


def text(env: Env, record: Record, part: Part) -> str:
    """A section with its heading, its writer and its age, and the warnings at its head."""
    about = [part.session, times.ago(part.at, env.now())]
    if part.by_hand:
        about.append("by hand")
    if part.unseen:
        numbers = [ref.rpartition("@")[2] for ref in part.unseen]
        about.append(f"written before @{numbers[0]} was seen")
    if part.to:
        about.append(f"for {', '.join(part.to)}")
    plain = not part.heading and part.written == record["number"]
    lines = [] if plain else [f"## {part.shown} ({', '.join(about)})".replace("##  ", "")]
    return "\n".join([*lines, words(env, part, env.policy["status_words"])])


def words(env: Env, part: Part, most: int) -> str:
    """The text of a section: its warnings whole, and what its reader must know of it; then the
    rest, cut to as many words."""
    lines = [f"! {warn.text} ({_until(env, part, warn)})" for warn in part.warn]
    lines += [f"! {note}" for note in part.notes(env.now())]
    ref = f"status:{part.stream}@{part.number}"
    return "\n".join([*lines, status.cut(part.text, most, ref)])


def _until(env: Env, part: Part, warn: Warn) -> str:
    """Until when a warning holds, and whose it is if it is another's."""
    try:
        until = f"for {times.span(times.moment(warn.until) - env.now())} more"
    except ValueError:
        until = f"until {warn.until} is over"
    return until if warn.session == part.session else f"{until}, by {warn.session}"


def _rest(rest: Sequence[Part], stream: str) -> Iterable[str]:
    if rest:
        headings = ", ".join(part.heading or "(no heading)" for part in rest[:HEADINGS])
        more = f", and {len(rest) - HEADINGS} more" if len(rest) > HEADINGS else ""
        yield f"(not shown here: {headings}{more}; all: atlas status show {stream})"


def _folded(env: Env, record: Record) -> Iterable[str]:
    rows = streams.folded(env.index, env.tree, record)
    if rows:
        count = sum(map(folding.count, rows))
        names = [row["heading"] or "(no heading)" for row in rows if "count" not in row]
        last = ", ".join(names[: -HEADINGS - 1 : -1])
        stream = record["stream"]
        flag = f" --stream {stream}" if stream != "main" else ""
        yield f"(folded: {count}, the last of them {last}: atlas status history HEADING{flag})"


def _confirmed(env: Env, stream: str, number: int) -> Iterable[str]:
    """The sessions that have said of an entry that it still holds, the newest first."""
    pairs = env.index.pointing(f"status:{stream}@{number}", "confirms")
    rows = [(session.confirmed(row), row) for _, row in pairs]
    lines = sorted((row["at"], row["why"], by["id"]) for row, by in rows if row)
    for at, why, by in lines[: -HEADINGS - 1 : -1]:
        why = correction.WITHHELD if env.ask.retracted(f"session:{by}") else why
        yield f"confirmed {_ago(env, at)} by {named(by)}: {why}"


def _ago(env: Env, at: str) -> str:
    return times.ago(times.moment(at), env.now())


def body(env: Env, record: Record) -> str:
    """The text of an entry, without what was retracted of it."""
    whole = streams.parts(env.ask, env.tree, record["stream"], record["number"])
    shown = [streams.said(env.ask, part) for part in whole]
    if all(map(Part.same, shown, whole)):
        return str(record["body"])
    return parts.body(shown)


def marked(env: Env, record: Record) -> str:
    """The text of an entry as it is compared: without what was retracted of it, and at the head of
    each section what its reader must know of it."""
    whole = sections(env, record["stream"], record["number"])
    notes = [[f"! {note}" for note in part.notes(env.now())] for part in whole]
    if not any(notes):
        return body(env, record)
    pairs = zip(whole, notes, strict=True)
    return parts.body(part._replace(text="\n".join([*lines, part.text])) for part, lines in pairs)


def warned(env: Env, record: Record) -> list[Frame]:
    """The warnings beside an entry. Its corrections are not among them where the section stands
    that it wrote: they are said at its heading."""
    at_heading = any(row["ref"] == record["ref"] for row in record["sections"])
    return env.ask.warned(record, corrected=not at_heading)


def data(env: Env, record: Record, withdrawn: bool = False) -> Record:
    """An entry as data: its sections with their text and who wrote each."""
    rows = []
    whole = sections(env, record["stream"], record["number"], withdrawn)
    for part in whole:
        row = {**part.data(), "operation": part.operation, "by_hand": part.by_hand}
        lists = {"on": part.on, "for": part.to, "unseen": part.unseen}
        row |= {key: list(value) for key, value in lists.items() if value}
        if part.warn:
            row["warn"] = [warn._asdict() for warn in part.warn]
        rows.append(row)
    left = {key: value for key, value in record.items() if key not in ("wish", "kept")}
    if not withdrawn and left.pop("earlier", None):
        left |= change.given(earlier=streams.folded(env.index, env.tree, record))
    return {**left, "sections": rows}

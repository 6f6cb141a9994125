"""The words of a session in the status: its own section, or another; and what it is told of the
sections that were carried beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import NamedTuple

from ..answers import concern as asked
from ..answers import moved
from ..answers import stream as streams
from ..errors import NotFound, Refused, Usage, VersionJump
from ..model import names, times
from ..model.change import Change, Writer
from ..model.text import Record
from ..model.tree import Tree
from ..outcome import Block, Frame
from ..records import artifact, concern, goals, parts, sections, status, status_write, telling
from ..records.correction import withdraws
from ..records.parts import Part
from ..records.status_write import Seen
from ..records.wish import Wish, heir
from ..visible import many, theirs
from . import addressing, reading, receipts, standing, writing
from . import telling as teller
from .env import Env

_LEAVES = 5  # words of an entry that say where the rest of it is
_ASKED, ASKED = "!word", 3600  # noted for a session whose word a push asked for; seconds it holds
DAY = 86400  # seconds that a warning stands, if nothing else is said


class Options(NamedTuple):
    """The options of a command that writes the status: all that it was given, besides the text."""

    section: str | None = None
    replace: bool = False
    overflow: str | None = None
    base: int | None = None
    relies_on: tuple[str, ...] = ()
    caveat: str | None = None
    warn: tuple[str, ...] = ()
    until: str | None = None
    on: tuple[str, ...] = ()
    to: tuple[str, ...] = ()
    new: bool = False
    good_for: int | None = None  # seconds after which showing it warns

    def need_text(self, given: str | None) -> None:
        """Raises Usage if an option says what becomes of the text, and no text is given; or if two
        of them contradict each other."""
        options: dict[str, object] = {
            "--section": self.section,
            "--replace": self.replace,
            "--overflow": self.overflow,
            "--warn": self.warn,
            "--good-for": self.good_for,
        }
        if self.overflow:
            names.name(self.overflow, "artifact name")
        if given is None and (alone := [name for name, value in options.items() if value]):
            raise Usage(
                f"{', '.join(alone)}: there is no text to be put so",
                "give it: -m TEXT, --file F or -",
            )
        if self.replace and (
            other := [name for name in ("section", "warn") if options[f"--{name}"]]
        ):
            raise Usage(f"--{other[0]} and --replace say different things", "give one of them")
        if self.until and not self.warn:
            raise Usage("--until says until when a warning stands", "give the warning: --warn TEXT")


def heading(env: Env, me: Record, stream: str, goal: int | None = None) -> str:
    """The heading of the session's own section: the one that it wrote last, else its goal. Each
    goal after the first one (by default the one that it works for now) has a section of its own."""
    number = goals.under(me) if goal is None else goal
    words = goals.heading(me, number)
    if number > 1:
        return words
    later = {heading(env, me, stream, other) for other in range(2, len(goals.goals(me)) + 1)}
    folder = f"{status.FOLDER}/{stream}/"
    for commit in env.index.commits(20, session=me["id"], folder=folder)[0]:
        for path in commit["paths"].split("\n"):
            row = env.index.readable(path) if path.startswith(folder) else None
            own = row and row.get("section") and row["session"] == me["id"]
            if row and own and row["section"] not in later:
                return str(row["section"])
    return words


def wish(
    env: Env, me: Record, stream: str, given: str, options: Options, goal: int | None = None
) -> Wish:
    """The wish of a session, under a goal of its own. Raises Usage or NotFound if an option names
    nothing."""
    until = _until(env, options.until)
    title = sections.as_heading(options.section or heading(env, me, stream, goal))
    warn = tuple((names.say(text, "--warn"), until) for text in options.warn)
    return Wish(
        stream,
        "" if options.replace else title,
        given,
        exact=options.section is not None,
        on=addressing.paths(env, options.on)
        or addressing.files(env, me)
        or _as_before(env, me, stream, title),
        to=addressing.addressees(env, me, options.to, given),
        warn=warn,
        replace=options.replace,
        withdrawn=withdrawn(env, stream),
        relies_on=tuple(reading.pinned_ref(env, target) for target in options.relies_on),
        caveat=names.say(options.caveat, "--caveat") if options.caveat else "",
        good_until=times.rfc3339(env.now() + options.good_for) if options.good_for else "",
    )


def _as_before(env: Env, me: Record, stream: str, title: str) -> tuple[str, ...]:
    """The files of the session's own section as it stands: said again, it is on them still."""
    own = (part for part in parts.parts(env.tree, stream) if part.session == me["id"])
    return next((part.on for part in own if part.heading == title), ())


def _until(env: Env, text: str | None) -> str:
    """The end of a warning: a time, or a REF. Raises Usage if it has come already: nobody would be
    shown the warning."""
    if text is None:
        return times.rfc3339(env.now() + DAY)
    what, now = addressing.until(env, text)
    if now:
        raise Usage(
            f"--until {what} is over already ({now.how}): nobody would be shown the warning",
            "name what is still to come, or leave --until out: it stands for 24 h then",
        )
    return what


def brought(env: Env, stream: str, title: str, given: str) -> Wish:
    """The wish that a section which was folded comes back as it stood in an entry. Raises NotFound
    if it does not stand there, Refused if it was retracted."""
    ref = names.versioned(given, "status")
    number = ref.number or 0
    if ref.operation:
        number = reading.resolve(env, ref)[1]["number"]
    whole = parts.parts(env.tree, ref.id, number)
    part = next((part for part in whole if part.heading == title), None)
    if part is None or ref.id != stream:
        others = ", ".join(dict.fromkeys(part.heading for part in whole)) or "no section at all"
        raise NotFound(
            f"status:{ref.id}@{number} has no section {title[:80]!r}",
            f"it has {others}; atlas status history shows where one stood",
        )
    if env.ask.retracted(part.ref):
        raise Refused(f"{part.ref}, which wrote it, was retracted", f"atlas show {part.ref}")
    env.notices += streams.said(env.ask, part).notes(env.now(), theirs)
    name = f"{reading.stored_ref(env, env.tree, f'status:{stream}@{number}')}#{title}"
    folded = Wish(stream, title, part.text, exact=True, on=part.on, to=part.to, back=name)
    return folded._replace(good_until=part.good_until)


def withdrawn(env: Env, stream: str) -> tuple[tuple[int, str], ...]:
    """The entries that wrote sections of the current one and were retracted, each with the
    correction that says so."""
    numbers = sorted({part.written for part in parts.parts(env.tree, stream)})
    pairs = []
    for number in numbers:
        ref = f"status:{stream}@{number}"
        rows = [row for row in env.ask.corrections(ref) if withdraws(row) and row["target"] == ref]
        if env.ask.retracted(ref) and rows:
            pairs.append((number, rows[-1]["ref"].partition(":")[2]))
    return tuple(pairs)


def given_warnings(env: Env, me: Record, stream: str, title: str) -> None:
    """Raises NotFound if no warning at a section is the session's to take back."""
    for part in parts.parts(env.tree, stream):
        own = [warn for warn in part.warn if heir(env.tree, me["id"], warn.session)]
        if part.heading == title and own:
            return
    raise NotFound(
        f"at the section {title[:80]!r} stands no warning of yours",
        f"atlas status show {stream} shows the warnings, and whose they are",
    )


def seen(env: Env, tree: Tree, me: Record, given: Wish, base: int | None) -> Seen:
    """The part of a stream that the session has seen: by its receipts, or as it says."""
    number = base
    read = base
    if base is None:
        number = receipts.newest_read(env, tree, me, "status", given.stream, part=True)
        read = receipts.newest_read(env, tree, me, "status", given.stream)
        printed = _printed(env, tree, me, given.stream, read or 0)
        if given.exact and printed > (read or 0):
            number, read = max(number or 0, printed), printed
    due = env.now() - env.local.noted(me["id"], _ASKED) < ASKED
    shown = partial(streams.said, env.ask)
    named = partial(reading.named_base, env, tree, given.stream)
    return Seen(number, read, _meets(env, me, given.on), shown, due, named)


def ask(env: Env, me: Record) -> None:
    """Notes that a push has asked the session for its word: what it printed for that works as
    printed, whatever others write meanwhile."""
    env.local.note(me["id"], 0, env.now(), [(_ASKED, "", 0)])


def _printed(env: Env, tree: Tree, me: Record, stream: str, read: int) -> int:
    """The newest entry up to which each section was printed whole for the session, one by one in
    its stops; `read`, if there is none above it."""
    known = asked.knowledge(env.ask, me)
    for part in sorted(parts.parts(tree, stream), key=lambda part: part.written):
        item = asked.of_part(part, env.now())
        if part.written <= read:
            continue
        if part.session != me["id"] and known(item) < telling.READ:
            break
        read = part.written
    return read


def holding(env: Env, tree: Tree, who: Writer, me: Record, stream: str, base: int | None) -> str:
    """The REF of the current entry, which the session says still holds, as its row keeps it."""
    before = seen(env, tree, me, Wish(stream), base)
    return reading.stored_ref(env, tree, status_write.holding(tree, who, stream, before))


def _meets(env: Env, me: Record, about: tuple[str, ...]) -> Callable[[Part], str]:
    """The bearing that a section which the session was not told of has on it, whose own one is
    about these files: it is addressed to it, or about the same ones."""
    ask = env.ask
    view = asked.view(ask, me, about)._replace(lineage=(), named=(), own="")
    view = view._replace(beside=frozenset(), relies=frozenset())
    known = asked.knowledge(ask, me)

    @cache
    def warm() -> concern.View:  # (asked of git only where something would stop)
        return view._replace(hot=asked.hot(ask, env.git, view.files))

    def due(item: concern.Item, by: concern.View) -> str:
        reason = concern.concerns(item, by)
        stops = reason is not None and reason.weight > concern.NOTICE
        return reason.words if reason and stops and known(item) < telling.TOLD else ""

    def words(part: Part) -> str:
        item = asked.of_part(part, env.now())
        return due(item, view) and due(item, warm())

    return words


def entry(env: Env, tree: Tree, who: Writer, me: Record, given: Wish, options: Options) -> Change:
    """The change that writes the next entry. A text over the limit becomes the artifact of
    `--overflow`; the beginning of its first paragraph becomes the entry."""
    before = seen(env, tree, me, given, options.base)
    try:
        return status_write.write(tree, who, given, before, options.new)
    except Refused as refused:
        name = options.overflow
        if name is None or refused.code != "limit" or "body" not in refused.details:
            raise
        over = refused.details["words"] - refused.details["limit"]
    about = f"the whole of what {given.stream} says"
    body = artifact.NewVersion(given.text.encode(), "md", about, same_topic=True, new=True)
    marks = {"files": list(given.on)} if given.on else None
    left = times.moment(given.good_until) - who.at if given.good_until else 0
    body = body._replace(marks=marks, good_for=left)
    read = receipts.newest_read(env, tree, me, "artifact", name)
    put = artifact.put(tree, who, name, body, read)
    ref = f"artifact:{name}@{artifact.newest(tree, name) + 1}"
    short = f"{_beginning(given.text, over)}\n\nThe whole text: {ref}\n"
    change = status_write.write(tree, who, given._replace(text=short), before, options.new)
    return change._replace(files={**put.files, **change.files}, bases=(*put.bases, *change.bases))


def _beginning(body: str, over: int) -> str:
    """The first paragraph of a text that is too long by so many words, or as much of it as the
    entry has room for."""
    paragraph, most = body.strip().partition("\n\n")[0], len(body.split()) - over - _LEAVES
    words = paragraph.split()
    return paragraph if len(words) <= most else " ".join([*words[: max(0, most)], "…"])


def look(env: Env, unchanged: str | None) -> None:
    """Has the remote asked first, if the status is said to hold: it is what stands there that
    does."""
    if unchanged is not None:
        env.dealing = env.dealing._replace(look=True)


def claim(env: Env, stream: str, base: int | None) -> None:
    """Notes that the session says that it has read an entry. Raises NotFound if there is none."""
    if base:
        receipts.note(
            env, "status", stream, base, status.find(env.tree, stream, base), claimed=True
        )


def write(env: Env, me: Record, given: Wish, options: Options) -> Record:
    """Writes the next entry, and notes what the session knows by it."""
    claim(env, given.stream, options.base)
    try:
        written = writing.write(
            env,
            lambda tree, who: entry(env, tree, who, me, given, options),
            me,
            f"status: {given.stream} ",
        )
    except VersionJump as stop:
        told_by(env, me, given.stream, stop)
        raise
    rows = writing.records(env, written)
    record = next(row for row in rows if row["ref"].startswith("status:"))
    note(env, me, record)
    for row in (row for row in rows if row["ref"].startswith("artifact:")):
        path = artifact.path_of(row["name"], row["number"])
        receipts.note(env, "artifact", row["name"], row["number"], path)
    return record


def told_by(env: Env, me: Record, stream: str, stop: VersionJump) -> None:
    """Notes what a stop has shown of the sections: its session was told, and has read those that
    were printed whole. A session that writes one of
    these again means it."""
    shown = {(row.get("ref"), row.get("heading")) for row in stop.details.get("since", ())}
    whole = streams.parts(env.ask, env.tree, stream)
    text = "\n".join(body for _, body in stop.blocks)
    for part in whole:
        if (part.ref, part.heading) in shown:
            _keep(env, me, [part], telling.READ if part.text in text else telling.TOLD)


def _keep(env: Env, me: Record, whole: Sequence[Part], how: int) -> None:
    teller.keep(env, me, how, (asked.of_part(part, env.now()) for part in whole))


def note(env: Env, me: Record, record: Record) -> None:
    """The session knows what it wrote. It was told, and has not read, what was carried unseen
    beside it."""
    if record["session"] != me["id"]:  # (replayed too: the first answer may never have arrived)
        return
    env.local.note(me["id"], 0, 0, [(_ASKED, "", 0)])
    stream, number = record["stream"], record["number"]
    read = receipts.newest_read(env, env.tree, me, "status", stream) or 0
    whole = not record.get("unseen") and read >= number - 1
    receipts.note_entry(env, me, stream, number, whole)


def carried(env: Env, me: Record, record: Record) -> tuple[list[Record], list[Block]]:
    """The sections that stand beside what was written and that its writer had not been told of, as
    data and as blocks: as many as go into 120 words, the rest by heading. By this it is told."""
    unseen = set(record.get("unseen", ()))
    known = asked.knowledge(env.ask, me)
    whole = []
    for part in streams.parts(env.ask, env.tree, record["stream"], record["number"]):
        item = asked.of_part(part, env.now())
        if part.ref in unseen and known(item) < telling.TOLD:
            whole.append(part)
    if not whole:
        return [], []
    rows = [standing.in_force(env, streams.said(env.ask, part)) for part in newest_first(whole)]
    shown, rest = streams.within(rows, telling.WORDS)
    frames = [
        Frame(status_write.titled(part, env.now()), standing.words(env, part, telling.WORDS))
        for part in shown
    ]
    _keep(env, me, shown, telling.TOLD)
    _keep(env, me, rest, telling.HEADED)
    blocks: list[Block] = [
        f"carried beside it, and not seen by you before: {many(len(rows), 'section')}",
        *frames,
    ]
    if rest:
        headings = ", ".join(repr(part.heading) for part in rest[:8])
        stream = record["stream"]
        blocks.append(f"and {len(rest)} more, {headings}: atlas status show {stream}")
    return [part.data() for part in rows], blocks


def newest_first(whole: Sequence[Part]) -> list[Part]:
    """The sections, those with a warning first, then the newest."""
    return sorted(whole, key=lambda part: (not part.warn, -part.written))


def answer(env: Env, me: Record, record: Record) -> tuple[Record, list[Block]]:
    """The answer to a write of the status: its record, and what it says."""
    rows, blocks = carried(env, me, record)
    own = parts.parts(env.tree, record["stream"], record["number"])
    text = "\n\n".join(part.text for part in own if part.written == record["number"])
    env.notices += moved.absent(env.tree, text)
    title = record.get("section")
    where = f", section {title!r}" if title else ""
    return {**record, "carried": rows}, [f"{record['ref']} written{where}", *blocks]

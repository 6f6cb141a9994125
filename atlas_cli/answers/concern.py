"""The concern of a session: the sections and records of a week, and what is known of the
session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ..errors import AtlasError, Failed
from ..model import times
from ..model.digests import sha256
from ..model.text import Record
from ..model.tree import Tree
from ..records import artifact as artifacts
from ..records import concern, find, policy, signal, status, telling
from ..records import correction as corrections
from ..records import decision as decisions
from ..records import ref as parsed
from ..records import session as sessions
from ..records.board import task, using
from ..records.concern import Item, View
from ..records.telling import News, Pace
from ..records.words import Word, speaks_of
from ..store.git import Git
from . import leases, words
from .ask import WEEK, Questions
from .over import in_force
from .sessions import hearers, living, readers
from .stream import Part, parts, said

RECORDS = 200  # of a kind, the newest, that are looked through
COMMITS = 1000  # of the user's, that files are taken from
STOPPED = "!stopped"  # noted for a session that was stopped since files meet


def key(part: Part) -> str:
    """The key that notes of a section stand under."""
    return f"{status.KIND.name}:{part.stream}#{part.heading}"


def version(part: Part) -> str:
    """The state of a section: what it says, whom, and warning of what."""
    words = "\n".join([part.text, *part.to, *(warn.text for warn in part.warn)])
    return sha256(words.encode(errors="replace")).hexdigest()[:16]


# what there is to know


def items(ask: Questions, tree: Tree) -> list[Item]:
    """The sections and the records of the last seven days. A warning in force has no age."""
    return _newest(ask, [*_sections(ask, tree), *_documents(ask, tree)])


def _newest(ask: Questions, whole: Sequence[Item]) -> list[Item]:
    """Of each key the first item that is young enough, with whether a person wrote it."""
    known: dict[str, bool] = {}
    for item in whole:
        if item.session not in known:
            known[item.session] = _by_person(ask, item.session)
    newest: dict[str, Item] = {}
    for item in whole:
        if item.at > ask.now - WEEK or item.warn:
            newest.setdefault(item.key, item._replace(person=known[item.session]))
    return list(newest.values())


def _by_person(ask: Questions, id: str) -> bool:
    row = ask.index.readable(sessions.path_of(id)) if sessions.valid(id) else None
    return row is not None and row.get("class") == sessions.PERSON


def _sections(ask: Questions, tree: Tree) -> Iterator[Item]:
    for stream in tree.names(status.FOLDER):
        for part in parts(ask, tree, stream):
            if not ask.retracted(part.ref):
                item = of_part(said(ask, part), ask.now)
                standing = in_force(ask, tree, part)
                yield item._replace(warn=tuple(warn.text for warn in standing))


def of_part(part: Part, now: int) -> Item:
    """A section as what somebody may have to know."""
    return Item(
        f"{status.KIND.name}:{part.stream}@{part.number}",
        key(part),
        version(part),
        part.session,
        part.at,
        part.text,
        part.heading,
        part.written or part.number,
        part.on,
        to=part.to,
        notes=tuple(part.notes(now)),
    )


def _documents(ask: Questions, tree: Tree) -> Iterator[Item]:
    for kind in (decisions.KIND, corrections.KIND, signal.KIND, artifacts.KIND):
        for path, row in ask.index.newest(kind.folder, RECORDS):
            ref, at = kind.ref(path, row), times.moment(row["at"])
            if at <= ask.now - WEEK:
                continue
            item = Item(ref, ref, row.get("operation", ""), row["session"], at)
            item = item._replace(on=tuple(row.get("files", ())), to=tuple(row.get("for", ())))
            yield _worded(ask, tree, item, row)


def _worded(ask: Questions, tree: Tree, item: Item, row: Record) -> Item:
    """A record with its text, and with what it is about."""
    if item.kind == decisions.KIND.name:
        how = f" ({row['stance']})" if row["stance"] else ""
        chosen = [f"chosen: {row['chosen']}{how}"] if row["chosen"] != row["title"] else []
        lines = [row["title"], *chosen, row["why"]]
        return item._replace(text="\n".join(lines))
    if item.kind == signal.KIND.name:
        about = row.get("about", "")
        path = (about.removeprefix("path:"),) if about.startswith("path:") else ()
        return item._replace(text=f"{row['kind']}: {row['text']}", about=path)
    if item.kind == artifacts.KIND.name:
        name = item.ref.partition("@")[0]
        lines = [row.get("title", ""), row.get("caveat", "")]
        text = "\n".join(line for line in lines if line)
        return item._replace(key=name, version=item.ref, text=text, target=name, relation=NEXT)
    how = "retracted" if row["retract"] else "corrected"
    text = f"{row['target']} was {how}: {row['why']}"
    about = _files_of(ask, tree, row["target"])
    return item._replace(text=text, target=row["target"], relation=how, about=about)


NEXT = "superseded"


def _files_of(ask: Questions, tree: Tree, target: str) -> tuple[str, ...]:
    """The files that stand in a record which was corrected."""
    try:
        ref = parsed(target)
        if ref.kind == status.KIND.name:
            whole = parts(ask, tree, ref.id, ref.number)
            return tuple(path for part in whole if part.written == ref.number for path in part.on)
        row = ask.index.readable(find(tree, ref))
    except AtlasError:
        return ()
    return tuple((row or {}).get("files", ()))


# who it may concern


def view(ask: Questions, me: Record, files: Iterable[str] = ()) -> View:
    """The session as the store knows it. `files` are those that only git knows of."""
    claimed = task.held(ask.index, me["id"], ask.now)
    mine = frozenset(row["id"] for row in claimed)
    adopted = [
        row["id"]
        for _, row in ask.index.live(sessions.FOLDER, ask.now - WEEK)
        if row.get("adopted_by") == me["id"]
    ]
    read = ask.local.known_to(readers(me))
    return View(
        me["id"],
        tuple(me.get("lineage", ())),
        tuple(adopted),
        frozenset(files),
        leases.meant(ask, me["id"]),
        tuple(me.get("paths", ())),
        mine,
        _about(ask, claimed),
        frozenset(_neighbours(ask, claimed)) - mine,
        frozenset(_relied_on(ask, me["id"], claimed)),
        frozenset(f"{kind}:{id}@{number}" for kind, id, number in read),
        own_key(ask, me["id"]),
    )


def places(ask: Questions, me: Record) -> set[str]:
    """The paths of a session that the store knows of: what it has leased, and what the tasks that
    it has claimed are about."""
    leased = (name for name in leases.meant(ask, me["id"]) if name.startswith("path:"))
    claimed = task.held(ask.index, me["id"], ask.now)
    return {*(name.removeprefix("path:") for name in leased), *_about(ask, claimed)}


def declared(ask: Questions, me: Record) -> set[str]:
    """The paths that a session has named, and that the tasks which it has claimed are about."""
    claimed = task.held(ask.index, me["id"], ask.now)
    return {*me.get("paths", ()), *_about(ask, claimed)}


def _about(ask: Questions, claimed: Sequence[Record]) -> tuple[str, ...]:
    """The paths that tasks are about."""
    return tuple(path for row in claimed for path in using.paths(ask.policy, row))


def _neighbours(ask: Questions, claimed: Sequence[Record]) -> Iterator[str]:
    """The tasks that these need directly, and those that need them."""
    for row in claimed:
        yield from row.get("needs", ())
        for _, other in ask.index.pointing(f"task:{row['id']}", "needs"):
            yield other["id"]


def _relied_on(ask: Questions, id: str, claimed: Sequence[Record]) -> Iterator[str]:
    """The REFs that the session's records, and the tasks that it has claimed, rely on."""
    for row in claimed:
        yield from row.get("relies_on", ())
    for commit in ask.index.commits(RECORDS, session=id)[0]:
        for path in commit["paths"].split("\n"):
            yield from ask.index.targets(path, "relies_on")


def own_key(ask: Questions, id: str) -> str:
    """The key of the section that a session wrote last; empty if it has written none."""
    commits, _ = ask.index.commits(1, session=id, folder=f"{status.FOLDER}/")
    paths = commits[0]["paths"].split("\n") if commits else []
    for path in paths:
        row = ask.index.readable(path) if path.startswith(f"{status.FOLDER}/") else None
        if row and row.get("section"):
            return f"{status.KIND.name}:{row['stream']}#{row['section']}"
    return ""


def to_all(ask: Questions, id: str, since: int) -> int | None:
    """The moment at which a session has last addressed all, after a moment; None if it has not."""
    for commit in ask.index.commits(COMMITS, session=id, after=ask.index.upto(since))[0]:
        for path in commit["paths"].split("\n"):
            row = ask.index.readable(path) or {}
            wrote = (part.get("for", ()) for part in _own_parts(row, commit["operation"]))
            if any(concern.ALL in to for to in (row.get("for", ()), *wrote)):
                return int(commit["at"])
    return None


def _own_parts(row: Record, operation: str) -> list[Record]:
    """The items of an entry for the sections that its own write has put there."""
    parts = [item for item in row.get("sections", ()) if isinstance(item, dict)]
    return [item for item in parts if item.get("from", operation) == operation]


def files(ask: Questions, git: Git, me: Record, staged: Iterable[str] | None = None) -> set[str]:
    """The files that only git knows to be a session's: staged in its worktree, and of its commits
    that no word of its speaks of, be it a section or a task's result. Git is asked for the staged
    ones if none are given, but not where several live in the worktree: nobody knows whose they are
    there."""
    return _staged_by(ask, git, me, staged) | _committed(git, me, words.own(ask, me))


def files_to_name(ask: Questions, git: Git, me: Record) -> set[str]:
    """The same, as a section or a record of the session names them: of a task's result nobody else
    is told, so it takes no file from what the next section is about."""
    sections = [word for word in words.own(ask, me) if word.since is None]
    return _staged_by(ask, git, me, None) | _committed(git, me, sections)


def _committed(git: Git, me: Record, spoken: Sequence[Word]) -> set[str]:
    """The files of a session's commits that none of these words speaks of."""
    from ..checks import commits

    paths: set[str] = set()
    since = f"--since={times.moment(me['began'])}"
    mine = ("--basic-regexp", f"--grep=^Atlas-Session: {me['id']}")
    try:
        made = commits.read(git, "--no-merges", f"-n{COMMITS}", since, *mine, "HEAD")
    except Failed:  # there is no commit yet
        return paths
    for commit in made:
        work = words.coded(commit, me["id"], spoken)
        if me["id"] in commit.sessions and not any(speaks_of(word, work) for word in spoken):
            paths.update(commit.paths)
    return paths


def _staged_by(ask: Questions, git: Git, me: Record, staged: Iterable[str] | None) -> set[str]:
    if staged is not None:
        return set(staged)
    others = [row for row in living(ask, me.get("worktree", "")) if row["id"] != me["id"]]
    return set() if others else set(_staged(git))


def _staged(git: Git) -> list[str]:
    code, out, _ = git.ask("diff", "--cached", "--name-only", "--no-renames", "-z")
    return [] if code else [name for name in out.decode(errors="replace").split("\0") if name]


def hot(ask: Questions, git: Git, mine: Iterable[str]) -> frozenset[str]:
    """The files that nearly every session of the last week has touched, and those, also of `mine`,
    that the policy says so of."""
    from ..checks import commits

    touched: dict[str, list[str]] = {}
    since = f"--since={ask.now - WEEK}"
    try:
        for commit in commits.read(git, "--no-merges", f"-n{COMMITS}", since, "--all"):
            for id in commit.sessions:
                touched.setdefault(id, []).extend(commit.paths)
    except Failed:
        pass
    return concern.hot(touched, ask.policy["hot"], mine)


# what it does not know


def news(ask: Questions, me: Record, view: View, whole: Sequence[Item]) -> list[News]:
    """The items that a session has neither read nor been told of; why each concerns it, and what it
    knows of it."""
    near = _near_tasks(ask, view)
    rows = []
    for item, how in _unheard(ask, me, whole):
        item = item._replace(tasks=tuple(near.get(item.session, ())))
        reason = concern.concerns(item, view)
        if item.relation != NEXT or reason:
            rows.append(News(item, reason, how))
    return rows


def _unheard(ask: Questions, me: Record, whole: Sequence[Item]) -> Iterator[tuple[Item, int]]:
    """The items of others that a session was not told of, each with what it knows of it."""
    known = knowledge(ask, me)
    for item in whole:
        how = known(item)
        if item.session != me["id"] and how < telling.TOLD:
            yield item, how


def knowledge(ask: Questions, me: Record) -> Callable[[Item], int]:
    """The measure of what a session knows of an item: the most that it was told of it."""
    heard: dict[int, dict[tuple[str, str], int]] = {}

    def how(item: Item) -> int:
        ids = hearers(me, item.session)
        if len(ids) not in heard:
            heard[len(ids)] = ask.local.heard(ids)
        return heard[len(ids)].get((item.key, item.version), 0)

    return how


def quiet(ask: Questions, me: Record, whole: Sequence[Item]) -> list[Item]:
    """The artifacts that a session was not told of and that say where they belong: it is told of
    them once its files are there, and never that there are so many."""
    rows = (item for item, _ in _unheard(ask, me, whole))
    return [item for item in rows if item.relation == NEXT and (item.on or item.to)]


def _near_tasks(ask: Questions, view: View) -> dict[str, list[str]]:
    """By session, the tasks beside those of a view that it has claimed, or done."""
    near: dict[str, list[str]] = {}
    for id in view.beside:
        row = ask.index.readable(task.path_of(id)) or {}
        if worker := row.get("claim", {}).get("session"):
            near.setdefault(worker, []).append(id)
    return near


def pace(ask: Questions, me: Record) -> Pace:
    """When a session was stopped and told last, and how often it may be."""
    last = ask.local.told_at(me["id"], telling.HEADED)
    return Pace(
        ask.now,
        ask.local.noted(me["id"], STOPPED),
        max(last, times.moment(me["began"])),
        policy.seconds(ask.policy, "stop_every"),
        policy.seconds(ask.policy, "look_within"),
    )


def unread(ask: Questions, tree: Tree, git: Git, me: Record) -> list[News]:
    """All that a session has neither read nor been told of, hot files and all."""
    whole = items(ask, tree)
    mine = view(ask, me, files(ask, git, me))
    return settled(ask, git, news(ask, me, mine, whole), mine)


def warnings(ask: Questions, tree: Tree, git: Git, me: Record) -> list[News]:
    """The sections of others at which a warning in force concerns a session, also one that it has
    read; what weighs most comes first."""
    warned = [item for item in _sections(ask, tree) if item.warn and item.session != me["id"]]
    if not warned:  # git is not asked
        return []
    mine = view(ask, me, files(ask, git, me))
    near = _near_tasks(ask, mine)
    rows = []
    for item in _newest(ask, warned):
        item = item._replace(tasks=tuple(near.get(item.session, ())))
        if reason := concern.concerns(item, mine):
            rows.append(News(item, reason))
    return telling.in_order(rows)


def settled(ask: Questions, git: Git, rows: list[News], mine: View) -> list[News]:
    """The same, with hot files told apart, and without what was retracted. Both are asked only of
    what is due."""
    own = mine.files.union(mine.claimed)
    if any(row.due and own.intersection((*row.item.on, *row.item.about)) for row in rows):
        warm = mine._replace(hot=hot(ask, git, own))
        rows = [row._replace(reason=concern.concerns(row.item, warm)) for row in rows]
    return [row for row in rows if not (row.due and ask.retracted(row.item.ref))]

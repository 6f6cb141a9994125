"""The words that a session has left for the next one, and its debts: the work that it owes a word
for. Records and words are asked of the index, code commits of the user's git."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from ..checks import commits
from ..checks.commit import CodeCommit
from ..checks.commits import Ahead
from ..errors import Failed
from ..model import times
from ..model.text import Record
from ..records import correction, session
from ..records import words as rules
from ..records.board import result, task
from ..records.words import Debt, Word, Work
from ..store.git import Git
from ..visible import many
from . import sessions
from .ask import WEEK, Questions

Heads = Mapping[str, str]  # the branches of a remote, and what it says that they are at
UNASKED: Heads = {}  # it was not asked
Carried = Mapping[str, Sequence[Record]]  # by session, the marks that others left for it
MOST = 1000  # code commits that are asked for, the newest first
DAY = 86400
_CLEAR = "over, and owes no word"  # noted of a session here: git need not be asked again


def row(ask: Questions, id: str) -> Record:
    """A session's row; empty if there is none that can be read."""
    path = session.path_of(id) if session.valid(id) else ""
    return (ask.index.readable(path) if path else None) or {}


def own(ask: Questions, record: Record) -> list[Word]:
    """The words of a session, oldest first."""
    words = [_word(ask, commit) for commit in ask.index.duties(record["id"])]
    confirmed = record.get("confirmed")
    if isinstance(confirmed, dict) and (at := _moment(confirmed.get("at"))) is not None:
        commit = ask.index.committed(record["id"], session.path_of(record["id"]), at)
        if commit:
            words.append(Word(commit["seq"], commit["operation"] or "", at, confirms=True))
    return sorted(word for word in words if word is not None)


def _moment(text: object) -> int | None:
    try:
        return times.moment(text)
    except ValueError:
        return None


def _word(ask: Questions, commit: Record) -> Word | None:
    """The word that a commit of the store is; None if it is work."""
    duties, paths = commit["duty"].split(" "), commit["paths"].split("\n")
    head = (commit["seq"], commit["operation"] or "", commit["at"] or 0)
    if "word" in duties:
        records = [ask.index.readable(path) for path in paths]
        return Word(*head, confirms=any("unchanged" in (record or ()) for record in records))
    if "result" in duties:
        return Word(*head, since=_claimed(ask, paths))
    return None


def _claimed(ask: Questions, paths: Sequence[str]) -> int:
    """The moment from which the claim ran whose result lies at one of these paths."""
    for path in paths:
        record = ask.index.readable(path) if path.endswith(result.SUFFIX) else None
        board = ask.index.readable(task.path_of(record["task"])) if record else None
        if board and (at := _moment(board.get("claim", {}).get("at"))) is not None:
            return at
    return 0


def heard(ask: Questions, record: Record, seen: frozenset[str] = frozenset()) -> list[Word]:
    """The words that speak for a session: its own, and from its adoption on those of its heirs."""
    words, heir = own(ask, record), record.get("adopted_by", "")
    if heir and heir not in seen and (other := row(ask, heir)):
        since = times.moment(record["adopted"])
        later = heard(ask, other, seen | {record["id"]})
        words += [word for word in later if word.at >= since]
    return sorted(set(words))


def newest(ask: Questions, record: Record) -> str:
    """The operation of a session's newest word, as its code commits name it."""
    words = own(ask, record)
    return words[-1].operation if words else rules.WITHOUT


def records(ask: Questions, id: str) -> list[Work]:
    """The records that a session owes a word for."""
    works, ended = [], _moment(row(ask, id).get("ended"))
    for commit in ask.index.duties(id):
        if "work" in commit["duty"].split(" ") and not _after_end(ask, commit, ended):
            place = commit["seq"]
            works.append(Work(commit["subject"], commit["at"] or 0, place - 1))
    return works


def _after_end(ask: Questions, commit: Record, ended: int | None) -> bool:
    """Whether a commit is the correction of a session's own record, once it had ended: that is a
    word itself, and shows wherever the record does."""
    if ended is None or (commit["at"] or 0) < ended:
        return False
    paths = [path for path in commit["paths"].split("\n") if path.startswith(correction.FOLDER)]
    return any((ask.index.readable(path) or {}).get("own") for path in paths)


def coded(commit: CodeCommit, id: str, words: Sequence[Word]) -> Work:
    """A code commit as the work of one of the sessions that it names."""
    after = rules.known(words, commit.words.get(id, ()), commit.made)
    return Work(f"commit {commit.oid[:10]}", commit.made, after, True, commit.subject)


def debt(ask: Questions, record: Record, made: Iterable[CodeCommit] = ()) -> Debt | None:
    """The work that a session, or its heir, owes a word for. `made` are its code commits."""
    id, words = record["id"], heard(ask, record)
    return rules.debt([*records(ask, id), *(coded(commit, id, words) for commit in made)], words)


def inherited(ask: Questions, id: str, seen: frozenset[str] = frozenset()) -> list[Record]:
    """The rows of the sessions that a session has adopted, and of those that these had adopted."""
    rows: list[Record] = []
    touched, _ = ask.index.commits(MOST, session=id, folder=f"{session.FOLDER}/")
    paths = dict.fromkeys(path for commit in touched for path in commit["paths"].split("\n"))
    for path in paths:
        other = ask.index.readable(path) if path.startswith(f"{session.FOLDER}/") else None
        if other and other.get("adopted_by") == id and other["id"] not in seen:
            rows += [other, *inherited(ask, other["id"], seen | {id, other["id"]})]
    return rows


def commits_of(
    git: Git, rows: Sequence[Record], ahead: Ahead | None = None
) -> dict[str, list[CodeCommit]]:
    """The code commits of some sessions on any branch, by session; also those that only a remote
    has (`ahead`). None where there is no code, or git cannot say."""
    by_session: dict[str, list[CodeCommit]] = {record["id"]: [] for record in rows}
    if not rows:
        return by_session
    since = min(times.moment(record["began"]) for record in rows) - DAY
    asked = [f"--grep=^Atlas-Session: {id}" for id in by_session]
    refs = ("--exclude=refs/stash", "--exclude=refs/notes/*", "--exclude=refs/remotes/*/atlas")
    some = ("--no-merges", f"-n{MOST}", f"--since={since}", "--basic-regexp")
    try:
        git, tips = ahead or (git, ())
        made = commits.read(git, *some, *asked, *refs, "--all", tips=tips)
    except Failed:
        return by_session
    for commit in made:
        for id in commit.sessions.keys() & by_session.keys():
            by_session[id].append(commit)
    return by_session


def heir(ask: Questions, record: Record) -> Record:
    """The last session that has taken over what one left; that one itself if none has."""
    seen = {record["id"]}
    while (other := row(ask, record.get("adopted_by", ""))) and other["id"] not in seen:
        seen.add(other["id"])
        record = other
    return record


def owed(ask: Questions, me: Record, git: Git | None, ahead: Ahead | None = None) -> Debt | None:
    """The work that a session owes a word for, with what it has taken over. `git`: code commits are
    asked for as well. Those of a session that was taken over, of which none is here, are as many as
    its row tells of."""
    others = inherited(ask, me["id"])
    made = commits_of(git, [me, *others], ahead) if git else {}
    debts = [debt(ask, record, made.get(record["id"], ())) for record in (me, *others)]
    works = [work for due in debts if due for work in due.works]
    if elsewhere := [row for row in others if not made.get(row["id"])]:
        marks = carried(ask)
        works += [work for row in elsewhere for work in _told_of(ask, row, marks)]
    return Debt(tuple(sorted(works, key=lambda work: work.at))) if works else None


def _told_of(ask: Questions, record: Record, others: Carried) -> list[Work]:
    """The commits of a session that rows tell of and no word speaks of: those that were pushed, and
    those that it owed a word for as its tool closed it."""
    notes = [(mark["commits"], mark) for mark in announced(ask, record, others)]
    if not notes and rules.is_left(left := record.get("owes")):
        notes = [(rules.commits_in(note), note) for note in rules.later([left], heard(ask, record))]
    return [
        Work(f"commit {number} of {record['id']}", times.moment(note["at"]), 0, True)
        for count, note in notes
        for number in range(1, count + 1)
    ]


def unseen(ask: Questions, me: Record, machine: str) -> list[str]:
    """The sessions of other clones that a session has taken over, and no word has spoken of since:
    what they committed and did not push, nobody sees here."""
    rows = inherited(ask, me["id"])
    return [row["id"] for row in rows if row["machine"] != machine and _is_unsaid(ask, row)]


def _is_unsaid(ask: Questions, record: Record) -> bool:
    """Whether nobody has written a word on a session since it was adopted, or as it ended."""
    since = times.moment(record["adopted"])
    return not _was_asked(record) and not any(word.at >= since for word in heard(ask, record))


def unsaid(ask: Questions, me: Record, git: Git) -> Debt | None:
    """The part of what a session owes a word for that is known from no other row: its own work, and
    the commits of those that it adopted, where no tool noted them as it closed them."""
    rows = [me, *(row for row in inherited(ask, me["id"]) if "owes" not in row)]
    made = commits_of(git, rows)
    debts = [debt(ask, row, made[row["id"]]) for row in rows]
    own, *others = [due.works if due else () for due in debts]
    works = [*own, *(work for whole in others for work in whole if work.code)]
    return Debt(tuple(sorted(works, key=lambda work: work.at))) if works else None


def settled(record: Record) -> bool:
    """Whether nobody is asked what a session has left."""
    return "dismissed" in record


def carried(ask: Questions) -> Carried:
    """The marks of the last week that others left for a session: they pushed its commits."""
    others: dict[str, list[Record]] = {}
    for _, record in ask.index.live(session.FOLDER, ask.now - WEEK):
        for mark in rules.marks(record):
            if mark.get("session", record["id"]) != record["id"]:
                others.setdefault(mark["session"], []).append(mark)
    return others


def announced(ask: Questions, record: Record, others: Carried) -> list[Record]:
    """The marks of a session's commits that no word came after, whether their push arrived or not,
    and whoever pushed."""
    id = record["id"]
    marks = [mark for mark in rules.marks(record) if mark.get("session", id) == id]
    marks += others.get(id, ())
    return rules.later(marks, heard(ask, record)) if marks else []


def pushed(
    ask: Questions, git: Git, record: Record, others: Carried, heads: Heads = UNASKED
) -> list[Record]:
    """The marks of a session's commits that no word came after, and that count: their tip is on the
    remote's branch, by this clone's copy of it, or by what the remote says."""
    return [mark for mark in announced(ask, record, others) if _is_there(git, mark, heads)]


def kept(ask: Questions, git: Git, me: Record, heads: Heads) -> list[Record]:
    """The marks in a session's row that still count, of its own commits and of others'."""
    marks = []
    for mark in rules.marks(me):
        of = row(ask, mark["session"]) if "session" in mark else me
        if of and rules.later([mark], heard(ask, of)) and _is_there(git, mark, heads):
            marks.append(mark)
    return marks


def _is_there(git: Git, mark: Record, heads: Heads) -> bool:
    tip, branch = mark["tip"], mark["branch"]
    if tip.strip("0123456789abcdef") or len(tip) < 40:
        return False
    head = heads.get(branch, "")
    if head == tip or (head and not git.ask("merge-base", "--is-ancestor", tip, head)[0]):
        return True
    return bool(_copies(git, branch, f"--contains={tip}"))


def _copies(git: Git, branch: str, *which: str) -> bytes:
    """A copy of a remote's branch that this clone has; empty if there is none."""
    where = f"refs/remotes/*/{branch}"
    code, out, _ = git.ask("for-each-ref", "--count=1", *which, "--", where)
    return b"" if code else out.strip()


def _marked(ask: Questions, others: Carried) -> list[Record]:
    """The rows of the sessions whose commits were pushed with a mark within the last week."""
    rows = {record["id"]: record for _, record in ask.index.live(session.FOLDER, ask.now - WEEK)}
    ids = [id for id, record in rows.items() if record.get("marks")]
    marked = (rows.get(id) or row(ask, id) for id in dict.fromkeys([*ids, *others]))
    return [record for record in marked if record and not settled(record)]


def untold(ask: Questions, git: Git) -> bool:
    """Whether only the remote can say if a push has arrived: it was within the hour, and this clone
    has no copy of its branch."""
    others = carried(ask)
    marks = (mark for row in _marked(ask, others) for mark in announced(ask, row, others))
    branches = {mark["branch"] for mark in marks if rules.underway(mark, ask.now)}
    return any(not _copies(git, branch) for branch in branches)


def without_word(ask: Questions, git: Git, heads: Heads) -> list[Record]:
    """The pushes to the branches of integration that no word speaks of yet: marks, each with the
    session whose commits these are, the newest first."""
    others = carried(ask)
    marks = [
        {"session": record["id"], **mark}
        for record in _marked(ask, others)
        for mark in pushed(ask, git, record, others, heads)
    ]
    return sorted(marks, key=lambda mark: str(mark["at"]), reverse=True)


def unfinished(ask: Questions, git: Git, heads: Heads) -> list[Record]:
    """Sessions of the last seven days that are over, and owe a word, for themselves or for those
    that they adopted: for records, for what was pushed of them, for what they had committed when
    their tool closed them, or for commits in this clone, wherever they were made (also where their
    word came to nothing, and is a draft). Each has `owes`."""
    owing, silent = set(ask.index.owing()), []
    unsaid_here, others = ask.local.drafting(), carried(ask)
    debts: dict[str, list[str]] = {}
    over: dict[str, Record] = {}
    for record in _left(ask, owing):
        last, state = sessions.pulse(ask, owner := heir(ask, record))
        if state == "live" or settled(record) or settled(owner):
            continue
        shown = {**ask.shown(owner, f"session:{owner['id']}"), "state": state}
        over[owner["id"]] = {**shown, "last": times.rfc3339(last)}
        if owes := _owes(ask, git, record, owing, (others, heads)):
            debts.setdefault(owner["id"], []).append(owes)
        elif record["id"] in unsaid_here or not _was_asked(record):
            silent.append(record)
    made = commits_of(git, silent)
    for record in silent:
        if due := debt(ask, record, made[record["id"]]):
            debts.setdefault(heir(ask, record)["id"], []).append(due.text())
    return [{**over[id], "owes": "; ".join(owes)} for id, owes in debts.items()]


def _left(ask: Questions, owing: Iterable[str]) -> list[Record]:
    """The sessions of the last seven days, and older ones that were adopted and owe for records."""
    rows = {record["id"]: record for _, record in ask.index.live(session.FOLDER, ask.now - WEEK)}
    for id in owing:
        if id not in rows and "adopted_by" in (record := row(ask, id)):
            rows[id] = record
    return list(rows.values())


def _was_asked(record: Record) -> bool:
    """Whether a session was asked for its word as it ended: it has ended itself. One that was
    dropped, or adopted while it was silent, has not."""
    ended = _moment(record.get("ended"))
    return (
        ended is not None
        and "dropped_by" not in record
        and "owes" not in record
        and (record.get("adopted") != record["ended"])
    )


def _owes(
    ask: Questions, git: Git, record: Record, owing: Collection[str], pushes: tuple[Carried, Heads]
) -> str:
    """The work that a session owes a word for, by the store; empty if nothing is known."""
    if record["id"] in owing and (due := debt(ask, record)):
        return due.text()
    if marks := pushed(ask, git, record, *pushes):
        return many(sum(mark["commits"] for mark in marks), "commit")
    left = record.get("owes")
    if rules.is_left(left) and rules.later([left], heard(ask, record)):
        return str(left["text"])[:100]
    return ""


def long_unfinished(ask: Questions, git: Git, machine: str, heads: Heads) -> int:
    """How many sessions that were over more than seven days ago owe a word: as `unfinished` says it
    of younger ones. Of one that committed here git is asked until it is known to owe nothing."""
    owing, clear, others = set(ask.index.owing()), ask.local.said(_CLEAR), carried(ask)
    count, silent = 0, []
    for record in _long_over(ask, owing):
        if "adopted_by" in record or settled(record):
            continue
        if _owes(ask, git, record, owing, (others, heads)):
            count += 1
        elif record["machine"] == machine and not _was_asked(record) and record["id"] not in clear:
            silent.append(record)
    made = commits_of(git, silent)
    for record in silent:
        if debt(ask, record, made[record["id"]]):
            count += 1
        else:
            ask.local.first_time(record["id"], _CLEAR)
    return count


OLD = 500  # sessions that were over for seven days, and are looked at for what they owe


def _long_over(ask: Questions, owing: Iterable[str]) -> list[Record]:
    """The sessions that were over more than seven days ago and may owe a word."""
    before = ask.now - WEEK
    rows = {record["id"]: record for record in ask.index.past(session.FOLDER, before, OLD)}
    for id in owing:
        record = rows.get(id) or row(ask, id)  # (none that can be read, of what a hand wrote)
        if record and (session.until(record) or 0) <= before:
            rows[id] = record
    return list(rows.values())

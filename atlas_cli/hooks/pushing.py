"""Write last, at a push: what a branch of integration gains is judged by the words of the sessions
whose commits these are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..answers import sessions, words
from ..answers.ask import WEEK
from ..checks.commit import CodeCommit
from ..env import wording, writing
from ..env.env import Env
from ..errors import AtlasError, Protocol
from ..model import names, times
from ..model.text import Record
from ..records import policy, session
from ..records import words as rules
from ..records.board import task
from ..records.words import Debt, Owner, Verdict
from . import facts, findings, quick


class Update(NamedTuple):
    """The update of one branch by a push: its commits here and there."""

    branch: str
    local: str
    remote_end: str


def code(env: Env, given: str) -> str:
    """The lines of code among what git tells a pre-push hook: not those that push the store's own
    branch."""
    lines = [line for line in given.split("\n") if line.count(" ") == 3]
    tips = list(dict.fromkeys(line.split(" ")[1] for line in lines))
    asked = "".join(f"{tip}:atlas.yaml\n" for tip in tips)
    answers = facts.of(env).git.ask("cat-file", "--batch-check", data=asked.encode())[1]
    alike = zip(tips, answers.decode(errors="replace").split("\n"), strict=False)
    ours = {tip for tip, answer in alike if " blob " in answer and quick.of_store(tip)}
    return "".join(f"{line}\n" for line in lines if line.split(" ")[1] not in ours)


def guarded(given: str, branches: Sequence[str] | None) -> list[Update]:
    """The updates of branches of integration (names and patterns) among what git tells a pre-push
    hook. None: every branch is one."""
    updates = []
    for line in given.split("\n"):
        if line.count(" ") != 3:
            continue
        _, local, ref, remote_end = line.split(" ")
        branch = ref.removeprefix("refs/heads/")
        if (
            branch != ref
            and local.strip("0")
            and (branches is None or names.covered(branch, branches))
        ):
            updates.append(Update(branch, local, remote_end))
    return updates


def paths(env: Env, me: Record, remote: str, given: str) -> list[str]:
    """The paths of a session's own commits among those that a push brings to any branch."""
    hook = facts.of(env)
    gained = (
        commit
        for update in guarded(given, None)
        for commit in hook.gained(remote, *update, others=())
    )
    mine = [commit for commit in gained if me["id"] in commit.sessions]
    return list(dict.fromkeys(path for commit in mine for path in commit.paths))


class Push(NamedTuple):
    """A push, judged. `me` is None where no session pushes. `brings`: what it brings of each
    session, and no word speaks of; `paths`: of a session's commits among it."""

    me: Record | None
    where: str  # the branches, for a line
    update: Update
    verdict: Verdict
    brings: tuple[Owner, ...] = ()
    paths: Mapping[str, list[str]] = {}

    def findings(self, env: Env) -> list[findings.Finding]:
        """The one stop that names all; what stops nothing becomes a notice."""
        verdict = self.verdict
        if verdict.at_work:
            env.notices.append(
                f"commits go to {self.where} of sessions at work that have not said for long what"
                f" they did: {', '.join(verdict.at_work)}"
            )
        if not verdict.late and not verdict.left:
            return []
        stop = Protocol(self._message(env), self._hint(), code="write_last")
        if self.me is None or self.me.get("class") == session.PERSON:
            env.notices.append(f"{stop.message}; {stop.hint}")
            return []
        wording.ask(env, self.me)
        return [("write_last", stop)]

    def _message(self, env: Env) -> str:
        late, left = self.verdict.late, self.verdict.left
        owing = []
        if late:
            age = times.span(env.now() - min(late.at, env.now()))
            owing.append(f"your {late.text()}, the oldest {age} old")
        if left:
            verb = "are" if len(left) > 1 else "is"
            owing.append(f"{', '.join(left)}, which {verb} over")
        return f"commits go to {self.where} that no word speaks of: {'; '.join(owing)}"

    def _hint(self) -> str:
        left = self.verdict.left
        whose = "their" if len(left) > 1 else "its"
        adopt = f"atlas session adopt {' '.join(left)} --why '{whose} commits are pushed'"
        if self.me is None:
            return f"a session takes over what it left: {adopt}"
        write = adopt if left else "atlas status write"
        return f"write last, then push again: {write} -m 'what is done, what is open'"

    def ask_for_word(self, env: Env) -> None:
        """Says until when the pusher's word is wanted: once for a debt, at a push that goes on. (If
        the branch is at a commit there that is not here, git rejects it: fetch first.) A debt is
        known by its oldest work, whose date no rebase changes. A session that has claimed a task
        gives it with the result."""
        owed, me, end = self.verdict.young, self.me, self.update.remote_end
        if owed is None or me is None or (end.strip("0") and not facts.of(env).has(end)):
            return
        if task.held(env.index, me["id"], env.now()):
            return
        if not env.local.first_time(me["id"], f"word:{owed.at}"):
            return
        what = "what these commits did" if owed.commits else "what you have recorded is about"
        env.notices.append(
            f"say by {_due(env, owed)} {what}: atlas status write -m …; a task's result or `end`"
            " does it too"
        )

    def leave_mark(self, env: Env) -> bool:
        """Puts marks into the pusher's row, one for each session whose commits it brings, so that
        what is pushed without a word has happened for the others, once it is on the remote's
        branch. Earlier marks stay that got there: of the others this push is the second try. A push
        does not fail for it. Whether any was left."""
        me = self.me
        known = {(mark["tip"], mark.get("session", "")) for mark in rules.marks(me or {})}
        new = [self._mark(env, me, owner) for owner in self.brings if me and owner.owed.commits]
        new = [mark for mark in new if (mark["tip"], mark.get("session", "")) not in known]
        if me is None or not new:
            return False
        heads = {self.update.branch: self.update.remote_end}
        marks = [*words.kept(env.ask, env.git, me, heads), *new][-rules.MARKS :]
        try:
            writing.write(env, lambda tree, who: session.mark(tree, who, marks), me, "session: ")
        except AtlasError as error:
            env.notices.append(f"the push leaves no mark for the others: {error.message}")
            return False
        return True

    def _mark(self, env: Env, me: Record, owner: Owner) -> Record:
        """The mark of what the push brings of a session."""
        row = words.row(env.ask, owner.id)
        word, paths = words.newest(env.ask, row), self.paths.get(owner.id, ())
        of, update = owner.id if owner.id != me["id"] else "", self.update
        return rules.mark(update.branch, update.local, env.now(), owner.owed, paths, word, of)


def _due(env: Env, owed: Debt) -> str:
    """The time of day at which the pusher's word is due, by the clock on its wall."""
    from datetime import datetime

    moment = rules.due(owed, env.now(), policy.seconds(env.policy, "word_within"))
    return datetime.fromtimestamp(moment).astimezone().strftime("%H:%M")


def judged(
    env: Env, remote: str, updates: Sequence[Update], branches: Sequence[str] | None
) -> Push:
    """A push that updates branches of integration, judged by what they gain."""
    hook = facts.of(env)
    me, _ = findings.committer(env, "")
    gained: dict[str, CodeCommit] = {}
    for update in updates:
        for commit in hook.gained(remote, *update, branches or ()):
            gained[commit.oid] = commit
    mine = me["id"] if me else ""
    owners = _owners(env, gained.values())
    brings = tuple(owners)
    if me and (own := next((owner.owed for owner in owners if owner.id == mine), None)):
        whole = _whole(env, me, own)
        owners = [o._replace(owed=whole) if o.id == mine else o for o in owners]
    within = policy.seconds(env.policy, "word_within")
    verdict = rules.judge_push(owners, mine, env.now(), within, WEEK)
    paths: dict[str, list[str]] = {}
    for commit in gained.values():
        for id in commit.sessions:
            paths.setdefault(id, []).extend(commit.paths)
    where = f"{', '.join(update.branch for update in updates)} of {remote}"
    return Push(me, where, updates[0], verdict, brings, paths)


def _whole(env: Env, me: Record, brings: Debt) -> Debt:
    """All that the pusher owes a word for, pushed before or not: the word is due by the oldest."""
    owed = words.owed(env.ask, me, facts.of(env).git)
    works = dict.fromkeys([*(owed.works if owed else ()), *brings.works])
    return Debt(tuple(sorted(works, key=lambda work: work.at)))


def _owners(env: Env, gained: Iterable[CodeCommit]) -> list[Owner]:
    """The sessions that owe a word for one of these commits, each or its heir."""
    made: dict[str, list[CodeCommit]] = {}
    for commit in gained:
        for id in commit.sessions:
            made.setdefault(id, []).append(commit)
    owed: dict[str, list[rules.Work]] = {}
    rows: dict[str, Record] = {}
    for id, commits in made.items():
        record = words.row(env.ask, id)
        if not record or words.settled(record):
            continue
        if due := words.debt(env.ask, record, commits):
            owner = words.heir(env.ask, record)
            rows[owner["id"]] = owner
            owed.setdefault(owner["id"], []).extend(due.works)
    return [_owner(env, rows[id], works) for id, works in owed.items()]


def _owner(env: Env, row: Record, works: list[rules.Work]) -> Owner:
    last, state = sessions.pulse(env.ask, row)
    over = None if state == "live" else min(sessions.over(env.ask, row, last), env.now())
    return Owner(row["id"], rules.Debt(tuple(sorted(works, key=lambda work: work.at))), over)

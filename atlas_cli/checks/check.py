"""`check` and a server's `pre-receive`, from end to end: the commits to judge, the store to judge
them by, and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ..errors import Damaged
from ..model import names
from ..records import policy as policies
from ..store import BRANCH
from ..store.git import Git
from ..store.repo import Repo
from ..store.snapshot import Snapshot
from ..store.source import OWN, Source, source
from ..verify import receive
from . import commits, links, renames, rules
from .commit import CodeCommit
from .history import read_history
from .range import Range, branch_names
from .rules import Target, Verdict

ORDER = ("--reverse", "--topo-order")


class Checked(NamedTuple):
    """A verdict, the range that it is on, and the store that it rests on: where that was found
    (`own`: in this clone), and its head."""

    verdict: Verdict
    range: str
    store: str
    head: str
    own: bool


def check(
    place: Repo,
    git: Git,
    find: Callable[[Mapping[str, Any]], Range],
    now: Callable[[Mapping[str, Any]], int],
) -> Checked:
    """Judges commits of the user's repository. `find` gives their range by the policy, `now` the
    moment at which they are judged."""
    with source(place, git) as store:
        policy = in_force(store, place)
        wanted = find(policy)
        judged = commits.read(git, *ORDER, *wanted.revisions) if wanted.revisions else []
        verdict = _judged(store, place, git, judged, wanted.target, now(policy))
        return Checked(verdict, wanted.text, store.where, store.head, store.where == OWN)


def in_force(store: Source, place: Repo) -> Mapping[str, Any]:
    """The store's policy; the defaults if a hand has spoilt it."""
    try:
        return policies.of(Snapshot(store.git, store.head, place.width))
    except Damaged:
        return policies.of(Snapshot(store.git, None, place.width))


def _judged(
    store: Source, place: Repo, git: Git, judged: list[CodeCommit], target: Target, now: int
) -> Verdict:
    history = read_history(store, place.width, judged, now)
    policy = in_force(store, place)
    return rules.judge(judged, history, policy, target, lambda commit: dead_links(git, commit))


def dead_links(git: Git, commit: CodeCommit) -> Iterable[tuple[str, str]]:
    """(path, text) of the relative links that a commit's moves and deletions broke."""
    if commit.moved and commit.parents:
        for link in links.broken(*renames.between(git, commit.parents[0], commit.oid)):
            better = f"; {link.corrected} would" if link.corrected else ""
            yield link.file, f"line {link.line}: {link.written} leads nowhere{better}"


class Received(NamedTuple):
    """The findings of a push, each with its ref: against the store's rules (`broken`), and against
    code commits (`verdicts`). `level` is the policy's `check_on_receive`."""

    broken: tuple[tuple[str, Any], ...]
    verdicts: tuple[tuple[str, Verdict], ...]
    level: str


def received(place: Repo, lines: Iterable[str], now: int) -> Received:
    """Judges a push before it is taken: the store's branch by the store's rules, and the
    integration branches by `check` if the policy asks for it. Other refs pass."""
    git, pushes = receive.server(place), receive.pushes(lines)
    of_store = [push for push in pushes if push.ref == BRANCH]
    broken = [
        (push.ref, violation)
        for push in of_store
        for violation in receive.violations(git, place, push)
    ]
    stored = git.object(BRANCH)
    head = stored[0] if stored else ""
    if not broken:  # the store is judged by as it will be
        head = next((push.new for push in of_store if push.new), head)
    if not head:
        return Received(tuple(broken), (), "off")
    store = Source(git, head, BRANCH)
    policy = in_force(store, place)
    level = policy["check_on_receive"]
    guarded = branch_names(git, policy)
    verdicts = []
    for push in pushes if level != "off" else ():
        branch = push.ref.removeprefix("refs/heads/")
        if branch != push.ref and push.new and names.covered(branch, guarded):
            known = [f"^{push.old}"] if push.old else ["--not", "--all"]
            new = commits.read(git, *ORDER, push.new, *known)
            target = Target(integration=True)
            verdicts.append((push.ref, _judged(store, place, git, new, target, now)))
    return Received(tuple(broken), tuple(verdicts), level)

"""`check` and a server's `pre-receive`, from end to end: what to judge, by which store, and the
verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ..errors import Damaged
from ..records import policy
from ..store import BRANCH
from ..store.git import Git
from ..store.repo import Repo
from ..store.snapshot import Snapshot
from ..store.source import OWN, Source, source
from ..verify import receive
from . import commits, links, renames, rules
from .ci import Asked
from .commit import Code
from .history import past
from .range import branch_names, span
from .rules import Verdict, Where

ORDER = ("--reverse", "--topo-order")


class Checked(NamedTuple):
    """A verdict, what it is on, and the store that it rests on: where it was found (`own`: in this
    clone), its head."""

    verdict: Verdict
    range: str
    store: str
    head: str
    own: bool


def check(
    place: Repo, git: Git, given: str | None, asked: Asked, say: Callable[[str], None]
) -> Checked:
    """Judges the commits of a range in the user's repository."""
    with source(place, git) as found:
        rule_book = in_force(found, place)
        wanted = span(git, given, asked, rule_book, say)
        codes = commits.read(git, *ORDER, *wanted.revisions) if wanted.revisions else []
        verdict = _judged(found, place, git, codes, wanted.where)
        return Checked(verdict, wanted.text, found.where, found.head, found.where == OWN)


def in_force(found: Source, place: Repo) -> Mapping[str, Any]:
    """The store's policy; the defaults where a hand has spoilt it."""
    try:
        return policy.of(Snapshot(found.git, found.head, place.width))
    except Damaged:
        return policy.of(Snapshot(found.git, None, place.width))


def _judged(found: Source, place: Repo, git: Git, codes: list[Code], where: Where) -> Verdict:
    known = past(found, place.width, codes)
    return rules.judge(
        codes, known, in_force(found, place), where, lambda code: dead_links(git, code)
    )


def dead_links(git: Git, code: Code) -> Iterable[tuple[str, str]]:
    """(path, text) of the relative links that a commit's moves and deletions broke."""
    if code.moved and code.parents:
        for one in links.broken(*renames.between(git, code.parents[0], code.oid)):
            better = f"; {one.corrected} would" if one.corrected else ""
            yield one.file, f"line {one.line}: {one.written} leads nowhere{better}"


class Received(NamedTuple):
    """What is to be said of a push, each thing with its ref; `level` is the policy's
    `check_on_receive`."""

    broken: tuple[tuple[str, Any], ...]
    verdicts: tuple[tuple[str, Verdict], ...]
    level: str


def received(place: Repo, lines: Iterable[str]) -> Received:
    """Judges a push before it is taken: the store's branch by the store's rules, and, where its
    policy asks for it, the integration branches by `check`. Other refs pass."""
    git, pushed = receive.server(place), receive.pushes(lines)
    broken = [
        (push.ref, one)
        for push in pushed
        if push.ref == BRANCH
        for one in receive.broken(git, place, push)
    ]
    there = git.object(BRANCH)
    new = [push.new for push in pushed if push.ref == BRANCH and push.new and not broken]
    if not new and there is None:
        return Received(tuple(broken), (), "off")
    head = new[0] if new else there[0] if there else ""
    found = Source(git, head, BRANCH)
    rule_book = in_force(found, place)
    level = rule_book["check_on_receive"]
    names = {f"refs/heads/{name}" for name in branch_names(git, rule_book)}
    verdicts = []
    for push in pushed if level != "off" else ():
        if push.ref in names and push.new:
            codes = commits.read(
                git, *ORDER, push.new, *([f"^{push.old}"] if push.old else ["--not", "--all"])
            )
            verdicts.append((push.ref, _judged(found, place, git, codes, Where(integration=True))))
    return Received(tuple(broken), tuple(verdicts), level)

"""Finds the code commits that are to be judged: a range that was given, that CI names, or that is
not yet upstream."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import Failed, NotFound, Usage
from ..model import names, times
from ..store.git import Git
from .ci import CiRange
from .rules import Target


class Range(NamedTuple):
    """The arguments for `git log`, the same in words, and the branch that the commits are for."""

    revisions: tuple[str, ...]
    text: str
    target: Target


def find_range(
    git: Git,
    given: str | None,
    ci: CiRange,
    policy: Mapping[str, Any],
    say: Callable[[str], None],
) -> Range:
    """The commits to judge. Raises Failed (`shallow`) with the remedy if the clone does not reach
    back so far, NotFound if an end of the range is not in it."""
    default = _default(git)
    if given is not None:
        base, head = _given(given)
    else:
        head = ci.head if ci.head and _exists(git, ci.head) else "HEAD"
        if head == "HEAD" and not _exists(git, head):
            return Range((), "no commit yet", Target())
        base = _base(git, ci, head, default, say)
    for end in filter(None, (base, head)):
        if not _exists(git, end):
            raise _lacking(git, ci, f"the commit {end[:80]} is not in this clone")
    revisions = (head, f"^{base}") if base else (head,)
    if cut := _cut(git, revisions):
        raise _lacking(git, ci, f"the history ends at {cut[:12]}, within what is to be judged")
    current = _answer(git, "symbolic-ref", "--short", "HEAD") if head == "HEAD" else head
    branch = ci.target or ci.branch or current or ""
    text = f"{base[:40]}..{head[:40]}" if base else f"all of {head[:40]}"
    integration = names.covered(branch.removeprefix("origin/"), branch_names(git, policy))
    return Range(revisions, text, Target(integration, ci.target is not None))


def lately(git: Git, since: int, policy: Mapping[str, Any]) -> Range:
    """The commits of the integration branches since a moment, as they were fetched last: what no
    push has judged."""
    tips = [
        tip
        for pattern in sorted(branch_names(git, policy))
        for name in _meant(git, pattern)
        if _exists(git, tip := _tracked(git, name))
    ]
    text = f"{', '.join(tips)} since {times.rfc3339(since)}"
    if not tips:
        return Range((), "no integration branch is here", Target())
    return Range((*tips, f"--since={since}"), text, Target(integration=True))


def branch_names(git: Git, policy: Mapping[str, Any]) -> set[str]:
    """The integration branches, by names and patterns: those of the policy, else the one that the
    remote (or, on a server, the repository) calls its own, else `main` and `master`."""
    if policy.get("integration"):
        return set(policy["integration"])
    head = _answer(git, "symbolic-ref", "refs/remotes/origin/HEAD")
    if not head and git.run("rev-parse", "--is-bare-repository").strip() == b"true":
        head = _answer(git, "symbolic-ref", "HEAD")
    if not head:
        return {"main", "master"}
    return {head.removeprefix("refs/remotes/origin/").removeprefix("refs/heads/")}


def _meant(git: Git, pattern: str) -> list[str]:
    """The branches of a pattern that were fetched, or are local; of a name, that one."""
    if not re.search(r"[*?\[]", pattern):
        return [pattern]
    places = (("refs/remotes/*/", 3), ("refs/heads/", 2))
    asked = ((f"--format=%(refname:lstrip={cut})", f"{place}{pattern}") for place, cut in places)
    listed = "".join(git.run("for-each-ref", *args).decode() for args in asked)
    return sorted({*listed.split()})


def _given(text: str) -> tuple[str | None, str]:
    if text.startswith("-"):
        raise Usage(f"{text[:80]!r} is no range", "write it like main..HEAD")
    base, dots, head = text.replace("...", "..").partition("..")
    return (base or "HEAD", head or "HEAD") if dots else (None, text)


def _base(
    git: Git, ci: CiRange, head: str, default: str | None, say: Callable[[str], None]
) -> str | None:
    """The commit that the commits to judge come after: the one that CI names, the target of a merge
    request, the upstream, the default branch. If that leaves nothing in CI: the commit before."""
    if ci.base and (_exists(git, ci.base) or _shallow(git)):
        return ci.base
    if ci.base:
        say(
            f"{ci.name} names {ci.base[:12]} as the commit before, which is not there (a force"
            " push?)"
        )
    if ci.target:
        return _tracked(git, ci.target)
    if ci.name:
        base = default
    else:
        upstream = _answer(git, "rev-parse", "--verify", "--abbrev-ref", "@{upstream}")
        base = upstream or default
    if ci.name and base and not git.run("rev-list", "-n1", head, f"^{base}", "--"):
        return f"{head}^" if _exists(git, f"{head}^") else None
    return base


def _answer(git: Git, *args: str) -> str | None:
    """The answer of git, on one line; None if it says nothing or fails."""
    code, out, _ = git.ask(args[0], "--quiet", *args[1:])
    return None if code else out.decode(errors="replace").strip() or None


def _exists(git: Git, revision: str) -> bool:
    commit = f"{revision}^{{commit}}"
    return _answer(git, "rev-parse", "--verify", "--end-of-options", commit) is not None


def _tracked(git: Git, branch: str) -> str:
    """A branch as it was fetched, from `origin` first, else the local one of that name."""
    out = git.run(
        "for-each-ref", "--format=%(refname)", f"refs/remotes/*/{branch}", f"refs/heads/{branch}"
    ).decode()
    order = ("refs/remotes/origin/", "refs/remotes/", "refs/")
    refs = sorted(
        out.split(),
        key=lambda ref: next(at for at, lead in enumerate(order) if ref.startswith(lead)),
    )
    return next(iter(refs), branch)


def _default(git: Git) -> str | None:
    """The branch that others are merged into."""
    names = (
        _answer(git, "symbolic-ref", "refs/remotes/origin/HEAD"),
        _tracked(git, "main"),
        _tracked(git, "master"),
    )
    return next((name for name in names if name and _exists(git, name)), None)


def _shallow(git: Git) -> bool:
    return git.run("rev-parse", "--is-shallow-repository").strip() == b"true"


def _cut(git: Git, revisions: Sequence[str]) -> str | None:
    """A commit of the range whose parents a shallow clone does not have: it would look as if it had
    made everything. None if there is none."""
    if not _shallow(git):
        return None
    for oid in git.run("rev-list", "--max-parents=0", *revisions, "--").decode().split():
        commit = git.object(oid)
        if commit and b"\nparent " in commit[2].partition(b"\n\n")[0]:
            return oid
    return None


def _lacking(git: Git, ci: CiRange, what: str) -> Failed | NotFound:
    if _shallow(git):
        hint = f"get the whole history: {ci.depth}"
        return Failed(f"{what}, which is a shallow one", hint, code="shallow")
    return NotFound(what, "git fetch gets it, if it was pushed")

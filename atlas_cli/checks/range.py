"""Which code commits are to be judged: a range that was given, that CI names, or that is not yet
upstream."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import Failed, NotFound, Usage
from ..store.git import Git
from .ci import Asked
from .rules import Where


class Span(NamedTuple):
    """The arguments for `git log`, the same in words, and where these commits are."""

    revisions: tuple[str, ...]
    text: str
    where: Where


def span(
    git: Git, given: str | None, asked: Asked, rules: Mapping[str, Any], say: Callable[[str], None]
) -> Span:
    """The commits to judge. Failed (`shallow`) where the clone does not reach back so far, with the
    remedy."""
    default = _default(git)
    if given is not None:
        base, head = _given(given)
    else:
        head = asked.head if asked.head and _there(git, asked.head) else "HEAD"
        if head == "HEAD" and not _there(git, head):
            return Span((), "no commit yet", Where())
        base = _base(git, asked, head, default, say)
    for end in filter(None, (base, head)):
        if not _there(git, end):
            raise _lacking(git, asked, f"the commit {end[:80]} is not in this clone")
    revisions = (head, *([f"^{base}"] if base else []))
    if cut := _cut(git, revisions):
        raise _lacking(git, asked, f"the history ends at {cut[:12]}, within what is to be judged")
    here = _said(git, "symbolic-ref", "--short", "HEAD") if head == "HEAD" else head
    branch = asked.target or asked.branch or here or ""
    text = f"{base[:40]}..{head[:40]}" if base else f"all of {head[:40]}"
    on = branch.removeprefix("origin/") in branch_names(git, rules)
    return Span(revisions, text, Where(on, asked.target is not None))


def branch_names(git: Git, rules: Mapping[str, Any]) -> set[str]:
    """The integration branches: as the policy says, else the one that the remote (or, on a server,
    the repository) calls its own, else `main` and `master`."""
    if rules.get("integration"):
        return set(rules["integration"])
    head = _said(git, "symbolic-ref", "refs/remotes/origin/HEAD")
    if not head and git.run("rev-parse", "--is-bare-repository").strip() == b"true":
        head = _said(git, "symbolic-ref", "HEAD")
    return (
        {head.removeprefix("refs/remotes/origin/").removeprefix("refs/heads/")}
        if head
        else {"main", "master"}
    )


def _given(text: str) -> tuple[str | None, str]:
    if text.startswith("-"):
        raise Usage(f"{text[:80]!r} is no range", "write it like main..HEAD")
    base, dots, head = text.replace("...", "..").partition("..")
    return (base or "HEAD", head or "HEAD") if dots else (None, text)


def _base(
    git: Git, asked: Asked, head: str, default: str | None, say: Callable[[str], None]
) -> str | None:
    """What the commits come after: the commit that CI names, the target of a merge request, the
    upstream, the default branch; where that leaves nothing in CI, the commit before."""
    if asked.base and (_there(git, asked.base) or _shallow(git)):
        return asked.base
    if asked.base:
        say(
            f"{asked.name} names {asked.base[:12]} as the commit before, which is not there (a"
            " force push?)"
        )
    if asked.target:
        return _tracked(git, asked.target)
    upstream = (
        None if asked.name else _said(git, "rev-parse", "--verify", "--abbrev-ref", "@{upstream}")
    )
    base = upstream or default
    if asked.name and base and not git.run("rev-list", "-n1", head, f"^{base}", "--"):
        return f"{head}^" if _there(git, f"{head}^") else None
    return base


def _said(git: Git, *args: str) -> str | None:
    code, out, _ = git.ask(args[0], "--quiet", *args[1:])
    return None if code else out.decode(errors="replace").strip() or None


def _there(git: Git, revision: str) -> bool:
    return (
        _said(git, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
        is not None
    )


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
        _said(git, "symbolic-ref", "refs/remotes/origin/HEAD"),
        _tracked(git, "main"),
        _tracked(git, "master"),
    )
    return next((name for name in names if name and _there(git, name)), None)


def _shallow(git: Git) -> bool:
    return git.run("rev-parse", "--is-shallow-repository").strip() == b"true"


def _cut(git: Git, revisions: Sequence[str]) -> str | None:
    """A commit of the range whose parents a shallow clone does not have: it would look as if it had
    made everything."""
    roots = (
        git.run("rev-list", "--max-parents=0", *revisions, "--").decode().split()
        if _shallow(git)
        else []
    )
    found = ((oid, git.object(oid)) for oid in roots)
    return next(
        (oid for oid, one in found if one and b"\nparent " in one[2].partition(b"\n\n")[0]), None
    )


def _lacking(git: Git, asked: Asked, what: str) -> Failed | NotFound:
    if _shallow(git):
        return Failed(
            f"{what}, which is a shallow one",
            f"get the whole history: {asked.depth}",
            code="shallow",
        )
    return NotFound(what, "git fetch gets it, if it was pushed")

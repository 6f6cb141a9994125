"""The full answer of each of git's hooks: what a commit or a push is told, and whether it is
stopped."""

from __future__ import annotations

from collections.abc import Callable

from ..env import who
from ..env.env import Env
from ..model.text import Record
from ..records import policy
from . import NOTICES, findings, judging, pushing
from .findings import Finding


def say(env: Env, due: list[Finding]) -> None:
    """Raises the first finding that stops by the policy, and names the others. A finding that only
    warns becomes a notice."""
    preconditions = policy.KEYS["preconditions"][0]
    stops = []
    for key, error in due:
        level = policy.level(env.policy, key) if key in preconditions else "stop"
        if level == "stop":
            stops.append(error)
        elif level == "warn":
            env.notices.append(f"{error.message}; {error.hint}")
    for other in stops[1:]:
        env.notices.append(f"also: {other.message}: {other.hint}")
    if stops:
        raise stops[0]


def pre_merge_commit(env: Env, args: list[str], given: str) -> None:
    """The same as before a commit, in the words of a merge."""
    pre_commit(env, args, given, "merge")


def pre_commit(env: Env, args: list[str], given: str, going: str = "") -> None:
    """All that a commit must hold. `going`: the sequence that it is part of."""
    hook = judging.of(env)
    if not going and hook.here.sequence() == "picking":  # a reword, or the last squash
        going = "picking"
    changed = hook.changed()
    paths = [path for _, path in changed]
    me, due = findings.who(env, going)
    if me:
        due += findings.read_first(env, me, paths, going)
    due += findings.view(changed)
    due += findings.links(env, changed)
    due += findings.leases(env, me, paths)
    if me:
        due += findings.retracted(env, me)
    say(env, due)


def prepare_commit_msg(env: Env, args: list[str], given: str) -> None:
    """Judges read first where git does not run pre-commit, once in a sequence. Adds the trailers if
    a session commits."""
    hook, source = judging.of(env), args[1] if len(args) > 1 else ""
    going = hook.here.sequence()
    me, due = findings.who(env, going)
    if going and not hook.here.settled():
        if me:
            due += findings.read_first(env, me, _changed(env), going)
        say(env, due)
        hook.settle()
    if source == "template":
        hook.template(args[0])
    if source not in ("", "template"):
        _sign(env, me, args[0], source, False)


def commit_msg(env: Env, args: list[str], given: str) -> None:
    """Adds the trailers to a message that was typed into an editor. Before, it was empty, and git
    would have taken them for a message."""
    if not judging.of(env).untouched(args[0]):
        _sign(env, findings.who(env, "")[0], args[0], "commit", True)


def _changed(env: Env) -> list[str]:
    """The paths that the commit changes; none if no stream is chosen by them."""
    return [path for _, path in judging.of(env).changed()] if env.policy["streams"] else []


def _sign(env: Env, me: Record | None, file: str, source: str, typed: bool) -> None:
    hook = judging.of(env)
    if me is not None and hook.here.made_here(source):
        hook.sign(file, me, hook.streams(_changed(env)), typed)


def pre_push(env: Env, args: list[str], given: str) -> None:
    """Judges write last if a push updates a branch of integration. The store's writes are published
    before the code is."""
    remote = args[0]
    guarded = judging.of(env).guarded(remote)
    pushes = pushing.guarded(given, guarded)
    if pushes and policy.level(env.policy, "write_last") != "off":
        push = pushing.judged(env, remote, pushes, guarded)
        say(env, push.findings(env))
        push.leave_mark(env)
    if why := env.sharing.hastily():
        env.notices.append(
            f"NOT PUBLISHED, nobody else can see what this clone has recorded: {why}"
        )


def notice(env: Env, args: list[str], given: str) -> None:
    """Says after a merge, a rewrite or a checkout that the status went on meanwhile."""
    hook = judging.of(env)
    me = None if hook.here.sequence() else who.session_or_none(env)  # a sequence is judged itself
    missed = hook.missed(me, "main") if me else ()
    if missed:
        env.notices.append(
            f"status:main@{missed[-1]} was written since you last looked: atlas status show main"
        )


HOOKS: dict[str, Callable[[Env, list[str], str], None]] = {
    "pre-commit": pre_commit,
    "pre-merge-commit": pre_merge_commit,
    "prepare-commit-msg": prepare_commit_msg,
    "commit-msg": commit_msg,
    "pre-push": pre_push,
    **dict.fromkeys(NOTICES, notice),
}

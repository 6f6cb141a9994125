"""The full answer of each of git's hooks: what a commit or a push is told, and whether it is
stopped."""

from __future__ import annotations

from collections.abc import Callable

from ..env import who
from ..env.env import Env
from ..errors import AtlasError
from ..model.text import Record
from ..records import policy
from . import NOTICES, facts, findings, pushing
from .findings import Finding


def say(env: Env, due: list[Finding], quiet: bool = False) -> None:
    """Raises the first finding that stops by the policy, and names the others. A finding that only
    warns becomes a notice, unless it is to be quiet. A person who works without a session is
    stopped by nothing, and told in one line, unless the policy has it otherwise (`unattended:
    stop`). That the session was adopted stops once."""
    preconditions = policy.KEYS["preconditions"][0]
    levels = {key: policy.level(env.policy, key) for key in preconditions}
    due = [(key, error) for key, error in due if levels.get(key) != "off"]
    if due and env.policy["unattended"] != "stop" and not findings.attended(env):
        if not quiet:
            env.notices.append(_one_line([error for _, error in due]))
        return
    stops = []
    for key, error in due:
        level = levels.get(key, "stop")
        if level == "stop" and not _was_said(env, error):
            stops.append(error)
        elif quiet:
            continue
        elif level == "stop":
            env.notices.append(f"no session makes this commit: {error.message}")
        else:
            env.notices.append(f"{error.message}; {error.hint}")
    for other in stops[1:]:
        env.notices.append(f"also: {other.message}: {other.hint}")
        stops[0].details.setdefault("also", []).append(other.details)
    if stops:
        raise stops[0]


def _was_said(env: Env, error: AtlasError) -> bool:
    """Whether a stop is over that comes once: that another has adopted the session that commits."""
    session = error.details.get("session")
    return error.code == "adopted" and not env.local.first_time(str(session), "adopted")


def _one_line(due: list[AtlasError]) -> str:
    """The line for a person: what their commit runs into, else that nobody sees who makes it."""
    met = [error for error in due if error.code != "no_session"]
    if not met:
        return "no session makes this commit, so others do not see who does: atlas begin --person"
    more = f" (and {len(met) - 1} more)" if len(met) > 1 else ""
    return f"{met[0].message}{more}"


def pre_merge_commit(env: Env, args: list[str], given: str) -> None:
    """The same as before a commit, in the words of a merge."""
    pre_commit(env, args, given, "merge")


def pre_commit(env: Env, args: list[str], given: str, going: str = "") -> None:
    """All that a commit must hold. `going`: what it is part of."""
    hook = facts.of(env)
    if hook.here.remaking():
        _in_a_sequence(env)
        return
    changed = hook.changed()
    paths = [path for _, path in changed]
    me, due = findings.committer(env, going)
    if me:
        due += findings.read_first(env, me, paths, going)
        findings.swept(env, me, paths)
    findings.copy_is_old(env)
    due += findings.view(env, changed)
    due += findings.links(env, changed)
    due += findings.leases(env, me, paths)
    if me:
        due += findings.retracted(env, me)
    say(env, due)


def _in_a_sequence(env: Env) -> None:
    """Judges a commit in the middle of a sequence by what no push judges, if its user makes it, and
    not git. The news that concerns him stays unread, so that the push stops for it."""
    hook = facts.of(env)
    if hook.here.sequence() == "picking":  # a reword, or the last squash
        return
    me, due = findings.committer(env, "")
    changed = hook.changed()
    due += findings.view(env, changed)
    due += findings.links(env, changed)
    if me:
        due += findings.retracted(env, me)
    say(env, due, quiet=True)


def prepare_commit_msg(env: Env, args: list[str], given: str) -> None:
    """Judges read first once more, since git does not always run pre-commit; not in a sequence.
    Adds the trailers if a session commits."""
    hook, source = facts.of(env), args[1] if len(args) > 1 else ""
    going, remaking = hook.here.sequence(), hook.here.remaking()
    me, due = findings.committer(env, going)
    if not going or (remaking and not hook.here.made_here(source)):
        due = []  # pre-commit has said it, or it is nobody's to say
    if me and not remaking:
        paths = [path for _, path in hook.changed()]
        due += findings.read_first(env, me, paths, going)
        due += findings.leases(env, me, paths, "stop")
    if hook.here.bypassed():
        findings.bypassed(env)
    say(env, due, quiet=remaking)
    if source == "template":
        hook.template(args[0])
    if source not in ("", "template"):
        _sign(env, me, args[0], source, False)


def commit_msg(env: Env, args: list[str], given: str) -> None:
    """Adds the trailers to a message that was typed into an editor. Before, it was empty, and git
    would have taken them for a message."""
    if not facts.of(env).untouched(args[0]):
        _sign(env, findings.committer(env, "")[0], args[0], "commit", True)


def _changed(env: Env) -> list[str]:
    """The paths that the commit changes; none if no stream is chosen by them."""
    return [path for _, path in facts.of(env).changed()] if env.policy["streams"] else []


def _sign(env: Env, me: Record | None, file: str, source: str, typed: bool) -> None:
    hook = facts.of(env)
    if me is not None and hook.here.made_here(source):
        hook.sign(file, me, hook.streams(_changed(env)), typed)


def pre_push(env: Env, args: list[str], given: str) -> None:
    """Judges read first, by what the remote has now, and write last if a push updates a branch of
    integration. The store is published before the code is."""
    if given and not (given := pushing.code(env, given)):
        return
    why = env.sharing.hastily()
    remote, due, push = args[0], list[Finding](), None
    hook, me = facts.of(env), who.session_or_none(env, strict=True)
    guarded = hook.guarded(remote)
    updates = pushing.guarded(given, guarded)
    _unheard(env, why, findings.copy_is_not_new(env) if me or updates else "")
    paths = pushing.paths(env, me, remote, given) if me else []
    if me:
        due += findings.read_first(env, me, paths, "")
    if updates and policy.level(env.policy, "write_last") != "off":
        push = pushing.judged(env, remote, updates, guarded)
        due += push.findings(env)
    if me:
        due += findings.leases(env, me, paths, pushed=True)
    say(env, due)
    if push:
        push.ask_for_word(env)
    if push and push.leave_mark(env):
        _unheard(env, "" if why else env.sharing.hastily())


def _unheard(env: Env, why: str, copy: str = "") -> None:
    """Says in one line why what this clone has recorded is not published, if it is not, and by
    which copy of the remote a push is judged, if that is not a new one."""
    if why:
        why = f"NOT PUBLISHED, nobody else can see what this clone has recorded: {why}"
    if line := "; ".join(filter(None, (why, copy))):
        env.notices.append(line)


def notice(env: Env, args: list[str], given: str) -> None:
    """Counts after a merge, a rewrite or a checkout what is new to the session since."""
    me = None if facts.of(env).here.sequence() else who.session_or_none(env)
    if me:  # (a sequence is judged itself)
        findings.moved_on(env, me)


HOOKS: dict[str, Callable[[Env, list[str], str], None]] = {
    "pre-commit": pre_commit,
    "pre-merge-commit": pre_merge_commit,
    "prepare-commit-msg": prepare_commit_msg,
    "commit-msg": commit_msg,
    "pre-push": pre_push,
    **dict.fromkeys(NOTICES, notice),
}

"""The full answer of each of git's hooks: what a commit or a push is told, and whether it is
stopped."""

from __future__ import annotations

from collections.abc import Callable

from ..checks.commit import CodeCommit
from ..env import receipts, who
from ..env.env import Env
from ..errors import Protocol
from ..model import times
from ..model.text import Record
from ..records import policy, status
from . import NOTICES, findings, judging
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
    """Judges write last if a push updates a branch of integration. The store is published before
    the code is."""
    if why := env.sharing.hastily():
        env.notices.append(
            f"NOT PUBLISHED, nobody else can see what this clone has recorded: {why}"
        )
    remote, due = args[0], list[Finding]()
    guarded = judging.of(env).guarded(remote)
    for line in given.split("\n"):
        if line.count(" ") != 3:
            continue
        _, local, ref, remote_end = line.split(" ")
        branch = ref.removeprefix("refs/heads/")
        if branch != ref and local.strip("0") and (guarded is None or branch in guarded):
            due += _write_last(env, remote, branch, local, remote_end)
    say(env, due)


def _write_last(env: Env, remote: str, branch: str, local: str, remote_end: str) -> list[Finding]:
    """The finding that the status does not tell of commits that go to a branch of integration."""
    hook = judging.of(env)
    me, nobody = findings.who(env, "")
    mine = me["id"] if me else None
    commits = hook.unpushed(local, remote_end, remote)
    newest = {hook.made_by(commit)[0]: commit for commit in reversed(commits)}
    mine_to_tell = []
    for owner, commit in newest.items():
        if hook.status_tells_of(commit, mine):
            continue
        if owner in hook.cache.sessions and owner != mine:
            env.notices.append(
                f"commits of {owner}, which is at work, go to {branch} before it has written the"
                " status"
            )
        else:
            mine_to_tell.append(commit)
    if not mine_to_tell:
        return []
    if me is None:
        return [("write_last", error) for _, error in nobody]
    error = _owing(env, me, mine_to_tell[0], f"{branch} of {remote}")
    if me.get("class") == "person":
        env.notices.append(f"{error.message}; {error.hint}")
        return []
    return [("write_last", error)]


def _owing(env: Env, me: Record, commit: CodeCommit, where: str) -> Protocol:
    """The stop of a session that owes the status an entry since a commit."""
    reads = judging.of(env).made_by(commit)[1]
    entries = ", ".join(f"{stream}@{number}" for stream, number in reads.items())
    basis = f"read: {entries}" if entries else f"of {times.rfc3339(commit.at)}"
    return Protocol(
        f"commits go to {where}, and {me['id']} has written no status since"
        f" {commit.oid[:10]} ({basis})",
        f"write it, then push again: {_writing(env, me, reads)}",
        code="write_last",
    )


def _writing(env: Env, me: Record, read: dict[str, int]) -> str:
    """The command that writes the status. The entry that it supersedes must be read before."""
    stream = next(iter(read), "main")
    last = status.newest(env.tree, stream)
    unread = last and receipts.newest_read(env, env.tree, me, "status", stream) != last
    shown = f"atlas status show {stream} && " if unread else ""
    return (
        f"{shown}atlas status write {stream} --section 'what you worked on' -m 'what is done, what"
        " is open' (or --unchanged 'why' alone, while it still holds)"
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

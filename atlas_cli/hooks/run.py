"""What each of git's hooks looks at, in full: what a commit or a push is told, and whether it is
stopped."""

from __future__ import annotations

from collections.abc import Callable

from ..env import receipts, who
from ..env.env import Env
from ..errors import Protocol
from ..model import times
from ..model.text import Record
from ..records import policy, status
from . import findings, judging
from .findings import Finding


def say(env: Env, found: list[Finding]) -> None:
    """Raises the first that stops by the policy, naming the others; what only warns becomes a
    notice."""
    levels = {
        key: policy.level(env.policy, key)
        for key, _ in found
        if key in policy.KEYS["preconditions"][0]
    }
    stops = [error for key, error in found if levels.get(key, "stop") == "stop"]
    env.notices += [f"{one.message}; {one.hint}" for key, one in found if levels.get(key) == "warn"]
    for other in stops[1:]:
        env.notices.append(f"also: {other.message}: {other.hint}")
    if stops:
        raise stops[0]


def pre_merge_commit(env: Env, args: list[str], given: str) -> None:
    pre_commit(env, args, given, "merge")


def pre_commit(env: Env, args: list[str], given: str, going: str = "") -> None:
    going = going or "picking" * (
        judging.of(env).here.sequence() == "picking"
    )  # a reword, or the last squash
    changed = judging.of(env).changed()
    paths = [path for _, path in changed]
    me, found = findings.who(env, going)
    found += findings.read_first(env, me, paths, going) if me else []
    found += [
        *findings.view(changed),
        *findings.links(env, changed),
        *findings.leases(env, me, paths),
    ]
    found += findings.retracted(env, me) if me else []
    say(env, found)


def prepare_commit_msg(env: Env, args: list[str], given: str) -> None:
    """Read first where pre-commit is not run, once in a sequence; the trailers, where a session
    commits."""
    here, source = judging.of(env).here, args[1] if len(args) > 1 else ""
    going = here.sequence()
    me, found = findings.who(env, going)
    if going and not here.settled():
        paths = [path for _, path in judging.of(env).changed()] if env.policy["streams"] else []
        say(env, found + (findings.read_first(env, me, paths, going) if me else []))
        judging.of(env).settle()
    if source == "template":
        judging.of(env).template(args[0])
    if source not in ("", "template"):
        _sign(env, me, args[0], source, False)


def commit_msg(env: Env, args: list[str], given: str) -> None:
    """The trailers of a message that was typed into an editor: before, it was empty, and git would
    have taken them for one."""
    if not judging.of(env).untouched(args[0]):
        _sign(env, findings.who(env, "")[0], args[0], "commit", True)


def _sign(env: Env, me: Record | None, file: str, source: str, typed: bool) -> None:
    if me is not None and judging.of(env).here.made_here(source):
        changed = [path for _, path in judging.of(env).changed()] if env.policy["streams"] else []
        judging.of(env).sign(file, me, judging.of(env).streams(changed), typed)


def pre_push(env: Env, args: list[str], given: str) -> None:
    """Write last, where a push updates a branch of integration; what the store has is published
    before the code is."""
    if why := env.sharing.hastily():
        env.notices.append(
            f"NOT PUBLISHED, nobody else can see what this clone has recorded: {why}"
        )
    found: list[Finding] = []
    guarded = judging.of(env).guarded(args[0])
    for line in given.split("\n"):
        _, local, ref, there = line.split(" ") if line.count(" ") == 3 else ("", "", "", "")
        branch = ref.removeprefix("refs/heads/")
        if branch != ref and local.strip("0") and (guarded is None or branch in guarded):
            found += _write_last(env, args[0], branch, local, there)
    say(env, found)


def _write_last(env: Env, remote: str, branch: str, local: str, there: str) -> list[Finding]:
    commits = judging.of(env).unpushed(local, there, remote)
    newest = {judging.of(env).made_by(one)[0]: one for one in reversed(commits)}
    me, nobody = findings.who(env, "")
    mine = me["id"] if me else None
    alive = judging.of(env).picture.sessions
    owed = {owner: one for owner, one in newest.items() if not judging.of(env).told(one, mine)}
    others = [owner for owner in owed if owner in alive and owner != mine]
    for other in others:
        env.notices.append(
            f"commits of {other}, which is at work, go to {branch} before it has written the status"
        )
    covered = [one for owner, one in owed.items() if owner not in others]
    if not covered:
        return []
    if me is None:
        return [("write_last", error) for _, error in nobody]
    first = covered[0]
    reads = judging.of(env).made_by(first)[1]
    read = ", ".join(f"{stream}@{number}" for stream, number in reads.items())
    on = f"read: {read}" if read else f"of {times.rfc3339(first.at)}"
    error = Protocol(
        f"commits go to {branch} of {remote}, and {me['id']} has written no status since"
        f" {first.oid[:10]} ({on})",
        f"write it, then push again: {_writing(env, me, reads)}",
        code="write_last",
    )
    if me.get("class") == "person":
        env.notices.append(f"{error.message}; {error.hint}")
        return []
    return [("write_last", error)]


def _writing(env: Env, me: Record, read: dict[str, int]) -> str:
    """The command that writes the status; what it supersedes must be read."""
    stream = next(iter(read), "main")
    last = status.newest(env.tree, stream)
    shown = (
        f"atlas status show {stream} && "
        if last and receipts.newest_read(env, env.tree, me, "status", stream) != last
        else ""
    )
    return (
        f"{shown}atlas status write {stream} --section 'what you worked on' -m 'what is done, what"
        " is open' (or --unchanged 'why' alone, while it still holds)"
    )


def notice(env: Env, args: list[str], given: str) -> None:
    """After a merge, a rewrite, a checkout: says where the status went on meanwhile."""
    # a sequence is judged itself
    me = None if judging.of(env).here.sequence() else who.session_or_none(env)
    missed = [*judging.of(env).missed(me, "main")] if me else []
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
    "post-merge": notice,
    "post-rewrite": notice,
    "post-checkout": notice,
}

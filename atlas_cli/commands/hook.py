"""What a git hook says once the quick answer was not certain: called by `atlas-hook`, not by people."""

import contextlib
import os
import shlex
from collections.abc import Callable
from typing import Annotated

import typer

from ..env import Env
from ..errors import AtlasError, Failed, Held, NotFound, Protocol, Refused, Usage
from ..outcome import Outcome
from ..records import lease, policy, status, times
from ..records.correction import shown
from ..records.text import Record
from . import env_of, single, verb

app = single()
Finding = tuple[str, AtlasError]  # the precondition, and what is to be said
SHOWN = 5  # missed entries that a stop prints in full
GO_ON = {
    "": "then run the same git command again",
    "merge": "then git commit --no-edit completes the merge",
    "rebase": "nothing is lost: git -c core.editor=true rebase --continue goes on",
    "cherry-pick": "nothing is lost: git -c core.editor=true cherry-pick --continue goes on",
    "revert": "nothing is lost: git commit --no-edit makes the revert; git revert --continue the next ones, if any",
}


@verb(app, "hook", "atlas-hook pre-commit", 4, 5, 6)
def hook(
    ctx: typer.Context, name: str, args: Annotated[list[str] | None, typer.Argument()] = None, given: str = ""
) -> Outcome:
    """What git's hooks ask."""
    env = env_of(ctx)
    env.hooked = True
    if name not in HOOKS:
        raise Usage(f"there is no hook {name[:40]!r} here", f"the hooks are {', '.join(HOOKS)}")
    closed = False
    try:
        assert env.store
    except NotFound:  # no store here: nothing to say
        return Outcome(None)
    try:
        assert env.hook.picture  # drawn for the next one
        HOOKS[name](env, args or [], given)
    except Failed as error:
        with contextlib.suppress(AtlasError):
            closed = env.policy.get("hooks_missing") == "closed"
        if closed:
            raise
        env.notices.append(f"Atlas could not judge this ({error.message}): it goes on unjudged. {error.hint}".strip())
    return Outcome(None)


def say(env: Env, found: list[Finding]) -> None:
    """Raises the first that stops by the policy, naming the others; what only warns becomes a notice."""
    levels = {key: policy.level(env.policy, key) for key, _ in found if key in policy.KEYS["preconditions"][0]}
    stops = [error for key, error in found if levels.get(key, "stop") == "stop"]
    env.notices += [f"{one.message}; {one.hint}" for key, one in found if levels.get(key) == "warn"]
    for other in stops[1:]:
        env.notices.append(f"also: {other.message}: {other.hint}")
    if stops:
        raise stops[0]


def pre_merge_commit(env: Env, args: list[str], given: str) -> None:
    pre_commit(env, args, given, "merge")


def pre_commit(env: Env, args: list[str], given: str, going: str = "") -> None:
    changed = env.hook.changed()
    paths = [path for _, path in changed]
    me, found = _who(env, going)
    found += _read_first(env, me, paths, going) if me else []
    found += _view(changed) + _links(env, changed) + _leases(env, me, paths) + (_retracted(env, me) if me else [])
    say(env, found)


def prepare_commit_msg(env: Env, args: list[str], given: str) -> None:
    """Read first where pre-commit is not run, once in a sequence; the trailers, where a session commits."""
    here, source = env.hook.here, args[1] if len(args) > 1 else ""
    going = here.sequence()
    me, found = _who(env, going)
    if going and not here.settled():
        paths = [path for _, path in env.hook.changed()] if env.policy["streams"] else []
        say(env, found + (_read_first(env, me, paths, going) if me else []))
        env.hook.settle()
    if source == "template":
        env.hook.template(args[0])
    if source not in ("", "template"):
        _sign(env, me, args[0], source, False)


def commit_msg(env: Env, args: list[str], given: str) -> None:
    """The trailers of a message that was typed into an editor: before, it was empty, and git would have taken them for
    one."""
    if not env.hook.untouched(args[0]):
        _sign(env, _who(env, "")[0], args[0], "commit", True)


def _sign(env: Env, me: Record | None, file: str, source: str, typed: bool) -> None:
    if me is not None and env.hook.here.made_here(source):
        changed = [path for _, path in env.hook.changed()] if env.policy["streams"] else []
        env.hook.sign(file, me, env.hook.streams(changed), typed)


def pre_push(env: Env, args: list[str], given: str) -> None:
    """Write last, where a push updates a branch of integration."""
    found: list[Finding] = []
    guarded = env.hook.guarded(args[0])
    for line in given.split("\n"):
        _, local, ref, there = line.split(" ") if line.count(" ") == 3 else ("", "", "", "")
        branch = ref.removeprefix("refs/heads/")
        if branch != ref and local.strip("0") and (guarded is None or branch in guarded):
            found += _write_last(env, args[0], branch, local, there)
    say(env, found)


def _write_last(env: Env, remote: str, branch: str, local: str, there: str) -> list[Finding]:
    commits = env.hook.unpushed(local, there, remote)
    newest = {one.owner: one for one in reversed(commits)}
    me, nobody = _who(env, "")
    mine = me["id"] if me else None
    alive = env.hook.picture.sessions
    owed = [one for owner, one in newest.items() if not env.hook.told(one, mine)]
    others = [one.owner for one in owed if one.owner in alive and one.owner != mine]
    for other in others:
        env.notices.append(f"commits of {other}, which is at work, go to {branch} before it has written the status")
    covered = [one for one in owed if one.owner not in others]
    if not covered:
        return []
    if me is None:
        return [("write_last", error) for _, error in nobody]
    first = covered[0]
    on = ", ".join(f"{stream}@{number}" for stream, number in first.reads.items()) or times.rfc3339(first.at)
    error = Protocol(
        f"commits go to {branch} of {remote}, and {me['id']} has written no status since {first.oid[:10]} (read: {on})",
        f"write it, then push again: {_writing(env, me, first.reads)}",
        code="write_last",
    )  # fmt: skip
    if me.get("class") == "person":
        env.notices.append(f"{error.message}; {error.hint}")
        return []
    return [("write_last", error)]


def _writing(env: Env, me: Record, read: dict[str, int]) -> str:
    """The command that writes the status; what it supersedes must be read."""
    stream = next(iter(read), "main")
    last = status.newest(env.tree, stream)
    shown = f"atlas status show {stream} && " if last and env.seen(env.tree, me, "status", stream) != last else ""
    return (
        f"{shown}atlas status write {stream} --section 'what you worked on' -m 'what is done, what is open' "
        "(or --unchanged 'why' alone, while it still holds)"
    )


def notice(env: Env, args: list[str], given: str) -> None:
    """After a merge, a rewrite, a checkout: says where the status went on meanwhile."""
    me = env.here()
    missed = [*env.hook.missed(me, "main")] if me else []
    if missed:
        env.notices.append(f"status:main@{missed[-1]} was written since you last looked: atlas status show main")


def _who(env: Env, going: str) -> tuple[Record | None, list[Finding]]:
    """The session that commits, or what to say where there is none."""
    try:
        return env.session(strict=True), []
    except (Protocol, NotFound, Usage) as error:
        named = os.environ.get("ATLAS_SESSION")
        if error.code == "which_session":
            hint = error.hint.replace("--session ID", "ATLAS_SESSION=ID before the git command")
        elif env.tool() or named:
            begin = "unset ATLAS_SESSION && atlas begin" if named else "atlas begin"
            hint = f'begin one: {begin} --goal "what you will do", {GO_ON[going]}'
        else:
            hint = f"begin one that stands for you in this clone: atlas begin --person, {GO_ON[going]}"
        return None, [("read_first", Protocol(error.message, hint, code=error.code.replace("usage", "no_session")))]


def _read_first(env: Env, me: Record, paths: list[str], going: str) -> list[Finding]:
    """The entries that the session has missed, in full; once they are printed by a stop, it has seen them."""
    found: list[tuple[str, str]] = []
    missed = {one: numbers for one in env.hook.streams(paths) if (numbers := env.hook.missed(me, one))}
    level = policy.level(env.policy, "read_first")
    for stream, numbers in missed.items():
        for number in numbers[-SHOWN:]:
            found.append(_entry(env, stream, number))
        if level == "stop":
            env.glanced(me, stream, numbers[-1])
    if not missed:
        return []
    what = ", ".join(f"status:{stream}@{numbers[-1]}" for stream, numbers in missed.items())
    more = [f"{stream} (atlas status log {stream})" for stream, numbers in missed.items() if len(numbers) > SHOWN]
    hint = f"take note of it, {GO_ON[going]}" + (f"; older ones you missed: {', '.join(more)}" if more else "")
    if level == "warn":
        hint = "read it: atlas status show " + next(iter(missed))
    return [("read_first", Protocol(f"{what}: where things stand has changed since {me['id']} last looked", hint,
                                    blocks=tuple(found)))]  # fmt: skip


def _entry(env: Env, stream: str, number: int) -> tuple[str, str]:
    record = env.shown_status(stream, number, None)
    age = times.ago(times.moment(record["at"]), env.now())
    return f"status:{stream}@{number} by {record['session']}, {age}", record["body"] or status.WITHHELD


def _view(changed: list[tuple[str, str]]) -> list[Finding]:
    inside = [path for how, path in changed if how != "D" and (path == ".atlas" or path.startswith(".atlas/"))]
    if not inside:
        return []
    hint = "take it out, then commit again: git rm -r -q -f --cached .atlas"
    return [("view", Refused(f"{inside[0]} is a view of the store, and never part of a commit", hint, code="view"))]


def _links(env: Env, changed: list[tuple[str, str]]) -> list[Finding]:
    moved = any(how == "D" for how, _ in changed)
    dead = env.hook.broken() if moved and policy.level(env.policy, "links") != "off" else []
    if not dead:
        return []
    lines = [f"{one.file}:{one.line}: {one.written} {_now(one.corrected)}\n    {one.text.strip()}" for one in dead]
    files = shlex.join(dict.fromkeys(one.file for one in dead))
    return [("links", Protocol(
        f"{dead[0].file}:{dead[0].line}: this commit breaks the link to {dead[0].written}"
        + (f", and {len(dead) - 1} more" if dead[1:] else ""),
        f"correct them (a link to what is gone, by hand), then commit again: atlas links --fix && git add -- {files}",
        code="links", blocks=(("broken links, each with its line as it must read", "\n".join(lines)),),
    ))]  # fmt: skip


def _now(corrected: str | None) -> str:
    return "leads to something deleted" if corrected is None else f"is now {corrected}"


def _leases(env: Env, me: Record | None, paths: list[str]) -> list[Finding]:
    found: list[Finding] = []
    if policy.level(env.policy, "leases") == "off":
        return []
    for resource, held in env.hook.barred(me, paths).items():
        row = lease.current(env.snapshot, resource) or {}
        rest = times.span(max(0, (lease.until(row) or 0) - env.now()))
        more = f" and {len(held) - 1} more" if len(held) > 1 else ""
        out = shlex.join(held[:3]) + (" …" if len(held) > 3 else "")
        found.append(("leases", Held(
            f"{held[0]}{more}: {resource} is held by {row['holder']} for {rest} more: {row['why']}",
            f"leave it out: git restore --staged -- {out} (with -a, name the other paths instead), or wait until "
            f"{row['expires']}",
            details={"resource": resource, "holder": row["holder"], "paths": held},
        )))  # fmt: skip
    return found


def _retracted(env: Env, me: Record) -> list[Finding]:
    return [
        ("retracted", Protocol(
            f"{ref} relies on {target}, which was {shown(record)}",
            f"put yours right: atlas correct {ref} --why …, or write its next version without it",
            code="retracted",
        ))
        for session, ref, target, record in env.index.leaning() if session == me["id"]
    ]  # fmt: skip


HOOKS: dict[str, Callable[[Env, list[str], str], None]] = {
    "pre-commit": pre_commit, "pre-merge-commit": pre_merge_commit, "prepare-commit-msg": prepare_commit_msg,
    "commit-msg": commit_msg, "pre-push": pre_push, "post-merge": notice, "post-rewrite": notice,
    "post-checkout": notice,
}  # fmt: skip

"""The findings that a commit is told of, each with its next step: who makes it, what has not been
read, and what it runs into."""

import os
import shlex
from collections.abc import Sequence

from .. import callers
from ..answers import concern, corrections
from ..answers import moved as stale
from ..env import receipts, telling
from ..env.env import Env
from ..env.who import children, session, session_id
from ..errors import AtlasError, Held, NotFound, Protocol, Refused, Usage
from ..model import times
from ..model.text import Record
from ..outcome import Frame
from ..records import lease, policy, status
from ..records import telling as rules
from ..records.concern import signed
from ..records.correction import said, shown
from ..visible import named, theirs
from . import facts, quick
from .install import HookFiles

Finding = tuple[str, AtlasError]  # the precondition, and what is to be said
LISTED = {"decision", "signal", "artifact"}  # kinds whose list shows what is new
GO_ON = {  # after a stop in the middle of this; else the same command is run again
    "": "then run the same git command again",
    "merge": "then git commit --no-edit completes the merge",
    "cherry-pick": "nothing is lost: git -c core.editor=true cherry-pick --continue goes on",
    "revert": (
        "nothing is lost: git commit --no-edit makes the revert; git revert --continue the next"
        " ones, if any"
    ),
}


def committer(env: Env, going: str) -> tuple[Record | None, list[Finding]]:
    """The session that commits. If there is none: None, and the finding that says so."""
    try:
        return session(env, strict=True), []
    except (Protocol, NotFound, Usage) as error:
        go_on = GO_ON.get(going, GO_ON[""])
        named = os.environ.get("ATLAS_SESSION")
        if error.code == "which_session":
            hint = error.hint.replace("--session ID", "ATLAS_SESSION=ID before the git command")
        elif callers.tool() or named:
            begin = "unset ATLAS_SESSION && atlas begin" if named else "atlas begin"
            hint = f'begin one: {begin} --goal "what you will do", {go_on}{_of_children(env)}'
        else:
            begin = "atlas begin --person"
            hint = f"begin one that stands for you in this clone: {begin}, {go_on}"
        code = error.code.replace("usage", "no_session")
        return None, [
            ("read_first", Protocol(error.message, hint, code=code, details=error.details))
        ]


def _of_children(env: Env) -> str:
    """The end of a hint: the way in which a session that another started names itself to git."""
    if not (ids := children(env)):
        return ""
    others = f" ({', '.join(ids[1:4])}: likewise)" if ids[1:] else ""
    return f"; if you are {ids[0]}: put ATLAS_SESSION={ids[0]} before the git command{others}"


def attended(env: Env) -> bool:
    """Whether a session or an AI tool is at work here, rather than a person without a session."""
    if callers.tool() or os.environ.get("ATLAS_SESSION"):
        return True
    try:
        return session_id(env, strict=True) is not None
    except Protocol:  # several live here, and nothing tells which of them this is
        return True


def read_first(env: Env, me: Record, paths: list[str], going: str) -> list[Finding]:
    """The finding of what a session does not know, and must before it goes on. All that is printed,
    or only named or counted, is noted: the same command passes. A notice that stops nothing is
    printed too."""
    level = policy.level(env.policy, "read_first")
    if level == "off":
        return []
    rows, blind = telling.unread(env, me, paths)
    hook = facts.of(env)
    streams = hook.streams(paths)
    verdict = rules.judge(rows, concern.pace(env.ask, me), blind)
    if level == "warn":
        verdict = verdict._replace(stops=False)
    blocks = telling.blocks(env, me, verdict.told)
    noted = telling.note(env, me, verdict)
    for stream in streams:
        if number := status.newest(env.snapshot, stream):
            receipts.note_look(env, me, stream, number)
    if others := telling.without_notice(env, me, verdict.counted):
        env.notices.append(_counted(others))
    if not (verdict.told or verdict.named):
        return []
    message, hint = _message(verdict, env), f"take note of it, {GO_ON[going]}{_others(verdict)}"
    if verdict.stops and noted:
        details = _met(verdict)
        return [("read_first", Protocol(message, hint, details=details, blocks=tuple(blocks)))]
    hook.printed += [Frame(*block) for block in blocks]
    unnoted = (
        "; no stop: this clone's notebook cannot note that you have seen it" if not noted else ""
    )
    env.notices.append(f"{message}{_others(verdict)}{unnoted}")
    return []


def _met(verdict: rules.Verdict) -> Record:
    """The records that a stop has met, those that weigh most first, and whose they are."""
    items = [row.item for row in verdict.told or verdict.named]
    refs = [f"status:{item.stream}@{item.number}" if item.stream else item.ref for item in items]
    rows = zip(refs, items, strict=True)
    since = [{"ref": ref, "session": item.session} for ref, item in rows]
    return {"ref": refs[0], "since": since}


def swept(env: Env, me: Record, paths: list[str]) -> None:
    """Says, once for each, that another session at work in this worktree has named files which a
    commit takes: what lies in a worktree may be anybody's."""
    if policy.level(env.policy, "read_first") == "off":
        return
    for id, met in facts.of(env).swept(me, paths).items():
        if env.local.first_time(me["id"], f"swept:{id}"):
            more = f" and {len(met) - 1} more" if len(met) > 1 else ""
            env.notices.append(
                f"{met[0]}{more}: named by {id}, at work in this folder: are all changes yours"
                " (git show)?"
            )


def bypassed(env: Env) -> None:
    """Says that this commit went by no pre-commit of ours, if another program's took its place."""
    hooks = {hook.name: hook for hook in HookFiles(env.place).status()}
    if hooks["pre-commit"].lacking:
        env.notices.append("pre-commit runs no Atlas here any more: atlas hooks install")


def copy_is_old(env: Env) -> None:
    """Says how old the copy of the remote is that a commit is judged by, if it is old."""
    fetched = env.sharing.fetched_at()
    if fetched and env.now() - times.moment(fetched) > quick.OLD:
        env.notices.append(f"{_judged_by(env)}: atlas sync brings what is newer")


def copy_is_not_new(env: Env) -> str:
    """The words on the copy of the remote that a push is judged by, where the remote was not heard
    now; empty where it was."""
    remote, sharing = env.sharing.remote, env.sharing
    if remote is None or remote.local or sharing.asked or sharing.published:
        return ""
    return f"{_judged_by(env)}, which gives no answer now"


def _judged_by(env: Env) -> str:
    fetched = env.sharing.fetched_at()
    ago = times.ago(times.moment(fetched), env.now()) if fetched else "at no time"
    return f"judged by what the remote had {ago}"


def moved_on(env: Env, me: Record) -> None:
    """Counts, in a notice, what is new to a session; once each."""
    rows, _ = telling.unread(env, me)
    fresh = [row for row in rows if not row.known]
    if others := telling.without_notice(env, me, fresh):
        env.notices.append(_counted(others))
    telling.keep(env, me, rules.COUNTED, (row.item for row in fresh))


def _counted(rows: Sequence[rules.News]) -> str:
    """The line of what is only counted, with the command that shows it."""
    streams, kinds = [row.item.stream for row in rows], {row.item.kind for row in rows}
    show = "atlas log"
    if all(streams):
        show = f"atlas status show {streams[0]}"
    elif len(rows) == 1:
        show = f"atlas show {rows[0].item.ref}"
    elif len(kinds) == 1 and kinds <= LISTED:
        show = f"atlas {kinds.pop()} list"
    return f"{rules.counted(rows)}: {show}"


def _message(verdict: rules.Verdict, env: Env) -> str:
    """The names of what is new to a session."""
    rows = verdict.named if verdict.looked else verdict.told
    names = ", ".join(signed(row.item) for row in rows[: rules.MOST])
    more = f" and {len(rows) - rules.MOST} more" if rows[rules.MOST :] else ""
    if verdict.looked:
        span = times.span(policy.seconds(env.policy, "look_within"))
        return f"{names}{more}: unread, and you were told nothing for {span}"
    return f"{names}{more}: new, and concerns you"


def _others(verdict: rules.Verdict) -> str:
    """The end of a hint: what was not printed, and the command that shows it."""
    if not verdict.named:
        return ""
    streams = [row.item.stream for row in verdict.named if row.item.stream]
    show = (
        f"atlas status show {streams[0]}" if streams else f"atlas show {verdict.named[0].item.ref}"
    )
    if verdict.looked:
        return f"; to read it: {show}"
    names = ", ".join(signed(row.item) for row in verdict.named[: rules.MOST])
    more = f" and {len(verdict.named) - rules.MOST} more" if verdict.named[rules.MOST :] else ""
    return f"; not shown: {names}{more} ({show})"


def view(env: Env, changed: list[tuple[str, str]]) -> list[Finding]:
    """The finding that a commit takes files of `.atlas/` in. A project that has such a folder
    of its own keeps it."""
    inside = [path for how, path in changed if how != "D" and quick.ours(path)]
    if not inside or facts.of(env).git.ask("ls-tree", "HEAD", "--", ":/.atlas/")[1]:
        return []
    message = f"{inside[0]} is a view of the store, and never part of a commit"
    hint = "take it out, then commit again: git rm -r -q -f --cached .atlas"
    return [("view", Refused(message, hint, code="view"))]


def links(env: Env, changed: list[tuple[str, str]]) -> list[Finding]:
    """The finding of the links that a commit breaks, each with its line as it must read."""
    moved = any(how == "D" for how, _ in changed)
    if not moved or policy.level(env.policy, "links") == "off":
        return []
    hook = facts.of(env)
    dead, gone = hook.broken()
    if gone:
        listed = {link.file for link in dead}
        env.notices += stale.notices(env.ask, env.tree, hook.git, gone, None, listed)
    if not dead:
        return []
    lines = []
    for link in dead:
        lines.append(f"{link.file}:{link.line}: {link.written} {_now(link.corrected)}")
        lines.append(f"    {link.text.strip()}")
    message = f"{dead[0].file}:{dead[0].line}: this commit breaks the link to {dead[0].written}"
    if len(dead) > 1:
        message += f", and {len(dead) - 1} more"
    files = shlex.join(dict.fromkeys(link.file for link in dead))
    hint = (
        "correct them (a link to what is gone, by hand), then commit again: atlas links"
        f" --fix && git add -- {files}"
    )
    block = ("broken links, each with its line as it must read", "\n".join(lines))
    return [("links", Protocol(message, hint, code="links", blocks=(block,)))]


def _now(corrected: str | None) -> str:
    return "leads to something deleted" if corrected is None else f"is now {corrected}"


def leases(
    env: Env, me: Record | None, paths: list[str], level: str = "warn stop", pushed: bool = False
) -> list[Finding]:
    """A finding for each lease of another that lies on these paths, if the policy has one of these
    levels for it. `pushed`: they are committed already."""
    if policy.level(env.policy, "leases") not in level.split():
        return []
    barred = facts.of(env).barred(me, paths)
    return [("leases", _held(env, resource, held, pushed)) for resource, held in barred.items()]


def _held(env: Env, resource: str, paths: list[str], pushed: bool) -> Held:
    """The words about a lease on these paths, and about what can be done: the holder has no ear but
    the store."""
    row = env.ask.shown(lease.current(env.snapshot, resource) or {}, f"lease:{resource}")
    rest = times.span(lease.rest(row, env.now()) if row else 0)
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    named_paths = shlex.join(paths[:3]) + (" …" if len(paths) > 3 else "")
    tell = f"tell its holder what you changed: {telling.to_holder(row['holder'])}"
    if policy.level(env.policy, "leases") != "stop":
        what = "push" if pushed else "commit"
        leave = f"it does not stop this {what}: work on something else until then, or {tell}"
    elif pushed:
        wait = f"atlas wait {shlex.quote(f'lease:{resource}')}"
        leave = f"push again once it is free ({wait}), or {tell}"
    else:
        leave = (
            f"leave it out: git restore --staged -- {named_paths} (with -a, name the other paths"
            f" instead), or wait until {row['expires']}"
        )
    return Held(
        f"{paths[0]}{more}: {named(resource)} is held by {named(row['holder'])} for"
        f" {rest} more: {said(row, 'why', env.now(), theirs)}",
        leave,
        details={"resource": resource, "holder": row["holder"], "paths": paths},
    )


def retracted(env: Env, me: Record) -> list[Finding]:
    """A finding for each record of a session that relies on what was retracted."""
    findings: list[Finding] = []
    for owner, ref, target, record in corrections.leaning(env.index):
        if owner != me["id"]:
            continue
        was = shown(record, env.now(), theirs)
        message = f"{named(ref)} relies on {named(target)}, which was {was}"
        hint = f"put yours right: atlas correct {ref} --why …, or write its next version without it"
        met = {"ref": target, "session": record["session"]}
        findings.append(("retracted", Protocol(message, hint, code="retracted", details=met)))
    return findings

"""The findings that a commit is told of, each with its next step: who makes it, what has not been
read, and what it runs into."""

import os
import shlex

from .. import callers
from ..env import reading, receipts
from ..env.env import Env
from ..env.who import session
from ..errors import AtlasError, Held, NotFound, Protocol, Refused, Usage
from ..model import times
from ..model.text import Record
from ..records import correction, lease, policy, status
from ..visible import named, theirs
from . import judging, quick

Finding = tuple[str, AtlasError]  # the precondition, and what is to be said
SHOWN = 5  # missed entries that a stop prints in full
GO_ON = {
    "": "then run the same git command again",
    "merge": "then git commit --no-edit completes the merge",
    # Stopped while it picks, git puts the commit back into its list, or not: continued, it is there
    # twice, or in its own way. (A stop by pre-rebase, before anything is picked, would leave an
    # --autostash in a rebase that does not exist.)
    "picking": "nothing is lost: git rebase --abort, then run the same git command again",
    "rebase": "nothing is lost: git -c core.editor=true rebase --continue goes on",
    "cherry-pick": "nothing is lost: git -c core.editor=true cherry-pick --continue goes on",
    "revert": (
        "nothing is lost: git commit --no-edit makes the revert; git revert --continue the next"
        " ones, if any"
    ),
}


def who(env: Env, going: str) -> tuple[Record | None, list[Finding]]:
    """The session that commits. If there is none: None, and the finding that says so."""
    try:
        return session(env, strict=True), []
    except (Protocol, NotFound, Usage) as error:
        named = os.environ.get("ATLAS_SESSION")
        if error.code == "which_session":
            hint = error.hint.replace("--session ID", "ATLAS_SESSION=ID before the git command")
        elif callers.tool() or named:
            begin = "unset ATLAS_SESSION && atlas begin" if named else "atlas begin"
            hint = f'begin one: {begin} --goal "what you will do", {GO_ON[going]}'
        else:
            begin = "atlas begin --person"
            hint = f"begin one that stands for you in this clone: {begin}, {GO_ON[going]}"
        code = error.code.replace("usage", "no_session")
        return None, [("read_first", Protocol(error.message, hint, code=code))]


def read_first(env: Env, me: Record, paths: list[str], going: str) -> list[Finding]:
    """The finding of the entries that a session has missed, in full. Once a stop has printed them,
    the session has seen them."""
    hook = judging.of(env)
    missed = {}
    for stream in hook.streams(paths):
        if numbers := hook.missed(me, stream):
            missed[stream] = numbers
    if not missed:
        return []
    blocks = [
        _entry(env, stream, number)
        for stream, numbers in missed.items()
        for number in numbers[-SHOWN:]
    ]
    level = policy.level(env.policy, "read_first")
    noted = level != "stop" or all(
        receipts.note_glance(env, me, stream, numbers[-1]) for stream, numbers in missed.items()
    )
    newest = ", ".join(f"status:{stream}@{numbers[-1]}" for stream, numbers in missed.items())
    message = f"{newest}: where things stand has changed since {me['id']} last looked"
    hint = f"take note of it, {GO_ON[going]}{_older(missed)}"
    if level == "warn" or not noted:
        hint = "read it: atlas status show " + next(iter(missed))
    if not noted:  # a stop would be one for ever
        env.notices.append(
            f"{message}; {hint} (no stop: this clone's notebook cannot note that you have seen it)"
        )
        return []
    return [("read_first", Protocol(message, hint, blocks=tuple(blocks)))]


def _older(missed: dict[str, range]) -> str:
    """The end of a hint: the streams of which more was missed than a stop prints."""
    streams = [
        f"{stream} (atlas status log {stream})"
        for stream, numbers in missed.items()
        if len(numbers) > SHOWN
    ]
    return f"; older ones you missed: {', '.join(streams)}" if streams else ""


def _entry(env: Env, stream: str, number: int) -> tuple[str, str]:
    """(title, text) of a status entry as it is shown in a frame."""
    record = reading.shown_status(env, stream, number, None)
    age = times.ago(times.moment(record["at"]), env.now())
    return f"status:{stream}@{number} by {record['session']}, {age}", _text(env, record)


def _text(env: Env, record: Record) -> str:
    if not record["body"]:
        return correction.said(record, "body", env.now())
    return status.brief(record, env.policy["status_words"])


def view(changed: list[tuple[str, str]]) -> list[Finding]:
    """The finding that a commit takes files of `.atlas/` in."""
    inside = [path for how, path in changed if how != "D" and quick.ours(path)]
    if not inside:
        return []
    message = f"{inside[0]} is a view of the store, and never part of a commit"
    hint = "take it out, then commit again: git rm -r -q -f --cached .atlas"
    return [("view", Refused(message, hint, code="view"))]


def links(env: Env, changed: list[tuple[str, str]]) -> list[Finding]:
    """The finding of the links that a commit breaks, each with its line as it must read."""
    moved = any(how == "D" for how, _ in changed)
    if not moved or policy.level(env.policy, "links") == "off":
        return []
    dead = judging.of(env).broken()
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


def leases(env: Env, me: Record | None, paths: list[str]) -> list[Finding]:
    """A finding for each lease of another that lies on these paths."""
    if policy.level(env.policy, "leases") == "off":
        return []
    barred = judging.of(env).barred(me, paths)
    return [("leases", _held(env, resource, held)) for resource, held in barred.items()]


def _held(env: Env, resource: str, paths: list[str]) -> Held:
    """The words about a lease on these paths, and about the way past it."""
    row = env.ask.shown(lease.current(env.snapshot, resource) or {}, f"lease:{resource}")
    rest = times.span(lease.rest(row, env.now()) if row else 0)
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    named_paths = shlex.join(paths[:3]) + (" …" if len(paths) > 3 else "")
    return Held(
        f"{paths[0]}{more}: {named(resource)} is held by {named(row['holder'])} for"
        f" {rest} more: {correction.said(row, 'why', env.now(), theirs)}",
        f"leave it out: git restore --staged -- {named_paths} (with -a, name the other paths"
        f" instead), or wait until {row['expires']}",
        details={"resource": resource, "holder": row["holder"], "paths": paths},
    )


def retracted(env: Env, me: Record) -> list[Finding]:
    """A finding for each record of a session that relies on what was retracted."""
    findings: list[Finding] = []
    for owner, ref, target, record in env.index.leaning(correction.FOLDER):
        if owner != me["id"]:
            continue
        was = correction.shown(record, env.now(), theirs)
        message = f"{named(ref)} relies on {named(target)}, which was {was}"
        hint = f"put yours right: atlas correct {ref} --why …, or write its next version without it"
        findings.append(("retracted", Protocol(message, hint, code="retracted")))
    return findings

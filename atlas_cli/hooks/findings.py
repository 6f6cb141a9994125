"""What a commit is told, each with its next step: who makes it, what it has not read, and what it
runs into."""

import os
import shlex

from .. import callers
from ..env import reading, receipts
from ..env.env import Env
from ..env.who import session
from ..errors import AtlasError, Held, NotFound, Protocol, Refused, Usage
from ..model import times
from ..model.text import Record
from ..records import lease, policy, status
from ..records.correction import said, shown
from ..visible import named, theirs
from . import judging

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
    """The session that commits, or what to say where there is none."""
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
            hint = (
                f"begin one that stands for you in this clone: atlas begin --person, {GO_ON[going]}"
            )
        return None, [
            (
                "read_first",
                Protocol(error.message, hint, code=error.code.replace("usage", "no_session")),
            )
        ]


def read_first(env: Env, me: Record, paths: list[str], going: str) -> list[Finding]:
    """The entries that the session has missed, in full; once they are printed by a stop, it has
    seen them."""
    found: list[tuple[str, str]] = []
    missed = {
        one: numbers
        for one in judging.of(env).streams(paths)
        if (numbers := judging.of(env).missed(me, one))
    }
    level = policy.level(env.policy, "read_first")
    for stream, numbers in missed.items():
        for number in numbers[-SHOWN:]:
            found.append(_entry(env, stream, number))
    if not missed:
        return []
    kept = level != "stop" or all(
        receipts.note_glance(env, me, stream, numbers[-1]) for stream, numbers in missed.items()
    )
    what = ", ".join(f"status:{stream}@{numbers[-1]}" for stream, numbers in missed.items())
    more = [
        f"{stream} (atlas status log {stream})"
        for stream, numbers in missed.items()
        if len(numbers) > SHOWN
    ]
    hint = f"take note of it, {GO_ON[going]}" + (
        f"; older ones you missed: {', '.join(more)}" if more else ""
    )
    if level == "warn" or not kept:
        hint = "read it: atlas status show " + next(iter(missed))
    message = f"{what}: where things stand has changed since {me['id']} last looked"
    if not kept:  # a stop would be one for ever
        env.notices.append(
            f"{message}; {hint} (no stop: this clone's notebook cannot note that you have seen it)"
        )
        return []
    return [("read_first", Protocol(message, hint, blocks=tuple(found)))]


def _entry(env: Env, stream: str, number: int) -> tuple[str, str]:
    record = reading.shown_status(env, stream, number, None)
    age = times.ago(times.moment(record["at"]), env.now())
    return f"status:{stream}@{number} by {record['session']}, {age}", _text(env, record)


def _text(env: Env, record: Record) -> str:
    return (
        status.brief(record, env.policy["status_words"])
        if record["body"]
        else said(record, "body", env.now())
    )


def view(changed: list[tuple[str, str]]) -> list[Finding]:
    inside = [
        path
        for how, path in changed
        if how != "D" and (path == ".atlas" or path.startswith(".atlas/"))
    ]
    if not inside:
        return []
    hint = "take it out, then commit again: git rm -r -q -f --cached .atlas"
    return [
        (
            "view",
            Refused(
                f"{inside[0]} is a view of the store, and never part of a commit", hint, code="view"
            ),
        )
    ]


def links(env: Env, changed: list[tuple[str, str]]) -> list[Finding]:
    moved = any(how == "D" for how, _ in changed)
    dead = judging.of(env).broken() if moved and policy.level(env.policy, "links") != "off" else []
    if not dead:
        return []
    lines = [
        f"{one.file}:{one.line}: {one.written} {_now(one.corrected)}\n    {one.text.strip()}"
        for one in dead
    ]
    files = shlex.join(dict.fromkeys(one.file for one in dead))
    return [
        (
            "links",
            Protocol(
                f"{dead[0].file}:{dead[0].line}: this commit breaks the link to {dead[0].written}"
                + (f", and {len(dead) - 1} more" if dead[1:] else ""),
                "correct them (a link to what is gone, by hand), then commit again: atlas links"
                f" --fix && git add -- {files}",
                code="links",
                blocks=(("broken links, each with its line as it must read", "\n".join(lines)),),
            ),
        )
    ]


def _now(corrected: str | None) -> str:
    return "leads to something deleted" if corrected is None else f"is now {corrected}"


def leases(env: Env, me: Record | None, paths: list[str]) -> list[Finding]:
    found: list[Finding] = []
    if policy.level(env.policy, "leases") == "off":
        return []
    for resource, held in judging.of(env).barred(me, paths).items():
        row = env.ask.shown(lease.current(env.snapshot, resource) or {}, f"lease:{resource}")
        rest = times.span(lease.rest(row, env.now()) if row else 0)
        more = f" and {len(held) - 1} more" if len(held) > 1 else ""
        out = shlex.join(held[:3]) + (" …" if len(held) > 3 else "")
        found.append(
            (
                "leases",
                Held(
                    f"{held[0]}{more}: {named(resource)} is held by {named(row['holder'])} for"
                    f" {rest} more: {said(row, 'why', env.now(), theirs)}",
                    f"leave it out: git restore --staged -- {out} (with -a, name the other paths"
                    f" instead), or wait until {row['expires']}",
                    details={"resource": resource, "holder": row["holder"], "paths": held},
                ),
            )
        )
    return found


def retracted(env: Env, me: Record) -> list[Finding]:
    return [
        (
            "retracted",
            Protocol(
                f"{named(ref)} relies on {named(target)}, which was"
                f" {shown(record, env.now(), theirs)}",
                f"put yours right: atlas correct {ref} --why …, or write its next version"
                " without it",
                code="retracted",
            ),
        )
        for session, ref, target, record in env.index.leaning()
        if session == me["id"]
    ]

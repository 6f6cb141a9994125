"""`atlas doctor`: the store's health."""

from typing import Annotated, Any

import typer

from ..env import elsewhere, who
from ..env.env import Env
from ..errors import AtlasError, Damaged
from ..health.doctor import judged, looked, repair
from ..model.text import Record
from ..outcome import Outcome, Table
from ..visible import named
from . import begin, env_of, single, verb

app = single()


@verb(app, "doctor", "atlas doctor", 7)
def doctor(
    ctx: typer.Context,
    fix: Annotated[bool, typer.Option("--fix", help="Repair what can be repaired.")] = False,
) -> Outcome:
    """Look at the store: git, disk, locks, objects, branch, remote, records. Exit 1 if something is
    wrong.

    --fix puts stale locks aside, drops refs that name nothing, fetches lost objects anew, takes the
    last head that can be gone on from where the branch is broken (and carries over what was
    recorded beyond), pushes back a branch that was deleted or went back on the remote (plainly,
    never by force), and appends repairs that restore exactly what a violating commit had changed.
    Nothing is ever rewritten."""
    env = env_of(ctx)
    items: list[dict[str, Any]] = looked(env, fix)
    if not any(
        item["state"] == "bad" for item in items if item["what"] in ("repository", "branch")
    ):
        items += _records(env, fix)
        for one in elsewhere.survey(env, lambda _: [], look=True)[1] if env.shares else ():
            items.append(
                {"what": "shared", "state": "warn" if one.error else "ok", "text": one.line()}
            )
    bad = [item for item in items if item["state"] == "bad"]
    done = [
        f"repaired: {item['what']}: {item['text']}" for item in items if item["state"] == "fixed"
    ]
    rows = tuple((item["what"], item["state"], item["text"]) for item in items)
    if bad:
        raise Damaged(
            f"{len(bad)} of {len(items)} looks found damage: "
            + "; ".join(f"{i['what']}: {i['text']}" for i in bad),
            "\n".join(
                [
                    *done,
                    "what is left needs a person"
                    if fix
                    else "atlas doctor --fix repairs what it can",
                ]
            ),
            details={"checks": items},
        )
    return Outcome({"checks": items}, (Table(("LOOK", "STATE", "WHAT"), rows),))


def _records(env: Env, fix: bool) -> list[dict[str, Any]]:
    try:
        report = judged(env, False)
        damaged = env.index.damaged()
    except AtlasError as error:
        return [{"what": "records", "state": "bad", "text": error.message}]
    if not report.open and not damaged:
        return [{"what": "records", "state": "ok", "text": "no violation, and every record parses"}]
    broken = [
        (
            f.violation.path,
            f"{f.commit[:12]} {f.violation.path}: {f.violation.rule}: {f.violation.text}",
        )
        for f in report.open
    ]
    text = [line.replace(path, named(path)) if path else line for path, line in (*broken, *damaged)]
    if not fix:
        return [{"what": "records", "state": "bad", "text": "; ".join(text)}]
    done, left = repair(env, who.session_or_none(env) or _nobody(env))
    items = [{"what": "records", "state": "fixed", "text": line} for line in done]
    return items + [{"what": "records", "state": "bad", "text": line} for line in left]


def _nobody(env: Env) -> Record:
    """A session for the repair; none, where it is the sessions that are broken."""
    try:
        return begin.register(env, goal="repair the store", kind="run")
    except Damaged:
        return {"id": "", "actor": ""}

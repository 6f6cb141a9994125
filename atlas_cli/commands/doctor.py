"""`atlas doctor`: the store's health."""

from typing import Annotated, Any

import typer

from ..env import beginning, elsewhere, who
from ..env.env import Env
from ..errors import AtlasError, Damaged
from ..health.doctor import judged, looked, repair
from ..model.text import Record
from ..outcome import Outcome, Table
from ..verify.audit import Finding
from ..visible import named
from . import env_of, single, verb
from .hooks import lacking

app = single()


@verb(app, "doctor", "atlas doctor", 7, limits=("health is form, not truth",))
def doctor(
    ctx: typer.Context,
    fix: Annotated[bool, typer.Option("--fix", help="Repair what can be repaired.")] = False,
) -> Outcome:
    """Look at the store: git, disk, locks, objects, branch, remote, records; and at this clone: its
    files, notebook, id, clock, hooks. Exit 1 if something is wrong.

    --fix puts stale locks aside, drops refs that name nothing, fetches lost objects anew, takes the
    last head that can be gone on from where the branch is broken (and carries over what was
    recorded beyond), pushes back a branch that was deleted or went back on the remote (plainly,
    never by force), and appends repairs that restore exactly what a violating commit had changed.
    Nothing is ever rewritten."""
    env = env_of(ctx)
    if fix and _is_whole(env):
        env.store.policy(env.snapshot)  # nothing is repaired in a store of a newer format
    items: list[dict[str, Any]] = looked(env, fix)
    if all(item["state"] != "bad" for item in items if item["what"] in ("repository", "branch")):
        items += _records(env, fix)
        items += _by_policy(env)
    bad = [item for item in items if item["state"] == "bad"]
    done = [
        f"repaired: {item['what']}: {item['text']}" for item in items if item["state"] == "fixed"
    ]
    rows = tuple((item["what"], item["state"], item["text"]) for item in items)
    if bad:
        damage = "; ".join(f"{item['what']}: {item['text']}" for item in bad)
        advice = "what is left needs a person" if fix else "atlas doctor --fix repairs what it can"
        raise Damaged(
            f"{len(bad)} of {len(items)} looks found damage: {damage}",
            "\n".join([*done, advice]),
            details={"checks": items},
        )
    return Outcome({"checks": items}, (Table(("LOOK", "STATE", "WHAT"), rows),))


def _is_whole(env: Env) -> bool:
    """Whether the store's head can be read at all."""
    try:
        return env.store.policy(env.store.snapshot()) is not None
    except AtlasError as error:
        return error.code == "newer_format"


def _by_policy(env: Env) -> list[dict[str, Any]]:
    """The looks that need the policy in force."""
    try:
        missing = "; ".join(lacking(env))
        text = missing or "git runs Atlas, or none is wanted"
        hooks = {"what": "hooks", "state": "warn" if missing else "ok", "text": text}
        return [*_shared(env), hooks]
    except Damaged as error:
        return [{"what": "policy", "state": "bad", "text": error.message}]


def _shared(env: Env) -> list[dict[str, Any]]:
    """The looks at the stores that something is shared through."""
    if not env.shares:
        return []
    _, reports = elsewhere.survey(env, lambda _: [], look=True)
    return [
        {"what": "shared", "state": "warn" if report.error else "ok", "text": report.line()}
        for report in reports
    ]


def _records(env: Env, fix: bool) -> list[dict[str, Any]]:
    """The look at the records: the violations that stand, and the records that do not parse."""
    try:
        report = judged(env, False)
        damaged = env.index.damaged()
    except AtlasError as error:
        if error.code == "newer_format":
            text = f"not judged: {error.message}; {error.hint}"
            return [{"what": "records", "state": "warn", "text": text}]
        return [{"what": "records", "state": "bad", "text": error.message}]
    if not report.open and not damaged:
        return [{"what": "records", "state": "ok", "text": "no violation, and every record parses"}]
    lines = [*(_violation(finding) for finding in report.open), *damaged]
    texts = [line.replace(path, named(path)) if path else line for path, line in lines]
    if not fix:
        return [{"what": "records", "state": "bad", "text": "; ".join(texts)}]
    done, left = repair(env, who.session_or_none(env) or _nobody(env))
    items = [{"what": "records", "state": "fixed", "text": line} for line in done]
    return items + [{"what": "records", "state": "bad", "text": line} for line in left]


def _violation(finding: Finding) -> tuple[str, str]:
    """The path of a finding, and its line."""
    path, rule, text = finding.violation.path, finding.violation.rule, finding.violation.text
    return path, f"{finding.commit[:12]} {path}: {rule}: {text}"


def _nobody(env: Env) -> Record:
    """A session for the repair; a nameless one if the sessions themselves are broken."""
    try:
        return beginning.register(env, goal="repair the store", kind="run")
    except Damaged:
        return {"id": "", "actor": ""}

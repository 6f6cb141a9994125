"""`atlas verify`: judge the whole history by the rules that the writer used."""

import time
from typing import Annotated, Any

import typer

from ..errors import Violations
from ..health.doctor import judged
from ..outcome import Frame, Outcome
from ..records.board import gate
from ..visible import many
from . import env_of, single, verb

app = single()


@verb(
    app,
    "verify",
    "atlas verify --full",
    7,
    9,
    limits=(
        (
            "verify proves order and form, not who wrote: until commits are signed, any process"
            " of yours can write as any session"
        ),
    ),
)
def verify(
    ctx: typer.Context,
    full: Annotated[bool, typer.Option("--full", help="From the beginning.")] = False,
    gates: Annotated[
        bool, typer.Option("--gates", help="Only that no gate was passed, from the beginning.")
    ] = False,
) -> Outcome:
    """Judge every commit of the store by the rules that the writer used; since the last good one,
    or (--full) all.

    Every violation is named with commit, path and rule."""
    env = env_of(ctx)
    began = time.monotonic()
    report = judged(env, full or gates, gate.raised if gates else lambda tree: 0)
    if gates:
        passed = tuple(finding for finding in report.findings if _of_a_gate(finding.violation))
        report = report._replace(findings=passed)
    spent = time.monotonic() - began
    rate = f", {report.commits / spent:,.0f} a second" if report.commits > 200 else ""
    items = [_item(finding) for finding in report.findings]
    data: dict[str, Any] = {
        "head": report.head,
        "from": report.start,
        "commits": report.commits,
        "good": report.good,
        "violations": [item for item in items if not item["repaired"]],
        "repaired": [item for item in items if item["repaired"]],
    }
    if report.open:
        lines = "\n".join(_line(item) for item in data["violations"])
        raise Violations(
            f"{many(len(report.open), 'violation')} in {many(report.commits, 'commit')}",
            "atlas doctor --fix restores what can be restored",
            details=data,
            blocks=(("violations", lines),),
        )
    since = f"since {report.start[:12]}" if report.start else "from the beginning"
    if gates:
        data["gates"] = report.counted
        since += f", gates: {report.counted}; nothing was claimed that one held"
    lines_ = [f"{many(report.commits, 'commit')} judged {since}{rate}: no violation"]
    repaired = "\n".join(f"repaired: {_line(item)}" for item in data["repaired"])
    return Outcome(data, (*lines_, *([Frame("", repaired)] if repaired else [])))


def _of_a_gate(violation: Any) -> bool:
    return bool(violation.rule == "gate" or violation.path.startswith("gates/"))


def _item(finding: Any) -> dict[str, Any]:
    violation = finding.violation
    return {
        "commit": finding.commit,
        "subject": finding.subject,
        "session": finding.session,
        "rule": violation.rule,
        "path": violation.path,
        "text": violation.text,
        "repaired": finding.repaired,
    }


def _line(item: dict[str, Any]) -> str:
    where = f" {item['path']}" if item["path"] else ""
    return f"{item['commit'][:12]}{where}: {item['rule']}: {item['text']}"

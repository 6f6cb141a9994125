"""`atlas check`: in CI and on a server, what nobody can skip."""

import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ..checks import check as checking
from ..checks import ci
from ..checks.range import Range, find_range, lately
from ..checks.rules import Finding
from ..env.clock import clock
from ..env.env import Env
from ..errors import AtlasError, Failed, Usage, Violations
from ..model import times
from ..outcome import Frame, Outcome, Raw
from ..sharing.dealing import PUSHED
from ..visible import many, visible
from . import env_of, single, verb

app = single()
NEXT = {  # what clears a finding
    "read_first": (
        "read first: atlas status show STREAM, then git commit --amend names what was read"
    ),
    "write_last": ("write last: atlas session adopt ID --why …, then atlas status write -m …"),
    "links": "links: atlas links --fix puts them right",
    "unattended": "unattended: atlas begin comes before a commit",
}
MOST = 20  # findings that the refusal of a push lists


@verb(
    app,
    "check",
    "atlas check main..HEAD",
    7,
    9,
    remote=PUSHED,
    limits=(
        (
            "check proves order in the store, not who wrote: trailers can be forged, and what"
            " rests on a clock only warns, but on a merge request"
        ),
    ),
)
def check(
    ctx: typer.Context,
    span: Annotated[
        str | None, typer.Argument(metavar="RANGE", help="Like main..HEAD (else what CI says).")
    ] = None,
    form: Annotated[
        str, typer.Option("--format", metavar="F", help="text, github, gitlab or junit.")
    ] = "text",
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="T", help="What the integration branches got since: 7d."),
    ] = None,
    receive: Annotated[
        bool, typer.Option("--receive", help="For a server's pre-receive hook.")
    ] = False,
) -> Outcome:
    """Judge code commits by their trailers: what each session had read, whether it left a word,
    leases, links.

    Without RANGE, what CI's own variables name, else what is not yet upstream; --since: what no
    push has judged. Commits without trailers are counted, and held against nobody unless the policy
    says so (unattended)."""
    env = env_of(ctx)
    _judge_form(env, form)
    if receive:
        return _received(env)
    with suppress(AtlasError):  # (without a store of its own it looks for one)
        _ = env.snapshot
    checked = checking.check(env.place, env.git, partial(_range, env, span, since), _now)
    if checked.own:
        env.look_again(checked.head)
    return _answer(env, checked, form)


def _now(policy: Mapping[str, Any]) -> int:
    """The moment, by the clock of a store with this policy."""
    return clock(policy.get("test") is True)


def _range(env: Env, span: str | None, since: str | None, policy: Mapping[str, Any]) -> Range:
    """The commits to judge."""
    if since is None:
        asked = ci.ci_range(os.environ, _event())
        return find_range(env.git, span, asked, policy, env.notices.append)
    if span is not None:
        raise Usage("a range, or --since, but not both", "leave one of them out")
    moment = times.since(since, _now(policy))
    if moment is None:
        raise Usage(f"--since {since[:80]!r} is no time", "18:00, 7d or 2026-11-29")
    return lately(env.git, moment, policy)


def _judge_form(env: Env, form: str) -> None:
    """Raises Usage if there is no such format, or if the answer is to have two forms."""
    if form == "text":
        return
    if form not in FORMATS:
        raise Usage(
            f"there is no format {form[:40]!r}", f"the formats are text, {', '.join(FORMATS)}"
        )
    if env.options.json:
        raise Usage("--format and --json are two forms of one answer", "leave one of them out")


def _answer(env: Env, checked: checking.Checked, form: str) -> Outcome:
    """The answer to the verdict, in its form. Raises Violations if a finding stops and the form is
    text."""
    verdict = checked.verdict
    items = [_item(finding) for finding in verdict.findings]
    summary = _summary(checked)
    data: dict[str, Any] = {
        "range": checked.range,
        "store": checked.store,
        "judged": verdict.judged,
        "unattended": verdict.unattended,
        "findings": items,
    }
    stops = len(verdict.stops)
    if form != "text":
        if form != "github":  # (its annotations close with the summary)
            env.notices.append(summary)  # for whoever reads the log
        return Outcome(data, (Raw(FORMATS[form](items, summary)),), exit=9 if stops else 0)
    lines = "\n".join(_line(item) for item in items)
    if stops:
        broken = {finding.rule for finding in verdict.stops}
        hint = "\n".join(text for rule, text in NEXT.items() if rule in broken)
        raise Violations(
            f"{many(stops, 'finding')}: {summary}",
            hint,
            details=data,
            blocks=(("findings", lines),),
        )
    return Outcome(data, (summary, Frame("findings", lines) if items else "no finding"))


def _summary(checked: checking.Checked) -> str:
    """One line on a verdict: the commits, the store that they were judged by, the counts."""
    verdict = checked.verdict
    passed = sum(verdict.unattended.values())
    left = ", ".join(f"{count} {reason}" for reason, count in verdict.unattended.items() if count)
    line = (
        f"{many(verdict.judged + passed, 'commit')} ({checked.range}) by {checked.store}"
        f" ({checked.head[:12]}): {verdict.judged} judged"
    )
    return f"{line}; unattended: {left}" if left else line


def _event() -> dict[str, Any]:
    """GitHub's description of the event that this run answers; empty elsewhere."""
    file = os.environ.get("GITHUB_EVENT_PATH")
    try:
        event = json.loads(Path(file).read_text(encoding="utf-8")) if file else {}
    except (OSError, ValueError) as error:
        raise Failed(
            f"GITHUB_EVENT_PATH names {file}, which cannot be read: {error}", "give a range"
        ) from None
    return event if isinstance(event, dict) else {}


def _received(env: Env) -> Outcome:
    """Judges a push. Raises Violations (9) if it is refused: every violation with its commit, path
    and rule."""
    received = checking.received(env.place, sys.stdin, clock(False))
    items = [
        {"ref": ref, "commit": broken.commit, **broken.violation._asdict()}
        for ref, broken in received.broken
    ]
    code = [finding for _, verdict in received.verdicts for finding in verdict.findings]
    stops = len(items)
    if received.level == "stop":
        stops += sum(finding.level == "stop" for finding in code)
    items += [_item(finding) for finding in code]
    lines = [_line(item) for item in items[:MOST]]
    if len(items) > MOST:
        lines.append(f"and {len(items) - MOST} more")
    text = "\n".join(lines)
    if stops:
        raise Violations(
            f"the push is refused: {many(stops, 'finding')}",
            "nothing was taken",
            details={"findings": items},
            blocks=(("findings", text),),
        )
    return Outcome({"findings": items}, (Frame("findings", text),) if items else ())


def _item(finding: Finding) -> dict[str, Any]:
    """A finding as data."""
    code, rule, level, text, path = finding
    return {
        "commit": code.oid,
        "author": code.author,
        "subject": code.subject,
        "rule": rule,
        "level": level,
        "path": path,
        "text": text,
        "file": path or next(iter(code.paths), ""),
    }


def _line(item: dict[str, Any]) -> str:
    """A finding as one line of text."""
    who = f" {item['author']}" if "author" in item else ""
    where = f" {item['path']}" if item["path"] else ""
    level = "warning: " if item.get("level") == "warn" else ""
    return visible(f"{item['commit'][:12]}{who}{where}: {level}{item['rule']}: {item['text']}")


def _github(items: list[dict[str, Any]], summary: str) -> bytes:
    """Workflow commands: an annotation for each finding."""
    lines = [_annotation(item) for item in items]
    return "".join(f"{line}\n" for line in [*lines, _escaped(summary)]).encode(errors="replace")


def _annotation(item: dict[str, Any]) -> str:
    level = "error" if item["level"] == "stop" else "warning"
    title = _escaped(f"atlas {item['rule']}", ":,")
    file = f",file={_escaped(item['file'], ':,')}" if item["file"] else ""
    return f"::{level} title={title}{file}::{_escaped(_line(item))}"


def _escaped(text: str, more: str = "") -> str:
    """A text as a workflow command can carry it. more: characters that its place takes for its
    own."""
    return "".join(f"%{ord(char):02X}" if char in f"%\r\n{more}" else char for char in text)


def _gitlab(items: list[dict[str, Any]], summary: str) -> bytes:
    """A code quality report."""
    import hashlib

    report = [
        {
            "description": _line(item),
            "check_name": f"atlas-{item['rule']}",
            "fingerprint": hashlib.sha256(_line(item).encode(errors="replace")).hexdigest(),
            "severity": "major" if item["level"] == "stop" else "minor",
            "location": {"path": item["file"] or ".", "lines": {"begin": 1}},
        }
        for item in items
    ]
    return (json.dumps(report, indent=1) + "\n").encode()


def _junit(items: list[dict[str, Any]], summary: str) -> bytes:
    """A test for each finding, failed or with a warning; one that passed if there is none."""
    from xml.etree import ElementTree as Xml

    def clean(text: str) -> str:
        return visible(text, lines=True)  # (of what is left XML may carry all)

    stops = sum(item["level"] == "stop" for item in items)
    suite = Xml.Element(
        "testsuite", name="atlas check", tests=str(len(items) or 1), failures=str(stops)
    )
    for item in items:
        name = clean(f"{item['commit'][:12]} {item['subject']}")
        case = Xml.SubElement(suite, "testcase", classname=f"atlas.{item['rule']}", name=name)
        if item["level"] == "stop":
            Xml.SubElement(case, "failure", message=clean(item["text"])).text = clean(_line(item))
        else:
            Xml.SubElement(case, "system-out").text = clean(_line(item))
    if not items:
        Xml.SubElement(suite, "testcase", classname="atlas.check", name=clean(summary))
    return bytes(Xml.tostring(suite, encoding="utf-8", xml_declaration=True)) + b"\n"


FORMATS = {"github": _github, "gitlab": _gitlab, "junit": _junit}

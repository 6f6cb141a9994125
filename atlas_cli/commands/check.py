"""`atlas check`: in CI and on a server, what nobody can skip."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..checks import check as checking
from ..checks import ci
from ..checks.rules import Finding
from ..env.env import Env
from ..errors import Failed, Usage, Violations
from ..outcome import Frame, Outcome, Raw
from ..visible import visible
from . import env_of, single, verb

app = single()
NEXT = {  # what clears a finding
    "read_first": (
        "read first: atlas status show STREAM, then git commit --amend names what was read"
    ),
    "write_last": (
        "write last: atlas end -m …, in the session that is named, or in one that adopted it"
    ),
    "links": "links: atlas links --fix puts them right",
    "unattended": "unattended: atlas begin comes before a commit",
}
MOST = 20  # findings that a push is told


@verb(app, "check", "atlas check main..HEAD", 7, 9)
def check(
    ctx: typer.Context,
    span: Annotated[
        str | None, typer.Argument(metavar="RANGE", help="Like main..HEAD (else what CI says).")
    ] = None,
    form: Annotated[
        str, typer.Option("--format", metavar="F", help="text, github, gitlab or junit.")
    ] = "text",
    receive: Annotated[
        bool, typer.Option("--receive", help="For a server's pre-receive hook.")
    ] = False,
) -> Outcome:
    """Judge code commits by their trailers: what each session had read, whether it wrote the
    status, leases, links.

    Without RANGE, what CI's own variables name, else what is not yet upstream. Commits without
    trailers are counted, and held against nobody unless the policy says so (unattended)."""
    env = env_of(ctx)
    if form not in FORMATS and form != "text":
        raise Usage(
            f"there is no format {form[:40]!r}", f"the formats are text, {', '.join(FORMATS)}"
        )
    if form != "text" and env.options.json:
        raise Usage("--format and --json are two forms of one answer", "leave one of them out")
    if receive:
        return _received(env)
    asked = ci.ci_range(os.environ, _event())
    checked = checking.check(env.place, env.git, span, asked, env.notices.append)
    if checked.own:
        env.look_again(checked.head)
    verdict = checked.verdict
    items = [_item(finding) for finding in verdict.findings]
    passed = sum(verdict.unattended.values())
    left = ", ".join(f"{count} {reason}" for reason, count in verdict.unattended.items() if count)
    said = (
        f"{verdict.judged + passed} commits ({checked.range}) by {checked.store}"
        f" ({checked.head[:12]}): "
    )
    said += f"{verdict.judged} judged" + (f"; unattended: {left}" if left else "")
    data: dict[str, Any] = {
        "range": checked.range,
        "store": checked.store,
        "judged": verdict.judged,
        "unattended": verdict.unattended,
        "findings": items,
    }
    stops = len(verdict.stops)
    if form != "text":
        env.notices += [said] if form != "github" else []  # for whoever reads the log
        return Outcome(data, (Raw(FORMATS[form](items, said)),), exit=9 if stops else 0)
    found = "\n".join(_line(item) for item in items)
    if stops:
        hint = "\n".join(
            text for rule, text in NEXT.items() if rule in {one.rule for one in verdict.stops}
        )
        raise Violations(
            f"{stops} findings: {said}", hint, details=data, blocks=(("findings", found),)
        )
    return Outcome(data, (said, Frame("findings", found) if items else "no finding"))


def _event() -> dict[str, Any]:
    """What GitHub says of the event; nothing elsewhere."""
    file = os.environ.get("GITHUB_EVENT_PATH")
    try:
        found = json.loads(Path(file).read_text(encoding="utf-8")) if file else {}
    except (OSError, ValueError) as error:
        raise Failed(
            f"GITHUB_EVENT_PATH names {file}, which cannot be read: {error}", "give a range"
        ) from None
    return found if isinstance(found, dict) else {}


def _received(env: Env) -> Outcome:
    """Refuses a push (9): every violation with its commit, path and rule."""
    found = checking.received(env.place, sys.stdin)
    items = [
        {"ref": ref, "commit": one.commit, **one.violation._asdict()} for ref, one in found.broken
    ]
    code = [finding for _, verdict in found.verdicts for finding in verdict.findings]
    stops = len(items) + sum(finding.level == "stop" for finding in code) * (found.level == "stop")
    items += [_item(finding) for finding in code]
    lines = [
        *(_line(item) for item in items[:MOST]),
        *[f"and {len(items) - MOST} more"] * (len(items) > MOST),
    ]
    said = "\n".join(lines)
    if stops:
        hint = "nothing was taken"
        raise Violations(
            f"the push is refused: {stops} findings",
            hint,
            details={"findings": items},
            blocks=(("findings", said),),
        )
    return Outcome({"findings": items}, (Frame("findings", said),) if items else ())


def _item(finding: Finding) -> dict[str, Any]:
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
    who = f" {item['author']}" if "author" in item else ""
    where = f" {item['path']}" if item["path"] else ""
    level = "warning: " if item.get("level") == "warn" else ""
    return visible(f"{item['commit'][:12]}{who}{where}: {level}{item['rule']}: {item['text']}")


def _github(items: list[dict[str, Any]], said: str) -> bytes:
    """Workflow commands: an annotation for each finding."""

    def safe(text: str, more: str = "") -> str:
        return "".join(f"%{ord(char):02X}" if char in f"%\r\n{more}" else char for char in text)

    lines = [
        f"::{'error' if item['level'] == 'stop' else 'warning'}"
        f" title={safe('atlas ' + item['rule'], ':,')}"
        f"{',file=' + safe(item['file'], ':,') if item['file'] else ''}::{safe(_line(item))}"
        for item in items
    ]
    return "".join(f"{line}\n" for line in [*lines, safe(said)]).encode(errors="replace")


def _gitlab(items: list[dict[str, Any]], said: str) -> bytes:
    """A code quality report."""
    import hashlib

    found = [
        {
            "description": _line(item),
            "check_name": f"atlas-{item['rule']}",
            "fingerprint": hashlib.sha256(_line(item).encode(errors="replace")).hexdigest(),
            "severity": "major" if item["level"] == "stop" else "minor",
            "location": {"path": item["file"] or ".", "lines": {"begin": 1}},
        }
        for item in items
    ]
    return (json.dumps(found, indent=1) + "\n").encode()


def _junit(items: list[dict[str, Any]], said: str) -> bytes:
    """A test for each finding, failed or with a warning; one that passed where there is none."""
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
        Xml.SubElement(suite, "testcase", classname="atlas.check", name=clean(said))
    return bytes(Xml.tostring(suite, encoding="utf-8", xml_declaration=True)) + b"\n"


FORMATS = {"github": _github, "gitlab": _gitlab, "junit": _junit}

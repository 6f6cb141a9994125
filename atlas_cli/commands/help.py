"""`atlas help [TOPIC]`: short pages. Their facts come from the tables that the code itself obeys,
their limits from the policy in force."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from ..cli import limits
from ..cli.templates import template
from ..errors import EXITS, NotFound
from ..model import names, times
from ..outcome import Outcome
from ..records import lease, session
from ..records.judging import RULES
from . import COMMANDS, env_of, rules_for, single, verb

app = single()
TOPICS = {
    "protocol": "the order of a session's work, and who you are",
    "leases": "how to name what you sign up for, and how long it lasts",
    "stops": "exit codes, and what to do after each stop",
    "files": "where the store lies, its layout, its rules",
    "json": "the envelope that programs read",
}
LIMITS = {"protocol": ("begin", "end", "status write"), "leases": ("lease list", "lease run")}
LAYOUT = """\
README.md  atlas.yaml                                 what this branch is; the policy
status/<stream>/<NNN>/<NNNNNN>.md                     document, numbered
artifacts/<name>/<NNNN>/about.yaml and body.<ext>     document, numbered
decisions/<YYYY>/<MM-DD>-<slug>-<op6>.md              document
corrections/<YYYY>/<MM-DD>-<slug>-<op6>.md            document
leases/<hh>/<resource>.yaml                           row
sessions/<YYMMDD>/<id>.yaml                           row
inbox/<name>.md or .txt                               document, added by hand
tasks/<hh>/<id>.md                                    row
results/<hh>/<task>/about.yaml and body.<ext>         document
gates/<id>.yaml and <id>.cleared.yaml                 document
signals/<YYYY>/<MM-DD>-<slug>-<op6>.md                document"""
ENVELOPE = """\
{"atlas": 1, "command": "lease take", "status": "ok|stop|error", "data": {}, "notices": [],
 "store": {"head": "…", "published": false, "fetched_at": null},
 "error": {"code": "held", "message": "…", "hint": "…", "retry": "later", "details": {}}}"""


@verb(app, "help", "atlas help leases", 7)
def help_(
    ctx: typer.Context, topic: Annotated[str | None, typer.Argument(metavar="TOPIC|COMMAND")] = None
) -> Outcome:
    """A short page on a topic; without one, the list of them. `atlas help COMMAND` is `atlas
    COMMAND --help`."""
    if topic is None:
        lines = [f"  {name:<10}{what}" for name, what in TOPICS.items()]
        text = "\n".join(
            [
                "atlas help TOPIC:",
                *lines,
                "atlas help COMMAND: its arguments, options, limits, an example",
                "atlas --help: the commands",
            ]
        )
        return Outcome({"topics": TOPICS}, (text,))
    if topic not in TOPICS:
        hint = names.hint(
            topic,
            [*TOPICS, *COMMANDS],
            f"the topics are {', '.join(TOPICS)}; atlas --help lists the commands",
        )
        raise NotFound(f"there is no help on {topic[:80]!r}", hint)
    text = page(topic, rules_for(env_of(ctx)))
    return Outcome({"topic": topic, "help": text}, (text,))


def page(topic: str, policy: Mapping[str, Any]) -> str:
    """The page on a topic, under a policy."""
    closing = dict.fromkeys(
        line for name in LIMITS.get(topic, ()) for line in limits.of(name, policy)
    )
    facts = {
        "life": times.span(session.LIFE),
        "shortest": times.span(lease.SHORTEST),
        "skew": times.span(times.SKEW),
        "exits": "\n".join(f"{code:<5}{again:<17}{what}" for code, (what, again) in EXITS.items()),
        "rules": "\n".join(f"{rule:<15}{what}" for rule, what in RULES.items()),
        "layout": LAYOUT,
        "envelope": ENVELOPE,
        "limits": "\n".join(["Limits:", *(f"- {line}" for line in closing)]),
    }
    return template(f"help/{topic}.txt").decode().format_map({**policy, **facts}).rstrip("\n")

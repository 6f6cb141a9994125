"""`atlas help [TOPIC]`: the pages of `help/`, and what the policy in force sets otherwise."""

from collections.abc import Mapping, Sequence
from json import dumps
from typing import Annotated, Any

import typer

from ..cli import pages
from ..errors import NotFound
from ..model import names
from ..outcome import Outcome, Table
from ..records.policy import KEYS
from . import COMMANDS, env_of, limits, rules_for, single, verb

app = single()
LIMITS = {"protocol": ("begin", "end", "status write"), "leases": ("lease list", "lease run")}


@verb(app, "help", "atlas help leases", 7)
def help_(
    ctx: typer.Context, topic: Annotated[str | None, typer.Argument(metavar="TOPIC|COMMAND")] = None
) -> Outcome:
    """A page on a topic; without one, the list of them. `atlas help COMMAND` is `atlas COMMAND
    --help`."""
    if topic is None:
        topics = {name: pages.summary(name) for name in pages.TOPICS}
        lines = [
            "atlas help TOPIC:",
            *(f"  {name:<12}{line}" for name, line in topics.items()),
            "atlas help COMMAND: its arguments, options, limits, an example",
            "atlas --help: the commands",
        ]
        return Outcome({"topics": topics}, ("\n".join(lines),))
    if topic not in pages.TOPICS:
        hint = names.hint(
            topic,
            [*pages.TOPICS, *COMMANDS],
            "atlas help lists the topics, atlas --help the commands",
            "atlas help ",
        )
        raise NotFound(f"there is no help on {topic[:80]!r}", hint)
    policy = rules_for(env_of(ctx))
    command: Any = ctx.find_root().command
    closing = [
        line for name in LIMITS.get(topic, ()) for line in command.called(name.split())[1].texts
    ]
    text = page(topic, policy, closing)
    rows = set_apart(topic, policy)
    head = ("KEY", "IN FORCE HERE", "ON THE PAGE")
    table = Table(head, tuple((key, dumps(policy[key]), dumps(KEYS[key][0])) for key in rows))
    data = {"topic": topic, "help": text, "policy": {key: policy[key] for key in rows}}
    return Outcome(data, (text, "", table) if rows else (text,))


def page(topic: str, policy: Mapping[str, Any], closing: Sequence[str]) -> str:
    """The page on a topic, closed with limits under a policy."""
    text = pages.plain(pages.source(topic))
    if not closing:
        return text
    lines = dict.fromkeys(limits.said(closing, policy))
    return "\n".join([text, "", "Limits:", *(f"- {line}" for line in lines)])


def set_apart(topic: str, policy: Mapping[str, Any]) -> list[str]:
    """The keys that a page names and that a policy sets to another value than the page says."""
    text = pages.source(topic)
    return [key for key, row in KEYS.items() if f"`{key}`" in text and policy[key] != row[0]]

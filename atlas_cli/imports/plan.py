"""Plans and graphs: tasks read from a file, and what needs what as text."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import Damaged, Usage
from ..model import names
from ..model.text import Record, load
from ..records import status
from ..records.board import task
from ..visible import visible

TITLE = 200  # characters of a label
Edges = Iterable[tuple[str, str]]
_FIELDS = {
    "name": str,
    "title": str,
    "body": str,
    "needs": list,
    "priority": int,
    "role": str,
    "labels": list,
    "slots": int,
    "relies_on": list,
    "deadline": str,
}


def read(name: str, text: str | None) -> list[Record]:
    """The tasks of a plan, each with its fields; Usage naming the task and what is wrong with
    it."""
    if re.search(r"^## ", text or "", re.MULTILINE):
        found = [
            _section(title, part)
            for title, part in status.sections(text or "")
            if title is not None
        ]
    else:
        try:
            found = load((text or "").encode(), name).get("tasks", [])
        except Damaged as error:
            raise Usage(
                f"{error.message}", "a plan is YAML with a list `tasks`, or Markdown"
            ) from None
    if not found or not isinstance(found, list):
        raise Usage(
            f"{name}: there is no task in it",
            "a plan is YAML with a list `tasks`, or Markdown headings `## Title`",
        )
    tasks = [_checked(nth, one) for nth, one in enumerate(found, 1)]
    known = [one["name"] for one in tasks]
    if twice := sorted({one for one in known if known.count(one) > 1}):
        raise Usage(
            f"{name}: {', '.join(twice)} stands twice", "a task's name stands once in a plan"
        )
    return tasks


def _section(title: str, part: str) -> Record:
    """A task of a Markdown plan: lines `key: value` right below the heading, then its text."""
    found: Record = {"title": title}
    lines = part.split("\n")[1:]
    while lines and (
        not lines[0].strip() or re.match(rf"(- )?({'|'.join(_FIELDS)}|depends_on): ", lines[0])
    ):
        line = lines.pop(0).removeprefix("- ").strip()
        if not line and len(found) > 1:
            break
        if line:
            key, _, value = line.partition(": ")
            many = _FIELDS.get("needs" if key == "depends_on" else key) is list
            words = [word for word in re.split(r"[,\s]+", value) if word]
            found[key] = words if many else int(value) if value.isdecimal() else value
    return {**found, "body": "\n".join(lines).strip("\n")}


def _checked(nth: int, found: Any) -> Record:
    if not isinstance(found, dict) or not isinstance(found.get("title"), str):
        raise Usage(f"the plan's task {nth} has no title", "a task is a map with a title")
    wish = {("needs" if key == "depends_on" else key): value for key, value in found.items()}
    wish.setdefault("name", names.slug(wish["title"], 60))
    for key, value in wish.items():
        if key not in _FIELDS or not isinstance(value, _FIELDS[key]) or isinstance(value, bool):
            raise Usage(
                f"the plan's task {nth} ({wish['name']}): {key} cannot be {str(value)[:40]!r}",
                f"its fields are {', '.join(_FIELDS)}",
            )
    if wish.get("priority", 50) not in task.PRIORITIES:
        raise Usage(f"the plan's task {nth} ({wish['name']}): the priority is from 0 to 100")
    return {**wish, "needs": [one.removeprefix("task:") for one in wish.get("needs", ())]}


def tree(found: Mapping[str, Record], edges: Edges) -> list[str]:
    """What comes first on the left, what needs it below it; a task that stands already is named
    again, not opened."""
    below: dict[str, list[str]] = {}
    held = {after for _, after in edges}
    for before, after in edges:
        below.setdefault(before, []).append(after)
    lines: list[str] = []
    seen: set[str] = set()
    left = [(one, 0) for one in reversed(list(found)) if one not in held]
    while left:
        one, depth = left.pop()
        again = one in seen
        lines.append(
            f"{'  ' * depth}{one} [{found[one]['state']}]"
            f" {found[one]['title']}{' (see above)' * again}"
        )
        if not again:
            seen.add(one)
            left += [(after, depth + 1) for after in reversed(below.get(one, []))]
    return lines


def dot(found: Mapping[str, Record], edges: Edges) -> list[str]:
    nodes = [f'  "{_plain(one)}" [label={_quoted(one, row)}];' for one, row in found.items()]
    return [
        "digraph tasks {",
        "  rankdir=LR;",
        *nodes,
        *(f'  "{_plain(a)}" -> "{_plain(b)}";' for a, b in edges),
        "}",
    ]


def mermaid(found: Mapping[str, Record], edges: Edges) -> list[str]:
    nodes = [f"  {_plain(one)}[{_quoted(one, row)}]" for one, row in found.items()]
    return ["flowchart LR", *nodes, *(f"  {_plain(a)} --> {_plain(b)}" for a, b in edges)]


def _quoted(one: str, row: Record) -> str:
    """A label in quotes, which a title can neither end nor make more of than a text (Mermaid obeys
    `%%{…}%%`)."""
    title = "".join(
        "'" if char in '"\\<>&#;%{}`$' or visible(char) != char else char
        for char in row["title"][:TITLE]
    )
    return f'"{_plain(one)}: {title} ({row["state"]})"'


def _plain(one: str) -> str:
    """An id as a graph's language takes it, whatever a hand wrote for one."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", one[:TITLE])

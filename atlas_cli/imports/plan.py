"""Plans and graphs: tasks read from a file, and what needs what as text."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import Damaged, Usage
from ..model import names
from ..model.text import OWN_LIMIT, Record, load
from ..records import sections
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
    "uses": list,
    "on": list,
    "deadline": str,
}
_FIELD_LINE = re.compile(rf"(- )?({'|'.join((*_FIELDS, 'depends_on'))}): ")


def read(name: str, text: str | None) -> list[Record]:
    """The tasks of a plan, each with its fields. Raises Usage, which names the task and what is
    wrong with it."""
    entries = _entries(name, text or "")
    if not entries or not isinstance(entries, list):
        raise Usage(
            f"{name}: there is no task in it",
            "a plan is YAML with a list `tasks`, or Markdown headings `## Title`",
        )
    tasks = [_checked(nth, entry) for nth, entry in enumerate(entries, 1)]
    known = [row["name"] for row in tasks]
    if twice := sorted({word for word in known if known.count(word) > 1}):
        raise Usage(
            f"{name}: {', '.join(twice)} stands twice", "a task's name stands once in a plan"
        )
    return tasks


def _entries(name: str, text: str) -> Any:
    """The entries of a plan's list of tasks, whatever they are."""
    if re.search(r"^## ", text, re.MULTILINE):
        pieces = sections.sections(text)
        return [_section(title, part) for title, part in pieces if title is not None]
    try:
        return load(text.encode(), name, hand=OWN_LIMIT).get("tasks", [])
    except Damaged as error:
        raise Usage(error.message, "a plan is YAML with a list `tasks`, or Markdown") from None


def _section(title: str, part: str) -> Record:
    """A task of a Markdown plan: lines `key: value` right below the heading, then its text."""
    row: Record = {"title": title}
    lines = part.split("\n")[1:]
    while lines and (not lines[0].strip() or _FIELD_LINE.match(lines[0])):
        line = lines.pop(0).removeprefix("- ").strip()
        if not line and len(row) > 1:
            break
        if line:
            key, _, value = line.partition(": ")
            row[key] = _value(_field(key), value)
    return {**row, "body": "\n".join(lines).strip("\n")}


def _field(key: str) -> str:
    """A field by its own name."""
    return "needs" if key == "depends_on" else key


def _value(field: str, text: str) -> list[str] | int | str:
    if _FIELDS.get(field) is list:
        return [word for word in re.split(r"[,\s]+", text) if word]
    return int(text) if text.isdecimal() else text


def _checked(nth: int, entry: Any) -> Record:
    """A task of a plan with its fields by their own names. Raises Usage if one cannot be what it
    is."""
    if not isinstance(entry, dict) or not isinstance(entry.get("title"), str):
        raise Usage(f"the plan's task {nth} has no title", "a task is a map with a title")
    row: Record = {_field(key): value for key, value in entry.items()}
    row.setdefault("name", names.slug(row["title"], 60))
    for key, value in row.items():
        if not _can_be(key, value):
            raise Usage(
                f"the plan's task {nth} ({row['name']}): {key} cannot be {str(value)[:40]!r}",
                f"its fields are {', '.join(_FIELDS)}",
            )
    if row.get("priority", 50) not in task.PRIORITIES:
        raise Usage(f"the plan's task {nth} ({row['name']}): the priority is from 0 to 100")
    return {**row, "needs": [need.removeprefix("task:") for need in row.get("needs", ())]}


def _can_be(key: str, value: Any) -> bool:
    """Whether a field of a task can have a value."""
    if key not in _FIELDS or not isinstance(value, _FIELDS[key]) or isinstance(value, bool):
        return False
    return not isinstance(value, list) or all(isinstance(item, str) for item in value)


def tree(tasks: Mapping[str, Record], edges: Edges) -> list[str]:
    """Tasks that need nothing on the left, below each those that need it. A task that stands
    already is named again, not opened."""
    below: dict[str, list[str]] = {}
    held = {after for _, after in edges}
    for before, after in edges:
        below.setdefault(before, []).append(after)
    lines: list[str] = []
    seen: set[str] = set()
    left = [(id, 0) for id in reversed(list(tasks)) if id not in held]
    while left:
        id, depth = left.pop()
        line = f"{'  ' * depth}{id} [{tasks[id]['state']}] {tasks[id]['title']}"
        if id in seen:
            lines.append(f"{line} (see above)")
            continue
        lines.append(line)
        seen.add(id)
        left += [(after, depth + 1) for after in reversed(below.get(id, []))]
    return lines


def dot(tasks: Mapping[str, Record], edges: Edges) -> list[str]:
    """The lines of a graph for Graphviz."""
    return [
        "digraph tasks {",
        "  rankdir=LR;",
        *(f'  "{_plain(id)}" [label={_quoted(id, row)}];' for id, row in tasks.items()),
        *(f'  "{_plain(before)}" -> "{_plain(after)}";' for before, after in edges),
        "}",
    ]


def mermaid(tasks: Mapping[str, Record], edges: Edges) -> list[str]:
    """The lines of a graph for Mermaid."""
    return [
        "flowchart LR",
        *(f"  {_plain(id)}[{_quoted(id, row)}]" for id, row in tasks.items()),
        *(f"  {_plain(before)} --> {_plain(after)}" for before, after in edges),
    ]


def _quoted(id: str, row: Record) -> str:
    """A label in quotes. A title can neither end them nor be more than a text in them (Mermaid
    obeys `%%{…}%%`)."""
    chars = ["'" if _is_special(char) else char for char in row["title"][:TITLE]]
    return f'"{_plain(id)}: {"".join(chars)} ({row["state"]})"'


def _is_special(char: str) -> bool:
    return char in '"\\<>&#;%{}`$' or visible(char) != char


def _plain(id: str) -> str:
    """An id as a graph's language takes it, whatever a hand wrote for one."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", id[:TITLE])

"""The pages of `help/`: Markdown, as a forge shows it, and as a terminal does."""

from __future__ import annotations

import re
import textwrap
from importlib import resources

# A page is its file in `help/` and its name here, in the order in which they are listed.
TOPICS = (
    "protocol",
    "commands",
    "mechanisms",
    "leases",
    "tasks",
    "stops",
    "json",
    "commits",
    "ci",
    "remotes",
    "files",
    "rules",
    "policy",
    "guarantees",
    "speed",
    "glossary",
)
WIDTH = 100  # columns of a page
BESIDE = 54  # columns that a table's other columns may take beside the widest one
_LINK = re.compile(r"\[([^\]]+)\]\([a-z]+\.md\)")
_BOLD = re.compile(r"\*\*(?=[^\s/*])(.+?)(?<=\w)(\W?)\*\*(?![\w/*])")
_BAR = re.compile(r"(?<!\\)\|")


def source(topic: str) -> str:
    """The Markdown of a page."""
    return (resources.files("atlas_cli") / "help" / f"{topic}.md").read_text(encoding="utf-8")


def summary(topic: str) -> str:
    """The line that says what a page is about: the one below its title."""
    return source(topic).split("\n")[2]


def plain(page: str) -> str:
    """A page for a terminal: headings in capitals, code indented, tables in columns."""
    lines: list[str] = []
    table: list[list[str]] = []
    code = False
    for line in [*page.rstrip("\n").split("\n"), ""]:
        if line.startswith("|") and not code:
            table.append(_cells(line))
            continue
        lines += _columns(table)
        table = []
        if line.startswith("```"):
            code = not code
        elif code:
            lines.append(f"  {line}")
        elif line.startswith("#"):
            lines.append(line.lstrip("# ").upper())
        else:
            lines.append(_words(line))
    return "\n".join(lines).rstrip("\n")


def _words(text: str) -> str:
    """Text without the marks of links and of bold; what is code keeps its own."""
    return _BOLD.sub(r"\1\2", _LINK.sub(r"\1", text))


def _cells(line: str) -> list[str]:
    """The cells of a table's row."""
    return [_words(cell.strip()).replace("\\|", "|") for cell in _BAR.split(line)[1:-1]]


def _columns(table: list[list[str]]) -> list[str]:
    """A table as lines. The widest column folds; where the others take too much room for that, each
    row's first cell has a line of its own, and the other cells follow below it."""
    if not table:
        return []
    head, _, *rows = table
    rows = [[name.upper() for name in head], *rows]
    widths = [max(len(row[at]) for row in rows) for at in range(len(head))]
    widest = widths.index(max(widths))
    beside = sum(widths) + 2 * len(widths) - 2 - widths[widest]
    if beside > BESIDE and beside + widths[widest] > WIDTH:
        return [line for row in rows for line in _stacked(row)]
    widths[widest] = min(widths[widest], WIDTH - beside)
    return [line for row in rows for line in _beside(row, widths, widest)]


def _beside(row: list[str], widths: list[int], widest: int) -> list[str]:
    """A row whose cells stand beside each other, one of them folded."""
    folded = _folded(row[widest], widths[widest]) or [""]
    lines = []
    for at, part in enumerate(folded):
        cells = row if at == 0 else [""] * len(row)
        cells = [*cells[:widest], part, *cells[widest + 1 :]]
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        lines.append("  ".join(padded).rstrip())
    return lines


def _stacked(row: list[str]) -> list[str]:
    """A row whose cells stand below each other."""
    first, *others = row
    lines = _folded(first, WIDTH)
    for cell in others:
        lines += [f"    {line}" for line in _folded(cell, WIDTH - 4)]
    return lines


def _folded(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)

"""Texts by their sections: a heading is a line `## heading` outside fenced code. One is replaced,
all else is carried; two texts are merged by sections where that is clear."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..errors import Usage
from ..visible import visible

_FENCE = r" {0,3}(`{3,}|~{3,})"


def sections(body: str) -> list[tuple[str | None, str]]:
    """The text as pieces: each heading, and its lines with the heading."""
    pieces: list[tuple[str | None, list[str]]] = [(None, [])]
    fence = ""
    for line in body.split("\n"):
        fence = _fence(line, fence)
        if not fence and line.startswith("## ") and line[3:].strip():
            pieces.append((line[3:].strip(), []))
        pieces[-1][1].append(line)
    return [(heading, "\n".join(lines)) for heading, lines in pieces]


def _fence(line: str, fence: str) -> str:
    """The fence that is open behind a line, if that one was open before it."""
    mark = re.match(_FENCE, line)
    if mark and not fence:
        return mark[1]
    return "" if mark and mark[1].startswith(fence) else fence


def closed(text: str) -> str:
    """The text, with a fence closed that is open at its end: it would swallow what follows."""
    fence = ""
    for line in text.split("\n"):
        fence = _fence(line, fence)
    return f"{text}\n{fence}" if fence else text


def split(body: str) -> list[tuple[str, str]]:
    """(heading, text) of each section that is not empty; '' is the heading of the text before the
    first."""
    pieces = []
    for heading, piece in sections(body):
        text = piece if heading is None else piece.partition("\n")[2]
        if heading is not None or text.strip():
            pieces.append((heading or "", closed(text.strip("\n"))))
    return pieces


def joined(pieces: Iterable[tuple[str, str]]) -> str:
    """The whole text of sections: the inverse of `split`."""
    parts = [f"## {heading}\n\n{text}".strip("\n") if heading else text for heading, text in pieces]
    return "\n\n".join(parts) + "\n"


def as_heading(text: str | None) -> str:
    """A heading on one line, without what no terminal shows: whoever reads it can write it. Raises
    Usage if nothing is left of it."""
    heading = " ".join((text or "").split())
    if visible(heading) != heading:  # (what no record can hold stays, to be refused)
        signs = (sign for sign in heading if visible(sign) == sign or "\ud800" <= sign <= "\udfff")
        heading = " ".join("".join(signs).split())
    if not heading:
        raise Usage("the section has no heading", "name it: --section 'What I did'")
    return heading


def as_section(heading: str, content: str) -> str:
    """The text of one section: its own headings of that rank go one rank deeper, and an open fence
    is closed."""
    parts = sections(content.strip("\n"))
    first = parts[0][1]
    if not first.strip() and len(parts) > 1 and parts[1][0] == heading:
        parts = parts[1:]  # it brings its heading along
        first = parts[0][1].partition("\n")[2]
    return closed("\n".join([first, *(f"#{part}" for _, part in parts[1:])]).strip("\n"))


def with_section(body: str, heading: str | None, content: str) -> str:
    """The text with one section replaced, or added at the end. Everything else is carried on."""
    heading = as_heading(heading)
    own = (heading, as_section(heading, content))
    pieces = split(body)
    headings = [name for name, _ in pieces]
    # Where a heading stands twice, the first counts.
    at = headings.index(heading) if heading in headings else len(pieces)
    pieces[at : at + 1] = [own]
    return joined(pieces)


def merged(base: str, theirs: str, mine: str) -> str | None:
    """The three-way merge by sections; None if both sides changed the same section, because then
    lines must be merged."""
    pieces = [split(text) for text in (base, theirs, mine)]
    parts = [dict(each) for each in pieces]
    if any(len(by_heading) != len(each) for by_heading, each in zip(parts, pieces, strict=True)):
        return None  # a heading stands twice
    _, their_parts, my_parts = parts
    whole = []
    for heading in dict.fromkeys((*their_parts, *my_parts)):
        before, other, own = (by_heading.get(heading) for by_heading in parts)
        if other != before and own != before and other != own:
            return None
        text = other if own == before else own
        if text is not None:
            whole.append((heading, text))
    return joined(whole)

"""Texts as a terminal is sent them, and another's words as they stand in a line of ours. It imports
nothing of ours, so that whoever makes a line can say whose words are in it."""

from __future__ import annotations

import re
from functools import lru_cache

# characters of another's words in a line of ours: enough to know them by, too few to carry an order
MOST = 28
# All that steers a terminal, hides, or turns the reading direction: Cc (but for tab and line feed),
# Cf, Cs, Co, Zl, Zp and Default_Ignorable. A test compares it with what Python knows of Unicode.
_HIDDEN = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U0010ffff]"
)
# Those of them that Python calls printable.
_UNSEEN = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0"
    + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
# Joiners are letters to these scripts, and hold together what is one emoji; a variation selector
# says how it is drawn.
_JOINED = (
    "[\u0620-\u06dc\u0710-\u088f\u0892-\u08e1\u0900-\u10ff\u1200-\u17b3\u17b6-\u180a"
    "\u1820-\u1cff\ua840-\uabff]"
)
_EMOJI = (
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2900-\u297f"
    "\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
_SOUND = (
    f"(?<={_JOINED})[\u200c\u200d](?={_JOINED})|(?:(?<={_EMOJI})|(?<={_EMOJI}\ufe0f))\u200d(?={_EMOJI})"
    f"|(?<={_EMOJI})[\ufe0e\ufe0f]|(?<=[0-9#*])\ufe0f(?=\u20e3)"
)


@lru_cache(maxsize=1)
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compiled when the first text asks for it that is not plain: few starts need them."""
    return re.compile(_HIDDEN), re.compile(_SOUND)


def visible(text: str, lines: bool = False) -> str:
    """The text with all that could steer a terminal, or hide in it, as `\\u{…}`. `lines`: line
    feeds stay."""
    plain = text.replace("\n", "").replace("\t", "")
    if plain.isprintable() and (plain.isascii() or _UNSEEN.isdisjoint(plain)):
        return text if lines else text.replace("\n", "\\n")
    hidden, sound = _patterns()

    def shown(match: re.Match[str]) -> str:
        return match[0] if sound.match(text, match.start()) else f"\\u{{{ord(match[0]):x}}}"

    whole = hidden.sub(shown, text)
    return whole if lines else whole.replace("\n", "\\n")


def theirs(text: object, most: int = MOST) -> str:
    """Another's words inside a line of ours: in quotes that they cannot close, on one line, and no
    longer than `most`. They are cut between two words, unless a word fills half of that."""
    whole = str(text)
    line = " ".join(whole[: 4 * most].replace('"', "'").split())
    if len(line) <= most and len(whole) <= 4 * most:
        return f'"{line}"'
    last = line.rfind(" ", 0, most + 1)
    return f'"{line[: last if last > most // 2 else most].rstrip()}…"'


def many(count: int, what: str) -> str:
    """A number of things, whose name is given for one of them: `1 write`, `2 writes`."""
    several = f"{what[:-1]}ies" if re.search("[^aeiou]y$", what) else f"{what}s"
    return f"{count:,} {what if count == 1 else several}"


def named(text: object) -> str:
    """A name that a record gives, inside a line of ours. A text that is no name stands there as
    another's words."""
    name = str(text)
    return name if len(name) <= 200 and re.fullmatch(r"[!#-~]+", name) else theirs(name)


def width(char: str) -> int:
    """The columns that a character takes on a terminal."""
    if char.isascii():
        return 1
    from unicodedata import combining, east_asian_width

    if east_asian_width(char) in "WF":
        return 2
    return 0 if combining(char) else 1


def wrapped(line: str, columns: int) -> list[str]:
    """A line of visible text as lines of no more columns each, broken at a blank if one comes late
    enough."""
    line = line.expandtabs(8)
    if line.isascii() and len(line) <= columns:
        return [line]
    lines: list[str] = []
    # the place where the line begins, the last one to break it at, and the columns so far
    start = last = used = 0
    sizes = [1] * len(line) if line.isascii() else [width(char) for char in line]
    for at, size in enumerate(sizes):
        if used + size > columns and at > start:
            cut = last if last - start > columns // 2 else at
            lines.append(line[start:cut].rstrip(" "))
            start, used = cut, sum(sizes[cut:at])
        used += size
        if line[at] == " ":
            last = at + 1
    return [*lines, line[start:]]

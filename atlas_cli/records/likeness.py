"""The likeness of two texts: whether they are about the same topic, by the words that
stand beside each other; of two lines, by their words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

# Of the shorter text's shingles, the share below which two texts are of two topics: both errors are
# measured (tests/records/test_other_topic.py). Fewer shingles than SHORT tell nothing.
UNLIKE, SHORT = 0.06, 11
_NO_BLANKS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
# Compiled when they are first used: 6 ms that a start has no need of.
_UNSPACED = f"[{_NO_BLANKS}]"
_RUN = f"[{_NO_BLANKS}]+|[^\\W_{_NO_BLANKS}]+"
# Two lines on one question share more than this part of their words; those of _EMPTY say nothing.
SAME = 0.5
_EMPTY = frozenset(
    (  # noqa: SIM905
        "a an and are as at be by do does for from how i in is it its let of on or our shall should"
        " that the their this to use used using we what when where which who why will with"
    ).split()
)


def alien(old: str, new: str) -> bool:
    """Whether two texts of some length share next to no shingle."""
    before, after = _shingles(old), _shingles(new)
    fewer = min(len(before), len(after))
    return fewer >= SHORT and len(before & after) < UNLIKE * fewer


def same_question(old: str, new: str) -> bool:
    """Whether two lines, such as titles, are about one question: by their words, in any order.
    Lines that name different numbers are of a series."""
    first, second = _telling(old), _telling(new)
    series = any(word.isdecimal() for word in first ^ second)
    return not series and len(first & second) > SAME * len(first | second)


def _telling(line: str) -> set[str]:
    """The words of a line that say what it is about, as of one thing."""
    words = set(_words(line)) - _EMPTY
    return {word[:-1] if len(word) > 3 and word[-1] == "s" else word for word in words}


def _shingles(body: str) -> set[tuple[str, str]]:
    """The pairs of words that stand beside each other. Every number counts as the same word: a
    table with new figures is the same table."""
    return set(pairwise("0" if word.isdecimal() else word for word in _words(body)))


def _words(text: str) -> Iterator[str]:
    """The words of a text. Each three characters are a word in a script that has no blanks."""
    for run in re.findall(_RUN, text.lower()):
        if re.match(_UNSPACED, run):
            yield from (run[at : at + 3] for at in range(max(1, len(run) - 2)))
        else:
            yield run

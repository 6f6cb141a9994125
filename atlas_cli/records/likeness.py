"""The likeness of two texts: whether they are about the same topic, by the words that
stand beside each other."""

from __future__ import annotations

import re
from itertools import pairwise

# Of the shorter text's shingles, the share below which two texts are of two topics: both errors are
# measured (tests/records/test_other_topic.py). Fewer shingles than SHORT tell nothing.
UNLIKE, SHORT = 0.06, 11
_NO_BLANKS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
_UNSPACED = re.compile(f"[{_NO_BLANKS}]")
_RUN = re.compile(f"[{_NO_BLANKS}]+|[^\\W_{_NO_BLANKS}]+")


def alien(old: str, new: str) -> bool:
    """Whether two texts of some length share next to no shingle."""
    before, after = _shingles(old), _shingles(new)
    fewer = min(len(before), len(after))
    return fewer >= SHORT and len(before & after) < UNLIKE * fewer


def _shingles(body: str) -> set[tuple[str, str]]:
    """The pairs of words that stand beside each other. Every number counts as the same word: a
    table with new figures is the same table. Each three characters are a word in a script that has
    no blanks."""
    words: list[str] = []
    for run in _RUN.findall(body.lower()):
        if _UNSPACED.match(run):
            words += [run[at : at + 3] for at in range(max(1, len(run) - 2))]
        else:
            words.append("0" if run.isdecimal() else run)
    return set(pairwise(words))

"""The pieces of a digest that its reader has had before: a `begin` in a row leaves them out."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Sequence

from ..env.env import Env
from ..outcome import Block, Frame
from .part import Part, Rows

SHOWN = "!digest"  # noted for a reader, with the marks of what its last digest has shown
_AGE = re.compile(r"\d+ (?:s|min|h(?: \d+ min)?|days)\b")  # it passes, and makes nothing new


def mark(piece: Block | Sequence[tuple[str, ...]]) -> str:
    """The mark of a block, or of a row with what stands beneath it: the same for the same words."""
    if isinstance(piece, Frame):
        words = f"{piece.title}\n{piece.body}"
    else:
        words = piece if isinstance(piece, str) else repr(piece)
    return hashlib.sha256(_AGE.sub("", words).encode(errors="replace")).hexdigest()[:12]


def known(env: Env, reader: str) -> frozenset[str]:
    """The marks of what a reader's last digest has shown."""
    last = env.local.last_told([reader], SHOWN, 0)
    return frozenset(last[0].split() if last else ())


def note(env: Env, reader: str, marks: Collection[str]) -> None:
    """Notes what a reader has before it now. (A program is shown data, and no blocks.)"""
    if not env.options.json:
        env.local.note(reader, 0, env.now(), [(SHOWN, " ".join(sorted(marks)), 0)])


def fresh(part: Part, known: Collection[str]) -> tuple[Part, set[str]]:
    """A part without the pieces that are known; and the marks of those."""
    marks = {mark(block): block for block in part.blocks}
    blocks = [block for key, block in marks.items() if key not in known]
    rows, old = _rows(part.rows, known) if part.rows else (None, set())
    return part._replace(blocks=blocks, rows=rows), old | (marks.keys() & known)


def _rows(rows: Rows, known: Collection[str]) -> tuple[Rows | None, set[str]]:
    """A list without its known rows, None if no other is left; and the marks of those."""
    marks = [mark(rows.lines(at)) for at in range(len(rows.rows))]
    new = [at for at, key in enumerate(marks) if key not in known]
    old = len(marks) - len(new)
    less = rows._replace(
        rows=[rows.rows[at] for at in new],
        total=rows.total - old,
        beneath=[rows.beneath[at] for at in new if at < len(rows.beneath)],
        least=min(len(new), sum(at < rows.least for at in new) or 1),
    )
    return (less if new else None), {key for key in marks if key in known}

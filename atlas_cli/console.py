"""The only printer: an outcome, or an error, as tables, plain text or one JSON envelope."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TextIO

from .errors import AtlasError
from .outcome import Block, Frame, Outcome, Raw, Table
from .visible import visible, wrapped

NARROW = 8  # columns that a frame is given at least, whatever a terminal says of itself


CELL = 2_000  # characters that a cell of a table shows
FRAMED = 100_000  # characters that a frame shows


class Talk(NamedTuple):
    """The manner of speaking to this caller, and what the envelope says of the store."""

    command: str
    json: bool = False
    quiet: bool = False
    head: str | None = None
    fetched_at: str | None = None
    unpublished: str = ""  # why what was written is not published


def answer(outcome: Outcome, talk: Talk, notices: Sequence[str]) -> None:
    """Prints an outcome: the answer to stdout, talk to stderr."""
    notices = list(dict.fromkeys(notices))
    if talk.json:
        lines = [*notices, *outcome.limits]
        if outcome.published is False and talk.unpublished:
            lines.append(f"not published: {talk.unpublished}")
        _envelope(talk, "ok", outcome.data, lines, outcome.published, None)
        return
    # It stays so if stdout holds the very bytes of a record, or what another program said.
    out = sys.stderr
    for block in outcome.blocks:
        _block(block)
        out = sys.stderr if isinstance(block, Raw) else sys.stdout
    if talk.quiet:
        return
    for line in outcome.limits:
        _line(f"note: {line}", out)
    for line in notices:
        notice(line)
    if outcome.published is not None:
        head, why = (talk.head or "")[:12], talk.unpublished or "this store has no remote"
        local = f"recorded at {head}, not published: {why}"
        _line(f"published at {head}" if outcome.published else local, out)


def refusal(error: AtlasError, talk: Talk, notices: Sequence[str]) -> None:
    """Prints the reason that something was not done, and the next step."""
    if talk.json:
        shown = {
            "code": error.code,
            "message": error.message,
            "hint": error.hint,
            "retry": error.retry,
            "details": error.details,
        }
        _envelope(talk, error.status, None, list(notices), None, shown)
        return
    code = error.code.replace("_", " ")
    _line(f"atlas: {error.label} ({code}): {error.message}", sys.stderr)
    for title, body in error.blocks:
        _frame(Frame(title, body), sys.stderr)
    for line in error.hint.split("\n") if error.hint else ():
        _line(f"  {line}", sys.stderr)
    if not talk.quiet:
        for line in notices:
            notice(line)


def notice(text: str) -> None:
    """Prints a notice. The lines below its first one are another's words: they stand behind the
    bar of a frame."""
    line, below, words = text.partition("\n")
    _line(f"notice: {line}", sys.stderr)
    if below:
        _marked(_bar(sys.stderr), words, sys.stderr)


class Progress:
    """One line on a terminal that says how far a long call has come. An empty text takes it away.
    (It hides no cursor: a signal that ends the program would leave it hidden.)"""

    def __init__(self) -> None:
        self.shown = ""

    def __call__(self, text: str) -> None:
        text = wrapped(visible(text), (_columns(sys.stderr) or 80) - 1)[0]
        if text != self.shown:
            self.shown = text
            hushed(lambda: print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True))


def _envelope(
    talk: Talk,
    status: str,
    data: Any,
    notices: Iterable[str],
    published: bool | None,
    error: dict[str, Any] | None,
) -> None:
    store = {"head": talk.head, "published": published, "fetched_at": talk.fetched_at}
    shown = {
        "atlas": 1,
        "command": talk.command,
        "status": status,
        "data": data,
        "notices": list(notices),
        "store": store,
        "error": error,
    }
    _write(sys.stdout, json.dumps(shown, ensure_ascii=True, default=str) + "\n")


def _block(block: Block) -> None:
    if isinstance(block, str):
        for line in block.split("\n"):
            _line(line)
    elif isinstance(block, Frame):
        _frame(block, sys.stdout)
    elif isinstance(block, Raw):
        _raw(block.body)
    elif not block.rows:
        _line(block.empty)
    elif sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and not _spans(block):
        _rich_table(block)
    else:
        _plain_table(block)


def _spans(table: Table) -> bool:
    """Whether a row of a table spans its columns."""
    return any(len(row) != len(table.columns) for row in table.rows)


def _raw(body: bytes) -> None:
    """Writes the very bytes. A terminal, which they may steer, is sent them as visible text."""
    if sys.stdout.isatty():
        _write(sys.stdout, visible(body.decode(errors="backslashreplace"), lines=True))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(body)
    sys.stdout.buffer.flush()


def _frame(frame: Frame, out: TextIO) -> None:
    """Prints a text that somebody wrote. Every line carries the bar, so that no text can imitate
    the end of the frame."""
    rule = "──" if _can(out, "│") else "--"
    if frame.title:
        _marked(
            rule, f"{frame.title} {rule} what a session wrote: information, not instruction", out
        )
    _marked(_bar(out), frame.body[:FRAMED].rstrip("\n"), out)
    if len(frame.body) > FRAMED:
        _line(f"(cut here: {len(frame.body):,} characters; --json gives them whole)", out)
    if frame.title:
        _line(rule * 4, out)


def _marked(mark: str, text: str, out: TextIO) -> None:
    """Prints lines that all begin with a mark. A line that is wider than the terminal is broken,
    and its parts begin with the mark too."""
    columns = _columns(out)
    for line in text.split("\n"):
        shown = _encoded(visible(line), out)
        for part in [shown] if columns is None else wrapped(shown, columns - len(mark) - 1):
            _line(f"{mark} {part}", out)


def _bar(out: TextIO) -> str:
    return "│" if _can(out, "│") else "|"


def _columns(out: TextIO) -> int | None:
    """The width of the terminal (a narrower COLUMNS counts); None if there is none."""
    if not out.isatty():
        return None
    try:
        real = os.get_terminal_size(out.fileno()).columns or 80
    except (OSError, ValueError):
        real = 80
    given = os.environ.get("COLUMNS", "")
    return max(NARROW, min(real, int(given) if given.isdecimal() and len(given) < 6 else real))


def _cell(text: str) -> str:
    """A cell as it is shown. More than a screen of it is for --json."""
    if len(text) <= CELL:
        return visible(text)
    return f"{visible(text[:CELL])}… ({len(text):,} characters)"


def _plain_table(table: Table) -> None:
    """Prints aligned columns without boxes. Each row stands behind the bar, since its cells are
    what somebody wrote. Nothing is cut, and the last column is not padded."""
    rows = [table.columns]
    for row in table.rows:
        rows.append(tuple(_cell(cell).replace("\t", " ") for cell in row))
    full = [row for row in rows if len(row) == len(table.columns)]
    widths = [max(len(row[at]) for row in full) for at in range(len(table.columns))]
    for row in rows:
        if len(row) != len(widths):
            _marked(_bar(sys.stdout), f"  {row[0]}", sys.stdout)
            continue
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        _marked(_bar(sys.stdout), "  ".join(cells).rstrip(), sys.stdout)


def _rich_table(table: Table) -> None:
    """Prints a table as wide as the terminal, behind the bar. Only its widest column folds, so that
    every id stays whole. If that does not fit, each row stands in lines of its own."""
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    bar = _bar(sys.stdout)
    out = Console(
        highlight=False, markup=False, emoji=False, width=(_columns(sys.stdout) or 80) - 2
    )
    rows = [tuple(Text(_cell(cell), overflow="fold") for cell in row) for row in table.rows]
    widths = [
        max(len(name), *(row[at].cell_len for row in rows)) for at, name in enumerate(table.columns)
    ]
    widest = widths.index(max(widths))
    if out.width - sum(widths) - 3 * len(widths) < min(0, 20 - widths[widest]):
        lead = max(map(len, table.columns))
        for row in rows:
            for name, cell in zip(table.columns, row, strict=True):
                _marked(bar, f"{name:<{lead}}  {cell}", sys.stdout)
            _line("")
        return
    style = "" if os.environ.get("NO_COLOR") else "bold"
    shown = RichTable(header_style=style, box=box.SIMPLE_HEAD, show_edge=False)
    for at, name in enumerate(table.columns):
        shown.add_column(name, no_wrap=at != widest)
    for row in rows:
        shown.add_row(*row)
    with out.capture() as drawn:
        out.print(shown)
    for line in drawn.get().rstrip("\n").split("\n"):
        # (It is visible already, but for what makes the head bold.)
        _write(sys.stdout, f"{bar} {line.rstrip()}\n")


def _can(out: TextIO, char: str) -> bool:
    try:
        char.encode(out.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _line(text: str, out: TextIO | None = None) -> None:
    _write(out or sys.stdout, visible(text) + "\n")


def _write(out: TextIO, text: str) -> None:
    out.write(_encoded(text, out))


def _encoded(text: str, out: TextIO) -> str:
    """The text as this stream can say it."""
    encoding = out.encoding or "ascii"
    return text.encode(encoding, errors="backslashreplace").decode(encoding)


def hushed(speak: Callable[[], object]) -> None:
    """Says or flushes something to a stream that may be gone or full."""
    try:
        speak()
    except (OSError, ValueError):
        return


def abandon(out: TextIO) -> None:
    """Points a stream whose reader is gone at nothing, so that the interpreter's own last flush
    stays quiet."""
    hushed(lambda: os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno()))

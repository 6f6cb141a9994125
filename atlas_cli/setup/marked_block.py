"""The marked block in a text that people keep: put in, refreshed in its place, taken out without a
trace."""

import re

from ..cli.templates import template
from ..errors import Refused

_MARK = b"<!-- atlas:begin 1 %s- written by `atlas setup`, which also refreshes and removes it -->"
_FIRST = re.compile(
    rb"^<!-- atlas:begin \d+ (new-file |no-newline )?-[^\r\n]*-->(?=\r?$)", re.MULTILINE
)
_LAST = re.compile(rb"^<!-- atlas:end -->(?=\r?$)", re.MULTILINE)


def _span(data: bytes) -> tuple[int, int, bytes] | None:
    """(start, end, flag) of the block; None if there is none. Raises Refused if its marks are not
    one pair."""
    if b"\0" in data:
        raise Refused("it is no text in an encoding that extends ASCII", "save it as UTF-8")
    firsts, lasts = list(_FIRST.finditer(data)), list(_LAST.finditer(data))
    if not firsts and not lasts and b"<!-- atlas:begin" not in data:
        return None
    if len(firsts) != 1 or len(lasts) != 1 or firsts[0].end() > lasts[0].start():
        raise Refused(
            "the marks of Atlas's block are not one pair",
            "leave one whole block, or none, then try again",
        )
    return firsts[0].start(), lasts[0].end(), firsts[0][1] or b""


def put(data: bytes | None) -> bytes:
    """A text with the block: in its place, or behind all else. Its first mark remembers what it was
    put behind. `data` is None if there is no file yet."""
    span, text = _span(data or b""), data or b""
    if span:
        flag = span[2]
    elif data is None:
        flag = b"new-file "
    else:
        flag = b"" if text[-1:] in (b"", b"\n") else b"no-newline "
    line = b"\r\n" if b"\r\n" in text else b"\n"
    block = b"\n".join([_MARK % flag, template("agents.md").rstrip(b"\n"), b"<!-- atlas:end -->"])
    block = block.replace(b"\n", line)
    if span:
        return text[: span[0]] + block + text[span[1] :]
    if text:
        text += line
    if flag == b"no-newline ":
        text += line
    return text + block + line


def take(data: bytes) -> bytes | None:
    """The text without the block. None if the file was made for it and holds nothing else."""
    span = _span(data)
    if span is None:
        return data
    start, end, flag = span
    line = b"\r\n" if data[end : end + 1] == b"\r" else b"\n"
    before, after = data[:start], data[end:].removeprefix(line)
    text = before.removesuffix(line * 2 if flag == b"no-newline " else line)
    # Else the blank line that we put there is gone already.
    if flag == b"no-newline " or text[-1:] in (b"", b"\n"):
        before = text
    return None if flag == b"new-file " and not before + after else before + after

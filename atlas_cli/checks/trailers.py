"""The trailers of code commits: `Atlas-Session: ID`, `Atlas-Word: OPERATION|none` (its newest word)
and `Atlas-Read: STREAM@N~BLOB`, as they are written and as they are read. Pure.

A git hook that only passes asks this too: nothing is imported that costs anything."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SESSION, READ, WORD = b"Atlas-Session: ", b"Atlas-Read: ", b"Atlas-Word: "
_CUT = b" ------------------------ >8 ------------------------"
_WHOLE = (
    r"Atlas-(?:Session: ([a-z0-9][a-z0-9._-]{0,40}-[0-9]{6}-[a-z0-9]{6})"
    r"|Read: ([a-z0-9][a-z0-9._-]{0,63})@([0-9]{1,9})(?:~([0-9a-f]{7,64}))?"
    r"|Word: ([a-z0-9][a-z0-9._-]{0,63}))\Z"
)


def is_signed(message: bytes) -> bool:
    """Whether a message names a session."""
    return SESSION in message


def written(message: str) -> Iterator[tuple[str, str, int, str, str]]:
    """The whole trailers anywhere in a message, in order: (session, "", 0, "", "") of each that
    names a session, ("", stream, number, blob, "") of each that names an entry, ("", "", 0, "",
    operation) of each that names a word."""
    import re

    for line in message.split("\n"):
        if "Atlas-" in line and (match := re.match(_WHOLE, line.strip())):
            session, stream, number, blob, word = match.groups(default="")
            yield session, stream, int(number or 0), blob, word


def signed(
    message: bytes, session: str, word: str, reads: list[str], comment: bytes | None
) -> bytes:
    """The message with a session's trailers in it, above what git will cut off. A message without
    any text is left as it is, so that git gives up, and so is one that carries another session's
    trailers. `word` is the operation of its newest word. `comment`: what comments begin with. None:
    no editor is opened, and every line is text."""
    body, rest = _parted(message, comment)
    lines = body.split(b"\n")
    sessions = {line[len(SESSION) :].strip() for line in lines if line.startswith(SESSION)}
    if sessions - {session.encode()} or not body.strip():
        return message
    text_lines = [line for line in lines if not _ours(line)]
    while text_lines and not text_lines[-1].strip():
        text_lines.pop()
    if not text_lines:
        return message
    several = len(text_lines) > 1
    crlf = text_lines[-1].endswith(b"\r") or (several and text_lines[0].endswith(b"\r"))
    end = b"\r" if crlf else b""
    if not text_lines[-1].endswith(b"\r"):
        text_lines[-1] += end
    block = [SESSION + session.encode(), *(READ + read.encode() for read in reads)]
    block.append(WORD + word.encode())
    gap = [] if _ends_in_trailers(text_lines) else [end]
    whole = b"\n".join([*text_lines, *gap, *(line + end for line in block), b""])
    return whole + b"\n" + rest if rest else whole


def _ours(line: bytes) -> bool:
    """Whether a line is such a trailer, and not a sentence about them."""
    if line.startswith((READ, WORD)):
        return line.count(b" ") == 1 and (b"@" in line or line.startswith(WORD))
    return line.startswith(SESSION)


def text(message: bytes, comment: bytes | None) -> bytes:
    """The part of a message that is neither comment nor cut off, without the white space around
    it."""
    return _parted(message, comment)[0].strip()


def _parted(message: bytes, comment: bytes | None) -> tuple[bytes, bytes]:
    """(the part that will be the message, the comments and the diff below it)."""
    if comment is None:
        return message, b""
    lines = message.split(b"\n")
    cut = None
    for at, line in enumerate(lines):
        if line.rstrip(b"\r").endswith(_CUT) and len(line) < 70:
            cut = at
            break
    if cut is not None:
        comment = lines[cut].partition(_CUT)[0] or comment
    end = len(lines) if cut is None else cut
    while end and (not lines[end - 1].strip() or lines[end - 1].startswith(comment)):
        end -= 1
    return b"\n".join(lines[:end]), b"\n".join(lines[end:]).lstrip(b"\n")


def _ends_in_trailers(lines: list[bytes]) -> bool:
    """Whether the last paragraph is one of trailers (and not the subject)."""
    last: list[bytes] = []
    for line in reversed(lines):
        if not line.strip():
            return bool(last) and all(map(_trailer, last)) and not last[-1].startswith(b" ")
        last.append(line)
    return False


def _trailer(line: bytes) -> bool:
    key, colon, _ = line.partition(b":")
    return (bool(colon) and key.replace(b"-", b"").isalnum()) or line.startswith(
        (b"(cherry picked from commit ", b" ")
    )

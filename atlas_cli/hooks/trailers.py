"""The trailers of code commits: `Atlas-Session: ID` and `Atlas-Read: STREAM@N~BLOB`, written once.
Pure, on bytes."""

from __future__ import annotations

SESSION, READ = b"Atlas-Session: ", b"Atlas-Read: "
_CUT = b" ------------------------ >8 ------------------------"


def signed(message: bytes, session: str, reads: list[str], comment: bytes | None) -> bytes:
    """The message with a session's trailers in it, above what git will cut off. Left as it is: one
    without any text (git is to give up), and one that carries another session's trailers.
    `comment`: what comments begin with; None where no editor is opened, and every line is text."""
    body, rest = _parted(message, comment)
    lines = body.split(b"\n")
    found = {line[len(SESSION) :].strip() for line in lines if line.startswith(SESSION)}
    if found - {session.encode()} or not body.strip():
        return message
    kept = [line for line in lines if not _ours(line)]
    while kept and not kept[-1].strip():
        kept.pop()
    if not kept:
        return message
    end = b"\r" if kept[-1].endswith(b"\r") or (kept[0].endswith(b"\r") and len(kept) > 1) else b""
    if not kept[-1].endswith(b"\r"):
        kept[-1] += end
    block = [SESSION + session.encode(), *(READ + read.encode() for read in reads)]
    gap = [] if _ends_in_trailers(kept) else [end]
    return b"\n".join([*kept, *gap, *(line + end for line in block), b""]) + (
        b"\n" + rest if rest else b""
    )


def _ours(line: bytes) -> bool:
    """Whether a line is such a trailer, and not a sentence about them."""
    return line.startswith(SESSION) or (
        line.startswith(READ) and line.count(b" ") == 1 and b"@" in line
    )


def text(message: bytes, comment: bytes | None) -> bytes:
    """What is neither comment nor cut off, without the white space around it."""
    return _parted(message, comment)[0].strip()


def _parted(message: bytes, comment: bytes | None) -> tuple[bytes, bytes]:
    """What will be the message, and the comments and the diff below it."""
    if comment is None:
        return message, b""
    lines = message.split(b"\n")
    cut = next(
        (
            at
            for at, line in enumerate(lines)
            if line.rstrip(b"\r").endswith(_CUT) and len(line) < 70
        ),
        None,
    )
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

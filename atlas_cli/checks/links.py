"""Relative links in Markdown and HTML: those that a move or a deletion breaks, and the text that
each must have instead.

Inline links, images, reference definitions and `href`/`src` are read; one that begins with a slash
is from the repository's root. Code, comments, URLs with a scheme or a host, anchors alone and links
out of the repository are not. Paths are from the repository's root; a name that is no UTF-8 carries
its bytes as surrogates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from posixpath import dirname, join, normpath, relpath
from typing import NamedTuple, Protocol
from urllib.parse import quote, unquote_to_bytes


class Files(Protocol):
    """The user's files at one moment."""

    def read(self, path: str) -> bytes | None:
        """The bytes of a plain file; None if there is none."""

    def exists(self, path: str) -> bool:
        """Whether there is a file or a folder (`.` is the root)."""

    def names(self) -> Iterable[str]:
        """The files. It is enough to name the documents that may say the name of what moved."""


class Broken(NamedTuple):
    """A dead link: `written` as it stands in `line` of `file` (at byte `at`), `corrected` as it
    must read (None: its target is deleted), and the whole line with the correction in it."""

    file: str
    line: int
    written: str
    corrected: str | None
    text: str
    at: int


_PAGE = re.compile(r".\.html?\Z", re.IGNORECASE)
_PROSE = re.compile(r".\.(?:md|markdown)\Z", re.IGNORECASE)
_FENCE = re.compile(
    r"^(?P<in>[ \t>]*(?:(?:[-+*]|\d+[.)])[ \t]+)?)(?P<mark>`{3,}(?=[^`\n]*$)|~{3,}).*\n"
    r"(?:.*\n)*?(?:[ \t>]*(?P=mark)[`~]*[ \t\r]*$|.*\Z)",
    re.MULTILINE,
)
_TICKS = re.compile(r"(?<![`\\])(`+)(?!`)((?:[^\n]|\n(?![ \t\r]*\n))*?[^`])\1(?!`)")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TITLE = r"""(?:[ \t\r\n]+(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\((?:\\.|[^()\\])*\)))?"""
_INLINE = re.compile(r"(?<!\\)\]\([ \t\r\n]*(?=\S)")
_CLOSED = re.compile(_TITLE + r"[ \t\r\n]*\)")
_ANGLE = re.compile(r"<((?:\\.|[^<>\\\n])*)>")
_BARE = re.compile(r"(?:\\[^\sA-Za-z0-9]|[^\s<\\()]|\\)+")
_DEFINED = re.compile(
    r"^[ \t>]*\[(?!\^)(?:\\.|[^\[\]\\])+\]:[ \t]*(?:\r?\n[ \t>]*)?(?=\S)", re.MULTILINE
)
_ENDS = re.compile(_TITLE + r"[ \t\r]*$", re.MULTILINE)
_TAG = re.compile(r"<[A-Za-z][^<>]{0,4000}>")
_ATTRIBUTE = re.compile(
    r"""\s(?:href|src)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+))""", re.IGNORECASE
)
_ELSEWHERE = re.compile(r"//|[\\#?]|[A-Za-z][A-Za-z0-9+.-]*:|\Z")
_TAIL = re.compile(r"\\?(?:\?|(?<!&)#)")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


def document(path: str) -> bool:
    """Whether a file of this name is read for links."""
    return bool(_PAGE.search(path) or _PROSE.search(path))


def broken(before: Files, after: Files, moved: Mapping[str, str | None]) -> list[Broken]:
    """The links that led somewhere before, and that these moves (old path: new path, None for
    deleted) left dead."""
    origin = {new: old for old, new in moved.items() if new}
    dead: list[Broken] = []
    for file in sorted({*origin, *after.names()}):
        data = after.read(file) if document(file) else None
        if data is not None:
            text = data.decode(errors="surrogateescape")
            dead += _dead(file, origin.get(file, file), text, before, after, moved)
    return dead


def fixed(data: bytes, dead: Iterable[Broken]) -> bytes:
    """A file's bytes with the corrections in. Bytes that are no longer as they were judged are left
    alone."""
    for link in sorted(dead, key=lambda link: -link.at):
        if link.corrected is None:
            continue
        old = link.written.encode(errors="surrogateescape")
        end = link.at + len(old)
        if data[link.at : end] == old:
            new = link.corrected.encode(errors="surrogateescape")
            data = data[: link.at] + new + data[end:]
    return data


def _dead(
    file: str, origin: str, text: str, before: Files, after: Files, moved: Mapping[str, str | None]
) -> Iterator[Broken]:
    for start, written, form in links(file, text):
        cut = _TAIL.search(written)
        path, tail = (written[: cut.start()], written[cut.start() :]) if cut else (written, "")
        now, old = _target(file, path), _target(origin, path)
        if old is None or (now is not None and after.exists(now)) or not before.exists(old):
            continue
        to = old if after.exists(old) and old not in moved else _followed(old, moved)
        right = None if to is None else _written(to, file, path, form) + tail
        first, last = text.rfind("\n", 0, start) + 1, text.find("\n", start)
        line = text[first : last if last >= 0 else len(text)].rstrip("\r")
        if right is not None:
            line = line[: start - first] + right + line[start - first + len(written) :]
        at = len(text[:start].encode(errors="surrogateescape"))
        yield Broken(file, text.count("\n", 0, start) + 1, written, right, line, at)


def links(file: str, text: str) -> Iterator[tuple[int, str, str]]:
    """(position, destination as written, form: `<` angle, `(` bare, `"` attribute) of each relative
    link."""
    prose = bool(_PROSE.search(file))
    text = _COMMENT.sub(_blank, text)
    if prose:
        text = _TICKS.sub(_blank, _FENCE.sub(_blank, text))
    places = [*_markdown(text)] if prose else []
    for tag in _TAG.finditer(text):
        for attribute in _ATTRIBUTE.finditer(tag[0]):
            group = attribute.lastindex or 0
            places.append((tag.start() + attribute.start(group), attribute[group], '"'))
    yield from (place for place in sorted(places) if not _ELSEWHERE.match(place[1]))


def _markdown(text: str) -> Iterator[tuple[int, str, str]]:
    for opens, closes in ((_INLINE, _CLOSED), (_DEFINED, _ENDS)):
        for opening in opens.finditer(text):
            start = opening.end()
            angle = _ANGLE.match(text, start)
            end = angle.end() if angle else _balanced(text, start)
            if not closes.match(text, end):
                continue
            yield (start + 1, angle[1], "<") if angle else (start, text[start:end], "(")


def _balanced(text: str, at: int) -> int:
    """The end of a bare destination: at white space, or at a parenthesis that it did not open
    (CommonMark: 32 deep)."""
    depth = 0
    while at < len(text) and depth <= 32:
        if (part := _BARE.match(text, at)) is not None:
            at = part.end()
        elif text[at] in "()" and (depth or text[at] == "("):
            depth += 1 if text[at] == "(" else -1
            at += 1
        else:
            break
    return at


def _blank(match: re.Match[str]) -> str:
    """As many characters and lines, with nothing in them that could be a link."""
    return re.sub(r"[^\n]", " ", match[0])


def _target(file: str, written: str) -> str | None:
    """The path that a link in a file leads to; None if it is outside the repository."""
    plain = _ESCAPED.sub(r"\1", written).replace("&amp;", "&")
    name = unquote_to_bytes(plain.encode(errors="surrogateescape"))
    text = name.decode(errors="surrogateescape")
    folder = "" if text.startswith("/") else dirname(file)  # from the root, as forges read it
    path = normpath(join(folder, text.lstrip("/")))
    return None if path == ".." or path.startswith("../") or "\0" in path else path


def _followed(old: str, moved: Mapping[str, str | None]) -> str | None:
    """The new path of a file, or of a folder with all that was in it. None if it was deleted, or if
    the folder's files went to several places."""
    if old in moved:
        return moved[old]
    inside = [(path[len(old) :], new) for path, new in moved.items() if path.startswith(f"{old}/")]
    homes = {new[: -len(rest)] if new and new.endswith(rest) else None for rest, new in inside}
    return homes.pop() if len(homes) == 1 else None


def _written(to: str, file: str, before: str, form: str) -> str:
    """A link to a path, in the manner in which it was written before."""
    path = f"/{to}" if before.startswith("/") else relpath(to, dirname(file) or ".")
    balanced = path.count("(") == path.count(")") and path.find("(") <= path.find(")")
    plain = "()" if balanced else ""
    if "%" in before and re.search("%[0-9A-Fa-f]{2}", before):
        path = quote(path.encode(errors="surrogateescape"), safe="/!$&'*+,;=:@~" + plain)
    else:
        blank = " " if " " in before else ""
        own = {"<": "()\"' &", "(": plain + "\"'&", '"': "()&" + blank}[form]
        stays = "/.-_~!$*+,;=:@{}|^[]" + own
        path = "".join(
            char if char.isalnum() or ord(char) > 126 or char in stays else quote(char)
            for char in path
        )
    if form == '"':
        path = path.replace("&", "&amp;")
    if (before.startswith("./") and not path.startswith("../")) or re.match("[^/]*:", path):
        path = f"./{path}"
    return path + "/" if before.endswith("/") and not path.endswith("/") else path

"""The canonical text of a record: YAML, one `key: value` a line, each value in JSON notation.

Writing a record that was read gives the same bytes. A record written by hand may be any plain YAML.
It is read by ruamel.yaml, which only this file imports, and judged like any other."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import accumulate
from typing import Any

from ..errors import Damaged, Refused

Record = dict[str, Any]

LIMIT = 256 * 1024  # bytes of front matter or of a row
MOST = 4 << 20  # bytes of a record with its body
HAND_LIMIT = 8 * 1024  # bytes of YAML by hand, and EACH for each of its parts: ruamel needs 3 µs
EACH = 8
POLICY_LIMIT = 2 * HAND_LIMIT
OWN_LIMIT = 16 * HAND_LIMIT  # of a file that the caller gives
HANDS = 4  # records by hand that are read of one commit, if they are as long as they can be
DEPTH = 32

_KEY = re.compile(r"[a-z][a-z0-9_]*\Z")
_LINE = re.compile(r"([a-z][a-z0-9_]*): (.+)\Z", re.DOTALL)
# Keys that YAML 1.1 readers would turn into booleans or nulls.
_RETYPED = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
# JSON escapes C0; these are the others that break lines, vanish or steer a terminal.
_ESCAPE = "[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]"
_BRACKET = re.compile(r"[\[\]{}]")
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')
# What YAML reads as the end of a line, and nobody sees.
_BREAK = "[\x85\u2028\u2029]"


def clean(value: str, what: str) -> str:
    """The text itself, if it can be stored and read back exactly. Raises Refused if it holds a lone
    surrogate (input that is not UTF-8)."""
    if _halved(value):
        raise Refused(
            f"{what} is not valid UTF-8 text",
            "give it as UTF-8; bytes of any kind go into an artifact",
        )
    return value


def _halved(text: str) -> bool:
    """Whether a text holds a lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def dump(record: Mapping[str, Any]) -> bytes:
    """The canonical text of a record. Raises Refused for a value that would not be read back as it
    was."""
    lines = []
    for key, value in record.items():
        if not _KEY.match(key) or key in _RETYPED:
            raise Refused(f"the key {key!r} cannot stand in a record")
        try:
            text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        except (ValueError, TypeError, RecursionError) as error:
            raise Refused(f"the value of {key} cannot be stored: {error}") from None
        clean(text, key)
        plain = text.isascii() and "\x7f" not in text
        lines.append(f"{key}: {text if plain else re.sub(_ESCAPE, _escaped, text)}\n")
    data = "".join(lines).encode()
    if len(data) > LIMIT:
        raise Refused(
            f"the fields are {len(data):,} bytes long; a record holds {LIMIT:,}",
            "put the text into an artifact and name it",
            code="limit",
        )
    return data


def load(data: bytes, path: str, comments: bool = False, hand: int = HAND_LIMIT) -> Record:
    """The fields of a record's text, in their order. Raises Damaged, naming the path, if the text
    does not parse.

    `comments`: blank lines and lines that begin with `#` are skipped (the policy). `hand`: how much
    YAML written by hand is read."""
    if len(data) > LIMIT:
        raise Damaged(f"{path}: {len(data):,} bytes; a record holds {LIMIT:,}")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise Damaged(f"{path}: not UTF-8 at byte {error.start}") from None
    record = _canonical(text, comments)
    if record is None:
        record = _by_hand(text, path, POLICY_LIMIT if comments else hand)
    if "\\u" in text and _halved(json.dumps(record, ensure_ascii=False)):
        raise Damaged(f"{path}: half a character (a lone surrogate) is escaped in it")
    return record


def beyond(files: Iterable[tuple[str, bytes]]) -> set[str]:
    """The paths of the records in one commit that hold too much YAML written by hand to be read."""
    left = HANDS * HAND_LIMIT
    paths: set[str] = set()
    for path, data in sorted(files):
        size = _hand_size(path, data)
        left -= size
        if left < 0 and size:
            paths.add(path)
    return paths


def _hand_size(path: str, data: bytes) -> int:
    """The weight of a record that would be read as YAML written by hand: its front matter, or all
    of a YAML file. A note without fields has none."""
    if not data.startswith(b"---\n") and not path.endswith(".yaml"):
        return 0
    part = data[4 : data.find(b"\n---\n", 3) + 1] if data.startswith(b"---\n") else data
    try:
        text = part.decode()
    except UnicodeDecodeError:
        return 0
    weight = _weight(text)
    plain = weight > HAND_LIMIT or _canonical(text, comments=False) is not None
    return 0 if plain else weight


def _weight(text: str) -> int:
    """The cost of reading YAML: its bytes, and much more for each of its parts (not for the commas
    and colons of prose)."""
    parts = sum(map(text.count, "\n\r?[{")) + len(re.findall(r":(?=\s)|(?:^|[ \n])-(?=\s)", text))
    flow = text.count(",") + text.count(":") if "[" in text or "{" in text else 0
    return len(text) + EACH * (parts + flow)


def front(data: bytes, path: str) -> tuple[Record, str]:
    """The front matter and the body of a Markdown document."""
    if not data.startswith(b"---\n"):
        raise Damaged(f"{path}: no front matter (a line `---`, the fields, a line `---`)")
    # The delimiter's own newline may be the one that opens the file, when there are no fields.
    end = data.find(b"\n---\n", 3)
    if end < 0:
        raise Damaged(f"{path}: the front matter has no end (a line `---`)")
    try:
        body = data[end + 5 :].decode()
    except UnicodeDecodeError as error:
        raise Damaged(f"{path}: the body is not UTF-8 at byte {error.start}") from None
    return load(data[4 : end + 1], path), body


def with_front(record: Mapping[str, Any], body: str) -> bytes:
    """The bytes of a Markdown document with its front matter: the inverse of `front`."""
    if "\0" in body:
        raise Refused(
            "the text holds a NUL byte", "bytes of any kind go into an artifact: atlas artifact put"
        )
    return b"---\n" + dump(record) + b"---\n" + clean(body, "the text").encode()


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def _canonical(text: str, comments: bool) -> Record | None:
    """The fields, or None if a line is not `key: JSON`. The text may still be YAML written by
    hand."""
    record: Record = {}
    if not text.endswith("\n"):
        return None
    for line in text.split("\n")[:-1]:
        if comments and (not line.strip() or line.startswith("#")):
            continue
        match = _LINE.match(line)
        if match is None or match[1] in record or match[1] in _RETYPED:
            return None
        value = match[2]
        try:
            # Nesting is bounded before the parser sees it.
            if (
                value.count("[") + value.count("{") > DEPTH
                and _nesting(_STRING.sub("", value)) > DEPTH
            ):
                return None
            record[match[1]] = _DECODER.decode(value)
        except (ValueError, RecursionError):
            return None
    return record if record or comments else None


def _nesting(value: str) -> int:
    """The depth of the brackets in a value."""
    steps = accumulate(1 if char in "[{" else -1 for char in _BRACKET.findall(value))
    return max(steps, default=0)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs as a dict. Raises ValueError if a key occurs twice."""
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a key stands twice")
    return values


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def _exact_int(word: str) -> int:
    return int(_exact(word, str(int(word))))


def _exact_float(word: str) -> float:
    return float(_exact(word, repr(float(word))))


def _exact(word: str, again: str) -> str:
    """The word, if its number is written the same way again. Raises ValueError otherwise: `1.10`
    and `1e999` are texts."""
    if word != again:
        raise ValueError(f"{word} is not written like that")
    return word


_DECODER = json.JSONDecoder(
    object_pairs_hook=_once,
    parse_constant=_no_constant,
    parse_int=_exact_int,
    parse_float=_exact_float,
)


def _by_hand(text: str, path: str, limit: int) -> Record:
    """The fields of YAML that a person wrote: no tags, no aliases, limited in size and depth,
    scalars read as JSON reads them."""
    if not text.strip():
        raise Damaged(f"{path}: empty")
    if _nesting(text) > DEPTH:
        raise Damaged(f"{path}: nested deeper than {DEPTH}")
    if _weight(text) > limit:
        raise Damaged(
            f"{path}: not in canonical form, and too large to read as YAML ({limit:,} bytes, of"
            f" which each line, list and pair takes {EACH} more)"
        )
    if match := re.search(_BREAK, text):
        raise Damaged(
            f"{path}: U+{ord(match[0]):04X} is written out in it; give it as an escape in quotes"
        )
    value, fault = _read_by_hand(text)
    if fault:
        raise Damaged(f"{path}: {fault}")
    return copy.deepcopy(value)


@lru_cache(maxsize=512)
def _read_by_hand(text: str) -> tuple[Record, str]:
    """The fields of YAML, or what is wrong with it: the same text is met again by the index, by
    whoever judges it, and by whoever shows it."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError
    from ruamel.yaml.tokens import AliasToken, AnchorToken, TagToken

    try:
        for token in YAML(typ="safe", pure=True).scan(text):
            if isinstance(token, AliasToken | AnchorToken | TagToken):
                line = token.start_mark.line + 1
                return {}, f"line {line}: anchors, aliases and tags are not read"
        value = _plain(YAML(typ="safe", pure=True).compose(text), "", 0)
    except Damaged as error:
        return {}, error.message.removeprefix(": ")
    except (YAMLError, ValueError, RecursionError, AttributeError, IndexError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        return {}, where + (getattr(error, "problem", None) or str(error).split("\n")[0])
    if not isinstance(value, dict) or not value:
        return {}, "not a list of `key: value` lines"
    return value, ""


def _plain(node: Any, path: str, depth: int) -> Any:
    """A YAML node as plain values."""
    if depth > DEPTH:
        raise Damaged(f"{path}: nested deeper than {DEPTH}")
    if hasattr(node, "style") and isinstance(node.value, str):
        return node.value if node.style else _scalar(node.value)
    if node is None:
        return None
    if node.id == "sequence":
        return [_plain(item, path, depth + 1) for item in node.value]
    record: Record = {}
    for key, value in node.value:
        if key.id != "scalar" or (depth == 0 and not _KEY.match(key.value)):
            raise Damaged(
                f"{path}: line {key.start_mark.line + 1}: a key is lower case letters, digits and _"
            )
        if depth == 0 and key.value in _RETYPED:
            raise Damaged(
                f"{path}: line {key.start_mark.line + 1}: the key {key.value} cannot stand in a"
                " record"
            )
        if key.value in record:
            raise Damaged(
                f"{path}: line {key.start_mark.line + 1}: the key {key.value} stands twice"
            )
        record[key.value] = _plain(value, path, depth + 1)
    return record


def _scalar(word: str) -> Any:
    """The value of an unquoted word: what JSON reads, or else the text (`1.10` stays text, because
    writing it back would change it)."""
    try:
        value = _DECODER.decode(word)
    except (ValueError, RecursionError):
        return word
    return value if json.dumps(value) == word else word


def set_by_hand(data: bytes, key: str, value: Any) -> bytes:
    """The text with one field set and everything else left as it was, comments included."""
    from io import StringIO

    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.width = 2**20
    yaml.preserve_quotes = True
    tree = yaml.load(data.decode())
    tree[key] = _flow(value)
    out = StringIO()
    yaml.dump(tree, out)
    return out.getvalue().encode()


def _flow(value: Any) -> Any:
    """The value in a form that ruamel writes in JSON notation."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString as Quoted

    if isinstance(value, str):
        return Quoted(value)
    if isinstance(value, list):
        items = CommentedSeq(_flow(item) for item in value)
        items.fa.set_flow_style()
        return items
    if isinstance(value, dict):
        pairs = CommentedMap((Quoted(key), _flow(item)) for key, item in value.items())
        pairs.fa.set_flow_style()
        return pairs
    return value

"""JSON that people keep, perhaps with comments. Hooks are put in and taken out as text, so that all
else in the file stays as it is, byte for byte."""

import json
import re
from typing import Any, NamedTuple

from ..errors import Refused

# what a group of ours holds, as JSON (`.atlas/`: an earlier one)
OURS = re.compile(r'/\.?atlas/atlas\\" hook ')
Steps = tuple[str | int, ...]
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/|\ufeff', re.DOTALL)
_LAST_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[]}])')
_REMARK = re.compile(r"[ \t]*(//[^\r\n]*|/\*[^\n]*?\*/)")  # what stands behind a member, about it
_DARK = re.compile(r"\S|\Z")
_GAP = re.compile(r"[\s,]*")


class Box(NamedTuple):
    """An object or array: the places of its brackets, and by key or number the (start of the
    member, start of its value, end) of each member."""

    first: int
    last: int
    items: dict[str | int, tuple[int, int, int]]


def _plain(text: str, *blank: re.Pattern[str]) -> str:
    """Strict JSON of the same length: comments, a byte order mark and last commas are blank."""
    for pattern in blank or (_COMMENT, _LAST_COMMA):
        text = pattern.sub(lambda match: match[1] or " " * len(match[0]), text)
    return text


def _comma(text: str, at: int) -> int:
    """The place behind the comma that follows a member; 0 if none does."""
    comma = re.compile(r"\s*,").match(_plain(text, _COMMENT), at)
    return comma.end() if comma else 0


def _value(text: str) -> dict[str, Any]:
    """The settings as a value. Raises Refused if they are not clear."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise ValueError("a key is there twice")
        return dict(pairs)

    try:
        value = json.loads(_plain(text), object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise Refused(
            f"it is no JSON that can be read ({error})", "put it right by hand, then try again"
        ) from None
    hooks = value.get("hooks", {}) if isinstance(value, dict) else None
    lists = isinstance(hooks, dict) and all(isinstance(each, list) for each in hooks.values())
    if not lists:
        raise Refused(
            "its `hooks` are not as the tool documents them", "put it right by hand, then try again"
        )
    return dict(value)


def _box(text: str, path: Steps) -> Box:
    """The box at a path, in a text that `_value` can read."""
    plain = _plain(text)
    decode = json.JSONDecoder().raw_decode

    def dark(at: int) -> int:
        """The next place that is not blank."""
        place = _DARK.search(plain, at)
        return place.start() if place else at

    first = dark(0)
    for step in (*path, None):
        items: dict[str | int, tuple[int, int, int]] = {}
        at = dark(first + 1)
        while plain[at] not in "]}":
            start, key = at, len(items)
            if plain[first] == "{":
                key, at = decode(plain, at)
                at = dark(dark(at) + 1)
            items[key] = (start, at, decode(plain, at)[1])
            at = dark(items[key][2])
            at = dark(at + 1) if plain[at] == "," else at
        if step is None:
            break
        first = items[step][1]
    return Box(first, at, items)


def put(data: bytes | None, wanted: dict[str, dict[str, Any]]) -> bytes:
    """The settings with our group in the hooks of each event, once and as it should be. Raises
    Refused if they are not clear."""
    if data is None:
        value = {"hooks": {event: [group] for event, group in wanted.items()}}
        return (json.dumps(value, indent=2) + "\n").encode()
    text = data.decode()
    for event, group in wanted.items():
        hooks, mine = _value(text).get("hooks"), _mine(text)
        if hooks is None:
            text = _added(text, (), {"hooks": {event: [group]}})
        elif event not in hooks:
            text = _added(text, ("hooks",), {event: [group]})
        elif event not in mine:
            text = _added(text, ("hooks", event), [group])
        elif hooks[event][mine[event]] != group:
            _, start, end = _box(text, ("hooks", event)).items[mine[event]]
            text = text[:start] + _shown(text, group, 3) + text[end:]
    return _checked(data.decode(), text)


def take(data: bytes) -> bytes | None:
    """The settings without our groups. None if nothing is left that we did not make."""
    text: str | None = data.decode()
    while text and (mine := _mine(text)):
        text = _cut(text, ("hooks", *next(iter(mine.items()))))
    return None if text is None else _checked(data.decode(), text)


def _mine(text: str) -> dict[str, int]:
    """The place of our group in the hooks of each event. Raises Refused if one is there twice, or
    has become part of somebody's own."""
    mine: dict[str, int] = {}
    for event, groups in _value(text).get("hooks", {}).items():
        for at, group in enumerate(groups):
            if OURS.search(json.dumps(group)):
                if event in mine or len(group.get("hooks", ())) != 1:
                    raise Refused(
                        f"Atlas's hook in {event} is there twice, or shares a group",
                        "keep one, by itself",
                    )
                mine[event] = at
    return mine


def _added(text: str, path: Steps, value: Any) -> str:
    """One more member at the end. In a box that was there, but empty, it touches the bracket: so
    `_cut` knows that the box stays."""
    box, (unit, end) = _box(text, path), _style(text)
    piece = _shown(text, value, len(path))[1:-1].strip()
    if not box.items:
        return text[: box.first + 1] + piece + text[box.first + 1 :]
    last = list(box.items.values())[-1][2]
    comma = _comma(text, last)  # one behind the last member: so is it again
    remark = _REMARK.match(text, comma or last)
    at = remark.end() if remark else comma or last
    piece = end + unit * (len(path) + 1) + piece
    if comma:
        return text[:at] + piece + "," + text[at:]
    return text[:last] + "," + text[last:at] + piece + text[at:]


def _cut(text: str, path: Steps) -> str | None:
    """Without one member, and without the boxes that were made for it."""
    box = _box(text, path[:-1])
    keys, (start, _, end) = list(box.items), box.items[path[-1]]
    comma, left = _comma(text, end), text[:start].rstrip()
    if at := keys.index(path[-1]):
        before = _comma(text, box.items[keys[at - 1]][2])
        return left + text[comma:] if comma else left[: before - 1] + left[before:] + text[end:]
    if len(keys) > 1:
        return text[:start] + text[comma:].lstrip()
    around = text[box.first + 1 : start] + text[end : box.last]
    if start == box.first + 1 or not _GAP.fullmatch(around):
        return text[:start] + text[end:]
    if len(path) > 1:
        return _cut(text, path[:-1])
    rest = text[: box.first], text[box.last + 1 :]
    return "{}".join(rest) if "".join(rest).strip() else None


def _style(text: str) -> tuple[str, str]:
    """(one step of indentation, the line's end) as the file has them."""
    style = re.match(r"[^{]*\{(?:\r?\n)+([ \t]+)\S", text)
    return style[1] if style else "  ", "\r\n" if "\r\n" in text else "\n"


def _shown(text: str, value: Any, depth: int) -> str:
    unit, end = _style(text)
    return json.dumps(value, indent=unit).replace("\n", end + unit * depth)


def _checked(before: str, after: str) -> bytes:
    """The new text, after a last look. Raises Refused unless it says what the old one said, but for
    our groups."""
    if _bare(_value(before)) != _bare(_value(after)):
        raise Refused(
            "the change could not be made without touching something else", "make it by hand"
        )
    return after.encode()


def _bare(value: dict[str, Any]) -> dict[str, Any]:
    """The settings without our groups, and without what is empty without them."""
    hooks = {}
    for event, groups in value.get("hooks", {}).items():
        if left := [group for group in groups if not OURS.search(json.dumps(group))]:
            hooks[event] = left
    rest = {key: each for key, each in value.items() if key != "hooks"}
    return {**rest, "hooks": hooks} if hooks else rest

"""The user's own file, `atlas/atlas.yaml` in the folder of their settings: what is theirs to choose
on this machine, and no store's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..errors import AtlasError, Damaged, Usage
from ..model import schema, text
from . import routes

FILE = "atlas.yaml"


class Choice(NamedTuple):
    """A key whose value is one of a few words. The first word is the default."""

    words: tuple[str, ...]
    meaning: str


# A row in this table is all that a new choice needs.
CHOICES: dict[str, Choice] = {
    "hooks": Choice(("on", "off"), "off: no command but `atlas hooks install` puts hooks in"),
    "hooks_missing": Choice(
        ("open", "closed"),
        "open: a git hook whose Atlas is gone lets pass; closed: it stops (hooks install)",
    ),
    "hook_fetch": Choice(
        ("off", "on"),
        "on: a commit and an edit of an AI tool start a fetch of the store that nobody waits for,"
        " one a minute at most, 10 min after a failure; it asks for no password",
    ),
}


def parse(data: bytes, path: str) -> Mapping[str, Any]:
    """The values of the user's own file, each choice with its default where it says nothing.

    Raises Damaged, naming the file's path, if it cannot be read."""
    record = text.load(data, path, comments=True) if data.strip() else {}
    schema.fields(record, path, {}, {})
    chosen: dict[str, Any] = {key: choice.words[0] for key, choice in CHOICES.items()}
    for key, value in record.items():
        try:
            if key in CHOICES:
                chosen[key] = _word(key, value)
            elif key in routes.KEYS:
                routes.valid(key, value)
                chosen[key] = value
            elif key != "format":
                known = ", ".join((*routes.KEYS, *CHOICES))
                raise Usage(f"there is no key {key!r} in a user's own file ({known})")
        except AtlasError as error:
            raise Damaged(f"{path}: {error.message}", "mend it or remove it") from None
    return chosen


def _word(key: str, value: object) -> str:
    """The word that was chosen. YAML's older readers take on and off for a truth value."""
    word = {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value
    if word not in CHOICES[key].words:
        raise Usage(f"{key} is one of {', '.join(CHOICES[key].words)}, not {str(value)[:80]}")
    return str(word)

"""A commit's message: a subject and the trailers that make it one transaction."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import NamedTuple

from . import times

_TRAILER = re.compile(r"Atlas-([A-Z][a-z]+): (.*)\Z")
FileChange = tuple[str, str | None, str | None]  # path, old blob, new blob


class Message(NamedTuple):
    """`at` is the writer's clock; `bases` is what the writer had read
    (`status:main@12~3f9c01ab77de`); `stops` counts the stops that its session met since its last
    write (`version_jump 2`); a commit without an operation was made by hand. `mark` is a line for
    other programs (`[skip ci]`), which nobody here reads back."""

    subject: str
    operation: str | None = None
    session: str | None = None
    at: int | None = None
    bases: tuple[str, ...] = ()
    change: str | None = None
    repairs: str | None = None
    stops: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    mark: str = ""

    @property
    def by_hand(self) -> bool:
        return (
            self.operation is None
            and self.session is None
            and self.change is None
            and self.repairs is None
        )

    def text(self) -> str:
        """The message as it stands in the commit."""
        rows = [("Operation", self.operation), ("Session", self.session)]
        rows.append(("At", None if self.at is None else times.rfc3339(self.at)))
        rows += [("Base", base) for base in self.bases]
        rows += [("Stop", stop) for stop in self.stops]
        rows += [("Repairs", self.repairs), ("Change", self.change)]
        mark = f"{self.mark}\n\n" if self.mark else ""
        return f"{self.subject}\n\n{mark}" + "".join(
            f"Atlas-{key}: {value}\n" for key, value in rows if value is not None
        )


def parse(text: str) -> Message:
    """The message of any commit; what cannot be read of its trailers is named in `faults`."""
    subject, _, body = text.partition("\n")
    found: dict[str, list[str]] = {}
    for line in body.rstrip("\n").split("\n\n")[-1].split("\n"):
        if match := _TRAILER.match(line.strip()):
            found.setdefault(match[1], []).append(match[2])
    faults = [
        f"the trailer Atlas-{key} stands twice"
        for key, rows in found.items()
        if len(rows) > 1 and key not in ("Base", "Stop")
    ]
    at = None
    if "At" in found:
        try:
            at = times.moment(found["At"][0])
        except ValueError as error:
            faults.append(f"Atlas-At: {error}")

    def first(key: str) -> str | None:
        return found[key][0] if key in found else None

    return Message(
        subject,
        first("Operation"),
        first("Session"),
        at,
        tuple(found.get("Base", ())),
        first("Change"),
        first("Repairs"),
        tuple(found.get("Stop", ())),
        tuple(faults),
    )


def change_digest(store: str, message: Message, changes: Iterable[FileChange]) -> str:
    """SHA-256 over store id, operation, session, time and the sorted (path, old blob, new blob), in
    hex.

    It survives replay on another parent, and is what sessions will sign."""
    at = "" if message.at is None else times.rfc3339(message.at)
    lines = [store, message.operation or "", message.session or "", at]
    lines += [f"{path}\0{old or '-'}\0{new or '-'}" for path, old, new in sorted(changes)]
    return hashlib.sha256("\n".join(lines).encode(errors="surrogateescape")).hexdigest()

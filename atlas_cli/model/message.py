"""The message of a commit: a subject, and the trailers that make the commit one transaction."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from . import times
from .digests import sha256

_TRAILER = re.compile(r"Atlas-([A-Z][a-z]+): (.*)\Z")
FileChange = tuple[str, str | None, str | None]  # path, old blob, new blob


class Message(NamedTuple):
    """A commit's subject and trailers. `at` is the writer's clock. `bases` are the REFs that the
    writer had read (`status:main@12~3f9c01ab77de`). `stops` counts the refusals that its session
    met since its last write, with what met (`version_jump 2 status:main@8 of ID`). `merged` says
    what the write keeps of what had stopped it. `request` is the digest of what was asked for under
    an operation that came from outside. `faults` names the trailers that cannot be read. `mark`
    is a line for other programs (`[skip ci]`); Atlas never reads it back. `migrates` is the format
    that the commit takes the store to. `epoch` is the commit that holds what this one takes
    from the tip. `wish` is the digest of what a write wished that is computed anew on each
    history."""

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
    migrates: str | None = None
    epoch: str | None = None

    @property
    def moves(self) -> bool:
        """Whether the commit says that it only moves records: to their paths in another format, or
        out of the tip."""
        return self.migrates is not None or self.epoch is not None

    merged: tuple[str, ...] = ()
    request: str | None = None
    wish: str | None = None

    @property
    def by_hand(self) -> bool:
        """Whether the commit was made by hand: no trailer of Atlas says otherwise."""
        return (
            self.operation is None
            and self.session is None
            and self.change is None
            and self.repairs is None
        )

    def text(self) -> str:
        """The message as the commit holds it."""
        rows = [("Operation", self.operation), ("Session", self.session)]
        rows.append(("At", None if self.at is None else times.rfc3339(self.at)))
        rows += [("Base", base) for base in self.bases]
        rows += [("Stop", stop) for stop in self.stops]
        rows += [("Merged", merged) for merged in self.merged]
        rows.append(("Request", self.request))
        rows += [("Repairs", self.repairs), ("Migrates", self.migrates), ("Epoch", self.epoch)]
        rows += [("Wish", self.wish), ("Change", self.change)]
        mark = f"{self.mark}\n\n" if self.mark else ""
        return f"{self.subject}\n\n{mark}" + "".join(
            f"Atlas-{key}: {value}\n" for key, value in rows if value is not None
        )


def parse(text: str) -> Message:
    """The message of any commit. Trailers that cannot be read are named in `faults`."""
    subject, _, body = text.partition("\n")
    trailers: dict[str, list[str]] = {}
    for line in body.rstrip("\n").split("\n\n")[-1].split("\n"):
        if match := _TRAILER.match(line.strip()):
            trailers.setdefault(match[1], []).append(match[2])
    faults = [
        f"the trailer Atlas-{key} stands twice"
        for key, rows in trailers.items()
        if len(rows) > 1 and key not in ("Base", "Stop", "Merged")
    ]
    at = None
    if "At" in trailers:
        try:
            at = times.moment(trailers["At"][0])
        except ValueError as error:
            faults.append(f"Atlas-At: {error}")

    def first(key: str) -> str | None:
        return trailers[key][0] if key in trailers else None

    return Message(
        subject,
        first("Operation"),
        first("Session"),
        at,
        tuple(trailers.get("Base", ())),
        first("Change"),
        first("Repairs"),
        tuple(trailers.get("Stop", ())),
        tuple(faults),
        migrates=first("Migrates"),
        epoch=first("Epoch"),
        merged=tuple(trailers.get("Merged", ())),
        request=first("Request"),
        wish=first("Wish"),
    )


def change_digest(store: str, message: Message, changes: Iterable[FileChange]) -> str:
    """The SHA-256, in hex, over the store's id, the operation, the session, the time and the sorted
    changes (path, old blob, new blob).

    The digest survives a replay on another parent. Sessions will sign it."""
    at = "" if message.at is None else times.rfc3339(message.at)
    lines = [store, message.operation or "", message.session or "", at]
    lines += [f"{path}\0{old or '-'}\0{new or '-'}" for path, old, new in sorted(changes)]
    return sha256("\n".join(lines).encode(errors="surrogateescape")).hexdigest()

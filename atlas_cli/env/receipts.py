"""Receipts: what the session was shown. A session must have read what it supersedes."""

from __future__ import annotations

from collections.abc import Iterable

from .. import records
from ..errors import NotFound
from ..model.text import Record
from ..model.tree import Tree
from ..records import artifact, status
from ..records import telling as rules
from . import telling, who
from .env import Env


def note(env: Env, kind: str, id: str, number: int, path: str, claimed: bool = False) -> None:
    """A receipt for what the session was just shown, or says that it has read (`claimed`)."""
    me = who.session_or_none(env)
    blob = env.snapshot.blob(path)
    if me is not None and blob is not None:
        env.local.read(me["id"], me["actor"], kind, id, number, blob, env.now(), claimed)
        if kind == artifact.KIND.name:
            note_text(env, f"{kind}:{id}", f"{kind}:{id}@{number}")


def note_text(env: Env, key: str, version: str) -> None:
    """Notes that the whole text of a record was printed for the session."""
    note_texts(env, rules.READ, [(key, version)])


def note_texts(env: Env, how: int, shown: Iterable[tuple[str, str]]) -> None:
    """Notes that the texts of records, each by its key and version, were printed for the session,
    in that way."""
    if me := who.session_or_none(env):
        known = [(key, version, 0) for key, version in shown]
        env.local.note(me["id"], how, env.now(), known)


def note_status(env: Env, me: Record, stream: str, number: int, path: str) -> None:
    """A receipt for a status entry that was printed."""
    blob = env.snapshot.blob(path) or ""
    env.local.read(me["id"], me["actor"], "status", stream, number, blob, env.now())
    telling.note_entry(env, me, stream, number)


def note_entry(env: Env, me: Record, stream: str, number: int, whole: bool) -> None:
    """A receipt for an entry that was printed: read if it was the `whole` of it, else seen."""
    if whole:
        note_status(env, me, stream, number, status.path_of(stream, number))
    else:
        note_glance(env, me, stream, number)


def note_empty(env: Env, me: Record | None, stream: str) -> None:
    """A receipt for having been shown that a stream is empty: what comes then is a version jump."""
    if me is not None:
        env.local.read(me["id"], me["actor"], "status", stream, 0, "", env.now())


def note_glance(env: Env, me: Record, stream: str, number: int) -> None:
    """Notes that a session was shown a part of an entry. To supersede it, it must read it."""
    blob = env.snapshot.blob(status.path_of(stream, number)) or ""
    env.local.glance(me["id"], me["actor"], stream, number, blob, env.now())


def note_look(env: Env, me: Record, stream: str, number: int) -> None:
    """Notes that a session was told what concerns it of an entry: the trailers of its next commit
    say so, and nothing else counts it."""
    blob = env.snapshot.blob(status.path_of(stream, number)) or ""
    if (number, blob) not in env.local.seen(me["id"], "look", stream):
        env.local.glance(me["id"], me["actor"], stream, number, blob, env.now(), "look")


def newest_read(
    env: Env, tree: Tree, me: Record, kind: str, id: str, part: bool = False
) -> int | None:
    """The newest version that this session has read: its number, 0 if it saw an empty stream, None
    if it has read nothing. A receipt counts only while its blob is on the branch. `part`: only a
    section is to be written and the rest carried, for which a glance is enough."""
    read = env.local.seen(me["id"], kind, id)
    if part:
        read += env.local.seen(me["id"], "glance", id)
    for number, blob in sorted(read, reverse=True):
        if not number:
            return 0
        try:
            if tree.blob(records.BY_NAME[kind].find(tree, id, number)) == blob:
                return number
        except NotFound:  # that version left the branch, and the receipt with it
            continue
    return None

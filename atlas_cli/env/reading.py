"""The reading of a command: records by their REF, resources as they are typed, times."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from .. import records
from ..answers import corrections, damage
from ..answers.ask import WEEK
from ..errors import AtlasError, Usage
from ..model import names, times
from ..model.text import Record
from ..model.tree import Tree
from ..records import correction, status, status_write
from ..store import REMOTE
from ..visible import named
from . import freshness, receipts, spelling, standing, who
from .env import Env


def since(env: Env, text: str) -> int:
    """The number of the last commit before what `--since` names: a time, a record, or my last look
    (`last`)."""
    now = env.now()
    if text == "last":
        return _last_look(env, now)
    moment = times.since(text, now)
    if moment is not None:
        return env.index.upto(moment)
    if ":" not in text:
        raise Usage(
            f"--since {text[:80]!r} is no time",
            "18:00, 12h, 2026-11-29, a REF, or last (my last look)",
        )
    return env.index.written_in(path_of(env, records.ref(text)))


def _last_look(env: Env, now: int) -> int:
    head = who.last_look(env)
    number = env.index.reached(head) if head else None
    if number is None:
        env.notices.append("there is no last look of yours that is known here: the last seven days")
        return env.index.upto(now - WEEK)
    return number


NAMED = 100  # damaged records that a list names
# Kinds whose ids are others' as well: streams and tasks.
_NEVER_BARE = {status.KIND.name, "result", "policy"}


def meant(env: Env, text: str) -> str:
    """The REF that a text is, or that the bare id or name stands for which a list prints: of a task
    rather than of the gate that it clears. The remote is asked once for what is not there. Raises
    Usage if it is the name of two other records."""
    if text.partition(":")[0] in records.BY_NAME or not names.one_line(text):
        return text
    kinds = [kind.name for kind in records.KINDS if kind.name not in _NEVER_BARE]
    meaning = [kind for kind in kinds if _is_there(env, kind, text)]
    if not meaning and freshness.brought(env):
        return meant(env, text)
    if "task" in meaning and "gate" in meaning:
        meaning.remove("gate")
    if len(meaning) > 1:
        which = " or ".join(f"{kind}:{text}" for kind in meaning)
        raise Usage(f"{text} is the name of {len(meaning)} records", f"say which: {which}")
    return f"{meaning[0]}:{text}" if meaning else text


def _is_there(env: Env, kind: str, text: str) -> bool:
    id = text.partition("@")[0] if records.BY_NAME[kind].numbered else text
    try:
        return (
            env.snapshot.blob(records.find(env.snapshot, records.ref(f"{kind}:{id}"))) is not None
        )
    except AtlasError:
        return False


def path_of(env: Env, ref: names.Ref) -> str:
    """The path of the record of a REF. Raises NotFound where there is none."""
    return records.find(env.tree, ref)


def resolve(env: Env, ref: names.Ref) -> tuple[str, Record]:
    """(path, record) of a REF. Raises NotFound where there is none."""
    path = path_of(env, ref)
    record = records.describe(path, last_good(env, path)[0])
    return path, env.index.with_numbers(record)


def pinned_ref(env: Env, text: str) -> str:
    """A REF as it is stored in another record: checked, and of the current document where none was
    named."""
    _, record = resolve(env, records.ref(text))
    env.notices += [
        corrections.notice(env.ask, row, f"{record['ref']} was")
        for row in env.ask.corrections(record["ref"])
        if correction.withdraws(row)
    ]
    return stored_ref(env, env.tree, record["ref"])


def stored_ref(env: Env, tree: Tree, ref: str) -> str:
    """The REF of a record that is there, as another record keeps it: with a number only if that is
    published."""
    return records.stored(tree, ref, partial(is_published, env))


def is_published(env: Env, path: str, blob: str) -> bool:
    """Whether the remote is known to have a file, with these bytes."""
    known = env.store.ref(REMOTE)
    return known is not None and env.store.snapshot(known).blob(path) == blob


def named_base(env: Env, tree: Tree, stream: str, number: int) -> str:
    """An entry in a command that may be run when another one has its number."""
    path = status.path_of(stream, number)
    if is_published(env, path, tree.blob(path) or ""):
        return str(number)
    return status_write.base_of(tree, stream, number) or str(number)


def base(env: Env, stream: str, text: str | None) -> int | None:
    """The number of the entry that somebody says it has read: `12`, or `12~3f9c01ab77de` with the
    beginning of its blob. None, with a notice, if another entry stands there now. Raises Usage for
    any other text."""
    if text is None:
        return None
    match = re.fullmatch("([0-9]{1,40})(?:~([0-9a-f]{7,64}))?", text)
    if match is None:
        raise Usage(f"--base {text[:80]!r} is no number", "write it like --base 12")
    number, blob = int(match[1]), match[2]
    stands = env.snapshot.blob(status.path_of(stream, number)) or ""
    if blob and not stands.startswith(blob):
        env.notices.append(
            f"status:{stream}@{number} is not what was read under that number: others wrote first"
        )
        return None
    return number


def resource(env: Env, text: str) -> str:
    """A resource as given by somebody standing here: `path:` may be absolute or lead through a
    link. It has the spelling that git knows, or that is leased already, where the disk takes two
    for one file."""
    name = _resource(env, text)
    if not name.startswith("path:") or not env.place.folds:
        return name
    return f"path:{spelling.known(env, name.removeprefix('path:'))}"


def _resource(env: Env, text: str) -> str:
    kind, _, rest = text.partition(":")
    top = env.place.top
    absolute = rest.startswith("/")
    through = kind == "path" and names.one_line(rest)
    if kind not in ("path", "glob") or not rest or top is None or not (through or absolute):
        return names.resource(text, env.place.prefix)
    real = _real(Path(env.options.directory).absolute() / rest) if through else Path(rest)
    try:
        return names.resource(f"{kind}:/{real.relative_to(top.resolve())}")
    except ValueError:
        raise Usage(
            f"{text[:200]!r} lies outside the repository", "a lease is on a path inside it"
        ) from None


def _real(path: Path) -> Path:
    """The same place, through no link but that which the path itself may be."""
    if path.name in ("", ".."):
        return path.resolve()
    return path.parent.resolve() / path.name


def last_good(env: Env, path: str) -> tuple[bytes, bool]:
    """The newest bytes at a path that parse, and whether these are the current ones. Raises Damaged
    if none ever did."""

    def say(line: str) -> None:
        env.notices += env.advised([line])

    return damage.last_good(env.store, env.index, env.tree, path, say)


def damaged(env: Env, folder: str = "") -> list[tuple[str, str]]:
    """(path, what is wrong) of a folder's records that cannot be read. The first become notices,
    the others are counted, so that no list leaves one out in silence. (The tree itself notices what
    a hand did to documents.)"""
    _ = env.tree  # (which notices what a hand did to documents)
    rows = damage.unreadable(env.index, folder)
    lines = [
        f"{text.replace(path, named(path))}: atlas doctor --fix restores its last good state"
        for path, text in rows
    ]
    lines += damage.against_rule(env.index, folder)
    if len(lines) > NAMED:
        lines[NAMED:] = [f"{len(lines) - NAMED} records more are damaged: atlas doctor names all"]
    env.notices += env.advised(lines)
    return rows


def shown_status(
    env: Env, stream: str, number: int, me: Record | None, withdrawn: bool = False
) -> Record:
    """A status entry with its corrections, and a receipt for whoever is shown it. A retracted one
    is shown without its text (None), unless `withdrawn`, and so is a section that a retracted entry
    wrote."""
    path = status.find(env.tree, stream, number)
    data, _ = last_good(env, path)
    record = env.index.with_numbers(records.describe(path, data))
    if me is not None:
        receipts.note_status(env, me, stream, number, path)
    whole = standing.data(env, record, withdrawn)
    if not withdrawn:
        whole = env.ask.shown({**whole, "body": standing.body(env, record)})
    return {**whole, "corrections": env.ask.corrections(record["ref"])}


def current(env: Env, stream: str) -> int:
    """The number of the entry that says where things stand: the newest that can be read. A notice
    names those above it that cannot."""
    last = status.newest(env.tree, stream)
    record = status.current(env.tree, stream)
    number = record["number"] if record else last
    for broken in range(number + 1, last + 1):
        env.notices.append(
            f"status:{stream}@{broken} cannot be read, and is passed over: atlas doctor --fix"
        )
    return int(number)

"""The current records, and the texts, that name a path which was moved or deleted; and the REFs in
a text that name what is not there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .. import records
from ..errors import AtlasError, NotFound
from ..model.tree import Tree
from ..records import artifact, decision, status
from ..records.board import task
from ..store.git import Git
from ..visible import named
from .ask import Questions

MOST = 5  # names that are listed for a path
_ON = ("files", "on")  # fields that say where a writer was at work, and not what he says
_FOLDERS = (status.FOLDER, artifact.FOLDER, decision.FOLDER, task.FOLDER)


def notices(
    ask: Questions,
    tree: Tree,
    git: Git,
    moved: Mapping[str, str | None],
    code: str | None = None,
    but: Iterable[str] = (),
) -> list[str]:
    """A line for each path that moved and is still named by its old name. Looked at are the current
    records of the store, and the text files of a commit of `git` (None: of the index), `but` those
    that are listed anyway."""
    from ..checks import renames

    head = ask.index.meta("head") or ""
    in_store = renames.naming(ask.index.git, head, moved) if head else {}
    in_code = renames.naming(git, code, moved)
    lines = []
    for old, new in moved.items():
        files = [file for file in in_store.get(old, ()) if _says(tree, file, old)]
        refs = [ref for file in files if (ref := _current(ask, tree, file))]
        rest = dict.fromkeys(but)
        names = [*refs, *(file for file in in_code.get(old, ()) if file not in rest)]
        names = list(dict.fromkeys(names))
        if not names:
            continue
        more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
        verb = "names" if len(names) == 1 else "name"
        became = "is gone" if new is None else f"is now {named(new)}"
        listed = ", ".join(map(named, names[:MOST]))
        lines.append(f"{listed}{more} still {verb} {named(old)}, which {became}")
    return lines


def _says(tree: Tree, file: str, path: str) -> bool:
    """Whether a file of the store names a path in what its writer says."""
    kind = records.kind_of(file)
    if kind is None or not records.is_record(file):
        return True
    try:
        record = kind.parse(file, tree.read(file) or b"")
    except AtlasError:
        return False
    if kind.name != task.KIND.name:  # (a task says by its paths what is to be done)
        record = _without_places(record)
    return _in(record, re.compile(rf"(?<!\w){re.escape(path)}(?!\w)"))


def _without_places(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_places(item) for key, item in value.items() if key not in _ON}
    return [_without_places(item) for item in value] if isinstance(value, list) else value


def _in(value: Any, pattern: re.Pattern[str]) -> bool:
    if isinstance(value, dict | list):
        items = value.values() if isinstance(value, dict) else value
        return any(_in(item, pattern) for item in items)
    return pattern.search(str(value)) is not None


def _current(ask: Questions, tree: Tree, file: str) -> str:
    """The REF of the record that a file of the store belongs to; empty where that is not current: a
    later version is there, it was closed, or retracted."""
    if not file.startswith(tuple(f"{folder}/" for folder in _FOLDERS)):
        return ""
    path = file if records.is_record(file) else ask.index.beside(file)
    record = ask.index.readable(path)
    kind = records.kind_of(path)
    if record is None or kind is None or record.get("state") in task.CLOSED:
        return ""
    ref = kind.ref(path, record)
    if kind.numbered is not None:
        try:
            if kind.find(tree, kind.numbered(path)[0]) != path:
                return ""
        except AtlasError:
            return ""
    return "" if ask.retracted(ref) else ref


# A whole REF: of numbered documents with the number, of dated ones with the day.
_REF = (
    r"(?<![\w:/.@~-])(?:"
    r"(?:status|artifact):[a-z0-9][a-z0-9._-]*@(?:[0-9]{1,9}|~[a-z0-9._-]*[a-z0-9])"
    r"|(?:decision|correction|signal):[0-9]{4}-[0-9]{2}-[0-9]{2}-[a-z0-9-]*[a-z0-9]"
    r"|session:[a-z0-9-]+-[0-9]{6}-[a-z0-9]{6}|(?:task|result):[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?)"
    r"(?![\w:/@~-])"
)
# Code: what is fenced, and spans with a blank in them, which are more than a REF.
_CODE = r"(?ms)^ {0,3}(```|~~~).*?(?:^ {0,3}\1|\Z)|`[^`\n]*\s[^`\n]*`"


def absent(tree: Tree, text: str) -> list[str]:
    """A line for the REFs that a text names and that are not there; none if it names none."""
    missing = []
    for name in dict.fromkeys(re.findall(_REF, re.sub(_CODE, " ", text))):
        try:
            records.find(tree, records.ref(name))
        except NotFound:
            missing.append(name)
        except AtlasError:  # it is no REF after all, or one of several
            continue
    if not missing:
        return []
    more = f" and {len(missing) - MOST} more" if len(missing) > MOST else ""
    which = "which is not there" if len(missing) == 1 else "which are not there"
    return [f"your text names {', '.join(missing[:MOST])}{more}, {which}"]

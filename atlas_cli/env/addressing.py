"""Whom a text is addressed to, and on which files its writer is: what a record carries so that it
is told to whom it concerns."""

from __future__ import annotations

import os
from collections.abc import Sequence

from .. import records
from ..answers import concern as asked
from ..answers.over import Over, over
from ..errors import AtlasError, NotFound, Refused, Usage
from ..model import change, names, times
from ..model.text import Record
from ..records import concern, lease, session
from ..records.board import task
from ..visible import named
from . import reading
from .env import Env


def marks(
    env: Env, me: Record, given: Sequence[str], text: str, about: Sequence[str] = ()
) -> Record:
    """The fields `files` and `for` of a record that a session writes. One that says which
    records it is `about` does not concern all who are on the writer's files. Raises NotFound for an
    addressee that is not there, and Refused for a text to all that is too long or too soon."""
    to = addressees(env, me, given, text)
    own = () if about else files(env, me)
    return change.given(files=list(own), **{"for": list(to)})


def files(env: Env, me: Record) -> tuple[str, ...]:
    """The files that a session is on, as a record of it names them."""
    return concern.files(asked.files_to_name(env.ask, env.git, me) | asked.places(env.ask, me))


def until(env: Env, text: str) -> tuple[str, Over | None]:
    """The time or the REF that ends something, as it is stored, and the way in which it is over
    already, if it is. Raises NotFound if a session, task or gate is not there: it will not be over
    either."""
    kind = text.partition(":")[0]
    if not kind.isalpha():
        what = times.rfc3339(times.ahead(text, env.now()))
    elif kind == lease.KIND.name:
        what = f"lease:{reading.resource(env, text)}"
    else:
        what = str(records.ref(text))
    return what, over(env.ask, env.tree, what)


def paths(env: Env, given: Sequence[str]) -> tuple[str, ...]:
    """The paths that a command names with `--on`, as they are stored."""
    resources = [reading.resource(env, f"path:{path}") for path in given]
    not_here(env, resources)
    return tuple(dict.fromkeys(name.removeprefix("path:") for name in resources))


def not_here(env: Env, resources: Sequence[str], planned: bool = True) -> None:
    """A notice for each path that is no file or folder here, and that no other session has leased
    or named. `planned`: it may be one that is still to be made, so only a near miss is named."""
    top, given = env.place.top, (name.partition(":") for name in resources)
    lost = [path for kind, _, path in given if kind == "path"]
    lost = [path for path in lost if top is not None and not os.path.lexists(top / path)]
    if not lost:
        return
    _, out, _ = env.git.ask("ls-tree", "-r", "-z", "--name-only", "HEAD")
    files = out.decode(errors="surrogateescape").split("\0")
    for path in lost:
        if any(f"{file}/".startswith(f"{path}/") for file in files) or _announced(env, path):
            continue
        near = names.near(path, files)
        if near or not planned:
            meant = f" ({named(near)}?)" if near else ""
            env.notices.append(f"no such file here: {named(path)}{meant}")


def _announced(env: Env, path: str) -> bool:
    """Whether a session has leased a path, or named it."""
    index, now, resource = env.index, env.now(), f"path:{path}"
    leased = [row["resource"] for _, row in index.live(lease.FOLDER, now)]
    own = [row.get("paths", ()) for _, row in index.live(session.FOLDER, now)]
    return resource in leased or any(path in paths for paths in own)


def addressees(env: Env, me: Record, given: Sequence[str], text: str) -> tuple[str, ...]:
    """Whom a text is addressed to, as it is stored: session:ID, task:ID, path:P or all."""
    to = tuple(dict.fromkeys(_addressee(env, name) for name in given))
    if concern.ALL in to:
        _judge_all(env, me, text)
    return to


def _addressee(env: Env, name: str) -> str:
    kind, colon, rest = name.partition(":")
    if name == concern.ALL:
        return name
    if colon and kind == "path":
        resource = reading.resource(env, name)
        not_here(env, [resource], planned=False)
        return resource
    if colon and kind == "task":
        return _task(env, rest)
    if colon and kind != "session":
        raise Usage(f"{name[:80]!r} is nobody to address", "--for SESSION, task:ID, path:P or all")
    return _session(env, rest if colon else name)


def _task(env: Env, id: str) -> str:
    try:
        task.find(env.snapshot, id)
    except AtlasError as error:
        ids = [row["id"] for _, row in env.index.queue(task.FOLDER, None)]
        hint = names.hint(id, ids, "atlas task list shows them", "task:")
        raise NotFound(error.message, hint) from None
    return f"task:{id}"


def _session(env: Env, name: str) -> str:
    if session.valid(name) and env.snapshot.blob(session.path_of(name)) is not None:
        return f"session:{name}"
    live = [row for _, row in env.index.live(session.FOLDER, env.now())]
    likely = [row["id"] for row in live if row["actor"] == name or row["id"].startswith(name)]
    hint = f"did you mean {' or '.join(likely[:3])}? " if likely else ""
    ids = [row["id"] for row in live]
    hint = hint or names.hint(name, ids, "")
    raise NotFound(
        f"there is no session {name[:80]!r} to address",
        f"{hint}atlas session list; or task:ID, path:P, all".strip(),
    )


def _unlimited(env: Env, me: Record) -> bool:
    """Whether a session may address all as often as it likes: a person's, a principal's."""
    return me.get("class") == session.PERSON or me["actor"] in env.policy["principals"]


def _judge_all(env: Env, me: Record, text: str) -> None:
    """Raises Refused for a text to all of more than 25 words, or within an hour of the last one of
    the session, if it is bound by that."""
    words = len(text.split())
    if words > concern.ALL_WORDS:
        raise Refused(
            f"a text to all has at most {concern.ALL_WORDS} words; this one has {words}",
            "say the rest in a section of your own, or address a session, a task or a path",
            code="limit",
        )
    last = asked.to_all(env.ask, me["id"], env.now() - concern.ALL_EVERY)
    if last is not None and not _unlimited(env, me):
        left = times.span(last + concern.ALL_EVERY - env.now())
        raise Refused(
            f"{me['id']} has addressed all already, {times.ago(last, env.now())}",
            f"once an hour: again in {left}; a session, a task or a path can be addressed now",
            code="limit",
        )

"""The policy: `atlas.yaml`, a row that people edit. Limits are read from the tree that a change is
made on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ..errors import Damaged, NotFound, Refused, Usage
from ..model import names, row, text, times
from ..model.change import Change, FileEdit, Shown, Violation, Writer, given
from ..model.kind import Kind
from ..model.schema import FORMAT, Misplaced, fields
from ..model.text import Record
from ..model.tree import Tree

Policy = Mapping[str, Any]
FOLDER = "atlas.yaml"

LEVELS = ("stop", "warn", "off")
PRECONDITIONS = {
    "read_first": "stop",
    "write_last": "stop",
    "leases": "warn",
    "links": "stop",
    "retracted": "warn",
}
_FIXED = ("format", "store", "version", "test")
_ADDRESS = (
    r"(?:\w+:)?(?://)(?:[^/@]*@)?(?P<host>[^/:@]*)(?::\d*)?/+(?P<path>.+?)/*(?:\.git)?/*\Z|"
    r"(?:[^/:@]+@)?(?P<h>[^/:@]{2,}):(?P<p>(?!//|:).+?)/*(?:\.git)?/*\Z"
)
_BRANCHES = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_-]*/)+\*\Z")


# The checks of values: each raises Usage for a value that its key cannot have.
Check = Callable[[str, object], None]


def _whole(key: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 2**53:
        raise Usage(f"{key} is a whole number above 0 and below 2^53, not {str(value)[:80]}")


def _duration(key: str, value: object) -> None:
    if not isinstance(value, str):
        raise Usage(f"{key} is a duration like 90m or 2h, not {str(value)[:80]}")
    times.duration(value)


def _hours(key: str, value: object) -> None:
    """The check of a time for which a lease or a claim can be held."""
    _duration(key, value)
    if not 300 <= times.duration(str(value)) <= 4 * 3600:
        raise Usage(f"{key} lies between 5m and 4h, not {value}")


def _choice(*choices: str) -> Check:
    def check(key: str, value: object) -> None:
        if value not in choices:
            raise Usage(f"{key} is one of {', '.join(choices)}, not {str(value)[:80]}")

    return check


def _home(key: str, value: object) -> None:
    if not isinstance(value, str) or value != address(f"//{value}"):
        raise Usage(f"{key} is an address like forge.example/group/project, not {str(value)[:80]}")


def _line(key: str, value: object) -> None:
    if (
        not isinstance(value, str)
        or not names.one_line(value)
        or len(value) > 80
        or value != value.strip()
    ):
        raise Usage(f"{key} is a short text on one line, not {str(value)[:80]!r}")


def _route(key: str, value: object) -> None:
    from . import routes

    routes.valid(key, value)


def _preconditions(key: str, value: object) -> None:
    if not isinstance(value, dict) or not all(
        name in PRECONDITIONS and value[name] in LEVELS for name in value
    ):
        raise Usage(
            f"{key} is a map of {', '.join(PRECONDITIONS)} to {', '.join(LEVELS)}, not"
            f" {str(value)[:80]}"
        )


def _branches(key: str, value: object) -> None:
    if not isinstance(value, list) or not all(
        isinstance(name, str) and _BRANCHES.match(name) for name in value
    ):
        raise Usage(f'{key} is a list like ["claude/*"], not {str(value)[:80]}')


def _texts(key: str, value: object) -> None:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Usage(f'{key} is a list like ["main"], not {str(value)[:80]}')


def _globs(key: str, value: object) -> None:
    if not isinstance(value, dict) or not all(
        isinstance(globs, list) and all(isinstance(glob, str) for glob in globs)
        for globs in value.values()
    ):
        raise Usage(f'{key} is a map like {{"api": ["services/api/**"]}}, not {str(value)[:80]}')


class Key(NamedTuple):
    """A key of the policy: its default, what it says, and the check of its values."""

    default: Any
    meaning: str
    check: Check


# A row in this table is all that a new key needs.
KEYS: dict[str, Key] = {
    "durability": Key(
        "full",
        "full: a power cut loses nothing acknowledged; fast: it may lose the last writes",
        _choice("full", "fast"),
    ),
    "publish": Key(
        "now",
        "now, end or manual: when recorded writes go to the remote",
        _choice("now", "end", "manual"),
    ),
    "home": Key(
        "",
        "where the store lives (host/path): a clone that shares it through another place says so",
        _home,
    ),
    "fresh": Key("60s", "how old the copy of the remote may be before a read fetches", _duration),
    "status_words": Key(250, "how long a status entry may be, in words", _whole),
    "lease_default": Key("2h", "how long a lease is taken for", _hours),
    "lease_max": Key("4h", "how long a lease can be taken for", _hours),
    "session_idle": Key("4h", "a session without a write for so long counts as gone", _duration),
    "artifact_notice": Key(1_000_000, "bytes of an artifact above which it says so", _whole),
    "artifact_limit": Key(10_000_000, "bytes of an artifact above which it is refused", _whole),
    "unattended": Key(
        "ok",
        "ok, warn or stop: what `atlas check` says of commits that name no session",
        _choice("ok", "warn", "stop"),
    ),
    "check_on_receive": Key(
        "off",
        "off, warn or stop: `atlas check` on a server, for pushes to the integration branches",
        _choice("off", "warn", "stop"),
    ),
    "skip_mark": Key(
        "[skip ci]",
        "a line in each of the store's commits that keeps CI from running for it; empty: none",
        _line,
    ),
    "hooks_missing": Key(
        "open",
        "open: a git hook whose Atlas is gone lets pass; closed: it stops (hooks install)",
        _choice("open", "closed"),
    ),
    "claim_default": Key("1h", "how long a task is claimed for", _hours),
    "claim_max": Key("4h", "how long a task can be claimed for", _hours),
    "start_within": Key(
        "15m", "an assigned task that is not started within this is offered again", _duration
    ),
    "max_retries": Key(
        3, "how often a task that failed is offered again, before it is a dead letter", _whole
    ),
    "open_tasks": Key(10_000, "how many tasks can be open", _whole),
    "task_needs": Key(100, "how many tasks one task can need", _whole),
    "session_claims": Key(20, "how many tasks a session can have claimed", _whole),
    "task_body": Key(65_536, "bytes of a task's text", _whole),
    "result_limit": Key(1_000_000, "bytes of a task's result", _whole),
    "results_limit": Key(16_000_000, "bytes of the results that one call gives", _whole),
    "outbox_refs": Key(
        [],
        "where the store's branch may not be pushed: branches like claude/* that carry writes on",
        _branches,
    ),
    "principals": Key([], "actors who may do what is an ancestor's: end another's session", _texts),
    "streams": Key({}, "which paths belong to which status stream, in a monorepo", _globs),
    "preconditions": Key(
        PRECONDITIONS, "what git's hooks do about each: stop, warn or off", _preconditions
    ),
    "integration": Key(
        [],
        "branches whose pushes need a status (none: the remote's default one, else main, master)",
        _texts,
    ),
    "stores": Key(
        {}, "other stores by name, each with its git address: for what is `shared`", _route
    ),
    "shared": Key(
        {},
        (
            "which resources' leases are kept in which of these stores; the first pattern that"
            " matches counts"
        ),
        _route,
    ),
}


def parse(path: str, data: bytes) -> Record:
    """The fields of the policy. Raises Damaged if a key has a value that it cannot have."""
    if path != FOLDER:
        raise Misplaced(f"{path}: the policy lies in {FOLDER}")
    record = text.load(data, path, comments=True)
    fields(record, path, {"store": str, "version": "count"}, {"test": bool})
    for key, value in record.items():
        if key in KEYS:
            try:
                valid(key, value)
            except Usage as error:
                raise Damaged(f"{path}: {error.message}") from None
    return record


def of(tree: Tree) -> Policy:
    """The policy in force on a tree: what is not set has its default."""
    return _in_force(tree.read(FOLDER))


def usable(tree: Tree) -> Policy:
    """The policy in force, or the defaults if a hand has spoilt it: the repair of a policy is a
    write as well. Raises Damaged if it is of a newer format."""
    try:
        return of(tree)
    except Damaged as error:
        if error.code == "newer_format":
            raise
        return _in_force(None)


def newer(data: bytes | None) -> bool:
    """Whether these bytes are a policy of a format that only a newer Atlas knows."""
    try:
        parse(FOLDER, data or b"")
    except Damaged as error:
        return error.code == "newer_format"
    return False


def defaults() -> Policy:
    """The policy of a store that sets nothing."""
    return {name: key.default for name, key in KEYS.items()}


@lru_cache(maxsize=16)
def _in_force(data: bytes | None) -> Policy:
    record = {} if data is None else parse(FOLDER, data)
    whole = {**defaults(), **record}
    whole["preconditions"] = {**PRECONDITIONS, **whole["preconditions"]}
    return whole


def level(policy: Policy, precondition: str) -> str:
    """The level of a precondition that a commit misses: stop, warn or off."""
    return str(policy["preconditions"][precondition])


def streams_of(policy: Policy, paths: Iterable[str]) -> list[str]:
    """The status streams that paths (from the root) belong to. A path that no stream claims belongs
    to `main`."""
    claims = [
        (stream, f"glob:{glob}") for stream, globs in policy["streams"].items() for glob in globs
    ]
    streams: set[str] = set()
    for path in paths if claims else ():
        claimed = {stream for stream, glob in claims if names.overlap(glob, f"path:{path}")}
        streams |= claimed or {"main"}
    return sorted(streams) or ["main"]


def seconds(policy: Policy, key: str) -> int:
    """A duration of the policy, in seconds."""
    return times.duration(policy[key])


def valid(key: str, value: object) -> None:
    """Raises Usage if the key cannot have the value."""
    KEYS[key].check(key, value)


def unknown(key: str) -> NotFound:
    """The error for a key that the policy does not have."""
    hint = names.hint(key, KEYS, f"the keys are {', '.join(KEYS)}")
    return NotFound(f"there is no key {key[:80]!r} in the policy", hint)


def address(url: str) -> str:
    """The `host/path` of a remote, the same for https and ssh, without the user; empty for a place
    that only one machine knows."""
    match = re.match(_ADDRESS, url)
    if match is None:
        return ""
    host, path = match["host"] or match["h"], match["path"] or match["p"]
    return f"{host}/{path.lstrip('/')}".lower() if host else ""


def first(store: str, test: bool, home: str = "") -> bytes:
    """The policy of a new store. The defaults stand in it as comments, so that they can change with
    the tool."""
    title = (
        "# The policy of this store. Change it with `atlas config set KEY VALUE` or `atlas config"
        " edit`.\n# What is not set has the value shown behind its name.\n\n"
    )
    head = {"format": FORMAT, "store": store, "version": 1, **given(test=test, home=home)}
    body = "".join(
        f"\n# {key.meaning}\n# {text.dump({name: key.default}).decode()}"
        for name, key in KEYS.items()
    )
    return title.encode() + text.dump(head) + body.encode()


def put(tree: Tree, writer: Writer, key: str, value: object) -> Change:
    """The change that sets one key. Raises Refused for a key of the store's own, NotFound for an
    unknown one, Usage for a value that it cannot have."""
    if key in _FIXED:
        raise Refused(
            f"{key} is the store's own and cannot be set", "atlas config shows what can be"
        )
    if key not in KEYS:
        raise unknown(key)
    valid(key, value)
    data = tree.read(FOLDER) or b""
    version = parse(FOLDER, data)["version"] + 1
    data = _readable(text.set_by_hand(text.set_by_hand(data, key, value), "version", version))
    return Change(f"policy: set {key} ({writer.session})", {FOLDER: data})


def replace(tree: Tree, writer: Writer, data: bytes) -> Change:
    """The change that takes an edited policy, one version further. Raises Refused if it touches the
    store's own keys."""
    old, new = parse(FOLDER, tree.read(FOLDER) or b""), parse(FOLDER, data)
    for key in _FIXED:
        if old.get(key) != new.get(key):
            raise Refused(
                f"{key} is the store's own and cannot be edited", "set it back and save again"
            )
    for key in new:
        if key not in KEYS and key not in _FIXED and key not in old:
            raise unknown(key)
    data = _readable(text.set_by_hand(data, "version", old["version"] + 1))
    return Change(f"policy: edit ({writer.session})", {FOLDER: data})


def _readable(data: bytes) -> bytes:
    """The text of a policy that is to be written. Raises Refused if it could not be read back: one
    with YAML by hand in it, a comment behind a value for instance, may be less long."""
    try:
        parse(FOLDER, data)
    except Damaged as error:
        raise Refused(
            f"the policy could not be read back: {error.message.removeprefix(FOLDER + ': ')}",
            "say less, or put each comment on a line of its own, from its margin on: atlas config"
            " edit",
            code="limit",
        ) from None
    return data


def _ref(path: str, record: Record) -> str:
    return "policy"


def _find(tree: Tree, id: str, number: int | None = None) -> str:
    return FOLDER


def _view(tree: Tree, path: str, record: Record, now: int) -> Shown:
    """The name of the policy in the view: its own."""
    return path, path


def _rules(edit: FileEdit) -> Iterator[Violation]:
    new = None if edit.new is None else parse(edit.path, edit.new)
    old = None if edit.old is None else parse(edit.path, edit.old)
    yield from row.rules(edit, old, new)
    if old is None or new is None:
        return
    for key in _FIXED:
        if key != "version" and old.get(key) != new.get(key):
            yield Violation(
                "immutable", edit.path, f"{key} was changed; it is fixed when a store is made"
            )


KIND = Kind("policy", FOLDER, "", parse, _ref, _find, _view, _rules, row=True)

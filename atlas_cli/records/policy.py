"""The policy: `atlas.yaml`, a row for people. Limits are read from the tree that a change is made
on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from ..errors import Damaged, NotFound, Refused, Usage
from ..model import names, row, text, times
from ..model.change import Change, FileEdit, Shown, Violation, Writer
from ..model.kind import Kind
from ..model.schema import FORMAT, Misplaced, fields
from ..model.text import Record
from ..model.tree import Tree

Policy = Mapping[str, Any]
FOLDER = "atlas.yaml"

# key: (default, what it is). A row in this table is all that a new key needs.
KEYS: dict[str, tuple[Any, str]] = {
    "durability": (
        "full",
        "full: a power cut loses nothing acknowledged; fast: it may lose the last writes",
    ),
    "publish": ("now", "now, end or manual: when recorded writes go to the remote"),
    "home": (
        "",
        "where the store lives (host/path): a clone that shares it through another place says so",
    ),
    "fresh": ("60s", "how old the copy of the remote may be before a read fetches"),
    "status_words": (250, "how long a status entry may be, in words"),
    "lease_default": ("2h", "how long a lease is taken for"),
    "lease_max": ("4h", "how long a lease can be taken for"),
    "session_idle": ("4h", "a session without a write for so long counts as gone"),
    "artifact_notice": (1_000_000, "bytes of an artifact above which it says so"),
    "artifact_limit": (10_000_000, "bytes of an artifact above which it is refused"),
    "unattended": (
        "ok",
        "ok, warn or stop: what `atlas check` says of commits that name no session",
    ),
    "check_on_receive": (
        "off",
        "off, warn or stop: `atlas check` on a server, for pushes to the integration branches",
    ),
    "skip_mark": (
        "[skip ci]",
        "a line in each of the store's commits that keeps CI from running for it; empty: none",
    ),
    "hooks_missing": (
        "open",
        "open: a git hook whose Atlas is gone lets pass; closed: it stops (hooks install)",
    ),
    "claim_default": ("1h", "how long a task is claimed for"),
    "claim_max": ("4h", "how long a task can be claimed for"),
    "start_within": ("15m", "an assigned task that is not started within this is offered again"),
    "max_retries": (3, "how often a task that failed is offered again, before it is a dead letter"),
    "open_tasks": (10_000, "how many tasks can be open"),
    "task_needs": (100, "how many tasks one task can need"),
    "session_claims": (20, "how many tasks a session can have claimed"),
    "task_body": (65_536, "bytes of a task's text"),
    "result_limit": (1_000_000, "bytes of a task's result"),
    "results_limit": (16_000_000, "bytes of the results that one call gives"),
    "outbox_refs": (
        [],
        "where the store's branch may not be pushed: branches like claude/* that carry writes on",
    ),
    "principals": ([], "actors who may do what is an ancestor's: end another's session"),
    "streams": ({}, "which paths belong to which status stream, in a monorepo"),
    "preconditions": (
        {
            "read_first": "stop",
            "write_last": "stop",
            "leases": "warn",
            "links": "stop",
            "retracted": "warn",
        },
        "what git's hooks do about each: stop, warn or off",
    ),
    "integration": (
        [],
        "branches whose pushes need a status (none: the remote's default one, else main, master)",
    ),
    "stores": ({}, "other stores by name, each with its git address: for what is `shared`"),
    "shared": (
        {},
        (
            "which resources' leases are kept in which of these stores; the first pattern that"
            " matches counts"
        ),
    ),
}
_DURATIONS = (
    "fresh",
    "lease_default",
    "lease_max",
    "session_idle",
    "claim_default",
    "claim_max",
    "start_within",
)
_CHOICES = {
    "durability": ("full", "fast"),
    "publish": ("now", "end", "manual"),
    "unattended": ("ok", "warn", "stop"),
    "check_on_receive": ("off", "warn", "stop"),
    "hooks_missing": ("open", "closed"),
}
LEVELS = ("stop", "warn", "off")
_ADDRESS = (
    r"(?:\w+:)?(?://)(?:[^/@]*@)?(?P<host>[^/:@]*)(?::\d*)?/+(?P<path>.+?)/*(?:\.git)?/*\Z|"
    r"(?:[^/:@]+@)?(?P<h>[^/:@]{2,}):(?P<p>(?!//|:).+?)/*(?:\.git)?/*\Z"
)
_BRANCHES = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_-]*/)+\*\Z")
_FIXED = ("format", "store", "version", "test")


def parse(path: str, data: bytes) -> Record:
    """The policy with a default for each key that is absent; Damaged for values of the wrong
    kind."""
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


def of(tree: Tree) -> Mapping[str, Any]:
    """The policy in force on a tree; the defaults where there is none yet."""
    return _in_force(tree.read(FOLDER))


def usable(tree: Tree) -> Mapping[str, Any]:
    """The policy in force; the defaults where a hand has spoilt it, since its repair is a write as
    well. Damaged for one of a newer format."""
    try:
        return of(tree)
    except Damaged as error:
        if error.code == "newer_format":
            raise
        return _in_force(None)


def newer(data: bytes | None) -> bool:
    """Whether this is a policy of a format that only a newer Atlas knows."""
    try:
        parse(FOLDER, data or b"")
    except Damaged as error:
        return error.code == "newer_format"
    return False


@lru_cache(maxsize=16)
def _in_force(data: bytes | None) -> Mapping[str, Any]:
    defaults = {key: value for key, (value, _) in KEYS.items()}
    found = {} if data is None else parse(FOLDER, data)
    whole = {key: {**defaults[key], **found[key]} for key in ("preconditions",) if key in found}
    return {**defaults, **found, **whole}


def level(policy: Mapping[str, Any], precondition: str) -> str:
    """What is done about a precondition of commits: stop, warn or off."""
    return str(policy["preconditions"][precondition])


def streams_of(policy: Mapping[str, Any], paths: Iterable[str]) -> list[str]:
    """The status streams that these paths (from the root) belong to: `main` where none claims a
    path, or there is none."""
    claims = [
        (stream, f"glob:{glob}") for stream, globs in policy["streams"].items() for glob in globs
    ]
    found: set[str] = set()
    for path in paths if claims else ():
        found.update(
            {one for one, glob in claims if names.overlap(glob, f"path:{path}")} or {"main"}
        )
    return sorted(found) or ["main"]


def seconds(policy: Mapping[str, Any], key: str) -> int:
    """A duration of the policy, in seconds."""
    return times.duration(policy[key])


def valid(key: str, value: object) -> None:
    """Usage for a value that the key cannot have."""
    default = KEYS[key][0]
    if isinstance(default, int):
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 2**53:
            raise Usage(f"{key} is a whole number above 0 and below 2^53, not {str(value)[:80]}")
    elif key in _DURATIONS:
        if not isinstance(value, str):
            raise Usage(f"{key} is a duration like 90m or 2h, not {str(value)[:80]}")
        times.duration(value)
        if key.startswith(("lease", "claim")) and not 300 <= times.duration(value) <= 4 * 3600:
            raise Usage(f"{key} lies between 5m and 4h, not {value}")
    elif key == "home":
        if not isinstance(value, str) or value != address(f"//{value}"):
            raise Usage(
                f"{key} is an address like forge.example/group/project, not {str(value)[:80]}"
            )
    elif key in _CHOICES:
        if value not in _CHOICES[key]:
            raise Usage(f"{key} is one of {', '.join(_CHOICES[key])}, not {str(value)[:80]}")
    elif isinstance(default, str):
        if (
            not isinstance(value, str)
            or not names.one_line(value)
            or len(value) > 80
            or value != value.strip()
        ):
            raise Usage(f"{key} is a short text on one line, not {str(value)[:80]!r}")
    elif key in ("stores", "shared"):
        from . import routes

        routes.valid(key, value)
    elif key == "preconditions":
        if not isinstance(value, dict) or not all(
            one in default and value[one] in LEVELS for one in value
        ):
            raise Usage(
                f"{key} is a map of {', '.join(default)} to {', '.join(LEVELS)}, not"
                f" {str(value)[:80]}"
            )
    elif key == "outbox_refs":
        if not isinstance(value, list) or not all(
            isinstance(one, str) and _BRANCHES.match(one) for one in value
        ):
            raise Usage(f'{key} is a list like ["claude/*"], not {str(value)[:80]}')
    elif isinstance(default, list):
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise Usage(f'{key} is a list like ["main"], not {str(value)[:80]}')
    elif not isinstance(value, dict) or not all(
        isinstance(globs, list) and all(isinstance(glob, str) for glob in globs)
        for globs in value.values()
    ):
        raise Usage(f'{key} is a map like {{"api": ["services/api/**"]}}, not {str(value)[:80]}')


def unknown(key: str) -> NotFound:
    """The refusal of a key that is none."""
    hint = names.hint(key, KEYS, f"the keys are {', '.join(KEYS)}")
    return NotFound(f"there is no key {key[:80]!r} in the policy", hint)


def address(url: str) -> str:
    """`host/path` of a remote, the same for https and ssh, without whoever asks there; empty for a
    place that only one machine knows."""
    found = re.match(_ADDRESS, url)
    host, path = (found["host"] or found["h"], found["path"] or found["p"]) if found else ("", "")
    return f"{host}/{path.lstrip('/')}".lower() if host else ""


def first(store: str, test: bool, home: str = "") -> bytes:
    """The policy of a new store: the defaults stand in it as comments, so that they can change with
    the tool."""
    lines = [
        "# The policy of this store. Change it with `atlas config set KEY VALUE` or `atlas config"
        " edit`."
    ]
    lines += ["# What is not set has the value shown behind its name.", ""]
    head = {"format": FORMAT, "store": store, "version": 1} | ({"test": True} if test else {})
    head |= {"home": home} if home else {}
    body = "".join(
        f"\n# {what}\n# {text.dump({key: value}).decode()}" for key, (value, what) in KEYS.items()
    )
    return ("\n".join(lines) + "\n").encode() + text.dump(head) + body.encode()


def put(tree: Tree, writer: Writer, key: str, value: object) -> Change:
    """The change that sets one key."""
    if key in _FIXED:
        raise Refused(
            f"{key} is the store's own and cannot be set", "atlas config shows what can be"
        )
    if key not in KEYS:
        raise unknown(key)
    valid(key, value)
    data = tree.read(FOLDER) or b""
    version = parse(FOLDER, data)["version"] + 1
    data = text.set_by_hand(text.set_by_hand(data, key, value), "version", version)
    return Change(f"policy: set {key} ({writer.session})", {FOLDER: data})


def replace(tree: Tree, writer: Writer, data: bytes) -> Change:
    """The change that takes an edited policy, one version further; Refused where it touches the
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
    data = text.set_by_hand(data, "version", old["version"] + 1)
    return Change(f"policy: edit ({writer.session})", {FOLDER: data})


def _ref(path: str, record: Record) -> str:
    return "policy"


def _find(tree: Tree, id: str, number: int | None = None) -> str:
    return FOLDER


def _view(tree: Tree, path: str, record: Record, now: int) -> Shown:
    """Itself."""
    return path, path


def _rules(case: FileEdit) -> Iterator[Violation]:
    new = None if case.new is None else parse(case.path, case.new)
    old = None if case.old is None else parse(case.path, case.old)
    yield from row.rules(case, old, new)
    for key in _FIXED:
        if (
            key != "version"
            and old is not None
            and new is not None
            and old.get(key) != new.get(key)
        ):
            yield Violation(
                "immutable", case.path, f"{key} was changed; it is fixed when a store is made"
            )


KIND = Kind("policy", FOLDER, "", parse, _ref, _find, _view, _rules, row=True)

"""The keys of the policy: the default of each, what it says, and the check of its values."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ..errors import NotFound, Usage
from ..model import names, times
from . import own

LEVELS = ("stop", "warn", "off")
PRECONDITIONS = {
    "read_first": "stop",
    "write_last": "stop",
    "leases": "warn",
    "links": "stop",
    "retracted": "warn",
}
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


def _span(key: str, value: object) -> None:
    """The check of a duration that may be none at all."""
    if value not in ("0", 0):
        _duration(key, value)


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


def _resources(key: str, value: object) -> None:
    from . import resources

    resources.valid(key, value)


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
    "status_words": Key(250, "words of the status that a reader is shown", _whole),
    "lease_default": Key("2h", "how long a lease is taken for", _hours),
    "lease_max": Key("4h", "how long a lease can be taken for", _hours),
    "session_idle": Key("4h", "a session without a sign for so long counts as gone", _duration),
    "worker_stale": Key("15m", "a worker without a sign for so long gets no task", _duration),
    "word_within": Key(
        "45m",
        "how old work without a word may be in a push to an integration branch; 0: none may",
        _span,
    ),
    "artifact_notice": Key(1_000_000, "bytes of an artifact above which it says so", _whole),
    "artifact_limit": Key(10_000_000, "bytes of an artifact above which it is refused", _whole),
    "unattended": Key(
        "ok",
        "ok, warn or stop: what `atlas check` says of commits that name no session; at stop the"
        " hooks stop them too",
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
    "claim_default": Key("1h", "how long a task is claimed for", _hours),
    "claim_max": Key("4h", "how long a task can be claimed for", _hours),
    "start_within": Key(
        "15m", "an assigned task that is not started within this is offered again", _duration
    ),
    "max_retries": Key(
        3, "how often a task that failed is offered again, before it is a dead letter", _whole
    ),
    "done_unpushed": Key(
        "warn",
        "off, warn or stop: `task done` while commits of the session are on no remote",
        _choice("off", "warn", "stop"),
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
    "stop_every": Key(
        "15m",
        "a commit stops at most this often for what others wrote on the same files",
        _duration,
    ),
    "look_within": Key(
        "60m",
        "a commit stops if something is unread, and nothing was told for so long",
        _duration,
    ),
    "hot": Key(
        [],
        "patterns of files that everybody touches: what is written on them stops no commit",
        _texts,
    ),
    "integration": Key(
        [],
        "branches (`release/*`: by pattern) whose pushes need a status (none: the remote's default"
        " one, else main, master)",
        _texts,
    ),
    "stores": Key(
        {}, "other stores by name, each with its git address: for what is `shared`", _route
    ),
    "resources": Key(
        {},
        "what names of resources mean: `about` in words, and `paths` that are the same",
        _resources,
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


def valid(key: str, value: object) -> None:
    """Raises Usage if the key cannot have the value."""
    KEYS[key].check(key, value)


def unknown(key: str) -> NotFound:
    """The error for a key that the policy does not have."""
    hint = names.hint(key, KEYS, f"the keys are {', '.join(KEYS)}")
    if key in own.CHOICES:
        hint = f"it is each user's own: {key} in atlas/atlas.yaml in the folder of your settings"
    return NotFound(f"there is no key {key[:80]!r} in the policy", hint)


def address(url: str) -> str:
    """The `host/path` of a remote, the same for https and ssh, without the user; empty for a place
    that only one machine knows."""
    match = re.match(_ADDRESS, url)
    if match is None:
        return ""
    host, path = match["host"] or match["h"], match["path"] or match["p"]
    return f"{host}/{path.lstrip('/')}".lower() if host else ""

"""Shared resources: the resources whose leases are kept in another store, which several projects
share, and the addresses of such stores."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from ..errors import NotFound, Usage
from ..model import names

KEYS = ("stores", "shared")
_HOST = r"(?:[A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]+)?"
_USER = r"(?:[A-Za-z0-9_][A-Za-z0-9._-]*@)?"
# What git may be sent to: no program (`ext::`), no option, nothing that carries a password.
_URL = (
    rf"https://{_HOST}/[^\s@]+|ssh://{_USER}{_HOST}/[^\s-]\S*|{_USER}[A-Za-z0-9][A-Za-z0-9.-]+:(?!//)[^\s:-]\S*|"
    r"(?:file://)?/[^/\n][^\n]*"
)
_ADDRESS = (
    "https://, ssh://, host:path or an absolute path, without a password: git's credential helpers"
    " know it"
)
_PATTERN = r"(?:[a-z0-9._*?!\[\]-]+|(?P<kind>[a-z0-9][a-z0-9._-]*):\S.*)"
_OWN = ("path", "glob", "repo", "lease")  # kinds of resource that are one repository's, or none


class Routes(NamedTuple):
    """The stores that resources are shared through. `stores` holds a git address by name. `shared`
    holds the name of a store by pattern; the first pattern that matches counts, and an empty name
    stands for the project's own store."""

    stores: Mapping[str, str]
    shared: Mapping[str, str]

    def store(self, resource: str) -> str:
        """The store that keeps a resource's leases; empty for the project's own. A pattern without
        a colon matches only names without one."""
        for pattern, name in self.shared.items():
            if (":" in pattern) == (":" in resource) and fnmatchcase(resource, pattern):
                return name
        return ""

    def used(self) -> dict[str, list[str]]:
        """The patterns of each store that is used."""
        patterns: dict[str, list[str]] = {}
        for pattern, name in self.shared.items():
            if name:
                patterns.setdefault(name, []).append(pattern)
        return patterns

    def url(self, name: str) -> str:
        """The address of a store. Raises NotFound if the policy does not name the store."""
        if name not in self.stores:
            raise NotFound(
                f"{', '.join(self.used()[name])} is shared through {name}, which `stores` does not"
                " name",
                "atlas config set stores '{\"" + name + "\": URL}' names it",
                code="no_store",
            )
        return self.stores[name]


def of(policy: Mapping[str, Any], own: Mapping[str, Any]) -> Routes:
    """The routes of the policy, with those of the user's own file (`own.parse`) before them."""
    shared = own.get("shared", {})
    rest = {pattern: name for pattern, name in policy["shared"].items() if pattern not in shared}
    return Routes({**policy["stores"], **own.get("stores", {})}, {**shared, **rest})


def valid(key: str, value: object) -> None:
    """Raises Usage if a value is no map for its key. An address is not printed: it may hold a
    password."""
    form = {
        "stores": '{"box": "https://forge.example/group/box.git"}',
        "shared": '{"gpu*": "box"}',
    }[key]
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise Usage(f"{key} is a map like {form}, not {type(value).__name__}")
    for left, right in value.items():
        if key == "stores":
            names.name(left, "name of a store")
            if not re.fullmatch(_URL, right) or not names.one_line(right) or len(right) > 500:
                raise Usage(
                    f"stores: the address of {left} is none that git may be sent to", _ADDRESS
                )
        else:
            _pattern(left)
            if right:
                names.name(right, "name of a store")


def _pattern(given: str) -> None:
    """Raises Usage if a text is no pattern of resources that can be shared."""
    short = len(given) <= 100 and names.one_line(given)
    match = re.fullmatch(_PATTERN, given) if short else None
    if match is None:
        raise Usage(
            f"shared: {given[:80]!r} is no pattern of resources", 'like "gpu*" or "port:80*"'
        )
    if match["kind"] in _OWN:
        raise Usage(
            f"shared: {given[:80]!r} is no pattern of what can be shared: a path, a glob and"
            " repo:run are one repository's",
            'like "gpu*" or "port:80*"',
        )

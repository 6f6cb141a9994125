"""Shared names: what the policy's `resources` says of them, and which paths mean the same thing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import AtlasError, Usage
from ..model import names
from .routes import Routes

ABOUT = 200  # characters that say what a resource is
FORM = '{"rig": {"about": "the test rig", "paths": ["tools/rig"]}}'


def valid(key: str, value: object) -> None:
    """Raises Usage if a value does not declare resources."""
    if not isinstance(value, dict):
        raise Usage(f"{key} is a map like {FORM}, not {type(value).__name__}")
    for name, fields in value.items():
        names.name(str(name), "resource")
        if not isinstance(fields, dict) or not set(fields) <= {"about", "paths"}:
            raise Usage(f"{key}: {name} has `about` and `paths`, and nothing else: {FORM}")
        about, paths = fields.get("about", ""), fields.get("paths", [])
        if not isinstance(about, str) or not isinstance(paths, list):
            raise Usage(f"{key}: of {name}, `about` is a text and `paths` a list: {FORM}")
        if len(about) > ABOUT or (about and not names.one_line(about)):
            raise Usage(f"{key}: {name} is about one line of at most {ABOUT} characters")
        for path in paths:
            _path(key, name, path)


def _path(key: str, name: str, path: object) -> None:
    """Raises Usage if something is no path from the repository's root."""
    try:
        if isinstance(path, str) and names.resource(f"path:/{path}") == f"path:{path}":
            return
    except AtlasError:
        pass
    raise Usage(f"{key}: {str(path)[:80]!r} of {name} is no path from the repository's root", FORM)


def is_own(policy: Mapping[str, Any], resource: str) -> bool:
    """Whether the leases on a resource are kept in the project's own store, as far as the policy
    says."""
    return not policy["shared"] or not Routes({}, policy["shared"]).store(resource)


def declared(policy: Mapping[str, Any]) -> dict[str, str]:
    """The declared resources of the project's own store, each with what it is."""
    return {
        name: str(fields.get("about", ""))
        for name, fields in policy["resources"].items()
        if is_own(policy, name)
    }


def parts(policy: Mapping[str, Any], resource: str) -> tuple[str, ...]:
    """The names that a resource is in the way of: itself, and the paths that mean it. A name that
    is kept in another store means no path of this one."""
    fields = policy["resources"].get(resource)
    if fields is None or not is_own(policy, resource):
        return (resource,)
    return resource, *(f"path:{path}" for path in fields.get("paths", ()))


def meet(policy: Mapping[str, Any], first: str, second: str) -> bool:
    """Whether two resources are in each other's way."""
    if not policy["resources"]:
        return names.overlap(first, second)
    return any(
        names.overlap(own, other) for own in parts(policy, first) for other in parts(policy, second)
    )

"""The spelling of a path on a disk that takes several for one file: upper and lower case, composed
and decomposed letters."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from ..records import lease
from .env import Env


def known(env: Env, path: str) -> str:
    """The path as git tracks it, else as somebody leases it. If neither knows it, its folders are
    spelled so, and the rest as it was given."""
    parts = path.split("/")
    for depth in range(len(parts), 0, -1):
        for other in (*_tracked(env, "/".join(parts[:depth])), *_leased(env)):
            spelled = other.split("/")[:depth]
            if _folded("/".join(spelled)) == _folded("/".join(parts[:depth])):
                return "/".join([*spelled, *parts[depth:]])
    return path


def _tracked(env: Env, path: str) -> Iterator[str]:
    """A path that git tracks in any spelling of this one, or below it."""
    forms = {unicodedata.normalize(form, path) for form in ("NFC", "NFD")}
    specs = [f":(top,icase,literal){form}" for form in sorted(forms)]
    out = env.git.ask("ls-files", "-z", "--full-name", "--", *specs)[1]
    if out:
        yield out.partition(b"\0")[0].decode(errors="surrogateescape")


def _leased(env: Env) -> Iterator[str]:
    """The paths that are leased now."""
    for _, row in env.index.live(lease.FOLDER, env.now()):
        if row["resource"].startswith("path:"):
            yield row["resource"].removeprefix("path:")


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()

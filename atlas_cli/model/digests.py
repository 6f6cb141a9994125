"""SHA-1 and SHA-256 of bytes.

`hashlib` loads OpenSSL, which costs each start more than a millisecond. Python's own lean modules
come first, as in the standard library's `random`; what is large is worth the loading."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import _Hash

LARGE = 1 << 18  # bytes from which on OpenSSL is faster, its loading included


def sha1(data: bytes) -> _Hash:
    """The SHA-1 of bytes, with `digest()` and `hexdigest()`."""
    return _maker("sha1", len(data))(data)


def sha256(data: bytes) -> _Hash:
    """The SHA-256 of bytes, with `digest()` and `hexdigest()`."""
    return _maker("sha256", len(data))(data)


def _maker(name: str, size: int) -> Callable[[bytes], _Hash]:
    if size < LARGE and name in _LEAN:
        return _LEAN[name]
    import hashlib

    maker: Callable[[bytes], _Hash] = getattr(hashlib, name)
    return maker


def _lean() -> dict[str, Callable[[bytes], _Hash]]:
    """The hashes that this Python has of its own."""
    makers: dict[str, Callable[[bytes], _Hash]] = {}
    for module, name in (("_sha1", "sha1"), ("_sha256", "sha256"), ("_sha2", "sha256")):
        if name in makers:
            continue
        try:
            makers[name] = getattr(__import__(module), name)
        except ImportError:
            continue
    return makers


_LEAN = _lean()

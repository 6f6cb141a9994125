"""New objects of git on their way into the store, as one pack."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Collection, Mapping

from ..model.digests import sha1, sha256

MANY = 200  # objects of a write from which on they stay one file
_TYPES = {"commit": 1, "tree": 2, "blob": 3}


def taker(objects: Collection[str]) -> tuple[str, str]:
    """The git command that takes a pack into the store: many objects stay one file, since each file
    costs a sync."""
    return ("unpack-objects", "-q") if len(objects) <= MANY else ("index-pack", "--stdin")


def pack(objects: Mapping[str, tuple[str, bytes]], width: int) -> bytes:
    """git's pack format (version 2) of whole objects."""
    out = [b"PACK" + struct.pack(">II", 2, len(objects))]
    for kind, data in objects.values():
        size = len(data)
        byte = (_TYPES[kind] << 4) | (size & 15)
        size >>= 4
        head = bytearray()
        while size:
            head.append(byte | 0x80)
            byte, size = size & 0x7F, size >> 7
        head.append(byte)
        out.append(bytes(head) + zlib.compress(data, 1))
    body = b"".join(out)
    return body + (sha256 if width == 64 else sha1)(body).digest()

"""The lean digests are those of `hashlib`, for any size."""

from __future__ import annotations

import hashlib

import pytest

from atlas_cli.model import digests


@pytest.mark.parametrize(
    "size", [0, 1, 63, 64, 65, 1000, digests.LARGE - 1, digests.LARGE, digests.LARGE + 1]
)
def test_they_are_those_of_the_standard_library(size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    data = data[:size]
    assert digests.sha1(data).hexdigest() == hashlib.sha1(data).hexdigest()
    assert digests.sha256(data).digest() == hashlib.sha256(data).digest()

"""A notebook that is damaged while its disk goes ends no command: what it would have noted is asked
for again."""

from __future__ import annotations

from pathlib import Path

import pytest

from atlas_cli.store.notebook import FILE, Notebook


def test_what_cannot_be_mended_goes_on_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    file = tmp_path / FILE
    book = Notebook(file, said.append)
    book.note("ann", 0, 1, [("key", "version", 0)])
    book.close()
    for end in ("", "-wal", "-shm"):
        Path(f"{file}{end}").unlink(missing_ok=True)
    file.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)

    def away(self: Path, target: object) -> Path:
        raise OSError(5, "Input/output error", str(self))

    monkeypatch.setattr(Path, "rename", away)
    again = Notebook(file, said.append)
    again.note("ann", 0, 1, [("key", "version", 0)])
    assert again.noted("ann", "key") == 1 and not again.keeps
    assert len(said) == 1 and "cannot be begun anew" in said[0]
    again.close()

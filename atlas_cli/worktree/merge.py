"""Three-way merge of texts, by git."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ..errors import Failed
from ..store.git import Git


def three_way(base: str, theirs: str, mine: str, names: tuple[str, str, str]) -> tuple[str, int]:
    """The merged text, and the number of conflicts that are marked in it. `names` label mine, base
    and theirs. Raises Failed if git cannot merge."""
    with tempfile.TemporaryDirectory(prefix="atlas-") as folder:
        files = [Path(folder, name) for name in ("mine", "base", "theirs")]
        for file, text in zip(files, (mine, base, theirs), strict=True):
            file.write_bytes(text.encode())
        labels = [word for name in names for word in ("-L", name)]
        code, out, err = Git(None, cwd=folder).ask(
            "merge-file", "-p", "--diff3", *labels, *(str(f) for f in files)
        )
    if code < 0 or code > 127:
        raise Failed(f"git merge-file failed: {err}")
    return out.decode(), code

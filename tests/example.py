"""Writes `.atlas-example/` anew, by the tool itself: `python -m tests.example`. Its README is
kept."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / ".atlas-example"
# What no command writes: a text from a browser.
BY_HAND = {
    "inbox/2026-11-29 question.md": b"# Does it run without a compiler?\n\n"
    b"I only have a browser here; the build machine has none.\n"
}


def made(folder: Path) -> dict[str, bytes]:
    """The files of the store that the tour leaves, by path."""
    subprocess.run(
        [sys.executable, "-m", "atlas_cli", "tour", "--keep", str(folder)],
        cwd=ROOT,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    store = folder / "chat/.git/atlas/store.git"
    archive = subprocess.run(
        ["git", f"--git-dir={store}", "archive", "atlas"], check=True, capture_output=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        found = {}
        for member in tar.getmembers():
            if member.isfile() and (file := tar.extractfile(member)) is not None:
                found[member.name] = file.read()
        return found | BY_HAND


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = made(Path(folder, "tour"))
    shutil.rmtree(EXAMPLE / "store", ignore_errors=True)
    for name, data in files.items():
        path = EXAMPLE / "store" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


if __name__ == "__main__":
    main()

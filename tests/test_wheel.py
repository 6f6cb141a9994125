"""The wheel, built from the tree: what `pip install` puts where programs and `man` look for it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from atlas_cli.cli import pages

from .conftest import ROOT

# What may lie in a tree and is not of it.
NOT_OF_IT = shutil.ignore_patterns(".git", ".venv", ".atlas", "__pycache__", ".*_cache", "dist")


@pytest.mark.long
def test_the_wheel_holds_the_pages_the_templates_and_the_manual(tmp_path: Path) -> None:
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed: nothing here builds a wheel")
    source, out = tmp_path / "source", tmp_path / "out"
    shutil.copytree(ROOT, source, ignore=NOT_OF_IT)
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index"]
    done = subprocess.run([*pip, "-w", str(out), str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,) = out.glob("*.whl")
    with ZipFile(wheel) as file:
        file.extractall(tmp_path / "wheel")
        names = set(file.namelist())
    for folder, place in (
        ("atlas_cli/help", "atlas_cli/help"),
        ("templates", "atlas_cli/templates"),
    ):
        files = [path for path in (ROOT / folder).rglob("*") if path.is_file()]
        wanted = {f"{place}/{path.relative_to(ROOT / folder).as_posix()}" for path in files}
        assert wanted and wanted <= names, wanted - names
    assert {f"atlas_cli/help/{topic}.md" for topic in pages.TOPICS} <= names

    (shared,) = (tmp_path / "wheel").glob("*.data/data")
    prefix = tmp_path / "prefix"
    shutil.copytree(shared, prefix)
    (prefix / "bin").mkdir()
    (prefix / "bin/git-atlas").touch(0o755)
    if shutil.which("man") is None:
        pytest.skip("there is no man here")
    env = {key: value for key, value in os.environ.items() if not key.startswith("MAN")}
    env["PATH"] = f"{prefix / 'bin'}{os.pathsep}{env['PATH']}"
    for name in ("atlas", "git-atlas"):
        found = subprocess.run(["man", "-w", name], env=env, capture_output=True, text=True)
        # (man may name the page to which another one leads.)
        assert Path(found.stdout.strip()).parent == prefix / "share/man/man1", (name, found)

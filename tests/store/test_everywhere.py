"""Every command in every surrounding: an exit code of the table, one line that names the thing, and
nothing that was recorded is lost."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from atlas_cli.errors import EXITS

from ..conftest import ROOT, environment
from ..contract import VERBS, Verb, call
from ..contract import places as places

PYTHON = f"{shlex.quote(sys.executable)} -P -m atlas_cli"
FEW = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")  # root, whom modes bind too
# They last for seconds, have nothing of the store in them, or end as another program does.
BESIDE: list[Verb] = [("tour",), ("wait",), ("help",), ("completion",), ("git",), ("lease", "run")]


class Here(NamedTuple):
    """A copy of a store with a record of each kind and a live session, and how a command is run in
    it: `shell` has the command in place of {}."""

    repo: Path
    env: dict[str, str]
    shell: str = "{}"
    prefix: tuple[str, ...] = ()
    cwd: Path | None = None


Make = Callable[[Here, Path], Iterator[Here]]


def no_home(here: Here, tmp: Path) -> Iterator[Here]:
    del here.env["HOME"], here.env["XDG_STATE_HOME"], here.env["XDG_CONFIG_HOME"]
    yield here


def empty(here: Here, tmp: Path) -> Iterator[Here]:
    yield here._replace(env={key: here.env[key] for key in ("PATH", "PYTHONPATH", "ATLAS_SESSION")})


def plain_locale(here: Here, tmp: Path) -> Iterator[Here]:
    plain = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    yield here._replace(env=here.env | plain)


def closed_input(here: Here, tmp: Path) -> Iterator[Here]:
    yield here._replace(shell="{} <&-")


def closed_output(here: Here, tmp: Path) -> Iterator[Here]:
    yield here._replace(shell="{} >&-")


def full_output(here: Here, tmp: Path) -> Iterator[Here]:
    yield here._replace(shell="{} >/dev/full")


def long_path(here: Here, tmp: Path) -> Iterator[Here]:
    folder = tmp
    while len(os.fsencode(folder)) < 600:
        folder /= "a-folder-with-a-long-name" * 3
    folder.parent.mkdir(parents=True)
    yield here._replace(repo=Path(shutil.move(here.repo, folder)))


def gone(here: Here, tmp: Path) -> Iterator[Here]:
    there = tmp / "gone"
    shell = (
        f"cd {there} && rmdir {there} && {{}} -C {here.repo}; code=$?; mkdir {there}; exit $code"
    )
    there.mkdir()
    yield here._replace(shell=shell)


def private(here: Here, tmp: Path) -> Iterator[Here]:
    yield here._replace(shell="umask 077; {}")


def open_to_all(here: Here, tmp: Path) -> Iterator[Here]:
    yield here._replace(shell="umask 000; {}")


def read_only_store(here: Here, tmp: Path) -> Iterator[Here]:
    with _read_only(here.repo / ".git"):
        yield here._replace(prefix=FEW)


def read_only_notebook(here: Here, tmp: Path) -> Iterator[Here]:
    files = [*(here.repo / ".git/atlas").glob("local-*.sqlite*")]
    with _read_only(*files):
        yield here._replace(prefix=FEW)


def full_disk(here: Here, tmp: Path) -> Iterator[Here]:
    disk = tmp / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "none", disk])
    if mounted.returncode:
        pytest.skip("no small disk can be made here")
    try:
        repo = Path(shutil.copytree(here.repo, disk / "repo", symlinks=True))
        free = os.statvfs(disk)
        (disk / "rest").write_bytes(bytes(free.f_bavail * free.f_frsize - 4096))
        yield here._replace(repo=repo)
        (disk / "rest").unlink()
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def another_repository(here: Here, tmp: Path) -> Iterator[Here]:
    yield here._replace(env=here.env | {"GIT_DIR": str(tmp / "other.git"), "GIT_WORK_TREE": "/"})


def unknown_user(here: Here, tmp: Path) -> Iterator[Here]:
    prefix = ("setpriv", "--reuid=54321", "--regid=54321", "--clear-groups")
    env = {key: value for key, value in here.env.items() if key not in ("HOME", "TMPDIR")}
    for folder in here.repo.parents[:4]:
        folder.chmod(folder.stat().st_mode | 0o011)
    asked = [*prefix, "sh", "-c", f"{PYTHON} --help"]
    if subprocess.run(asked, env=env, cwd=here.repo, capture_output=True).returncode:
        pytest.skip("another user cannot run this Python")
    _own(here.repo, 54321)
    yield here._replace(prefix=prefix, env=env)
    _own(here.repo, os.geteuid())


EVERY: list[Make] = [
    no_home,
    empty,
    plain_locale,
    closed_input,
    closed_output,
    full_output,
    long_path,
    gone,
    private,
    open_to_all,
    read_only_store,
    read_only_notebook,
    full_disk,
    another_repository,
    unknown_user,
]


def _own(top: Path, user: int) -> None:
    for path in (top, *top.rglob("*")):
        os.chown(path, user, user, follow_symlinks=False)


@contextmanager
def _read_only(*tops: Path) -> Iterator[None]:
    paths = [path for top in tops for path in (top, *(top.rglob("*") if top.is_dir() else ()))]
    modes = {path: path.stat().st_mode for path in paths}
    for path in modes:
        path.chmod(modes[path] & 0o555)
    try:
        yield
    finally:
        for path in paths:
            if path.exists():
                path.chmod(modes[path])


@pytest.mark.parametrize("make", EVERY, ids=lambda make: make.__name__)
def test_every_command(
    make: Make, places: tuple[Path, str], tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    env = environment(places[0]) | {"PYTHONPATH": str(ROOT)}
    repo = Path(shutil.copytree(places[0] / "repo", tmp_path / "repo", symlinks=True))
    begun = _run(Here(repo, env), ("begin",), ["--goal", "all of it", "--quiet"])
    here = Here(repo, env | {"ATLAS_SESSION": begun.stdout.split()[-1]})
    before = _run(here, ("git",), ["rev-parse", "atlas"]).stdout.strip()
    nth = EVERY.index(make)
    verbs = [verb for verb in VERBS if verb not in BESIDE]
    if not pytestconfig.getoption("--long"):
        verbs = verbs[nth % 10 :: 10]
    wrong = []
    surrounding = contextmanager(make)
    with surrounding(here, tmp_path) as where:
        for verb in verbs:
            words = [word.replace("OUT", str(tmp_path / "out")) for word in call(verb, places[1])]
            done = _run(where, verb, words)
            lines = [line for line in done.stderr.split("\n") if line.startswith("atlas: ")]
            odd = ("Traceback", "internal error", "Exception ignored")
            if done.returncode not in EXITS or len(lines) > 1 or any(map(done.stderr.count, odd)):
                wrong.append((" ".join(verb), done.returncode, done.stderr[-600:]))
    assert wrong == []
    there = here._replace(repo=where.repo if where.repo.exists() else repo)
    whole = _run(there, ("verify",), ["--full"])
    assert whole.returncode == 0, whole.stderr
    assert _run(there, ("git",), ["merge-base", "--is-ancestor", before, "atlas"]).returncode == 0


def _run(here: Here, verb: Verb, words: list[str]) -> subprocess.CompletedProcess[str]:
    script = here.shell.format(f"{PYTHON} {shlex.join([*verb, *words])}")
    return subprocess.run(
        [*here.prefix, "sh", "-c", script],
        cwd=here.cwd or here.repo,
        env=here.env,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
    )

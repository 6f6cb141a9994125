"""Whatever bytes the branch brings: every reader ends, says the same of it, and writes nowhere
else; a repair ends in a store that verifies."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from atlas_cli.store import history
from atlas_cli.store import repo as place
from atlas_cli.store.index import Index
from atlas_cli.store.store import Store
from atlas_cli.verify import audit
from atlas_cli.verify.receive import Push, violations

from ..conftest import environment
from .crew import Worker, crew
from .hostile import Hostile
from .snap import difference, picture
from .tables import difference as difference_of_tables

EACH = 50  # hostile commits a store
READS = (
    "status",
    "",
    "lease list --all",
    "artifact list",
    "decision list",
    "task list --all",
    "session list --all",
    "gate list",
    "signal list",
    "log -n 100",
    "view",
    "verify",
    "verify --full",
    "who src",
)
Said = set[tuple[str, str, str]]


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> tuple[Worker, Path]:
    """A process of its own, whose memory is told."""
    top = tmp_path_factory.mktemp("fuzz")
    with crew([top], environment(top)) as [worker]:
        yield worker, top  # type: ignore[misc]


def said(findings: object) -> Said:
    return {(one.commit, one.violation.rule, one.violation.path) for one in findings}  # type: ignore[attr-defined]


def peak() -> int:
    """The most memory, in MB, that a child of this process ever had."""
    most = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = dict(line.partition(":")[::2] for line in status.read_text().split("\n"))
        except OSError:
            continue
        if int(lines.get("PPid", 0)) == os.getpid() or "tests.store.worker" in _command(
            status.parent
        ):
            most = max(most, int(lines.get("VmHWM", "0 kB").split()[0]) // 1024)
    return most


def _command(folder: Path) -> str:
    try:
        return (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def ran(worker: Worker, repo: Path, form: str, codes: tuple[int, ...]) -> str:
    began = time.monotonic()
    done = worker("-C", str(repo), *form.split())
    assert done.code in codes, (form, done.code, done.out[-1500:], done.err[:1500], done.err[-500:])
    assert "internal error" not in done.err and "Traceback" not in done.err + done.out, (
        form,
        done.err[-2000:],
    )
    assert time.monotonic() - began < 60, form  # a guard against what does not end, no timing
    return done.err


def one_store(
    apart: tuple[Worker, Path], written: Path, seed: int, tmp_path: Path, repaired: bool = True
) -> None:
    worker, _ = apart
    repo, hub = tmp_path / "repo", tmp_path / "hub.git"
    shutil.copytree(written, repo, symlinks=True, ignore=shutil.ignore_patterns(".atlas"))
    shutil.copytree(repo / ".git/atlas/store.git", hub, ignore=shutil.ignore_patterns("*.lock"))
    with (repo / ".git/config").open("a") as out:
        out.write(
            f'[remote "origin"]\n\turl = {hub}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n'
        )
    worker.session = None
    ran(worker, repo, "sync", (0,))
    ran(worker, repo, "begin --new --goal repair --actor fuzz", (0,))
    ran(worker, repo, "config set durability fast", (0,))
    ran(worker, repo, "sync", (0,))
    hostile = Hostile(hub, seed)
    hostile.head = (hub / "refs/heads/atlas").read_text().strip()
    old, walk = hostile.head, [hostile.tree(hostile.head)]
    while walk:  # so that it knows what good records look like
        for mode, _, oid in hostile.rows(walk.pop()):
            walk += [oid] if mode == b"40000" else []
            hostile.get(oid)
    deeds = [hostile.any() for _ in range(EACH)]
    hostile.done()
    before = picture(
        tmp_path, ["hub.git", *(f"repo/{name}" for name in (".git/atlas", ".atlas", ".git/info"))]
    )

    ran(worker, repo, "sync", (0,))
    for form in READS:
        ran(worker, repo, form, (0, 7, 9))
    where = place.find(str(repo))
    store, index_of = Store.open(where), Store.open(where)
    report = audit.audit(store, store.head(), full=True)
    fetched = audit.range_violations(store.git, 40, old, hostile.head, index_of.at(store.head()))
    received = violations(store.git, where, Push(old, hostile.head, "refs/heads/atlas"))
    whole = said(report.open)
    assert said(fetched) == said(received) == whole, (
        deeds,
        said(fetched) ^ whole,
        said(received) ^ whole,
    )
    grown, built = (Index(Path(":memory:"), store.git) for _ in range(2))
    for commit in history.between(store.git, old, hostile.head):
        grown.sync(commit.oid)
    built.sync(hostile.head)
    assert difference_of_tables(grown, built) == {}, deeds
    store.close(), index_of.close()

    ran(worker, repo, "doctor", (0, 1))
    told = ""
    if repaired:
        told = ran(worker, repo, "doctor --fix", (0,))
        for form in ("verify --full", "doctor", "status", "sync"):
            ran(worker, repo, form, (0,))
    assert (
        difference(
            before,
            picture(
                tmp_path, ["hub.git", *(f"repo/{n}" for n in (".git/atlas", ".atlas", ".git/info"))]
            ),
        )
        == []
    ), told
    assert peak() < 500, deeds
    shutil.rmtree(tmp_path / "repo"), shutil.rmtree(hub)


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(3, 8))]
)
def test_whatever_bytes_the_branch_brings(
    seed: int, apart: tuple[Worker, Path], written: object, tmp_path: Path
) -> None:
    one_store(apart, written[0], seed, tmp_path, True)  # type: ignore[index]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 140))
def test_whatever_bytes_twenty_thousand_commits_bring(
    seed: int, apart: tuple[Worker, Path], written: object, tmp_path: Path
) -> None:
    for nth in range(10):
        (tmp_path / str(nth)).mkdir()
        one_store(apart, written[0], 1000 * seed + nth, tmp_path / str(nth))  # type: ignore[index]

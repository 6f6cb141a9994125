"""Housekeeping in the store beside its writers loses nothing, and neither does the loss of what is
only a cache."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from atlas_cli.store import housekeeping, repo
from atlas_cli.store.store import Store

from ..conftest import INDEX, NOTEBOOK, Atlas, Git, Result
from .crew import Worker, crew
from .hand import Hand, Seen
from .test_crash import Shop, shop

__all__ = ["shop"]
KEEPING = {
    "gc": ("gc", "--quiet"),
    "repack": ("repack", "-adkq"),
    "pack-refs": ("pack-refs", "--all"),
    "gc now": ("gc", "--quiet", "--prune=now"),
    "prune now": ("prune", "--expire=now"),
}


@contextmanager
def kept_house(shop: Shop, argv: tuple[str, ...]) -> Iterator[list[int]]:
    """git's housekeeping again and again; the exit codes so far."""
    over, codes = threading.Event(), list[int]()

    def keep() -> None:
        while not over.is_set():
            codes.append(
                subprocess.run(
                    ["git", *argv], cwd=shop.bare, env=shop.env, capture_output=True, check=False
                ).returncode
            )

    thread = threading.Thread(target=keep)
    thread.start()
    try:
        yield codes
    finally:
        over.set()
        thread.join()


def busy(worker: Worker, name: str, count: int) -> list[tuple[str, Result]]:
    worker.begin(name)
    wishes = [f"{name}-{number}" for number in range(count)]
    return [
        (one, worker("lease", "take", one, "--why", "w", "--operation", one, "--json"))
        for one in wishes
    ]


SIZES = pytest.mark.parametrize(
    ("workers", "count"), [(2, 12), pytest.param(4, 150, marks=pytest.mark.long)]
)


@SIZES
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.long) if n == "prune now" else n for n in KEEPING]
)
def test_what_is_acknowledged_beside_housekeeping_is_there(
    shop: Shop, name: str, workers: int, count: int
) -> None:
    with (
        crew([shop.repo] * workers, shop.env) as hands,
        kept_house(shop, KEEPING[name]) as codes,
        ThreadPoolExecutor(workers) as pool,
    ):
        lives = pool.map(
            busy, hands, [f"w{number}" for number in range(workers)], [count] * workers
        )
        ends = [end for life in lives for end in life]
    assert [end for end in ends if end[1].code != 0] == []
    shop.kept([operation for operation, _ in ends])
    # What could take an object away that is just being written, git refuses to do in this
    # repository.
    assert len(codes) > 1 and ({0} if name in ("gc", "gc now", "pack-refs") else {0, 128}) >= set(
        codes
    )
    shop.whole()


def test_loose_objects_are_packed_in_the_background(
    filled: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = filled
    (shop.bare / "objects/17").mkdir(exist_ok=True)
    monkeypatch.setattr(housekeeping, "LOOSE", 0)
    store = Store.open(repo.find(str(shop.repo)))
    housekeeping.pack_loose(store)
    for _ in range(600):
        if "count: 0\n" in shop.git("count-objects", "-v", cwd=shop.bare) + "\n":
            break
        time.sleep(0.1)
    else:
        raise AssertionError("they are still loose")
    shop.whole()
    assert shop.atlas("lease", "take", "gpu1", "--why", "w").code == 0


# What can become of a file, beside being taken away.
Damage = Callable[[Path], None]


def _gone(file: Path) -> None:
    file.unlink()


def _empty(file: Path) -> None:
    file.write_bytes(b"")


def _torn(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def _garbage(file: Path) -> None:
    file.write_bytes(os.urandom(20_000))


def _pages(file: Path) -> None:
    """What a power cut may leave: the first page is whole, the others are not."""
    data = file.read_bytes()
    file.write_bytes(data[:4096] + os.urandom(len(data) - 4096))


def _other(file: Path) -> None:
    """A sound database that is none of ours, though it says so."""
    number = sqlite3.connect(file).execute("PRAGMA user_version").fetchone()[0]
    file.unlink()
    with sqlite3.connect(file) as db:
        db.execute("CREATE TABLE another(thing)")
        db.execute(f"PRAGMA user_version={number}")
    db.close()


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


DAMAGES: dict[str, Damage] = {
    "gone": _gone,
    "empty": _empty,
    "torn": _torn,
    "garbage": _garbage,
    "pages": _pages,
    "other": _other,
    "folder": _folder,
}
QUESTIONS = (("lease", "list"), ("status",), ("decision", "list"), ("session", "list"), ("log",))


@pytest.fixture
def filled(
    store: tuple[Hand, Seen], quick: Atlas, git: Git, env: dict[str, str], tmp_path: Path
) -> Shop:
    """A store with a bit of everything in it, where commands cost little; and a session of this
    worktree."""
    found = Shop(tmp_path / "repo", quick, git, env)
    assert quick("begin", "--new", "--goal", "a third").code == 0
    assert quick("lease", "take", "gpu7", "--why", "w", "--for", "4h").code == 0
    return found


def answers(shop: Shop) -> list[object]:
    """What is asked and does not change from one moment to the next."""
    found = []
    for question in QUESTIONS:
        done = shop.atlas(*question, "--json")
        assert done.code == 0, done
        items = done.data.get("items", [done.data])
        found.append(
            [
                {key: item[key] for key in item if key not in ("seconds_left", "age", "last")}
                for item in items
            ]
        )
    return found


@pytest.mark.parametrize("damage", DAMAGES)
def test_whatever_becomes_of_the_index_every_command_answers_right(
    filled: Shop, damage: str
) -> None:
    index, before = filled.home / INDEX, answers(filled)
    DAMAGES[damage](index)
    assert answers(filled) == before
    if damage != "folder":
        DAMAGES[damage](index)
    done = filled.atlas("lease", "take", "gpu1", "--why", "w", "--json")
    assert (done.code, done.data["token"]) == (0, 2), done
    assert held(filled) == {"gpu0", "gpu1", "gpu7"}
    filled.whole()


def held(shop: Shop) -> set[str]:
    return {item["resource"] for item in shop.atlas("lease", "list", "--json").data["items"]}


@contextmanager
def read_only(file: Path) -> Iterator[None]:
    file.chmod(0o444)
    frozen = os.geteuid() == 0
    if frozen and (
        shutil.which("chattr") is None
        or subprocess.run(["chattr", "+i", file], check=False).returncode
    ):
        pytest.skip("nothing is read-only for root here")
    try:
        yield
    finally:
        if frozen:
            subprocess.run(["chattr", "-i", file], check=True)
        file.chmod(0o644)


def test_an_index_that_cannot_be_written_and_is_behind_is_no_obstacle(
    filled: Shop, tmp_path: Path
) -> None:
    index, old = filled.home / INDEX, tmp_path / "old"
    shutil.copy(index, old)
    assert filled.atlas("lease", "take", "gpu1", "--why", "w").code == 0
    before = answers(filled)
    shutil.copy(old, index)
    with read_only(index):
        assert answers(filled) == before
        assert filled.atlas("lease", "take", "gpu2", "--why", "w").code == 0
        assert held(filled) == {"gpu0", "gpu1", "gpu2", "gpu7"}
        filled.whole()
        assert index.read_bytes() == old.read_bytes()
    assert held(filled) == {"gpu0", "gpu1", "gpu2", "gpu7"}


def test_an_index_that_another_process_holds_half_changed_is_read_as_it_was(filled: Shop) -> None:
    before = answers(filled)
    db = sqlite3.connect(filled.home / INDEX, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    db.execute("DELETE FROM records")
    assert answers(filled) == before
    db.close()
    assert answers(filled) == before


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_notebook_is_set_aside_and_says_so(filled: Shop, damage: str) -> None:
    mine = {
        item["resource"]: item["holder"]
        for item in filled.atlas("lease", "list", "--json").data["items"]
    }["gpu7"]
    local = filled.home / NOTEBOOK
    DAMAGES[damage](local)
    harmed = local.read_bytes() if local.is_file() else b""
    # Which session this is was written there. What is in the store is still known.
    named = filled.atlas("lease", "renew", "gpu7", "--session", mine, "--json")
    assert named.code == 0, named
    if damage in ("torn", "garbage", "pages", "other"):
        [aside] = [
            file
            for file in filled.home.glob(f"{NOTEBOOK}.damaged-*")
            if file.name[-4:] not in ("-wal", "-shm")
        ]
        assert aside.read_bytes() == harmed and any(
            aside.name in notice for notice in named.json["notices"]
        )
    done = filled.atlas("lease", "take", "gpu2", "--why", "w", "--json")
    assert (done.code, done.json["error"]["code"]) == (5, "no_session"), done
    assert filled.atlas("begin", "--json").code == 0
    if damage != "folder":  # (which nobody can write into, so that nothing is remembered)
        assert filled.atlas("lease", "take", "gpu2", "--why", "w").code == 0
    filled.whole()

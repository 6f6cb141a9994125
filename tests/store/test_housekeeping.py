"""Housekeeping in the store beside its writers loses nothing, and neither does the loss of what is only a cache."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from ..conftest import Result
from .crew import Worker, crew
from .test_crash import Shop, shop

__all__ = ["shop"]
KEEPING = {
    "gc": ("gc", "--quiet"), "repack": ("repack", "-adkq"), "pack-refs": ("pack-refs", "--all"),
    "gc now": ("gc", "--quiet", "--prune=now"), "prune now": ("prune", "--expire=now"),
}  # fmt: skip


@contextmanager
def kept_house(shop: Shop, argv: tuple[str, ...]) -> Iterator[list[int]]:
    """git's housekeeping again and again; the exit codes so far."""
    over, codes = threading.Event(), list[int]()

    def keep() -> None:
        while not over.is_set():
            codes.append(
                subprocess.run(["git", *argv], cwd=shop.bare, env=shop.env, capture_output=True, check=False).returncode
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
    return [(one, worker("lease", "take", one, "--why", "w", "--operation", one, "--json")) for one in wishes]


SIZES = pytest.mark.parametrize(("workers", "count"), [(2, 12), pytest.param(4, 150, marks=pytest.mark.long)])


@SIZES
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.long) if n == "prune now" else n for n in KEEPING])
def test_what_is_acknowledged_beside_housekeeping_is_there(shop: Shop, name: str, workers: int, count: int) -> None:
    with crew([shop.repo] * workers, shop.env) as hands, kept_house(shop, KEEPING[name]) as codes:
        with ThreadPoolExecutor(workers) as pool:
            lives = pool.map(busy, hands, [f"w{number}" for number in range(workers)], [count] * workers)
            ends = [end for life in lives for end in life]
    # Pruned "now", what is just being written may be pruned too: then the write says no, and is not there.
    allowed = {0, 1, 10} if "now" in name else {0}
    assert [end for end in ends if end[1].code not in allowed] == []
    log = shop.log()
    assert [end for end in ends if end[1].code != 10 and log.count(end[0]) != (end[1].code == 0)] == []
    assert len(codes) > 1 and 0 in codes
    shop.whole()


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
    "gone": _gone, "empty": _empty, "torn": _torn, "garbage": _garbage, "pages": _pages, "other": _other, "folder": _folder,
}  # fmt: skip
QUESTIONS = (("lease", "list"), ("status",), ("decision", "list"), ("session", "list"), ("log",))


def filled(shop: Shop) -> None:
    for argv in (
        ("lease", "take", "gpu0", "gpu1", "--why", "w", "--for", "4h"),
        ("status", "write", "-m", "Done: the parser."),
        (
            "decision",
            "add",
            "--title",
            "t",
            "--recommended",
            "a",
            "--chosen",
            "b",
            "--stance",
            "disagreed",
            "--why",
            "w",
        ),
    ):
        assert shop.atlas(*argv).code == 0


def answers(shop: Shop) -> list[object]:
    """What is asked and does not change from one moment to the next."""
    found = []
    for question in QUESTIONS:
        done = shop.atlas(*question, "--json")
        assert done.code == 0, done
        items = done.data.get("items", [done.data])
        found.append([{key: item[key] for key in item if key not in ("seconds_left", "age", "last")} for item in items])
    return found


@pytest.mark.parametrize("damage", DAMAGES)
def test_whatever_becomes_of_the_index_every_command_answers_right(shop: Shop, begun: str, damage: str) -> None:
    filled(shop)
    index, before = shop.home / "index.sqlite", answers(shop)
    DAMAGES[damage](index)
    assert answers(shop) == before
    if damage != "folder":
        DAMAGES[damage](index)
    done = shop.atlas("lease", "take", "gpu2", "--why", "w", "--json")
    assert (done.code, done.data["token"]) == (0, 1), done
    held = {item["resource"] for item in shop.atlas("lease", "list", "--json").data["items"]}
    assert held == {"gpu0", "gpu1", "gpu2"}
    shop.whole()


@contextmanager
def read_only(file: Path) -> Iterator[None]:
    file.chmod(0o444)
    frozen = os.geteuid() == 0
    if frozen and (shutil.which("chattr") is None or subprocess.run(["chattr", "+i", file], check=False).returncode):
        pytest.skip("nothing is read-only for root here")
    try:
        yield
    finally:
        if frozen:
            subprocess.run(["chattr", "-i", file], check=True)
        file.chmod(0o644)


def test_an_index_that_cannot_be_written_and_is_behind_is_no_obstacle(shop: Shop, tmp_path: Path) -> None:
    index = shop.home / "index.sqlite"
    shutil.copy(index, tmp_path / "old")
    filled(shop)
    before = answers(shop)
    shutil.copy(tmp_path / "old", index)
    with read_only(index):
        assert answers(shop) == before
        assert shop.atlas("lease", "take", "gpu2", "--why", "w").code == 0
        shop.whole()
        assert index.read_bytes() == (tmp_path / "old").read_bytes()
    assert shop.atlas("lease", "list", "--json").data["total"] == 3


def test_an_index_that_a_dead_process_holds_half_changed_is_read_as_it_was(shop: Shop) -> None:
    filled(shop)
    before = answers(shop)
    db = sqlite3.connect(shop.home / "index.sqlite", isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    db.execute("DELETE FROM records")
    assert answers(shop) == before
    db.close()
    assert answers(shop) == before


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_notebook_is_set_aside_and_says_so(shop: Shop, begun: str, damage: str) -> None:
    filled(shop)
    local = shop.home / "local.sqlite"
    DAMAGES[damage](local)
    harmed = local.read_bytes() if local.is_file() else b""
    # Which session this is was written there. What is in the store is still known.
    named = shop.atlas("lease", "renew", "gpu0", "--session", begun, "--json")
    assert named.code == 0, named
    if damage in ("torn", "garbage", "pages", "other"):
        [aside] = shop.home.glob("local.sqlite.damaged-*")
        assert aside.read_bytes() == harmed and any(aside.name in notice for notice in named.json["notices"])
    done = shop.atlas("lease", "take", "gpu2", "--why", "w", "--json")
    assert (done.code, done.json["error"]["code"]) == (5, "no_session"), done
    assert shop.atlas("begin", "--json").code == 0
    if damage != "folder":  # (which nobody can write into, so that nothing is remembered)
        assert shop.atlas("lease", "take", "gpu2", "--why", "w").code == 0
    shop.whole()

"""The power goes: what was acknowledged is on the disk (durability full), and nothing is broken
(fast too)."""

from __future__ import annotations

import os
import random
import shutil
import struct
import subprocess
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest

from ..conftest import Atlas, Git
from .test_crash import Shop, ended

# From the kernel's ext4.h: end this file system now, without writing out even its journal.
SHUTDOWN, NOLOGFLUSH = 0x8004587D, 2


@dataclass
class Disk:
    """A file system in a file."""

    image: Path
    place: Path

    def mount(self) -> str:
        """Why it could not be mounted; empty if it was."""
        argv = ["mount", "-o", "loop", str(self.image), str(self.place)]
        return subprocess.run(argv, capture_output=True, text=True, check=False).stderr.strip()

    def unmount(self) -> None:
        for _ in range(50):
            if not subprocess.run(
                ["umount", str(self.place)], capture_output=True, check=False
            ).returncode:
                return
            time.sleep(0.1)  # somebody has not yet noticed that it is gone
        subprocess.run(["umount", "-l", str(self.place)], check=True)

    def power_off(self) -> None:
        import fcntl

        fd = os.open(self.place, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, SHUTDOWN, struct.pack("I", NOLOGFLUSH))
        finally:
            os.close(fd)

    def power_on(self) -> None:
        self.unmount()
        assert self.mount() == ""

    def commit(self) -> None:
        """What the kernel does every few seconds: the journal, with all names and sizes, goes to
        the disk."""
        with (self.place / "another").open("w") as out:
            out.write("x")
            out.flush()
            os.fsync(out.fileno())


def unavailable(why: str) -> NoReturn:
    warnings.warn(f"no power cut was tried: {why}", stacklevel=2)
    pytest.skip(f"no power cut was tried: {why}")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    if os.name != "posix" or os.geteuid() != 0:
        unavailable("only root may mount")
    missing = [name for name in ("mkfs.ext4", "mount", "umount") if shutil.which(name) is None]
    if missing:
        unavailable(f"{', '.join(missing)} not found")
    found = Disk(tmp_path / "disk.img", tmp_path / "disk")
    found.place.mkdir()
    with found.image.open("wb") as out:
        out.truncate(48 << 20)
    made = subprocess.run(
        ["mkfs.ext4", "-q", "-F", str(found.image)], capture_output=True, text=True, check=False
    )
    if made.returncode:
        unavailable(made.stderr.strip())
    if why := found.mount():
        unavailable(why)
    try:
        found.power_off()
        found.power_on()
    except OSError as error:
        found.unmount()
        unavailable(f"the kernel does not offer it: {error}")
    try:
        yield found
    finally:
        found.unmount()


@pytest.fixture
def shop(disk: Disk, atlas: Atlas, git: Git, env: dict[str, str]) -> Shop:
    """A store on that disk, just made; the user's own repository was there for longer."""
    repo = disk.place / "repo"
    git("init", "-q", str(repo), cwd=disk.place)
    subprocess.run(["sync", "-f", str(disk.place)], check=True)
    found = Shop(repo, partial(atlas, cwd=repo), git, env)
    assert found.atlas("init", "--test", "--no-hooks").code == 0
    done = found.atlas("begin", "--json")
    assert done.code == 0
    # Which session is whose is remembered beside the store, and may be lost; so it is named.
    found.env = env | {"ATLAS_SESSION": done.data["id"]}
    found.atlas = partial(atlas, cwd=repo, ATLAS_SESSION=done.data["id"])
    return found


def wish(operation: str) -> tuple[str, ...]:
    return ("lease", "take", operation, "--why", "w", "--operation", operation)


def sound(shop: Shop, name: str) -> None:
    """After the power came back: the store is whole, and goes on at once."""
    shop.whole()
    health = shop.atlas("doctor", "--json")
    assert health.code == 0, health.out
    assert (shop.home / "machine").read_text().strip()
    listed = shop.atlas("lease", "list", "--json")
    in_log = [operation for operation in shop.log() if operation.startswith("w-")]
    assert sorted(item["resource"] for item in listed.data["items"]) == sorted(in_log)
    assert shop.atlas(*wish(name)).code == 0


def rounds(shop: Shop, disk: Disk, count: int, dice: random.Random, full: bool) -> None:
    acknowledged: list[str] = []
    for number in range(count):
        heads = [shop.head()]
        for write in range(dice.randint(1, 5)):
            operation = f"w-{number}-{write}"
            assert shop.atlas(*wish(operation)).code == 0
            heads.append(shop.head())
            acknowledged.append(operation)
        last = None
        # the instant before the answer: nothing that comes after may be what brought it to the disk
        if full:
            operation = f"w-{number}-last"
            last = shop.stopped("before_ack", *wish(operation))
            heads.append(shop.head())
            acknowledged.append(operation)
        elif dice.random() < 0.5:
            disk.commit()
        disk.power_off()
        if last is not None:
            last.kill()
            last.communicate()
        disk.power_on()
        if full:
            assert shop.head() == heads[-1]
        assert shop.head() in heads
        acknowledged = [operation for operation in acknowledged if full or operation in shop.log()]
        sound(shop, f"w-{number}-next")
        acknowledged.append(f"w-{number}-next")
    shop.kept(acknowledged)


SMALL_AND_LONG = pytest.mark.parametrize("count", [3, pytest.param(100, marks=pytest.mark.long)])


@SMALL_AND_LONG
def test_with_full_durability_nothing_acknowledged_is_lost(
    shop: Shop, disk: Disk, count: int
) -> None:
    rounds(shop, disk, count, random.Random(count), full=True)


@SMALL_AND_LONG
def test_with_fast_durability_nothing_is_broken(shop: Shop, disk: Disk, count: int) -> None:
    assert shop.atlas("config", "set", "durability", "fast").code == 0
    rounds(shop, disk, count - 1, random.Random(count), full=False)
    # A durable write on top of those that were not: it holds, and so must they.
    assert shop.atlas(*wish("w-fast")).code == 0
    assert shop.atlas("config", "set", "durability", "full").code == 0
    assert shop.atlas(*wish("w-full")).code == 0
    disk.power_off()
    disk.power_on()
    shop.kept(["w-fast", "w-full"])
    sound(shop, "w-end")


def test_a_store_that_was_just_packed_is_not_lost(shop: Shop, disk: Disk) -> None:
    """A file that git packs the branch into, and that a power cut empties, would be the end of the
    store."""
    for number in range(3):
        assert shop.atlas(*wish(f"w-{number}")).code == 0
    for argv in (("repack", "-q"), ("prune-packed", "-q"), ("gc", "--quiet")):
        assert shop.atlas("git", *argv).code == 0
    disk.commit()
    disk.power_off()
    disk.power_on()
    shop.kept(["w-0", "w-1", "w-2"])
    sound(shop, "w-next")


@pytest.mark.parametrize("count", [1, pytest.param(100, marks=pytest.mark.long)])
def test_the_power_may_go_in_the_middle_of_a_write(shop: Shop, disk: Disk, count: int) -> None:
    dice, acknowledged = random.Random(count), []
    for number in range(count):
        running = [
            (f"w-{number}-{name}", shop.start(*wish(f"w-{number}-{name}"))) for name in "abc"
        ]
        time.sleep(dice.uniform(0.1, 0.5))
        disk.power_off()
        answers = {operation: ended(child) for operation, child in running}
        disk.power_on()
        # 0: it is there; 10: nobody knows; anything else: it is not.
        log = shop.log()
        assert [
            (operation, done)
            for operation, done in answers.items()
            if done.code != 10 and (operation in log) != (done.code == 0)
        ] == []
        acknowledged += [operation for operation in answers if operation in log]
        shop.kept(acknowledged)
        sound(shop, f"w-{number}-next")
        acknowledged.append(f"w-{number}-next")

"""Killed at a system call, or told by the kernel that a call failed, a write is there or not, and
says so truly."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from ..conftest import Atlas, Git, Result
from .test_crash import Shop, ended, shop

__all__ = ["shop"]
STRACE, GIT = shutil.which("strace"), shutil.which("git")
CALLS = ("openat", "write", "rename", "link", "unlink", "fsync", "close", "mkdir")
LOCKS = ("refs/heads/atlas.lock", "HEAD.lock")
# Who is killed: atlas itself; a git of the write, alone (atlas goes on); or that git and atlas
# together (`+`).
SMALL = {
    "atlas": (
        ("rename", 1),
        ("unlink", 1),
        ("fsync", 1),
        ("fsync", 6),
        ("mkdir", 1),
        ("pwrite64", 20),
    ),
    "unpack-objects": (("link", 1),),
    "unpack-objects+": (("link", 1), ("link", 3), ("unlink", 2), ("fsync", 1), ("mkdir", 1)),
    "update-ref": (("rename", 1),),
    "update-ref+": (("rename", 1), ("fsync", 1), ("unlink", 1), ("openat", 12), ("close", 12)),
}
LONG = [
    (actor, call)
    for actor in SMALL
    for call in (*CALLS, *(("pwrite64", "fdatasync") if actor == "atlas" else ()))
]


@pytest.fixture
def traced() -> None:
    """Skips where system calls cannot be tampered with."""
    if STRACE is None:
        pytest.skip("strace is not installed: no sweep over system calls")
    done = subprocess.run(
        [*strace("close", "error=EIO:when=9999"), "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"strace may not trace here: {done.stderr.strip()}")


sweep = pytest.mark.usefixtures("traced")


def strace(call: str, harm: str) -> tuple[str, ...]:
    return (
        str(STRACE),
        "-qq",
        "-o",
        os.devnull,
        "-e",
        f"trace={call}",
        "-e",
        f"inject={call}:{harm}",
    )


def harmed(shop: Shop, tmp_path: Path, verb: str, lines: str) -> Shop:
    """The shop with a git on its PATH that does `lines` where it is asked for `verb`, and is itself
    otherwise."""
    place = tmp_path / "harmed"
    place.mkdir(exist_ok=True)
    script = place / "git"
    script.write_text(
        f'#!/bin/sh\nfor word; do if [ "$word" = {verb} ]; then\n{lines}\nfi; done\nexec {GIT} "$@"\n'
    )
    script.chmod(0o755)
    return replace(shop, env={**shop.env, "PATH": f"{place}{os.pathsep}{shop.env['PATH']}"})


def wish(name: str) -> tuple[str, ...]:
    return ("lease", "take", name, "--why", "w", "--operation", name, "--json")


def killed(
    shop: Shop, tmp_path: Path, actor: str, call: str, number: int, aged: bool
) -> tuple[bool, Result]:
    """One write, in which the actor is killed as it makes its Nth call of a kind: whether it was,
    and the end of it."""
    name, deadly = f"{actor.rstrip('+')}-{call}-{number}", f"signal=SIGKILL:when={number}"
    if actor == "atlas":
        done = ended(shop.start(*wish(name), prefix=strace(call, deadly)))
        return done.code == -signal.SIGKILL, done
    code = tmp_path / "code"
    code.unlink(missing_ok=True)
    # Only the first such git of the command: what atlas then does about it must work.
    lines = f"""[ -e {code} ] && exec {GIT} "$@"
        {" ".join(strace(call, deadly))} {GIT} "$@"
        code=$?; echo $code > {code}
        {" ".join(f"[ -e {shop.bare / lock} ] && touch -d -60seconds {shop.bare / lock};" for lock in LOCKS if aged)}
        {"[ $code -gt 128 ] && kill -9 $PPID" if actor.endswith("+") else ":"}
        exit $code"""
    done = ended(harmed(shop, tmp_path, actor.rstrip("+"), lines).start(*wish(name)))
    return int(code.read_text()) > 128, done


def survived(
    shop: Shop, tmp_path: Path, actor: str, call: str, number: int, aged: bool = True
) -> bool:
    """One point of a sweep; False where it lies behind the last call. `aged`: a lock that is left
    has been there for a while (else the next write waits until it has)."""
    name, old = f"{actor.rstrip('+')}-{call}-{number}", shop.head()
    dead, done = killed(shop, tmp_path, actor, call, number, aged)
    told(shop, done, name, old, killed=dead and (actor == "atlas" or actor.endswith("+")))
    began = time.monotonic()
    again = shop.atlas(*wish(name))
    assert again.code == 0 and shop.log().count(name) == 1, (name, again)
    assert time.monotonic() - began < 15, name
    return dead


def told(shop: Shop, done: Result, name: str, old: str, killed: bool = False) -> None:
    """The store is at the old or the new commit and sound, and the command's answer was true."""
    new, there = shop.head(), shop.log().count(name)
    assert new == old or shop.git("rev-parse", f"{new}^", cwd=shop.bare) == old, (name, done)
    assert there == (new != old), (name, done)
    shop.git("fsck", "--strict", "--no-dangling", cwd=shop.bare)
    if killed:
        assert done.code == -signal.SIGKILL, (name, done)
    else:  # 10 alone may be either
        assert done.code in ((0, 10) if there else (1, 10)), (name, done)
        assert "Traceback" not in done.err and (done.json["error"] is None) == (done.code == 0), (
            name,
            done,
        )


@sweep
@pytest.mark.parametrize("actor", SMALL)
def test_killed_at_a_system_call_a_write_is_there_or_not(
    shop: Shop, tmp_path: Path, actor: str
) -> None:
    points = [survived(shop, tmp_path, actor, call, number) for call, number in SMALL[actor]]
    assert points.count(True) > len(points) // 2, (
        "the points that this sweep samples are no longer reached"
    )
    shop.whole()


@sweep
@pytest.mark.long
@pytest.mark.parametrize(("actor", "call"), LONG)
def test_killed_at_any_system_call_a_write_is_there_or_not(
    shop: Shop, tmp_path: Path, actor: str, call: str
) -> None:
    # A start of Python opens hundreds of files, before it has seen the store.
    step = 7 if actor == "atlas" and call in ("openat", "close") else 1
    number = 1
    while survived(shop, tmp_path, actor, call, number, aged=call != "rename"):
        number += step
    shop.whole()


@sweep
def test_every_object_is_on_the_disk_before_the_branch_moves(shop: Shop, tmp_path: Path) -> None:
    trace, old = tmp_path / "trace", shop.head()
    spy = (
        str(STRACE),
        "-f",
        "-qq",
        "-y",
        "-s",
        "300",
        "-o",
        str(trace),
        "-e",
        "trace=execve,fsync,link,rename,linkat",
    )
    assert ended(shop.start(*wish("spied"), prefix=spy)).code == 0
    events = re.findall(r"^\d+ +(\w+)\((.*)\) = 0", trace.read_text(), re.MULTILINE)
    synced: set[str] = set()
    named: dict[str, bool] = {}  # new object: whether its file was synced before it got its name
    moved = False
    for call, rest in events:
        paths = re.findall(r"<(/[^>]*)>|\"(/[^\"]*)\"", rest)
        source, target = (["".join(pair) for pair in paths] + ["", ""])[:2]
        if call == "fsync":
            synced.add(source)
        elif target.endswith("refs/heads/atlas"):
            moved = True
            assert source in synced, "the branch's own file"
            folders = {str(Path(path).parent) for path in named} | {str(shop.bare / "objects")}
            assert folders <= synced, "the folders that name the objects"
            synced.clear()
        elif call in ("link", "linkat", "rename") and "/objects/" in target:
            assert not moved
            named[target] = source in synced
    assert moved and str(shop.bare / "refs/heads") in synced, "the folder that names the branch"
    new = shop.git(
        "rev-list", "--objects", "--no-object-names", f"{old}..{shop.head()}", cwd=shop.bare
    ).split()
    assert {str(shop.bare / "objects" / oid[:2] / oid[2:]) for oid in new} == set(named)
    assert all(named.values()), named
    assert "mktree" not in trace.read_text()  # it syncs nothing, whatever it is told


@sweep
def test_told_that_the_disk_did_not_take_it_a_write_does_not_say_that_it_did(shop: Shop) -> None:
    """Syncs of git's, of the folders of its objects, of the folder of the branch, and one behind
    the last of them."""
    codes = set()
    for number in (1, 5, 6, 7, 9):
        name, old = f"sync-{number}", shop.head()
        tree = (str(STRACE), "-f", *strace("fsync", f"error=EIO:when={number}")[1:])
        done = ended(shop.start(*wish(name), prefix=tree))
        told(shop, done, name, old)
        assert shop.atlas(*wish(name)).code == 0 and shop.log().count(name) == 1
        codes.add(done.code)
    # Before the branch moved it was not written; after it nobody can say; behind the last of them
    # all is well.
    assert {0, 1} <= codes <= {0, 1, 10}
    shop.whole()


TROUBLE = [("rename", "ENOSPC"), ("fsync", "EIO"), ("openat", "EMFILE"), ("write", "ENOSPC")]


@sweep
@pytest.mark.parametrize(
    ("call", "error"),
    [pytest.param(*t, marks=pytest.mark.long) if t[0] != "rename" else t for t in TROUBLE],
)
def test_a_git_that_cannot_move_the_branch_is_quoted(
    shop: Shop, tmp_path: Path, call: str, error: str
) -> None:
    lines = f'exec {" ".join(strace(call, f"error={error}:when=3+" if call == "openat" else f"error={error}"))} {GIT} "$@"'
    old = shop.head()
    done = ended(harmed(shop, tmp_path, "update-ref", lines).start(*wish("troubled")))
    told(shop, done, "troubled", old)
    assert (
        done.code == 1
        and "git" in done.json["error"]["message"]
        and done.json["error"]["code"] == "failed"
    ), done
    assert shop.atlas(*wish("troubled")).code == 0
    shop.whole()


LIARS = {
    "it did it and says that it failed": 'G "$@"; exit 128',
    "it says that it did it and did not": 'mkdir ONCE 2>/dev/null && exit 0; exec G "$@"',
    "it dies after it did it": 'G "$@"; kill -9 $$',
    "it does it and never answers": 'G "$@"; sleep 1000',
}


@pytest.mark.parametrize(
    "lie", [pytest.param(lie, marks=pytest.mark.long if "never" in lie else ()) for lie in LIARS]
)
def test_the_branch_is_believed_and_not_what_git_says_of_it(
    shop: Shop, tmp_path: Path, lie: str
) -> None:
    lines = LIARS[lie].replace("G ", f"{GIT} ").replace("ONCE", str(tmp_path / "once"))
    old = shop.head()
    done = ended(harmed(shop, tmp_path, "update-ref", lines).start(*wish("believed")), 120)
    told(shop, done, "believed", old)
    assert done.code == 0 and shop.log().count("believed") == 1
    shop.whole()


@pytest.fixture
def tiny(tmp_path: Path, atlas: Atlas, git: Git, env: dict[str, str]) -> Iterator[Shop]:
    """A store on a file system of 6 MB."""
    disk = tmp_path / "tiny"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(disk)]
    with suppress(FileNotFoundError):
        if (
            os.name == "posix"
            and os.geteuid() == 0
            and not subprocess.run(mount, capture_output=True, check=False).returncode
        ):
            try:
                repo = disk / "repo"
                git("init", "-q", str(repo), cwd=disk)
                found = Shop(repo, partial(atlas, cwd=repo), git, env)
                assert [
                    found.atlas(*argv).code
                    for argv in (("init", "--test", "--no-hooks"), ("begin",))
                ] == [0, 0]
                yield found
            finally:
                subprocess.run(["umount", str(disk)], check=True)
            return
    why = "no tiny file system (tmpfs) can be mounted here: nothing was seen of a full disk"
    warnings.warn(why, stacklevel=1)
    pytest.skip(why)


def test_on_a_full_disk_nothing_is_half_written(tiny: Shop) -> None:
    filler = tiny.repo.parent / "filler"
    codes = []
    for number, room in enumerate((0, 24, 64, 72, 80, 88, 200)):  # kB
        with filler.open("wb", buffering=0) as out, suppress(OSError):
            while True:
                out.write(b"x" * 4096)
        os.truncate(filler, max(0, filler.stat().st_size - room * 1024))
        name, old = f"full-{number}", tiny.head()
        done = tiny.atlas(*wish(name))
        listed = tiny.atlas("lease", "list", "--json")
        filler.unlink()
        assert (listed.code, listed.data["total"]) == (
            0,
            sum(name.startswith("full") for name in tiny.log()),
        ), listed
        codes.append(done.code)
        assert (tiny.head() != old) == (done.code == 0) == (name in tiny.log()), done
        assert tiny.atlas(*wish(name)).code == 0
    assert codes[0] in (1, 5) and codes[-1] == 0  # 5: whose session this is stands on that disk too
    tiny.whole()

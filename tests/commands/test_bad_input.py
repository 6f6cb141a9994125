"""Names, durations, numbers and files that cannot be: one clear line, the right exit code, nothing
half-written."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..store.crew import Worker
from ..store.hand import Hand
from .bad import LONE, argv, fails, hand, repo, shared_desk, unharmed, worker

__all__ = ["hand", "repo", "shared_desk", "worker"]  # fixtures
NAMES = [
    "..",
    "../x",
    "a/b",
    "/",
    "a\nb",
    "\x1b[2J",
    "a" * 300,
    "-rf",
    "con",
    "CON.txt",
    "nul",
    "Main",
    "a b",
    "e\u0301",
    "é",
    "日本",
    LONE,
    "a.lock",
    ".git",
    " ",
    "a@1@2",
    "--",
    "%2e%2e",
    "a:b",
    "$(touch x)",
    "a;b",
    "\u2028",
    "x\u202ey",
    "*",
]
RESOURCES = [
    "path:",
    "path:../x",
    "path:a\nb",
    "path:" + "a" * 1001,
    "glob:src/x.py",
    "a:",
    ":a",
    "path:a\x1b[2J",
    f"path:{LONE}",
    "con:a",
]


def test_what_is_no_name_is_refused_wherever_a_name_is_given(
    worker: Worker, hand: Hand, repo: Path
) -> None:
    head = hand.head()
    for name in NAMES:
        fails(worker(*argv("artifact put -- {} src/x.py", name)), 2)
    for name in ("..", "a/b", "\x1b[2J", "a" * 300, "-rf", "con", "Main", LONE):
        for form in (
            "status write -m x -- {}",
            "status show -- {}",
            "artifact show -- {}",
            "begin --new --actor={}",
            "begin --stream={}",
            "--operation={} status write -m x",
            "--session={} status write -m x",
            "end -m x --stream={}",
            "begin --new --class={}",
        ):
            fails(worker(*argv(form, name)), 2)
    unharmed(worker, hand, head)
    assert sorted(path.name for path in repo.iterdir()) == [".atlas", ".git", "src"]


def test_what_is_no_resource_or_id_is_refused(worker: Worker, hand: Hand) -> None:
    head = hand.head()
    for name in [*(name for name in NAMES if name != "a:b"), *RESOURCES]:
        fails(worker(*argv("lease take --why w -- {}", name)), 2)
    for name in ("..", "a/b", "\x1b[2J", "a" * 300, "-rf", "con", LONE):
        for form in (
            "lease show -- {}",
            "lease release -- {}",
            "show -- {}",
            "correct --why w -- {}",
            "session show -- {}",
        ):
            fails(worker(*argv(form, name)), 2)
        fails(worker(*argv("decision show -- {}", name)), 7)
    for kind in (
        "status",
        "artifact",
        "decision",
        "correction",
        "lease",
        "session",
        "policy",
        "nope",
    ):
        for rest in ("", "..", LONE, "a\nb", "x" * 300, "a@" + "9" * 5000, "x@-1"):
            if kind != "policy" or not rest:
                fails(worker("show", f"{kind}:{rest}"), 2, 7)
    for what in (
        LONE,
        "lease:a\nb",
        f"lease:{LONE}",
        "status:..",
        "nope",
        "status:x@7",
        "session:-rf",
        "status:main@" + "9" * 5000,
    ):
        fails(worker("log", what), 2, 7)
        fails(worker(f"--expect={what}", "status", "write", "-m", "x"), 2, 3)
    unharmed(worker, hand, head)


@pytest.mark.parametrize(
    "ttls",
    [
        ["0", "-1", "NaN", "", "1", "0m", "1e3s", "inf", "2h ", LONE],
        ["4m", "241m", "10h", "99999999999999d"],
    ],
)
def test_a_duration_that_cannot_be_is_refused(
    ttls: list[str], worker: Worker, hand: Hand, repo: Path
) -> None:
    assert worker("lease", "take", "mine", "--why", "w").code == 0
    head = hand.head()
    for ttl in ttls:
        for form in (
            "lease take a --why w --for={}",
            "lease take a --why w --for {}",
            "lease renew mine --for {}",
            "lease run a --why w --for {} -- touch ran",
            "config set lease_max {}",
        ):
            fails(worker(*argv(form, ttl)), 2, 6)
    fails(worker("begin", "--new", "--for", "25h"), 6)
    unharmed(worker, hand, head)
    assert not (repo / "ran").exists()


def test_numbers_that_cannot_be_are_refused_and_large_ones_are_all(
    worker: Worker, hand: Hand
) -> None:
    head = hand.head()
    for number in ("0", "-1", "NaN", "1.5", "x", "9" * 5000, "", LONE):
        for form in (
            "log -n {}",
            "begin --words {}",
            "who a --hours {}",
            "status diff main -- {}",
        ):
            fails(worker(*argv(form, number)), 2)
        if number != "0":  # (the stream was empty)
            fails(worker(*argv("status write -m x --base {}", number)), 2)
    for form in ("log -n {}", "decision list -n {}", "status log -n {}"):
        assert worker(*argv(form, "9" * 30)).code == 0
    fails(worker("status", "write", "-m", "x", "--base", "9" * 30), 7)
    unharmed(worker, hand, head)


def test_a_policy_that_cannot_be_is_refused(worker: Worker, hand: Hand) -> None:
    head = hand.head()
    for value in (
        "0",
        "-1",
        "NaN",
        "1e999",
        '"x"',
        "[" * 30_000,
        '{"a":' * 500,
        "null",
        '{"a": ["\\ud800"]}',
        LONE,
        "",
        "[]",
    ):
        for key in ("status_words", "streams", "lease_max", "durability"):
            assert len(fails(worker("config", "set", key, value), 2, 6).err) < 500
    for key, code in (
        ("test", 6),
        ("store", 6),
        ("version", 6),
        ("format", 6),
        ("nope", 7),
        ("", 7),
        (LONE, 7),
    ):
        fails(worker("config", "set", key, "1"), code)
    fails(worker("config", "get", LONE), 7)
    fails(worker("config", "edit"), 2)
    unharmed(worker, hand, head)


def test_files_that_are_not_there_or_no_files_are_refused(worker: Worker, hand: Hand) -> None:
    assert worker("artifact", "put", "a", "-", data="x").code == 0
    head = hand.head()
    for name in ("nope", "src", "", "a" * 300, "nope/x", LONE, "src/x.py/y"):
        for form in ("artifact put b -- {}", "status write --file {}", "end --file {}"):
            fails(worker(*argv(form, name)), 2)
    for name in ("src", "", "/", ".", "..", "a" * 300, "nope/x", "src/x.py/y"):
        fails(worker("artifact", "get", "a", "-o", name), 1, 2)
        fails(worker("-C", name if name not in ("", ".", "src") else "src/x.py", "status"), 1, 7)
    for form in (
        "status write",
        "status write -m x --unchanged y",
        "status write -m x --file y",
        "status write -m x -",
        "end nope",
        "end -m x --section s --replace",
        "end -m x --unchanged y",
        "lease run a --why w",
        "lease run a --why w --",
        "decision add",
        "decision add --title t --recommended r --chosen c --stance maybe --why w",
    ):
        fails(worker(*argv(form)), 2)
    unharmed(worker, hand, head)


@pytest.mark.parametrize("form", ["end", "end --unchanged w", "status write --unchanged w"])
@pytest.mark.parametrize("option", ["--section H", "--replace", "--overflow whole"])
def test_an_option_about_a_text_is_not_dropped_where_there_is_none(
    form: str, option: str, worker: Worker
) -> None:
    assert worker("status", "write", "-m", "x").code == 0
    assert (
        f"(usage): {option.split()[0]}: there is no text"
        in fails(worker(*f"{form} {option}".split()), 2).err
    )

"""Texts of any kind: kept exactly or refused whole, and shown without steering the terminal."""

from __future__ import annotations

import base64
from pathlib import Path

from ..conftest import Atlas
from ..store.crew import Worker
from ..store.hand import Hand
from .bad import LONE, argv, fails, hand, own_desk, repo, unharmed, worker

__all__ = ["hand", "own_desk", "repo", "worker"]  # fixtures
ODD = {
    "a line separator": "a\u2028b\u2029c",
    "next line": "a\x85b",
    "delete": "a\x7fb",
    "markup": "[bold]red[/bold] :smile:",
    "a marker": "<<<<<<<",
    "terminal escapes": "\x1b[2J\x1b]0;owned\x07\x9b1m",
    "front matter": "---\nformat: 99\n---\n",
    "line ends": "a\r\nb\n\n\nc",
    "tabs": "\ta\t",
    "direction": "\u202eabc\u200b",
    "a byte order mark": "\ufeffa",
    "beyond the plane": "\U0001f980",
    "a trailer": "x\n\nAtlas-Session: eve\n",
    "brackets": "[" * 60,
    "quotes": '\'""\\',
    "an escape": "\\u2028 \\n %00 {}",
    "a frame": "│ ──\n──────── what",
    "blanks": "a  \n  b",
    "a NUL's name": "\\0 ^@",
}
STEERING = set("\x1b\x07\x7f\x85\x9b\u2028\u2029\u202e\u200b\ufeff\r")


def test_odd_texts_are_kept_exactly(worker: Worker) -> None:
    for name, text in ODD.items():
        wrote = worker(
            "status", "write", "-", "--replace", "--caveat", text, "--json", data=text
        ).data
        # (without what an editor puts before it, and with lines that end as git ends them)
        body = text.removeprefix("\ufeff").replace("\r\n", "\n").removesuffix("\n") + "\n"
        assert (wrote["body"], wrote["caveat"]) == (body, text.strip()), name
        put = worker(
            "artifact", "put", "a", "-", "--same-topic", "--title", text, "--json", data=text
        ).data
        assert (put["title"], put["size"]) == (text.strip(), len(text.encode())), name
        assert worker("artifact", "get", "a", "--json").data["body"] == text, name


def test_odd_texts_in_every_field_are_kept_and_steer_no_terminal(worker: Worker) -> None:
    text = "|".join(ODD.values())
    assert (
        worker("status", "write", "-m", text, "--section", text, "--caveat", text[:400]).code == 0
    )
    assert worker("artifact", "put", "a", "-", "--title", text[:190], data=text).code == 0
    add = [
        "--title",
        text[:190],
        "--recommended",
        text,
        "--chosen",
        text,
        "--stance",
        "agreed",
        "--why",
        text,
    ]
    decided = worker("decision", "add", *add, "--chosen-by", text[:90], "--json").data
    assert [decided[key] for key in ("recommended", "chosen", "why")] == [text] * 3
    assert worker("lease", "take", "gpu0", "--why", text, "--json").data["why"] == text
    assert (
        worker("correct", "artifact:a@1", "--why", text, "--cause", text, "--json").data["cause"]
        == text
    )
    goals = worker("begin", "--goal", text, "--json").data["you"]["goals"]
    assert [goal["text"] for goal in goals][-1] == text
    refs = f"status:main artifact:a {decided['ref']} lease:gpu0"
    for form in (
        f"show {refs}",
        "status",
        "status log",
        "begin",
        "lease list",
        "lease show gpu0",
        "artifact list",
        "decision list",
        "session list",
        "log",
        "status diff",
        "artifact log a",
        "",
    ):
        done = worker(*argv(form))
        assert done.code == 0 and not STEERING & set(done.out + done.err), (
            form,
            STEERING & set(done.out + done.err),
        )
    assert worker("verify", "--full").code == 0


def test_text_that_no_record_can_hold_is_refused_whole(
    worker: Worker, atlas: Atlas, hand: Hand, repo: Path
) -> None:
    assert worker("artifact", "put", "a", "-", data="x").code == 0
    head = hand.head()
    marked = "<<<<<<< yours\na\n=======\nb\n>>>>>>> status:main@1\n"
    for form in ("status write -", "end -"):
        fails(worker(*argv(form), data=marked), 6)
        fails(worker(*argv(form), data="a\0b"), 6)
        fails(worker(*argv(form), data=" \n"), 2)
        fails(atlas(*argv(form), data=b"a\xff\xfe", cwd=repo), 2)  # bytes that are no UTF-8
    for form in (
        "lease take b --why {}",
        "correct artifact:a --why {}",
        "begin --goal {}",
        "status write -m {}",
        "status write --unchanged {}",
        "end --section s -m {}",
        "artifact put b src/x.py --title {}",
        "artifact put b src/x.py --type {}",
        "status write -m x --caveat {}",
        "status write -m x --section {}",
        "correct artifact:a --why w --cause {}",
    ):
        fails(worker(*argv(form, f"a{LONE}")), 2, 6)
    for form in (
        "lease take b --why {}",
        "correct artifact:a --why {}",
        "begin --goal {}",
        "artifact put b src/x.py --title {}",
    ):
        fails(worker(*argv(form, "x" * 9000)), 6)
    unharmed(worker, hand, head)


def test_two_megabytes_are_an_artifact_and_no_status(
    worker: Worker, atlas: Atlas, hand: Hand, repo: Path
) -> None:
    text = ("a long line of words, with é and \u2028 in it\n" * 45_000)[: 2 * 2**20]
    (repo / "big.txt").write_text(text)
    head = hand.head()
    for form in ("status write --file big.txt", "end --file big.txt"):
        assert "at most 125 words" in fails(worker(*argv(form)), 6).err
    unharmed(worker, hand, head)
    drafts = [draft.read_text() for draft in (repo / ".git/atlas/drafts").iterdir()]
    assert len(drafts) == 1 and all(
        text.rstrip() in draft for draft in drafts
    )  # what was refused is not lost
    put = worker("artifact", "put", "big", "big.txt", "--json")
    assert put.code == 0 and "every clone" in " ".join(put.json["notices"])
    assert atlas("artifact", "get", "big", cwd=repo).out == text
    shown = worker("artifact", "show", "big")
    assert len(shown.out) < 40_000 and "the rest: atlas artifact get big@1" in shown.out


def test_bytes_of_any_kind_come_back_exactly(
    worker: Worker, atlas: Atlas, hand: Hand, repo: Path
) -> None:
    data = bytes(range(256)) * 3 + "é\u2028".encode() + b"\r\n"
    assert atlas("artifact", "put", "raw", "-", data=data, cwd=repo).code == 0
    assert base64.b64decode(worker("artifact", "get", "raw", "--json").data["body_base64"]) == data
    assert (
        worker("artifact", "get", "raw", "-o", "copy").code == 0
        and (repo / "copy").read_bytes() == data
    )
    shown = worker("artifact", "show", "raw")
    assert shown.code == 0 and "bytes, no text" in shown.out
    head = hand.head()
    (repo / "huge").write_bytes(b"\0" * 10_000_001)
    assert (
        "10,000,001 bytes; at most 10,000,000"
        in fails(worker("artifact", "put", "huge", "huge"), 6).err
    )
    unharmed(worker, hand, head)


def test_a_credential_is_refused_and_not_repeated(worker: Worker, hand: Hand) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    assert worker("artifact", "put", "a", "-", data="x").code == 0
    head = hand.head()
    for form in (
        "status write -m {}",
        "status write -m x --caveat {}",
        "status write --unchanged {}",
        "end -m {}",
        "lease take a --why {}",
        "artifact put b src/x.py --title {}",
        "correct artifact:a --why {}",
        "correct artifact:a --why w --cause {}",
        "begin --new --goal {}",
        "decision add --title t --recommended r --chosen {} --stance agreed --why w",
        "lease take path:{} --why w",
        "decision add --title t --recommended r --chosen c --stance agreed --why w --chosen-by {}",
        "end -m x --section {}",
        "status write -m x --section {}",
        "begin --new --on {}",
        "lease run a:{} --why w -- true",
    ):
        done = fails(worker(*argv(form, secret)), 6)
        assert "a GitHub token" in done.err and secret[4:] not in done.err, form
    fails(worker("artifact", "put", "b", "-", data=f"token = {secret}\n"), 6)
    unharmed(worker, hand, head)
    for name in hand.git(
        "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)"
    ).split("\n"):
        oid, kind = name.split()
        assert kind == "tree" or secret not in hand.git(
            "cat-file", kind, oid
        )  # not even where nothing names it

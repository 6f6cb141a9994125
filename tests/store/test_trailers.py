"""The trailers of code commits, as bytes: added once, above what git will cut off, whatever the
message looks like."""

from __future__ import annotations

import subprocess

import pytest

from atlas_cli.checks import trailers
from atlas_cli.checks.commit import claims

ME, OTHER = "ann-261129-aaaaaa", "bob-261129-bbbbbb"
ADDED = f"Atlas-Session: {ME}\nAtlas-Read: main@3~0123456789ab\nAtlas-Word: w1\n".encode()
CUT = b"# ------------------------ >8 ------------------------\n# Do not modify.\ndiff --git a/x b/x\n+Atlas-Session: x\n"


def signed(message: bytes, comment: bytes | None = b"#") -> bytes:
    return trailers.signed(message, ME, "w1", ["main@3~0123456789ab"], comment)


CASES: dict[str, tuple[bytes, bytes]] = {
    "one line": (b"fix\n", b"fix\n\n" + ADDED),
    "no final newline": (b"fix", b"fix\n\n" + ADDED),
    "a body": (b"fix\n\nwhy\n", b"fix\n\nwhy\n\n" + ADDED),
    "trailers already": (
        b"fix\n\nSigned-off-by: A <a@b>\n",
        b"fix\n\nSigned-off-by: A <a@b>\n" + ADDED,
    ),
    "a subject like a trailer": (b"fix: it\n", b"fix: it\n\n" + ADDED),
    "a body like code": (b"fix\n\n    x: 1\n", b"fix\n\n    x: 1\n\n" + ADDED),
    "CRLF": (b"fix\r\n\r\nwhy\r\n", b"fix\r\n\r\nwhy\r\n\r\n" + ADDED.replace(b"\n", b"\r\n")),
    "comments below": (
        b"fix\n\n# Please enter\n#\n",
        b"fix\n\n" + ADDED + b"\n# Please enter\n#\n",
    ),
    "scissors": (b"fix\n# c\n" + CUT, b"fix\n\n" + ADDED + b"\n# c\n" + CUT),
    "fixup": (b"fixup! fix\n", b"fixup! fix\n\n" + ADDED),
    "not UTF-8": (b"J\xe9r\n", b"J\xe9r\n\n" + ADDED),
    "own of before": (
        b"fix\n\nAtlas-Session: " + ME.encode() + b"\nAtlas-Read: main@1~ab\n",
        b"fix\n\n" + ADDED,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_they_are_added_once(case: str) -> None:
    message, wanted = CASES[case]
    assert signed(message) == wanted
    assert signed(wanted) == wanted


@pytest.mark.parametrize("message", [b"", b"\n\n", b"# only a comment\n", CUT, ADDED])
def test_a_message_without_text_stays_one(message: bytes) -> None:
    """git is to give up on it."""
    assert signed(message) == message


def test_anothers_commit_stays_anothers() -> None:
    message = f"fix\n\nAtlas-Session: {OTHER}\nAtlas-Read: main@1~abcdefabcdef\n".encode()
    assert signed(message) == message


def test_what_a_message_says_of_them_stays() -> None:
    assert (
        signed(b"fix\n\nAtlas-Read: is a trailer\n\nend\n")
        == b"fix\n\nAtlas-Read: is a trailer\n\nend\n\n" + ADDED
    )


def test_where_no_editor_opens_a_number_sign_is_text() -> None:
    assert signed(b"fix\n\n#12 is done\n", None) == b"fix\n\n#12 is done\n\n" + ADDED


def test_git_finds_them_and_a_squashed_message_gives_them_all() -> None:
    for message, _ in CASES.values():
        found = subprocess.run(
            ["git", "interpret-trailers", "--parse"], input=signed(message), capture_output=True
        )
        assert f"Atlas-Session: {ME}".encode() in found.stdout
    squashed = (
        f"one\n\nAtlas-Session: {OTHER}\nAtlas-Read: main@4~abcdefabcdef\n\ntwo\n\n{ADDED.decode()}"
    )
    assert {who: {read.number for read in reads} for who, reads in claims(squashed).items()} == {
        OTHER: {4},
        ME: {3},
    }

"""A version jump stops the second writer, with a merged draft and the command that submits it: no
text is lost."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from ..conftest import Atlas, Result

BASE = "# Where we are\n\nParser: open.\n\nCache: open.\n\nTests: open.\n\nDocs: open.\n"
OURS, THEIRS = (
    BASE.replace("Parser: open", "Parser: done"),
    BASE.replace("Docs: open", "Docs: done"),
)
BOTH = THEIRS.replace("Parser: open", "Parser: done")


class Desk:
    """Two sessions, ann and bob, that have both read status 1 and version 1 of the artifact
    `doc`."""

    def __init__(self, repo: Path, quick: Atlas) -> None:
        self.repo, self.quick = repo, quick
        (repo / "doc.md").write_text(BASE)
        self.ann = self.begin("ann")
        assert self.run(self.ann, "status", "write", "--replace", "-m", BASE).code == 0
        assert self.run(self.ann, "artifact", "put", "doc", "doc.md").code == 0
        self.bob = self.begin("bob")
        assert self.run(self.bob, "artifact", "show", "doc").code == 0

    def begin(self, name: str) -> str:
        return str(
            self.quick("begin", "--new", "--actor", name, "--goal", name, "--json").data["id"]
        )

    def run(self, session: str, *argv: str, where: str = ".") -> Result:
        return self.quick("-C", str(self.repo / where), "--session", session, *argv)

    def write(self, session: str, kind: str, text: str, *more: str, where: str = ".") -> Result:
        """A text, as the next status entry or as the next version of the artifact."""
        file = self.repo.parent / "text.md"
        file.write_text(text)
        words = {
            "status": ("status", "write", "--replace", "--file"),
            "artifact": ("artifact", "put", "doc"),
        }[kind]
        return self.run(session, *words, str(file), *more, where=where)

    def read(self, kind: str) -> str:
        words = {"status": ("status", "show"), "artifact": ("artifact", "get", "doc")}[kind]
        return str(self.quick(*words, "--json").data["body"])

    def submit(self, session: str, stop: Result, where: str = ".") -> Result:
        """The command that a stop printed as the next one, run as it was printed, where it was
        printed."""
        words = shlex.split(stop.json["error"]["details"]["next"])
        assert words[0] == "atlas"
        return self.run(session, *words[1:], where=where)


@pytest.fixture
def desk(repo: Path, quick: Atlas) -> Desk:
    return Desk(repo, quick)


def draft(stop: Result) -> Path:
    error = stop.json["error"]
    assert (stop.code, error["code"]) == (3, "version_jump"), stop
    file = Path(error["details"]["draft"])
    assert file.is_file() and file.name in error["hint"]
    return file


@pytest.mark.parametrize("where", [".", "src"])
@pytest.mark.parametrize("kind", ["status", "artifact"])
def test_the_second_writer_gets_a_merged_draft_that_goes_through(
    kind: str, where: str, desk: Desk
) -> None:
    assert desk.write(desk.ann, kind, THEIRS).code == 0
    stop = desk.write(desk.bob, kind, OURS, "--json", where=where)
    details = stop.json["error"]["details"]
    assert (details["base"], details["head"], details["conflicts"]) == (1, 2, 0)
    assert draft(stop).read_text() == BOTH
    assert desk.read(kind) == THEIRS  # nothing was written
    done = desk.submit(desk.bob, stop, where)
    assert done.code == 0 and f"{details['ref'][:-1]}3" in done.out, done
    assert desk.read(kind) == BOTH


@pytest.mark.parametrize("kind", ["status", "artifact"])
def test_conflicts_are_marked_and_wait_to_be_settled(kind: str, desk: Desk) -> None:
    assert desk.write(desk.ann, kind, BASE.replace("Cache: open", "Cache: ann")).code == 0
    stop = desk.write(desk.bob, kind, BASE.replace("Cache: open", "Cache: bob"), "--json")
    assert stop.json["error"]["details"]["conflicts"] == 1
    file = draft(stop)
    for part in ("<<<<<<< yours\nCache: bob.\n", "=======\nCache: ann.\n>>>>>>> ", "Parser: open"):
        assert part in file.read_text()
    unsettled = desk.submit(desk.bob, stop)
    assert unsettled.code == 6 and "conflict markers" in unsettled.err, unsettled
    file.write_text(BASE.replace("Cache: open", "Cache: both"))
    assert desk.submit(desk.bob, stop).code == 0
    assert desk.read(kind) == BASE.replace("Cache: open", "Cache: both")


def test_bytes_that_cannot_be_merged_are_not_lost(desk: Desk, repo: Path) -> None:
    (repo / "one.bin").write_bytes(b"\0one")
    (repo / "two.bin").write_bytes(b"\0two")
    assert desk.run(desk.ann, "artifact", "put", "raw", "one.bin").code == 0
    assert desk.run(desk.bob, "artifact", "get", "raw", "-o", "copy.bin").code == 0
    assert desk.run(desk.ann, "artifact", "put", "raw", "two.bin").code == 0
    stop = desk.run(desk.bob, "artifact", "put", "raw", "one.bin", "--json")
    assert (stop.code, stop.json["error"]["code"]) == (3, "version_jump"), stop
    assert (repo / "one.bin").read_bytes() == b"\0one"
    assert desk.run(desk.bob, "artifact", "put", "raw", "one.bin", "--base", "2").code == 0


def test_a_section_meets_another_section_without_a_stop(desk: Desk) -> None:
    written = desk.run(desk.ann, "status", "write", "--section", "Docs", "-m", "ann wrote them")
    assert written.code == 0
    done = desk.run(desk.bob, "status", "write", "--section", "Parser", "-m", "bob wrote it")
    assert done.code == 0 and "carried beside it" in done.out and "ann wrote them" in done.out
    body = desk.read("status")
    for part in ("## Docs\n\nann wrote them", "## Parser\n\nbob wrote it", BASE.strip()):
        assert part in body


def test_the_stop_shows_what_the_other_wrote(desk: Desk) -> None:
    assert desk.write(desk.ann, "status", THEIRS).code == 0
    stop = desk.write(desk.bob, "status", OURS)
    assert (
        stop.code == 3 and stop.out == "" and stop.err.startswith("atlas: stop 3 (version jump): ")
    )
    assert desk.ann in stop.err and "Docs: done." in stop.err and "--base 2" in stop.err
    enveloped = desk.write(desk.bob, "status", OURS, "--json")
    assert (
        json.loads(enveloped.out)["status"] == "stop"
        and enveloped.out.count("\n") == 1
        and enveloped.err == ""
    )


def test_an_end_that_meets_a_version_jump_loses_nothing(desk: Desk) -> None:
    assert desk.run(desk.bob, "lease", "take", "gpu0", "--why", "x").code == 0
    assert desk.run(desk.ann, "end", "-m", "ann has done the docs").code == 0
    over = ("--section", "ann", "-m", "bob has done the parser")
    stop = desk.run(desk.bob, "end", *over, "--json")
    file = draft(stop)
    assert "bob has done the parser" in file.read_text()
    assert desk.quick("lease", "show", "gpu0", "--json").data["state"] == "held"  # all or nothing
    file.write_text("ann has done the docs, bob the parser\n")
    assert desk.submit(desk.bob, stop).code == 0
    assert desk.quick("session", "show", desk.bob, "--json").data["state"] == "ended"
    body = desk.read("status")
    assert body == f"{BASE}\n## ann\n\nann has done the docs, bob the parser\n"
    assert desk.quick("lease", "show", "gpu0", "--json").data["state"] == "released"


@pytest.mark.parametrize("kind", ["status", "artifact"])
def test_what_was_not_read_cannot_be_superseded(kind: str, desk: Desk) -> None:
    assert (
        desk.write(desk.ann, "status", BASE, "--replace").code == 0
    )  # so that bob has not read the newest
    cat = desk.begin("cat")
    # `begin` shows the stream main and no artifact; another stream is not shown by it either.
    words = {
        "status": ("status", "write", "other", "-m", OURS),
        "artifact": ("artifact", "put", "doc", "doc.md"),
    }[kind]
    assert desk.run(desk.ann, *(words if kind == "status" else ("status",))).code == 0
    stop = desk.run(cat, *words, "--json")
    assert (stop.code, stop.json["error"]["code"]) == (5, "read_first"), stop
    # The hint says what to read; after it the same command passes.
    hint = shlex.split(stop.json["error"]["hint"].split("\n")[0].rpartition(": ")[2])
    assert desk.run(cat, *hint[1:]).code == 0
    assert desk.run(cat, *words).code == 0


def test_a_base_that_is_claimed_is_recorded_as_claimed(desk: Desk, quick: Atlas) -> None:
    cat = desk.begin("cat")
    assert desk.run(cat, "artifact", "put", "doc", "doc.md", "--base", "1").code == 0
    bases = quick("log", "artifact:doc@2", "--json").data["items"][0]["bases"]
    assert any(
        base.startswith("artifact:doc@1~") and base.endswith(" claimed") for base in bases
    ), bases

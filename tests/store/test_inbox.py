"""Who has only a browser adds a file on the forge: it is taken in, and nobody vouches for whom it
is by."""

from __future__ import annotations

from pathlib import Path

import pytest

from atlas_cli.errors import Damaged
from atlas_cli.records import inbox

from ..conftest import DECISION, Git
from .conftest import At


def commit(hub: Path, git: Git, files: dict[str, str], who: str = "Web Person") -> None:
    """What a forge's editor does: one commit straight on the branch."""
    folder = hub.parent / "forge"
    git("clone", "-q", "--branch", "atlas", str(hub), str(folder), cwd=hub.parent)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (
        git("add", ".", cwd=folder),
        git("-c", f"user.name={who}", "commit", "-qm", "Create a file", cwd=folder),
    )
    git("push", "-q", cwd=folder)


def test_a_text_from_a_forge_is_shown_and_never_believed(hub: Path, git: Git, at: At) -> None:
    git("clone", "-q", f"file://{hub}", "clone", cwd=hub.parent)
    at("clone", "begin", "--goal", "g")
    assert (
        at(
            "clone",
            *DECISION,
            "--offline",
        ).code
        == 0
    )
    commit(hub, git, {"inbox/My note.md": "# The parser\n\nhangs\n"})
    (row,) = at("clone", "begin").data["inbox"]
    assert (row["ref"], row["title"], row["by"]) == (
        "inbox:My note.md",
        "The parser",
        "Web Person (unverified)",
    )
    assert "hangs" in at("clone", "show", row["ref"]).data["body"]
    assert (
        hub.parent / "clone/.atlas/inbox/from-forge--My note.txt"
    ).read_text() == "# The parser\n\nhangs\n"
    assert at("clone", "sync").code == at("clone", "verify", "--full").code == 0, (
        "ours went behind it"
    )
    assert at("clone", "correct", row["ref"], "--why", "it does not hang").code == 0


def test_a_status_that_was_added_by_hand_stops_who_has_not_read_it(
    hub: Path, git: Git, at: At
) -> None:
    git("clone", "-q", f"file://{hub}", "clone", cwd=hub.parent)
    at("clone", "begin", "--goal", "g")
    first = git("show", "atlas:status/main/000/000001.md", cwd=hub)
    text = first.replace("number: 1", "number: 2").replace("From the first clone.", "By hand.")
    commit(hub, git, {"status/main/000/000002.md": f"{text}\n"})
    assert at("clone", "status", "write", "-m", "From here.", "--replace").code == 3
    assert "By hand." in at("clone", "status").data["body"]
    assert at("clone", "verify", "--full").code == 0


def test_texts() -> None:
    assert inbox.parse("inbox/a.md", b"\n## One \n\ntwo") == {
        "name": "a.md",
        "title": "One",
        "body": "\n## One \n\ntwo",
    }
    for data in (b"\xff", b"x" * (inbox.MOST + 1)):
        with pytest.raises(Damaged):
            inbox.parse("inbox/a.md", data)
